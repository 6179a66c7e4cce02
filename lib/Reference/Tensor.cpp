// Tensors in memory: storage, conversion of elements, attributes and packed bytes. The narrow float formats go through
// APFloat here, which shares nothing with the bit arithmetic of the scalar definitions and so checks them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Reference/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace weft::reference {

static unsigned bitsOf(Type element) { return element.getIntOrFloatBitWidth(); }

static int64_t bytesOf(Type element) { return llvm::divideCeil(bitsOf(element), 8u); }

static uint64_t maskOf(unsigned bits) { return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }

std::optional<int64_t> getSize(ArrayRef<int64_t> shape) {
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t size = 1;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(size, extent, size) || size > (int64_t(1) << 62))
      return std::nullopt;
  return size;
}

SmallVector<int64_t> getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::string formatShape(ArrayRef<int64_t> shape, Type element) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t extent : shape)
    os << extent << 'x';
  os << element;
  return text;
}

std::optional<Tensor> Tensor::create(ArrayRef<int64_t> shape, Type element, int64_t maxBytes) {
  std::optional<int64_t> size = getSize(shape);
  if (!size || *size > maxBytes / bytesOf(element))
    return std::nullopt;
  Tensor tensor;
  tensor.extents.assign(shape.begin(), shape.end());
  tensor.elementType = element;
  tensor.numElements = *size;
  tensor.data.resize(*size * bytesOf(element));
  return tensor;
}

int64_t Tensor::elementBytes() const { return bytesOf(elementType); }

//===-- Elements --===//

/// Value of the low bits of `bits` as a number of the narrow float `type`.
static double decodeFloat(FloatType type, uint64_t bits) {
  llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(type.getWidth(), bits));
  if (value.isNaN()) // Not every format's NaN survives APFloat's conversion (f8E8M0FNU's becomes infinity).
    return std::numeric_limits<double>::quiet_NaN();
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

static uint64_t encodeFloat(FloatType type, double x) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  llvm::APFloat value(x);
  // These two formats lack values that APFloat's conversion would have to produce.
  if (isa<Float4E2M1FNType>(type))
    value = llvm::APFloat(std::isnan(x) ? 0.0 : std::clamp(x, -6.0, 6.0));
  if (isa<Float8E8M0FNUType>(type) && (value.isNaN() || value.isNegative() || value.isZero() || value.isInfinity()))
    return 0xff;
  bool losesInfo;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

Scalar Tensor::load(int64_t index) const {
  uint64_t bits = 0;
  int64_t width = elementBytes();
  std::memcpy(&bits, data.data() + index * width, width);
  Scalar scalar;
  scalar.i = bits;
  auto type = dyn_cast<FloatType>(elementType);
  if (!type) {
    scalar.i = bits & maskOf(bitsOf(elementType));
  } else if (type.isF32()) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    scalar.f = value;
  } else if (!type.isF64()) {
    scalar.f = decodeFloat(type, bits & maskOf(type.getWidth()));
  }
  return scalar;
}

void Tensor::store(int64_t index, Scalar value) {
  uint64_t bits = value.i;
  auto type = dyn_cast<FloatType>(elementType);
  if (!type) {
    bits &= maskOf(bitsOf(elementType));
  } else if (type.isF32()) {
    float narrow = static_cast<float>(value.f);
    std::memcpy(&bits, &narrow, sizeof(narrow));
  } else if (!type.isF64()) {
    bits = encodeFloat(type, value.f);
  }
  int64_t width = elementBytes();
  std::memcpy(data.data() + index * width, &bits, width);
}

void Tensor::copyElement(int64_t to, const Tensor &source, int64_t from) {
  int64_t width = elementBytes();
  std::memcpy(data.data() + to * width, source.data.data() + from * width, width);
}

std::vector<Scalar> Tensor::loadAll() const {
  std::vector<Scalar> all(numElements);
  for (int64_t i = 0; i < numElements; ++i)
    all[i] = load(i);
  return all;
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.extents.assign(shape.begin(), shape.end());
  return result;
}

//===-- Attributes and packed bytes --===//

/// Fills `tensor` from whole-byte elements, or from one that stands for all.
static bool fill(Tensor &tensor, ArrayRef<char> raw, bool isSplat) {
  int64_t width = tensor.elementBytes();
  if (isSplat) {
    if (int64_t(raw.size()) < width)
      return false;
    for (int64_t i = 0; i < tensor.size(); ++i)
      std::memcpy(tensor.bytes().data() + i * width, raw.data(), width);
    return true;
  }
  if (raw.size() != tensor.bytes().size())
    return false;
  llvm::copy(raw, tensor.bytes().begin());
  return true;
}

std::optional<Tensor> Tensor::fromElements(ElementsAttr elements, int64_t maxBytes) {
  auto type = dyn_cast<RankedTensorType>(elements.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  std::optional<Tensor> tensor = create(type.getShape(), type.getElementType(), maxBytes);
  if (!tensor)
    return std::nullopt;
  if (auto dense = dyn_cast<DenseElementsAttr>(elements)) {
    if (type.getElementType().isInteger(1)) {
      for (auto [i, bit] : llvm::enumerate(dense.getValues<bool>()))
        tensor->data[i] = bit;
      return tensor;
    }
    return fill(*tensor, dense.getRawData(), dense.isSplat()) ? tensor : std::nullopt;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob && fill(*tensor, blob->getData(), false) ? tensor : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Tensor> Tensor::fromPacked(ArrayRef<int64_t> shape, Type element, ArrayRef<char> bytes,
                                         int64_t maxBytes) {
  std::optional<Tensor> tensor = create(shape, element, maxBytes);
  if (!tensor)
    return std::nullopt;
  unsigned bits = bitsOf(element);
  if (bits == 1 || bits >= 8) {
    if (!fill(*tensor, bytes, false))
      return std::nullopt;
    if (bits == 1)
      for (char &byte : tensor->data)
        byte = byte != 0;
    return tensor;
  }
  int64_t perByte = 8 / bits;
  if (int64_t(bytes.size()) != int64_t(llvm::divideCeil(uint64_t(tensor->size()), uint64_t(perByte))))
    return std::nullopt;
  for (int64_t i = 0; i < tensor->size(); ++i)
    tensor->data[i] = char((uint8_t(bytes[i / perByte]) >> (i % perByte * bits)) & maskOf(bits));
  return tensor;
}

std::vector<char> Tensor::toPacked() const {
  unsigned bits = bitsOf(elementType);
  if (bits == 1 || bits >= 8)
    return data;
  int64_t perByte = 8 / bits;
  std::vector<char> packed(llvm::divideCeil(uint64_t(numElements), uint64_t(perByte)));
  for (int64_t i = 0; i < numElements; ++i)
    packed[i / perByte] = char(uint8_t(packed[i / perByte]) | uint8_t(data[i]) << (i % perByte * bits));
  return packed;
}

DenseElementsAttr Tensor::toElements() const {
  if (elementType.isInteger(1)) {
    SmallVector<bool> bits;
    for (char byte : data)
      bits.push_back(byte != 0);
    return DenseElementsAttr::get(type(), bits);
  }
  // Equal elements make a splat, so that equal contents are one attribute.
  int64_t width = elementBytes();
  bool isSplat = numElements > 0 && std::memcmp(data.data(), data.data() + width, data.size() - width) == 0;
  return DenseElementsAttr::getFromRawBuffer(type(),
                                             isSplat ? ArrayRef<char>(data).take_front(width) : ArrayRef<char>(data));
}

} // namespace weft::reference
