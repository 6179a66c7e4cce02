// st.async and red.async.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores and reductions into shared memory of the cluster that complete bytes on an mbarrier there.
#include "Emulator/Async/AddressOperand.h"
#include "Emulator/Async/CopyOps.h"

#include <cstring>

using namespace weft;
using namespace weft::emu;

namespace {

struct StorePayload {
  AddressOperand target, mbarrier;
  uint8_t elementBytes = 4;
  uint8_t elements = 1;
  uint8_t values[4] = {};
  bool isReduction = false;
  ReduceOp reduceOp = ReduceOp::Add;
  ReduceType reduceType = ReduceType::U32;
};

Outcome runStore(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const StorePayload *>(step.payload);
  auto op = std::make_shared<StoreAsyncOp>();
  op->warp = &warp, op->cta = warp.cta, op->step = &step, op->lanes = mask;
  op->bytes = uint32_t(payload.elementBytes) * payload.elements;
  op->isReduction = payload.isReduction;
  op->reduceOp = payload.reduceOp;
  op->reduceType = payload.reduceType;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    op->target[lane] = uint32_t(payload.target.at(warp, step, lane));
    op->mbarrier[lane] = uint32_t(payload.mbarrier.at(warp, step, lane));
    if (op->target[lane] >> kSharedRankShift != op->mbarrier[lane] >> kSharedRankShift)
      return warp.machine->fault(warp, step, lane,
                                 "the destination 0x%x and the mbarrier 0x%x are of different ctas of the cluster",
                                 op->target[lane], op->mbarrier[lane]);
    for (unsigned i = 0; i < payload.elements; ++i)
      std::memcpy(op->data[lane] + i * payload.elementBytes,
                  warp.lanes<uint8_t>(step.slots[payload.values[i]]) + lane * payload.elementBytes,
                  payload.elementBytes);
  }
  return warp.machine->issue(op) ? Outcome::Next : Outcome::Fault;
}

void bindOperands(Binder &b, StorePayload &payload, Type type) {
  b.requireSm(90);
  b.operands(3);
  payload.elementBytes = uint8_t(ptx::bitWidth(type) / 8);
  payload.target = bindAddress(b, b.operand(0), MemorySpace::SharedCluster);
  ptx::Span<ptx::Operand> values = b.elements(1, payload.elements);
  for (unsigned i = 0; i < values.size() && i < 4; ++i)
    payload.values[i] = uint8_t(b.use(values[i], type));
  payload.mbarrier = bindAddress(b, b.operand(2), MemorySpace::SharedCluster);
  b.run(runStore);
}

void bindStore(Binder &b) {
  StorePayload &payload = *b.payload<StorePayload>();
  b.accept("weak");
  b.accept("shared::cluster");
  b.expect("mbarrier::complete_tx::bytes");
  switch (b.acceptOneOf({"v2", "v4"})) {
  case 0:
    payload.elements = 2;
    break;
  case 1:
    payload.elements = 4;
    break;
  default:
    break;
  }
  Type type = b.type({Type::B32, Type::U32, Type::S32, Type::F32, Type::B64, Type::U64, Type::S64, Type::F64});
  if (payload.elements == 4 && ptx::bitWidth(type) == 64)
    b.fail("expected at most 16 bytes, got .v4 of .%s", std::string(ptx::name(type)).c_str());
  bindOperands(b, payload, type);
}

void bindReduce(Binder &b) {
  StorePayload &payload = *b.payload<StorePayload>();
  payload.isReduction = true;
  b.expect("relaxed");
  b.expect("cluster");
  b.accept("shared::cluster");
  b.expect("mbarrier::complete_tx::bytes");
  if (!parseReduceOp(b.peek(), payload.reduceOp))
    b.fail("expected .add, .min, .max, .inc, .dec, .and, .or or .xor");
  else
    b.expect(b.peek());
  bool isLogic = payload.reduceOp >= ReduceOp::And,
       isCount = payload.reduceOp == ReduceOp::Inc || payload.reduceOp == ReduceOp::Dec;
  TypeSet allowed = isLogic                             ? TypeSet{Type::B32}
                    : isCount                           ? TypeSet{Type::U32}
                    : payload.reduceOp == ReduceOp::Add ? TypeSet{Type::U32, Type::S32, Type::U64}
                                                        : TypeSet{Type::U32, Type::S32};
  Type type = b.type(allowed);
  payload.reduceType = type == Type::S32 ? ReduceType::S32 : type == Type::U64 ? ReduceType::U64 : ReduceType::U32;
  bindOperands(b, payload, type);
}

constexpr FamilyRow kRows[] = {
    {"st.async", {}, bindStore},
    {"red.async", {}, bindReduce},
};

} // namespace

namespace weft::emu {
extern const Family kStoreAsyncFamily;
const Family kStoreAsyncFamily = {"st.async", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu
