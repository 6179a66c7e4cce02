// The monoids as scalar functions, and the types that scalars have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarEmitter.h"
#include "mlir/IR/TypeUtilities.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <limits>

using namespace mlir;
using namespace weft::tg;
using weft::tg::detail::ScalarEmitter;

bool weft::tg::isUnsignedElement(Type element) {
  auto type = dyn_cast<IntegerType>(element);
  return type && (type.isUnsigned() || type.getWidth() == 1);
}

bool weft::tg::isStorageFloat(Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 8; }

FloatType weft::tg::getComputeType(Type element) {
  return element.isF64() ? cast<FloatType>(element) : Float32Type::get(element.getContext());
}

FloatType weft::tg::getComputeType(Operation *op) {
  FloatType result = Float32Type::get(op->getContext());
  auto widen = [&](Type type) {
    Type element = getElementTypeOrSelf(type);
    if (element.isF64())
      result = cast<FloatType>(element);
  };
  llvm::for_each(op->getOperandTypes(), widen);
  llvm::for_each(op->getResultTypes(), widen);
  return result;
}

Type weft::tg::getScalarType(Type element, FloatType computeType) {
  if (isa<FloatType>(element))
    return computeType;
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
}

Type weft::tg::getStorageType(Type element) {
  if (isa<FloatType>(element) && !isStorageFloat(element))
    return element;
  return IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
}

static Value combineFloats(const ScalarEmitter &e, Monoid kind, Value a, Value b) {
  switch (kind) {
  case Monoid::Add:
    return e.op<arith::AddFOp>(a, b);
  case Monoid::Mul:
    return e.op<arith::MulFOp>(a, b);
  case Monoid::Max:
    return e.op<arith::MaximumFOp>(a, b);
  case Monoid::Min:
    return e.op<arith::MinimumFOp>(a, b);
  case Monoid::And:
  case Monoid::Or:
    break;
  }
  return {};
}

Value weft::tg::buildCombine(OpBuilder &builder, Location loc, Monoid kind, Value a, Value b, Type element) {
  ScalarEmitter e{builder, loc};
  if (isa<FloatType>(element))
    return combineFloats(e, kind, a, b);
  bool isUnsigned = isUnsignedElement(element);
  switch (kind) {
  case Monoid::Add:
    return e.op<arith::AddIOp>(a, b);
  case Monoid::Mul:
    return e.op<arith::MulIOp>(a, b);
  case Monoid::Max:
    return isUnsigned ? e.op<arith::MaxUIOp>(a, b) : e.op<arith::MaxSIOp>(a, b);
  case Monoid::Min:
    return isUnsigned ? e.op<arith::MinUIOp>(a, b) : e.op<arith::MinSIOp>(a, b);
  case Monoid::And:
    return e.op<arith::AndIOp>(a, b);
  case Monoid::Or:
    return e.op<arith::OrIOp>(a, b);
  }
  return {};
}

static Value floatIdentity(const ScalarEmitter &e, Monoid kind, FloatType type) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (kind) {
  case Monoid::Add:
    return e.real(type, 0.0);
  case Monoid::Mul:
    return e.real(type, 1.0);
  case Monoid::Max:
    return e.real(type, -inf);
  case Monoid::Min:
    return e.real(type, inf);
  case Monoid::And:
  case Monoid::Or:
    break;
  }
  return {};
}

Value weft::tg::buildIdentity(OpBuilder &builder, Location loc, Monoid kind, Type element, FloatType computeType) {
  ScalarEmitter e{builder, loc};
  if (isa<FloatType>(element))
    return floatIdentity(e, kind, computeType);
  Type type = getScalarType(element, computeType);
  unsigned width = type.getIntOrFloatBitWidth();
  bool isUnsigned = isUnsignedElement(element);
  switch (kind) {
  case Monoid::Add:
  case Monoid::Or:
    return e.integer(type, APInt::getZero(width));
  case Monoid::Mul:
    return e.integer(type, APInt(width, 1));
  case Monoid::Max:
    return e.integer(type, isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  case Monoid::Min:
    return e.integer(type, isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  case Monoid::And:
    return e.integer(type, APInt::getAllOnes(width));
  }
  return {};
}
