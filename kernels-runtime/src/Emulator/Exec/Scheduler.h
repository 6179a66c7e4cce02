// Placement of CTAs and turns of warps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Clusters are placed on the SMs in the order of their ids, whole, while registers, shared memory, threads, warps and
// slots allow. Resident warps have turns in the order that LaunchOptions::interleaving says.
#ifndef WEFT_EMULATOR_EXEC_SCHEDULER_H
#define WEFT_EMULATOR_EXEC_SCHEDULER_H

#include "Emulator/Exec/Machine.h"

namespace weft::emu {

class Scheduler {
public:
  explicit Scheduler(Machine &machine);
  Error run();
  /// Whether it has come back because all that is left waits for the grids in front.
  bool isPaused() const { return paused; }

private:
  struct Sm {
    uint32_t threads = 0, warps = 0, ctas = 0, registers = 0, shared = 0;
  };
  bool fits(const Sm &sm) const;
  void take(Sm &sm, int sign);
  bool chooseSms(std::vector<uint32_t> &chosen);
  void placeClusters();
  void startCluster(const std::vector<uint32_t> &chosen);
  void startCta(Cluster &cluster, Dim3 id, uint32_t rank, uint32_t sm);
  bool retire();
  uint64_t pass();
  uint64_t visit(Cta &cta);
  bool unblock(uint64_t ran);
  bool pause();
  bool allCycle();
  void reportDeadlock(bool isLivelock);

  Machine &machine;
  std::vector<Sm> sms;
  uint64_t nextCluster = 0, clusterCount = 0;
  std::vector<uint32_t>
      shuffled; ///< Numbers of clusters in the order in which they begin; empty: by number or backwards.
  uint32_t warpsPerCta = 0, registersPerCta = 0, sharedPerCta = 0;
  std::vector<Cta *> resident; ///< In order of placement.
  bool paused = false;
  uint64_t lastProgress = 0, lastProgressTime = 0;
  bool isSuspect = false; ///< Nothing has changed for long: warps are watched for cycles.
  uint32_t quietPasses = 0;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_SCHEDULER_H
