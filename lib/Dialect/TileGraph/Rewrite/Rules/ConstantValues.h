// Results of folding as ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CONSTANTVALUES_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CONSTANTVALUES_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// `elements` as a tg.constant if they are all equal or at most `maxConstantBytes`, else as a tg.weight whose bytes go
/// to the dialect's WeightStore.
mlir::Value buildConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::DenseElementsAttr elements,
                          int64_t maxConstantBytes);

/// Whether `value` is a tg.constant or tg.weight.
bool isConstantOrWeight(mlir::Value value);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CONSTANTVALUES_H
