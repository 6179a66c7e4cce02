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

/// Whether the contraction is arithmetic element by element: few terms, and one operand (the weights of a depthwise
/// window) has no dimension of its own, so that there is no product of tiles.
bool isWindowSum(ContractOp contract);

/// Whether one operand has no dimension of its own but reduced ones: a matrix by a vector, or a window sum.
bool hasNoTiles(ContractOp contract);

/// Whether a contraction, fold or reduction of the same block needs the result; but for sums of parts (`findTileParts`)
/// of a product whose elements leave the block, too.
bool isInner(ContractOp contract);

/// Sums (or another monoid's) of parts of a tensor, as large as a product's tiles are along one side: `reduce` along R
/// of [a..., P, R, b...], which elementwise ops make of a reshape of `whole`, [a..., g..., b...] with P R elements in
/// g. A tile of all results that has R elements along g, one after the other, makes one element of each of its other
/// elements. Parts of rows have one g and no b.
struct TileParts {
  ReduceOp reduce;
  mlir::Value whole;
  unsigned begin = 0, end = 0; ///< The dimensions g of `whole`.
  int64_t places = 0;          ///< R.

  unsigned getAxis() const { return begin + 1; } ///< That of R.
};
std::optional<TileParts> findTileParts(ReduceOp reduce);

/// The product that makes `value`, through elementwise ops of the same extents and transpositions. Dimension d of the
/// value is dimension order[d] of the product's result.
struct ProductOf {
  ContractOp product;
  llvm::SmallVector<int64_t> order;
};
std::optional<ProductOf> findProductOf(mlir::Value value);

/// A result of a kernel that is such parts, or what elementwise ops make of them.
struct PartsResult {
  TileParts parts;
  mlir::Value value;                      ///< With the dimensions of the reduction's result.
  llvm::SmallVector<int64_t> permutation; ///< Of them, in which the result has them.
};
std::optional<PartsResult> findPartsResult(mlir::Value result);
/// Those among the results of a kernel.
llvm::SmallVector<PartsResult> findPartsResults(mlir::ValueRange results);

/// The first contraction of `block` that is not inner; null if there is none.
ContractOp findAnchor(mlir::Block &block);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_CONTRACTIONS_H
