// Named barriers and the cluster's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Exec/Barriers.h"
#include "Emulator/Exec/Machine.h"

using namespace weft;
using namespace weft::emu;

static void checkBarrier(Cta &cta, uint32_t id) {
  Barrier &barrier = cta.barriers[id];
  bool countsAll = barrier.expected == Barrier::kAll;
  uint32_t expected = countsAll ? cta.liveThreads : barrier.expected;
  if (barrier.expected == 0 || barrier.arrived < expected)
    return;
  barrier.lastOr = barrier.reduceOr;
  barrier.lastAnd = barrier.reduceAnd;
  barrier.lastCount = barrier.reduceCount;
  barrier.reduceOr = barrier.reduceCount = 0;
  barrier.reduceAnd = 1;
  barrier.arrived = barrier.expected = 0;
  ++barrier.phase;
  cta.machine->progress();
  for (auto &warp : cta.warps)
    warp->release(WaitKind::Barrier, id);
}

void emu::arriveAtBarrier(Cta &cta, uint32_t id, uint32_t threads, uint32_t expected) {
  Barrier &barrier = cta.barriers[id];
  if (barrier.expected == 0)
    barrier.expected = expected ? expected : Barrier::kAll;
  barrier.arrived += threads;
  cta.machine->progress();
  checkBarrier(cta, id);
}

void emu::recheckBarriers(Cta &cta) {
  for (uint32_t id = 0; id < cta.barriers.size(); ++id)
    if (cta.barriers[id].expected == Barrier::kAll && cta.barriers[id].arrived > 0)
      checkBarrier(cta, id);
}

void emu::recheckCluster(Cluster &cluster) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.liveThreads)
    return;
  cluster.arrived = 0;
  ++cluster.phase;
  for (Cta *cta : cluster.ctas) {
    cta->machine->progress();
    for (auto &warp : cta->warps)
      warp->release(WaitKind::ClusterBarrier, 0);
  }
}

void emu::arriveAtCluster(Cluster &cluster, uint32_t threads) {
  cluster.arrived += threads;
  cluster.ctas[0]->machine->progress();
  recheckCluster(cluster);
}
