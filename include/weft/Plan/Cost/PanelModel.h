// Panel loads of an order of output tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coarse model of a GEMM's cache traffic: tile (i, j) needs the row panel A_i and the column panel B_j, a cache
// holds a number of panels, one tile at a time. Unit: panel loads. Exact for LRU and for optimal replacement.
#ifndef WEFT_PLAN_COST_PANELMODEL_H
#define WEFT_PLAN_COST_PANELMODEL_H

#include "weft/Traversal/Traversal.h"

namespace weft::plan {

/// The panels in the order of their uses; A_i is number i, B_j is number rows + j. Stage 0 only.
std::vector<int32_t> listPanelUses(const TileOrder &order);

/// Reuse distances of a sequence: `counts[d]` uses whose panel was used before with d other panels between, and `cold`
/// first uses. LRU of c panels loads cold + sum of counts[d] for d >= c.
struct ReuseHistogram {
  int64_t cold = 0;
  std::vector<int64_t> counts;

  int64_t getLruLoads(int64_t capacity) const;
};
ReuseHistogram computeReuse(const std::vector<int32_t> &uses);

/// The fewest panel loads of any order under any replacement, and one order that needs no more, as row-major tile
/// numbers. Search over (visited tiles x cached panels), one load a step.
struct OptimalOrder {
  int64_t loads = 0;
  std::vector<int64_t> table;
};

/// The largest grids searched: tiles + panels, the bits of a state.
constexpr int64_t maxSearchBits = 29;

/// Fails (false, `error`) for a capacity below 2 or a grid with rows * cols + rows + cols > maxSearchBits.
bool findOptimalOrder(TileGrid grid, int64_t capacity, OptimalOrder &result, std::string &error);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_PANELMODEL_H
