// A strict total order of (element, index) pairs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_KERNELIZE_ORDER_H
#define WEFT_LIB_KERNELIZE_ORDER_H

#include "mlir/IR/Builders.h"

namespace weft::kernelize {

/// Greater (or smaller) elements come first; of equal ones the lower index, or the higher one.
struct Order {
  mlir::Type element; ///< tg element type; scalars are accumulators.
  bool largest;
  bool nanIsFirst;        ///< NaN comes before all numbers, else after them.
  bool lastIndex = false; ///< Of equal elements the one with the higher index comes first.

  /// Whether element x at index i comes before element y at index j. i1.
  mlir::Value precedes(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value i, mlir::Value y,
                       mlir::Value j) const;
  /// An element, of the held type, that comes after every other one, if its index is `noIndex`.
  mlir::TypedAttr last() const;
  /// An index, of integer type `type`, after all others in the order of indices.
  mlir::TypedAttr noIndex(mlir::Type type) const;

private:
  mlir::Value better(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x, mlir::Value y) const;
};

} // namespace weft::kernelize

#endif // WEFT_LIB_KERNELIZE_ORDER_H
