// `tg.fold`, apart from the other ops because few rooms know it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_FOLD_H
#define WEFT_DIALECT_TILEGRAPH_IR_FOLD_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/FoldOps.h.inc"

namespace weft::tg {

/// Whether `op` is a reduction of the streamed dimension in the update of a fold.
inline bool isStreamed(mlir::Operation *op) { return op->hasAttr(FoldOp::streamedAttr); }

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_FOLD_H
