// log, log1p and pow on f32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x = 2^k m with sqrt(1/2) <= m < sqrt(2); ln x = k ln 2 + ln m, and with g = m - 1, ln m = g - g^2/2 + g^3 L(g).
// Polynomials are minimax fits as in Exponential.cpp.
#include "weft/Lower/Math/Logarithm.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace weft::lower {

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// ln x + `correction` (a small number, or null) for positive finite x.
static Value logarithm(const Emitter &e, Value x, Value correction) {
  // Subnormals are scaled by 2^23.
  Value isTiny = e.less(x, e.real(x, std::ldexp(1.0, -126)));
  Value scaled = e.select(isTiny, e.mul(x, e.real(x, 8388608.0)), x);
  Value bits = e.bits(scaled);
  Value k = e.shiftRight(e.sub(bits, e.number(bits, 0x3f3504f3)), 23); // the bits of sqrt(1/2)
  Value m = e.fromBits(e.sub(bits, e.shiftLeft(k, 23)), e.f32());
  Value power = arith::SIToFPOp::create(e.b, e.f32(), k);
  power = e.sub(power, e.select(isTiny, e.real(x, 23.0), e.real(x, 0.0)));
  Value g = e.sub(m, e.real(x, 1.0));
  Value square = e.mul(g, g);
  Value low = e.mul(power, e.real(x, -2.12194440e-4));
  if (correction)
    low = e.add(low, correction);
  Value y = e.polynomial(g, {0.3333331048488617, -0.24999986588954926, 0.20002225041389465, -0.16669251024723053,
                             0.14218677580356598, -0.1238434761762619, 0.11872848868370056, -0.11789770424365997,
                             0.06915590167045593});
  y = e.mulAdd(y, e.mul(square, g), low);
  y = e.mulSubFrom(y, e.real(x, 0.5), square);
  return e.mulAdd(power, e.real(x, 0.693359375), e.add(g, y));
}

Value logBy(const Emitter &e, Value x, MakeLogarithm logarithm) {
  Value zero = e.real(x, 0.0), top = e.real(x, infinity);
  Value y = logarithm(x, nullptr);
  y = e.select(e.equal(x, top), top, y);
  y = e.select(e.equal(x, zero), e.real(x, -infinity), y);
  return e.select(e.either(e.less(x, zero), e.isNaN(x)), e.real(x, nan), y);
}

/// ln u + c / u with u = 1 + x rounded and c the rounding error of that sum, exactly.
Value log1pBy(const Emitter &e, Value x, double exact, double tiny, MakeLogarithm logarithm) {
  Value one = e.real(x, 1.0), top = e.real(x, infinity), bottom = e.real(x, -1.0);
  Value u = e.add(one, x);
  Value xPart = e.sub(u, one);
  Value c = e.add(e.sub(one, e.sub(u, xPart)), e.sub(x, xPart));
  c = e.select(e.less(u, e.real(x, exact)), e.div(c, u), e.real(x, 0.0));
  Value y = logarithm(u, c);
  y = e.select(e.equal(u, top), top, y);
  y = e.select(e.equal(x, bottom), e.real(x, -infinity), y);
  y = e.select(e.less(e.abs(x), e.real(x, tiny)), x, y);
  return e.select(e.either(e.less(x, bottom), e.isNaN(x)), e.real(x, nan), y);
}

Value expandLog(const Emitter &e, Value x) {
  return logBy(e, x, [&](Value u, Value c) { return logarithm(e, u, c); });
}

Value expandLog1p(const Emitter &e, Value x) {
  return log1pBy(e, x, 1e9, std::ldexp(1.0, -25), [&](Value u, Value c) { return logarithm(e, u, c); });
}

/// log2 of a positive finite f64 that came from an f32. With s = (m - 1) / (m + 1), log2 m = s A(s^2); error 2^-43.
static Value log2OfDouble(const Emitter &e, Value x) {
  Value bits = e.bits(x);
  Value k = e.shiftRight(e.sub(bits, e.number(bits, 0x3fe6a09e667f3bcd)), 52); // the bits of sqrt(1/2)
  Value m = e.fromBits(e.sub(bits, e.shiftLeft(k, 52)), e.f64());
  Value one = e.real(x, 1.0);
  Value s = e.div(e.sub(m, one), e.add(m, one));
  Value series = e.polynomial(e.mul(s, s), {2.8853900817778448, 0.96179669412371959, 0.57707793912502123,
                                            0.41220960007751650, 0.31989067815840312, 0.28312468526038664});
  Value narrow = arith::TruncIOp::create(e.b, e.integer(32), k);
  return e.mulAdd(s, series, arith::SIToFPOp::create(e.b, e.f64(), narrow));
}

/// 2^x for |x| <= 200, error 2^-29; NaN stays.
static Value exp2OfDouble(const Emitter &e, Value x) {
  Value magic = e.real(x, 6755399441055744.0); // 1.5 * 2^52, as in Exponential.cpp
  Value sum = e.add(x, magic);
  Value n = e.sub(e.bits(sum), e.bits(magic));
  Value r = e.sub(x, e.sub(sum, magic));
  Value p =
      e.polynomial(r, {0.99999999995889793, 0.69314718053462103, 0.24022651219832894, 0.055504109774424418,
                       0.0096180247725479070, 0.0013333421549003182, 0.00015469997251571552, 0.000015316719115871569});
  return e.mul(p, e.fromBits(e.shiftLeft(e.add(n, e.number(n, 1023)), 52), e.f64()));
}

Value finishPow(const Emitter &e, Value x, Value y, Value power) {
  Value zero = e.real(x, 0.0), one = e.real(x, 1.0);
  Value half = e.mul(y, e.real(y, 0.5));
  Value isInteger = e.equal(math::FloorOp::create(e.b, y), y);
  Value isOdd = e.both(isInteger, e.negation(e.equal(math::FloorOp::create(e.b, half), half)));
  power = e.select(isOdd, e.copySign(power, x), power);
  Value isNegative = e.both(e.less(x, zero), e.less(e.real(x, -infinity), x));
  power = e.select(e.both(isNegative, e.negation(isInteger)), e.real(x, nan), power);
  return e.select(e.either(e.equal(y, zero), e.equal(x, one)), one, power);
}

/// |x|^y = 2^(y log2 |x|) in f64, rounded once.
Value expandPow(const Emitter &e, Value x, Value y) {
  Value zero = e.real(x, 0.0), one = e.real(x, 1.0), top = e.real(x, infinity);
  Value magnitude = e.abs(x);
  Value wide = arith::ExtFOp::create(e.b, e.f64(), magnitude);
  Value logarithm = log2OfDouble(e, wide);
  logarithm = e.select(e.equal(magnitude, zero), e.real(wide, -infinity), logarithm);
  logarithm = e.select(e.equal(magnitude, top), e.real(wide, infinity), logarithm);
  logarithm = e.select(e.isNaN(x), e.real(wide, nan), logarithm);
  Value exponent = e.mul(logarithm, arith::ExtFOp::create(e.b, e.f64(), y));
  // 1 to an infinite power is 1.
  exponent = e.select(e.both(e.equal(magnitude, one), e.equal(e.abs(y), top)), e.real(wide, 0.0), exponent);
  Value power = arith::TruncFOp::create(e.b, e.f32(), exp2OfDouble(e, e.clamp(exponent, -200.0, 200.0)));
  return finishPow(e, x, y, power);
}

} // namespace weft::lower
