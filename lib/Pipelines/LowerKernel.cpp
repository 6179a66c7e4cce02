// weft-lower-kernel: one kernel module to the LLVM dialect by the CPU strategy, or, where that fails, by plain loops.
// weft-plan-kernel: the tiles that the strategy chooses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Lower/TileGraphToLinalg/TileGraphToLinalg.h"
#include "weft/Pipelines/Pipelines.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace weft {

namespace {

/// Each kernel is lowered on a copy at first, so that a failure half-way leaves the original for the second attempt.
class LowerKernel : public PassWrapper<LowerKernel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerKernel)
  explicit LowerKernel(const cpu::StrategyOptions &options) : options(options) {}
  StringRef getArgument() const override { return "weft-lower-kernel"; }
  StringRef getDescription() const override { return "lower one kernel module to the LLVM dialect"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    build(pm, /*optimize=*/true);
    pm.getDependentDialects(registry);
    cpu::registerStrategyInterfaces(registry);
  }

private:
  void build(OpPassManager &pm, bool optimize) const {
    pm.addPass(cpu::createRecordShapes());
    pm.addNestedPass<func::FuncOp>(lower::createLowerToLinalg());
    cpu::StrategyOptions strategy = options;
    strategy.optimize = optimize;
    cpu::buildKernelPipeline(pm, strategy);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<Operation *> original = module->clone();
    OpPassManager optimized(ModuleOp::getOperationName());
    build(optimized, true);
    std::string firstError;
    {
      // Other threads lower other kernels meanwhile, whose errors are theirs.
      ScopedDiagnosticHandler quiet(&getContext(), [&, thread = llvm::get_threadid()](Diagnostic &diagnostic) {
        if (llvm::get_threadid() != thread)
          return failure();
        if (firstError.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
          firstError = diagnostic.str();
        return success();
      });
      if (succeeded(runPipeline(optimized, module)))
        return;
    }
    module.getBodyRegion().takeBody((*original)->getRegion(0));
    module->setAttrs((*original)->getAttrDictionary());
    if (StringRef(firstError).starts_with(cpu::tileSizesAttr)) { // Not the strategy's failure, but the plan's.
      module.emitError() << firstError;
      return signalPassFailure();
    }
    module->removeAttr(cpu::tileSizesAttr);
    module->setAttr(cpu::fallbackAttr, StringAttr::get(&getContext(), firstError));
    OpPassManager plain(ModuleOp::getOperationName());
    build(plain, false);
    if (failed(runPipeline(plain, module)))
      signalPassFailure();
  }

  cpu::StrategyOptions options;
};

/// Tiles are tiles of linalg ops, which a copy of the kernel becomes.
class PlanKernel : public PassWrapper<PlanKernel, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanKernel)
  StringRef getArgument() const override { return "weft-plan-kernel"; }
  StringRef getDescription() const override { return "choose the tiles of one kernel module for the CPU"; }

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    build(pm);
    pm.getDependentDialects(registry);
    cpu::registerStrategyInterfaces(registry);
  }

private:
  static void build(OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(lower::createLowerToLinalg());
    cpu::buildTilesPipeline(pm);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OwningOpRef<Operation *> original = module->clone();
    OpPassManager pm(ModuleOp::getOperationName());
    build(pm);
    ScopedDiagnosticHandler quiet(&getContext(), [thread = llvm::get_threadid()](Diagnostic &) {
      return success(llvm::get_threadid() == thread);
    });
    Attribute tiles = succeeded(runPipeline(pm, module)) ? module->getAttr(cpu::tileSizesAttr) : Attribute();
    module.getBodyRegion().takeBody((*original)->getRegion(0));
    module->setAttrs((*original)->getAttrDictionary());
    if (tiles)
      module->setAttr(cpu::tileSizesAttr, tiles);
  }
};

} // namespace

void buildPlanCpuPipeline(OpPassManager &pm) { pm.addNestedPass<ModuleOp>(std::make_unique<PlanKernel>()); }

void buildLowerCpuPipeline(OpPassManager &pm, const cpu::StrategyOptions &options) {
  pm.addNestedPass<ModuleOp>(std::make_unique<LowerKernel>(options));
}

} // namespace weft
