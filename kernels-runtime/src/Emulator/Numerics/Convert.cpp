// Conversions between number types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every floating-point source is exact in f64, from which encode() rounds once. Integers are too, or are rounded to odd
// at 53 bits, which changes nothing for a narrower target; only 64-bit integers to f64 round here.

#include "Emulator/Numerics/Convert.h"

#include "Emulator/Numerics/Arithmetic.h"

#include <cmath>

namespace weft::emu {

unsigned bitWidth(NumberKind kind) {
  static const uint8_t widths[] = {8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 32, 64, 8, 8};
  return widths[unsigned(kind)];
}

static const FloatFormat &formatOf(NumberKind kind) {
  switch (kind) {
  case NumberKind::F16:
    return kF16;
  case NumberKind::BF16:
    return kBF16;
  case NumberKind::TF32:
    return kTF32;
  case NumberKind::E4M3:
    return kE4M3;
  case NumberKind::E5M2:
    return kE5M2;
  default:
    return kF32;
  }
}

static uint64_t lowBits(uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

static int64_t signExtend(uint64_t bits, unsigned width) { return int64_t(bits << (64 - width)) >> (64 - width); }

static uint64_t integerToInteger(const Conversion &conversion, uint64_t bits) {
  unsigned from = bitWidth(conversion.source), to = bitWidth(conversion.target);
  bool isSigned = isSignedKind(conversion.source), targetIsSigned = isSignedKind(conversion.target);
  uint64_t value = isSigned ? uint64_t(signExtend(bits, from)) : lowBits(bits, from);
  if (conversion.saturates) {
    bool isNegative = isSigned && int64_t(value) < 0;
    uint64_t most = lowBits(~uint64_t(0), targetIsSigned ? to - 1 : to);
    if (isNegative && (!targetIsSigned || int64_t(value) < -int64_t(most) - 1))
      value = targetIsSigned ? ~most : 0;
    else if (!isNegative && value > most)
      value = most;
  }
  return targetIsSigned ? uint64_t(signExtend(value, to)) : lowBits(value, to);
}

/// A 64-bit magnitude as f64 bits without sign, rounded.
static uint64_t magnitudeToF64(uint64_t magnitude, bool isNegative, Rounding rounding) {
  if (magnitude >> 53 == 0)
    return bitCast<uint64_t>(double(magnitude));
  unsigned drop = 11 - unsigned(__builtin_clzll(magnitude));
  uint64_t kept = magnitude >> drop, dropped = lowBits(magnitude, drop), half = uint64_t(1) << (drop - 1);
  bool up = rounding == Rounding::NearestEven ? dropped > half || (dropped == half && (kept & 1))
            : rounding == Rounding::Up        ? !isNegative && dropped
            : rounding == Rounding::Down      ? isNegative && dropped
                                              : false;
  return bitCast<uint64_t>(std::ldexp(double(kept + up), int(drop))); // 2^53 is exact too
}

static uint64_t saturateUnit(double value) {
  // As f64: every type represents the ends.
  return bitCast<uint64_t>(!(value > 0) ? 0.0 : value > 1 ? 1.0 : value);
}

static uint64_t integerToFloat(const Conversion &conversion, uint64_t bits) {
  unsigned from = bitWidth(conversion.source);
  bool isNegative = isSignedKind(conversion.source) && signExtend(bits, from) < 0;
  uint64_t magnitude = isNegative ? -uint64_t(signExtend(bits, from)) : lowBits(bits, from);
  if (conversion.saturates) {
    magnitude = isNegative ? 0 : magnitude > 1 ? 1 : magnitude;
    isNegative = false;
  }
  if (conversion.target == NumberKind::F64)
    return magnitudeToF64(magnitude, isNegative, conversion.rounding) | uint64_t(isNegative) << 63;
  // Bits past the 53rd only say that something is there.
  bool isLong = magnitude >> 53 != 0;
  double value = isLong ? std::ldexp(double((magnitude >> 11) | (lowBits(magnitude, 11) != 0)), 11) : double(magnitude);
  return encode(formatOf(conversion.target), isNegative ? -value : value, conversion.rounding, conversion.satFinite);
}

static double roundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  case Rounding::NearestAway:
    return std::round(value);
  case Rounding::NearestEven:
    break;
  }
  return std::nearbyint(value);
}

static uint64_t floatToInteger(const Conversion &conversion, double value) {
  unsigned to = bitWidth(conversion.target);
  bool isSigned = isSignedKind(conversion.target);
  if (value != value) {
    if (conversion.source != NumberKind::F64 && to != 64)
      return 0;
    uint64_t top = uint64_t(1) << (to - 1);
    return isSigned ? uint64_t(signExtend(top, to)) : top;
  }
  value = roundToIntegral(value, conversion.rounding);
  double limit = std::ldexp(1.0, int(isSigned ? to - 1 : to));
  uint64_t most = lowBits(~uint64_t(0), isSigned ? to - 1 : to);
  if (value >= limit)
    return most;
  if (isSigned)
    return value < -limit ? ~most : uint64_t(int64_t(value));
  return value <= 0 ? 0 : uint64_t(value);
}

static double decodeSource(const Conversion &conversion, uint64_t bits) {
  if (conversion.source == NumberKind::F64)
    return bitCast<double>(bits);
  if (conversion.source == NumberKind::F32) {
    uint32_t low = uint32_t(bits);
    if (conversion.flushes && !(low & 0x7f800000u))
      low &= 0x80000000u;
    return bitCast<float>(low);
  }
  return decode(formatOf(conversion.source), uint32_t(bits));
}

static unsigned mantissaBits(NumberKind kind) { return kind == NumberKind::F64 ? 52 : formatOf(kind).mantissaBits; }

/// A NaN whose sign and upper payload survive the conversion between two types with exponents and mantissas.
static uint64_t carryNan(const Conversion &conversion, uint64_t bits) {
  unsigned from = mantissaBits(conversion.source), to = mantissaBits(conversion.target);
  unsigned fromWidth = bitWidth(conversion.source), toWidth = bitWidth(conversion.target);
  uint64_t payload = lowBits(bits, from) | uint64_t(1) << (from - 1);
  payload = to > from ? payload << (to - from) : payload >> (from - to);
  uint64_t sign = (bits >> (fromWidth - 1) & 1) << (toWidth - 1);
  uint64_t exponent = lowBits(~uint64_t(0), toWidth - 1 - to) << to;
  return sign | exponent | payload;
}

/// As FloatFormat.h says.
static uint64_t convertNan(const Conversion &conversion, uint64_t bits) {
  using K = NumberKind;
  bool isMove = conversion.target == conversion.source && !conversion.toIntegral && !conversion.flushes;
  if (isMove)
    return lowBits(bits, bitWidth(conversion.source));
  // .satfinite takes one unit off what is not finite.
  if (conversion.target == K::TF32 && conversion.rounding == Rounding::NearestAway)
    return (bits & 0xffffe000u) - (conversion.satFinite ? 0x2000 : 0);
  if (conversion.target == K::TF32)
    return kTF32.nan;
  if (conversion.source == K::BF16 && conversion.target == K::F32)
    return bits << 16 & 0xffffffffu;
  bool hasF64 = conversion.source == K::F64 || conversion.target == K::F64;
  if (!hasF64)
    return formatOf(conversion.target).nan;
  // .ftz is an instruction of its own, whose result is canonical.
  if (conversion.flushes && conversion.source == K::F32)
    bits = kNanF32;
  return carryNan(conversion, bits);
}

uint64_t convert(const Conversion &conversion, uint64_t bits) {
  if (isIntegerKind(conversion.source))
    return isIntegerKind(conversion.target) ? integerToInteger(conversion, bits) : integerToFloat(conversion, bits);
  double value = decodeSource(conversion, bits);
  if (isIntegerKind(conversion.target))
    return floatToInteger(conversion, value);
  if (value != value && !conversion.saturates)
    return convertNan(conversion, bits);
  if (conversion.toIntegral)
    value = roundToIntegral(value, conversion.rounding);
  if (conversion.saturates)
    value = bitCast<double>(saturateUnit(value));
  if (conversion.isRelu && value <= 0)
    value = 0;
  if (conversion.target == NumberKind::F64)
    return bitCast<uint64_t>(value);
  uint32_t result = encode(formatOf(conversion.target), value, conversion.rounding, conversion.satFinite);
  bool isSmallest = (result & 0x7fffffffu) == 0x00800000u;
  if (conversion.flushes && conversion.target == NumberKind::F32 &&
      (!(result & 0x7f800000u) || (isSmallest && isTiny(kF32, value, conversion.rounding))))
    result &= 0x80000000u;
  return result;
}

/// Lane by lane into a buffer, so that result and source may overlap.
template <typename Target, typename Source, typename Body>
static inline void loop(void *result, const void *source, const Body &body) {
  typedef Source Lane __attribute__((may_alias));
  const Lane *lanes = static_cast<const Lane *>(source);
  Target buffer[kWarpLanes];
  for (unsigned i = 0; i < kWarpLanes; ++i)
    buffer[i] = body(lanes[i]);
  std::memcpy(result, buffer, sizeof(buffer));
}

static void lanesS32ToF32(void *result, const void *source) {
  loop<float, int32_t>(result, source, [](int32_t value) { return float(value); });
}
static void lanesU32ToF32(void *result, const void *source) {
  loop<float, uint32_t>(result, source, [](uint32_t value) { return float(value); });
}
static void lanesF32ToS32(void *result, const void *source) {
  loop<int32_t, float>(result, source, [](float value) {
    return value != value ? 0 : value >= 0x1p31f ? INT32_MAX : value < -0x1p31f ? INT32_MIN : int32_t(value);
  });
}
static void lanesF16ToF32(void *result, const void *source) {
  loop<uint32_t, uint16_t>(result, source, floatBitsFromHalf);
}
static void lanesBF16ToF32(void *result, const void *source) {
  loop<uint32_t, uint16_t>(result, source, floatBitsFromBfloat);
}
static void lanesF32ToF16(void *result, const void *source) {
  loop<uint16_t, uint32_t>(result, source, halfFromFloatBits);
}
static void lanesF32ToBF16(void *result, const void *source) {
  loop<uint16_t, uint32_t>(result, source, bfloatFromFloatBits);
}
static void lanesF64ToF32(void *result, const void *source) {
  loop<uint32_t, uint64_t>(result, source, [](uint64_t bits) {
    uint32_t nan = uint32_t(bits >> 32 & 0x80000000u) | 0x7fc00000u | uint32_t(bits >> 29 & 0x3fffff);
    return bits << 1 > uint64_t(0x7ff) << 53 ? nan : bitCast<uint32_t>(float(bitCast<double>(bits)));
  });
}
static void lanesS32ToF64(void *result, const void *source) {
  loop<double, int32_t>(result, source, [](int32_t value) { return double(value); });
}
static void lanesU32ToU64(void *result, const void *source) {
  loop<uint64_t, uint32_t>(result, source, [](uint32_t value) { return uint64_t(value); });
}
static void lanesS32ToS64(void *result, const void *source) {
  loop<int64_t, int32_t>(result, source, [](int32_t value) { return int64_t(value); });
}
static void lanes64To32(void *result, const void *source) {
  loop<uint32_t, uint64_t>(result, source, [](uint64_t value) { return uint32_t(value); });
}

ConvertLanes convertLanes(const Conversion &conversion) {
  struct Row {
    NumberKind target, source;
    Rounding rounding;
    ConvertLanes lanes;
  };
  using K = NumberKind;
  constexpr Rounding rn = Rounding::NearestEven, rz = Rounding::Zero;
  static const Row rows[] = {
      {K::F32, K::S32, rn, lanesS32ToF32},   {K::F32, K::U32, rn, lanesU32ToF32},   {K::S32, K::F32, rz, lanesF32ToS32},
      {K::F32, K::F16, rn, lanesF16ToF32},   {K::F32, K::BF16, rn, lanesBF16ToF32}, {K::F16, K::F32, rn, lanesF32ToF16},
      {K::BF16, K::F32, rn, lanesF32ToBF16}, {K::F32, K::F64, rn, lanesF64ToF32},   {K::F64, K::S32, rn, lanesS32ToF64},
      {K::U64, K::U32, rn, lanesU32ToU64},   {K::S64, K::U32, rn, lanesU32ToU64},   {K::S64, K::S32, rn, lanesS32ToS64},
      {K::U64, K::S32, rn, lanesS32ToS64},   {K::U32, K::U64, rn, lanes64To32},     {K::S32, K::U64, rn, lanes64To32},
      {K::U32, K::S64, rn, lanes64To32},     {K::S32, K::S64, rn, lanes64To32},
  };
  if (conversion.toIntegral || conversion.flushes || conversion.saturates || conversion.satFinite || conversion.isRelu)
    return nullptr;
  for (const Row &row : rows)
    if (row.target == conversion.target && row.source == conversion.source && row.rounding == conversion.rounding)
      return row.lanes;
  return nullptr;
}

} // namespace weft::emu
