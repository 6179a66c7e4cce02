// Registration of every dialect, pass and pipeline of Weft, and nothing else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_INITALL_H
#define WEFT_INITALL_H

#include "mlir/IR/DialectRegistry.h"
#include "weft/Dialect/TileGraph/Analysis/Passes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Emit/Passes.h"
#include "weft/Kernelize/Passes.h"
#include "weft/Lower/Cpu/Passes.h"
#include "weft/Lower/CpuMath/CpuMath.h"
#include "weft/Lower/GpuMath/GpuMath.h"
#include "weft/Lower/TileGraphToLinalg/TileGraphToLinalg.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Plan/Launches/Passes.h"
#include "weft/Plan/Passes.h"
#include "weft/Schedule/Passes.h"

namespace weft {

inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<tg::TileGraphDialect, tk::TileKernelDialect>();
  cpu::registerStrategyInterfaces(registry);
}

inline void registerAllPasses() {
  tg::registerTileGraphAnalysisPasses();
  tg::registerTileGraphRewritePasses();
  tg::registerNormalizePipeline();
  plan::registerPlanPasses();
  plan::registerPlanLaunchesPasses();
  plan::registerPlanPipelines();
  lower::registerCpuMathPasses();
  lower::registerGpuMathPasses();
  emit::registerEmitPasses();
  lower::registerTileGraphToLinalgPasses();
  cpu::registerWeftCpuPasses();
  schedule::registerSchedulePasses();
  kernelize::registerKernelizePasses();
  gpu::registerTileKernelToNVVMPasses();
  gpu::registerLowerTkPipeline();
  registerPipelines();
}

} // namespace weft

#endif // WEFT_INITALL_H
