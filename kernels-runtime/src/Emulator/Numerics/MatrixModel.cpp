// How the matrix units round.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of the measured parameters, and the model's single step as a reference: it serves the operands with NaN and
// infinity, and proves the blocked kernel of MatrixMultiply.cpp.

#include "Emulator/Numerics/MatrixModel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::emu {

unsigned byteWidth(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
  case MatrixElement::BF16:
    return 2;
  case MatrixElement::TF32:
    return 4;
  case MatrixElement::E4M3:
  case MatrixElement::E5M2:
  case MatrixElement::S8:
  case MatrixElement::U8:
    break;
  }
  return 1;
}

const FloatFormat &floatFormat(MatrixElement element) {
  switch (element) {
  case MatrixElement::F16:
    return kF16;
  case MatrixElement::BF16:
    return kBF16;
  case MatrixElement::TF32:
    return kTF32;
  case MatrixElement::E4M3:
    return kE4M3;
  case MatrixElement::E5M2:
  case MatrixElement::S8:
  case MatrixElement::U8:
    break;
  }
  return kE5M2;
}

namespace {

enum class ElementClass : uint8_t { Half, TF32, Fp8 };

/// The first row that fits holds: architectures from `from` on, so newer ones come first.
struct ModelRow {
  uint16_t from;
  MatrixUnit unit;
  ElementClass element;
  bool isHalfAccumulator;
  MatrixModel model;
};

constexpr MatrixOrder kConsecutive = MatrixOrder::Consecutive;
constexpr MatrixOrder kPairs = MatrixOrder::PairsOfFour;

// Measurements correct this table and nothing else.
//                                                            block bits minimum result order      adds afterwards
constexpr ModelRow kModels[] = {
    {90, MatrixUnit::Wgmma, ElementClass::Half, false, {16, 25, -133, 23, kConsecutive, false}},
    {90, MatrixUnit::Wgmma, ElementClass::Half, true, {16, 25, -21, 10, kConsecutive, false}},
    {90, MatrixUnit::Wgmma, ElementClass::TF32, false, {8, 25, -133, 23, kConsecutive, false}},
    {90, MatrixUnit::Wgmma, ElementClass::Fp8, false, {32, 13, -133, 13, kConsecutive, false}},
    {90, MatrixUnit::Wgmma, ElementClass::Fp8, true, {32, 13, -133, 10, kConsecutive, false}},
    {90, MatrixUnit::Mma, ElementClass::Half, false, {16, 25, -133, 23, kConsecutive, false}},
    {90, MatrixUnit::Mma, ElementClass::Half, true, {16, 25, -21, 10, kConsecutive, false}},
    {90, MatrixUnit::Mma, ElementClass::TF32, false, {8, 25, -133, 23, kConsecutive, false}},
    {90, MatrixUnit::Mma, ElementClass::Fp8, false, {16, 25, -133, 23, kPairs, true}},
    {90, MatrixUnit::Mma, ElementClass::Fp8, true, {16, 25, -21, 10, kPairs, true}},
    {89, MatrixUnit::Mma, ElementClass::Fp8, false, {16, 13, -132, 13, kConsecutive, false}},
    {89, MatrixUnit::Mma, ElementClass::Fp8, true, {16, 13, -132, 10, kConsecutive, false}},
    {80, MatrixUnit::Mma, ElementClass::Half, false, {8, 24, -132, 23, kConsecutive, false}},
    {80, MatrixUnit::Mma, ElementClass::Half, true, {8, 24, -20, 10, kConsecutive, false}},
    {80, MatrixUnit::Mma, ElementClass::TF32, false, {4, 24, -132, 23, kConsecutive, false}},
};

} // namespace

MatrixModel matrixModel(unsigned smVersion, MatrixUnit unit, MatrixElement element, bool isHalfAccumulator,
                        unsigned depth) {
  ElementClass kind = isFp8(element)                   ? ElementClass::Fp8
                      : element == MatrixElement::TF32 ? ElementClass::TF32
                                                       : ElementClass::Half;
  const ModelRow *found = &kModels[0];
  for (const ModelRow &row : kModels) {
    if (row.from > smVersion || row.unit != unit || row.element != kind || row.isHalfAccumulator != isHalfAccumulator)
      continue;
    found = &row;
    break;
  }
  MatrixModel model = found->model;
  unsigned block = model.order == MatrixOrder::PairsOfFour ? depth / 2 : std::min<unsigned>(model.blockDepth, depth);
  model.blockDepth = uint8_t(block);
  return model;
}

MatrixTerm matrixTerm(const FloatFormat &format, uint32_t bits) {
  uint32_t magnitude = (bits & (format.signBit() - 1)) >> format.padding;
  uint32_t exponent = magnitude >> format.mantissaBits;
  uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  MatrixTerm term = {kZeroExponent, 0, (bits & format.signBit()) != 0, MatrixTerm::Finite};
  if (format.hasInfinity ? exponent == (1u << format.exponentBits) - 1 : magnitude == format.nan) {
    term.kind = format.hasInfinity && mantissa == 0 ? MatrixTerm::Infinite : MatrixTerm::NotANumber;
  } else if (magnitude != 0) {
    term.exponent = int(std::max(exponent, 1u)) - format.bias();
    term.significand = exponent == 0 ? mantissa : mantissa | (1u << format.mantissaBits);
  }
  return term;
}

uint32_t matrixResult(const MatrixModel &model, int64_t sum, int exponent, bool isHalf) {
  // |sum| < 2^53 and the exponents are far from f64's limits: exact.
  double value = std::ldexp(double(sum), exponent);
  if (isHalf) {
    uint32_t bits = encode(kF16, value, Rounding::NearestEven);
    return bits == kF16.signBit() ? 0 : bits; // what becomes zero is a positive one
  }
  if (std::fabs(value) >= 0x1p128)
    return value < 0 ? 0xff800000u : 0x7f800000u;
  FloatFormat format = kF32;
  format.padding = uint8_t(kF32.mantissaBits - model.resultBits);
  format.mantissaBits = model.resultBits;
  return encode(format, value, Rounding::Zero);
}

uint32_t matrixAdd(uint32_t x, uint32_t y, bool isHalf) {
  if (isHalf) {
    float sum = bitCast<float>(floatBitsFromHalf(uint16_t(x))) + bitCast<float>(floatBitsFromHalf(uint16_t(y)));
    return halfFromFloatBits(bitCast<uint32_t>(sum));
  }
  float sum = bitCast<float>(x) + bitCast<float>(y);
  return sum != sum ? kNanF32 : bitCast<uint32_t>(sum);
}

namespace {

/// What NaNs and infinities among the terms make of the sum.
struct Specials {
  bool hasNan = false;
  bool hasPlus = false;
  bool hasMinus = false;

  void addInfinity(bool isNegative) { (isNegative ? hasMinus : hasPlus) = true; }
  bool any() const { return hasNan || hasPlus || hasMinus; }
  uint32_t result(bool isHalf) const {
    if (hasNan || (hasPlus && hasMinus))
      return isHalf ? kNanF16 : kNanF32;
    if (isHalf)
      return hasMinus ? 0xfc00u : 0x7c00u;
    return hasMinus ? 0xff800000u : 0x7f800000u;
  }
};

} // namespace

static Specials findSpecials(const MatrixTerm *a, const MatrixTerm *b, size_t count, const MatrixTerm &accumulator) {
  Specials specials;
  specials.hasNan = accumulator.kind == MatrixTerm::NotANumber;
  if (accumulator.kind == MatrixTerm::Infinite)
    specials.addInfinity(accumulator.isNegative);
  for (size_t i = 0; i < count; ++i) {
    if (a[i].kind == MatrixTerm::Finite && b[i].kind == MatrixTerm::Finite)
      continue;
    bool isZeroTimesInfinity = (a[i].kind == MatrixTerm::Finite && a[i].significand == 0) ||
                               (b[i].kind == MatrixTerm::Finite && b[i].significand == 0);
    if (a[i].kind == MatrixTerm::NotANumber || b[i].kind == MatrixTerm::NotANumber || isZeroTimesInfinity)
      specials.hasNan = true;
    else
      specials.addInfinity(a[i].isNegative != b[i].isNegative);
  }
  return specials;
}

/// significand * 2^-fraction at `exponent`, truncated to a multiple of 2^(largest - fractionBits), in those units.
static int64_t align(uint64_t significand, bool isNegative, int exponent, int fraction, int largest, int fractionBits) {
  int shift = largest - exponent + fraction - fractionBits;
  uint64_t magnitude = shift <= 0 ? significand << -shift : shift < 64 ? significand >> shift : 0;
  return isNegative ? -int64_t(magnitude) : int64_t(magnitude);
}

uint32_t matrixStep(const MatrixModel &model, const MatrixTerm *a, const MatrixTerm *b, size_t count,
                    unsigned mantissaBits, uint32_t accumulator, bool isHalf) {
  const FloatFormat &format = isHalf ? kF16 : kF32;
  MatrixTerm c = matrixTerm(format, accumulator);
  Specials specials = findSpecials(a, b, count, c);
  if (specials.any())
    return specials.result(isHalf);
  int largest = std::max<int>(model.minExponent, c.exponent);
  for (size_t i = 0; i < count; ++i)
    largest = std::max(largest, a[i].exponent + b[i].exponent);
  int64_t sum = align(c.significand, c.isNegative, c.exponent, format.mantissaBits, largest, model.fractionBits);
  for (size_t i = 0; i < count; ++i)
    sum += align(uint64_t(a[i].significand) * b[i].significand, a[i].isNegative != b[i].isNegative,
                 a[i].exponent + b[i].exponent, int(mantissaBits), largest, model.fractionBits);
  return matrixResult(model, sum, largest - model.fractionBits, isHalf);
}

} // namespace weft::emu
