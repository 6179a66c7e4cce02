// Correctly rounded arithmetic on the lanes of a warp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results are proved, not recomputed: against exact values in a wider type (operands are drawn so that they are exact
// there), by the definition of each rounding mode on the neighbours of the result. Flushing, clamping and NaN have
// cases of their own.

#include "Emulator/Numerics/Arithmetic.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace weft::emu;

namespace {

using Wide = __float128; // 113 bits
const Rounding kModes[] = {Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up};

/// True if `got` is what `mode` makes of the exact value, for finite results. `below` and `above` enclose `got`.
bool isRounded(Rounding mode, Wide exact, Wide got, Wide below, Wide above, bool isOdd) {
  switch (mode) {
  case Rounding::Zero:
    return exact >= 0 ? got <= exact && exact < above : got >= exact && exact > below;
  case Rounding::Down:
    return got <= exact && exact < above;
  case Rounding::Up:
    return got >= exact && exact > below;
  default: {
    Wide error = exact < got ? got - exact : exact - got;
    Wide side = exact < got ? exact - below : above - exact;
    return error < side || (error == side && !isOdd);
  }
  }
}

template <typename T> bool isRoundedResult(Rounding mode, Wide exact, T got) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  bool isOdd;
  if constexpr (sizeof(T) == 4)
    isOdd = bitCast<uint32_t>(got) & 1;
  else
    isOdd = bitCast<uint64_t>(got) & 1;
  return isRounded(mode, exact, got, std::nextafter(got, -infinity), std::nextafter(got, infinity), isOdd);
}

template <typename T> struct Warp {
  T a[32], b[32], c[32], r[32];
};

/// Random numbers around one another: exponents within `spread` of zero.
template <typename T> T draw(std::mt19937_64 &random, int spread) {
  double value =
      std::ldexp(double(int64_t(random() >> 11)) / 9007199254740992.0 + 0.5, int(random() % (2 * spread + 1)) - spread);
  return T(random() & 1 ? -value : value);
}

template <typename T> void compute(FloatOp op, Rounding mode, Warp<T> &warp) {
  if constexpr (sizeof(T) == 4) {
    FloatMode full;
    full.rounding = mode;
    arithmeticF32(op, full, warp.r, warp.a, warp.b, warp.c);
  } else {
    arithmeticF64(op, mode, warp.r, warp.a, warp.b, warp.c);
  }
}

template <typename T> void checkBasicOps(int spread) {
  std::mt19937_64 random(5);
  Warp<T> warp;
  for (int repeat = 0; repeat < 2000; ++repeat) {
    for (int i = 0; i < 32; ++i) {
      warp.a[i] = draw<T>(random, spread);
      warp.b[i] = draw<T>(random, spread);
      // The third operand near the product, so that cancellation happens.
      warp.c[i] = random() % 4 == 0 ? T(-(warp.a[i] * warp.b[i])) : draw<T>(random, spread / 3);
    }
    for (Rounding mode : kModes) {
      auto check = [&](FloatOp op, auto exact) {
        compute(op, mode, warp);
        for (int i = 0; i < 32; ++i)
          ASSERT_TRUE(isRoundedResult<T>(mode, exact(i), warp.r[i]))
              << int(op) << " mode " << int(mode) << " " << warp.a[i] << " " << warp.b[i] << " " << warp.c[i]
              << " gives " << warp.r[i];
      };
      check(FloatOp::Add, [&](int i) { return Wide(warp.a[i]) + warp.b[i]; });
      check(FloatOp::Sub, [&](int i) { return Wide(warp.a[i]) - warp.b[i]; });
      check(FloatOp::Mul, [&](int i) { return Wide(warp.a[i]) * warp.b[i]; });
      if (sizeof(T) == 4)
        check(FloatOp::Fma, [&](int i) { return Wide(warp.a[i]) * warp.b[i] + warp.c[i]; });
      if (::testing::Test::HasFatalFailure())
        return;
    }
  }
}

/// q = a / b, proved by the products of the neighbours of q with b; the root by their squares.
template <typename T> void checkDivisions(int spread) {
  std::mt19937_64 random(6);
  Warp<T> warp;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (int repeat = 0; repeat < 2000; ++repeat) {
    for (int i = 0; i < 32; ++i) {
      warp.a[i] = draw<T>(random, spread);
      warp.b[i] = std::fabs(draw<T>(random, spread));
    }
    for (Rounding mode : kModes) {
      for (FloatOp op : {FloatOp::Div, FloatOp::Rcp, FloatOp::Sqrt}) {
        T dividend[32], divisor[32];
        for (int i = 0; i < 32; ++i) {
          if (op == FloatOp::Sqrt)
            warp.a[i] = std::fabs(warp.a[i]);
          dividend[i] = op == FloatOp::Rcp ? T(1) : warp.a[i];
          divisor[i] = op == FloatOp::Rcp ? warp.a[i] : warp.b[i];
        }
        compute(op, mode, warp);
        for (int i = 0; i < 32; ++i) {
          T got = warp.r[i], below = std::nextafter(got, -infinity), above = std::nextafter(got, infinity);
          auto scaled = [&](Wide x) { return op == FloatOp::Sqrt ? x * x : x * Wide(std::fabs(divisor[i])); };
          Wide exact = op != FloatOp::Sqrt && divisor[i] < 0 ? -Wide(dividend[i]) : Wide(dividend[i]);
          if (mode == Rounding::NearestEven) {
            // The middles between neighbours have one bit more: their products are exact too.
            Wide low = scaled((Wide(below) + Wide(got)) / 2), high = scaled((Wide(got) + Wide(above)) / 2);
            ASSERT_TRUE(low <= exact && exact <= high) << int(op) << " " << dividend[i] << " " << divisor[i];
            continue;
          }
          ASSERT_TRUE(isRounded(mode, exact, scaled(got), scaled(below), scaled(above), false))
              << int(op) << " mode " << int(mode) << " " << dividend[i] << " " << divisor[i] << " gives " << got;
        }
      }
    }
  }
}

} // namespace

TEST(Arithmetic, BasicOperationsRoundInEveryMode) {
  checkBasicOps<float>(12);
  checkBasicOps<double>(24);
}

TEST(Arithmetic, DivisionsAndRootsRoundInEveryMode) {
  checkDivisions<float>(20);
  checkDivisions<double>(20);
}

TEST(Arithmetic, DirectedOverflowAndUnderflow) {
  float big[32], r[32], tiny[32];
  for (int i = 0; i < 32; ++i)
    big[i] = i % 2 ? -3e38f : 3e38f, tiny[i] = i % 2 ? -1e-30f : 1e-30f;
  const float most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  for (Rounding mode : kModes) {
    FloatMode full;
    full.rounding = mode;
    arithmeticF32(FloatOp::Add, full, r, big, big, nullptr);
    for (int i = 0; i < 32; ++i) {
      bool toInfinity = mode == Rounding::NearestEven || mode == (i % 2 ? Rounding::Down : Rounding::Up);
      EXPECT_EQ(r[i], (i % 2 ? -1 : 1) * (toInfinity ? infinity : most));
    }
    float square[32];
    arithmeticF32(FloatOp::Mul, full, square, tiny, tiny, nullptr);
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(square[i], mode == Rounding::Up ? std::numeric_limits<float>::denorm_min() : 0.0f);
  }
  EXPECT_EQ(1.0f + 0x1p-30f * big[0] / big[0], 1.0f) << "the host's mode is back";
}

TEST(Arithmetic, FlushesAndClamps) {
  const uint32_t denormal = 0x00400000, half = 0x3f000000, one = 0x3f800000, least = 0x00800000;
  uint32_t a[32], b[32], r[32];
  auto run = [&](FloatOp op, uint32_t x, uint32_t y, bool flushes, bool saturates) {
    for (int i = 0; i < 32; ++i)
      a[i] = x, b[i] = y;
    FloatMode mode;
    mode.flushes = flushes, mode.saturates = saturates;
    arithmeticF32(op, mode, r, a, b, nullptr);
    return r[17];
  };
  EXPECT_EQ(run(FloatOp::Add, denormal, denormal, false, false), least);
  EXPECT_EQ(run(FloatOp::Add, denormal, denormal, true, false), 0u);
  EXPECT_EQ(run(FloatOp::Mul, least | 0x80000000u, half, false, false), 0x80400000u);
  EXPECT_EQ(run(FloatOp::Mul, least | 0x80000000u, half, true, false), 0x80000000u);
  EXPECT_EQ(run(FloatOp::Add, denormal, one, true, false), one);
  EXPECT_EQ(run(FloatOp::Add, one, half, false, true), one);
  EXPECT_EQ(run(FloatOp::Sub, half, one, false, true), 0u);
  EXPECT_EQ(run(FloatOp::Mul, half, half, false, true), 0x3e800000u);
  EXPECT_EQ(run(FloatOp::Mul, 0x7f800000, 0, false, true), 0u);
  EXPECT_EQ(run(FloatOp::Mul, 0x7f800000, 0, false, false), kNanF32);
  EXPECT_EQ(run(FloatOp::Add, 0xffc12345, one, false, false), kNanF32);
  EXPECT_EQ(run(FloatOp::Add, 0xffc12345, one, true, false), kNanF32);
  EXPECT_EQ(run(FloatOp::Mul, 0x7f800000, one, false, true), one);
}

namespace {

/// The half nearest to an exact value: by comparing with the neighbours of a first guess.
uint16_t nearestHalf(const FloatFormat &format, Wide exact) {
  uint32_t guess = encode(format, double(exact), Rounding::NearestEven);
  if ((guess & (format.signBit() - 1)) >= format.infinity())
    return uint16_t(guess);
  uint32_t best = guess;
  for (int step : {-1, 1}) {
    if (step < 0 && (guess & (format.signBit() - 1)) == 0)
      continue;
    uint32_t other = guess + uint32_t(step);
    Wide errorOther = exact - Wide(decode(format, other)), error = exact - Wide(decode(format, best));
    errorOther = errorOther < 0 ? -errorOther : errorOther, error = error < 0 ? -error : error;
    if (errorOther < error || (errorOther == error && (best & 1)))
      best = other;
  }
  return uint16_t(best);
}

} // namespace

TEST(Arithmetic, HalvesRoundOnce) {
  std::mt19937 random(9);
  for (HalfKind kind : {HalfKind::F16, HalfKind::BF16}) {
    const FloatFormat &format = kind == HalfKind::F16 ? kF16 : kBF16;
    for (int repeat = 0; repeat < 4000; ++repeat) {
      uint16_t a[64], b[64], c[64], r[64];
      for (int i = 0; i < 64; ++i) {
        // bf16: exponents within 2^-30 .. 2^30, so that 113 bits hold everything.
        auto any = [&]() {
          uint16_t bits = uint16_t(random());
          return kind == HalfKind::F16 ? bits : uint16_t((bits & 0x8fff) | ((0x61u + (random() % 61)) << 7));
        };
        a[i] = any(), b[i] = any(), c[i] = any();
        // Ties: a product with a one and half a unit in the last place, and something small.
        if (repeat % 4 == 0) {
          double product = decode(format, a[i]) * decode(format, b[i]);
          c[i] = uint16_t(encode(format, std::ldexp(product, -int(random() % 40)), Rounding::NearestEven));
        }
      }
      for (FloatOp op : {FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Fma}) {
        arithmeticHalf(kind, op, {}, 64, r, a, b, c);
        for (int i = 0; i < 64; ++i) {
          double x = decode(format, a[i]), y = decode(format, b[i]), z = decode(format, c[i]);
          double plain = op == FloatOp::Add   ? x + y
                         : op == FloatOp::Sub ? x - y
                         : op == FloatOp::Mul ? x * y
                                              : std::fma(x, y, z);
          if (!std::isfinite(plain)) {
            ASSERT_EQ(r[i], encode(format, plain, Rounding::NearestEven));
            continue;
          }
          Wide exact = op == FloatOp::Add   ? Wide(x) + y
                       : op == FloatOp::Sub ? Wide(x) - y
                       : op == FloatOp::Mul ? Wide(x) * y
                                            : Wide(x) * y + z;
          uint16_t expected =
              exact == 0 ? uint16_t(encode(format, plain, Rounding::NearestEven)) : nearestHalf(format, exact);
          ASSERT_EQ(r[i], expected) << int(kind) << " op " << int(op) << " " << a[i] << " " << b[i] << " " << c[i];
        }
      }
    }
  }
}

TEST(Arithmetic, BfloatProductsBelowF32) {
  // 1.0078125 * 2^-70 squared and its like: products below f32's least number but for the rounding to bf16's
  // subnormals.
  std::mt19937 random(10);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    uint16_t a[32], b[32], c[32] = {}, r[32];
    for (int i = 0; i < 32; ++i) {
      a[i] = uint16_t(((127 - 64 - random() % 8) << 7) | (random() & 0x807f));
      b[i] = uint16_t(((127 - 60 - random() % 12) << 7) | (random() & 0x807f));
    }
    for (FloatOp op : {FloatOp::Mul, FloatOp::Fma}) {
      arithmeticHalf(HalfKind::BF16, op, {}, 32, r, a, b, c);
      for (int i = 0; i < 32; ++i) {
        uint32_t expected = encode(kBF16, decode(kBF16, a[i]) * decode(kBF16, b[i]), Rounding::NearestEven);
        // A negative product that rounds to zero: fma adds +0 to it before rounding.
        ASSERT_EQ(r[i], expected) << a[i] << " " << b[i];
      }
    }
  }
}

TEST(Arithmetic, HalfModes) {
  auto run = [](HalfKind kind, FloatOp op, FloatMode mode, uint16_t x, uint16_t y, uint16_t z) {
    uint16_t a[32], b[32], c[32], r[32];
    for (int i = 0; i < 32; ++i)
      a[i] = x, b[i] = y, c[i] = z;
    arithmeticHalf(kind, op, mode, 32, r, a, b, c);
    return r[31];
  };
  FloatMode flush, saturate, relu;
  flush.flushes = true, saturate.saturates = true, relu.isRelu = true;
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Add, flush, 0x0200, 0x0200, 0), 0u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Add, {}, 0x0200, 0x0200, 0), 0x0400u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Mul, flush, 0x8400, 0x3800, 0), 0x8000u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Add, saturate, 0x3c00, 0x3c00, 0), 0x3c00u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Sub, saturate, 0x3800, 0x3c00, 0), 0u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Mul, saturate, 0x7c00, 0, 0), 0u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Fma, relu, 0xbc00, 0x3c00, 0x3800), 0u);
  EXPECT_EQ(run(HalfKind::F16, FloatOp::Fma, relu, 0x7c00, 0, 0), kNanF16);
  EXPECT_EQ(run(HalfKind::BF16, FloatOp::Fma, relu, 0xbf80, 0x3f80, 0x3f00), 0u);
  EXPECT_EQ(run(HalfKind::BF16, FloatOp::Fma, {}, 0x7f80, 0, 0), kNanBF16);
}
