// Pattern sets and rewrites shared by the CPU passes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_PATTERNS_H
#define WEFT_LIB_LOWER_CPU_PATTERNS_H

namespace mlir {
class Operation;
class RewritePatternSet;
} // namespace mlir

namespace weft::cpu {

/// tensor.pad by a constant as a generic.
void populatePadToGeneric(mlir::RewritePatternSet &patterns);
/// Elementwise producers into the elements that a generic's body extracts from them.
void populateInlineExtract(mlir::RewritePatternSet &patterns);
/// `select(inside, load x[select(inside, i, 0)], padding)` below `root` becomes a conditional load of x[i].
void guardPaddedLoads(mlir::Operation *root);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_PATTERNS_H
