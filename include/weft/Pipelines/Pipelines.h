// The compiler's phases as pipelines, each with typed options; `weft-opt` and the compile driver build the same ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PIPELINES_PIPELINES_H
#define WEFT_PIPELINES_PIPELINES_H

#include "weft/Lower/Cpu/Passes.h"

namespace weft {

/// --weft-lower-cpu: every kernel module nested in the module, from `tg` to the LLVM dialect. A kernel for which the
/// CPU strategy fails is lowered by plain loops instead, and says why in its attribute `tg.fallback`.
void buildLowerCpuPipeline(mlir::OpPassManager &pm, const cpu::StrategyOptions &options);

/// Registers the pipelines by their names.
void registerPipelines();

} // namespace weft

#endif // WEFT_PIPELINES_PIPELINES_H
