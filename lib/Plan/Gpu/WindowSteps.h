// Products of windows by wgmma whose steps take all taps of the window along one of its dimensions: rows of the image
// that these have in common are read once (lib/Schedule/Stage/SharedRows.h).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_WINDOWSTEPS_H
#define WEFT_LIB_PLAN_GPU_WINDOWSTEPS_H

#include "weft/Plan/GemmModel.h"
#include "weft/Plan/Schedule.h"

namespace weft::plan {

/// A product's dimensions of the kernel's iteration space, by roles.
struct ProductDims {
  mlir::Value lhs, rhs; ///< The operands' memory, seen through views.
  llvm::ArrayRef<unsigned> m, n, k;
  unsigned depth; ///< Of `k`: that which a step goes along.
};

struct WindowStep {
  std::optional<unsigned> tap;         ///< The dimension of the window; none: steps of single taps.
  bool isLeft = false;                 ///< Windows slide over the left operand.
  llvm::SmallVector<int64_t> sideTile; ///< Of the side that they slide over, by its dimensions.
  GemmChoice choice;                   ///< `stages` of such steps.
};

/// The step and the tile that cost least, if less than the tile `best` of single elements does.
std::optional<WindowStep> chooseWindowStep(const KernelToSchedule &kernel, const ProductDims &dims,
                                           const GemmProblem &problem, const GemmChoice &best, const Device &device);

/// Seconds with steps of several taps; nothing if `schedule` has none.
std::optional<double> estimateWindowStep(const KernelToSchedule &kernel, const ProductDims &dims,
                                         const GemmProblem &problem, tg::ScheduleAttr schedule, const GemmTile &tile,
                                         const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_WINDOWSTEPS_H
