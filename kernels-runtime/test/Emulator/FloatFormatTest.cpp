// Narrow floating-point formats.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every value of the 8- and 16-bit formats, and every boundary between neighbours in every rounding mode: the oracle
// searches the sorted list of all values, and knows nothing of exponents.

#include "Emulator/Numerics/FloatFormat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace weft::emu;

namespace {

struct NamedFormat {
  const char *name;
  const FloatFormat *format;
  unsigned bits;
};

const NamedFormat kFormats[] = {
    {"f16", &kF16, 16}, {"bf16", &kBF16, 16}, {"e4m3", &kE4M3, 8}, {"e5m2", &kE5M2, 8}, {"tf32", &kTF32, 32}};

/// The magnitudes of all finite numbers, ascending, each at the index that is its bit pattern (less the padding).
std::vector<double> magnitudes(const NamedFormat &named) {
  std::vector<double> all;
  unsigned padding = named.format->padding;
  for (uint64_t bits = 0; bits < uint64_t(1) << (named.bits - 1); bits += uint64_t(1) << padding) {
    double value = decode(*named.format, uint32_t(bits));
    if (!std::isfinite(value))
      break;
    all.push_back(value);
  }
  return all;
}

/// Rounds by looking for the neighbours of |value| in `all`.
uint32_t oracle(const NamedFormat &named, const std::vector<double> &all, double value, Rounding rounding) {
  const FloatFormat &format = *named.format;
  double magnitude = std::fabs(value);
  bool isNegative = std::signbit(value);
  size_t below = size_t(std::upper_bound(all.begin(), all.end(), magnitude) - all.begin()) - 1;
  size_t index = below;
  if (magnitude != all[below]) {
    bool isLast = below + 1 == all.size();
    // Past the largest number IEEE goes on as if there were one more bit.
    double above = isLast ? all[below] + (all[below] - all[below - 1]) : all[below + 1];
    double toBelow = magnitude - all[below], toAbove = above - magnitude;
    bool away = rounding == Rounding::Up ? !isNegative : rounding == Rounding::Down ? isNegative : false;
    if (rounding == Rounding::NearestEven)
      away = toAbove < toBelow || (toAbove == toBelow && below % 2 == 1);
    if (rounding == Rounding::NearestAway)
      away = toAbove <= toBelow;
    index = below + away;
  }
  uint32_t sign = isNegative ? 1u << (named.bits - 1) : 0;
  if (index == all.size()) // stands for infinity
    return (format.hasInfinity ? uint32_t(index) << format.padding : uint32_t(index - 1)) | sign;
  return uint32_t(index) << format.padding | sign;
}

const Rounding kModes[] = {Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up, Rounding::NearestAway};

} // namespace

TEST(FloatFormat, EncodesEveryValueToItself) {
  for (const NamedFormat &named : kFormats) {
    std::vector<double> all = magnitudes(named);
    ASSERT_EQ(uint32_t(all.size() - 1) << named.format->padding, named.format->largest) << named.name;
    for (size_t i = 1; i < all.size(); ++i)
      ASSERT_LT(all[i - 1], all[i]) << named.name << " " << i;
    for (size_t i = 0; i < all.size(); ++i)
      for (Rounding rounding : kModes) {
        uint32_t bits = uint32_t(i) << named.format->padding;
        ASSERT_EQ(encode(*named.format, all[i], rounding), bits) << named.name;
        ASSERT_EQ(encode(*named.format, -all[i], rounding), bits | 1u << (named.bits - 1)) << named.name;
      }
  }
}

TEST(FloatFormat, RoundsAtEveryBoundary) {
  for (const NamedFormat &named : kFormats) {
    std::vector<double> all = magnitudes(named);
    for (size_t i = 0; i < all.size(); i += named.bits == 32 ? 7 : 1) {
      double above = i + 1 == all.size() ? all[i] + (all[i] - all[i - 1]) : all[i + 1];
      double middle = all[i] + (above - all[i]) / 2;
      double points[] = {std::nextafter(all[i], above), std::nextafter(middle, 0.0), middle,
                         std::nextafter(middle, above), std::nextafter(above, 0.0)};
      for (double point : points)
        for (Rounding rounding : kModes)
          for (double value : {point, -point})
            ASSERT_EQ(encode(*named.format, value, rounding), oracle(named, all, value, rounding))
                << named.name << " " << value << " mode " << int(rounding);
    }
  }
}

TEST(FloatFormat, RoundsTheFarEnds) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(encode(kF16, 65519.99, Rounding::NearestEven), 0x7bffu);
  EXPECT_EQ(encode(kF16, 65520.0, Rounding::NearestEven), 0x7c00u);
  EXPECT_EQ(encode(kF16, 1e300, Rounding::Zero), 0x7bffu);
  EXPECT_EQ(encode(kF16, -1e300, Rounding::Up), 0xfbffu);
  EXPECT_EQ(encode(kF16, -1e300, Rounding::Down), 0xfc00u);
  EXPECT_EQ(encode(kF16, infinity, Rounding::Zero), 0x7c00u);
  EXPECT_EQ(encode(kF16, -infinity, Rounding::NearestEven, true), 0xfbffu);
  EXPECT_EQ(encode(kE4M3, infinity, Rounding::NearestEven), 0x7eu);
  EXPECT_EQ(encode(kE4M3, 449.0, Rounding::NearestEven), 0x7eu);
  EXPECT_EQ(encode(kE5M2, 1e9, Rounding::NearestEven, true), 0x7bu);
  EXPECT_EQ(encode(kE5M2, 1e9, Rounding::NearestEven), 0x7cu);
  EXPECT_EQ(encode(kF16, 5e-324, Rounding::Up), 1u);
  EXPECT_EQ(encode(kF16, -5e-324, Rounding::Down), 0x8001u);
  EXPECT_EQ(encode(kF16, -5e-324, Rounding::NearestEven), 0x8000u);
  EXPECT_EQ(encode(kBF16, 1e-300, Rounding::NearestAway), 0u);
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (const NamedFormat &named : kFormats)
    EXPECT_EQ(encode(*named.format, -nan, Rounding::NearestEven), named.format->nan) << named.name;
}

TEST(FloatFormat, InlineConversionsAgreeOnAllHalves) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    double half = decode(kF16, bits), bfloat = decode(kBF16, bits);
    ASSERT_EQ(floatBitsFromHalf(uint16_t(bits)), half != half ? kNanF32 : bitCast<uint32_t>(float(half))) << bits;
    ASSERT_EQ(floatBitsFromBfloat(uint16_t(bits)), bfloat != bfloat ? bits << 16 : bitCast<uint32_t>(float(bfloat)))
        << bits;
  }
}

TEST(FloatFormat, InlineRoundingAgreesWithEncode) {
  std::mt19937 random(7);
  auto check = [](uint32_t bits) {
    double value = bitCast<float>(bits);
    ASSERT_EQ(halfFromFloatBits(bits), encode(kF16, value, Rounding::NearestEven)) << bits;
    ASSERT_EQ(bfloatFromFloatBits(bits), encode(kBF16, value, Rounding::NearestEven)) << bits;
  };
  for (int i = 0; i < 1000000; ++i)
    check(uint32_t(random()));
  // Around every f16 and every tie between two of them.
  for (uint32_t top = 0; top < 0x80000; ++top)
    for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
      check(top << 13 | low);
}
