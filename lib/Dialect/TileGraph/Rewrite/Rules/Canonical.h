// Rules without a price: what they build is the canonical form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CANONICAL_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CANONICAL_H

#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"

namespace weft::tg {

/// A pattern for each canonical rule of these families. Each rewrite has a remark of category `rewrite`.
void populateCanonicalRules(mlir::RewritePatternSet &patterns, llvm::ArrayRef<llvm::StringRef> families);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CANONICAL_H
