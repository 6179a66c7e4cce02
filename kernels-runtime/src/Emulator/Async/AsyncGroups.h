// Groups of asynchronous copies, per thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every thread has its own sequence of groups: a commit closes the group of what the thread has issued since the last
// one, a wait leaves at most N of its newest groups pending. The threads of a warp mostly commit together, so
// operations are kept with a mask of the lanes for which they are in the same group.
#ifndef WEFT_EMULATOR_ASYNC_ASYNCGROUPS_H
#define WEFT_EMULATOR_ASYNC_ASYNCGROUPS_H

#include "Emulator/Exec/Machine.h"

#include <memory>
#include <vector>

namespace weft::emu {

class AsyncGroups {
public:
  /// `op` belongs to the open group of op->lanes.
  void add(std::shared_ptr<AsyncOp> op);
  void commit(LaneMask lanes);
  /// Performs what is not among the newest `pending` groups of each lane. With `readsOnly` it stays in its group: only
  /// its sources have been waited for. False: fault.
  bool wait(Machine &machine, Warp &warp, LaneMask lanes, uint32_t pending, bool readsOnly);
  /// Performs everything that the lanes have issued, committed or not (cp.async.wait_all).
  bool waitAll(Machine &machine, Warp &warp, LaneMask lanes);
  /// Everything that has not been waited for by these lanes: what cp.async.mbarrier.arrive tracks.
  std::vector<std::shared_ptr<AsyncOp>> pending(LaneMask lanes) const;

private:
  struct Entry {
    std::shared_ptr<AsyncOp> op;
    LaneMask lanes;
    uint64_t group; ///< Of these lanes, counted from 1; 0 while the group is open.
    bool isRead;    ///< Its sources have been waited for.
  };
  bool finish(Machine &machine, Warp &warp, Entry &entry, LaneMask lanes, bool readsOnly);
  void dropEmpty();

  std::vector<Entry> entries;
  uint64_t committed[32] = {};
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_ASYNCGROUPS_H
