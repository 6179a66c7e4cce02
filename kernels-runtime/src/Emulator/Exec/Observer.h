// What a launch reports to the sanitizer and the counters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Observers see events in the order in which they happen; the machine calls them through a list that is empty when
// nobody looks, so each position costs one test. An observer changes nothing; it reports with Machine::find().
#ifndef WEFT_EMULATOR_EXEC_OBSERVER_H
#define WEFT_EMULATOR_EXEC_OBSERVER_H

#include "Emulator/Exec/Access.h"
#include "Emulator/Exec/Cta.h"

namespace weft::emu {

/// Barriers of a CTA or of a cluster.
struct BarrierEvent {
  Warp *warp;
  const Step *step;
  LaneMask lanes;
  bool isCluster;
  uint32_t id;    ///< Of a named barrier; 0 for the cluster's.
  uint64_t phase; ///< That the lanes arrive at, or whose completion they have waited for.
  bool hasOrder;  ///< False for barrier.cluster.arrive.relaxed: releases nothing.
};

enum class MbarrierAction : uint8_t {
  Init, ///< `count` arrivals expected.
  Invalidate,
  Arrive,      ///< `count` of pending arrivals taken off.
  ExpectTx,    ///< `count` bytes.
  CompleteTx,  ///< `count` bytes; `async` is the operation, or null (mbarrier.complete_tx).
  AsyncArrive, ///< An arrival that an asynchronous operation makes on completion (cp.async.mbarrier.arrive).
  PhaseDone,   ///< `phase` has completed.
  WaitTrue,    ///< test_wait or try_wait saw `phase` completed.
  WaitFalse,
};

struct MbarrierEvent {
  MbarrierAction action;
  Warp *warp;       ///< Who executes, or issued the operation.
  const Step *step; ///< Never null.
  LaneMask lanes;   ///< Lanes that do it; one call may stand for several arrivals.
  AsyncOp *async;
  Cta *owner;      ///< In whose shared memory the mbarrier is.
  uint32_t offset; ///< There.
  uint64_t phase;  ///< Full phase number since Init, not its parity.
  uint64_t count;
  Order order;
  Scope scope;
};

enum class FenceKind : uint8_t {
  Thread,       ///< membar, fence.{sc,acq_rel}: `order`, `scope`.
  MbarrierInit, ///< fence.mbarrier_init.release.cluster
  ProxyAsync,   ///< fence.proxy.async (all state spaces)
  ProxyAsyncGlobal,
  ProxyAsyncShared, ///< .shared::cta and .shared::cluster
  ProxyAlias,
  ProxyTensorMap,
  Wgmma, ///< wgmma.fence
};

struct FenceEvent {
  Warp *warp;
  const Step *step;
  LaneMask lanes;
  FenceKind kind;
  Order order;
  Scope scope;
};

class Observer {
public:
  virtual ~Observer() = default;
  virtual void launchBegins(Machine &) {}
  /// Also after a failed launch.
  virtual void launchEnds(Machine &) {}
  virtual void ctaBegins(Cta &) {}
  virtual void ctaEnds(Cta &) {}
  /// Before a step executes for `mask` (guard applied, may be empty: then it does not execute). A step that waits is
  /// announced again when it is repeated, with `isRepeated`.
  virtual void stepBegins(Warp &, const Step &, LaneMask /*mask*/, bool /*isRepeated*/) {}
  /// After a check by Machine::resolve and before the access is performed.
  virtual void accessed(const Access &) {}
  virtual void arrived(const BarrierEvent &) {}
  virtual void waited(const BarrierEvent &) {}
  virtual void mbarrier(const MbarrierEvent &) {}
  /// The lanes have waited for the grids in front (griddepcontrol.wait).
  virtual void gridsWaited(Warp &, LaneMask /*lanes*/) {}
  virtual void fenced(const FenceEvent &) {}
  /// The lanes are ordered with one another: bar.warp.sync, any *.sync, convergence at an aligned instruction.
  virtual void warpSynced(Warp &, const Step &, LaneMask /*lanes*/) {}
  virtual void lanesExited(Warp &, LaneMask /*lanes*/) {}
  virtual void asyncIssued(AsyncOp &) {}
  /// After perform(), whose accesses have been seen in between.
  virtual void asyncDone(AsyncOp &) {}
  /// The issuing lanes have waited for the operation (cp.async.wait_group, wgmma.wait_group, ...). `readsOnly`:
  /// cp.async.bulk.wait_group.read, after which only the sources are free.
  virtual void asyncWaited(AsyncOp &, Warp &, LaneMask /*lanes*/, bool /*readsOnly*/) {}
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_OBSERVER_H
