// Rules without a price: what they build is the canonical form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CANONICAL_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CANONICAL_H

#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"

namespace weft::tg {

/// A pattern for each canonical rule of these families. Each rewrite has a remark of category `rewrite`.
void populateCanonicalRules(mlir::RewritePatternSet &patterns, llvm::ArrayRef<llvm::StringRef> families);

/// For each canonical rule of these families that matches an op in `root` why it was not applied: a remark (missed) of
/// category `rewrite` with the guard that failed. To be called where the rules are at their fixpoint; does nothing
/// where nobody listens to remarks. Leaves the IR as it was.
void emitMissedRules(mlir::Operation *root, llvm::ArrayRef<llvm::StringRef> families);

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_RULES_CANONICAL_H
