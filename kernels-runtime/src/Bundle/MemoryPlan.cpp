// Packing of transient buffers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of live intervals into one arena: greedy by size with best fit, or a sweep over time for crowds.
#include "weft/Bundle/MemoryPlan.h"

#include "weft/bundle_format.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

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

/// The placed buffers, found by the commands at which they are alive. A complete binary tree over all buffers in the
/// order of their first command; each node knows the latest last command of the placed buffers below it.
class LiveIndex {
public:
  explicit LiveIndex(const std::vector<PlanRequest> &requests) : requests(requests), byFirst(requests.size()) {
    std::iota(byFirst.begin(), byFirst.end(), 0u);
    std::sort(byFirst.begin(), byFirst.end(), [&](uint32_t a, uint32_t b) {
      return std::make_pair(requests[a].first, a) < std::make_pair(requests[b].first, b);
    });
    rank.resize(requests.size());
    for (size_t i = 0; i < byFirst.size(); ++i)
      rank[byFirst[i]] = uint32_t(i);
    while (leaves < requests.size())
      leaves *= 2;
    latest.assign(2 * leaves, kNone);
  }

  void place(uint32_t index) {
    for (size_t node = leaves + rank[index]; node; node /= 2)
      latest[node] = std::max(latest[node], int64_t{requests[index].last});
  }

  /// Appends to `out` the placed buffers that are alive within [first, last]; stops early at more than `limit`.
  void collect(uint32_t first, uint32_t last, size_t limit, std::vector<uint32_t> &out) const {
    collectBelow(1, first, last, limit, out);
  }

private:
  static constexpr int64_t kNone = -1;

  /// False when the nodes to the right of `node` need no visit. Depth is log2 of the number of buffers.
  bool collectBelow(size_t node, uint32_t first, uint32_t last, size_t limit, std::vector<uint32_t> &out) const {
    if (latest[node] < int64_t{first})
      return true;
    if (node < leaves)
      return collectBelow(2 * node, first, last, limit, out) && collectBelow(2 * node + 1, first, last, limit, out);
    uint32_t index = byFirst[node - leaves];
    if (requests[index].first > last)
      return false;
    out.push_back(index);
    return out.size() <= limit;
  }

  const std::vector<PlanRequest> &requests;
  std::vector<uint32_t> byFirst, rank; ///< Buffers by first command, and the inverse.
  std::vector<int64_t> latest;
  size_t leaves = 1;
};

/// The free ranges below a moving top, by offset and by size.
class FreeRanges {
public:
  /// The start of the smallest free range that holds `size`, else the top grows. False when that leaves int64.
  bool take(int64_t size, int64_t &begin) {
    if (auto fit = bySize.lower_bound({size, 0}); fit != bySize.end()) {
      begin = fit->second;
      int64_t rest = fit->first - size;
      erase(byBegin.find(begin));
      if (rest)
        insert(begin + size, rest);
      return true;
    }
    begin = top;
    if (!byBegin.empty() && byBegin.rbegin()->first + byBegin.rbegin()->second == top) {
      begin = byBegin.rbegin()->first;
      erase(std::prev(byBegin.end()));
    }
    return !__builtin_add_overflow(begin, size, &top);
  }

  void give(int64_t begin, int64_t size) {
    auto next = byBegin.lower_bound(begin);
    if (next != byBegin.end() && begin + size == next->first) {
      size += next->second;
      next = erase(next);
    }
    if (next != byBegin.begin())
      if (auto before = std::prev(next); before->first + before->second == begin) {
        begin = before->first;
        size += before->second;
        erase(before);
      }
    insert(begin, size);
  }

  int64_t getTop() const { return top; }

private:
  using Ranges = std::map<int64_t, int64_t>;

  void insert(int64_t begin, int64_t size) {
    byBegin.emplace(begin, size);
    bySize.emplace(size, begin);
  }
  Ranges::iterator erase(Ranges::iterator range) {
    bySize.erase({range->second, range->first});
    return byBegin.erase(range);
  }

  Ranges byBegin; ///< Begin to size; no two touch.
  std::set<std::pair<int64_t, int64_t>> bySize;
  int64_t top = 0;
};

enum class Outcome { Done, TooManyNeighbours, Overflow };

} // namespace

/// The start of the smallest gap of at least `size` bytes between `neighbours`, which are sorted by offset; since they
/// may overlap each other, the running end is what a gap starts from.
static int64_t findOffset(const std::vector<uint32_t> &neighbours, const std::vector<int64_t> &sizes,
                          const std::vector<int64_t> &offsets, int64_t size) {
  int64_t runningEnd = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
  for (uint32_t other : neighbours) {
    int64_t gap = offsets[other] - runningEnd;
    if (gap >= size && gap < bestGap) {
      best = runningEnd;
      bestGap = gap;
    }
    runningEnd = std::max(runningEnd, offsets[other] + sizes[other]);
  }
  return best >= 0 ? best : runningEnd;
}

/// Greedy by size; buffers of no bytes stay at offset 0.
static Outcome planBySize(const std::vector<PlanRequest> &requests, const std::vector<int64_t> &sizes,
                          MemoryPlan &plan) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });

  LiveIndex live(requests);
  std::vector<uint32_t> neighbours;
  int64_t budget = kMaxPlanNeighbours;
  for (uint32_t index : order) {
    int64_t size = sizes[index], end;
    if (size == 0)
      break;
    neighbours.clear();
    live.collect(requests[index].first, requests[index].last, size_t(budget), neighbours);
    budget -= int64_t(neighbours.size());
    if (budget < 0)
      return Outcome::TooManyNeighbours;
    std::sort(neighbours.begin(), neighbours.end(),
              [&](uint32_t a, uint32_t b) { return plan.offsets[a] < plan.offsets[b]; });
    int64_t offset = findOffset(neighbours, sizes, plan.offsets, size);
    if (__builtin_add_overflow(offset, size, &end))
      return Outcome::Overflow;
    plan.offsets[index] = offset;
    plan.total = std::max(plan.total, end);
    live.place(index);
  }
  return Outcome::Done;
}

/// One pass over time: a buffer takes the smallest free range at its first command (the larger buffers of a command
/// first) and gives it back after its last. False when the total leaves int64.
static bool planByTime(const std::vector<PlanRequest> &requests, const std::vector<int64_t> &sizes, MemoryPlan &plan) {
  std::vector<uint32_t> births;
  for (uint32_t i = 0; i < requests.size(); ++i)
    if (sizes[i])
      births.push_back(i);
  std::vector<uint32_t> deaths = births;
  std::sort(births.begin(), births.end(), [&](uint32_t a, uint32_t b) {
    return std::make_tuple(requests[a].first, -sizes[a], a) < std::make_tuple(requests[b].first, -sizes[b], b);
  });
  std::sort(deaths.begin(), deaths.end(), [&](uint32_t a, uint32_t b) {
    return std::make_pair(requests[a].last, a) < std::make_pair(requests[b].last, b);
  });
  FreeRanges ranges;
  auto dead = deaths.begin();
  for (uint32_t index : births) {
    for (; requests[*dead].last < requests[index].first; ++dead)
      ranges.give(plan.offsets[*dead], sizes[*dead]);
    if (!ranges.take(sizes[index], plan.offsets[index]))
      return false;
  }
  plan.total = ranges.getTop();
  return true;
}

bool weft::bundle::planMemory(const std::vector<PlanRequest> &requests, MemoryPlan &plan) {
  plan.offsets.assign(requests.size(), 0);
  plan.total = 0;
  std::vector<int64_t> sizes(requests.size());
  for (size_t i = 0; i < requests.size(); ++i)
    if (!alignSize(requests[i].size, sizes[i]))
      return false;
  Outcome outcome = planBySize(requests, sizes, plan);
  if (outcome != Outcome::TooManyNeighbours)
    return outcome == Outcome::Done;
  plan.offsets.assign(requests.size(), 0);
  return planByTime(requests, sizes, plan);
}
