// Kinds of contractions, by what they are to a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The *anchor* of a kernel is the contraction whose tiles it computes. An *inner* contraction is needed by another
// contraction, a fold or a reduction of the same block: its elements are computed where that one reads them.
#ifndef WEFT_DIALECT_TILEGRAPH_IR_CONTRACTIONS_H
#define WEFT_DIALECT_TILEGRAPH_IR_CONTRACTIONS_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// The most terms of an element that are summed up without a loop.
constexpr int64_t mostTerms = 25;

/// The terms of each element of the result, where they are known and at most `mostTerms`.
std::optional<int64_t> countTerms(ContractOp contract);

/// Whether the contraction is arithmetic place by place: few terms, and one operand (the weights of a depthwise
/// window) has no dimension of its own, so that there is no product of tiles.
bool isWindowSum(ContractOp contract);

/// Whether one operand has no dimension of its own but reduced ones: a matrix by a vector, or a window sum.
bool hasNoTiles(ContractOp contract);

/// Whether a contraction, fold or reduction of the same block needs the result; but for sums of parts of rows
/// (`findRowParts`) of a product whose elements leave the block, too.
bool isInner(ContractOp contract);

/// Sums (or another monoid's) of parts of a tensor's rows: `reduce` along the last dimension of the reshaped tensor,
/// [..., n] to [..., n / places, places]. What is summed up may have a result's tiles; each of as many columns makes
/// one element of a row.
struct RowParts {
  ReduceOp reduce;
  mlir::Value summed;
  int64_t places = 0;
  llvm::SmallVector<int64_t> permutation; ///< Of the reduction's dimensions, in which the value has them.
};
/// The row parts that `value` is, or of which it is a transposition; none if it is something else.
std::optional<RowParts> findRowParts(mlir::Value value);
/// Those among the results of a kernel.
llvm::SmallVector<RowParts> findRowParts(mlir::ValueRange results);

/// The first contraction of `block` that is not inner; null if there is none.
ContractOp findAnchor(mlir::Block &block);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_CONTRACTIONS_H
