// Canonicalisations that others than the canonicaliser apply.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_CANONICALIZE_H
#define WEFT_DIALECT_TILEGRAPH_IR_CANONICALIZE_H

#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// transpose(scatter(transpose(x), ..)) is scatter(x, ..), if the transposes are inverse to each other.
llvm::LogicalResult moveScatterBeforeTranspose(TransposeOp op, mlir::PatternRewriter &rewriter);

/// That, updates that are transposed, and indices that are the same along dimensions.
void populateScatterPatterns(mlir::RewritePatternSet &patterns);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_CANONICALIZE_H
