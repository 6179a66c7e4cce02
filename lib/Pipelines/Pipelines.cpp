// Phases strung together from the rooms' passes, and their registration by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace weft {

void buildLowerCpuPipeline(OpPassManager &pm, const cpu::StrategyOptions &options) {
  cpu::buildKernelPipeline(pm.nest<ModuleOp>(), options);
}

namespace {

struct LowerCpuOptions : PassPipelineOptions<LowerCpuOptions> {
  Option<unsigned> vectorBits{*this, "vector-bits", llvm::cl::desc("width of a vector register in bits"), llvm::cl::init(512)};
  Option<bool> fastMath{*this, "fast-math", llvm::cl::desc("fastmath flags on all floating-point ops"), llvm::cl::init(false)};
};

} // namespace

void registerPipelines() {
  PassPipelineRegistration<LowerCpuOptions>("weft-lower-cpu", "kernel modules from linalg to the LLVM dialect",
                                            [](OpPassManager &pm, const LowerCpuOptions &options) {
                                              buildLowerCpuPipeline(pm, {options.vectorBits, options.fastMath});
                                            });
}

} // namespace weft
