// Arithmetic of f16 and bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// add, sub, mul and fma on f16, f16x2, bf16 and bf16x2; add, sub and fma of f32 whose first operand (of fma: both
// factors) is f16 or bf16, which came with sm_100.

#include "Emulator/Ops/FloatCommon.h"

using namespace weft::emu;

namespace {

struct HalfPayload {
  FloatOp op = FloatOp::Add;
  FloatMode mode;
  HalfKind kind = HalfKind::F16;
  uint8_t count = 32;
};

constexpr TypeSet kTypes = {Type::F16, Type::F16x2, Type::BF16, Type::BF16x2};

} // namespace

static Outcome runHalf(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const HalfPayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, payload.count / 16, [&](void *result) {
    arithmeticHalf(payload.kind, payload.op, payload.mode, payload.count, result, operandLanes(warp, step, 1),
                   operandLanes(warp, step, 2), operandLanes(warp, step, 3));
  });
  return Outcome::Next;
}

/// The halves of all lanes as f32, which is exact.
static void widen(HalfKind kind, const void *halves, uint32_t *result) {
  const auto *bits = static_cast<const uint16_t *>(halves);
  for (unsigned lane = 0; lane < kWarpLanes; ++lane)
    result[lane] = kind == HalfKind::BF16 ? floatBitsFromBfloat(bits[lane]) : floatBitsFromHalf(bits[lane]);
}

static Outcome runMixed(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const HalfPayload *>(step.payload);
  uint32_t a[kWarpLanes], b[kWarpLanes];
  widen(payload.kind, operandLanes(warp, step, 1), a);
  bool isFma = payload.op == FloatOp::Fma;
  if (isFma)
    widen(payload.kind, operandLanes(warp, step, 2), b);
  writeLanes(warp, step.slots[0], mask, 4, [&](void *result) {
    arithmeticF32(payload.op, payload.mode, result, a, isFma ? b : operandLanes(warp, step, 2),
                  operandLanes(warp, step, 3));
  });
  return Outcome::Next;
}

/// Behind .f32: the type of what is widened.
static void bindMixed(Binder &b, HalfPayload &payload) {
  if (payload.op == FloatOp::Mul || payload.mode.flushes || payload.mode.isRelu)
    b.fail("there is no mul, .ftz or .relu of f32 and halves");
  Type type = b.type({Type::F16, Type::BF16});
  payload.kind = type == Type::BF16 ? HalfKind::BF16 : HalfKind::F16;
  b.requireSm(100);
  b.requireVersion(8, 6);
  unsigned halves = payload.op == FloatOp::Fma ? 2 : 1;
  b.operands(2 + halves);
  b.def(0, Type::F32);
  for (unsigned i = 1; i <= halves; ++i)
    b.use(i, type);
  b.use(1 + halves, Type::F32);
  b.run(runMixed);
}

static void bindHalf(Binder &b, FloatOp op) {
  auto *payload = b.payload<HalfPayload>();
  payload->op = op;
  if (op == FloatOp::Fma)
    b.expect("rn");
  else
    b.accept("rn");
  payload->mode.flushes = b.accept("ftz");
  payload->mode.saturates = b.accept("sat");
  if (op == FloatOp::Fma && b.accept("oob"))
    b.fail("the bit pattern that .oob looks for is not documented, so the emulator does not have it");
  payload->mode.isRelu = op == FloatOp::Fma && !payload->mode.saturates && b.accept("relu");
  if (b.accept("f32"))
    return bindMixed(b, *payload);
  Type type = b.type(kTypes);
  bool isBfloat = type == Type::BF16 || type == Type::BF16x2;
  payload->kind = isBfloat ? HalfKind::BF16 : HalfKind::F16;
  payload->count = type == Type::F16 || type == Type::BF16 ? 32 : 64;
  if (isBfloat && (payload->mode.flushes || payload->mode.saturates))
    b.fail("there is no .ftz or .sat on bf16");
  if (isBfloat && op != FloatOp::Fma) {
    b.requireSm(90);
    b.requireVersion(7, 8);
  }
  bindOperands(b, type, op == FloatOp::Fma ? 3 : 2);
  b.run(runHalf);
}

static void bindAdd(Binder &b) { bindHalf(b, FloatOp::Add); }
static void bindSub(Binder &b) { bindHalf(b, FloatOp::Sub); }
static void bindMul(Binder &b) { bindHalf(b, FloatOp::Mul); }
static void bindFma(Binder &b) { bindHalf(b, FloatOp::Fma); }

static const FamilyRow kRows[] = {
    {"add", kTypes, bindAdd}, {"fma", kTypes, bindFma}, {"mul", kTypes, bindMul}, {"sub", kTypes, bindSub}};

namespace weft::emu {
extern const Family kHalfFamily;
const Family kHalfFamily = {"half", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu
