// weft-cpu-destination: operands and results of the kernel function become memory that the caller owns.
//
// An operand or result of dynamic shape is passed as the memory of one element and given its shape inside, from the
// symbols: the function's ABI is then one pointer a tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IntoMemory.h"
#include "Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_DESTINATION
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// Extents of tensor number `i` of `list` (or from `type` where the list is absent); null on failure.
AffineMap dimsOf(ModuleOp module, StringRef list, unsigned i, RankedTensorType type) {
  if (auto maps = module->getAttrOfType<ArrayAttr>(list))
    if (i < maps.size())
      if (auto map = dyn_cast<AffineMapAttr>(maps[i]); map && map.getValue().getNumResults() == type.getRank())
        return map.getValue();
  if (!type.hasStaticShape())
    return {};
  MLIRContext *context = type.getContext();
  auto constant = [&](int64_t d) { return getAffineConstantExpr(d, context); };
  return AffineMap::get(0, 0, llvm::map_to_vector(type.getShape(), constant), context);
}

class Destination : public weft::cpu::impl::DestinationBase<Destination> {
  void runOnOperation() override {
    func::FuncOp func = weft::cpu::getKernelFunc(getOperation());
    if (!func || failed(rewrite(func)))
      signalPassFailure();
  }

  /// Values of the extents of a tensor.
  SmallVector<OpFoldResult> extents(OpBuilder &b, Location loc, AffineMap dims, ValueRange symbols) {
    SmallVector<OpFoldResult> values;
    for (AffineExpr expr : dims.getResults())
      values.push_back(affine::makeComposedFoldedAffineApply(
          b, loc, AffineMap::get(0, symbols.size(), expr),
          llvm::map_to_vector(symbols, [](Value v) -> OpFoldResult { return v; })));
    return values;
  }

  /// The tensor type of these extents, with `?` where they depend on symbols.
  static RankedTensorType typeOf(AffineMap dims, Type element) {
    auto extent = [](AffineExpr dim) {
      auto constant = dyn_cast<AffineConstantExpr>(dim);
      return constant ? constant.getValue() : ShapedType::kDynamic;
    };
    return RankedTensorType::get(llvm::map_to_vector(dims.getResults(), extent), element);
  }

  /// `rows` into `memory`, which is a result's.
  void storeInto(OpBuilder &b, Location loc, const weft::cpu::IntoMemory &into, Value rows, Value memory,
                 ArrayRef<Value> operands, ArrayRef<RankedTensorType> types, ValueRange symbols) {
    AffineMap places = dimsOf(getOperation(), weft::cpu::operandDimsAttr, into.indices, types[into.indices]);
    Value indices = shaped(b, loc, operands[into.indices], types[into.indices], extents(b, loc, places, symbols));
    weft::tg::Dims updates = weft::tg::getDims(into.updates);
    SmallVector<OpFoldResult> sizes =
        extents(b, loc, AffineMap::get(0, symbols.size(), updates, b.getContext()), symbols);
    weft::cpu::storeRows(b, loc, into, rows, indices, memory, getValueOrCreateConstantIndexOp(b, loc, sizes));
  }

  /// The type in which a tensor is passed.
  static MemRefType argumentType(RankedTensorType type) {
    return MemRefType::get(type.hasStaticShape() ? type.getShape() : ArrayRef<int64_t>(), type.getElementType());
  }

  /// `argument` with the shape of `type`.
  Value shaped(OpBuilder &b, Location loc, Value argument, RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
    if (type.hasStaticShape())
      return argument;
    SmallVector<OpFoldResult> strides(type.getRank());
    OpFoldResult stride = b.getIndexAttr(1);
    for (int64_t d = type.getRank() - 1; d >= 0; --d) {
      strides[d] = stride;
      stride = affine::makeComposedFoldedAffineApply(b, loc, b.getAffineSymbolExpr(0) * b.getAffineSymbolExpr(1),
                                                     {stride, sizes[d]});
    }
    auto result = MemRefType::get(type.getShape(), type.getElementType());
    return memref::ReinterpretCastOp::create(b, loc, result, argument, b.getIndexAttr(0), sizes, strides);
  }

  LogicalResult rewrite(func::FuncOp func) {
    ModuleOp module = getOperation();
    Block &body = func.front();
    auto returnOp = cast<func::ReturnOp>(body.getTerminator());
    OpBuilder b = OpBuilder::atBlockBegin(&body);
    Location loc = func.getLoc();
    SmallVector<Value> symbols = weft::cpu::getSymbols(func), operands, results;
    SmallVector<RankedTensorType> types;
    for (Value argument : func.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType())) {
        operands.push_back(argument);
        types.push_back(type);
      }
    std::optional<weft::cpu::IntoMemory> into = weft::cpu::readInto(module);
    if (into && into->indices >= operands.size())
      return func.emitError("expected operand ") << into->indices << " to have the indices of an update";
    unsigned place = operands.size();
    for (auto [i, argument] : llvm::enumerate(operands))
      if (failed(rewriteOperand(b, module, cast<BlockArgument>(argument), i, symbols)))
        return failure();
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands())) {
      auto type = cast<RankedTensorType>(value.getType());
      AffineMap dims = dimsOf(module, weft::cpu::resultDimsAttr, i, type);
      if (into && into->result == i && dims)
        type = typeOf(dims, type.getElementType());
      if (!dims)
        return func.emitError("result ") << i << " has no extents in " << weft::cpu::resultDimsAttr;
      Value argument = body.insertArgument(place + i, argumentType(type), loc);
      Value memory = shaped(b, loc, argument, type, extents(b, loc, dims, symbols));
      b.setInsertionPoint(returnOp);
      if (into && into->result == i)
        storeInto(b, loc, *into, value, memory, operands, types, symbols);
      else
        bufferization::MaterializeInDestinationOp::create(b, loc, Type(), value, memory, /*restrict=*/true,
                                                          /*writable=*/true);
      b.setInsertionPointAfterValue(memory);
      if (isa<BlockArgument>(memory))
        b.setInsertionPointToStart(&body);
    }
    b.setInsertionPoint(returnOp);
    func::ReturnOp::create(b, loc);
    returnOp.erase();
    func.setArgAttrsAttr(nullptr);
    func.setResAttrsAttr(nullptr);
    func.setType(FunctionType::get(func.getContext(), body.getArgumentTypes(), {}));
    setArgumentAttributes(func);
    return success();
  }

  LogicalResult rewriteOperand(OpBuilder &b, ModuleOp module, BlockArgument argument, unsigned i, ValueRange symbols) {
    Location loc = argument.getLoc();
    auto type = cast<RankedTensorType>(argument.getType());
    AffineMap dims = dimsOf(module, weft::cpu::operandDimsAttr, i, type);
    if (!dims)
      return module.emitError("operand ") << i << " has no extents in " << weft::cpu::operandDimsAttr;
    SmallVector<OpFoldResult> sizes = extents(b, loc, dims, symbols);
    SmallVector<OpOperand *> uses = llvm::map_to_vector(argument.getUses(), [](OpOperand &use) { return &use; });
    argument.setType(argumentType(type));
    Value memory = shaped(b, loc, argument, type, sizes);
    Value tensor = bufferization::ToTensorOp::create(b, loc, type, memory, /*restrict=*/true, /*writable=*/false);
    for (OpOperand *use : uses) {
      auto dim = dyn_cast<tensor::DimOp>(use->getOwner());
      std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
      if (index && *index < type.getRank()) {
        OpBuilder before(dim);
        dim.replaceAllUsesWith(getValueOrCreateConstantIndexOp(before, loc, sizes[*index]));
        dim.erase();
        continue;
      }
      use->set(tensor);
    }
    return success();
  }

  /// Buffers do not alias and are aligned (kernel ABI).
  void setArgumentAttributes(func::FuncOp func) {
    Builder b(func.getContext());
    for (auto [i, argument] : llvm::enumerate(func.getArguments())) {
      if (!isa<MemRefType>(argument.getType()))
        continue;
      func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    }
  }
};

} // namespace
