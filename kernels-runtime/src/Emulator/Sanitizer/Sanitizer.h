// Findings of a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An observer that orders the accesses of a launch and reports those that nothing orders. Kinds of findings:
//
//   shared-race           two accesses of shared memory by threads, one of them a write, with no barrier between
//   async-overlap         a thread touches shared memory that an asynchronous operation still reads or writes, or two
//                         asynchronous operations meet
//   missing-proxy-fence   an asynchronous operation reads or overwrites what threads wrote, without fence.proxy.async
//   mbarrier-init-order   an mbarrier is used by somebody for whom its initialisation has not happened yet
//   uninitialised-shared, uninitialised-global, uninitialised-local
//   uninitialised-register  a register is read that nothing can have written
//   early-access          a thread touches what the kernels before may still write or read, and has not waited for them
//   wgmma-registers       registers of an unfinished wgmma are read or overwritten
//
// (Others come from the machine and from the asynchronous operations: docs/emulator.md has the whole list.)
//
// Agents, in the sense of docs/emulator.md: each warp; per warp its cp.async operations and its wgmma groups, which
// complete in order; and 64 more per cluster that bulk copies take in turn. A copy knows what its issuer knew at issue,
// its own clock is known to those who waited for it or for the mbarrier phase that it completed.
#ifndef WEFT_EMULATOR_SANITIZER_SANITIZER_H
#define WEFT_EMULATOR_SANITIZER_SANITIZER_H

#include "Emulator/Exec/Machine.h"
#include "Emulator/Sanitizer/AsyncRegisters.h"
#include "Emulator/Sanitizer/GlobalShadow.h"
#include "Emulator/Sanitizer/Order.h"

#include <unordered_set>

namespace weft::emu {

class Sanitizer final : public Observer {
public:
  Sanitizer();
  ~Sanitizer() override;

  void launchBegins(Machine &machine) override;
  void ctaBegins(Cta &cta) override;
  void ctaEnds(Cta &cta) override;
  void stepBegins(Warp &warp, const Step &step, LaneMask mask, bool isRepeated) override;
  void accessed(const Access &access) override;
  void arrived(const BarrierEvent &event) override;
  void waited(const BarrierEvent &event) override;
  void mbarrier(const MbarrierEvent &event) override;
  void gridsWaited(Warp &warp, LaneMask lanes) override;
  void fenced(const FenceEvent &event) override;
  void warpSynced(Warp &warp, const Step &step, LaneMask lanes) override;
  void asyncIssued(AsyncOp &op) override;
  void asyncDone(AsyncOp &op) override;
  void asyncWaited(AsyncOp &op, Warp &warp, LaneMask lanes, bool readsOnly) override;

private:
  /// What the agent of an access knows, and its clock: of an asynchronous operation, its own. Null for one that nobody
  /// has seen begin.
  template <typename Who> const Knowledge *identify(WarpOrder &order, const Access &access, Who &self) const;
  void accessedShared(const Access &access);
  void accessedGlobal(const Access &access);
  void checkGridWait(const Access &access);
  bool isSteady(uint64_t address) const;
  void checkClusters(const Access &access);
  bool isPolling(WarpOrder &order, const Access &access) const;
  void reportRace(const Access &access, unsigned lane, bool isWrite, const GlobalShadow::Conflict &conflict);
  void reportOverwrites();
  void synchroniseClusters(WarpOrder &order, const Access &access, uint64_t address);
  void accessedLocal(const Access &access);
  /// fence.mbarrier_init, or what does for it.
  void publishInits(WarpOrder &order);
  WarpOrder &orderOf(const Warp &warp) { return *warps[warp.id]; }

  Machine *machine = nullptr;
  std::vector<std::unique_ptr<WarpOrder>> warps; ///< By Warp::id.
  std::unordered_map<const void *, std::unique_ptr<ClusterOrder>> clusters;
  uint32_t clusterCount = 0; ///< That have begun.
  uint64_t releases = 0;     ///< Strong stores and atomics in global memory so far.
  GlobalShadow global;
  /// Of the store under way: the lanes that write where another cluster's store has, and what that has left there. They
  /// race if they leave something else.
  struct Overwrite {
    unsigned lane;
    GlobalShadow::Conflict conflict;
    std::array<std::byte, 32> before;
  };
  Access overwriting;
  std::vector<Overwrite> overwrites;
  /// Released to words of global memory by strong stores and atomics.
  std::unordered_map<uint64_t, std::shared_ptr<const ClusterClocks>> globalFlags;
  Sites sites;
  uint64_t events = 0;                        ///< Fences that published an mbarrier's initialisation.
  std::vector<bool> isWgmmaOpcode;            ///< By Step::opcode.
  std::unordered_set<const Step *> undefined; ///< Steps that read an undefined register.
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_SANITIZER_H
