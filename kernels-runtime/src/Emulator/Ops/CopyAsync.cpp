// cp.async and its groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.ca and .cg with zero fill and ignore-src, commit_group, wait_group, wait_all, mbarrier.arrive.
#include "Emulator/Async/AddressOperand.h"
#include "Emulator/Async/CopyOps.h"

using namespace weft;
using namespace weft::emu;

namespace {

constexpr uint8_t kNone = 255;

struct CopyPayload {
  AddressOperand target, source;
  CacheHints cache;
  uint32_t bytes = 16;
  uint8_t sourceSize = kNone; ///< Slot of src-size.
  uint8_t ignore = kNone;     ///< Slot of the ignore-src predicate.
  bool isIgnoreNegated = false;
};

void describeTo(AsyncOp &op, Warp &warp, const Step &step, LaneMask mask) {
  op.warp = &warp;
  op.cta = warp.cta;
  op.step = &step;
  op.lanes = mask;
}

Outcome runCopy(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const CopyPayload *>(step.payload);
  auto op = std::make_shared<CopyAsyncOp>();
  describeTo(*op, warp, step, mask);
  op->bytes = payload.bytes;
  op->cache = payload.cache;
  LaneMask ignored = payload.ignore == kNone ? 0 : warp.predicate(step.slots[payload.ignore]);
  if (payload.isIgnoreNegated)
    ignored = ~ignored;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    op->target[lane] = uint32_t(payload.target.at(warp, step, lane));
    op->source[lane] = payload.source.at(warp, step, lane);
    uint32_t size = payload.bytes;
    if (payload.sourceSize != kNone)
      size = warp.lanes<uint32_t>(step.slots[payload.sourceSize])[lane];
    if (size > payload.bytes)
      return warp.machine->fault(warp, step, lane, "expected a src-size of at most %u bytes, got %u", payload.bytes,
                                 size);
    op->sourceBytes[lane] = ignored >> lane & 1 ? 0 : uint8_t(size);
    if (op->target[lane] % payload.bytes || op->source[lane] % payload.bytes)
      return warp.machine->fault(warp, step, lane,
                                 "expected addresses that are multiples of %u, got shared 0x%x and global 0x%llx",
                                 payload.bytes, op->target[lane], (unsigned long long)op->source[lane]);
  }
  WarpAsync::of(warp).copies.add(op);
  return warp.machine->issue(op) ? Outcome::Next : Outcome::Fault;
}

Outcome runCommit(Warp &warp, const Step &, LaneMask mask) {
  WarpAsync::of(warp).copies.commit(mask);
  return Outcome::Next;
}

Outcome runWaitGroup(Warp &warp, const Step &step, LaneMask mask) {
  bool isGood = WarpAsync::of(warp).copies.wait(*warp.machine, warp, mask, uint32_t(step.immediate), false);
  return isGood ? Outcome::Next : Outcome::Fault;
}

Outcome runWaitAll(Warp &warp, const Step &, LaneMask mask) {
  return WarpAsync::of(warp).copies.waitAll(*warp.machine, warp, mask) ? Outcome::Next : Outcome::Fault;
}

struct ArrivePayload {
  AddressOperand mbarrier;
  bool isNoInc = false;
};

Outcome runArrive(Warp &warp, const Step &step, LaneMask mask) {
  const auto &payload = *static_cast<const ArrivePayload *>(step.payload);
  MbarrierActor actor = {&warp, &step, mask, nullptr, Order::Relaxed, Scope::Cta};
  uint64_t addresses[32];
  forLanes(mask, [&](unsigned lane) { addresses[lane] = payload.mbarrier.at(warp, step, lane); });
  MbarrierPlace places[32];
  if (!placeMbarriers(actor, payload.mbarrier.space, addresses, places))
    return Outcome::Fault;
  auto op = std::make_shared<CopyArriveOp>();
  describeTo(*op, warp, step, mask);
  op->copies = WarpAsync::of(warp).copies.pending(mask);
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    actor.lanes = rest & -rest;
    const MbarrierPlace &place = places[actor.lane()];
    op->mbarrier[actor.lane()] = place.owner->rank << kSharedRankShift | place.offset;
    if (!payload.isNoInc && !addPendingMbarrier(actor, place))
      return Outcome::Fault;
  }
  return warp.machine->issue(op) ? Outcome::Next : Outcome::Fault;
}

void acceptPrefetch(Binder &b, CacheHints &cache) {
  switch (b.acceptOneOf({"L2::64B", "L2::128B", "L2::256B"})) {
  case 0:
    cache.prefetchBytes = 64;
    break;
  case 1:
    cache.prefetchBytes = 128;
    break;
  case 2:
    cache.prefetchBytes = 256;
    break;
  default:
    break;
  }
}

bool isPredicate(Binder &b, unsigned i) {
  return b.isRegister(i) && b.function().registers[b.operand(i).index].type == Type::Pred;
}

void bindCopy(Binder &b) {
  CopyPayload &payload = *b.payload<CopyPayload>();
  bool isCg = b.expectOneOf({"ca", "cg"}) == 1;
  payload.cache.op = isCg ? CacheHints::Cg : CacheHints::Ca;
  b.expectOneOf({"shared", "shared::cta"});
  b.expect("global");
  payload.cache.hasPolicy = acceptCacheHint(b);
  acceptPrefetch(b, payload.cache);
  b.requireSm(80);
  unsigned policy = payload.cache.hasPolicy ? 1 : 0;
  b.operands(3 + policy, 4 + policy);
  payload.target = bindAddress(b, b.operand(0), MemorySpace::Shared);
  payload.source = bindAddress(b, b.operand(1), MemorySpace::Global);
  payload.bytes = uint32_t(b.constant(2, isCg ? 16 : 4, 16));
  if (payload.bytes != 4 && payload.bytes != 8 && payload.bytes != 16)
    b.fail("expected a size of 4, 8 or 16 bytes, got %u", payload.bytes);
  if (b.operandCount() > 3 + policy) {
    if (isPredicate(b, 3))
      payload.ignore = uint8_t(b.usePredicate(b.operand(3), payload.isIgnoreNegated));
    else
      payload.sourceSize = uint8_t(b.use(3, Type::B32));
  }
  if (policy)
    b.use(b.operandCount() - 1, Type::B64);
  b.run(runCopy);
}

void bindCommit(Binder &b) {
  b.operands(0);
  b.requireSm(80);
  b.run(runCommit);
}

void bindWaitGroup(Binder &b) {
  b.operands(1);
  b.immediate(uint64_t(b.constant(0, 0, 0x7fffffff)));
  b.run(runWaitGroup);
}

void bindWaitAll(Binder &b) {
  b.operands(0);
  b.run(runWaitAll);
}

void bindArrive(Binder &b) {
  ArrivePayload &payload = *b.payload<ArrivePayload>();
  payload.isNoInc = b.accept("noinc");
  MemorySpace space = acceptSharedSpace(b, false);
  b.expect("b64");
  b.operands(1);
  payload.mbarrier = bindAddress(b, b.operand(0), space);
  b.run(runArrive);
}

constexpr FamilyRow kRows[] = {
    {"cp.async", {}, bindCopy},
    {"cp.async.commit_group", {}, bindCommit},
    {"cp.async.wait_group", {}, bindWaitGroup},
    {"cp.async.wait_all", {}, bindWaitAll},
    {"cp.async.mbarrier.arrive", {}, bindArrive},
};

} // namespace

namespace weft::emu {
extern const Family kCopyAsyncFamily;
const Family kCopyAsyncFamily = {"cp.async", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu
