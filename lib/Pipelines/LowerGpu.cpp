// --weft-lower-gpu: kernel modules from planned tg to one llvm.func each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FitKernel.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/ChainOrder.h"
#include "weft/Emit/Passes.h"
#include "weft/Emit/Ptx.h"
#include "weft/Kernelize/Passes.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Passes.h"
#include "weft/Schedule/Passes.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"

using namespace mlir;

namespace weft {

namespace {

/// Runs last: a kernel module that is not one kernel function by now holds an op that some pass left alone.
class RequireGpuKernel : public PassWrapper<RequireGpuKernel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RequireGpuKernel)
  explicit RequireGpuKernel(StringRef architecture) : architecture(architecture) {}
  StringRef getArgument() const override { return "weft-require-gpu-kernel"; }
  StringRef getDescription() const override { return "check that a kernel module was lowered for a GPU"; }

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool hasGraphOps = false;
    module.walk([&](Operation *op) {
      if (!isa<tg::TileGraphDialect>(op->getDialect()) || op->hasTrait<OpTrait::IsTerminator>())
        return;
      hasGraphOps = true;
      op->emitError() << "op '" << op->getName().getStringRef() << "' has no lowering for " << architecture;
    });
    if (!hasGraphOps && !emit::getKernelFunction(module))
      module.emitError() << "kernel " << module.getSymName().value_or("?") << " was not lowered for " << architecture;
    else if (!hasGraphOps)
      return;
    signalPassFailure();
  }

  std::string architecture;
};

} // namespace

void buildLowerGpuPipeline(OpPassManager &pm, const GpuOptions &options) {
  const Device *device = findDevice(options.target);
  StringRef architecture = device ? StringRef(device->architecture) : StringRef(options.target);
  // An order of launches, or of the tiles of products.
  std::optional<int64_t> chain = emit::parseChainOrder(options.traversal);
  std::string traversal = chain ? "" : options.traversal;
  bool merges = options.mergeLaunches != "off";
  // In this order: Plan, Kernelize, Schedule, Lower; docs/gpu.md lists the passes.
  pm.nest<ModuleOp>().addPass(plan::createCollapseDims());
  if (merges)
    pm.addPass(plan::createPlanLaunches({options.target, options.allowTf32}));
  OpPassManager &kernel = pm.nest<ModuleOp>();
  OpPassManager tiling(ModuleOp::getOperationName());
  tiling.addPass(
      plan::createPlanGpu({options.target, options.allowTf32, traversal, options.profile, options.nameSubgraphs}));
  tiling.addPass(kernelize::createKernelize({options.allowTf32}));
  tiling.addPass(schedule::createTkFuseLoops());
  tiling.addPass(schedule::createTkFuseMaps());
  tiling.addPass(schedule::createTkSplitSteps());
  tiling.addPass(schedule::createTkSliceSteps());
  tiling.addPass(schedule::createTkStage());
  tiling.addPass(schedule::createTkSplitMasks());
  tiling.addPass(schedule::createTkRoles());
  tiling.addPass(schedule::createTkPipeline());
  tiling.addPass(schedule::createTkLayouts());
  tiling.addPass(schedule::createTkLateSums());
  tiling.addPass(schedule::createTkAllocate());
  kernel.addPass(createFitKernel(std::move(tiling), options.target, options.allowTf32, traversal));
  kernel.addPass(schedule::createTkBanks());
  gpu::buildLowerTkPipeline(kernel, options.fastMath, options.dependentLaunch);
  kernel.addPass(emit::createGpuTensorMaps());
  kernel.addPass(std::make_unique<RequireGpuKernel>(architecture));
  if (merges)
    pm.addPass(emit::createGpuMergeLaunches({options.target,
                                             options.mergeLaunches == "levels"            ? "none"
                                             : options.mergeLaunches == "chains" || chain ? "all"
                                                                                          : "model",
                                             chain ? *chain : 0}));
}

} // namespace weft
