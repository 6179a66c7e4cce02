// Tensors in host memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating formats are one table (exponent and mantissa width, bias, what the top codes mean) and one codec.
#include "Tensor.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstring>
#include <limits>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

namespace {
/// What the codes with the largest exponent mean.
enum class Special {
  Ieee,         ///< Infinity and NaN, as in f16.
  NanOnTop,     ///< Only the code of all ones is NaN, no infinity ("fn").
  NegativeZero, ///< Only the code of negative zero is NaN ("fnuz").
  None,         ///< All codes are numbers.
};
struct FloatFormat {
  DType dtype;
  int exponentBits, mantissaBits, bias;
  Special special;
  bool isSigned;
};
} // namespace

static constexpr FloatFormat formats[] = {
    {DType::F16, 5, 10, 15, Special::Ieee, true},
    {DType::BF16, 8, 7, 127, Special::Ieee, true},
    {DType::F8E4M3FN, 4, 3, 7, Special::NanOnTop, true},
    {DType::F8E4M3FNUZ, 4, 3, 8, Special::NegativeZero, true},
    {DType::F8E5M2, 5, 2, 15, Special::Ieee, true},
    {DType::F8E5M2FNUZ, 5, 2, 16, Special::NegativeZero, true},
    {DType::F8E8M0FNU, 8, 0, 127, Special::NanOnTop, false},
    {DType::F4E2M1FN, 2, 1, 1, Special::None, true},
};

static const FloatFormat *findFormat(DType dtype) {
  for (const FloatFormat &format : formats)
    if (format.dtype == dtype)
      return &format;
  return nullptr;
}

static double decode(const FloatFormat &format, uint64_t bits) {
  int width = format.exponentBits + format.mantissaBits;
  uint64_t magnitude = bits & ((uint64_t(1) << width) - 1), mantissaMask = (uint64_t(1) << format.mantissaBits) - 1;
  bool negative = format.isSigned && (bits >> width & 1);
  auto exponent = int(magnitude >> format.mantissaBits);
  uint64_t mantissa = magnitude & mantissaMask;
  bool onTop = exponent == (1 << format.exponentBits) - 1;
  double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.special == Special::Ieee && onTop)
    return mantissa ? nan : (negative ? -1 : 1) * std::numeric_limits<double>::infinity();
  if (format.special == Special::NanOnTop && onTop && mantissa == mantissaMask)
    return nan;
  if (format.special == Special::NegativeZero && negative && magnitude == 0)
    return nan;
  bool hasSubnormals = format.mantissaBits > 0; // e8m0 is powers of two, zero is not among them
  double value = exponent == 0 && hasSubnormals
                     ? std::ldexp(double(mantissa), 1 - format.bias - format.mantissaBits)
                     : std::ldexp(double(mantissa | (mantissaMask + 1)), exponent - format.bias - format.mantissaBits);
  return negative ? -value : value;
}

static uint64_t encode(const FloatFormat &format, double value) {
  int width = format.exponentBits + format.mantissaBits;
  uint64_t sign = format.isSigned && std::signbit(value) ? uint64_t(1) << width : 0;
  uint64_t top = (uint64_t(1) << width) - 1, infinity = ((uint64_t(1) << format.exponentBits) - 1)
                                                        << format.mantissaBits;
  if (std::isnan(value))
    return format.special == Special::Ieee           ? infinity | (uint64_t(1) << format.mantissaBits >> 1)
           : format.special == Special::NegativeZero ? uint64_t(1) << width
           : format.special == Special::NanOnTop     ? top
                                                     : 0;
  uint64_t largest = format.special == Special::Ieee ? infinity : format.special == Special::NanOnTop ? top - 1 : top;
  double magnitude = std::fabs(value);
  // Zero and subnormals count in units of the smallest exponent.
  int exponent = 1 - format.bias;
  if (magnitude > 0 && std::isfinite(magnitude))
    exponent = std::max(exponent, std::ilogb(magnitude));
  if (std::isinf(magnitude) || exponent - 1 + format.bias > (1 << format.exponentBits))
    return sign | largest;
  // In units of the last place of this exponent; the addition carries into the exponent when the mantissa overflows.
  auto units = uint64_t(std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent)));
  uint64_t code = (uint64_t(exponent + format.bias - 1) << format.mantissaBits) + units;
  code = std::min(code, largest);
  return format.special == Special::NegativeZero && code == 0 ? 0 : sign | code;
}

int64_t weft::run::countElements(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return -1;
  return count;
}

std::string Tensor::describe() const {
  std::string text;
  for (int64_t dim : dims)
    text += std::to_string(dim) + "x";
  return text + getName(dtype);
}

Error Tensor::create(DType dtype, std::vector<int64_t> dims, Tensor &tensor) {
  constexpr int64_t maxBytes = int64_t(1) << 40;
  int64_t size = 0, count = countElements(dims);
  Tensor result;
  result.dtype = dtype;
  result.dims = std::move(dims);
  if (count < 0 || !getByteSize(dtype, count, size) || size > maxBytes)
    return Error(ErrorCode::Input, "expected a tensor of at most 2^40 bytes, got " + result.describe());
  result.bytes.resize(size_t(size));
  tensor = std::move(result);
  return {};
}

int64_t Tensor::getCount() const { return countElements(dims); }

uint64_t Tensor::getBitsOf(int64_t index) const {
  unsigned bits = getBits(dtype);
  if (bits >= 8) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data() + size_t(index) * (bits / 8), bits / 8);
    return value;
  }
  unsigned perByte = 8 / bits;
  return bytes[size_t(index) / perByte] >> (size_t(index) % perByte * bits) & ((1u << bits) - 1);
}

void Tensor::setBitsOf(int64_t index, uint64_t value) {
  unsigned bits = getBits(dtype);
  if (bits >= 8) {
    std::memcpy(bytes.data() + size_t(index) * (bits / 8), &value, bits / 8);
    return;
  }
  unsigned perByte = 8 / bits, shift = unsigned(size_t(index) % perByte * bits), mask = ((1u << bits) - 1) << shift;
  uint8_t &byte = bytes[size_t(index) / perByte];
  byte = uint8_t((byte & ~mask) | (unsigned(value << shift) & mask));
}

int64_t Tensor::getInteger(int64_t index) const {
  uint64_t raw = getBitsOf(index);
  if (isUnsigned(dtype))
    return int64_t(raw);
  unsigned shift = 64 - getBits(dtype);
  return int64_t(raw << shift) >> shift;
}

void Tensor::setInteger(int64_t index, int64_t value) {
  setBitsOf(index, dtype == DType::I1 ? uint64_t(value != 0) : uint64_t(value));
}

double Tensor::get(int64_t index) const {
  uint64_t raw = getBitsOf(index);
  if (dtype == DType::F64) {
    double value;
    std::memcpy(&value, &raw, sizeof value);
    return value;
  }
  if (dtype == DType::F32) {
    float value;
    std::memcpy(&value, &raw, sizeof value);
    return double(value);
  }
  if (const FloatFormat *format = findFormat(dtype))
    return decode(*format, raw);
  return dtype == DType::UI64 ? double(raw) : double(getInteger(index));
}

void Tensor::set(int64_t index, double value) {
  uint64_t raw = 0;
  if (dtype == DType::F64) {
    std::memcpy(&raw, &value, sizeof value);
    return setBitsOf(index, raw);
  }
  if (dtype == DType::F32) {
    auto narrow = float(value);
    std::memcpy(&raw, &narrow, sizeof narrow);
    return setBitsOf(index, raw);
  }
  if (const FloatFormat *format = findFormat(dtype))
    return setBitsOf(index, encode(*format, value));
  bool fits = value >= -9.2e18 && value <= 9.2e18;
  setInteger(index, fits ? int64_t(std::nearbyint(value)) : 0);
}

double Tensor::getUlps(const Tensor &other, int64_t index) const {
  uint64_t a = getBitsOf(index), b = other.getBitsOf(index);
  uint64_t sign = uint64_t(1) << (getBits(dtype) - 1);
  // Sign and magnitude: on one side of zero magnitudes subtract, across zero they add.
  uint64_t x = a & ~sign, y = b & ~sign;
  bool sameSign = (a & sign) == (b & sign);
  return sameSign ? double(x > y ? x - y : y - x) : double(x) + double(y);
}
