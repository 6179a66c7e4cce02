// The mbarrier instructions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mbarrier.init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait, pending_count. try_wait
// sleeps until the phase completes (the time limit of the manual is system-dependent; here it never passes), test_wait
// answers at once.
#include "Emulator/Async/AddressOperand.h"
#include "Emulator/Async/MbarrierOps.h"

using namespace weft;
using namespace weft::emu;

namespace {

constexpr uint8_t kNone = 255;

struct MbarrierPayload {
  AddressOperand address;
  Order order = Order::Release;
  Scope scope = Scope::Cta;
  uint8_t result = kNone; ///< Slot of the token or predicate; kNone for `_`.
  uint8_t value = kNone;  ///< Slot of the count, bytes, token or parity; kNone: a count of 1.
  bool isExpectTx = false;
  bool isDrop = false;
  bool isNoComplete = false;
  bool isParity = false;
  bool isTry = false;
};

const MbarrierPayload &payloadOf(const Step &step) { return *static_cast<const MbarrierPayload *>(step.payload); }

/// The addresses of the lanes' mbarriers. False: fault.
bool places(const MbarrierActor &actor, MbarrierPlace *found) {
  const MbarrierPayload &payload = payloadOf(*actor.step);
  uint64_t addresses[32];
  for (LaneMask rest = actor.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    addresses[lane] = payload.address.at(*actor.warp, *actor.step, lane);
  }
  return placeMbarriers(actor, payload.address.space, addresses, found);
}

MbarrierActor actorOf(Warp &warp, const Step &step, LaneMask mask) {
  const MbarrierPayload &payload = payloadOf(step);
  return {&warp, &step, mask, nullptr, payload.order, payload.scope};
}

uint32_t valueOf(const Warp &warp, const Step &step, unsigned lane) {
  uint8_t slot = payloadOf(step).value;
  return slot == kNone ? 1 : warp.lanes<uint32_t>(step.slots[slot])[lane];
}

/// The lanes of `rest` that name the mbarrier of the first of them, with the same value.
LaneMask lanesLikeFirst(const Warp &warp, const Step &step, const MbarrierPlace *found, LaneMask rest) {
  unsigned first = unsigned(__builtin_ctz(rest));
  uint32_t value = valueOf(warp, step, first);
  LaneMask same = 0;
  for (; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (found[lane].host == found[first].host && valueOf(warp, step, lane) == value)
      same |= LaneMask(1) << lane;
  }
  return same;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Changes
//===--------------------------------------------------------------------------------------------------------------===//

using Change = bool (*)(const MbarrierActor &, const MbarrierPlace &, uint32_t value);

/// One call per lane.
Outcome change(Warp &warp, const Step &step, LaneMask mask, Change body) {
  MbarrierPlace found[32];
  MbarrierActor actor = actorOf(warp, step, mask);
  if (!places(actor, found))
    return Outcome::Fault;
  for (LaneMask rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    actor.lanes = LaneMask(1) << lane;
    if (!body(actor, found[lane], valueOf(warp, step, lane)))
      return Outcome::Fault;
  }
  return Outcome::Next;
}

Outcome runInit(Warp &warp, const Step &step, LaneMask mask) { return change(warp, step, mask, initMbarrier); }

Outcome runInvalidate(Warp &warp, const Step &step, LaneMask mask) {
  return change(warp, step, mask, [](const MbarrierActor &actor, const MbarrierPlace &place, uint32_t) {
    return invalidateMbarrier(actor, place);
  });
}

Outcome runExpectTx(Warp &warp, const Step &step, LaneMask mask) { return change(warp, step, mask, expectTxMbarrier); }

Outcome runCompleteTx(Warp &warp, const Step &step, LaneMask mask) {
  return change(warp, step, mask, completeTxMbarrier);
}

/// Arrivals of `lanes` at one mbarrier, with one value.
bool arrive(const MbarrierActor &actor, const MbarrierPlace &place, uint32_t value) {
  const MbarrierPayload &payload = payloadOf(*actor.step);
  uint32_t count = payload.isExpectTx ? 1 : value, tx = payload.isExpectTx ? value : 0;
  uint64_t token = 0;
  MbarrierActor one = actor;
  MbarrierObject *object = findMbarrier(actor, place);
  if (!object)
    return false;
  // At once if the phase has room for all of them; else one by one, as each may complete a phase.
  uint32_t lanes = uint32_t(__builtin_popcount(actor.lanes));
  bool isAtOnce = uint64_t(count) * lanes <= object->state.pendingCount() && uint64_t(tx) * lanes <= kMaxMbarrierCount;
  for (LaneMask rest = actor.lanes; rest;) {
    one.lanes = isAtOnce ? rest : rest & -rest;
    uint32_t times = isAtOnce ? lanes : 1;
    if (!arriveMbarrier(one, place, count * times, tx * times, payload.isDrop, payload.isNoComplete, &token))
      return false;
    if (payload.result != kNone)
      forLanes(one.lanes,
               [&](unsigned lane) { actor.warp->lanes<uint64_t>(actor.step->slots[payload.result])[lane] = token; });
    rest &= ~one.lanes;
  }
  return true;
}

Outcome runArrive(Warp &warp, const Step &step, LaneMask mask) {
  MbarrierPlace found[32];
  MbarrierActor actor = actorOf(warp, step, mask);
  if (!places(actor, found))
    return Outcome::Fault;
  for (LaneMask rest = mask; rest;) {
    actor.lanes = lanesLikeFirst(warp, step, found, rest);
    unsigned lane = actor.lane();
    if (payloadOf(step).result != kNone && found[lane].owner != warp.cta)
      return warp.machine->fault(warp, step, lane,
                                 "an arrival at an mbarrier of another cta returns no state; write _");
    if (!arrive(actor, found[lane], valueOf(warp, step, lane)))
      return Outcome::Fault;
    rest &= ~actor.lanes;
  }
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Waits
//===--------------------------------------------------------------------------------------------------------------===//

/// Whether the phase that a lane asks for is complete; the observers hear of it.
bool test(const MbarrierActor &actor, const MbarrierPlace &place, const MbarrierObject &object) {
  const MbarrierPayload &payload = payloadOf(*actor.step);
  unsigned lane = actor.lane();
  bool isComplete = false;
  if (payload.isParity) {
    isComplete = object.state.testParity(valueOf(*actor.warp, *actor.step, lane));
  } else {
    uint64_t token = actor.warp->lanes<uint64_t>(actor.step->slots[payload.value])[lane];
    if (MbarrierFault fault = object.state.testToken(token, isComplete); fault != MbarrierFault::None)
      actor.machine().find("mbarrier-state", *actor.warp, *actor.step, lane, place.offset,
                           "%s: the mbarrier at shared address 0x%x is in phase %llu", describe(fault), place.offset,
                           (unsigned long long)object.state.phase());
  }
  MbarrierEvent event = {isComplete ? MbarrierAction::WaitTrue : MbarrierAction::WaitFalse,
                         actor.warp,
                         actor.step,
                         actor.lanes,
                         nullptr,
                         place.owner,
                         place.offset,
                         object.state.phase() - (isComplete ? 1 : 0),
                         0,
                         actor.order,
                         actor.scope};
  actor.machine().observe([&](Observer &observer) { observer.mbarrier(event); });
  return isComplete;
}

Outcome runWait(Warp &warp, const Step &step, LaneMask mask) {
  const MbarrierPayload &payload = payloadOf(step);
  MbarrierPlace found[32];
  MbarrierActor actor = actorOf(warp, step, mask);
  if (!places(actor, found))
    return Outcome::Fault;
  LaneMask complete = 0;
  MbarrierObject *object = nullptr;
  bool isOne = true;
  for (LaneMask rest = mask; rest;) {
    // Tokens are compared lane by lane, parities in groups.
    actor.lanes = payload.isParity ? lanesLikeFirst(warp, step, found, rest) : rest & -rest;
    if (found[actor.lane()].owner != warp.cta)
      return warp.machine->fault(warp, step, actor.lane(), "a wait on an mbarrier of another cta of the cluster");
    MbarrierObject *next = findMbarrier(actor, found[actor.lane()]);
    if (!next)
      return Outcome::Fault;
    isOne &= !object || object == next;
    object = next;
    if (test(actor, found[actor.lane()], *object))
      complete |= actor.lanes;
    rest &= ~actor.lanes;
  }
  if (!complete && payload.isTry) {
    uint64_t parity =
        payload.isParity ? valueOf(warp, step, unsigned(__builtin_ctz(mask))) & 1 : object->state.phase() & 1;
    if (!isOne)
      return warp.waitFor(WaitKind::Mbarrier, object->offset, parity);
    object->waiters.push_back({&warp, mask});
    return warp.park(WaitKind::Mbarrier, object->offset, parity);
  }
  warp.setPredicate(step.slots[payload.result], mask, complete);
  return complete == mask ? Outcome::Next : Outcome::Yield;
}

Outcome runPendingCount(Warp &warp, const Step &step, LaneMask mask) {
  forLanes(mask, [&](unsigned lane) {
    uint64_t token = warp.lanes<uint64_t>(step.slots[1])[lane];
    if (!(token >> 63))
      warp.machine->find("mbarrier-state", warp, step, lane, 0, "%s", describe(MbarrierFault::NotAToken));
    warp.lanes<uint32_t>(step.slots[0])[lane] = Mbarrier::pendingOf(token);
  });
  return Outcome::Next;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Binding
//===--------------------------------------------------------------------------------------------------------------===//

/// {.sem{.scope}}, either order of what LLVM and nvcc write.
void acceptOrder(Binder &b, MbarrierPayload &payload, Order strong) {
  payload.order = strong;
  if (b.accept(strong == Order::Release ? "release" : "acquire"))
    b.requireVersion(8, 0);
  else if (b.accept("relaxed"))
    payload.order = Order::Relaxed;
  if (b.accept("cluster"))
    payload.scope = Scope::Cluster;
  else
    b.accept("cta");
}

void bindInit(Binder &b) {
  MbarrierPayload &payload = *b.payload<MbarrierPayload>();
  MemorySpace space = acceptSharedSpace(b, false);
  b.expect("b64");
  b.operands(2);
  payload.order = Order::Relaxed;
  payload.address = bindAddress(b, b.operand(0), space);
  payload.value = uint8_t(b.use(1, Type::B32));
  b.run(runInit);
}

void bindInvalidate(Binder &b) {
  MbarrierPayload &payload = *b.payload<MbarrierPayload>();
  MemorySpace space = acceptSharedSpace(b, false);
  b.expect("b64");
  b.operands(1);
  payload.order = Order::Relaxed;
  payload.address = bindAddress(b, b.operand(0), space);
  b.run(runInvalidate);
}

void bindTx(Binder &b, RunFunction run) {
  MbarrierPayload &payload = *b.payload<MbarrierPayload>();
  if (b.accept("relaxed"))
    b.requireVersion(8, 0);
  if (b.accept("cluster"))
    payload.scope = Scope::Cluster;
  else
    b.accept("cta");
  payload.order = Order::Relaxed;
  MemorySpace space = acceptSharedSpace(b, true);
  b.expect("b64");
  b.operands(2);
  b.requireSm(90);
  payload.address = bindAddress(b, b.operand(0), space);
  payload.value = uint8_t(b.use(1, Type::B32));
  b.run(run);
}
void bindExpectTx(Binder &b) { bindTx(b, runExpectTx); }
void bindCompleteTx(Binder &b) { bindTx(b, runCompleteTx); }

void bindArriveAs(Binder &b, bool isDrop) {
  MbarrierPayload &payload = *b.payload<MbarrierPayload>();
  payload.isDrop = isDrop;
  payload.isExpectTx = b.accept("expect_tx");
  payload.isNoComplete = !payload.isExpectTx && b.accept("noComplete");
  acceptOrder(b, payload, Order::Release);
  MemorySpace space = acceptSharedSpace(b, true);
  b.expect("b64");
  bool needsValue = payload.isExpectTx || payload.isNoComplete;
  b.operands(needsValue ? 3 : 2, 3);
  if (payload.isExpectTx || space == MemorySpace::SharedCluster)
    b.requireSm(90);
  bool isSink = b.operand(0).kind == ptx::OperandKind::Sink;
  if (space == MemorySpace::SharedCluster && !isSink)
    b.fail("expected _ in place of the state: an arrival at shared::cluster returns none");
  if (!isSink)
    payload.result = uint8_t(b.def(0, Type::B64));
  payload.address = bindAddress(b, b.operand(1), space);
  if (b.operandCount() > 2)
    payload.value = uint8_t(b.use(2, Type::B32));
  b.run(runArrive);
}
void bindArrive(Binder &b) { bindArriveAs(b, false); }
void bindArriveDrop(Binder &b) { bindArriveAs(b, true); }

void bindWait(Binder &b, bool isTry) {
  MbarrierPayload &payload = *b.payload<MbarrierPayload>();
  payload.isTry = isTry;
  payload.isParity = b.accept("parity");
  acceptOrder(b, payload, Order::Acquire);
  MemorySpace space = acceptSharedSpace(b, false);
  b.expect("b64");
  b.operands(3, isTry ? 4 : 3);
  if (isTry)
    b.requireSm(90);
  payload.result = uint8_t(b.def(0, Type::Pred));
  payload.address = bindAddress(b, b.operand(1), space);
  payload.value = uint8_t(b.use(2, payload.isParity ? Type::B32 : Type::B64));
  if (b.operandCount() > 3)
    b.use(3, Type::B32); // The time limit.
  b.run(runWait);
}
void bindTestWait(Binder &b) { bindWait(b, false); }
void bindTryWait(Binder &b) { bindWait(b, true); }

void bindPendingCount(Binder &b) {
  b.expect("b64");
  b.operands(2);
  b.def(0, Type::B32);
  b.use(1, Type::B64);
  b.run(runPendingCount);
}

constexpr FamilyRow kRows[] = {
    {"mbarrier.init", {}, bindInit},
    {"mbarrier.inval", {}, bindInvalidate},
    {"mbarrier.expect_tx", {}, bindExpectTx},
    {"mbarrier.complete_tx", {}, bindCompleteTx},
    {"mbarrier.arrive", {}, bindArrive},
    {"mbarrier.arrive_drop", {}, bindArriveDrop},
    {"mbarrier.test_wait", {}, bindTestWait},
    {"mbarrier.try_wait", {}, bindTryWait},
    {"mbarrier.pending_count", {}, bindPendingCount},
};

} // namespace

namespace weft::emu {
extern const Family kMbarrierFamily;
const Family kMbarrierFamily = {"mbarrier", kRows, sizeof(kRows) / sizeof(kRows[0])};
} // namespace weft::emu
