// Canonicalisation patterns of views: compositions of views of one kind become one view. Exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](TransposeOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto inner = op.getInput().getDefiningOp<TransposeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a transpose");
    SmallVector<int64_t> permutation;
    for (int64_t d : op.getPermutation())
      permutation.push_back(inner.getPermutation()[d]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, inner.getInput(), permutation);
    return success();
  });
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(+[](ReshapeOp op, PatternRewriter &rewriter) -> LogicalResult {
    auto inner = op.getInput().getDefiningOp<ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a reshape");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getInput());
    return success();
  });
}
