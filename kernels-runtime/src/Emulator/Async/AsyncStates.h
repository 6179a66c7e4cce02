// What warps and CTAs keep of asynchronous operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA has its mbarriers and the wgmma queues of its warp groups; a warp has its groups of copies.
#ifndef WEFT_EMULATOR_ASYNC_ASYNCSTATES_H
#define WEFT_EMULATOR_ASYNC_ASYNCSTATES_H

#include "Emulator/Async/AsyncGroups.h"
#include "Emulator/Async/Mbarrier.h"
#include "Emulator/Async/WgmmaFence.h"

#include <memory>
#include <vector>

namespace weft::emu {

/// An mbarrier between its init and inval. The 8 bytes in memory mirror `state.token()`, so that the program may not
/// write there.
struct MbarrierObject {
  uint32_t offset = 0; ///< In the CTA's shared memory.
  Mbarrier state;
  struct Waiter {
    Warp *warp;
    LaneMask lanes;
  };
  std::vector<Waiter> waiters; ///< Parked in try_wait.
};

/// The wgmma operations of four consecutive warps. A warp's n-th operation is the n-th of the others too: it is issued
/// when all four have executed theirs.
struct WarpGroup {
  std::vector<std::shared_ptr<WgmmaOp>> ops; ///< From number `first` on; those before are done and waited for by all.
  uint64_t first = 0;
  std::shared_ptr<AsyncOp> lastIssued;
  struct Member {
    uint64_t issued = 0;          ///< Operations of this warp so far.
    uint64_t waited = 0;          ///< Of those, the first ones that it has waited for.
    std::vector<uint64_t> groups; ///< `issued` at each commit whose group it has not waited for.
    uint64_t committed = 0;       ///< `issued` at the last commit.
  };
  Member members[4];
};

class CtaAsync : public AsyncState {
public:
  static CtaAsync &of(Cta &cta) {
    if (!cta.asyncState)
      cta.asyncState = std::make_unique<CtaAsync>();
    return static_cast<CtaAsync &>(*cta.asyncState);
  }
  /// Null when there is no mbarrier at `offset`.
  MbarrierObject *find(uint32_t offset);
  MbarrierObject &add(uint32_t offset, const Mbarrier &state);
  void remove(uint32_t offset);
  WarpGroup &groupOf(const Warp &warp);

private:
  std::vector<std::unique_ptr<MbarrierObject>> mbarriers; ///< Few: searched one by one, the last found first.
  size_t lastFound = 0;
  std::vector<WarpGroup> warpGroups;
};

class WarpAsync : public AsyncState {
public:
  static WarpAsync &of(Warp &warp) {
    if (!warp.asyncState)
      warp.asyncState = std::make_unique<WarpAsync>();
    return static_cast<WarpAsync &>(*warp.asyncState);
  }
  AsyncGroups copies; ///< cp.async
  AsyncGroups bulk;   ///< cp.async.bulk with .bulk_group
  WgmmaRegisters wgmma;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_ASYNCSTATES_H
