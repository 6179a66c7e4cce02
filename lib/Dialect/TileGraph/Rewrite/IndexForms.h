// Integers that are functions of indices and extents alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_INDEXFORMS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_INDEXFORMS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

using Places = llvm::SmallVector<mlir::AffineExpr>;

/// The indices of operand `i` of an elementwise op that is asked for at `at`.
Places getOperandPlaces(mlir::Operation *op, unsigned i, llvm::ArrayRef<mlir::AffineExpr> at);
/// The indices of the operand of a transposition, broadcast, slice or reshape that is asked for at `at`; none of other
/// ops, and of reshapes that take dimensions apart.
std::optional<Places> getViewedPlaces(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> at);

/// What stands for integers at these indices that depend on data; null if nothing does.
using DataForm = llvm::function_ref<mlir::AffineExpr(mlir::Value, llvm::ArrayRef<mlir::AffineExpr>)>;
/// The integer that `value` is at `at`, over the dimensions of `at`, the module's symbols and what `data` says; null if
/// there is none.
mlir::AffineExpr getIndexForm(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> at, DataForm data = {},
                              unsigned depth = 32);

/// Integers from memory, `factor` times.
struct DataTerm {
  mlir::Value value;
  Places at;
  int64_t factor = 1;
};
/// factors . dims + rest + data >= 0, `rest` without dimensions.
struct PlaceForm {
  llvm::SmallVector<int64_t> factors;
  mlir::AffineExpr rest;
  llvm::SmallVector<DataTerm, 1> data;
};
/// `expr` as such a sum; none if it is not linear.
std::optional<PlaceForm> splitLinear(mlir::AffineExpr expr, unsigned dims);

/// What a program's symbols are known to be: their ranges, and what it checks before it runs.
class SymbolFacts {
public:
  explicit SymbolFacts(mlir::Operation *op);
  /// Whether `expr`, without dimensions, is at least 0 in every run.
  bool isNonNegative(mlir::AffineExpr expr) const;
  /// The same for every element of a tensor of extents `dims`.
  bool isNonNegative(const PlaceForm &form, llvm::ArrayRef<mlir::AffineExpr> dims) const;
  /// Whether `index`, linear in places of a tensor of extents `dims`, is in [0, extent) at all of them.
  bool isInside(mlir::AffineExpr index, mlir::AffineExpr extent, llvm::ArrayRef<mlir::AffineExpr> dims) const;

private:
  bool isShown(mlir::AffineExpr expr) const;

  llvm::SmallVector<std::pair<int64_t, int64_t>> ranges;
  llvm::SmallVector<mlir::AffineExpr> facts; ///< Each at least 0.
};

/// The indices of the data of a gather that is asked for at `at`, dimensions of a tensor of extents `dims`: where its
/// indices are functions of indices and extents that are in bounds in every run, so that none wraps or is clamped. Else
/// none.
std::optional<Places> getGatheredPlaces(GatherOp op, llvm::ArrayRef<mlir::AffineExpr> at,
                                        llvm::ArrayRef<mlir::AffineExpr> dims, const SymbolFacts &facts);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_INDEXFORMS_H
