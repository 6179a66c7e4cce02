// The kernel function of a module and index values as expressions of its symbols.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace weft::cpu {

func::FuncOp getKernelFunc(ModuleOp module) {
  func::FuncOp found;
  for (func::FuncOp func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic() || func.isExternal())
      continue;
    if (found)
      return nullptr;
    found = func;
  }
  return found;
}

SmallVector<Value> getSymbols(func::FuncOp func) {
  SmallVector<Value> symbols;
  for (Value argument : func.getArguments())
    if (argument.getType().isIndex())
      symbols.push_back(argument);
  return symbols;
}

static AffineExpr applyMap(func::FuncOp func, AffineMap map, ValueRange operands) {
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    AffineExpr expr = asSymbolExpr(func, operand);
    if (!expr)
      return nullptr;
    (i < map.getNumDims() ? dims : symbols).push_back(expr);
  }
  return map.getResult(0).replaceDimsAndSymbols(dims, symbols);
}

/// The size that a `memref.dim` reads, where the memory was given its shape; none if that is not known.
static std::optional<OpFoldResult> sizeBehindDim(Operation *op) {
  auto dim = dyn_cast<memref::DimOp>(op);
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  if (!index)
    return std::nullopt;
  Operation *source = dim.getSource().getDefiningOp();
  if (auto cast = dyn_cast_or_null<memref::ReinterpretCastOp>(source))
    return cast.getMixedSizes()[*index];
  if (auto view = dyn_cast_or_null<memref::SubViewOp>(source); view && view.getDroppedDims().none())
    return view.getMixedSizes()[*index];
  return std::nullopt;
}

AffineExpr asSymbolExpr(func::FuncOp func, OpFoldResult value) {
  MLIRContext *context = func.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, context);
  Value v = cast<Value>(value);
  for (auto [i, symbol] : llvm::enumerate(getSymbols(func)))
    if (symbol == v)
      return getAffineSymbolExpr(i, context);
  Operation *op = v.getDefiningOp();
  if (!op)
    return nullptr;
  if (std::optional<OpFoldResult> size = sizeBehindDim(op))
    return asSymbolExpr(func, *size);
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return applyMap(func, apply.getAffineMap(), apply.getMapOperands());
  auto binary = [&](auto combine) -> AffineExpr {
    // A divisor is kept from being 0, which an extent that one divides by is not.
    Value second = op->getOperand(1);
    auto guard = isa<arith::CeilDivSIOp, arith::FloorDivSIOp>(op) ? second.getDefiningOp<arith::MaxSIOp>() : nullptr;
    if (guard && getConstantIntValue(guard.getRhs()) == 1)
      second = guard.getLhs();
    AffineExpr lhs = asSymbolExpr(func, op->getOperand(0)), rhs = asSymbolExpr(func, second);
    return lhs && rhs ? combine(lhs, rhs) : nullptr;
  };
  if (isa<arith::AddIOp>(op))
    return binary([](AffineExpr a, AffineExpr b) { return a + b; });
  if (isa<arith::SubIOp>(op))
    return binary([](AffineExpr a, AffineExpr b) { return a - b; });
  if (isa<arith::MulIOp>(op))
    return binary([](AffineExpr a, AffineExpr b) { return a * b; });
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return binary([](AffineExpr a, AffineExpr b) { return a.ceilDiv(b); });
  if (isa<arith::FloorDivSIOp, arith::DivUIOp>(op))
    return binary([](AffineExpr a, AffineExpr b) { return a.floorDiv(b); });
  return nullptr;
}

/// A bound of an op that is monotone in operands that are not negative; null if it is not such an op.
static AffineExpr monotoneBound(func::FuncOp func, Operation *op) {
  auto bound = [&](unsigned i) { return upperBound(func, op->getOperand(i)); };
  if (std::optional<OpFoldResult> size = sizeBehindDim(op))
    if (auto inner = dyn_cast<Value>(*size))
      return upperBound(func, inner);
  if (isa<arith::MulIOp, arith::AddIOp>(op)) {
    AffineExpr lhs = bound(0), rhs = bound(1);
    return !lhs || !rhs ? nullptr : isa<arith::MulIOp>(op) ? lhs * rhs : lhs + rhs;
  }
  std::optional<int64_t> divisor = op->getNumOperands() == 2 ? getConstantIntValue(op->getOperand(1)) : std::nullopt;
  if (isa<arith::CeilDivUIOp, arith::CeilDivSIOp>(op) && divisor && *divisor > 0) {
    AffineExpr lhs = bound(0);
    return lhs ? lhs.ceilDiv(*divisor) : nullptr;
  }
  if (isa<arith::MinUIOp, arith::MinSIOp>(op)) {
    AffineExpr lhs = bound(0), rhs = bound(1);
    return lhs && (!rhs || isa<AffineConstantExpr>(lhs)) ? lhs : rhs;
  }
  return nullptr;
}

AffineExpr upperBound(func::FuncOp func, Value value) {
  if (AffineExpr exact = asSymbolExpr(func, value))
    return exact;
  if (Operation *op = value.getDefiningOp())
    if (AffineExpr bound = monotoneBound(func, op))
      return bound;
  SmallVector<Value> symbols = getSymbols(func);
  auto stop = [&](Value v, std::optional<int64_t> dim, ValueBoundsConstraintSet &) {
    return !dim && llvm::is_contained(symbols, v);
  };
  AffineMap map;
  ValueDimList operands;
  if (failed(ValueBoundsConstraintSet::computeBound(map, operands, presburger::BoundType::UB, value, stop,
                                                    /*closedUB=*/true)))
    return nullptr;
  SmallVector<AffineExpr> exprs;
  for (auto [operand, dim] : operands) {
    auto *it = llvm::find(symbols, operand);
    if (dim || it == symbols.end())
      return nullptr;
    exprs.push_back(getAffineSymbolExpr(it - symbols.begin(), func.getContext()));
  }
  ArrayRef<AffineExpr> all(exprs);
  return map.getResult(0).replaceDimsAndSymbols(all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
}

} // namespace weft::cpu
