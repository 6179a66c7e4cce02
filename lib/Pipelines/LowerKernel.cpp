// weft-lower-kernel: one kernel module to the LLVM dialect by the CPU strategy, or, where that fails, by plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Lower/TileGraphToLinalg/TileGraphToLinalg.h"
#include "weft/Pipelines/Pipelines.h"

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
      ScopedDiagnosticHandler quiet(&getContext(), [&](Diagnostic &diagnostic) {
        if (firstError.empty() && diagnostic.getSeverity() == DiagnosticSeverity::Error)
          firstError = diagnostic.str();
        return success();
      });
      if (succeeded(runPipeline(optimized, module)))
        return;
    }
    module.getBodyRegion().takeBody((*original)->getRegion(0));
    module->setAttrs((*original)->getAttrDictionary());
    module->setAttr(cpu::fallbackAttr, StringAttr::get(&getContext(), firstError));
    OpPassManager plain(ModuleOp::getOperationName());
    build(plain, false);
    if (failed(runPipeline(plain, module)))
      signalPassFailure();
  }

  cpu::StrategyOptions options;
};

} // namespace

void buildLowerCpuPipeline(OpPassManager &pm, const cpu::StrategyOptions &options) {
  pm.addNestedPass<ModuleOp>(std::make_unique<LowerKernel>(options));
}

} // namespace weft
