// A factor of a product that is computed element by element from stored tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAYOUTS_STOREDFACTOR_H
#define WEFT_LIB_PLAN_LAYOUTS_STOREDFACTOR_H

#include "StoredBytes.h"
#include "mlir/IR/AffineExpr.h"
#include <vector>

namespace weft::plan {

using Coordinates = llvm::SmallVector<mlir::AffineExpr>;

/// Integers of at most 8 bits that are no booleans.
bool isNarrow(mlir::Type element);

/// A stored tensor that the factor is computed from: element `start` plus a part for each dimension of the factor.
struct Source {
  mlir::Value value;
  Coordinates coordinates;
  StoredBytes bytes;
  int64_t bits = 0; ///< Of an element.
  int64_t start = 0;
  llvm::SmallVector<std::vector<int64_t>> parts; ///< By dimension of the factor; empty: the same everywhere.
  int64_t run = 0; ///< Elements of k that share an element are multiples of this; 0: all do.

  bool isWord() const { return run == 1 && bits < 8; }
  bool hasPart(unsigned dim) const { return !parts[dim].empty(); }
  /// The bits of element `place`.
  uint64_t read(int64_t place) const;
};

/// What a factor is computed from, and where.
class Factor {
public:
  Factor(mlir::Value root, unsigned depth) : root(root), depth(depth) {}

  /// False if it is not computed element by element from what is stored.
  bool trace();

  /// Calls `read(operand, coordinates)` for the operands of an op whose result is wanted at `at`; false where one of
  /// them is wanted at no known position.
  static bool forOperands(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> at,
                          llvm::function_ref<bool(mlir::Value, const Coordinates &)> read);

  const Source *find(mlir::Value value, const Coordinates &at) const;

  /// Whether each number that can be computed of what is stored is finite, in whichever way its parts are combined.
  bool isFinite() const;

  mlir::Value root;
  unsigned depth; ///< The dimension that is summed.
  llvm::SmallVector<int64_t> shape;
  std::vector<Source> sources;
  bool hasViews = false;

private:
  bool visit(mlir::Value value, const Coordinates &at);
  bool addSource(mlir::Value value, const Coordinates &at);
  std::optional<double> findLargest(mlir::Value value) const;

  unsigned visits = 0;
};

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAYOUTS_STOREDFACTOR_H
