// Sums of few terms that kernels of maps compute again in each CTA: the last step of a reduction in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_ROWSTATISTICS_H
#define WEFT_PLAN_ROWSTATISTICS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Explain/Facts.h"

namespace weft::plan {

/// The most terms of such a sum: lanes of a warp.
constexpr int64_t mostStatistics = 32;
/// So many elements of the map share a sum at least.
constexpr double leastShare = 1024;
/// The most terms of all its sums together: a tile may ask for all of them, and holds them in registers.
constexpr double mostTermsOfAll = 4096;

/// Whether `op` has few terms and results, and a map of `elements` elements shares each result among many.
inline bool isStatistic(tg::ReduceOp op, double elements) {
  int64_t terms = 1;
  tg::Dims dims = tg::getDims(op.getInput().getType());
  for (int64_t axis : op.getAxes()) {
    std::optional<int64_t> extent = tg::getConstant(dims[axis]);
    if (!extent || *extent > mostStatistics)
      return false;
    terms *= *extent;
  }
  return terms <= mostStatistics && estimateElements(op.getInput()) <= mostTermsOfAll &&
         estimateElements(op) * leastShare <= elements;
}

} // namespace weft::plan

#endif // WEFT_PLAN_ROWSTATISTICS_H
