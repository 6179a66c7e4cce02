// The pass --weft-gpu-tensor-maps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "weft/Emit/Passes.h"
#include "weft/Emit/Ptx.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::emit {

#define GEN_PASS_DEF_GPUTENSORMAPS
#include "weft/Emit/Passes.h.inc"

namespace {

struct GpuTensorMaps : impl::GpuTensorMapsBase<GpuTensorMaps> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto maps = module->getAttrOfType<ArrayAttr>(gpu::tensorMapsAttr);
    LLVM::LLVMFuncOp function = getKernelFunction(module);
    if (!maps || maps.empty() || !function)
      return;
    auto byVal = LLVM::LLVMDialect::getByValAttrName();
    unsigned buffers = 0, firstMap = 0;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      bool isMap = bool(function.getArgAttr(i, byVal));
      buffers += !isMap && isa<LLVM::LLVMPointerType>(function.getArgument(i).getType());
      firstMap += !isMap;
    }
    llvm::SetVector<AffineExpr> scalars = getScalars(module, firstMap - buffers);
    unsigned present = scalars.size(), symbols = present;
    for (Attribute attribute : maps)
      for (llvm::StringRef name : {"extents", "strides"}) {
        auto dictionary = dyn_cast<DictionaryAttr>(attribute);
        auto map = dictionary ? dictionary.getAs<AffineMapAttr>(name) : AffineMapAttr();
        if (!map) {
          module.emitError() << "expected {argument, box, swizzle, extents, strides} as entries of "
                             << gpu::tensorMapsAttr;
          return signalPassFailure();
        }
        symbols = std::max(symbols, map.getValue().getNumSymbols());
        scalars.insert(map.getValue().getResults().begin(), map.getValue().getResults().end());
      }
    addParameters(function, firstMap, scalars.size() - present);
    module->setAttr(gpu::scalarsAttr,
                    AffineMapAttr::get(AffineMap::get(0, symbols, scalars.getArrayRef(), &getContext())));
  }

private:
  llvm::SetVector<AffineExpr> getScalars(ModuleOp module, unsigned count) {
    llvm::SetVector<AffineExpr> scalars;
    if (auto given = module->getAttrOfType<AffineMapAttr>(gpu::scalarsAttr))
      scalars.insert(given.getValue().getResults().begin(), given.getValue().getResults().end());
    else
      for (unsigned i = 0; i < count; ++i)
        scalars.insert(getAffineSymbolExpr(i, &getContext()));
    return scalars;
  }

  /// `count` i64 parameters at `place`.
  void addParameters(LLVM::LLVMFuncOp function, unsigned place, unsigned count) {
    Type i64 = IntegerType::get(&getContext(), 64);
    SmallVector<unsigned> places(count, place);
    SmallVector<Type> types(count, i64);
    SmallVector<DictionaryAttr> attributes(count, DictionaryAttr::get(&getContext()));
    SmallVector<Location> locations(count, function.getLoc());
    // The interface's own insertArguments fails on functions that return nothing.
    LLVM::LLVMFunctionType old = function.getFunctionType();
    SmallVector<Type> parameters(old.getParams());
    parameters.insert(parameters.begin() + place, count, i64);
    auto type = LLVM::LLVMFunctionType::get(old.getReturnType(), parameters, old.isVarArg());
    function_interface_impl::insertFunctionArguments(function, places, types, attributes, locations,
                                                     function.getNumArguments(), type);
  }
};

} // namespace
} // namespace weft::emit
