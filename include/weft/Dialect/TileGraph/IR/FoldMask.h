// What leaves the states of a fold as they are: steps of masked values, parts without elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_FOLDMASK_H
#define WEFT_DIALECT_TILEGRAPH_IR_FOLDMASK_H

#include "weft/Dialect/TileGraph/IR/Fold.h"

namespace weft::tg {

/// Whether the -inf that `select` chooses in some elements is its first choice, or its second one; none if it chooses
/// no -inf.
std::optional<bool> choosesNegInf(SelectOp select);

/// Whether one step of `fold` in which all of `masked` is -inf yields the states that it took.
bool keepsStates(FoldOp fold, mlir::Value masked);

/// Whether `merge` of any states and the initial ones yields the former.
bool mergesInitialStates(FoldOp fold);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_FOLDMASK_H
