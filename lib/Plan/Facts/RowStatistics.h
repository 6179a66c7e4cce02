// Sums of few terms that kernels of maps compute again in each CTA: the last step of a reduction in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_FACTS_ROWSTATISTICS_H
#define WEFT_LIB_PLAN_FACTS_ROWSTATISTICS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Facts.h"

namespace weft::plan {

/// The parts that a reduction is cut into at most for it: lanes of a warp.
constexpr int64_t mostStatistics = 32;
/// The most terms of such a sum, where a product's tiles made the parts: of each of a group's channels some. (Of a map
/// of 5 MB an H100 takes 8.8 us with 160 terms and with 320, 8.1 without.)
constexpr int64_t mostStatisticTerms = 512;
/// So many elements of the map share a sum at least.
constexpr double leastShare = 1024;
/// The most terms of all its sums together: a tile of the map goes along few sums (MemoryBound.cpp).
constexpr double mostTermsOfAll = 32768;

/// Whether `op` has few terms and results, and a map of `elements` elements shares each result among many.
inline bool isStatistic(tg::ReduceOp op, double elements) {
  int64_t terms = 1;
  tg::Dims dims = tg::getDims(op.getInput().getType());
  for (int64_t axis : op.getAxes()) {
    std::optional<int64_t> extent = tg::getConstant(dims[axis]);
    if (!extent || *extent > mostStatisticTerms)
      return false;
    terms *= *extent;
  }
  return terms <= mostStatisticTerms && estimateElements(op.getInput()) <= mostTermsOfAll &&
         estimateElements(op) * leastShare <= elements;
}

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_FACTS_ROWSTATISTICS_H
