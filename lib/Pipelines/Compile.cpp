// Running the phases on a module.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Phases.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Pipelines/Variants.h"
#include "weft/Plan/Passes.h"
#include <chrono>

using namespace mlir;

namespace weft {

static constexpr std::pair<Phase, llvm::StringLiteral> phaseNames[] = {
    {Phase::Import, "import"},   {Phase::Normalize, "normalize"}, {Phase::Group, "group"},
    {Phase::Outline, "outline"}, {Phase::Plan, "plan"},           {Phase::Lower, "lower"}};

llvm::StringRef getPhaseName(Phase phase) { return phaseNames[unsigned(phase)].second; }

std::optional<Phase> parsePhase(llvm::StringRef name) {
  for (auto [phase, text] : phaseNames)
    if (text == name)
      return phase;
  return std::nullopt;
}

static plan::OverlapOptions getOverlap(const PhaseOptions &options) {
  return {options.overlap, options.gpu ? options.gpu->target : "", options.mesh.linkRate, options.mesh.linkLatency};
}

/// `tiles`: what Plan leaves of them, and Lower finds.
static void buildPhase(OpPassManager &pm, Phase phase, const PhaseOptions &options, Tiles tiles) {
  switch (phase) {
  case Phase::Import:
    return;
  case Phase::Normalize: {
    tg::NormalizeOptions normalize;
    normalize.licence = options.strategy.fastMath ? "approximating" : "exact";
    normalize.mesh = options.mesh;
    return tg::buildNormalizePipeline(pm, normalize);
  }
  case Phase::Group: {
    plan::PlanOptions plan;
    plan.vectorBits = options.strategy.vectorBits;
    plan.writesWeights = options.writesWeights;
    plan.fuse = options.fuse;
    plan.planner = options.planner;
    plan.noFuse = options.noFuse;
    plan.forceFuse = options.forceFuse;
    plan.plan = options.plan;
    plan.emitPlan = options.emitPlan;
    plan.records = options.records;
    plan.nameSubgraphs = options.nameSubgraphs;
    plan.gpu = options.gpu.has_value();
    plan.finiteMasks = options.strategy.fastMath;
    if (options.gpu)
      plan.target = options.gpu->target;
    plan.overlap = getOverlap(options);
    return plan::buildPlanPipeline(pm, plan);
  }
  case Phase::Outline:
    return plan::buildOutlinePipeline(pm, getOverlap(options));
  case Phase::Plan:
    if (options.gpu)
      buildPlanGpuPipeline(pm, *options.gpu, tiles);
    else if (tiles == Tiles::Dropped) // Else lowering finds them on its way.
      buildPlanCpuPipeline(pm);
    return;
  case Phase::Lower:
    if (options.gpu)
      return buildLowerGpuPipeline(pm, *options.gpu, tiles);
    return buildLowerCpuPipeline(pm, options.strategy);
  }
}

/// What the plan for a GPU begins with.
static LogicalResult planDims(ModuleOp module, const GpuOptions &gpu) {
  PassManager pm(module.getContext());
  buildPlanDimsPipeline(pm, gpu);
  return pm.run(module);
}

LogicalResult runPlainPhases(ModuleOp module, Phase from, Phase last, const PhaseOptions &options) {
  bool goesThroughPlan = from < Phase::Plan && last > Phase::Plan;
  Tiles tiles = goesThroughPlan && !options.printsPhases ? Tiles::Kept : Tiles::Dropped;
  for (unsigned i = unsigned(from) + 1; i <= unsigned(last); ++i) {
    auto phase = Phase(i);
    if (options.started)
      options.started(phase);
    if (options.isCancelled && options.isCancelled())
      return failure();
    auto start = std::chrono::steady_clock::now();
    if (phase == Phase::Plan && options.gpu && failed(planDims(module, *options.gpu)))
      return failure();
    if (options.measured && (phase == Phase::Plan || (phase == Phase::Lower && from == Phase::Plan)))
      options.measured(module);
    PassManager pm(module.getContext());
    buildPhase(pm, phase, options, tiles);
    if (failed(pm.run(module)))
      return failure();
    if (phase == Phase::Outline && !options.kernelSuffix.empty())
      renameKernels(module, options.kernelSuffix);
    if (phase == Phase::Plan && options.gpu && tiles == Tiles::Dropped && failed(planLaunches(module, *options.gpu)))
      return failure();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options.finished)
      options.finished(phase, module, seconds.count());
  }
  return success();
}

/// The variants' phases, one variant after the other, and one program of all of them.
static LogicalResult runVariants(ModuleOp module, Phase from, Phase last, const VariantChoice &choice,
                                 MutableArrayRef<OwningOpRef<ModuleOp>> variants, const PhaseOptions &options) {
  for (size_t i = 0; i < variants.size(); ++i) {
    if (options.beginVariant)
      options.beginVariant(choice.describe(module, i));
    if (from == Phase::Normalize) {
      if (choice.variants[i].isStatic()) { // Its checks and views may be constants now.
        PhaseOptions quiet = options;
        quiet.finished = nullptr;
        quiet.started = nullptr;
        if (failed(runPlainPhases(*variants[i], Phase::Import, Phase::Normalize, quiet)))
          return failure();
      }
      if (options.beforePlan)
        options.beforePlan(*variants[i]);
      if (i > 0)
        keepWeightOrders(*variants.front(), *variants[i]);
    }
    PhaseOptions own = options;
    own.kernelSuffix = i > 0 ? "_v" + std::to_string(i) : "";
    if (failed(runPlainPhases(*variants[i], from, last, own)))
      return failure();
  }
  if (options.beginVariant)
    options.beginVariant("");
  joinVariants(module, choice, variants);
  return verify(module);
}

LogicalResult runPhases(ModuleOp module, Phase from, Phase last, const PhaseOptions &options) {
  Phase shared = std::max(from, std::min(last, Phase::Normalize));
  if (failed(runPlainPhases(module, from, shared, options)))
    return failure();
  if (last <= Phase::Normalize || from == Phase::Lower)
    return success();
  SmallVector<OwningOpRef<ModuleOp>> variants;
  VariantChoice choice;
  if (shared == Phase::Normalize) {
    choice = chooseVariants(module, options);
    if (choice.variants.size() <= 1) {
      setLikely(module, choice);
      if (options.beforePlan)
        options.beforePlan(module);
      return runPlainPhases(module, shared, last, options);
    }
    for (size_t i = 0; i < choice.variants.size(); ++i)
      variants.push_back(makeVariant(module, choice, i));
  } else {
    choice = splitVariants(module, variants);
    if (variants.empty())
      return runPlainPhases(module, shared, last, options);
    for (ModuleOp kernel : llvm::make_early_inc_range(module.getOps<ModuleOp>()))
      kernel.erase();
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.getName() != "main")
        function.erase();
  }
  return runVariants(module, shared, last, choice, variants, options);
}

void loadCompilerDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<tg::TileGraphDialect, affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                  cf::ControlFlowDialect, func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, NVVM::NVVMDialect, memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
                  ub::UBDialect, vector::VectorDialect>();
  cpu::registerStrategyInterfaces(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

} // namespace weft
