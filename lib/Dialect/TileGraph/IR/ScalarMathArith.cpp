// Scalar definitions of the arithmetic ops. Integer division, remainder and power are total: each replaces the operands
// for which the machine operation is undefined (a zero divisor, the least integer over -1) before it divides, and
// repairs the result after.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarEmitter.h"
#include "mlir/IR/TypeUtilities.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;
using weft::tg::detail::ScalarEmitter;
using IPred = arith::CmpIPredicate;
using FPred = arith::CmpFPredicate;

namespace {

bool isFloat(Value scalar) { return isa<FloatType>(scalar.getType()); }

bool isUnsigned(Operation *op) { return isUnsignedElement(getElementTypeOrSelf(op->getOperand(0).getType())); }

/// The float op on floats, the integer op otherwise.
template <typename FloatOp, typename IntOp> Value binary(const ScalarEmitter &e, ValueRange x) {
  return isFloat(x[0]) ? e.op<FloatOp>(x[0], x[1]) : e.op<IntOp>(x[0], x[1]);
}

Value negate(const ScalarEmitter &e, Value x) {
  if (isFloat(x))
    return e.op<arith::NegFOp>(x);
  return e.op<arith::SubIOp>(e.integer(x.getType(), uint64_t(0)), x);
}

/// `y`, with 1 in place of the divisors by which `x` cannot be divided. Dividing by 1 gives x, which is the wanted
/// quotient of the least integer by -1, and leaves a remainder of 0, which is the wanted one in every replaced case.
Value safeDivisor(const ScalarEmitter &e, Value x, Value y, bool isUnsigned) {
  Type type = y.getType();
  Value bad = e.isZero(y);
  if (!isUnsigned) {
    Value least = e.integer(type, APInt::getSignedMinValue(type.getIntOrFloatBitWidth()));
    Value minusOne = e.integer(type, ~uint64_t(0));
    Value overflows = e.op<arith::AndIOp>(e.cmpI(IPred::eq, x, least), e.cmpI(IPred::eq, y, minusOne));
    bad = e.op<arith::OrIOp>(bad, overflows);
  }
  return e.select(bad, e.integer(type, uint64_t(1)), y);
}

Value integerRemainder(const ScalarEmitter &e, Value x, Value y, bool isUnsigned) {
  Value divisor = safeDivisor(e, x, y, isUnsigned);
  return isUnsigned ? e.op<arith::RemUIOp>(x, divisor) : e.op<arith::RemSIOp>(x, divisor);
}

/// Truncated remainder `r` with y added where it is not zero and its sign is not y's.
Value floorIntegerRemainder(const ScalarEmitter &e, Value r, Value y) {
  Value differs = e.isNegative(e.op<arith::XOrIOp>(r, y));
  Value notZero = e.cmpI(IPred::ne, r, e.integer(r.getType(), uint64_t(0)));
  return e.select(e.op<arith::AndIOp>(notZero, differs), e.op<arith::AddIOp>(r, y), r);
}

/// The same for floats; a zero remainder takes y's sign.
Value floorFloatRemainder(const ScalarEmitter &e, Value x, Value y) {
  Value r = e.op<arith::RemFOp>(x, y);
  Value zero = e.real(r.getType(), 0.0);
  Value differs = e.cmpI(IPred::ne, e.cmpF(FPred::OLT, r, zero), e.cmpF(FPred::OLT, y, zero));
  Value moved = e.select(differs, e.op<arith::AddFOp>(r, y), r);
  return e.select(e.cmpF(FPred::OEQ, r, zero), e.op<math::CopySignOp>(zero, y), moved);
}

/// x^y by squaring, one step for each bit of the exponent.
Value integerPower(const ScalarEmitter &e, Value x, Value y, bool isUnsigned) {
  Type type = x.getType();
  unsigned width = type.getIntOrFloatBitWidth();
  Value zero = e.integer(type, uint64_t(0)), one = e.integer(type, uint64_t(1));
  Value result = one, power = x, rest = y;
  for (unsigned bit = 0, bits = isUnsigned ? width : width - 1; bit < bits; ++bit) {
    Value isSet = e.cmpI(IPred::ne, e.op<arith::AndIOp>(rest, one), zero);
    result = e.select(isSet, e.op<arith::MulIOp>(result, power), result);
    power = e.op<arith::MulIOp>(power, power);
    rest = e.op<arith::ShRUIOp>(rest, one);
  }
  if (isUnsigned)
    return result;
  // x^-n is x^n for |x| = 1, so the loop's answer (from the low bits of y, whose parity is n's) holds there.
  Value isUnit = e.op<arith::OrIOp>(e.cmpI(IPred::eq, x, one), e.cmpI(IPred::eq, x, e.integer(type, ~uint64_t(0))));
  return e.select(e.op<arith::OrIOp>(isUnit, e.cmpI(IPred::sge, y, zero)), result, zero);
}

} // namespace

Value NegOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return negate({builder, loc}, x[0]);
}

Value AbsOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  if (isFloat(x[0]))
    return e.op<math::AbsFOp>(x[0]);
  return isUnsigned(*this) ? x[0] : e.select(e.isNegative(x[0]), negate(e, x[0]), x[0]);
}

Value SignOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  Type type = x[0].getType();
  if (isFloat(x[0])) {
    Value zero = e.real(type, 0.0);
    Value negative = e.select(e.cmpF(FPred::OLT, x[0], zero), e.real(type, -1.0), x[0]);
    return e.select(e.cmpF(FPred::OGT, x[0], zero), e.real(type, 1.0), negative);
  }
  Value zero = e.integer(type, uint64_t(0)), one = e.integer(type, uint64_t(1));
  Value positive = e.select(e.cmpI(IPred::ne, x[0], zero), one, zero);
  return isUnsigned(*this) ? positive : e.select(e.isNegative(x[0]), e.integer(type, ~uint64_t(0)), positive);
}

Value ReciprocalOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType computeType) {
  ScalarEmitter e{builder, loc};
  return e.op<arith::DivFOp>(e.real(computeType, 1.0), x[0]);
}

Value AddOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return binary<arith::AddFOp, arith::AddIOp>({builder, loc}, x);
}

Value SubOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return binary<arith::SubFOp, arith::SubIOp>({builder, loc}, x);
}

Value MulOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return binary<arith::MulFOp, arith::MulIOp>({builder, loc}, x);
}

Value DivOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  if (isFloat(x[0]))
    return e.op<arith::DivFOp>(x[0], x[1]);
  bool noSign = isUnsigned(*this);
  Value divisor = safeDivisor(e, x[0], x[1], noSign);
  Value quotient = noSign ? e.op<arith::DivUIOp>(x[0], divisor) : e.op<arith::DivSIOp>(x[0], divisor);
  return e.select(e.isZero(x[1]), e.integer(quotient.getType(), uint64_t(0)), quotient);
}

Value ModOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  if (isFloat(x[0]))
    return floorFloatRemainder(e, x[0], x[1]);
  bool noSign = isUnsigned(*this);
  Value r = integerRemainder(e, x[0], x[1], noSign);
  return noSign ? r : floorIntegerRemainder(e, r, x[1]);
}

Value FModOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  return isFloat(x[0]) ? e.op<arith::RemFOp>(x[0], x[1]) : integerRemainder(e, x[0], x[1], isUnsigned(*this));
}

Value MaxOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return buildCombine(builder, loc, Monoid::Max, x[0], x[1], getElementTypeOrSelf(getLhs().getType()));
}

Value MinOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  return buildCombine(builder, loc, Monoid::Min, x[0], x[1], getElementTypeOrSelf(getLhs().getType()));
}

Value PowOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {
  ScalarEmitter e{builder, loc};
  return isFloat(x[0]) ? e.op<math::PowFOp>(x[0], x[1]) : integerPower(e, x[0], x[1], isUnsigned(*this));
}
