// exp, expm1, tanh and erf on f32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// e^x = 2^n e^r with n the integer next to x / ln 2 and |r| <= ln 2 / 2; e^r = 1 + r + r^2 P(r). All polynomials are
// minimax fits (Remez's algorithm in 200 bits, then rounded to f32), weighted so that the error is relative to the
// function's value.
#include "weft/Lower/Math/Emitter.h"
#include <cmath>

using namespace mlir;

namespace weft::lower {

namespace {
/// x = n ln 2 + r.
struct Reduction {
  Value n, r;
};
} // namespace

/// |x| < 2^22. Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the sum, with no conversion that a NaN
/// could upset.
static Reduction reduce(const Emitter &e, Value x) {
  Value magic = e.real(x, 12582912.0);
  Value sum = e.mulAdd(x, e.real(x, 1.4426950408889634), magic);
  Value n = e.sub(e.bits(sum), e.bits(magic));
  Value real = e.sub(sum, magic);
  // ln 2 in two parts; the first has few enough bits that n times it is exact.
  Value r = e.mulSubFrom(x, real, e.real(x, 0.693359375));
  r = e.mulSubFrom(r, real, e.real(x, -2.12194440e-4));
  return {n, r};
}

/// 2^n for -126 <= n <= 127.
static Value powerOfTwo(const Emitter &e, Value n) {
  return e.fromBits(e.shiftLeft(e.add(n, e.number(n, 127)), 23), e.f32());
}

Value expandExp(const Emitter &e, Value x) {
  // Beyond these ends the result is 0 or infinite; within them both halves of 2^n are normal numbers.
  x = e.clamp(x, -104.0, 89.0);
  auto [n, r] = reduce(e, x);
  Value p = e.polynomial(r, {0.5, 0.16666513681411743, 0.0416661873459816, 0.00836959108710289, 0.0013951704604551196});
  p = e.add(e.mulAdd(p, e.mul(r, r), r), e.real(x, 1.0));
  Value half = e.shiftRight(n, 1);
  return e.mul(e.mul(p, powerOfTwo(e, half)), powerOfTwo(e, e.sub(n, half)));
}

Value Emitter::exp(Value x) const { return expandExp(*this, x); }

Value expandExpm1(const Emitter &e, Value x) {
  // Below the lower end the result is -1.
  x = e.clamp(x, -18.0, 89.0);
  auto [n, r] = reduce(e, x);
  Value q = e.polynomial(r, {0.5, 0.1666666716337204, 0.04166634380817413, 0.008333270438015461, 0.001394204213283956,
                             0.0001991562166949734});
  q = e.mulAdd(q, e.mul(r, r), r);
  // 2^n (q + 1) - 1, halved so that 2^n does not overflow early.
  Value scale = powerOfTwo(e, e.sub(n, e.number(n, 1)));
  Value half = e.mulAdd(scale, q, e.sub(scale, e.real(x, 0.5)));
  return e.add(half, half);
}

/// tanh |x| = 1 - 2 / (e^2|x| + 1), and x + x^3 T(x^2) where that would cancel.
Value expandTanh(const Emitter &e, Value x) {
  Value magnitude = e.abs(x), square = e.mul(x, x);
  Value small = e.polynomial(square, {-0.33333277702331543, 0.13331329822540283, -0.05372924730181694,
                                      0.02060205303132534, -0.005660832393914461});
  small = e.mulAdd(e.mul(small, square), x, x);
  Value one = e.real(x, 1.0), two = e.real(x, 2.0);
  Value exponential = e.exp(e.mul(e.clamp(magnitude, 0.0, 10.0), two));
  Value large = e.copySign(e.sub(one, e.quotient(two, e.add(exponential, one))), x);
  return e.select(e.less(magnitude, e.real(x, 0.625)), small, large);
}

/// erf |x| = 1 - e^Q(|x|), Q a fit of ln erfc, and x + x E(x^2) below 1. From 4 on erf is 1 in f32.
Value expandErf(const Emitter &e, Value x) {
  Value magnitude = e.abs(x), square = e.mul(x, x);
  Value small =
      e.polynomial(square, {0.12837916612625122, -0.3761262595653534, 0.11283600330352783, -0.026854444295167923,
                            0.005189535208046436, -0.0008020842215046287, 7.889122207416221e-05});
  small = e.mulAdd(small, x, x);
  Value exponent =
      e.polynomial(e.clamp(magnitude, 0.0, 4.0),
                   {7.850458496250212e-05, -1.1290724277496338, -0.6341967582702637, -0.1073988750576973,
                    0.024587683379650116, -0.003984724637120962, 0.0003994232974946499, -1.8373042621533386e-05});
  Value large = e.copySign(e.sub(e.real(x, 1.0), e.exp(exponent)), x);
  return e.select(e.less(magnitude, e.real(x, 1.0)), small, large);
}

} // namespace weft::lower
