// Concatenations whose parts are computed together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_JOINCONCATS_H
#define WEFT_DIALECT_TILEGRAPH_REWRITE_JOINCONCATS_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"

namespace weft::tg {

/// Replaces each concatenation below `root`, outside of folds, by what `join` makes for it (null: it stays), and tells
/// `joined` of it before. The parts are dead then, and go.
inline void joinConcats(mlir::Operation *root, llvm::function_ref<mlir::Value(ConcatOp)> join,
                        llvm::function_ref<void(ConcatOp)> joined) {
  llvm::SmallVector<ConcatOp> concats;
  root->walk([&](ConcatOp concat) {
    if (!concat->getParentOfType<FoldOp>())
      concats.push_back(concat);
  });
  bool joins = false;
  for (ConcatOp concat : concats) {
    mlir::Value whole = join(concat);
    if (!whole)
      continue;
    joined(concat);
    concat.getResult().replaceAllUsesWith(whole);
    joins = true;
  }
  mlir::IRRewriter rewriter(root->getContext());
  if (joins)
    (void)mlir::runRegionDCE(rewriter, root->getRegions());
}

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_JOINCONCATS_H
