// Scalar definition of `tg.cast`: every conversion between element types, total and branch-free.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Float scalars stay in the compute type; rounding to f64, f32, f16 and bf16 is `buildStore`'s. What is left to do here
// is to keep that single rounding correct (integers with more bits than the compute type has), and to round to f8 and
// f4.
#include "ScalarEmitter.h"
#include "mlir/IR/TypeUtilities.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <cmath>

using namespace mlir;
using namespace weft::tg;
using weft::tg::detail::ScalarEmitter;
using IPred = arith::CmpIPredicate;
using FPred = arith::CmpFPredicate;

namespace {

/// Truncation toward zero; outside the target's range its nearest end, NaN gives 0. The machine conversion sees only
/// numbers that fit.
Value floatToInteger(const ScalarEmitter &e, Value x, Type target, bool isUnsigned) {
  Type type = x.getType();
  int width = target.getIntOrFloatBitWidth();
  // Both bounds are powers of two, exact in the compute type.
  Value above = e.real(type, std::ldexp(1.0, isUnsigned ? width : width - 1));
  Value least = e.real(type, isUnsigned ? 0.0 : -std::ldexp(1.0, width - 1));
  Value isHigh = e.cmpF(FPred::OGE, x, above);
  Value fits = e.op<arith::AndIOp>(e.cmpF(FPred::OLT, x, above), e.cmpF(FPred::OGE, x, least));
  Value safe = e.select(fits, x, e.real(type, 0.0));
  Value inside = isUnsigned ? e.op<arith::FPToUIOp>(target, safe) : e.op<arith::FPToSIOp>(target, safe);
  Value low = e.integer(target, isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width));
  Value high = e.integer(target, isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width));
  return e.select(isHigh, high, e.select(e.cmpF(FPred::OLT, x, least), low, inside));
}

/// The integer with at most `precision` significant bits that rounds to every narrower float format as `x` does: bits
/// below them are or-ed into the last one kept ("rounding to odd").
Value keepSignificantBits(const ScalarEmitter &e, Value x, int precision, bool isUnsigned) {
  Type type = x.getType();
  int width = type.getIntOrFloatBitWidth();
  Value zero = e.integer(type, uint64_t(0)), one = e.integer(type, uint64_t(1));
  Value isNegative = isUnsigned ? e.integer(e.builder.getI1Type(), uint64_t(0)) : e.isNegative(x);
  Value magnitude = e.select(isNegative, e.op<arith::SubIOp>(zero, x), x);
  Value most = e.integer(type, uint64_t(width - precision));
  Value excess = e.op<arith::SubIOp>(most, e.op<math::CountLeadingZerosOp>(magnitude));
  Value drop = e.op<arith::MaxSIOp>(excess, zero);
  Value kept = e.op<arith::ShLIOp>(e.op<arith::ShRUIOp>(magnitude, drop), drop);
  Value lastKept = e.op<arith::ShLIOp>(one, drop);
  Value odd = e.select(e.cmpI(IPred::ne, kept, magnitude), e.op<arith::OrIOp>(kept, lastKept), kept);
  return e.select(isNegative, e.op<arith::SubIOp>(zero, odd), odd);
}

Value integerToFloat(const ScalarEmitter &e, Value x, FloatType compute, Type target, bool isUnsigned) {
  int precision = compute.isF64() ? 53 : 24;
  if (target != compute && int(x.getType().getIntOrFloatBitWidth()) > precision)
    x = keepSignificantBits(e, x, precision, isUnsigned);
  return isUnsigned ? e.op<arith::UIToFPOp>(compute, x) : e.op<arith::SIToFPOp>(compute, x);
}

Value integerToInteger(const ScalarEmitter &e, Value x, Type target, bool isUnsigned) {
  unsigned from = x.getType().getIntOrFloatBitWidth(), to = target.getIntOrFloatBitWidth();
  if (from == to)
    return x;
  if (from > to)
    return e.op<arith::TruncIOp>(target, x);
  return isUnsigned ? e.op<arith::ExtUIOp>(target, x) : e.op<arith::ExtSIOp>(target, x);
}

Value toBoolean(const ScalarEmitter &e, Value x) {
  if (isa<FloatType>(x.getType()))
    return e.cmpF(FPred::UNE, x, e.real(x.getType(), 0.0));
  return x.getType().isInteger(1) ? x : e.cmpI(IPred::ne, x, e.integer(x.getType(), uint64_t(0)));
}

} // namespace

Value CastOp::buildScalar(OpBuilder &builder, Location loc, ValueRange scalars, FloatType computeType) {
  ScalarEmitter e{builder, loc};
  Value x = scalars[0];
  Type from = getElementTypeOrSelf(getInput().getType()), to = getElementTypeOrSelf(getResult().getType());
  Type target = getScalarType(to, computeType);
  if (to.isInteger(1))
    return toBoolean(e, x);
  if (isa<FloatType>(from) && !isa<FloatType>(to))
    return floatToInteger(e, x, target, isUnsignedElement(to));
  if (!isa<FloatType>(to))
    return integerToInteger(e, x, target, isUnsignedElement(from));
  if (!isa<FloatType>(from))
    x = integerToFloat(e, x, computeType, to, isUnsignedElement(from));
  if (!isStorageFloat(to) || from == to)
    return x;
  return detail::buildRoundToStorageFloat(builder, loc, x, to, getSaturate(), getRoundUp());
}
