// Groups of asynchronous copies, per thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries split when their lanes commit at different times or wait for different numbers of groups.
#include "Emulator/Async/AsyncGroups.h"

#include <algorithm>

namespace weft::emu {
namespace {

/// The lanes of `rest` whose value is that of the first of them.
LaneMask lanesLikeFirst(const uint64_t *values, LaneMask rest) {
  uint64_t value = values[__builtin_ctz(rest)];
  LaneMask same = 0;
  forLanes(rest, [&](unsigned lane) { same |= LaneMask(values[lane] == value) << lane; });
  return same;
}

} // namespace

void AsyncGroups::add(std::shared_ptr<AsyncOp> op) {
  LaneMask lanes = op->lanes;
  entries.push_back({std::move(op), lanes, 0, false});
}

void AsyncGroups::commit(LaneMask lanes) {
  for (LaneMask rest = lanes; rest;) {
    LaneMask same = lanesLikeFirst(committed, rest);
    uint64_t group = committed[__builtin_ctz(same)] + 1;
    for (size_t i = 0, count = entries.size(); i < count; ++i) {
      LaneMask both = entries[i].lanes & same;
      if (entries[i].group != 0 || !both)
        continue;
      if (both == entries[i].lanes) {
        entries[i].group = group;
      } else {
        entries[i].lanes &= ~both;
        entries.push_back({entries[i].op, both, group, false});
      }
    }
    forLanes(same, [&](unsigned lane) { committed[lane] = group; });
    rest &= ~same;
  }
}

bool AsyncGroups::finish(Machine &machine, Warp &warp, Entry &entry, LaneMask lanes, bool readsOnly) {
  if (!entry.op->isDone && !machine.force(*entry.op))
    return false;
  if (!readsOnly || !entry.isRead)
    machine.observe([&](Observer &observer) { observer.asyncWaited(*entry.op, warp, lanes, readsOnly); });
  entry.isRead |= readsOnly;
  if (!readsOnly)
    entry.lanes &= ~lanes;
  return true;
}

bool AsyncGroups::wait(Machine &machine, Warp &warp, LaneMask lanes, uint32_t pending, bool readsOnly) {
  for (LaneMask rest = lanes; rest;) {
    LaneMask same = lanesLikeFirst(committed, rest);
    uint64_t last = committed[__builtin_ctz(same)];
    for (Entry &entry : entries)
      if (LaneMask both = entry.lanes & same; both && entry.group != 0 && entry.group + pending <= last)
        if (!finish(machine, warp, entry, both, readsOnly))
          return false;
    rest &= ~same;
  }
  dropEmpty();
  return true;
}

bool AsyncGroups::waitAll(Machine &machine, Warp &warp, LaneMask lanes) {
  for (Entry &entry : entries)
    if (LaneMask both = entry.lanes & lanes)
      if (!finish(machine, warp, entry, both, false))
        return false;
  dropEmpty();
  return true;
}

std::vector<std::shared_ptr<AsyncOp>> AsyncGroups::pending(LaneMask lanes) const {
  std::vector<std::shared_ptr<AsyncOp>> ops;
  for (const Entry &entry : entries)
    if (entry.lanes & lanes)
      ops.push_back(entry.op);
  return ops;
}

void AsyncGroups::dropEmpty() {
  entries.erase(std::remove_if(entries.begin(), entries.end(), [](const Entry &entry) { return entry.lanes == 0; }),
                entries.end());
}

} // namespace weft::emu
