// The approximations of the special function unit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each function in f64, rounded once, with what is simple of the hardware's ways: how it reduces arguments, what it
// multiplies to divide, where it cuts in place of rounding. Shares of bit-equal results on an H100 stand in the header.

#include "Emulator/Numerics/Approximate.h"

#include <cmath>
#include <limits>

namespace weft::emu {

namespace {
using U16 = uint16_t __attribute__((may_alias));
using U32 = uint32_t __attribute__((may_alias));
using U64 = uint64_t __attribute__((may_alias));
} // namespace

/// a times the reciprocal of b, rounded to 24 bits. Of .approx the reciprocal of a large b has become 0.
static double divide(double a, double b, bool isFull) {
  double magnitude = std::fabs(b);
  if (!isFull && magnitude > 0x1p126 && magnitude < 0x1p128)
    return std::isinf(a) ? std::numeric_limits<double>::quiet_NaN()
                         : (std::signbit(a) != std::signbit(b) ? -0.0 : 0.0) * (a == a ? 1 : a);
  if (!std::isfinite(b) || b == 0)
    return a / b;
  int exponent;
  double mantissa = std::frexp(b, &exponent);
  return std::ldexp(a * double(float(1 / mantissa)), -exponent);
}

/// sin and cos of turns: the hardware divides by 2 pi with a product in f32, rounded towards zero, and looks at the
/// first 25 binary digits. Where a quadrant ends the result is a zero of the sign of what lies before it.
static double sineOrCosine(double x, bool isCosine) {
  if (!std::isfinite(x))
    return std::numeric_limits<double>::quiet_NaN();
  constexpr double tau = 6.283185307179586;
  double exact = std::fabs(x) * double(0x1.45f306p-3f); // 24 bits each
  float product = float(exact);
  if (double(product) > exact)
    product = std::nextafter(product, 0.0f);
  double turns = double(product) - std::floor(double(product));
  turns = std::floor(turns * 0x1p25) * 0x1p-25;
  if (isCosine)
    return turns == 0.25 ? -0.0 : turns == 0.75 ? 0.0 : std::cos(tau * turns);
  double sine = turns == 0.5 ? -0.0 : std::sin(tau * turns);
  return std::signbit(x) ? -sine : sine;
}

/// The hardware leaves small arguments as they are, and is 1 from 8 on.
static double hyperbolicTangent(double x) {
  double magnitude = std::fabs(x);
  return magnitude <= 0x1p-8 ? x : magnitude >= 8 ? std::copysign(1.0, x) : std::tanh(x);
}

static double evaluate(ApproximateOp op, double a, double b) {
  switch (op) {
  case ApproximateOp::Rcp:
    return 1 / a;
  case ApproximateOp::Rsqrt:
    return 1 / std::sqrt(a); // -0 gives -inf
  case ApproximateOp::Sqrt:
    return std::sqrt(a);
  case ApproximateOp::Sin:
    return sineOrCosine(a, false);
  case ApproximateOp::Cos:
    return sineOrCosine(a, true);
  case ApproximateOp::Lg2:
    return std::log2(a);
  case ApproximateOp::Ex2:
    return std::exp2(a);
  case ApproximateOp::Tanh:
    return a == a ? hyperbolicTangent(a) : a;
  case ApproximateOp::Div:
    return divide(a, b, false);
  case ApproximateOp::DivFull:
    return divide(a, b, true);
  }
  return 0;
}

static uint32_t flush(uint32_t bits) { return bits & 0x7f800000u ? bits : bits & 0x80000000u; }

void approximateF32(ApproximateOp op, bool flushes, void *result, const void *a, const void *b) {
  const U32 *left = static_cast<const U32 *>(a), *right = b ? static_cast<const U32 *>(b) : left;
  U32 *target = static_cast<U32 *>(result);
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    uint32_t x = flushes ? flush(left[i]) : left[i], y = flushes ? flush(right[i]) : right[i];
    float value = float(evaluate(op, bitCast<float>(x), bitCast<float>(y)));
    uint32_t bits = value != value ? kNanF32 : bitCast<uint32_t>(value);
    target[i] = flushes ? flush(bits) : bits;
  }
}

void approximateHalf(HalfKind kind, ApproximateOp op, bool flushes, unsigned count, void *result, const void *a) {
  const FloatFormat &format = kind == HalfKind::F16 ? kF16 : kBF16;
  auto flushHalf = [&](uint32_t bits) { return bits & format.infinity() ? bits : bits & format.signBit(); };
  const U16 *source = static_cast<const U16 *>(a);
  U16 *target = static_cast<U16 *>(result);
  for (unsigned i = 0; i < count; ++i) {
    uint32_t x = flushes ? flushHalf(source[i]) : source[i];
    double argument = decode(format, x);
    if (op == ApproximateOp::Ex2 && std::fabs(argument) < 0x1p-23)
      argument = 0;
    // The unit's f32 result is cut, not rounded; what overflows f32's rounding is infinite.
    double value = double(float(evaluate(op, argument, 0)));
    bool isBeyond = std::fabs(value) >= (kind == HalfKind::F16 ? 0x1p16 : 0x1p128);
    uint32_t bits = encode(format, value, isBeyond ? Rounding::NearestEven : Rounding::Zero);
    target[i] = uint16_t(flushes ? flushHalf(bits) : bits);
  }
}

void approximateF64(ApproximateOp op, bool isFull, void *result, const void *a) {
  const U64 *source = static_cast<const U64 *>(a);
  U64 *target = static_cast<U64 *>(result);
  constexpr uint64_t high = ~uint64_t(0xffffffff);
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    uint64_t bits = isFull ? source[i] : source[i] & high;
    auto flushLong = [](uint64_t x) { return x & (uint64_t(0x7ff) << 52) ? x : x & (uint64_t(1) << 63); };
    if (!isFull)
      bits = flushLong(bits);
    double value = evaluate(op, bitCast<double>(bits), 0);
    if (value == value)
      bits = bitCast<uint64_t>(value);
    else if (!isFull)
      bits = uint64_t(0x7fffffff) << 32;
    else // see FloatFormat.h
      bits = bits << 1 > uint64_t(0x7ff) << 53 ? bits | uint64_t(1) << 51 : uint64_t(0xfff8) << 48;
    target[i] = isFull ? bits : flushLong(bits & high);
  }
}

} // namespace weft::emu
