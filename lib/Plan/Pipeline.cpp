// Pipelines of the Plan room.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/Device.h"

using namespace mlir;

namespace weft::plan {
/// Tests of scores are weighed by what the target takes for a kernel and for bytes.
static tg::BandMasksOptions getMaskOptions(const PlanOptions &options) {
  tg::BandMasksOptions masks;
  masks.finite = options.finiteMasks;
  if (const Device *device = options.target.empty() ? nullptr : findDevice(options.target)) {
    double rate = device->perSecond(device->matrix.f16);
    masks.testKernel = rate * device->kernelSeconds();
    masks.testByte = rate / device->memoryBandwidth;
  }
  return masks;
}
} // namespace weft::plan

void weft::plan::buildPlanPipeline(OpPassManager &pm, const PlanOptions &options) {
  if (!options.gpu) // The CPU has no loop for folds: what a file may have of them becomes plain ops.
    pm.addPass(tg::createUnrollFolds());
  if (options.fuse && (!options.gpu || !options.target.empty()))
    pm.addPass(createReadRouted({options.gpu ? options.target : ""}));
  if (!options.gpu) {
    pm.addPass(createPackFields());
    pm.addPass(createPackQuads({options.vectorBits, options.writesWeights}));
  }
  if (!options.gpu && options.fuse)
    pm.addPass(createSinkReshapes());
  // Neither of these planners has anything like folds.
  bool hasFolds = options.planner != "dnnfusion" && options.planner != "tvm-rules";
  if (options.gpu && options.fuse) {
    pm.addPass(tg::createMoveViews());
    pm.addPass(tg::createJoinRows());
    if (hasFolds) {
      pm.addPass(tg::createBandMasks(getMaskOptions(options)));
      pm.addPass(tg::createDeriveFolds());
      pm.addPass(tg::createBoundMasks());
    }
  }
  if (options.gpu && options.fuse && !options.target.empty()) {
    if (hasFolds)
      pm.addPass(createFuseGemmChains({options.target}));
    pm.addPass(createReadThrough());
    if (hasFolds)
      pm.addPass(createDelayScales({options.target}));
    pm.addPass(createSplitFolds({options.target}));
    if (hasFolds)
      pm.addPass(createSplitReductions({options.target}));
  }
  const OverlapOptions &overlap = options.overlap;
  pm.addPass(createSplitCollectives({overlap.mode, overlap.target, overlap.linkRate, overlap.linkLatency}));
  FormKernelsOptions form;
  form.fuse = options.fuse;
  form.gpu = options.gpu;
  if (!options.target.empty())
    form.target = options.target;
  form.maxRowBytes = options.maxRowBytes;
  form.planner = options.planner;
  form.noFuse = options.noFuse;
  form.forceFuse = options.forceFuse;
  form.plan = options.plan;
  form.records = options.records;
  form.nameSubgraphs = options.nameSubgraphs;
  form.emitPlan = options.emitPlan;
  pm.addNestedPass<func::FuncOp>(createFormKernels(form));
  pm.addNestedPass<func::FuncOp>(createPlanLayouts({!options.gpu ? "cpu" : options.fuse ? options.target : ""}));
  pm.addPass(createCanonicalizerPass()); // Contractions and views take the transpositions in.
  if (options.gpu)
    pm.addPass(createSetDomains());
}

void weft::plan::buildOutlinePipeline(OpPassManager &pm, const OverlapOptions &overlap) {
  pm.addPass(createOutlineKernels());
  pm.addPass(createOverlapCollectives({overlap.mode, overlap.target, overlap.linkRate, overlap.linkLatency}));
}

namespace {
struct PlanPipelineOptions : PassPipelineOptions<PlanPipelineOptions> {
  Option<bool> fuse{*this, "fuse", llvm::cl::desc("form groups of several ops"), llvm::cl::init(true)};
  Option<bool> gpu{*this, "gpu", llvm::cl::desc("group by the rules for GPUs"), llvm::cl::init(false)};
  Option<std::string> planner{*this, "planner", llvm::cl::desc("as that of --weft-form-kernels"),
                              llvm::cl::init("weft")};
  Option<std::string> target{*this, "target", llvm::cl::desc("GPU that folds are split for (none: they are not)")};
  Option<std::string> records{*this, "records", llvm::cl::desc("file of measured times")};
  Option<bool> finiteMasks{*this, "finite-masks", llvm::cl::desc("as `finite` of --weft-band-masks"),
                           llvm::cl::init(false)};
  Option<bool> nameSubgraphs{*this, "name-subgraphs", llvm::cl::desc("as that of --weft-form-kernels"),
                             llvm::cl::init(false)};
};
} // namespace

void weft::plan::registerPlanPipelines() {
  registerPlanLevelPasses();
  PassPipelineRegistration<PlanPipelineOptions>("weft-plan", "group the ops of a normalized module into kernels",
                                                [](OpPassManager &pm, const PlanPipelineOptions &flags) {
                                                  PlanOptions options;
                                                  options.fuse = flags.fuse;
                                                  options.gpu = flags.gpu;
                                                  options.target = flags.target;
                                                  options.planner = flags.planner;
                                                  options.records = flags.records;
                                                  options.finiteMasks = flags.finiteMasks;
                                                  options.nameSubgraphs = flags.nameSubgraphs;
                                                  buildPlanPipeline(pm, options);
                                                });
  PassPipelineRegistration<>("weft-outline", "move kernels into modules of their own, equal ones once",
                             [](OpPassManager &pm) { buildOutlinePipeline(pm); });
}
