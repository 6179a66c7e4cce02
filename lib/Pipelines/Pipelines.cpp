// Phases strung together from the rooms' passes, and their registration by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipelines/Pipelines.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace weft {

namespace {

struct LowerCpuOptions : PassPipelineOptions<LowerCpuOptions> {
  Option<unsigned> vectorBits{*this, "vector-bits", llvm::cl::desc("width of a vector register in bits"),
                              llvm::cl::init(512)};
  Option<bool> fastMath{*this, "fast-math", llvm::cl::desc("fastmath flags on all floating-point ops"),
                        llvm::cl::init(false)};
  Option<bool> optimize{*this, "optimize", llvm::cl::desc("tile, fuse and pack; otherwise plain loops"),
                        llvm::cl::init(false)};

  cpu::StrategyOptions get() const {
    cpu::StrategyOptions options;
    options.vectorBits = vectorBits;
    options.fastMath = fastMath;
    options.optimize = optimize;
    return options;
  }
};

struct LowerGpuOptions : PassPipelineOptions<LowerGpuOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("device or architecture, such as H100 or sm_80"),
                             llvm::cl::init("sm_80")};
  Option<bool> fastMath{*this, "fast-math", llvm::cl::desc("approximate math functions"), llvm::cl::init(false)};
  Option<bool> allowTf32{*this, "allow-tf32", llvm::cl::desc("f32 contractions may use tf32"), llvm::cl::init(false)};
  Option<bool> dependentLaunch{*this, "dependent-launch",
                               llvm::cl::desc("sm_90 and up: kernels start while the one before still runs"),
                               llvm::cl::init(GpuOptions().dependentLaunch)};
  Option<std::string> traversal{*this, "traversal", llvm::cl::desc("Order of contractions' tiles (docs/traversal.md)")};
  Option<std::string> mergeLaunches{*this, "merge-launches",
                                    llvm::cl::desc("kernels that start as one: off, independent, on or chains"),
                                    llvm::cl::init("on")};

  GpuOptions get() const {
    return {target,    fastMath,      allowTf32,      dependentLaunch,
            traversal, mergeLaunches, /*records=*/"", /*nameSubgraphs=*/false};
  }
};

} // namespace

void registerPipelines() {
  PassPipelineRegistration<LowerCpuOptions>(
      "weft-lower-cpu", "kernel modules from tg to the LLVM dialect",
      [](OpPassManager &pm, const LowerCpuOptions &flags) { buildLowerCpuPipeline(pm, flags.get()); });
  PassPipelineRegistration<LowerGpuOptions>("weft-lower-gpu",
                                            "schedule kernel modules, and lower each from tg to one nvvm kernel",
                                            [](OpPassManager &pm, const LowerGpuOptions &flags) {
                                              buildPlanDimsPipeline(pm, flags.get());
                                              buildPlanGpuPipeline(pm, flags.get(), Tiles::Kept);
                                              buildLowerGpuPipeline(pm, flags.get(), Tiles::Kept);
                                            });
  PassPipelineRegistration<LowerCpuOptions>("weft-cpu-strategy", "kernel modules from linalg to the LLVM dialect",
                                            [](OpPassManager &pm, const LowerCpuOptions &flags) {
                                              cpu::buildKernelPipeline(pm.nest<ModuleOp>(), flags.get());
                                            });
}

} // namespace weft
