// Rounding by definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Oracles for instructions on f32 and f64, independent of the emulator: exact arithmetic in 113 bits where it is exact,
// rounded by looking at neighbours.
#ifndef WEFT_TEST_EMULATOR_FLOATORACLE_H
#define WEFT_TEST_EMULATOR_FLOATORACLE_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace weft::emu::test {

using Wide = __float128;

inline float asFloat(uint64_t bits) {
  uint32_t low = uint32_t(bits);
  float value;
  std::memcpy(&value, &low, 4);
  return value;
}
inline double asDouble(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}
inline uint64_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return value != value ? 0x7fffffff : bits;
}
inline uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  return bits;
}
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

/// `exact`, finite and not zero, in direction 'n' (nearest even), 'z', 'm' or 'p'.
template <typename T> T rounded(Wide exact, char direction) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T nearest = T(exact); // the compiler's conversion: to nearest even
  if (direction == 'n' || Wide(nearest) == exact)
    return nearest;
  T below = Wide(nearest) < exact ? nearest : std::nextafter(nearest, -infinity);
  T above = Wide(nearest) > exact ? nearest : std::nextafter(nearest, infinity);
  if (direction == 'z')
    return exact > 0 ? below : above;
  return direction == 'm' ? below : above;
}

/// The exact zero that a sum of x and y, opposite or zeros, is in a direction.
template <typename T> T zeroSum(T x, T y, char direction) {
  if (x == 0 && std::signbit(x) == std::signbit(y))
    return x;
  return direction == 'm' ? T(-0.0) : T(0.0);
}

template <typename T> T sum(T x, T y, char direction) {
  if (!std::isfinite(x) || !std::isfinite(y))
    return x + y;
  int ex = std::ilogb(x == 0 ? T(1) : x), ey = std::ilogb(y == 0 ? T(1) : y);
  if (x != 0 && y != 0 && std::abs(ex - ey) > 58) {
    // Too far apart for 113 bits: the smaller one only says on which side of the larger the sum is.
    T big = ex > ey ? x : y, small = ex > ey ? y : x;
    Wide exact = Wide(big) + Wide(std::copysign(std::ldexp(std::fabs(double(big)), -55), double(small)));
    return rounded<T>(exact, direction);
  }
  Wide exact = Wide(x) + Wide(y);
  return exact == 0 ? zeroSum(x, y, direction) : rounded<T>(exact, direction);
}

template <typename T> T product(T x, T y, char direction) {
  T plain = x * y;
  if (!std::isfinite(x) || !std::isfinite(y) || x == 0 || y == 0)
    return plain;
  return rounded<T>(Wide(x) * Wide(y), direction);
}

/// x / y: the remainder of the quotient in 113 bits says on which side the exact one is.
template <typename T> T quotient(T x, T y, char direction) {
  T plain = x / y;
  if (!std::isfinite(x) || !std::isfinite(y) || x == 0 || y == 0)
    return plain;
  return rounded<T>(Wide(x) / Wide(y), direction);
}

} // namespace weft::emu::test

#endif // WEFT_TEST_EMULATOR_FLOATORACLE_H
