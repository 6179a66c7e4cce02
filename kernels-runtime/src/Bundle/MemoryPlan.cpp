//===- MemoryPlan.cpp - Packing of transient buffers --------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Greedy-by-size, best-fit packing of live intervals into one arena.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "weft/Bundle/MemoryPlan.h"

#include "weft/bundle_format.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace weft::bundle;

static constexpr int64_t alignment = kBufferAlignment;

/// False when rounding up leaves int64.
static bool alignSize(int64_t size, int64_t &aligned) {
  if (size < 0 || __builtin_add_overflow(size, alignment - 1, &aligned))
    return false;
  aligned -= aligned % alignment;
  return true;
}

namespace {
struct Placed {
  int64_t begin, end;
  uint32_t first, last;
};
} // namespace

/// The offset for `size` bytes alive in [first, last]; `placed` is sorted by begin. Gaps are looked for between the
/// neighbours that are alive at the same time; since those may overlap each other, the running end is what a gap starts
/// from.
static int64_t findOffset(const std::vector<Placed> &placed, int64_t size, uint32_t first, uint32_t last) {
  int64_t runningEnd = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
  for (const Placed &other : placed) {
    if (other.last < first || last < other.first)
      continue;
    int64_t gap = other.begin - runningEnd;
    if (gap >= size && gap < bestGap) {
      best = runningEnd;
      bestGap = gap;
    }
    runningEnd = std::max(runningEnd, other.end);
  }
  return best >= 0 ? best : runningEnd;
}

bool weft::bundle::planMemory(const std::vector<PlanRequest> &requests, MemoryPlan &plan) {
  plan.offsets.assign(requests.size(), 0);
  plan.total = 0;
  std::vector<int64_t> sizes(requests.size());
  for (size_t i = 0; i < requests.size(); ++i)
    if (!alignSize(requests[i].size, sizes[i]))
      return false;
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });

  std::vector<Placed> placed;
  for (uint32_t index : order) {
    int64_t size = sizes[index], end;
    if (size == 0)
      break; // only empty buffers follow; they stay at offset 0
    const PlanRequest &request = requests[index];
    int64_t offset = findOffset(placed, size, request.first, request.last);
    if (__builtin_add_overflow(offset, size, &end))
      return false;
    plan.offsets[index] = offset;
    plan.total = std::max(plan.total, end);
    Placed entry{offset, end, request.first, request.last};
    auto where = std::upper_bound(placed.begin(), placed.end(), entry,
                                  [](const Placed &a, const Placed &b) { return a.begin < b.begin; });
    placed.insert(where, entry);
  }
  return true;
}

int64_t weft::bundle::peakLiveBytes(const std::vector<PlanRequest> &requests) {
  struct Event {
    uint64_t time;
    int64_t change;
  };
  std::vector<Event> events;
  for (const PlanRequest &request : requests) {
    int64_t size;
    if (!alignSize(request.size, size))
      return std::numeric_limits<int64_t>::max();
    events.push_back({request.first, size});
    events.push_back({uint64_t(request.last) + 1, -size});
  }
  // At one time, ends come before beginnings: an interval is closed, its end event lies one command later.
  std::sort(events.begin(), events.end(),
            [](const Event &a, const Event &b) { return a.time != b.time ? a.time < b.time : a.change < b.change; });
  int64_t live = 0, peak = 0;
  for (const Event &event : events) {
    if (__builtin_add_overflow(live, event.change, &live))
      return std::numeric_limits<int64_t>::max();
    peak = std::max(peak, live);
  }
  return peak;
}
