// The passes from a kernel module to places in shared memory, and again with a smaller schedule where that is too much.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PIPELINES_FITKERNEL_H
#define WEFT_LIB_PIPELINES_FITKERNEL_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace weft {

/// A pass that runs `tiling`, passes on a kernel module from --weft-plan-gpu to --weft-tk-allocate, for the
/// architecture `target`. The planner does not know what layouts will need of shared memory beside the channels
/// (conversions through scratch); where the kernel asks for more than a CTA can have, it is planned again with less
/// (remark `refit` of category `plan`) until it fits. A schedule that the module comes with is not changed. Fails with
/// the messages of the first attempt if nothing fits, or something else is wrong.
std::unique_ptr<mlir::Pass> createFitKernel(mlir::OpPassManager tiling, llvm::StringRef target, bool allowTf32,
                                            llvm::StringRef traversal);

} // namespace weft

#endif // WEFT_LIB_PIPELINES_FITKERNEL_H
