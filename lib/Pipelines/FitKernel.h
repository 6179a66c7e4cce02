// A kernel's schedule: the planner's, or a smaller one where its tiles take too much shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PIPELINES_FITKERNEL_H
#define WEFT_LIB_PIPELINES_FITKERNEL_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Pipelines/Pipelines.h"

namespace weft {

struct FitOptions {
  std::string target; ///< A device or architecture.
  bool allowTf32 = false;
  std::string traversal;
  Tiles tiles = Tiles::Kept;
};

/// A pass that runs `planning` (--weft-plan-gpu) and `tiling`, passes on a kernel module from --weft-kernelize to
/// --weft-tk-allocate. The planner does not know what layouts will need of shared memory beside the channels
/// (conversions through scratch); where the kernel asks for more than a CTA can have, it is planned again with less
/// (remark `refit` of category `plan`) until it fits. A module that comes with `tg.spilled` is planned for fewer
/// registers. A schedule that the module comes with is not changed. Fails with
/// the messages of the first attempt if nothing fits, or something else is wrong. With Tiles::Dropped the kernel is
/// left as it came, but for its schedule.
std::unique_ptr<mlir::Pass> createFitKernel(mlir::OpPassManager planning, mlir::OpPassManager tiling,
                                            FitOptions options);

} // namespace weft

#endif // WEFT_LIB_PIPELINES_FITKERNEL_H
