// exp, expm1, log, log1p, pow and erf on f64, by Taylor series after range reduction.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuEmitter.h"
#include "weft/Lower/Math/Logarithm.h"

using namespace mlir;

namespace weft::lower {

static constexpr double infinity = std::numeric_limits<double>::infinity();
// ln 2 in two parts; the first has 32 bits, so that a power's exponent times it is exact.
static constexpr double ln2High = 0.6931471803691238, ln2Low = 1.9082149292705877e-10;

namespace {
/// x = n ln 2 + r, |r| <= ln 2 / 2.
struct Reduction {
  Value n, r;
};
} // namespace

/// |x| < 2^20. See Exponential.cpp of lib/Lower/Math for the magic number.
static Reduction reduce(const GpuEmitter &e, Value x) {
  Value magic = e.real(x, 6755399441055744.0); // 1.5 * 2^52
  Value sum = e.mulAdd(x, e.real(x, 1.4426950408889634), magic);
  Value n = e.sub(e.bits(sum), e.bits(magic));
  Value real = e.sub(sum, magic);
  Value r = e.mulSubFrom(x, real, e.real(x, ln2High));
  return {n, e.mulSubFrom(r, real, e.real(x, ln2Low))};
}

/// 2^n for -1022 <= n <= 1023.
static Value powerOfTwo(const GpuEmitter &e, Value n) {
  return e.fromBits(e.shiftLeft(e.add(n, e.number(n, 1023)), 52), e.f64());
}

/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2: terms 1 / 2! to r^12 / 14!.
static Value exponentialTail(const GpuEmitter &e, Value r) {
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int i = 2; i <= 14; ++i) {
    factorial *= i;
    coefficients.push_back(1 / factorial);
  }
  return e.polynomial(r, coefficients);
}

Value scaledExpDouble(const GpuEmitter &e, Value x, int k) {
  x = e.clamp(x, -760.0, 720.0);
  auto [n, r] = reduce(e, x);
  Value p = e.add(e.mulAdd(exponentialTail(e, r), e.mul(r, r), r), e.real(x, 1.0));
  if (k)
    n = e.add(n, e.number(n, k));
  Value half = e.shiftRight(n, 1);
  return e.mul(e.mul(p, powerOfTwo(e, half)), powerOfTwo(e, e.sub(n, half)));
}

Value expm1Double(const GpuEmitter &e, Value x) {
  x = e.clamp(x, -40.0, 710.0);
  auto [n, r] = reduce(e, x);
  Value q = e.mulAdd(exponentialTail(e, r), e.mul(r, r), r);
  // 2^n (q + 1) - 1, halved so that 2^n does not overflow early.
  Value scale = powerOfTwo(e, e.sub(n, e.number(n, 1)));
  Value half = e.mulAdd(scale, q, e.sub(scale, e.real(x, 0.5)));
  return e.add(half, half);
}

/// ln x + `correction` (a small number, or null) for positive finite x: x = 2^k m, and with s = (m - 1) / (m + 1),
/// ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...), |s| <= 0.172.
static Value logarithm(const GpuEmitter &e, Value x, Value correction) {
  // Subnormals are scaled by 2^54.
  Value isTiny = e.less(x, e.real(x, std::numeric_limits<double>::min()));
  Value bits = e.bits(e.select(isTiny, e.mul(x, e.real(x, 18014398509481984.0)), x));
  Value k = e.shiftRight(e.sub(bits, e.number(bits, 0x3fe6a09e667f3bcd)), 52); // the bits of sqrt(1/2)
  Value m = e.fromBits(e.sub(bits, e.shiftLeft(k, 52)), e.f64());
  Value power = arith::SIToFPOp::create(e.b, e.f64(), k);
  power = e.sub(power, e.select(isTiny, e.real(x, 54.0), e.real(x, 0.0)));
  Value one = e.real(x, 1.0), g = e.sub(m, one);
  Value s = e.div(g, e.add(m, one)), square = e.mul(s, s);
  SmallVector<double> coefficients;
  for (int i = 1; i <= 11; ++i)
    coefficients.push_back(2.0 / (2 * i + 1));
  // ln m = g - s (g - T) with T = 2 (s^2 / 3 + s^4 / 5 + ...): g is exact, and the rest is small beside it.
  Value rest = e.mul(s, e.sub(g, e.mul(square, e.polynomial(square, coefficients))));
  Value low = e.mul(power, e.real(x, ln2Low));
  if (correction)
    low = e.add(low, correction);
  return e.mulAdd(power, e.real(x, ln2High), e.add(e.sub(g, rest), low));
}

Value logDouble(const GpuEmitter &e, Value x) {
  return logBy(e, x, [&](Value u, Value c) { return logarithm(e, u, c); });
}

Value log1pDouble(const GpuEmitter &e, Value x) {
  constexpr double tiny = 2.7755575615628914e-17; // 2^-55
  return log1pBy(e, x, 1e18, tiny, [&](Value u, Value c) { return logarithm(e, u, c); });
}

/// e^(y ln |x|): the error of the logarithm is multiplied by the exponent.
Value powDouble(const GpuEmitter &e, Value x, Value y) {
  Value magnitude = e.abs(x), one = e.real(x, 1.0);
  Value exponent = e.mul(logDouble(e, magnitude), y);
  // 1 to an infinite power is 1.
  Value isOne = e.both(e.equal(magnitude, one), e.equal(e.abs(y), e.real(x, infinity)));
  exponent = e.select(isOne, e.real(x, 0.0), exponent);
  return finishPow(e, x, y, scaledExpDouble(e, exponent, 0));
}

/// 2 / sqrt(pi) (x - x^3 / 3 + x^5 / 5 2! - ...) below 1; above, 1 - G(t) e^-x^2 with t = (x - 2) / (x + 2) and G a
/// Chebyshev fit of erfc(x) e^x^2 on [1, 6]. From 6 on erf is 1.
Value erfDouble(const GpuEmitter &e, Value x) {
  Value magnitude = e.abs(x), square = e.mul(x, x);
  SmallVector<double> coefficients;
  double factorial = 1;
  for (int i = 0; i <= 20; ++i) {
    factorial *= i ? -i : 1;
    coefficients.push_back(1.1283791670955126 / (factorial * (2 * i + 1)));
  }
  Value small = e.mul(x, e.polynomial(square, coefficients));
  Value clamped = e.clamp(magnitude, 1.0, 6.0), two = e.real(x, 2.0);
  Value t = e.div(e.sub(clamped, two), e.add(clamped, two));
  Value fit =
      e.polynomial(t, {0.25539567631050536, -0.4271858474139587, 0.2416581942424603, -0.07897858101575647,
                       0.0037328924056489483, 0.0069974617420376665, -0.0008471433548220604, -0.000981977034890976,
                       4.355909112183445e-05, 0.0001743581783140524, 2.746369660373363e-05, -2.7484778230679575e-05,
                       -1.3389605085398394e-05, 1.3113085063795472e-07, 1.2826557153400562e-06, 9.085272952805659e-06,
                       1.0407806541056646e-06, -1.950456583491205e-05, 1.4066378751622063e-05});
  Value tail = e.mul(fit, scaledExpDouble(e, e.negate(e.mul(clamped, clamped)), 0));
  Value large = e.copySign(e.sub(e.real(x, 1.0), tail), x);
  large = e.select(e.isNaN(x), x, large);
  return e.select(e.less(magnitude, e.real(x, 1.0)), small, large);
}

} // namespace weft::lower
