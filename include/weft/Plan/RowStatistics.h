// Sums of few terms that kernels of maps compute again in each CTA: the last step of a reduction in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_ROWSTATISTICS_H
#define WEFT_PLAN_ROWSTATISTICS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Explain/Facts.h"

namespace weft::plan {

/// The most terms of such a sum: lanes of a warp.
constexpr int64_t mostStatistics = 32;
/// So many elements of the map share a sum at least, so that a tile asks for few of them.
constexpr double leastShare = 1024;

/// Whether `op` has few terms, and a map of `elements` elements shares each of its results among many.
inline bool isStatistic(tg::ReduceOp op, double elements) {
  int64_t terms = 1;
  tg::Dims dims = tg::getDims(op.getInput().getType());
  for (int64_t axis : op.getAxes()) {
    std::optional<int64_t> extent = tg::getConstant(dims[axis]);
    if (!extent || *extent > mostStatistics)
      return false;
    terms *= *extent;
  }
  return terms <= mostStatistics && estimateElements(op) * leastShare <= elements;
}

} // namespace weft::plan

#endif // WEFT_PLAN_ROWSTATISTICS_H
