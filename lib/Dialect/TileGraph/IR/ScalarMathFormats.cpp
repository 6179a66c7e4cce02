// The 8-bit and 4-bit float formats in integer and float arithmetic of the compute type: rounding to a format's values,
// and the ways between a value and its code. No target has instructions for all of these, and LLVM has no such types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notation: a format has m mantissa bits and exponent bias b, so its least normal number is 2^(1-b) and its subnormals
// are multiples of 2^(1-b-m). The compute type has P stored mantissa bits and bias B; s = P - m.
#include "ScalarEmitter.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft::tg;
using weft::tg::detail::ScalarEmitter;
using IPred = arith::CmpIPredicate;
using FPred = arith::CmpFPredicate;

namespace {

enum class Specials {
  None,         ///< No infinity, no NaN.
  NanOnly,      ///< NaN is all ones but the sign.
  Ieee,         ///< Infinity and NaN have the highest exponent.
  UnsignedZero, ///< NaN is the code of -0.
};

struct Format {
  int width, mantissa, bias;
  double max;
  Specials specials;

  double minNormal() const { return std::ldexp(1.0, 1 - bias); }
  double subnormalStep() const { return std::ldexp(1.0, 1 - bias - mantissa); }
  uint64_t magnitudeMask() const { return (uint64_t(1) << (width - 1)) - 1; }
  uint64_t infinityCode() const { return magnitudeMask() >> mantissa << mantissa; }
};

/// The format of a signed storage float type (all but f8E8M0FNU).
Format getFormat(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {8, 3, 7, 448.0, Specials::NanOnly};
  if (isa<Float8E4M3FNUZType>(type))
    return {8, 3, 8, 240.0, Specials::UnsignedZero};
  if (isa<Float8E5M2Type>(type))
    return {8, 2, 15, 57344.0, Specials::Ieee};
  if (isa<Float8E5M2FNUZType>(type))
    return {8, 2, 16, 57344.0, Specials::UnsignedZero};
  return {4, 1, 1, 6.0, Specials::None}; // f4E2M1FN
}

/// A compute type and the operations on its bits.
struct Compute {
  ScalarEmitter e;
  FloatType type;
  IntegerType bits;
  int precision, bias;

  Compute(ScalarEmitter emitter, FloatType type)
      : e(emitter), type(type), bits(emitter.builder.getIntegerType(type.getWidth())),
        precision(type.isF64() ? 52 : 23), bias(type.isF64() ? 1023 : 127) {}

  Value real(double v) const { return e.real(type, v); }
  Value integer(uint64_t v) const { return e.integer(bits, v); }
  Value toBits(Value x) const { return e.op<arith::BitcastOp>(bits, x); }
  Value fromBits(Value x) const { return e.op<arith::BitcastOp>(type, x); }
  Value shl(Value x, int n) const { return e.op<arith::ShLIOp>(x, integer(n)); }
  Value shr(Value x, int n) const { return e.op<arith::ShRUIOp>(x, integer(n)); }
  Value andMask(Value x, uint64_t mask) const { return e.op<arith::AndIOp>(x, integer(mask)); }
  Value nan() const { return real(std::numeric_limits<double>::quiet_NaN()); }
};

/// |x| rounded to m mantissa bits, ties to even, with no bound on the exponent above.
Value roundMagnitude(const Compute &c, const Format &f, Value magnitude) {
  int s = c.precision - f.mantissa;
  Value bits = c.toBits(magnitude);
  // Adding half a unit, less one if the last kept bit is 0, carries into the kept bits exactly when rounding goes up.
  Value lastKept = c.andMask(c.shr(bits, s), 1);
  Value half = c.integer((uint64_t(1) << (s - 1)) - 1);
  Value carried = c.e.op<arith::AddIOp>(c.e.op<arith::AddIOp>(bits, half), lastKept);
  Value normal = c.fromBits(c.andMask(carried, ~((uint64_t(1) << s) - 1)));
  // The sum with 2^P steps has the step as its last bit, so the addition itself rounds to a multiple of the step.
  Value magic = c.real(std::ldexp(f.subnormalStep(), c.precision));
  Value subnormal = c.e.op<arith::SubFOp>(c.e.op<arith::AddFOp>(magnitude, magic), magic);
  return c.e.select(c.e.cmpF(FPred::OLT, magnitude, c.real(f.minNormal())), subnormal, normal);
}

Value roundSigned(const Compute &c, const Format &f, Value x, bool saturate) {
  const ScalarEmitter &e = c.e;
  Value rounded = roundMagnitude(c, f, e.op<math::AbsFOp>(x));
  Value overflow = c.real(f.max);
  if (!saturate && f.specials == Specials::Ieee)
    overflow = c.real(std::numeric_limits<double>::infinity());
  else if (!saturate && f.specials != Specials::None)
    overflow = c.nan();
  rounded = e.select(e.cmpF(FPred::OGT, rounded, c.real(f.max)), overflow, rounded);
  Value result = e.op<math::CopySignOp>(rounded, x);
  if (f.specials == Specials::UnsignedZero)
    result = e.select(e.cmpF(FPred::OEQ, result, c.real(0.0)), c.real(0.0), result);
  return e.select(e.isNaN(x), f.specials == Specials::None ? c.real(0.0) : x, result);
}

/// Powers of two from 2^-127 to 2^127, and NaN.
Value roundToPowerOfTwo(const Compute &c, Value x, bool saturate, bool roundUp) {
  const ScalarEmitter &e = c.e;
  // 2^-127 is subnormal in f32: numbers near it are scaled up, exactly, while their bits are rounded.
  Value isSmall = e.cmpF(FPred::OLT, x, c.real(0x1p-60));
  Value scaled = e.op<arith::MulFOp>(x, e.select(isSmall, c.real(0x1p64), c.real(1.0)));
  uint64_t mantissaMask = (uint64_t(1) << c.precision) - 1;
  uint64_t increment = roundUp ? mantissaMask : uint64_t(1) << (c.precision - 1);
  Value carried = e.op<arith::AddIOp>(c.toBits(scaled), c.integer(increment));
  Value rounded = c.fromBits(c.andMask(carried, ~mantissaMask));
  Value result = e.op<arith::MulFOp>(rounded, e.select(isSmall, c.real(0x1p-64), c.real(1.0)));
  Value least = c.real(0x1p-127), most = c.real(0x1p127);
  result = e.select(e.cmpF(FPred::OLT, x, least), saturate ? least : c.nan(), result);
  result = e.select(e.cmpF(FPred::OGT, x, most), saturate ? most : c.nan(), result);
  return e.select(e.cmpF(FPred::OGE, x, c.real(0.0)), result, c.nan());
}

Value encodeSigned(const Compute &c, const Format &f, Value x) {
  const ScalarEmitter &e = c.e;
  int s = c.precision - f.mantissa;
  Value magnitude = e.op<math::AbsFOp>(x);
  Value isSubnormal = e.cmpF(FPred::OLT, magnitude, c.real(f.minNormal()));
  Value rebias = c.integer(uint64_t(c.bias - f.bias) << f.mantissa);
  Value normal = e.op<arith::SubIOp>(c.shr(c.toBits(magnitude), s), rebias);
  Value steps = e.op<arith::MulFOp>(e.select(isSubnormal, magnitude, c.real(0.0)), c.real(1.0 / f.subnormalStep()));
  Value code = e.select(isSubnormal, e.op<arith::FPToUIOp>(c.bits, steps), normal);
  if (f.specials == Specials::Ieee)
    code = e.select(e.cmpF(FPred::OEQ, magnitude, c.real(std::numeric_limits<double>::infinity())),
                    c.integer(f.infinityCode()), code);
  Value sign = c.shl(c.shr(c.toBits(x), c.bits.getWidth() - 1), f.width - 1);
  code = e.op<arith::OrIOp>(c.andMask(code, f.magnitudeMask()), sign);
  if (f.specials == Specials::UnsignedZero)
    code = e.select(e.cmpF(FPred::OEQ, x, c.real(0.0)), c.integer(0), code);
  uint64_t nanCode = f.specials == Specials::UnsignedZero ? f.magnitudeMask() + 1
                     : f.specials == Specials::None       ? 0
                                                          : f.magnitudeMask();
  code = e.select(e.isNaN(x), c.integer(nanCode), code);
  return e.op<arith::TruncIOp>(e.builder.getIntegerType(f.width), code);
}

Value decodeSigned(const Compute &c, const Format &f, Value code) {
  const ScalarEmitter &e = c.e;
  Value wide = e.op<arith::ExtUIOp>(c.bits, code);
  Value magnitude = c.andMask(wide, f.magnitudeMask());
  Value rebias = c.integer(uint64_t(c.bias - f.bias) << c.precision);
  Value normal = c.fromBits(e.op<arith::AddIOp>(c.shl(magnitude, c.precision - f.mantissa), rebias));
  Value subnormal = e.op<arith::MulFOp>(e.op<arith::UIToFPOp>(c.type, magnitude), c.real(f.subnormalStep()));
  Value firstNormal = c.integer(uint64_t(1) << f.mantissa);
  Value value = e.select(e.cmpI(IPred::ult, magnitude, firstNormal), subnormal, normal);
  if (f.specials == Specials::Ieee) {
    Value infinity = c.integer(f.infinityCode());
    value = e.select(e.cmpI(IPred::eq, magnitude, infinity), c.real(std::numeric_limits<double>::infinity()), value);
    value = e.select(e.cmpI(IPred::ugt, magnitude, infinity), c.nan(), value);
  } else if (f.specials == Specials::NanOnly) {
    value = e.select(e.cmpI(IPred::eq, magnitude, c.integer(f.magnitudeMask())), c.nan(), value);
  }
  Value sign = c.shl(c.shr(wide, f.width - 1), c.bits.getWidth() - 1);
  Value result = c.fromBits(e.op<arith::OrIOp>(c.toBits(value), sign));
  if (f.specials == Specials::UnsignedZero)
    result = e.select(e.cmpI(IPred::eq, wide, c.integer(f.magnitudeMask() + 1)), c.nan(), result);
  return result;
}

/// Code k of f8E8M0FNU is 2^(k-127), code 255 NaN.
Value encodePowerOfTwo(const Compute &c, Value x) {
  const ScalarEmitter &e = c.e;
  Value exponent = e.op<arith::SubIOp>(c.shr(c.toBits(x), c.precision), c.integer(c.bias - 127));
  Value code = e.select(e.isNaN(x), c.integer(255), exponent);
  return e.op<arith::TruncIOp>(e.builder.getIntegerType(8), code);
}

Value decodePowerOfTwo(const Compute &c, Value code) {
  const ScalarEmitter &e = c.e;
  Value wide = e.op<arith::ExtUIOp>(c.bits, code);
  Value exponent = e.op<arith::AddIOp>(wide, c.integer(c.bias - 127));
  Value value = c.fromBits(c.shl(exponent, c.precision));
  value = e.select(e.isZero(wide), c.real(0x1p-127), value);
  return e.select(e.cmpI(IPred::eq, wide, c.integer(255)), c.nan(), value);
}

} // namespace

Value weft::tg::detail::buildRoundToStorageFloat(OpBuilder &builder, Location loc, Value value, Type target,
                                                 bool saturate, bool roundUp) {
  Compute c(ScalarEmitter{builder, loc}, cast<FloatType>(value.getType()));
  if (isa<Float8E8M0FNUType>(target))
    return roundToPowerOfTwo(c, value, saturate, roundUp);
  return roundSigned(c, getFormat(target), value, saturate);
}

Value weft::tg::buildLoad(OpBuilder &builder, Location loc, Value stored, Type element, FloatType computeType) {
  if (!isa<FloatType>(element))
    return stored;
  if (isStorageFloat(element)) {
    Compute c(ScalarEmitter{builder, loc}, computeType);
    if (isa<FloatType>(stored.getType()))
      stored = c.e.op<arith::BitcastOp>(getStorageType(element), stored);
    return isa<Float8E8M0FNUType>(element) ? decodePowerOfTwo(c, stored) : decodeSigned(c, getFormat(element), stored);
  }
  if (element.getIntOrFloatBitWidth() < computeType.getWidth())
    return arith::ExtFOp::create(builder, loc, computeType, stored);
  return stored;
}

Value weft::tg::buildStore(OpBuilder &builder, Location loc, Value scalar, Type element) {
  if (!isa<FloatType>(element))
    return scalar;
  if (isStorageFloat(element)) {
    Compute c(ScalarEmitter{builder, loc}, cast<FloatType>(scalar.getType()));
    return isa<Float8E8M0FNUType>(element) ? encodePowerOfTwo(c, scalar) : encodeSigned(c, getFormat(element), scalar);
  }
  if (element.getIntOrFloatBitWidth() < scalar.getType().getIntOrFloatBitWidth())
    return arith::TruncFOp::create(builder, loc, element, scalar);
  return scalar;
}
