// Arithmetic of f16 and bf16.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why each result is rounded once. An f32 has at least 2 * 11 + 2 bits, so sums of halves that were rounded to f32
// round to halves as if at once, and products of f16 are exact in f32. Products of bf16 may be below f32's numbers and
// fused multiply-adds need more bits: those are computed in f64, where the product is exact, with the sum rounded to
// odd.

#include "Emulator/Numerics/Arithmetic.h"

#include <cmath>

namespace weft::emu {

namespace {
using U16 = uint16_t __attribute__((may_alias));
constexpr unsigned kMost = 2 * kWarpLanes;
} // namespace

/// The halves as f32, flushed if the mode says so.
static void widen(HalfKind kind, bool flushes, unsigned count, float *__restrict wide, const void *lanes) {
  const U16 *halves = static_cast<const U16 *>(lanes);
  if (!lanes)
    return;
  uint16_t exponent = kind == HalfKind::F16 ? 0x7c00 : 0x7f80;
  for (unsigned i = 0; i < count; ++i) {
    uint16_t half = halves[i];
    if (flushes)
      half = half & exponent ? half : uint16_t(half & 0x8000);
    wide[i] = bitCast<float>(kind == HalfKind::F16 ? floatBitsFromHalf(half) : floatBitsFromBfloat(half));
  }
}

/// x y + z in f64, rounded to odd: the error of the sum is exact (the two-sum of Knuth), and moves an even result
/// towards the exact one.
static double fmaToOdd(double x, double y, double z) {
  double product = x * y; // 22 bits at most
  double sum = product + z;
  if (!std::isfinite(sum))
    return sum;
  double part = sum - product;
  double error = (product - (sum - part)) + (z - part);
  uint64_t bits = bitCast<uint64_t>(sum);
  if (error == 0 || (bits & 1))
    return sum;
  bool grows = (error > 0) == (sum > 0);
  return bitCast<double>(grows ? bits + 1 : bits - 1);
}

static void compute(HalfKind kind, FloatOp op, unsigned count, uint32_t *__restrict result, const float *__restrict a,
                    const float *__restrict b, const float *__restrict c) {
  switch (op) {
  case FloatOp::Add:
    for (unsigned i = 0; i < count; ++i)
      result[i] = bitCast<uint32_t>(a[i] + b[i]);
    return;
  case FloatOp::Sub:
    for (unsigned i = 0; i < count; ++i)
      result[i] = bitCast<uint32_t>(a[i] - b[i]);
    return;
  case FloatOp::Mul:
    if (kind == HalfKind::F16) {
      for (unsigned i = 0; i < count; ++i)
        result[i] = bitCast<uint32_t>(a[i] * b[i]);
      return;
    }
    for (unsigned i = 0; i < count; ++i)
      result[i] = floatBitsToOdd(double(a[i]) * double(b[i]));
    return;
  default:
    for (unsigned i = 0; i < count; ++i)
      result[i] = floatBitsToOdd(fmaToOdd(a[i], b[i], c[i]));
    return;
  }
}

/// `raw` are the bits of the f32, exact or rounded to odd, from which the half was rounded.
static uint16_t finish(HalfKind kind, const FloatMode &mode, uint16_t half, uint32_t raw) {
  uint16_t exponent = kind == HalfKind::F16 ? 0x7c00 : 0x7f80;
  uint16_t one = kind == HalfKind::F16 ? 0x3c00 : 0x3f80;
  bool isNan = (half & 0x7fff) > exponent;
  bool isSmallest = (half & 0x7fff) == 0x0400; // of f16: bf16 has no .ftz
  if (mode.flushes && (!(half & exponent) || (isSmallest && isTiny(kF16, bitCast<float>(raw), Rounding::NearestEven))))
    half &= 0x8000;
  if (mode.saturates)
    half = isNan || half & 0x8000 ? 0 : half > one ? one : half;
  if (mode.isRelu && !isNan && half & 0x8000)
    half = 0;
  return half;
}

void arithmeticHalf(HalfKind kind, FloatOp op, const FloatMode &mode, unsigned count, void *result, const void *a,
                    const void *b, const void *c) {
  float wide[3][kMost] = {};
  uint32_t raw[kMost] = {};
  widen(kind, mode.flushes, count, wide[0], a);
  widen(kind, mode.flushes, count, wide[1], b);
  widen(kind, mode.flushes, count, wide[2], c);
  compute(kind, op, count, raw, wide[0], wide[1], wide[2]);
  U16 *target = static_cast<U16 *>(result);
  if (kind == HalfKind::F16)
    for (unsigned i = 0; i < count; ++i)
      target[i] = halfFromFloatBits(raw[i]);
  else
    for (unsigned i = 0; i < count; ++i)
      target[i] = bfloatFromFloatBits(raw[i]);
  if (!mode.isPlain())
    for (unsigned i = 0; i < count; ++i)
      target[i] = finish(kind, mode, target[i], raw[i]);
}

} // namespace weft::emu
