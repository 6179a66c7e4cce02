// Scales of f16 constants, from the bits of both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NarrowScales.h"
#include "ConstantValues.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Reference/Reference.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {
namespace {

/// Of scales; weights may have as many as the driver makes new.
constexpr int64_t mostScales = int64_t(1) << 16, mostBytes = int64_t(16) << 20;
/// Of f16's biased exponents: those of numbers that are normal.
constexpr int leastExponent = 1, greatestExponent = 30, mantissaBits = 10;

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The constant's numbers; null if they are too many, or out of reach.
DenseElementsAttr readConstant(Value value, int64_t mostElements) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.hasStaticShape() || type.getNumElements() == 0 || type.getNumElements() > mostElements)
    return {};
  return dyn_cast_or_null<DenseElementsAttr>(reference::foldToConstant(value));
}

/// The bits of f16 constants, once where all are equal.
std::optional<ArrayRef<uint16_t>> readHalfs(DenseElementsAttr elements) {
  if (!elements || !elements.getElementType().isF16())
    return std::nullopt;
  ArrayRef<char> bytes = elements.getRawData();
  if (bytes.size() % sizeof(uint16_t) != 0 || reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint16_t) != 0)
    return std::nullopt;
  return ArrayRef(reinterpret_cast<const uint16_t *>(bytes.data()), bytes.size() / sizeof(uint16_t));
}

int exponentOf(uint16_t bits) { return (bits >> mantissaBits) & 31; }
bool isZero(uint16_t bits) { return (bits & 0x7fff) == 0; }

} // namespace

bool isExactScale(Value x, Value s) {
  if (!elementOf(x).isF16())
    return true;
  DenseElementsAttr scales = readConstant(s, mostScales), numbers = readConstant(x, mostBytes / 2);
  std::optional<ArrayRef<uint16_t>> halfs = readHalfs(numbers);
  if (!scales || !isa<FloatType>(scales.getElementType()) || !halfs)
    return false;
  int least = INT_MAX, greatest = INT_MIN;
  for (const APFloat &scale : scales.getValues<APFloat>()) {
    int power = scale.getExactLog2Abs();
    if (power == INT_MIN)
      return false;
    least = std::min(least, power);
    greatest = std::max(greatest, power);
  }
  // Of subnormal numbers none is let through: what they become depends on their leading zeros.
  return llvm::all_of(*halfs, [&](uint16_t bits) {
    int exponent = exponentOf(bits);
    return isZero(bits) || (exponent >= leastExponent && exponent <= greatestExponent &&
                            exponent + least >= leastExponent && exponent + greatest <= greatestExponent);
  });
}

bool isScaleInRange(Value x, Value s) {
  if (!elementOf(x).isF16() || !elementOf(s).isF16() || !isConstantOrWeight(x) || !isConstantOrWeight(s))
    return true; // Not this guard's concern.
  std::optional<ArrayRef<uint16_t>> numbers = readHalfs(readConstant(x, mostBytes / 2)),
                                    scales = readHalfs(readConstant(s, mostScales));
  if (!numbers || !scales)
    return false;
  auto mostOf = [](ArrayRef<uint16_t> halfs) {
    uint16_t most = 0; // Bits of absolute values are in the order of the values, infinity and NaN last.
    for (uint16_t bits : halfs)
      most = std::max<uint16_t>(most, bits & 0x7fff);
    return APFloat(APFloat::IEEEhalf(), APInt(16, most));
  };
  APFloat most = mostOf(*numbers);
  most.multiply(mostOf(*scales), APFloat::rmNearestTiesToEven);
  return most.isFinite();
}

} // namespace weft::tg
