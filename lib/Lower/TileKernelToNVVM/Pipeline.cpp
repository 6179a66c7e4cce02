// --weft-tk-to-llvm and the pipeline around it: from tk with layouts to llvm and nvvm only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "weft/Lower/GpuMath/GpuMath.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"

namespace weft::gpu {
#define GEN_PASS_DEF_TKTOLLVM
#include "weft/Lower/TileKernelToNVVM/Passes.h.inc"
} // namespace weft::gpu

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

/// A predicated load of global memory, as emitGlobalLoad writes it.
static bool isGlobalLoad(LLVM::InlineAsmOp op) {
  return op && op.getAsmString().contains(" ld.global") && !op.getConstraints().contains("~{memory}");
}

static bool mayWriteGlobal(Operation &op) {
  if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    constexpr unsigned sharedSpace = 3;
    return cast<LLVM::LLVMPointerType>(store.getAddr().getType()).getAddressSpace() != sharedSpace;
  }
  return !isa<LLVM::LoadOp>(op) && !isMemoryEffectFree(&op);
}

/// Equal loads of a block with no write between them are one: terms of a window that neighbouring elements share. LLVM
/// does so where it may move a load; those of what other kernels write must stay behind the wait for these.
static void shareLoads(Block &block) {
  llvm::MapVector<Attribute, SmallVector<LLVM::InlineAsmOp>> known; // By their text.
  for (Operation &each : llvm::make_early_inc_range(block)) {
    auto load = dyn_cast<LLVM::InlineAsmOp>(each);
    if (!isGlobalLoad(load)) {
      if (mayWriteGlobal(each))
        known.clear();
      continue;
    }
    SmallVector<LLVM::InlineAsmOp> &others = known[load.getAsmStringAttr()];
    auto equal = llvm::find_if(others, [&](LLVM::InlineAsmOp other) {
      return other.getOperands() == load.getOperands() && other.getResultTypes() == load.getResultTypes() &&
             other.getConstraints() == load.getConstraints();
    });
    if (equal == others.end()) {
      others.push_back(load);
      continue;
    }
    load->replaceAllUsesWith(*equal);
    load->erase();
  }
}

namespace {

class TkToLLVM : public weft::gpu::impl::TkToLLVMBase<TkToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext &context = getContext();
    LowerToLLVMOptions options(&context);
    auto bits = module->getAttrOfType<IntegerAttr>(indexBitsAttr);
    options.overrideIndexBitwidth(bits && bits.getInt() == 32 ? 32 : 64);
    LLVMTypeConverter converter(&context, options);
    RewritePatternSet patterns(&context);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    vector::populateVectorFromElementsUnrollPatterns(patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    target.addLegalOp<ModuleOp>();
    if (failed(applyFullConversion(module, target, std::move(patterns))))
      return signalPassFailure();
    module.walk([](LLVM::LLVMFuncOp kernel) {
      for (Block &block : kernel.getBody())
        shareLoads(block);
    });
    module->removeAttr(indexBitsAttr);
  }
};

} // namespace

void weft::gpu::buildLowerTkPipeline(OpPassManager &pm, bool fastMath, bool dependentLaunch) {
  pm.addPass(createLowerTk({dependentLaunch}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(lower::createGpuMath({fastMath}));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createTkToLLVM());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void weft::gpu::registerLowerTkPipeline() {
  PassPipelineRegistration<>("weft-lower-tk-pipeline", "From tk with layouts to llvm and nvvm",
                             [](OpPassManager &pm) { buildLowerTkPipeline(pm); });
}
