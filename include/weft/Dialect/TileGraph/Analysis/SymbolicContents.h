// What small integer tensors hold, as expressions of the module's symbols: the arithmetic that models do on shapes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_SYMBOLICCONTENTS_H
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_SYMBOLICCONTENTS_H

#include "mlir/IR/Value.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace weft::tg {

/// Computes contents of integer and boolean tensors, and of floats that hold integers, through constants, extents,
/// index arithmetic and data movement. Every result holds for all extents >= 0 of the symbols, without overflow of i64
/// in mind: shape arithmetic is exact. Remembers what it computed; drop the object when the IR changes.
class SymbolicContents {
public:
  /// Tensors with more elements are not followed.
  static constexpr int64_t maxElements = 1024;
  /// Chains of more ops are not followed (in one query).
  static constexpr unsigned maxDepth = 256;

  /// The elements of `value` in row-major order; booleans are 0 and 1. None if they are not known.
  std::optional<Dims> get(mlir::Value value);
  /// Says what `value` holds: symbols that its elements are bound to.
  void set(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> contents) { known[value] = Dims(contents); }

private:
  std::optional<Dims> compute(mlir::Value value);
  std::optional<Dims> roundedQuotient(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, std::optional<Dims>> known;
  unsigned depth = 0;
};

/// Whether `expr` is at least 0 for all symbols >= 0. False means "not known".
bool isNonNegative(mlir::AffineExpr expr);
/// Sign of a - b (-1, 0, 1) if it is the same for all symbols >= 0.
std::optional<int> compareExprs(mlir::AffineExpr a, mlir::AffineExpr b);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_SYMBOLICCONTENTS_H
