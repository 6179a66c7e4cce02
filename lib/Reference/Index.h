// Walking multi-dimensional index spaces and evaluating affine maps on them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_REFERENCE_INDEX_H
#define WEFT_LIB_REFERENCE_INDEX_H

#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace weft::reference {

/// Counts through the points of a box in row-major order.
class Odometer {
public:
  explicit Odometer(llvm::ArrayRef<int64_t> shape) : shape(shape), point(shape.size(), 0) {}
  llvm::ArrayRef<int64_t> operator*() const { return point; }
  /// The next point; wraps around at the end.
  void advance() {
    for (size_t d = shape.size(); d-- > 0;) {
      if (++point[d] < shape[d])
        return;
      point[d] = 0;
    }
  }

private:
  llvm::ArrayRef<int64_t> shape;
  llvm::SmallVector<int64_t> point;
};

inline int64_t dot(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// base + sum of strides[d] * point[d].
struct LinearForm {
  int64_t base = 0;
  llvm::SmallVector<int64_t> strides;
  int64_t operator()(llvm::ArrayRef<int64_t> point) const { return base + dot(strides, point); }
};

/// `expr` as a linear form of its dimensions; none if it is not one, or overflows.
std::optional<LinearForm> linearize(mlir::AffineExpr expr, unsigned numDims);

/// Where a map from a domain leads in a row-major tensor.
class Access {
public:
  /// `extents` is the domain's box, `shape` the tensor's. None if the map is linear and leaves the tensor (a box
  /// without points does not).
  static std::optional<Access> create(mlir::AffineMap map, llvm::ArrayRef<int64_t> extents,
                                      llvm::ArrayRef<int64_t> shape);
  /// The whole map as one linear form of element offsets, if it is linear; then every point of the box is in bounds.
  const LinearForm *linear() const { return isLinear ? &form : nullptr; }
  /// Element offset of a point; none if it is out of bounds.
  std::optional<int64_t> offset(llvm::ArrayRef<int64_t> point) const;

private:
  mlir::AffineMap map;
  llvm::SmallVector<int64_t> shape, strides;
  bool isLinear = false;
  LinearForm form;
};

} // namespace weft::reference

#endif // WEFT_LIB_REFERENCE_INDEX_H
