// Conversions between number types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All 8- and 16-bit sources to every target in every mode, and 32- and 64-bit sources at their ends and at random. The
// oracles work on long double (64 bits: exact for every source) and __int128, with the host's floor, ceil and casts.

#include "Emulator/Numerics/Convert.h"
#include "Emulator/Numerics/Approximate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace weft::emu;

namespace {

using Long = long double;
using K = NumberKind;
const Rounding kModes[] = {Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up};
const K kIntegers[] = {K::U8, K::U16, K::U32, K::U64, K::S8, K::S16, K::S32, K::S64};

/// The value of an integer or floating-point pattern.
Long valueOf(K kind, uint64_t bits) {
  switch (kind) {
  case K::U8:
    return uint8_t(bits);
  case K::U16:
    return uint16_t(bits);
  case K::U32:
    return uint32_t(bits);
  case K::U64:
    return bits;
  case K::S8:
    return int8_t(bits);
  case K::S16:
    return int16_t(bits);
  case K::S32:
    return int32_t(bits);
  case K::S64:
    return int64_t(bits);
  case K::F16:
    return decode(kF16, uint32_t(bits));
  case K::BF16:
    return decode(kBF16, uint32_t(bits));
  case K::F32:
    return bitCast<float>(uint32_t(bits));
  default:
    return bitCast<double>(bits);
  }
}

Long integral(Long value, Rounding mode) {
  switch (mode) {
  case Rounding::Zero:
    return value < 0 ? std::ceil(value) : std::floor(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default: {
    Long below = std::floor(value), part = value - below;
    return part > 0.5L || (part == 0.5L && std::fmod(below, 2.0L) != 0) ? below + 1 : below;
  }
  }
}

Long lowest(K kind) { return isSignedKind(kind) ? -std::ldexp(1.0L, int(bitWidth(kind)) - 1) : 0; }
Long highest(K kind) { return std::ldexp(1.0L, int(bitWidth(kind)) - isSignedKind(kind)) - 1; }

/// The pattern of an integer that fits, extended to 64 bits as the header says.
uint64_t pattern(K kind, Long value) { return isSignedKind(kind) ? uint64_t(int64_t(value)) : uint64_t(value); }

void checkToIntegers(K source, uint64_t bits) {
  Long value = valueOf(source, bits);
  for (K target : kIntegers)
    for (Rounding mode : kModes) {
      Conversion conversion;
      conversion.source = source, conversion.target = target, conversion.rounding = mode;
      uint64_t expected;
      if (std::isnan(value))
        expected = source != K::F64 && bitWidth(target) != 64 ? 0
                   : isSignedKind(target)                     ? ~uint64_t(0) << (bitWidth(target) - 1)
                                                              : uint64_t(1) << (bitWidth(target) - 1);
      else
        expected = pattern(target, std::min(std::max(std::isinf(value) ? value : integral(value, mode), lowest(target)),
                                            highest(target)));
      ASSERT_EQ(convert(conversion, bits), expected)
          << int(source) << " to " << int(target) << " mode " << int(mode) << " of " << double(value);
    }
}

/// Checks a floating-point result by the definition of the mode on the result's neighbours.
void checkRounded(K source, K target, Rounding mode, uint64_t bits) {
  Conversion conversion;
  conversion.source = source, conversion.target = target, conversion.rounding = mode;
  uint64_t got = convert(conversion, bits);
  Long exact = valueOf(source, bits), result = valueOf(target, got);
  if (std::isnan(exact) || std::isinf(exact) || exact == 0) {
    ASSERT_TRUE(std::isnan(exact) ? std::isnan(result)
                                  : result == exact && std::signbit(result) == std::signbit(exact));
    return;
  }
  uint64_t sign = uint64_t(1) << (bitWidth(target) - 1);
  // The next larger and smaller magnitudes.
  Long outer = valueOf(target, got + 1),
       inner = (got & ~sign) ? valueOf(target, got - 1) : -valueOf(target, (got ^ sign) + 1);
  Long above = std::max(outer, inner), below = std::min(outer, inner);
  if (std::isinf(result)) { // stands for the next power of two
    Long most = valueOf(target, got - 1), place = most - valueOf(target, got - 2);
    ASSERT_TRUE(mode == Rounding::NearestEven ? std::fabs(exact) >= std::fabs(most + place / 2)
                                              : mode == (exact < 0 ? Rounding::Down : Rounding::Up));
    return;
  }
  if (std::isinf(outer)) {
    Long most = result, place = most - inner;
    above = std::max(most + place, inner), below = std::min(most + place, inner);
    if (std::fabs(exact) >= std::fabs(most + place)) {
      ASSERT_TRUE(mode == Rounding::Zero || mode == (exact < 0 ? Rounding::Up : Rounding::Down));
      return;
    }
  }
  bool ok = false;
  if (mode == Rounding::NearestEven) {
    Long error = std::fabs(exact - result), side = exact > result ? above - exact : exact - below;
    ok = error < side || (error == side && !(got & 1));
  } else if (mode == Rounding::Down || (mode == Rounding::Zero && exact > 0)) {
    ok = result <= exact && exact < above;
  } else {
    ok = result >= exact && exact > below;
  }
  ASSERT_TRUE(ok) << int(source) << " to " << int(target) << " mode " << int(mode) << " of " << double(exact)
                  << " gives " << double(result);
}

std::vector<uint64_t> samplesOf(K kind) {
  std::vector<uint64_t> samples;
  unsigned width = bitWidth(kind);
  if (width <= 16) {
    for (uint64_t bits = 0; bits < uint64_t(1) << width; ++bits)
      samples.push_back(bits);
    return samples;
  }
  std::mt19937_64 random(unsigned(kind) + 1);
  uint64_t mask = width == 64 ? ~uint64_t(0) : 0xffffffffu;
  for (int i = 0; i < 20000; ++i)
    samples.push_back(random() & mask);
  for (unsigned shift = 0; shift < width; ++shift)
    for (int64_t near = -2; near <= 2; ++near)
      for (uint64_t sign : {uint64_t(0), ~uint64_t(0)})
        samples.push_back((((uint64_t(1) << shift) + uint64_t(near)) ^ sign) & mask);
  if (isIntegerKind(kind))
    return samples;
  for (int i = 0; i < 40000; ++i) { // numbers near the integers' ends, and halves between integers
    double value = std::ldexp(double(int64_t(random())) / 0x1p63, int(random() % 70));
    if (i % 2)
      value = std::floor(value) + 0.5;
    samples.push_back(kind == K::F32 ? bitCast<uint32_t>(float(value)) : bitCast<uint64_t>(value));
  }
  return samples;
}

} // namespace

TEST(Convert, FloatsToIntegers) {
  for (K source : {K::F16, K::BF16, K::F32, K::F64})
    for (uint64_t bits : samplesOf(source)) {
      checkToIntegers(source, bits);
      if (HasFatalFailure())
        return;
    }
}

TEST(Convert, NumbersToFloats) {
  for (K source : {K::U8, K::S8, K::U16, K::S16, K::U32, K::S32, K::U64, K::S64, K::F16, K::BF16, K::F32, K::F64})
    for (K target : {K::F16, K::BF16, K::F32, K::F64})
      for (Rounding mode : kModes)
        for (uint64_t bits : samplesOf(source)) {
          checkRounded(source, target, mode, bits);
          if (HasFatalFailure())
            return;
        }
}

TEST(Convert, IntegersToIntegers) {
  for (K source : kIntegers)
    for (K target : kIntegers)
      for (uint64_t bits : samplesOf(source)) {
        __int128 value = __int128(valueOf(source, bits));
        Conversion conversion;
        conversion.source = source, conversion.target = target;
        unsigned width = bitWidth(target);
        __int128 wrapped = value & ((__int128(1) << width) - 1);
        if (isSignedKind(target) && wrapped >> (width - 1))
          wrapped -= __int128(1) << width;
        ASSERT_EQ(convert(conversion, bits), uint64_t(wrapped)) << int(source) << " " << int(target) << " " << bits;
        conversion.saturates = true;
        __int128 low = __int128(lowest(target)), high = __int128(highest(target));
        __int128 clamped = value < low ? low : value > high ? high : value;
        ASSERT_EQ(convert(conversion, bits), uint64_t(clamped)) << int(source) << " " << int(target) << " " << bits;
      }
}

TEST(Convert, LanesAgreeWithSingleConversions) {
  const K kinds[] = {K::U32, K::U64, K::S32, K::S64, K::F16, K::BF16, K::F32, K::F64};
  int loops = 0;
  for (K source : kinds)
    for (K target : kinds)
      for (Rounding mode : kModes) {
        Conversion conversion;
        conversion.source = source, conversion.target = target, conversion.rounding = mode;
        ConvertLanes lanes = convertLanes(conversion);
        if (!lanes)
          continue;
        ++loops;
        std::vector<uint64_t> samples = samplesOf(source);
        for (size_t first = 0; first + 32 <= samples.size(); first += 32) {
          alignas(8) uint8_t in[256], out[256];
          unsigned from = bitWidth(source) / 8, to = bitWidth(target) / 8;
          for (int i = 0; i < 32; ++i)
            std::memcpy(in + i * from, &samples[first + i], from);
          lanes(out, in);
          for (int i = 0; i < 32; ++i) {
            uint64_t expected = convert(conversion, samples[first + i]), got = 0;
            std::memcpy(&got, out + i * to, to);
            if (to == 4)
              expected = uint32_t(expected);
            ASSERT_EQ(got, expected) << int(source) << " to " << int(target) << " of " << samples[first + i];
          }
        }
      }
  EXPECT_EQ(loops, 17);
}

TEST(Convert, Modifiers) {
  auto run = [](K target, K source, uint64_t bits, auto &&set) {
    Conversion conversion;
    conversion.source = source, conversion.target = target;
    set(conversion);
    return convert(conversion, bits);
  };
  auto flush = [](Conversion &c) { c.flushes = true; };
  auto saturate = [](Conversion &c) { c.saturates = true; };
  auto relu = [](Conversion &c) { c.isRelu = true; };
  auto finite = [](Conversion &c) { c.satFinite = true; };
  auto away = [](Conversion &c) { c.rounding = Rounding::NearestAway; };
  auto whole = [](Conversion &c) { c.toIntegral = true; };
  EXPECT_EQ(run(K::F64, K::F32, 0x80000001, flush), uint64_t(1) << 63);
  EXPECT_EQ(run(K::F32, K::F64, bitCast<uint64_t>(-1e-40), flush), 0x80000000u);
  EXPECT_EQ(run(K::S32, K::F32, 1, [](Conversion &c) { c.rounding = Rounding::Up, c.flushes = true; }), 0u);
  EXPECT_EQ(run(K::S32, K::F32, 1, [](Conversion &c) { c.rounding = Rounding::Up; }), 1u);
  EXPECT_EQ(run(K::F32, K::F32, bitCast<uint32_t>(1.5f), saturate), 0x3f800000u);
  EXPECT_EQ(run(K::F32, K::F32, bitCast<uint32_t>(-0.5f), saturate), 0u);
  EXPECT_EQ(run(K::F16, K::F32, 0x7fc00000, saturate), 0u);
  EXPECT_EQ(run(K::F32, K::S32, 7, saturate), 0x3f800000u);
  EXPECT_EQ(run(K::F32, K::S32, uint32_t(-7), saturate), 0u);
  EXPECT_EQ(run(K::F16, K::F32, bitCast<uint32_t>(-1.0f), relu), 0u);
  EXPECT_EQ(run(K::F16, K::F32, 0x80000000, relu), 0u);
  EXPECT_EQ(run(K::BF16, K::F32, 0xffc00000, relu), 0x7fffu);
  EXPECT_EQ(run(K::F16, K::F32, bitCast<uint32_t>(1e9f), finite), 0x7bffu);
  EXPECT_EQ(run(K::F16, K::F32, 0xff800000, finite), 0xfbffu);
  EXPECT_EQ(run(K::BF16, K::F32, 0x7f7fffff, finite), 0x7f7fu);
  EXPECT_EQ(run(K::E4M3, K::F32, bitCast<uint32_t>(1000.0f), finite), 0x7eu);
  EXPECT_EQ(run(K::E5M2, K::F16, 0x7c00, finite), 0x7bu);
  EXPECT_EQ(run(K::F16, K::E4M3, 0x01, [](Conversion &) {}), 0x1800u);
  EXPECT_EQ(run(K::F16, K::E5M2, 0x7c, [](Conversion &) {}), 0x7c00u);
  EXPECT_EQ(run(K::TF32, K::F32, 0x3f801000, away), 0x3f802000u);
  EXPECT_EQ(run(K::TF32, K::F32, 0x3f801000, [](Conversion &) {}), 0x3f800000u);
  EXPECT_EQ(
      run(K::TF32, K::F32, 0x7f7fffff, [](Conversion &c) { c.rounding = Rounding::NearestAway, c.satFinite = true; }),
      0x7f7fe000u);
  EXPECT_EQ(run(K::F32, K::F32, bitCast<uint32_t>(2.5f), whole), bitCast<uint32_t>(2.0f));
  EXPECT_EQ(run(K::F32, K::F32, bitCast<uint32_t>(-0.25f), whole), 0x80000000u);
  EXPECT_EQ(run(K::F16, K::F16, 0x3e00, [](Conversion &c) { c.toIntegral = true, c.rounding = Rounding::Down; }),
            0x3c00u);
}

namespace {

uint32_t approximate(ApproximateOp op, float a, float b = 1, bool flushes = false) {
  float left[32], right[32];
  uint32_t result[32];
  for (int i = 0; i < 32; ++i)
    left[i] = a, right[i] = b;
  approximateF32(op, flushes, result, left, right);
  return result[5];
}

} // namespace

TEST(Approximate, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  const uint32_t plus = 0x7f800000, minus = 0xff800000, one = 0x3f800000;
  using A = ApproximateOp;
  EXPECT_EQ(approximate(A::Rcp, -0.0f), minus);
  EXPECT_EQ(approximate(A::Rcp, -infinity), 0x80000000u);
  EXPECT_EQ(approximate(A::Rsqrt, -0.0f), minus);
  EXPECT_EQ(approximate(A::Rsqrt, infinity), 0u);
  EXPECT_EQ(approximate(A::Rsqrt, -1.0f), kNanF32);
  EXPECT_EQ(approximate(A::Sqrt, -0.0f), 0x80000000u);
  EXPECT_EQ(approximate(A::Sqrt, 4.0f), 0x40000000u);
  EXPECT_EQ(approximate(A::Lg2, 0.0f), minus);
  EXPECT_EQ(approximate(A::Lg2, -0.0f), minus);
  EXPECT_EQ(approximate(A::Lg2, -1.0f), kNanF32);
  EXPECT_EQ(approximate(A::Lg2, infinity), plus);
  EXPECT_EQ(approximate(A::Ex2, -infinity), 0u);
  EXPECT_EQ(approximate(A::Ex2, -0.0f), one);
  EXPECT_EQ(approximate(A::Ex2, 1e-40f, 1, true), one);
  EXPECT_EQ(approximate(A::Ex2, -130.0f), bitCast<uint32_t>(0x1p-130f));
  EXPECT_EQ(approximate(A::Ex2, -130.0f, 1, true), 0u);
  EXPECT_EQ(approximate(A::Sin, infinity), kNanF32);
  EXPECT_EQ(approximate(A::Cos, 0.0f), one);
  EXPECT_EQ(approximate(A::Tanh, -infinity), 0xbf800000u);
  EXPECT_EQ(approximate(A::Div, 3.0f, 0x1.8p126f), 0u);
  EXPECT_EQ(approximate(A::Div, -3.0f, 0x1.8p126f), 0x80000000u);
  EXPECT_EQ(approximate(A::Div, infinity, 0x1.8p126f), kNanF32);
  EXPECT_EQ(approximate(A::DivFull, 3.0f, 0x1.8p126f), bitCast<uint32_t>(float(3 / 0x1.8p126)));
  EXPECT_EQ(approximate(A::Div, 0.0f, 0.0f), kNanF32);
}

TEST(Approximate, UpperHalvesOfDoubles) {
  double a[32];
  uint64_t result[32];
  for (int i = 0; i < 32; ++i)
    a[i] = 3.0 + i * 1e-12;
  approximateF64(ApproximateOp::Rcp, false, result, a);
  for (uint64_t bits : result) {
    EXPECT_EQ(uint32_t(bits), 0u);
    EXPECT_NEAR(bitCast<double>(bits), 1 / 3.0, 1e-6);
  }
  approximateF64(ApproximateOp::Rsqrt, true, result, a);
  EXPECT_NEAR(bitCast<double>(result[0]), 0.57735026918962576451, 1e-12);
}

TEST(Approximate, Halves) {
  uint16_t a[64], result[64];
  for (int i = 0; i < 64; ++i)
    a[i] = uint16_t(encode(kF16, (i - 32) / 4.0, Rounding::NearestEven));
  approximateHalf(HalfKind::F16, ApproximateOp::Ex2, false, 64, result, a);
  for (int i = 0; i < 64; i += 4)
    EXPECT_EQ(decode(kF16, result[i]), std::ldexp(1.0, (i - 32) / 4));
  uint16_t zero[64] = {0x8000};
  approximateHalf(HalfKind::BF16, ApproximateOp::Tanh, false, 64, result, zero);
  EXPECT_EQ(result[0], 0x8000u);
}
