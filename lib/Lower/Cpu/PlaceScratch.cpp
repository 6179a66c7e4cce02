// weft-cpu-scratch: temporaries leave the heap. Sizes are bounded over the kernel's symbols, so that the dispatch can
// state them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_PLACESCRATCH
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// Bytes of one temporary, and of all of a kernel's, that may live on the stack.
constexpr int64_t maxStackBuffer = 4096, maxStack = 32768;

class PlaceScratch : public weft::cpu::impl::PlaceScratchBase<PlaceScratch> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = weft::cpu::getKernelFunc(module);
    if (!func)
      return signalPassFailure();
    func.walk([](memref::DeallocOp op) { op.erase(); });
    SmallVector<memref::AllocOp> allocs;
    func.walk([&](memref::AllocOp op) { allocs.push_back(op); });
    SmallVector<Attribute> parts;
    int64_t stack = 0;
    for (memref::AllocOp alloc : allocs) {
      AffineExpr bytes = byteBound(func, alloc);
      if (!bytes) {
        alloc.emitError("no bound over the kernel's symbols is known for the size of this temporary");
        return signalPassFailure();
      }
      auto constant = dyn_cast<AffineConstantExpr>(bytes);
      Value memory;
      if (constant && constant.getValue() <= maxStackBuffer && stack + constant.getValue() <= maxStack) {
        stack += constant.getValue();
        memory = onStack(func, alloc, constant.getValue());
      } else {
        parts.push_back(AffineMapAttr::get(AffineMap::get(0, weft::cpu::getSymbols(func).size(), bytes)));
        memory = inScratch(func, alloc);
      }
      alloc.replaceAllUsesWith(memory);
      alloc.erase();
    }
    module->setAttr(weft::cpu::scratchPartsAttr, ArrayAttr::get(&getContext(), parts));
  }

  /// Bytes of `alloc` at most; null if not known.
  AffineExpr byteBound(func::FuncOp func, memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    Type element = type.getElementType();
    if (!type.getLayout().isIdentity() || !alloc.getSymbolOperands().empty() ||
        !(element.isIntOrFloat() || element.isIndex()))
      return nullptr;
    int64_t width = element.isIndex() ? 8 : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    AffineExpr bytes = getAffineConstantExpr(width, func.getContext());
    unsigned next = 0;
    for (int64_t extent : type.getShape()) {
      AffineExpr bound = ShapedType::isDynamic(extent) ? weft::cpu::upperBound(func, alloc.getDynamicSizes()[next++])
                                                       : getAffineConstantExpr(extent, func.getContext());
      if (!bound)
        return nullptr;
      bytes = bytes * bound;
    }
    return bytes;
  }

  /// A view of `bytes` (i8 memory) with the shape of `alloc`.
  Value view(memref::AllocOp alloc, Value bytes) {
    OpBuilder b(alloc);
    Value zero = arith::ConstantIndexOp::create(b, alloc.getLoc(), 0);
    return memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(), bytes, zero, alloc.getDynamicSizes());
  }

  Value onStack(func::FuncOp func, memref::AllocOp alloc, int64_t bytes) {
    OpBuilder b = OpBuilder::atBlockBegin(&func.front());
    IntegerAttr alignment = b.getI64IntegerAttr(64);
    if (alloc.getType().hasStaticShape())
      return memref::AllocaOp::create(b, alloc.getLoc(), alloc.getType(), alignment);
    auto type = MemRefType::get({std::max<int64_t>(bytes, 1)}, b.getI8Type());
    return view(alloc, memref::AllocaOp::create(b, alloc.getLoc(), type, alignment));
  }

  /// A new argument, disjoint from the others. Its memory is taken from the worker's scratch by `@entry`.
  Value inScratch(func::FuncOp func, memref::AllocOp alloc) {
    Builder b(func.getContext());
    auto type = MemRefType::get({}, b.getI8Type());
    unsigned place = func.getNumArguments();
    auto attributes =
        b.getDictionaryAttr({b.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr()),
                             b.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64))});
    if (failed(func.insertArgument(place, type, attributes, alloc.getLoc())))
      return {};
    OpBuilder inside(alloc);
    OpFoldResult zero = inside.getIndexAttr(0), one = inside.getIndexAttr(1);
    // The extent does not matter: views are not checked against it.
    OpFoldResult extent = inside.getIndexAttr(int64_t(1) << 40);
    auto flat = MemRefType::get({int64_t(1) << 40}, b.getI8Type());
    Value bytes = memref::ReinterpretCastOp::create(inside, alloc.getLoc(), flat, func.getArgument(place), zero,
                                                    ArrayRef{extent}, ArrayRef{one});
    return view(alloc, bytes);
  }
};

} // namespace
