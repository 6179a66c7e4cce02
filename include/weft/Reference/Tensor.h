// A tensor in memory with the element types of the `tg` dialect, and its ways to and from attributes and packed bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements lie in row-major order, each in its own whole number of bytes (little-endian; i1, i4, f4 and so on in one
// byte, in its low bits). That is also how a DenseElementsAttr holds them; files and weights pack sub-byte elements
// instead.
#ifndef WEFT_REFERENCE_TENSOR_H
#define WEFT_REFERENCE_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace weft::reference {

/// One element as a number: `f` for float types, `i` for integers (zero-extended from the type's width).
union Scalar {
  double f;
  uint64_t i;
};

class Tensor {
public:
  Tensor() = default;
  /// Zeros. None if the number of bytes exceeds `maxBytes` or an extent is negative.
  static std::optional<Tensor> create(llvm::ArrayRef<int64_t> shape, mlir::Type element, int64_t maxBytes);
  /// From an attribute's elements (dense or resource); none if it is of another kind, its resource is gone, or it is
  /// too large.
  static std::optional<Tensor> fromElements(mlir::ElementsAttr elements, int64_t maxBytes);
  /// From bytes as a weight or file holds them (sub-byte elements packed, low bits first); none if their number is
  /// wrong.
  static std::optional<Tensor> fromPacked(llvm::ArrayRef<int64_t> shape, mlir::Type element, llvm::ArrayRef<char> bytes,
                                          int64_t maxBytes);

  llvm::ArrayRef<int64_t> shape() const { return extents; }
  int64_t rank() const { return extents.size(); }
  int64_t dim(int64_t d) const { return extents[d]; }
  mlir::Type element() const { return elementType; }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementType); }
  int64_t size() const { return numElements; }
  llvm::ArrayRef<char> bytes() const { return data; }
  llvm::MutableArrayRef<char> bytes() { return data; }
  /// Bytes from one element to the next.
  int64_t elementBytes() const;
  /// The static tensor type.
  mlir::RankedTensorType type() const { return mlir::RankedTensorType::get(extents, elementType); }

  /// Element `index` of the row-major order. Floats come exactly.
  Scalar load(int64_t index) const;
  /// Sets an element. Floats round to nearest even, with overflow to infinity (or NaN where the type has none; f4
  /// saturates); integers keep their low bits.
  void store(int64_t index, Scalar value);
  void copyElement(int64_t to, const Tensor &source, int64_t from);
  /// All elements as scalars.
  std::vector<Scalar> loadAll() const;

  /// Same elements under another shape of equal size.
  Tensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// The attribute of type `type()`.
  mlir::DenseElementsAttr toElements() const;
  /// Bytes with sub-byte elements packed, low bits first (i1 stays a byte each).
  std::vector<char> toPacked() const;

private:
  llvm::SmallVector<int64_t> extents;
  mlir::Type elementType;
  int64_t numElements = 0;
  std::vector<char> data;
};

/// Row-major strides in elements.
llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape);
/// Product of extents; none if one is negative or the product exceeds 2^62.
std::optional<int64_t> getSize(llvm::ArrayRef<int64_t> shape);
/// Signed value of an integer scalar of `width` bits.
inline int64_t signExtend(uint64_t bits, unsigned width) {
  return width >= 64 ? int64_t(bits) : int64_t(bits << (64 - width)) >> (64 - width);
}
/// Text such as `2x3xf32`.
std::string formatShape(llvm::ArrayRef<int64_t> shape, mlir::Type element);

} // namespace weft::reference

#endif // WEFT_REFERENCE_TENSOR_H
