// Barriers, fences between threads, griddepcontrol, setmaxnreg.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An arrival parks the split before it is counted, so that the last one releases itself as it does the others; the
// released split executes its step once more and goes on.
#include "Emulator/Exec/Barriers.h"
#include "Emulator/Exec/Binder.h"
#include "Emulator/Exec/Machine.h"
#include "Emulator/Ops/MemoryQualifiers.h"

#include <algorithm>

using namespace weft;
using namespace weft::emu;

namespace weft::emu {
extern const Family kBarrierFamily;
}

namespace {
enum class BarrierAction : uint8_t { Sync, Arrive, RedPopc, RedAnd, RedOr };
struct BarrierPayload {
  BarrierAction action = BarrierAction::Sync;
  bool isAligned = true;
  bool isNegated = false;
  int8_t id = -1, count = -1, result = -1, predicate = -1; ///< Indices in Step::slots.
};
} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Named barriers
//===--------------------------------------------------------------------------------------------------------------===//

/// True if the lanes may arrive; else `outcome` says what becomes of the step.
static bool isConverged(Warp &warp, const Step &step, LaneMask mask, Outcome &outcome) {
  if (!warp.converged(step, warp.live, outcome))
    return false;
  if (mask == warp.active()) {
    warp.machine->observe([&](Observer &observer) { observer.warpSynced(warp, step, mask); });
    return true;
  }
  unsigned lane = unsigned(__builtin_ctz(mask));
  warp.machine->find("barrier-divergence", warp, step, lane, 0,
                     "the guard holds for lanes 0x%08x of 0x%08x only: all threads of the warp must execute it", mask,
                     warp.active());
  outcome = warp.machine->fault(warp, step, lane, "barrier divergence: the guard holds for lanes 0x%08x of 0x%08x only",
                                mask, warp.active());
  return false;
}

static void writeReduction(Warp &warp, const Step &step, const BarrierPayload &payload, const Barrier &barrier,
                           LaneMask mask) {
  if (payload.action == BarrierAction::RedPopc) {
    uint32_t *target = warp.lanes<uint32_t>(step.slots[payload.result]);
    forLanes(mask, [&](unsigned lane) { target[lane] = barrier.lastCount; });
  } else if (payload.action == BarrierAction::RedAnd || payload.action == BarrierAction::RedOr) {
    bool value = payload.action == BarrierAction::RedAnd ? barrier.lastAnd : barrier.lastOr;
    warp.setPredicate(step.slots[payload.result], mask, value ? kAllLanes : 0);
  }
}

static bool checkArrival(Warp &warp, const Step &step, unsigned lane, const Barrier &barrier, uint32_t id,
                         uint32_t count, bool hasCount, uint32_t threads) {
  Machine &machine = *warp.machine;
  if (hasCount && (count == 0 || count % 32))
    machine.fault(warp, step, lane, "expected a number of threads that is a multiple of 32 and not 0, got %u", count);
  else if (barrier.expected && barrier.expected != (hasCount ? count : Barrier::kAll))
    machine.fault(warp, step, lane, "barrier %u is in use for another number of threads: %u, now %u", id,
                  barrier.expected == Barrier::kAll ? warp.cta->liveThreads : barrier.expected,
                  hasCount ? count : warp.cta->liveThreads);
  else if (hasCount && barrier.arrived + threads > count)
    machine.fault(warp, step, lane, "%u threads arrive at barrier %u, which expects %u more", threads, id,
                  count - barrier.arrived);
  return !machine.hasFault();
}

static Outcome runBarrier(Warp &warp, const Step &step, LaneMask mask) {
  const BarrierPayload &payload = *static_cast<const BarrierPayload *>(step.payload);
  Machine &machine = *warp.machine;
  Cta &cta = *warp.cta;
  unsigned first = unsigned(__builtin_ctz(mask));
  uint32_t id = warp.lanes<uint32_t>(step.slots[payload.id])[first];
  if (id > 15)
    return machine.fault(warp, step, first, "expected a barrier from 0 to 15, got %u", id);
  Barrier &barrier = cta.barriers[id];
  if (warp.split().isReleased) {
    warp.split().isReleased = false;
    machine.observe(
        [&](Observer &observer) { observer.waited({&warp, &step, mask, false, id, barrier.phase - 1, true}); });
    writeReduction(warp, step, payload, barrier, mask);
    return Outcome::Next;
  }
  Outcome outcome = Outcome::Next;
  if (payload.isAligned && !isConverged(warp, step, mask, outcome))
    return outcome;
  bool hasCount = payload.count >= 0;
  uint32_t count = hasCount ? warp.lanes<uint32_t>(step.slots[payload.count])[first] : 0;
  // With a number, a whole warp counts as 32 threads, whatever it has.
  uint32_t threads = hasCount && mask == warp.live ? 32 : uint32_t(__builtin_popcount(mask));
  if (!checkArrival(warp, step, first, barrier, id, count, hasCount, threads))
    return Outcome::Fault;
  machine.observe([&](Observer &observer) { observer.arrived({&warp, &step, mask, false, id, barrier.phase, true}); });
  if (payload.predicate >= 0) {
    LaneMask value = warp.predicate(step.slots[payload.predicate]);
    value = (payload.isNegated ? ~value : value) & mask;
    barrier.reduceOr |= value != 0;
    barrier.reduceAnd &= value == mask;
    barrier.reduceCount += uint32_t(__builtin_popcount(value));
  }
  if (payload.action != BarrierAction::Arrive)
    outcome = warp.park(WaitKind::Barrier, id, barrier.phase);
  arriveAtBarrier(cta, id, threads, count);
  return outcome;
}

static int8_t bindBarrierId(Binder &b, unsigned operand) {
  uint32_t &used = b.getContext().bound->barriersUsed;
  used = b.isConstant(b.operand(operand)) ? std::max(used, uint32_t(b.constant(operand, 0, 15)) + 1) : 16;
  return int8_t(b.use(operand, Type::B32));
}

static void bindReduction(Binder &b, BarrierPayload &payload) {
  unsigned op = b.expectOneOf({"popc", "and", "or"});
  payload.action = BarrierAction(unsigned(BarrierAction::RedPopc) + op);
  if (b.accept("aligned"))
    payload.isAligned = true;
  b.expect(op == 0 ? "u32" : "pred");
  b.operands(3, 4);
  payload.result = int8_t(b.def(0, op == 0 ? Type::U32 : Type::Pred));
  payload.id = bindBarrierId(b, 1);
  if (b.operandCount() == 4)
    payload.count = int8_t(b.use(2, Type::B32));
  payload.predicate = int8_t(b.usePredicate(b.operand(b.operandCount() - 1), payload.isNegated));
}

static void bindNamed(Binder &b, bool isAligned) {
  auto *payload = b.payload<BarrierPayload>();
  payload->isAligned = isAligned;
  b.accept("cta");
  unsigned action = b.expectOneOf({"sync", "arrive", "red"});
  b.run(runBarrier);
  if (action == 2)
    return bindReduction(b, *payload);
  if (b.accept("aligned"))
    payload->isAligned = true;
  payload->action = action == 0 ? BarrierAction::Sync : BarrierAction::Arrive;
  b.operands(action == 0 ? 1 : 2, 2);
  payload->id = bindBarrierId(b, 0);
  if (b.operandCount() == 2)
    payload->count = int8_t(b.use(1, Type::B32));
}

static void bindBar(Binder &b) { bindNamed(b, true); }
static void bindBarrier(Binder &b) { bindNamed(b, false); }

//===--------------------------------------------------------------------------------------------------------------===//
// Cluster barriers
//===--------------------------------------------------------------------------------------------------------------===//

/// Immediate: bit 0 aligned, bit 1 relaxed.
static Outcome runClusterArrive(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if ((step.immediate & 1) && !isConverged(warp, step, mask, outcome))
    return outcome;
  Cluster &cluster = *warp.cta->cluster;
  if (LaneMask again = warp.clusterArrived & mask)
    return warp.machine->fault(warp, step, unsigned(__builtin_ctz(again)),
                               "the thread arrives twice at the cluster's barrier without a wait between");
  warp.machine->observe([&](Observer &observer) {
    observer.arrived({&warp, &step, mask, true, 0, cluster.phase, (step.immediate & 2) == 0});
  });
  warp.clusterArrived |= mask;
  forLanes(mask, [&](unsigned lane) { warp.clusterPhase[lane] = cluster.phase; });
  arriveAtCluster(cluster, uint32_t(__builtin_popcount(mask)));
  return Outcome::Next;
}

static Outcome runClusterWait(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if ((step.immediate & 1) && !warp.split().isReleased && !isConverged(warp, step, mask, outcome))
    return outcome;
  Cluster &cluster = *warp.cta->cluster;
  if (LaneMask without = mask & ~warp.clusterArrived)
    return warp.machine->fault(warp, step, unsigned(__builtin_ctz(without)),
                               "the thread waits at the cluster's barrier without having arrived");
  bool isDone = true;
  forLanes(mask, [&](unsigned lane) { isDone &= cluster.phase > warp.clusterPhase[lane]; });
  if (!isDone)
    return warp.park(WaitKind::ClusterBarrier, 0, cluster.phase);
  warp.split().isReleased = false;
  warp.clusterArrived &= ~mask;
  uint64_t phase = warp.clusterPhase[__builtin_ctz(mask)];
  warp.machine->observe([&](Observer &observer) { observer.waited({&warp, &step, mask, true, 0, phase, true}); });
  return Outcome::Next;
}

static void bindCluster(Binder &b) {
  b.requireSm(90);
  bool isWait = b.expectOneOf({"arrive", "wait"}) == 1;
  bool isRelaxed = false;
  if (isWait) {
    b.accept("acquire");
  } else {
    int order = b.acceptOneOf({"release", "relaxed"});
    isRelaxed = order == 1;
  }
  bool isAligned = b.accept("aligned");
  b.operands(0);
  b.immediate(unsigned(isAligned) | unsigned(isRelaxed) << 1);
  b.run(isWait ? runClusterWait : runClusterArrive);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Fences between threads; memory is sequentially consistent here, so they are events for the sanitizer
//===--------------------------------------------------------------------------------------------------------------===//

/// Immediate: order, scope in bits 8 and up.
static Outcome runFence(Warp &warp, const Step &step, LaneMask mask) {
  warp.machine->observe([&](Observer &observer) {
    observer.fenced({&warp, &step, mask, FenceKind::Thread, Order(step.immediate & 0xff), Scope(step.immediate >> 8)});
  });
  return Outcome::Next;
}

static void bindFenceOf(Binder &b, Order order, Scope scope) {
  b.operands(0);
  b.immediate(uint64_t(order) | uint64_t(scope) << 8);
  b.run(runFence);
}

static void bindMembar(Binder &b) {
  static const Scope scopes[] = {Scope::Cta, Scope::Gpu, Scope::Sys};
  bindFenceOf(b, Order::SequentiallyConsistent, scopes[b.expectOneOf({"cta", "gl", "sys"})]);
}

static void bindFence(Binder &b) {
  static const Order orders[] = {Order::SequentiallyConsistent, Order::AcquireRelease, Order::Acquire, Order::Release};
  int order = b.acceptOneOf({"sc", "acq_rel", "acquire", "release"});
  if (order >= 2)
    b.requireSm(90);
  Scope scope = acceptScope(b);
  if (scope == Scope::None)
    return b.fail("expected a scope (.cta, .cluster, .gpu or .sys)");
  bindFenceOf(b, orders[order < 0 ? 1 : order], scope);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Grids and registers
//===--------------------------------------------------------------------------------------------------------------===//

/// The moment at which the next launch begins is not the kernel's to know: any time from its begin on.
static Outcome runLaunchDependents(Warp &, const Step &, LaneMask) { return Outcome::Next; }

static Outcome runGridWait(Warp &warp, const Step &, LaneMask mask) {
  if (warp.machine->hasGridsInFront)
    return warp.waitFor(WaitKind::Grid, 0);
  warp.machine->observe([&](Observer &observer) { observer.gridsWaited(warp, mask); });
  return Outcome::Next;
}

static void bindGriddepcontrol(Binder &b) {
  b.requireSm(90);
  bool isWait = b.expectOneOf({"launch_dependents", "wait"});
  b.operands(0);
  b.run(isWait ? runGridWait : runLaunchDependents);
}

/// Immediate: registers per thread; bit 63: inc.
static Outcome runSetmaxnreg(Warp &warp, const Step &step, LaneMask mask) {
  Outcome outcome = Outcome::Next;
  if (!isConverged(warp, step, mask, outcome))
    return outcome;
  Cta &cta = *warp.cta;
  uint32_t wanted = uint32_t(step.immediate), &held = cta.warpRegisters[warp.index];
  bool isInc = step.immediate >> 63;
  if (warp.machine->entry.directives.maxRegisters == 0 && !warp.machine->entry.directives.requiredThreads[0] &&
      !warp.machine->entry.directives.maxThreads[0])
    return warp.machine->fault(warp, step, 32,
                               "the kernel has no fixed register count: .maxnreg, .maxntid or .reqntid is missing");
  if (isInc ? wanted < held : wanted > held)
    return warp.machine->fault(warp, step, 32, "the warp has %u registers per thread: .%s to %u is the wrong way", held,
                               isInc ? "inc" : "dec", wanted);
  int32_t change = int32_t(wanted) - int32_t(held);
  if (change > cta.freeRegisters)
    return warp.waitFor(WaitKind::Other, wanted);
  cta.freeRegisters -= change;
  held = wanted;
  warp.machine->progress();
  return Outcome::Next;
}

static void bindSetmaxnreg(Binder &b) {
  b.requireSm(90, true);
  bool isInc = b.expectOneOf({"inc", "dec"}) == 0;
  b.expect("sync");
  b.expect("aligned");
  b.expect("u32");
  b.operands(1);
  int64_t count = b.constant(0, 24, 256);
  if (count % 8)
    b.fail("expected a multiple of 8 registers, got %lld", (long long)count);
  b.immediate(uint64_t(count) | uint64_t(isInc) << 63);
  b.run(runSetmaxnreg);
}

static const FamilyRow kRows[] = {
    {"bar", {}, bindBar},
    {"barrier", {}, bindBarrier},
    {"barrier.cluster", {}, bindCluster},
    {"fence", {}, bindFence},
    {"griddepcontrol", {}, bindGriddepcontrol},
    {"membar", {}, bindMembar},
    {"setmaxnreg", {}, bindSetmaxnreg},
};
const Family emu::kBarrierFamily = {"barrier", kRows, sizeof kRows / sizeof *kRows};
