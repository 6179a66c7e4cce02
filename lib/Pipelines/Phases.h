// Pieces of the phases that variants are tried with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PIPELINES_PHASES_H
#define WEFT_LIB_PIPELINES_PHASES_H

#include "weft/Pipelines/Compile.h"

namespace weft {

/// As `runPhases`, of one program without variants.
llvm::LogicalResult runPlainPhases(mlir::ModuleOp module, Phase from, Phase last, const PhaseOptions &options);

/// What the plan of a GPU begins with: schedules of all kernel modules, none of which is tiled yet.
void buildPlanSchedulesPipeline(mlir::OpPassManager &pm, const GpuOptions &options);

} // namespace weft

#endif // WEFT_LIB_PIPELINES_PHASES_H
