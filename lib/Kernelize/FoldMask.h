// Values of a fold's update whose masking makes a step leave the states as they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_KERNELIZE_FOLDMASK_H
#define WEFT_LIB_KERNELIZE_FOLDMASK_H

#include "weft/Dialect/TileGraph/IR/Fold.h"

namespace weft::kernelize {

/// Whether the -inf that `select` chooses in some places is its first choice, or its second one; none if it chooses no
/// -inf.
std::optional<bool> choosesNegInf(tg::SelectOp select);

/// Whether one step of `fold` in which all of `masked` is -inf yields the states that it took.
bool keepsStates(tg::FoldOp fold, mlir::Value masked);

} // namespace weft::kernelize

#endif // WEFT_LIB_KERNELIZE_FOLDMASK_H
