// Edges between the ops inside of a fold, which to the plan is one op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who put them into one kernel is the derivation of folds (lib/Dialect/TileGraph/Rewrite/DeriveFolds.cpp), not the
// planner. They are those of `update` and `finish`; `merge` runs in folds that are cut in parts only, which have it as
// a fold of their own.
#ifndef WEFT_PLAN_FOLDEDGES_H
#define WEFT_PLAN_FOLDEDGES_H

#include "weft/Dialect/TileGraph/IR/Fold.h"

namespace weft::plan {

/// The fold that an op is in, or null.
tg::FoldOp getFoldOf(mlir::Operation *op);

/// The ops inside of a fold that read `value`, which an op inside of it makes, each once. A state that `update` yields
/// is read by the next step and by `finish`.
llvm::SmallVector<mlir::Operation *> readersInFold(mlir::Value value);

/// Calls `found` with each value and each of its readers inside of `fold`, in program order. Constants are no edges.
void forEachFoldEdge(tg::FoldOp fold, llvm::function_ref<void(mlir::Value, mlir::Operation *)> found);

} // namespace weft::plan

#endif // WEFT_PLAN_FOLDEDGES_H
