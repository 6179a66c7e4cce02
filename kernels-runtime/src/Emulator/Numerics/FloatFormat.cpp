// Narrow floating-point formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formats, and rounding to them by integer arithmetic on the bits of an f64.

#include "Emulator/Numerics/FloatFormat.h"

#include <cmath>
#include <limits>

namespace weft::emu {

//                         exponent mantissa padding infinity nan        largest
const FloatFormat kF16 = {5, 10, 0, true, 0x7fff, 0x7bff};
const FloatFormat kBF16 = {8, 7, 0, true, 0x7fff, 0x7f7f};
const FloatFormat kTF32 = {8, 10, 13, true, 0x7fffe000, 0x7f7fe000};
const FloatFormat kF32 = {8, 23, 0, true, 0x7fffffff, 0x7f7fffff};
const FloatFormat kE4M3 = {4, 3, 0, false, 0x7f, 0x7e};
const FloatFormat kE5M2 = {5, 2, 0, true, 0x7f, 0x7b};

double decode(const FloatFormat &format, uint32_t bits) {
  uint32_t magnitude = (bits & (format.signBit() - 1)) >> format.padding;
  uint32_t exponent = magnitude >> format.mantissaBits;
  uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  double value;
  if (format.hasInfinity ? exponent == (1u << format.exponentBits) - 1 : magnitude == format.nan) {
    value = format.hasInfinity && mantissa == 0 ? std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN();
  } else {
    uint32_t significand = exponent == 0 ? mantissa : mantissa | (1u << format.mantissaBits);
    value = std::ldexp(double(significand), int(exponent == 0 ? 1 : exponent) - format.bias() - format.mantissaBits);
  }
  return bits & format.signBit() ? -value : value;
}

/// True if |value| is to be rounded away from zero, given how the dropped part compares with half a unit in the last
/// place.
static bool roundsAway(Rounding rounding, bool isNegative, bool isOdd, uint64_t dropped, uint64_t half) {
  switch (rounding) {
  case Rounding::NearestEven:
    return dropped > half || (dropped == half && isOdd);
  case Rounding::NearestAway:
    return dropped >= half;
  case Rounding::Zero:
    return false;
  case Rounding::Down:
    return isNegative && dropped != 0;
  case Rounding::Up:
    return !isNegative && dropped != 0;
  }
  return false;
}

uint32_t encode(const FloatFormat &format, double value, Rounding rounding, bool isSaturating) {
  uint64_t bits = bitCast<uint64_t>(value);
  bool isNegative = bits >> 63;
  uint32_t sign = isNegative ? format.signBit() : 0;
  uint64_t magnitude = bits & ~(uint64_t(1) << 63);
  constexpr uint64_t infinity = uint64_t(0x7ff) << 52;
  if (magnitude > infinity)
    return format.nan;
  bool isOverflow = magnitude == infinity;
  bool roundsToInfinity = isOverflow;
  uint64_t result = 0;
  if (!isOverflow && magnitude != 0) {
    int exponent = int(magnitude >> 52) - 1023;
    uint64_t significand = (magnitude & ((uint64_t(1) << 52) - 1)) | (exponent == -1023 ? 0 : uint64_t(1) << 52);
    int smallest = 1 - format.bias();
    int drop = 52 - format.mantissaBits + (exponent < smallest ? smallest - exponent : 0);
    // A shift by 62 drops every bit of the significand and leaves less than half a unit.
    drop = drop > 62 ? 62 : drop;
    uint64_t half = drop == 0 ? 1 : uint64_t(1) << (drop - 1);
    uint64_t dropped = drop == 0 ? 0 : significand & ((half << 1) - 1);
    result = significand >> drop;
    if (exponent >= smallest) // the significand's leading one adds 1 to the exponent field
      result += uint64_t(exponent - smallest) << format.mantissaBits;
    result += roundsAway(rounding, isNegative, result & 1, dropped, half);
    result <<= format.padding;
    isOverflow = result > format.largest;
    roundsToInfinity = rounding == Rounding::NearestEven || rounding == Rounding::NearestAway ||
                       rounding == (isNegative ? Rounding::Down : Rounding::Up);
  }
  if (isOverflow)
    result = isSaturating || !format.hasInfinity || !roundsToInfinity ? format.largest : format.infinity();
  return uint32_t(result) | sign;
}

bool isTiny(const FloatFormat &format, double value, Rounding rounding) {
  // With the precision of normal numbers the last one below the smallest normal, 2^e, is 2^e - 2^position.
  int e = 1 - format.bias(), place = e - format.mantissaBits - 1;
  double magnitude = std::fabs(value), smallest = std::ldexp(1.0, e);
  if (rounding == Rounding::NearestEven || rounding == Rounding::NearestAway)
    return magnitude < smallest - std::ldexp(0.5, place); // the tie goes to 2^e, which is even
  bool isAway = rounding == (std::signbit(value) ? Rounding::Down : Rounding::Up);
  return isAway ? magnitude <= smallest - std::ldexp(1.0, place) : magnitude < smallest;
}

} // namespace weft::emu
