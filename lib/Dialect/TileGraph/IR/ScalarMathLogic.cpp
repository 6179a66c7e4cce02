// Scalar definitions of predicates, bitwise ops and select.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarEmitter.h"
#include "mlir/IR/TypeUtilities.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <limits>

using namespace mlir;
using namespace weft::tg;
using weft::tg::detail::ScalarEmitter;
using IPred = arith::CmpIPredicate;
using FPred = arith::CmpFPredicate;

namespace {

FPred floatPredicate(CmpPredicate predicate) {
  switch (predicate) {
  case CmpPredicate::Eq:
    return FPred::OEQ;
  case CmpPredicate::Ne:
    return FPred::UNE;
  case CmpPredicate::Lt:
    return FPred::OLT;
  case CmpPredicate::Le:
    return FPred::OLE;
  case CmpPredicate::Gt:
    return FPred::OGT;
  case CmpPredicate::Ge:
    return FPred::OGE;
  }
  llvm_unreachable("no such comparison");
}

IPred integerPredicate(CmpPredicate predicate, bool isUnsigned) {
  switch (predicate) {
  case CmpPredicate::Eq:
    return IPred::eq;
  case CmpPredicate::Ne:
    return IPred::ne;
  case CmpPredicate::Lt:
    return isUnsigned ? IPred::ult : IPred::slt;
  case CmpPredicate::Le:
    return isUnsigned ? IPred::ule : IPred::sle;
  case CmpPredicate::Gt:
    return isUnsigned ? IPred::ugt : IPred::sgt;
  case CmpPredicate::Ge:
    return isUnsigned ? IPred::uge : IPred::sge;
  }
  llvm_unreachable("no such comparison");
}

/// Whether the shift amount is below the width; amounts are read as unsigned, so a negative one is not.
Value isShiftInRange(const ScalarEmitter &e, Value amount) {
  Type type = amount.getType();
  return e.cmpI(IPred::ult, amount, e.integer(type, uint64_t(type.getIntOrFloatBitWidth())));
}

} // namespace

Value IsNanOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return ScalarEmitter{builder, loc}.isNaN(x[0]);
}

Value IsInfOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType computeType) {
  ScalarEmitter e{builder, loc};
  constexpr double inf = std::numeric_limits<double>::infinity();
  Value result;
  for (auto [wanted, value] : {std::pair{getPositive(), inf}, std::pair{getNegative(), -inf}}) {
    if (!wanted)
      continue;
    Value isIt = e.cmpF(FPred::OEQ, x[0], e.real(computeType, value));
    result = result ? e.op<arith::OrIOp>(result, isIt) : isIt;
  }
  return result ? result : e.integer(builder.getI1Type(), uint64_t(0));
}

Value CmpOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  if (isa<FloatType>(x[0].getType()))
    return e.cmpF(floatPredicate(getPredicate()), x[0], x[1]);
  bool isUnsigned = isUnsignedElement(getElementTypeOrSelf(getLhs().getType()));
  return e.cmpI(integerPredicate(getPredicate(), isUnsigned), x[0], x[1]);
}

Value NotOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  return e.op<arith::XOrIOp>(x[0], e.integer(x[0].getType(), ~uint64_t(0)));
}

Value AndOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return arith::AndIOp::create(builder, loc, x[0], x[1]);
}

Value OrOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return arith::OrIOp::create(builder, loc, x[0], x[1]);
}

Value XorOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return arith::XOrIOp::create(builder, loc, x[0], x[1]);
}

Value ShlOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  Value zero = e.integer(x[1].getType(), uint64_t(0));
  Value inRange = isShiftInRange(e, x[1]);
  return e.select(inRange, e.op<arith::ShLIOp>(x[0], e.select(inRange, x[1], zero)), zero);
}

Value ShrOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  Type type = x[1].getType();
  Value inRange = isShiftInRange(e, x[1]);
  Value zero = e.integer(type, uint64_t(0));
  if (isUnsignedElement(getElementTypeOrSelf(getLhs().getType())))
    return e.select(inRange, e.op<arith::ShRUIOp>(x[0], e.select(inRange, x[1], zero)), zero);
  // A signed shift by width - 1 leaves nothing but the sign, as any larger one would.
  Value most = e.integer(type, uint64_t(type.getIntOrFloatBitWidth() - 1));
  return e.op<arith::ShRSIOp>(x[0], e.select(inRange, x[1], most));
}

Value SelectOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return arith::SelectOp::create(builder, loc, x[0], x[1], x[2]);
}
