// Values of a row that are read at other positions of the same row (a rotary embedding behind a norm).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of rows has each row's sums in registers, and computes a value of the row at any position from what is in
// memory and those sums. So a slice along the reduced axis, arithmetic on it, and the concatenation that puts slices
// together again cost the arithmetic of one more element, and loads of bytes that the CTA has just read.
#ifndef WEFT_LIB_PLAN_GROUPS_ROWMOVES_H
#define WEFT_LIB_PLAN_GROUPS_ROWMOVES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/DimClasses.h"
#include "weft/Plan/Groups.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace weft::plan {

using Ops = llvm::SmallPtrSet<mlir::Operation *, 8>;

/// Of `behind`, the ops of `group` that need a sum of `reduce`'s rows: those whose results are parts of rows, and the
/// concatenations of such parts.
Ops findRowMoves(const Group &group, tg::ReduceOp reduce, const Ops &behind, const DimClasses &dims);

/// Instructions of `group` that an element of `value`, a value of rows, takes where the sums of the row are there.
int64_t countRowInstructions(mlir::Value value, const Group &group, tg::ReduceOp reduce, const DimClasses &dims);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GROUPS_ROWMOVES_H
