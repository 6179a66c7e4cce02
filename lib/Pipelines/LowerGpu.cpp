// --weft-lower-gpu: kernel modules from tg to one llvm.func each, in two phases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FitKernel.h"
#include "Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/Passes.h"
#include "weft/Emit/Ptx.h"
#include "weft/Kernelize/Passes.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"
#include "weft/Pipelines/Pipelines.h"
#include "weft/Plan/Launches/Passes.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Passes.h"
#include "weft/Schedule/Passes.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/Launches.h"

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

/// The order of tiles that is asked for; empty where it is one of launches.
static std::string getTraversal(const GpuOptions &options) {
  return gpu::parseChainOrder(options.traversal) ? "" : options.traversal;
}

static bool mergesLaunches(const GpuOptions &options) { return options.mergeLaunches != "off"; }

static std::unique_ptr<Pass> createPlanGpu(const GpuOptions &options) {
  return plan::createPlanGpu(
      {options.target, options.allowTf32, getTraversal(options), options.records, options.nameSubgraphs});
}

void buildPlanDimsPipeline(OpPassManager &pm, const GpuOptions &options) {
  pm.nest<ModuleOp>().addPass(plan::createCollapseDims());
  if (mergesLaunches(options))
    pm.addPass(plan::createPlanLaunches({options.target, options.allowTf32}));
}

void buildPlanSchedulesPipeline(OpPassManager &pm, const GpuOptions &options) {
  buildPlanDimsPipeline(pm, options);
  pm.nest<ModuleOp>().addPass(createPlanGpu(options));
}

/// From a kernel to offsets in shared memory. In this order: Plan (where `plans`), Kernelize, Schedule; docs/gpu.md
/// lists the passes.
static void addTiling(OpPassManager &kernel, const GpuOptions &options, Tiles tiles, bool plans) {
  OpPassManager planning(ModuleOp::getOperationName()), tiling(ModuleOp::getOperationName());
  if (plans)
    planning.addPass(createPlanGpu(options));
  tiling.addPass(kernelize::createKernelize({options.allowTf32}));
  tiling.addPass(schedule::createTkFuseLoops());
  tiling.addPass(schedule::createTkFuseMaps());
  tiling.addPass(schedule::createTkNarrowMaps());
  tiling.addPass(schedule::createTkSplitSteps());
  tiling.addPass(schedule::createTkSliceSteps());
  tiling.addPass(schedule::createTkStage());
  tiling.addPass(schedule::createTkRoles());
  tiling.addPass(schedule::createTkPipeline());
  tiling.addPass(schedule::createTkSplitMasks());
  tiling.addPass(schedule::createTkLayouts());
  tiling.addPass(schedule::createTkLateSums());
  tiling.addPass(schedule::createTkAllocate());
  kernel.addPass(createFitKernel(std::move(planning), std::move(tiling),
                                 {options.target, options.allowTf32, getTraversal(options), tiles}));
}

static std::unique_ptr<Pass> createChooser(const GpuOptions &options) {
  std::optional<int64_t> chain = gpu::parseChainOrder(options.traversal);
  const char *chains = options.mergeLaunches == "independent"       ? "none"
                       : options.mergeLaunches == "chains" || chain ? "all"
                                                                    : "model";
  return plan::createChooseLaunches({options.target, chains, chain.value_or(0)});
}

void buildPlanGpuPipeline(OpPassManager &pm, const GpuOptions &options, Tiles tiles) {
  addTiling(pm.nest<ModuleOp>(), options, tiles, /*plans=*/true);
  if (tiles == Tiles::Kept && mergesLaunches(options)) // Else `planLaunches` chooses, on a copy that is tiled.
    pm.addPass(createChooser(options));
}

/// Every kernel module to one llvm.func.
static void addLowering(OpPassManager &pm, const GpuOptions &options) {
  const Device *device = findDevice(options.target);
  StringRef architecture = device ? StringRef(device->architecture) : StringRef(options.target);
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(schedule::createTkBanks());
  gpu::buildLowerTkPipeline(kernel, options.fastMath, options.dependentLaunch);
  kernel.addPass(emit::createGpuTensorMaps());
  kernel.addPass(std::make_unique<RequireGpuKernel>(architecture));
}

LogicalResult planLaunches(ModuleOp program, const GpuOptions &options) {
  if (!mergesLaunches(options) && !program.getContext()->getRemarkEngine())
    return success();
  OwningOpRef<ModuleOp> trial = program.clone();
  PassManager pm(program.getContext());
  addTiling(pm.nest<ModuleOp>(), options, Tiles::Kept, /*plans=*/false);
  if (mergesLaunches(options))
    pm.addPass(createChooser(options));
  if (failed(pm.run(*trial)))
    return failure();
  auto main = program.lookupSymbol<func::FuncOp>("main"), tried = trial->lookupSymbol<func::FuncOp>("main");
  if (!main || !tried || main.isExternal())
    return success();
  for (auto [dispatch, launched] : llvm::zip_equal(main.getOps<tg::DispatchOp>(), tried.getOps<tg::DispatchOp>()))
    for (StringRef name : {gpu::sharedLaunchAttr, gpu::sharedLaunchOrderAttr})
      if (Attribute value = tg::DispatchOp(launched)->getAttr(name))
        tg::DispatchOp(dispatch)->setAttr(name, value);
  return success();
}

void buildLowerGpuPipeline(OpPassManager &pm, const GpuOptions &options, Tiles tiles) {
  if (tiles == Tiles::Dropped)
    addTiling(pm.nest<ModuleOp>(), options, Tiles::Kept, /*plans=*/false);
  if (mergesLaunches(options))
    pm.addPass(schedule::createTkMakeLaunches());
  addLowering(pm, options);
}

} // namespace weft
