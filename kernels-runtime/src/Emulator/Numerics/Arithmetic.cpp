// Correctly rounded arithmetic on the lanes of a warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over 32 lanes that the compiler vectorises, one per operation and type, compiled for the baseline and, where
// the host has them, for AVX2 and FMA; around them the stages that flush, clamp and make NaNs canonical. The loops
// work from memory to memory and are called through tables, and a change of rounding mode is a barrier to memory
// accesses: so no operation moves across it, and none is folded. (-frounding-math would promise as much, at four times
// the cost.)

#include "Emulator/Numerics/Arithmetic.h"

#include <cfenv>
#include <cmath>
#include <utility>

namespace weft::emu {

namespace {

// Registers are bytes to everybody else.
using F32 = float __attribute__((may_alias));
using F64 = double __attribute__((may_alias));
using U16 = uint16_t __attribute__((may_alias));
using U32 = uint32_t __attribute__((may_alias));

using CoreF32 = void (*)(float *__restrict, const F32 *, const F32 *, const F32 *);
using CoreF64 = void (*)(double *__restrict, const F64 *, const F64 *, const F64 *);

} // namespace

#define WEFT_LOOP(NAME, SCALAR, LANE, EXPRESSION, TARGET)                                                              \
  TARGET static void NAME(SCALAR *__restrict r, const LANE *a, const LANE *b, const LANE *c) {                         \
    (void)b, (void)c;                                                                                                  \
    for (unsigned i = 0; i < kWarpLanes; ++i)                                                                          \
      r[i] = (EXPRESSION);                                                                                             \
  }

// In the order of FloatOp.
#define WEFT_LOOPS(SUFFIX, TARGET)                                                                                     \
  WEFT_LOOP(addF32##SUFFIX, float, F32, a[i] + b[i], TARGET)                                                           \
  WEFT_LOOP(subF32##SUFFIX, float, F32, a[i] - b[i], TARGET)                                                           \
  WEFT_LOOP(mulF32##SUFFIX, float, F32, a[i] * b[i], TARGET)                                                           \
  WEFT_LOOP(fmaF32##SUFFIX, float, F32, __builtin_fmaf(a[i], b[i], c[i]), TARGET)                                      \
  WEFT_LOOP(divF32##SUFFIX, float, F32, a[i] / b[i], TARGET)                                                           \
  WEFT_LOOP(rcpF32##SUFFIX, float, F32, 1.0f / a[i], TARGET)                                                           \
  WEFT_LOOP(sqrtF32##SUFFIX, float, F32, __builtin_sqrtf(a[i]), TARGET)                                                \
  WEFT_LOOP(addF64##SUFFIX, double, F64, a[i] + b[i], TARGET)                                                          \
  WEFT_LOOP(subF64##SUFFIX, double, F64, a[i] - b[i], TARGET)                                                          \
  WEFT_LOOP(mulF64##SUFFIX, double, F64, a[i] * b[i], TARGET)                                                          \
  WEFT_LOOP(fmaF64##SUFFIX, double, F64, __builtin_fma(a[i], b[i], c[i]), TARGET)                                      \
  WEFT_LOOP(divF64##SUFFIX, double, F64, a[i] / b[i], TARGET)                                                          \
  WEFT_LOOP(rcpF64##SUFFIX, double, F64, 1.0 / a[i], TARGET)                                                           \
  WEFT_LOOP(sqrtF64##SUFFIX, double, F64, __builtin_sqrt(a[i]), TARGET)                                                \
  static const CoreF32 kCoresF32##SUFFIX[kFloatOps] = {addF32##SUFFIX, subF32##SUFFIX, mulF32##SUFFIX, fmaF32##SUFFIX, \
                                                       divF32##SUFFIX, rcpF32##SUFFIX, sqrtF32##SUFFIX};               \
  static const CoreF64 kCoresF64##SUFFIX[kFloatOps] = {addF64##SUFFIX, subF64##SUFFIX, mulF64##SUFFIX, fmaF64##SUFFIX, \
                                                       divF64##SUFFIX, rcpF64##SUFFIX, sqrtF64##SUFFIX};

WEFT_LOOPS(Portable, )
#ifdef __x86_64__
WEFT_LOOPS(Avx2, __attribute__((target("avx2,fma"))))

static bool hasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
static CoreF32 coreF32(FloatOp op) { return (hasAvx2() ? kCoresF32Avx2 : kCoresF32Portable)[unsigned(op)]; }
static CoreF64 coreF64(FloatOp op) { return (hasAvx2() ? kCoresF64Avx2 : kCoresF64Portable)[unsigned(op)]; }
#else
static CoreF32 coreF32(FloatOp op) { return kCoresF32Portable[unsigned(op)]; }
static CoreF64 coreF64(FloatOp op) { return kCoresF64Portable[unsigned(op)]; }
#endif

static int hostRounding(Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return FE_TOWARDZERO;
  case Rounding::Down:
    return FE_DOWNWARD;
  case Rounding::Up:
    return FE_UPWARD;
  case Rounding::NearestEven:
  case Rounding::NearestAway:
    break;
  }
  return FE_TONEAREST;
}

namespace {

/// Sets the host's rounding mode for as long as it lives.
class RoundingScope {
public:
  explicit RoundingScope(Rounding rounding) : isChanged(rounding != Rounding::NearestEven) {
    if (isChanged)
      std::fesetround(hostRounding(rounding));
    asm volatile("" ::: "memory");
  }
  ~RoundingScope() {
    asm volatile("" ::: "memory");
    if (isChanged)
      std::fesetround(FE_TONEAREST);
  }
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  bool isChanged;
};

} // namespace

static uint32_t flushBits(uint32_t bits) { return bits & 0x7f800000u ? bits : bits & 0x80000000u; }

/// A copy of the lanes with subnormals flushed.
static const F32 *flushLanes(uint32_t *copy, const void *lanes) {
  if (!lanes)
    return nullptr;
  const U32 *bits = static_cast<const U32 *>(lanes);
  for (unsigned i = 0; i < kWarpLanes; ++i)
    copy[i] = flushBits(bits[i]);
  return reinterpret_cast<const F32 *>(copy);
}

static void finishF32(const FloatMode &mode, void *result, const float *raw) {
  U32 *target = static_cast<U32 *>(result);
  const U32 *bits = reinterpret_cast<const U32 *>(raw);
  if (mode.saturates) {
    for (unsigned i = 0; i < kWarpLanes; ++i) {
      // Unsigned comparison: negative numbers are above 1, as NaNs are.
      uint32_t magnitude = bits[i] & 0x7fffffffu;
      uint32_t clamped = magnitude > 0x7f800000u || bits[i] >= 0x80000000u ? 0u
                         : bits[i] > 0x3f800000u                           ? 0x3f800000u
                                                                           : bits[i];
      target[i] = mode.flushes ? flushBits(clamped) : clamped;
    }
    return;
  }
  if (mode.flushes) {
    for (unsigned i = 0; i < kWarpLanes; ++i)
      target[i] = (bits[i] & 0x7fffffffu) > 0x7f800000u ? kNanF32 : flushBits(bits[i]);
    return;
  }
  for (unsigned i = 0; i < kWarpLanes; ++i)
    target[i] = (bits[i] & 0x7fffffffu) > 0x7f800000u ? kNanF32 : bits[i];
}

/// Zeroes the results that .ftz flushes though they were rounded to the smallest normal number (see FloatFormat.h).
/// Only products and quotients can lie between f32's numbers there. Rare, so lane by lane.
static void flushTiny(FloatOp op, Rounding rounding, float *raw, const F32 *const *operands) {
  U32 *bits = reinterpret_cast<U32 *>(raw);
  bool isNear = false;
  for (unsigned i = 0; i < kWarpLanes; ++i)
    isNear |= (bits[i] & 0x7fffffffu) == 0x00800000u;
  if (!isNear || op == FloatOp::Add || op == FloatOp::Sub || op == FloatOp::Sqrt)
    return;
  double wide[3][kWarpLanes] = {}, exact[kWarpLanes];
  for (unsigned k = 0; k < 3; ++k)
    for (unsigned i = 0; operands[k] && i < kWarpLanes; ++i)
      wide[k][i] = operands[k][i];
  {
    RoundingScope scope(rounding == Rounding::NearestEven ? Rounding::Zero : rounding);
    coreF64(op)(exact, wide[0], wide[1], wide[2]);
  }
  for (unsigned i = 0; i < kWarpLanes; ++i)
    if ((bits[i] & 0x7fffffffu) == 0x00800000u && isTiny(kF32, exact[i], rounding))
      bits[i] &= 0x80000000u;
}

void arithmeticF32(FloatOp op, const FloatMode &mode, void *result, const void *a, const void *b, const void *c) {
  CoreF32 core = coreF32(op);
  alignas(64) float raw[kWarpLanes];
  alignas(64) uint32_t copies[3][kWarpLanes];
  const F32 *operands[3] = {static_cast<const F32 *>(a), static_cast<const F32 *>(b), static_cast<const F32 *>(c)};
  if (mode.flushes) {
    operands[0] = flushLanes(copies[0], a);
    operands[1] = flushLanes(copies[1], b);
    operands[2] = flushLanes(copies[2], c);
  }
  {
    RoundingScope scope(mode.rounding);
    core(raw, operands[0], operands[1], operands[2]);
  }
  if (mode.flushes)
    flushTiny(op, mode.rounding, raw, operands);
  finishF32(mode, result, raw);
}

/// NaN results as an H100 chooses them.
static void finishF64(FloatOp op, void *result, double *raw, const F64 *a, const F64 *b, const F64 *c) {
  typedef uint64_t Bits __attribute__((may_alias));
  constexpr uint64_t quiet = uint64_t(1) << 51, invalid = uint64_t(0xfff8) << 48;
  const F64 *order[3] = {b, a, c};
  if (op == FloatOp::Div)
    std::swap(order[0], order[1]);
  else if (op == FloatOp::Fma)
    std::swap(order[1], order[2]);
  for (unsigned i = 0; i < kWarpLanes; ++i) {
    if (raw[i] == raw[i])
      continue;
    uint64_t bits = invalid;
    for (unsigned k = 3; k-- > 0;)
      if (order[k] && order[k][i] != order[k][i])
        bits = reinterpret_cast<const Bits *>(order[k])[i] | quiet;
    std::memcpy(raw + i, &bits, 8);
  }
  std::memcpy(result, raw, kWarpLanes * 8);
}

void arithmeticF64(FloatOp op, Rounding rounding, void *result, const void *a, const void *b, const void *c) {
  alignas(64) double raw[kWarpLanes];
  const F64 *x = static_cast<const F64 *>(a), *y = static_cast<const F64 *>(b), *z = static_cast<const F64 *>(c);
  {
    RoundingScope scope(rounding);
    coreF64(op)(raw, x, y, z);
  }
  finishF64(op, result, raw, x, y, z);
}

} // namespace weft::emu
