// Building blocks of the lowering; see KernelBuilder.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::lower {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type getPlainElement(Type element) {
  MLIRContext *context = element.getContext();
  unsigned width = element.getIntOrFloatBitWidth();
  if (width <= 8)
    return IntegerType::get(context, 8);
  if (isa<IntegerType>(element))
    return IntegerType::get(context, width);
  return element;
}

RankedTensorType getPlainType(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  return RankedTensorType::get(type.getShape(), getPlainElement(type.getElementType()));
}

bool isSubByte(Type tensor) {
  Type element = cast<RankedTensorType>(tensor).getElementType();
  return !element.isInteger(1) && element.getIntOrFloatBitWidth() < 8;
}

RankedTensorType getBoundaryType(Type tensor) {
  if (!isSubByte(tensor))
    return getPlainType(tensor);
  auto type = cast<RankedTensorType>(tensor);
  int64_t extent = ShapedType::kDynamic;
  if (type.hasStaticShape())
    extent = llvm::divideCeil(type.getNumElements() * tg::getElementBits(type.getElementType()), 8);
  return RankedTensorType::get({extent}, IntegerType::get(type.getContext(), 8));
}

Type getAccumulatorType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return getPlainElement(element);
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

Value KernelBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }

Value KernelBuilder::index(AffineExpr expr) { return getValueOrCreateConstantIndexOp(*this, getLoc(), extent(expr)); }

/// The function's index arguments follow its tensor arguments; the pass has checked that there are enough.
Value KernelBuilder::symbol(unsigned position) {
  Operation *op = getInsertionBlock()->getParentOp();
  auto function = isa<func::FuncOp>(op) ? cast<func::FuncOp>(op) : op->getParentOfType<func::FuncOp>();
  unsigned first = 0;
  while (first < function.getNumArguments() && !function.getArgument(first).getType().isIndex())
    ++first;
  return function.getArgument(first + position);
}

/// affine.apply takes no products or quotients of symbols: those are built with arith.
Value KernelBuilder::semiAffine(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || expr.isPureAffine())
    return index(expr);
  Value lhs = semiAffine(binary.getLHS());
  Value rhs = semiAffine(binary.getRHS());
  if (expr.getKind() == AffineExprKind::Add)
    return arith::AddIOp::create(*this, lhs, rhs);
  if (expr.getKind() == AffineExprKind::Mul)
    return arith::MulIOp::create(*this, lhs, rhs);
  // An extent of zero as divisor means an empty tensor; its quotient is never used as a size, but must not trap.
  Value divisor = arith::MaxSIOp::create(*this, rhs, index(1));
  if (expr.getKind() == AffineExprKind::CeilDiv)
    return arith::CeilDivSIOp::create(*this, lhs, divisor);
  Value quotient = arith::FloorDivSIOp::create(*this, lhs, divisor);
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return quotient;
  return arith::SubIOp::create(*this, lhs, arith::MulIOp::create(*this, quotient, divisor));
}

OpFoldResult KernelBuilder::extent(AffineExpr expr) {
  expr = tg::simplify(expr);
  if (auto constant = tg::getConstant(expr))
    return getIndexAttr(*constant);
  if (auto position = dyn_cast<AffineSymbolExpr>(expr))
    return symbol(position.getPosition());
  if (!expr.isPureAffine())
    return semiAffine(expr);
  unsigned numSymbols = 0;
  expr.walk([&](AffineExpr e) {
    if (auto position = dyn_cast<AffineSymbolExpr>(e))
      numSymbols = std::max(numSymbols, position.getPosition() + 1);
  });
  SmallVector<Value> operands;
  for (unsigned i = 0; i < numSymbols; ++i)
    operands.push_back(symbol(i));
  AffineMap map = AffineMap::get(0, numSymbols, expr);
  affine::canonicalizeMapAndOperands(&map, &operands);
  return affine::AffineApplyOp::create(*this, map, operands).getResult();
}

SmallVector<OpFoldResult> KernelBuilder::extents(ArrayRef<AffineExpr> exprs) {
  return llvm::map_to_vector(exprs, [&](AffineExpr expr) { return extent(expr); });
}

//===----------------------------------------------------------------------===//
// Tensors and generics
//===----------------------------------------------------------------------===//

Value KernelBuilder::empty(ArrayRef<AffineExpr> dims, Type plainElement) {
  return tensor::EmptyOp::create(*this, extents(dims), plainElement);
}

Value KernelBuilder::filled(ArrayRef<AffineExpr> dims, Value scalar) {
  Value init = empty(dims, scalar.getType());
  return linalg::FillOp::create(*this, ValueRange{scalar}, ValueRange{init}).getResult(0);
}

/// Domain dimensions that are the whole of no map result, so that no operand has their extent.
static SmallVector<unsigned> uncoveredDims(unsigned rank, ArrayRef<AffineMap> maps) {
  llvm::SmallBitVector covered(rank);
  for (AffineMap map : maps)
    for (AffineExpr result : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        covered.set(dim.getPosition());
  SmallVector<unsigned> dims;
  for (unsigned d = 0; d < rank; ++d)
    if (!covered.test(d))
      dims.push_back(d);
  return dims;
}

SmallVector<Value> KernelBuilder::generic(ArrayRef<AffineExpr> domain, ArrayRef<utils::IteratorType> iterators,
                                          ArrayRef<Access> inputs, ArrayRef<Access> outputs, Body body) {
  SmallVector<Value> ins, outs;
  SmallVector<AffineMap> maps;
  for (const Access &access : inputs) {
    ins.push_back(access.tensor);
    maps.push_back(access.map);
  }
  for (const Access &access : outputs) {
    outs.push_back(access.tensor);
    maps.push_back(access.map);
  }
  SmallVector<unsigned> missing = uncoveredDims(domain.size(), maps);
  if (!missing.empty()) {
    Dims dims = llvm::map_to_vector(missing, [&](unsigned d) { return domain[d]; });
    ins.push_back(empty(dims, getI8Type()));
    AffineMap map = identityMap(getContext(), domain.size());
    maps.insert(maps.begin() + inputs.size(), map.getSubMap(missing));
  }
  auto types = llvm::map_to_vector(outs, [](Value out) { return out.getType(); });
  size_t numInputs = inputs.size();
  size_t numShapes = ins.size() - numInputs;
  auto op = linalg::GenericOp::create(*this, types, ins, outs, maps, iterators,
                                      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
                                        SmallVector<Value> scalars(args.take_front(numInputs));
                                        llvm::append_range(scalars, args.drop_front(numInputs + numShapes));
                                        linalg::YieldOp::create(nested, nestedLoc, body(nested, nestedLoc, scalars));
                                      });
  return SmallVector<Value>(op.getResults());
}

Value KernelBuilder::parallel(ArrayRef<AffineExpr> domain, ArrayRef<Access> inputs, Type plainElement, Body body) {
  SmallVector<utils::IteratorType> iterators(domain.size(), utils::IteratorType::parallel);
  Access output{empty(domain, plainElement), identityMap(getContext(), domain.size())};
  return generic(domain, iterators, inputs, output, body).front();
}

Value KernelBuilder::copy(ArrayRef<AffineExpr> domain, Access input) {
  return parallel(domain, input, getElementTypeOrSelf(input.tensor),
                  [](OpBuilder &, Location, ValueRange args) { return SmallVector<Value>{args.front()}; });
}

Value KernelBuilder::rounded(ArrayRef<AffineExpr> dims, Value tensor, Type element) {
  Type plain = getPlainElement(element);
  if (getElementTypeOrSelf(tensor) == plain)
    return tensor;
  return parallel(dims, Access{tensor, identityMap(getContext(), dims.size())}, plain,
                  [&](OpBuilder &nested, Location loc, ValueRange args) {
                    return SmallVector<Value>{storeScalar(nested, loc, args.front(), element)};
                  });
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value loadScalar(OpBuilder &builder, Location loc, Value stored, Type element, FloatType computeType) {
  Type storage = tg::getStorageType(element);
  if (storage != stored.getType())
    stored = arith::TruncIOp::create(builder, loc, storage, stored);
  return tg::buildLoad(builder, loc, stored, element, computeType);
}

Value storeScalar(OpBuilder &builder, Location loc, Value scalar, Type element) {
  Value stored = tg::buildStore(builder, loc, scalar, element);
  Type plain = getPlainElement(element);
  return stored.getType() == plain ? stored : arith::ExtUIOp::create(builder, loc, plain, stored).getResult();
}

} // namespace weft::lower
