// Arithmetic of f32 and f64, and the special functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// add, sub, mul, fma, mad, div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh. Additions and multiplications without a
// rounding modifier round to nearest and are not contracted, though ptxas may contract them.

#include "Emulator/Numerics/Approximate.h"
#include "Emulator/Ops/FloatCommon.h"

using namespace weft::emu;

namespace {

struct ArithmeticPayload {
  FloatOp op = FloatOp::Add;
  FloatMode mode;
};

struct ApproximatePayload {
  ApproximateOp op = ApproximateOp::Rcp;
  HalfKind kind = HalfKind::F16;
  bool flushes = false;
  bool isFull = false; ///< f64: all 64 bits.
  uint8_t count = 32;  ///< Halves.
};

} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Correctly rounded
//===--------------------------------------------------------------------------------------------------------------===//

static Outcome runF32(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ArithmeticPayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, 4, [&](void *result) {
    arithmeticF32(payload.op, payload.mode, result, operandLanes(warp, step, 1), operandLanes(warp, step, 2),
                  operandLanes(warp, step, 3));
  });
  return Outcome::Next;
}

static Outcome runF64(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ArithmeticPayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, 8, [&](void *result) {
    arithmeticF64(payload.op, payload.mode.rounding, result, operandLanes(warp, step, 1), operandLanes(warp, step, 2),
                  operandLanes(warp, step, 3));
  });
  return Outcome::Next;
}

static void bindF32(Binder &b, FloatOp op, unsigned sources, bool needsRounding, bool canSaturate) {
  auto *payload = b.payload<ArithmeticPayload>();
  payload->op = op;
  payload->mode.rounding = bindRounding(b, needsRounding);
  payload->mode.flushes = b.accept("ftz");
  payload->mode.saturates = canSaturate && b.accept("sat");
  b.type({Type::F32});
  bindOperands(b, Type::F32, sources);
  b.run(runF32);
}

static void bindF64(Binder &b, FloatOp op, unsigned sources, bool needsRounding) {
  auto *payload = b.payload<ArithmeticPayload>();
  payload->op = op;
  payload->mode.rounding = bindRounding(b, needsRounding);
  b.type({Type::F64});
  bindOperands(b, Type::F64, sources);
  b.run(runF64);
}

static void bindAddF32(Binder &b) { bindF32(b, FloatOp::Add, 2, false, true); }
static void bindSubF32(Binder &b) { bindF32(b, FloatOp::Sub, 2, false, true); }
static void bindMulF32(Binder &b) { bindF32(b, FloatOp::Mul, 2, false, true); }
static void bindFmaF32(Binder &b) { bindF32(b, FloatOp::Fma, 3, true, true); }
static void bindAddF64(Binder &b) { bindF64(b, FloatOp::Add, 2, false); }
static void bindSubF64(Binder &b) { bindF64(b, FloatOp::Sub, 2, false); }
static void bindMulF64(Binder &b) { bindF64(b, FloatOp::Mul, 2, false); }
static void bindFmaF64(Binder &b) { bindF64(b, FloatOp::Fma, 3, true); }
static void bindDivF64(Binder &b) { bindF64(b, FloatOp::Div, 2, true); }
static void bindSqrtF64(Binder &b) { bindF64(b, FloatOp::Sqrt, 1, true); }

/// Two f32 in 64 bits came with sm_100.
static void bindF32x2(Binder &b) { b.requireSm(100); }

//===--------------------------------------------------------------------------------------------------------------===//
// Approximations
//===--------------------------------------------------------------------------------------------------------------===//

static Outcome runApproximateF32(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ApproximatePayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, 4, [&](void *result) {
    approximateF32(payload.op, payload.flushes, result, operandLanes(warp, step, 1), operandLanes(warp, step, 2));
  });
  return Outcome::Next;
}

static Outcome runApproximateF64(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ApproximatePayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, 8,
             [&](void *result) { approximateF64(payload.op, payload.isFull, result, operandLanes(warp, step, 1)); });
  return Outcome::Next;
}

static Outcome runApproximateHalf(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ApproximatePayload *>(step.payload);
  writeLanes(warp, step.slots[0], mask, payload.count / 16, [&](void *result) {
    approximateHalf(payload.kind, payload.op, payload.flushes, payload.count, result, operandLanes(warp, step, 1));
  });
  return Outcome::Next;
}

/// What follows .approx (or .full) of an f32 instruction.
static void bindApproximateF32(Binder &b, ApproximateOp op, unsigned sources) {
  auto *payload = b.payload<ApproximatePayload>();
  payload->op = op;
  payload->flushes = b.accept("ftz");
  b.type({Type::F32});
  bindOperands(b, Type::F32, sources);
  b.run(runApproximateF32);
}

static void bindApproximate(Binder &b, ApproximateOp op) {
  b.expect("approx");
  bindApproximateF32(b, op, 1);
}

static void bindSin(Binder &b) { bindApproximate(b, ApproximateOp::Sin); }
static void bindCos(Binder &b) { bindApproximate(b, ApproximateOp::Cos); }
static void bindLg2(Binder &b) { bindApproximate(b, ApproximateOp::Lg2); }
static void bindEx2(Binder &b) { bindApproximate(b, ApproximateOp::Ex2); }
static void bindRsqrtF32(Binder &b) { bindApproximate(b, ApproximateOp::Rsqrt); }

static void bindTanh(Binder &b) {
  b.expect("approx");
  auto *payload = b.payload<ApproximatePayload>();
  payload->op = ApproximateOp::Tanh;
  b.type({Type::F32});
  bindOperands(b, Type::F32, 1);
  b.run(runApproximateF32);
}

static void bindDivF32(Binder &b) {
  if (b.accept("approx"))
    return bindApproximateF32(b, ApproximateOp::Div, 2);
  if (b.accept("full"))
    return bindApproximateF32(b, ApproximateOp::DivFull, 2);
  bindF32(b, FloatOp::Div, 2, true, false);
}

static void bindRcpF32(Binder &b) {
  if (b.accept("approx"))
    return bindApproximateF32(b, ApproximateOp::Rcp, 1);
  bindF32(b, FloatOp::Rcp, 1, true, false);
}

static void bindSqrtF32(Binder &b) {
  if (b.accept("approx"))
    return bindApproximateF32(b, ApproximateOp::Sqrt, 1);
  bindF32(b, FloatOp::Sqrt, 1, true, false);
}

static void bindApproximateF64(Binder &b, ApproximateOp op, bool canBeFull) {
  auto *payload = b.payload<ApproximatePayload>();
  payload->op = op;
  payload->isFull = !b.accept("ftz");
  if (payload->isFull && !canBeFull)
    b.expect("ftz");
  b.type({Type::F64});
  bindOperands(b, Type::F64, 1);
  b.run(runApproximateF64);
}

static void bindRcpF64(Binder &b) {
  if (b.accept("approx"))
    return bindApproximateF64(b, ApproximateOp::Rcp, false);
  bindF64(b, FloatOp::Rcp, 1, true);
}

static void bindRsqrtF64(Binder &b) {
  b.expect("approx");
  bindApproximateF64(b, ApproximateOp::Rsqrt, true);
}

static void bindApproximateHalf(Binder &b, ApproximateOp op) {
  b.expect("approx");
  auto *payload = b.payload<ApproximatePayload>();
  payload->op = op;
  payload->flushes = op == ApproximateOp::Ex2 && b.accept("ftz");
  Type type = b.type({Type::F16, Type::F16x2, Type::BF16, Type::BF16x2});
  bool isBfloat = type == Type::BF16 || type == Type::BF16x2;
  payload->kind = isBfloat ? HalfKind::BF16 : HalfKind::F16;
  payload->count = type == Type::F16 || type == Type::BF16 ? 32 : 64;
  // ex2 on bf16 exists as .ftz only, and on f16 without it.
  if (op == ApproximateOp::Ex2 && payload->flushes != isBfloat)
    b.fail("expected .approx%s on .%s", isBfloat ? ".ftz" : "", std::string(weft::emu::ptx::name(type)).c_str());
  b.requireSm(isBfloat ? 90 : 75);
  bindOperands(b, type, 1);
  b.run(runApproximateHalf);
}

static void bindEx2Half(Binder &b) { bindApproximateHalf(b, ApproximateOp::Ex2); }
static void bindTanhHalf(Binder &b) { bindApproximateHalf(b, ApproximateOp::Tanh); }

//===--------------------------------------------------------------------------------------------------------------===//
// Table
//===--------------------------------------------------------------------------------------------------------------===//

static constexpr TypeSet kSingle = {Type::F32}, kDouble = {Type::F64}, kSinglePair = {Type::F32x2};
static constexpr TypeSet kHalves = {Type::F16, Type::F16x2, Type::BF16, Type::BF16x2};

static const FamilyRow kRows[] = {
    {"add", kSingle, bindAddF32},    {"add", kDouble, bindAddF64},     {"add", kSinglePair, bindF32x2},
    {"cos", kSingle, bindCos},       {"div", kSingle, bindDivF32},     {"div", kDouble, bindDivF64},
    {"ex2", kSingle, bindEx2},       {"ex2", kHalves, bindEx2Half},    {"fma", kSingle, bindFmaF32},
    {"fma", kDouble, bindFmaF64},    {"fma", kSinglePair, bindF32x2},  {"lg2", kSingle, bindLg2},
    {"mad", kSingle, bindFmaF32},    {"mad", kDouble, bindFmaF64},     {"mul", kSingle, bindMulF32},
    {"mul", kDouble, bindMulF64},    {"mul", kSinglePair, bindF32x2},  {"rcp", kSingle, bindRcpF32},
    {"rcp", kDouble, bindRcpF64},    {"rsqrt", kSingle, bindRsqrtF32}, {"rsqrt", kDouble, bindRsqrtF64},
    {"sin", kSingle, bindSin},       {"sqrt", kSingle, bindSqrtF32},   {"sqrt", kDouble, bindSqrtF64},
    {"sub", kSingle, bindSubF32},    {"sub", kDouble, bindSubF64},     {"sub", kSinglePair, bindF32x2},
    {"tanh", kHalves, bindTanhHalf}, {"tanh", kSingle, bindTanh},
};

namespace weft::emu {
extern const Family kFloatFamily;
const Family kFloatFamily = {"float", kRows, sizeof kRows / sizeof *kRows};
} // namespace weft::emu
