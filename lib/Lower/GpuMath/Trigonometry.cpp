// sin, cos, tan and their inverses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x = n pi/2 + r with |r| <= pi/4; n mod 4 says which of +-sin r, +-cos r is meant. pi/2 is subtracted in parts by fma:
// the first difference is exact, since n pi/2's first part and x are multiples of the same power of two. f32
// polynomials are minimax fits (Lawson's algorithm, weighted to be relative), f64 ones Taylor series.
#include "GpuEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <array>

using namespace mlir;

namespace weft::lower {

namespace {
struct Reduction {
  Value quadrant; ///< n mod 4 in the low bits of an integer of the float's width.
  Value r;
};

struct SinCos {
  Value sin, cos; ///< Of r.
};
} // namespace

/// Up to 2^16 on f32 and 2^50 on f64.
static Reduction reduceByParts(const GpuEmitter &e, Value x) {
  bool isDouble = e.isDouble(x);
  Value magic = e.real(x, isDouble ? 6755399441055744.0 : 12582912.0); // 1.5 * 2^52, 1.5 * 2^23
  Value sum = e.mulAdd(x, e.real(x, 0.6366197723675814), magic);
  Value n = e.sub(sum, magic), r = x;
  constexpr std::array<double, 3> doubles = {1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33};
  constexpr std::array<double, 3> singles = {1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15};
  for (double part : isDouble ? doubles : singles)
    r = e.mulSubFrom(r, n, e.real(x, part));
  return {e.sub(e.bits(sum), e.bits(magic)), r};
}

/// f32 beyond 2^16: x = m 2^p, and the 96 bits of 2/pi from weight 2^(1-p) on times m give n mod 4 and 94 bits behind
/// the point (Payne and Hanek). The bits above that weight make multiples of 4.
static Reduction reduceByBits(const GpuEmitter &e, Value x) {
  // A word of zeros, then 2/pi.
  constexpr std::array<uint32_t, 8> words = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                             0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  Type i32 = e.integer(32), i64 = e.integer(64);
  auto constant = [&](Type type, int64_t value) -> Value {
    return arith::ConstantOp::create(e.b, e.b.getIntegerAttr(type, value));
  };
  auto wide = [&](Value value) -> Value { return arith::ExtUIOp::create(e.b, i64, value); };
  auto logicalRight = [&](Value value, Value n) -> Value { return arith::ShRUIOp::create(e.b, value, n); };
  auto times = [&](Value a, Value b) -> Value { return arith::MulIOp::create(e.b, a, b); };
  Value bits = e.bits(x);
  Value exponent = e.both(e.shiftRight(bits, 23), e.number(bits, 0xff));
  Value mantissa = wide(e.either(e.both(bits, e.number(bits, 0x7fffff)), e.number(bits, 0x800000)));
  // With p = exponent - 150, weight 2^(1-p) is bit p - 2 behind the point, and 32 more with the word of zeros.
  Value first = e.sub(exponent, e.number(bits, 120));
  Value word = e.shiftRight(first, 5), shift = wide(e.both(first, e.number(bits, 31)));
  auto load = [&](unsigned offset) {
    Value value = constant(i32, words[offset]);
    for (unsigned i = 1; i + 3 < words.size(); ++i) {
      Value isHere = arith::CmpIOp::create(e.b, arith::CmpIPredicate::eq, word, e.number(bits, i));
      value = e.select(isHere, constant(i32, words[i + offset]), value);
    }
    return wide(value);
  };
  Value loaded[4] = {load(0), load(1), load(2), load(3)}, window[3];
  Value half = constant(i64, 32), lowHalf = constant(i64, 0xffffffff);
  for (unsigned i = 0; i < 3; ++i) {
    Value pair = e.either(arith::ShLIOp::create(e.b, loaded[i], half), loaded[i + 1]);
    window[i] = logicalRight(arith::ShLIOp::create(e.b, pair, shift), half);
  }
  Value low = times(mantissa, window[2]);
  Value middle = e.add(times(mantissa, window[1]), logicalRight(low, half));
  Value high = e.add(times(mantissa, window[0]), logicalRight(middle, half));
  Value top = e.either(arith::ShLIOp::create(e.b, high, half), e.both(middle, lowHalf));
  // Signed: at most half a quadrant from the nearest one.
  Value lowBits = logicalRight(e.both(low, lowHalf), constant(i64, 30));
  Value fraction = e.either(arith::ShLIOp::create(e.b, top, constant(i64, 2)), lowBits);
  Value quadrant =
      e.sub(logicalRight(top, constant(i64, 62)), arith::ShRSIOp::create(e.b, fraction, constant(i64, 63)));
  quadrant = arith::TruncIOp::create(e.b, i32, quadrant);
  Value real = arith::SIToFPOp::create(e.b, e.f64(), fraction);
  real = e.mul(real, e.real(real, 8.515303950216386e-20)); // pi/2 * 2^-64
  Value r = arith::TruncFOp::create(e.b, e.f32(), real);
  Value isNegative = e.less(x, e.real(x, 0.0));
  return {e.select(isNegative, e.sub(e.number(quadrant, 0), quadrant), quadrant), e.select(isNegative, e.negate(r), r)};
}

/// NaN where there is no result: for infinities and NaN, and beyond 2^50 on f64.
static Reduction reduce(const GpuEmitter &e, Value x) {
  double limit = e.isDouble(x) ? 1125899906842624.0 : 65536.0; // 2^50, 2^16
  Value isSmall = e.less(e.abs(x), e.real(x, limit));
  Value nan = e.real(x, std::numeric_limits<double>::quiet_NaN());
  if (e.isDouble(x)) {
    Reduction parts = reduceByParts(e, x);
    return {parts.quadrant, e.select(isSmall, parts.r, nan)};
  }
  auto choice = scf::IfOp::create(e.b, TypeRange{e.integer(32), x.getType()}, isSmall, /*withElseRegion=*/true);
  auto fill = [&](Region &region, auto reduction) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(&region.front());
    Reduction result = reduction(e, x);
    scf::YieldOp::create(e.b, ValueRange{result.quadrant, result.r});
  };
  fill(choice.getThenRegion(), reduceByParts);
  fill(choice.getElseRegion(), reduceByBits);
  Value isFinite = e.less(e.abs(x), e.real(x, std::numeric_limits<double>::infinity()));
  return {choice.getResult(0), e.select(isFinite, choice.getResult(1), nan)};
}

/// (-1)^i / (2i + k)! for i = first, first + 1, ...
static SmallVector<double> taylor(int k, int first, int count) {
  SmallVector<double> result;
  for (int i = first; i < first + count; ++i) {
    double factorial = 1;
    for (int j = 2; j <= 2 * i + k; ++j)
      factorial *= j;
    result.push_back((i % 2 ? -1 : 1) / factorial);
  }
  return result;
}

static SinCos evaluate(const GpuEmitter &e, Value r) {
  bool isDouble = e.isDouble(r);
  SmallVector<double> sines = {-0.16666655242443085, 0.00833216030150652, -0.0001951528392964974};
  SmallVector<double> cosines = {0.04166664555668831, -0.0013887316454201937, 2.44331567955669e-05};
  if (isDouble) {
    sines = taylor(1, 1, 8);
    cosines = taylor(0, 2, 8);
  }
  Value square = e.mul(r, r);
  Value sin = e.mulAdd(e.mul(r, square), e.polynomial(square, sines), r);
  Value cos = e.mulSubFrom(e.real(r, 1.0), e.real(r, 0.5), square);
  cos = e.mulAdd(e.mul(square, square), e.polynomial(square, cosines), cos);
  return {sin, cos};
}

/// Whether bit `bit` of `quadrant` is set.
static Value testBit(const GpuEmitter &e, Value quadrant, int64_t bit) {
  Value masked = e.both(quadrant, e.number(quadrant, bit));
  return arith::CmpIOp::create(e.b, arith::CmpIPredicate::ne, masked, e.number(quadrant, 0));
}

/// sin(x + shift pi/2).
static Value sine(const GpuEmitter &e, Value x, int64_t shift) {
  auto [quadrant, r] = reduce(e, x);
  SinCos both = evaluate(e, r);
  quadrant = e.add(quadrant, e.number(quadrant, shift));
  Value y = e.select(testBit(e, quadrant, 1), both.cos, both.sin);
  return e.select(testBit(e, quadrant, 2), e.negate(y), y);
}

Value expandSin(const GpuEmitter &e, Value x) { return sine(e, x, 0); }
Value expandCos(const GpuEmitter &e, Value x) { return sine(e, x, 1); }

Value expandTan(const GpuEmitter &e, Value x) {
  auto [quadrant, r] = reduce(e, x);
  SinCos both = evaluate(e, r);
  Value isOdd = testBit(e, quadrant, 1);
  Value numerator = e.select(isOdd, e.negate(both.cos), both.sin);
  return e.div(numerator, e.select(isOdd, both.sin, both.cos));
}

/// pi/2 - atan(1 / |x|) above 1. f64: twice atan t = 2 atan(t / (1 + sqrt(1 + t^2))), then the series for |t| <= 0.199.
Value expandAtan(const GpuEmitter &e, Value x) {
  Value magnitude = e.abs(x), one = e.real(x, 1.0);
  Value isLarge = e.less(one, magnitude);
  Value t = e.select(isLarge, e.div(one, magnitude), magnitude);
  SmallVector<double> series = {-0.33333152532577515,  0.19993773102760315,  -0.14211055636405945,
                                0.10666004568338394,   -0.07552214711904526, 0.043211862444877625,
                                -0.016367929056286812, 0.0029206927865743637};
  if (e.isDouble(x)) {
    for (int i = 0; i < 2; ++i)
      t = e.div(t, e.add(one, e.sqrt(e.mulAdd(t, t, one))));
    series.clear();
    for (int i = 1; i <= 12; ++i)
      series.push_back((i % 2 ? -1.0 : 1.0) / (2 * i + 1));
  }
  Value square = e.mul(t, t);
  Value y = e.mulAdd(e.mul(t, square), e.polynomial(square, series), t);
  if (e.isDouble(x))
    y = e.mul(y, e.real(x, 4.0));
  y = e.select(isLarge, e.sub(e.real(x, 1.5707963267948966), y), y);
  return e.copySign(y, x);
}

/// atan(x / sqrt((1 - x) (1 + x))).
Value expandAsin(const GpuEmitter &e, Value x) {
  Value one = e.real(x, 1.0);
  Value root = e.sqrt(e.mul(e.sub(one, x), e.add(one, x)));
  return expandAtan(e, e.div(x, root));
}

/// 2 atan(sqrt((1 - x) / (1 + x))).
Value expandAcos(const GpuEmitter &e, Value x) {
  Value one = e.real(x, 1.0);
  Value root = e.sqrt(e.div(e.sub(one, x), e.add(one, x)));
  Value y = expandAtan(e, root);
  return e.add(y, y);
}

} // namespace weft::lower
