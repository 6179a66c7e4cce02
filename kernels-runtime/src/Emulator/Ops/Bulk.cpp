// Bulk copies, reductions and groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk between global memory and shared memory, and within a cluster; cp.reduce.async.bulk; the prefetch; bulk
// groups. Each executing thread issues its own operation.
#include "Emulator/Async/AddressOperand.h"
#include "Emulator/Async/CopyOps.h"

using namespace weft;
using namespace weft::emu;

namespace {

constexpr uint8_t kNone = 255;

struct BulkPayload {
  AddressOperand target, source, mbarrier;
  bool readsShared = false, writesShared = false;
  bool hasMbarrier = false;
  bool isReduction = false;
  bool isPrefetch = false;
  ReduceOp reduceOp = ReduceOp::Add;
  ReduceType reduceType = ReduceType::U32;
  uint8_t size = kNone;
  uint8_t ctaMask = kNone;
};

Outcome prefetch(Warp &warp, const Step &step, LaneMask lanes, uint64_t source, uint32_t bytes) {
  auto op = std::make_shared<PrefetchOp>();
  op->warp = &warp, op->cta = warp.cta, op->step = &step, op->lanes = lanes;
  op->source = source;
  op->bytes = bytes;
  return warp.machine->issue(op) ? Outcome::Next : Outcome::Fault;
}

Outcome runLane(Warp &warp, const Step &step, unsigned lane) {
  const auto &payload = *static_cast<const BulkPayload *>(step.payload);
  uint64_t source = payload.source.at(warp, step, lane);
  uint32_t bytes = warp.lanes<uint32_t>(step.slots[payload.size])[lane];
  uint64_t target = payload.isPrefetch ? 0 : payload.target.at(warp, step, lane);
  if (bytes % 16 || source % 16 || target % 16)
    return warp.machine->fault(warp, step, lane,
                               "expected addresses and a size that are multiples of 16, got destination 0x%llx, source "
                               "0x%llx and %u bytes",
                               (unsigned long long)target, (unsigned long long)source, bytes);
  if (payload.isPrefetch)
    return prefetch(warp, step, LaneMask(1) << lane, source, bytes);
  auto op = std::make_shared<BulkCopyOp>();
  op->warp = &warp, op->cta = warp.cta, op->step = &step, op->lanes = LaneMask(1) << lane;
  op->readsShared = payload.readsShared;
  op->writesShared = payload.writesShared;
  op->target = target;
  op->source = source;
  op->bytes = bytes;
  op->isReduction = payload.isReduction;
  op->reduceOp = payload.reduceOp;
  op->reduceType = payload.reduceType;
  op->completion.isUsed = payload.hasMbarrier;
  if (payload.hasMbarrier)
    op->completion.address = uint32_t(payload.mbarrier.at(warp, step, lane));
  op->isMulticast = payload.ctaMask != kNone;
  if (op->isMulticast)
    op->ctaMask = warp.lanes<uint16_t>(step.slots[payload.ctaMask])[lane];
  if (!payload.hasMbarrier)
    WarpAsync::of(warp).bulk.add(op);
  return warp.machine->issue(op) ? Outcome::Next : Outcome::Fault;
}

Outcome runBulk(Warp &warp, const Step &step, LaneMask mask) {
  for (; mask; mask &= mask - 1)
    if (Outcome outcome = runLane(warp, step, unsigned(__builtin_ctz(mask))); outcome != Outcome::Next)
      return outcome;
  return Outcome::Next;
}

Outcome runCommit(Warp &warp, const Step &, LaneMask mask) {
  WarpAsync::of(warp).bulk.commit(mask);
  return Outcome::Next;
}

Outcome runWaitGroup(Warp &warp, const Step &step, LaneMask mask) {
  bool readsOnly = step.immediate >> 32;
  bool isGood = WarpAsync::of(warp).bulk.wait(*warp.machine, warp, mask, uint32_t(step.immediate), readsOnly);
  return isGood ? Outcome::Next : Outcome::Fault;
}

/// The directions of cp.async.bulk, with how each completes.
void bindDirection(Binder &b, BulkPayload &payload) {
  unsigned to = b.expectOneOf({"shared::cluster", "shared::cta", "global"});
  unsigned from = b.expectOneOf({"global", "shared::cta"});
  payload.writesShared = to != 2;
  payload.readsShared = from == 1;
  if (to == 1 && from == 1)
    b.fail("expected .global after .shared::cta, got .shared::cta");
  if (to == 2 && from == 0)
    b.fail("expected .shared::cta after .global, got .global");
  if (to == 1)
    b.requireVersion(8, 6);
  payload.hasMbarrier = payload.writesShared;
  b.expect(payload.hasMbarrier ? "mbarrier::complete_tx::bytes" : "bulk_group");
}

/// Operands after the modifiers: [to], [from], size{, [mbarrier]}{, ctaMask}{, policy}.
void bindOperands(Binder &b, BulkPayload &payload, bool isMulticast, bool hasHint) {
  b.requireSm(90);
  unsigned next = 3;
  b.operands(next + payload.hasMbarrier + isMulticast + hasHint);
  MemorySpace to = payload.writesShared ? MemorySpace::SharedCluster : MemorySpace::Global;
  MemorySpace from = payload.readsShared ? MemorySpace::Shared : MemorySpace::Global;
  payload.target = bindAddress(b, b.operand(0), to);
  payload.source = bindAddress(b, b.operand(1), from);
  payload.size = uint8_t(b.use(2, Type::B32));
  if (payload.hasMbarrier)
    payload.mbarrier = bindAddress(b, b.operand(next++), MemorySpace::SharedCluster);
  if (isMulticast)
    payload.ctaMask = uint8_t(b.use(next++, Type::B16));
  if (hasHint)
    b.use(next, Type::B64);
  b.run(runBulk);
}

void bindCopy(Binder &b) {
  BulkPayload &payload = *b.payload<BulkPayload>();
  bindDirection(b, payload);
  bool isMulticast = payload.writesShared && !payload.readsShared && b.accept("multicast::cluster");
  bool hasHint = acceptCacheHint(b);
  bindOperands(b, payload, isMulticast, hasHint);
}

/// {.noftz}.type of a reduction, checked against its operation.
void bindReduceType(Binder &b, BulkPayload &payload) {
  bool isNoFtz = b.accept("noftz");
  Type type = b.type(
      {Type::F16, Type::BF16, Type::B32, Type::U32, Type::S32, Type::B64, Type::U64, Type::S64, Type::F32, Type::F64});
  bool isHalf = type == Type::F16 || type == Type::BF16;
  if (isNoFtz != (isHalf && payload.reduceOp == ReduceOp::Add))
    b.fail(isNoFtz ? "unexpected .noftz" : "expected .noftz before .f16 and .bf16");
  bool isBits = type == Type::B32 || type == Type::B64;
  bool isLogic = payload.reduceOp >= ReduceOp::And;
  switch (type) {
  case Type::F16:
    payload.reduceType = ReduceType::F16;
    break;
  case Type::BF16:
    payload.reduceType = ReduceType::BF16;
    break;
  case Type::F32:
    payload.reduceType = ReduceType::F32;
    break;
  case Type::F64:
    payload.reduceType = ReduceType::F64;
    break;
  case Type::S32:
    payload.reduceType = ReduceType::S32;
    break;
  case Type::S64:
    payload.reduceType = ReduceType::S64;
    break;
  default:
    payload.reduceType = ptx::bitWidth(type) == 64 ? ReduceType::U64 : ReduceType::U32;
    break;
  }
  // Sums of s64 are not in the manual's table: its bits are those of u64.
  if (isBits != isLogic || !isReducible(payload.reduceOp, payload.reduceType))
    b.fail("there is no .%s of .%s", std::string(emu::name(payload.reduceOp)).c_str(),
           std::string(ptx::name(type)).c_str());
  if (payload.writesShared && (isHalf || ptx::bitWidth(type) == 64) &&
      !(type == Type::U64 && payload.reduceOp == ReduceOp::Add))
    b.fail("there is no .%s of .%s in shared memory", std::string(emu::name(payload.reduceOp)).c_str(),
           std::string(ptx::name(type)).c_str());
}

void bindReduce(Binder &b) {
  BulkPayload &payload = *b.payload<BulkPayload>();
  payload.isReduction = true;
  bindDirection(b, payload);
  if (payload.writesShared && !payload.readsShared)
    b.fail("expected a source in .shared::cta");
  bool hasHint = !payload.writesShared && acceptCacheHint(b);
  if (!parseReduceOp(b.peek(), payload.reduceOp))
    b.fail("expected .add, .min, .max, .inc, .dec, .and, .or or .xor");
  else
    b.expect(b.peek());
  bindReduceType(b, payload);
  bindOperands(b, payload, false, hasHint);
}

void bindPrefetch(Binder &b) {
  BulkPayload &payload = *b.payload<BulkPayload>();
  payload.isPrefetch = true;
  b.expect("L2");
  b.expect("global");
  bool hasHint = acceptCacheHint(b);
  b.requireSm(90);
  b.operands(hasHint ? 3 : 2);
  payload.source = bindAddress(b, b.operand(0), MemorySpace::Global);
  payload.size = uint8_t(b.use(1, Type::B32));
  if (hasHint)
    b.use(2, Type::B64);
  b.run(runBulk);
}

void bindCommit(Binder &b) {
  b.operands(0);
  b.requireSm(90);
  b.run(runCommit);
}

void bindWaitGroup(Binder &b) {
  uint64_t readsOnly = b.accept("read");
  b.operands(1);
  b.requireSm(90);
  b.immediate(readsOnly << 32 | uint64_t(b.constant(0, 0, 0x7fffffff)));
  b.run(runWaitGroup);
}

constexpr FamilyRow kRows[] = {
    {"cp.async.bulk", {}, bindCopy},
    {"cp.reduce.async.bulk", {}, bindReduce},
    {"cp.async.bulk.prefetch", {}, bindPrefetch},
    {"cp.async.bulk.commit_group", {}, bindCommit},
    {"cp.async.bulk.wait_group", {}, bindWaitGroup},
};

} // namespace

namespace weft::emu {
extern const Family kBulkFamily;
const Family kBulkFamily = {"cp.async.bulk", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu
