// Packing of transient buffers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers whose live intervals do not meet may share bytes. The packer is greedy by size with best fit: buffers are
// placed from the largest to the smallest (ties: the lower index first), each into the smallest gap, among the already
// placed buffers that are alive at the same time, that holds it; else above them all. When more than kMaxPlanNeighbours
// pairs of buffers are alive at the same time, too many for that search, one sweep over time takes its place, which
// gives each buffer the smallest free range when it is born. The result depends on the arguments alone, so
// `weft-compile` prints the very plan that the runtime makes.
//
// Guarantee: offsets are multiples of kBufferAlignment; two buffers of non-zero size whose intervals meet do not
// overlap; `total` is at most the sum of the aligned sizes and at least the peak of the aligned sizes alive at one
// command. Cost: O(n log n) for n buffers, and O(p log n) for p pairs, p at most kMaxPlanNeighbours.
#ifndef WEFT_BUNDLE_MEMORYPLAN_H
#define WEFT_BUNDLE_MEMORYPLAN_H

#include <cstdint>
#include <vector>

namespace weft::bundle {

/// Pairs of buffers alive at the same time that the greedy search looks at before it gives way to the sweep: a few
/// tenths of a second. 65,536 buffers of which 60 are alive at a time stay below it.
inline constexpr int64_t kMaxPlanNeighbours = int64_t{1} << 22;

struct PlanRequest {
  int64_t size;   ///< Bytes, >= 0.
  uint32_t first; ///< First command that touches the buffer.
  uint32_t last;  ///< Last command that touches it, >= first.
};

struct MemoryPlan {
  std::vector<int64_t> offsets; ///< One for each request, in bytes.
  int64_t total = 0;            ///< Bytes of the arena.
};

/// Packs `requests`. False if a size is negative or the total leaves int64.
bool planMemory(const std::vector<PlanRequest> &requests, MemoryPlan &plan);

} // namespace weft::bundle

#endif // WEFT_BUNDLE_MEMORYPLAN_H
