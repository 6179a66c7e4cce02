// Pattern sets shared by the CPU passes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_PATTERNS_H
#define WEFT_LIB_LOWER_CPU_PATTERNS_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace weft::cpu {

/// tensor.pad by a constant as a generic.
void populatePadToGeneric(mlir::RewritePatternSet &patterns);
/// Pointwise producers into the elements that a generic's body extracts from them.
void populateInlineExtract(mlir::RewritePatternSet &patterns);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_PATTERNS_H
