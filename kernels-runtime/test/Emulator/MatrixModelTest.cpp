// How the matrix units round.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocked kernel against an oracle written from the header's text on f64 values (frexp, trunc, ldexp: no integer
// significands), over random operands of every type that meet cancellation, wide exponents, subnormals, zeros, NaN and
// infinities; then cases with results worked out by hand, and the integer forms.

#include "Emulator/Numerics/MatrixMultiply.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace weft::emu;

namespace {

/// Exponent of a finite non-zero number in its format: subnormals have that of the smallest normal number.
int exponentOf(double value, int smallest) {
  int exponent;
  std::frexp(value, &exponent);
  return std::max(exponent - 1, smallest);
}

/// Drops what of `value` lies below 2^position.
double truncate(double value, int place) { return std::ldexp(std::trunc(std::ldexp(value, -place)), place); }

uint32_t oracleStep(const MatrixModel &model, const std::vector<double> &a, const std::vector<double> &b,
                    const FloatFormat &formatA, const FloatFormat &formatB, uint32_t accumulator, bool isHalf) {
  const FloatFormat &format = isHalf ? kF16 : kF32;
  double c = decode(format, accumulator);
  double plain = c;
  int largest = model.minExponent;
  if (c != 0 && std::isfinite(c))
    largest = std::max(largest, exponentOf(c, 1 - format.bias()));
  for (size_t i = 0; i < a.size(); ++i) {
    plain += a[i] * b[i];
    if (a[i] != 0 && b[i] != 0 && std::isfinite(a[i]) && std::isfinite(b[i]))
      largest = std::max(largest, exponentOf(a[i], 1 - formatA.bias()) + exponentOf(b[i], 1 - formatB.bias()));
  }
  if (std::isnan(plain))
    return format.nan;
  if (std::isinf(plain))
    return format.infinity() | (plain < 0 ? format.signBit() : 0);
  int place = largest - model.fractionBits;
  double sum = truncate(c, place);
  for (size_t i = 0; i < a.size(); ++i)
    sum += truncate(a[i] * b[i], place);
  if (sum == 0)
    return 0;
  if (isHalf)
    return encode(kF16, sum, Rounding::NearestEven);
  double result = truncate(sum, exponentOf(sum, -126) - model.resultBits);
  return bitCast<uint32_t>(float(result));
}

struct Case {
  unsigned smVersion;
  MatrixUnit unit;
  MatrixElement a, b;
  bool isHalf;
  unsigned depth;
};

const Case kCases[] = {
    {90, MatrixUnit::Wgmma, MatrixElement::F16, MatrixElement::F16, false, 16},
    {90, MatrixUnit::Wgmma, MatrixElement::F16, MatrixElement::F16, true, 16},
    {90, MatrixUnit::Wgmma, MatrixElement::BF16, MatrixElement::BF16, false, 16},
    {90, MatrixUnit::Wgmma, MatrixElement::TF32, MatrixElement::TF32, false, 8},
    {90, MatrixUnit::Wgmma, MatrixElement::E4M3, MatrixElement::E5M2, false, 32},
    {90, MatrixUnit::Wgmma, MatrixElement::E5M2, MatrixElement::E5M2, true, 32},
    {90, MatrixUnit::Mma, MatrixElement::F16, MatrixElement::F16, false, 8},
    {90, MatrixUnit::Mma, MatrixElement::E4M3, MatrixElement::E4M3, false, 32},
    {90, MatrixUnit::Mma, MatrixElement::E5M2, MatrixElement::E4M3, true, 16},
    {89, MatrixUnit::Mma, MatrixElement::E4M3, MatrixElement::E4M3, false, 32},
    {89, MatrixUnit::Mma, MatrixElement::E4M3, MatrixElement::E4M3, true, 16},
    {80, MatrixUnit::Mma, MatrixElement::F16, MatrixElement::F16, false, 16},
    {80, MatrixUnit::Mma, MatrixElement::F16, MatrixElement::F16, true, 16},
    {80, MatrixUnit::Mma, MatrixElement::BF16, MatrixElement::BF16, false, 8},
    {86, MatrixUnit::Mma, MatrixElement::TF32, MatrixElement::TF32, false, 8},
};

/// Random bits of an element: of style 0 any, 1 around one, 2 small, 3 with specials, 4 mostly zero.
uint32_t randomElement(std::mt19937 &random, MatrixElement element, int style) {
  const FloatFormat &format = floatFormat(element);
  uint32_t any = uint32_t(random()) & (format.signBit() * 2 - 1);
  std::normal_distribution<double> normal;
  if (style == 1 || (style >= 3 && random() % 4 != 0))
    return encode(format, normal(random), Rounding::NearestEven);
  if (style == 2)
    return encode(format, std::ldexp(normal(random), 2 - format.bias()), Rounding::NearestEven);
  if (style == 3)
    return random() % 16 == 0 ? (random() % 2 ? format.nan : format.infinity()) : any;
  if (style == 4)
    return random() % 2 ? 0 : format.signBit();
  return format.hasInfinity && (any & format.infinity()) == format.infinity() ? 0 : any;
}

uint32_t randomAccumulator(std::mt19937 &random, bool isHalf, int style) {
  const FloatFormat &format = isHalf ? kF16 : kF32;
  std::normal_distribution<double> normal;
  switch (style) {
  case 1:
    return encode(format, normal(random), Rounding::NearestEven);
  case 2:
    return encode(format, std::ldexp(normal(random), isHalf ? -15 : -126), Rounding::NearestEven);
  case 3:
    return uint32_t(random()) & (format.signBit() * 2 - 1);
  case 4:
    return random() % 2 ? 0 : format.signBit();
  default:
    return encode(format, std::ldexp(normal(random), int(random() % 60) - 30), Rounding::NearestEven);
  }
}

/// The k of each product, block by block, from the words of the header.
std::vector<unsigned> orderOf(const MatrixModel &model, unsigned depth) {
  std::vector<unsigned> order;
  for (unsigned block = 0; block < depth / model.blockDepth; ++block)
    for (unsigned k = 0; k < depth; ++k)
      if (model.order == MatrixOrder::PairsOfFour ? k % 4 / 2 == block : k / model.blockDepth == block)
        order.push_back(k);
  return order;
}

void checkTile(const Case &test, const MatrixOptions &options, int style, std::mt19937 &random) {
  MatrixModel model = matrixModel(test.smVersion, test.unit, test.a, test.isHalf, test.depth);
  MatrixShape shape = {test.a, test.b, 16, 16, test.depth};
  unsigned widthA = byteWidth(test.a), widthB = byteWidth(test.b);
  std::vector<uint8_t> a(16 * test.depth * widthA), b(16 * test.depth * widthB);
  std::vector<double> valuesA, valuesB;
  auto fill = [&](std::vector<uint8_t> &bytes, std::vector<double> &values, MatrixElement element, bool isNegated) {
    unsigned width = byteWidth(element);
    for (size_t i = 0; i < 16 * test.depth; ++i) {
      uint32_t bits = randomElement(random, element, style);
      std::memcpy(&bytes[i * width], &bits, width);
      double value = decode(floatFormat(element), bits);
      values.push_back(isNegated ? -value : value);
    }
  };
  fill(a, valuesA, test.a, options.negatesA);
  fill(b, valuesB, test.b, options.negatesB);
  std::vector<uint32_t> d(16 * 16);
  for (uint32_t &word : d)
    word = randomAccumulator(random, test.isHalf, style);
  std::vector<uint32_t> before = d;
  multiplyMatrices(model, shape, options, a.data(), b.data(), d.data());
  std::vector<unsigned> order = orderOf(model, test.depth);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 16; ++column) {
      uint32_t start = options.startsAtZero ? 0 : before[row * 16 + column];
      uint32_t expected = model.addsAfterwards ? 0 : start;
      for (unsigned first = 0; first < test.depth; first += model.blockDepth) {
        std::vector<double> x, y;
        for (unsigned i = 0; i < model.blockDepth; ++i) {
          x.push_back(valuesA[row * test.depth + order[first + i]]);
          y.push_back(valuesB[column * test.depth + order[first + i]]);
        }
        expected = oracleStep(model, x, y, floatFormat(test.a), floatFormat(test.b), expected, test.isHalf);
      }
      if (model.addsAfterwards) {
        const FloatFormat &format = test.isHalf ? kF16 : kF32;
        expected = encode(format, decode(format, start) + decode(format, expected), Rounding::NearestEven);
      }
      ASSERT_EQ(d[row * 16 + column], expected)
          << "sm_" << test.smVersion << " unit " << int(test.unit) << " element " << int(test.a) << " half "
          << test.isHalf << " depth " << test.depth << " style " << style << " at " << row << "," << column;
    }
}

} // namespace

TEST(MatrixModel, KernelFollowsTheModel) {
  std::mt19937 random(11);
  for (const Case &test : kCases)
    for (int style = 0; style < 5; ++style)
      for (int repeat = 0; repeat < 6; ++repeat) {
        MatrixOptions options;
        options.isHalfAccumulator = test.isHalf;
        options.startsAtZero = repeat == 3;
        options.negatesA = repeat == 4;
        options.negatesB = repeat == 5;
        checkTile(test, options, style, random);
        if (HasFatalFailure())
          return;
      }
}

namespace {

/// One dot product through the kernel: f16 operands with small integer or power-of-two values.
float dotF16(unsigned smVersion, MatrixUnit unit, std::vector<double> a, std::vector<double> b, float c) {
  a.resize(16);
  b.resize(16);
  std::vector<uint16_t> left(16), right(8 * 16);
  for (int k = 0; k < 16; ++k) {
    left[k] = uint16_t(encode(kF16, a[k], Rounding::NearestEven));
    right[k] = uint16_t(encode(kF16, b[k], Rounding::NearestEven));
  }
  uint32_t d[8] = {bitCast<uint32_t>(c)};
  MatrixModel model = matrixModel(smVersion, unit, MatrixElement::F16, false, 16);
  multiplyMatrices(model, {MatrixElement::F16, MatrixElement::F16, 1, 8, 16}, {},
                   reinterpret_cast<uint8_t *>(left.data()), reinterpret_cast<uint8_t *>(right.data()), d);
  return bitCast<float>(d[0]);
}

} // namespace

TEST(MatrixModel, HandWorkedSums) {
  // 1 + 2^-25: the small term is the last bit kept on sm_90 (25 bits) and lost on sm_80 (24): both truncate to 1; two
  // of them make 2^-24, still lost in f32; a minus sign shows them.
  EXPECT_EQ(dotF16(90, MatrixUnit::Wgmma, {1, -0x1p-12}, {1, 0x1p-13}, 0), 1 - 0x1p-24f);
  EXPECT_EQ(dotF16(80, MatrixUnit::Mma, {1, -0x1p-12}, {1, 0x1p-13}, 0), 1.0f);
  EXPECT_EQ(dotF16(80, MatrixUnit::Mma, {1, -0x1p-12}, {1, 0x1p-12}, 0), 1 - 0x1p-24f);
  // Large terms cancel: what was below their bits is gone.
  EXPECT_EQ(dotF16(90, MatrixUnit::Mma, {0x1p15, -0x1p15, 0x1p-5}, {0x1p15, 0x1p15, 0x1p-1}, 0), 0.0f);
  EXPECT_EQ(dotF16(90, MatrixUnit::Mma, {0x1p15, -0x1p15, 0x1p4}, {0x1p15, 0x1p15, 0x1p1}, 0), 0x1p5f);
  // On sm_80 the second half of K is a step of its own, after the first was rounded.
  EXPECT_EQ(dotF16(80, MatrixUnit::Mma, {0x1p15, 0x1p15, 0, 0, 0, 0, 0, 0, 0x1p-10},
                   {0x1p15, -0x1p15, 0, 0, 0, 0, 0, 0, 1}, 0),
            0x1p-10f);
  EXPECT_EQ(dotF16(90, MatrixUnit::Mma, {0x1p15, 0x1p15, 0, 0, 0, 0, 0, 0, 0x1p-10},
                   {0x1p15, -0x1p15, 0, 0, 0, 0, 0, 0, 1}, 0),
            0.0f);
  // Truncation towards zero on both sides.
  EXPECT_EQ(dotF16(90, MatrixUnit::Mma, {1, 0x1.8p-12}, {1, 0x1p-12}, 0), 1.0f);
  EXPECT_EQ(dotF16(90, MatrixUnit::Mma, {-1, -0x1.8p-12}, {1, 0x1p-12}, 0), -1.0f);
  // Zero is positive.
  EXPECT_FALSE(std::signbit(dotF16(90, MatrixUnit::Mma, {-0.0}, {1}, -0.0f)));
}

TEST(MatrixModel, IntegersAreExact) {
  std::mt19937 random(3);
  const MatrixElement types[] = {MatrixElement::S8, MatrixElement::U8};
  for (MatrixElement typeA : types)
    for (MatrixElement typeB : types)
      for (bool isSaturating : {false, true}) {
        std::vector<uint8_t> a(16 * 32), b(8 * 32);
        for (uint8_t &byte : a)
          byte = uint8_t(random());
        for (uint8_t &byte : b)
          byte = uint8_t(random());
        std::vector<uint32_t> d(16 * 8);
        for (size_t i = 0; i < d.size(); ++i)
          d[i] = i % 3 == 0 ? 0x7ffffff0u : i % 3 == 1 ? 0x80000010u : uint32_t(random());
        std::vector<uint32_t> before = d;
        MatrixOptions options;
        options.isSaturating = isSaturating;
        multiplyMatrices({}, {typeA, typeB, 16, 8, 32}, options, a.data(), b.data(), d.data());
        auto value = [](MatrixElement type, uint8_t byte) -> int64_t {
          return type == MatrixElement::S8 && byte >= 128 ? int64_t(byte) - 256 : byte;
        };
        for (unsigned row = 0; row < 16; ++row)
          for (unsigned column = 0; column < 8; ++column) {
            int64_t sum = int32_t(before[row * 8 + column]);
            for (unsigned k = 0; k < 32; ++k)
              sum += value(typeA, a[row * 32 + k]) * value(typeB, b[column * 32 + k]);
            if (isSaturating && sum > 2147483647)
              sum = 2147483647;
            if (isSaturating && sum < -2147483648LL)
              sum = -2147483648LL;
            EXPECT_EQ(d[row * 8 + column], uint32_t(uint64_t(sum)));
          }
      }
}
