//===- Approximate.cpp - The approximations of the special function unit ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Each function in f64, rounded once.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Emulator/Numerics/Approximate.h"

#include <cmath>
#include <limits>

namespace weft::emu {

namespace {
using U16 = uint16_t __attribute__((may_alias));
using U32 = uint32_t __attribute__((may_alias));
using U64 = uint64_t __attribute__((may_alias));
} // namespace

static double divideApproximately(double a, double b) {
  // The hardware multiplies by a reciprocal that has become 0.
  double magnitude = std::fabs(b);
  if (magnitude > 0x1p126 && magnitude < 0x1p128)
    return std::isinf(a) ? std::numeric_limits<double>::quiet_NaN()
                         : (std::signbit(a) != std::signbit(b) ? -0.0 : 0.0) * (a == a ? 1 : a);
  return a / b;
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
    return std::sin(a);
  case ApproximateOp::Cos:
    return std::cos(a);
  case ApproximateOp::Lg2:
    return std::log2(a);
  case ApproximateOp::Ex2:
    return std::exp2(a);
  case ApproximateOp::Tanh:
    return std::tanh(a);
  case ApproximateOp::Div:
    return divideApproximately(a, b);
  case ApproximateOp::DivFull:
    return a / b;
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
    uint32_t bits = encode(format, evaluate(op, decode(format, x), 0), Rounding::NearestEven);
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
    bits = value != value ? uint64_t(0x7fffffff) << 32 : bitCast<uint64_t>(value);
    target[i] = isFull ? bits : flushLong(bits & high);
  }
}

} // namespace weft::emu
