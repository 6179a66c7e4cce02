// Mean and squared deviations of few long rows, in parts: a piece of weft-split-reductions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_SPLITMOMENTS_H
#define WEFT_LIB_PLAN_GPU_SPLITMOMENTS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Target/Device.h"

namespace weft::plan {

/// If `spread` is the sum of squared deviations from the mean of its rows, and parts of the rows are worth it: replaces
/// the mean and `spread` by what parts give, and erases them, with a remark.
bool splitMoments(tg::ReduceOp spread, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_SPLITMOMENTS_H
