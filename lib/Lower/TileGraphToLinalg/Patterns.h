// The lowering's patterns by family, and the one mechanism by which they look through views.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEGRAPHTOLINALG_PATTERNS_H
#define WEFT_LIB_LOWER_TILEGRAPHTOLINALG_PATTERNS_H

#include "KernelBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace weft::lower {

/// How an op whose iteration domain reads the tg value `value` through `map` (domain -> indices of `value`) reads the
/// converted tensors: the views that produce `value` (tg.transpose, tg.broadcast, tg.window, and reshapes that only add
/// dimensions of extent 1) are composed into the map. The composed map may leave a domain dimension without an extent
/// of its own; `KernelBuilder::generic` mends that.
Access resolveAccess(mlir::ConversionPatternRewriter &rewriter, mlir::Value value, mlir::AffineMap map);

using Converter = const mlir::TypeConverter &;
void populatePointwisePatterns(Converter converter, mlir::RewritePatternSet &patterns);
void populateContractionPatterns(Converter converter, mlir::RewritePatternSet &patterns);
void populateReductionPatterns(Converter converter, mlir::RewritePatternSet &patterns);
void populateViewPatterns(Converter converter, mlir::RewritePatternSet &patterns);
void populateAssemblyPatterns(Converter converter, mlir::RewritePatternSet &patterns);
void populateGatherScatterPatterns(Converter converter, mlir::RewritePatternSet &patterns);
void populateOrderPatterns(Converter converter, mlir::RewritePatternSet &patterns, int64_t selectionLimit);
void populateStructurePatterns(Converter converter, mlir::RewritePatternSet &patterns);

/// Gives `function` its plain signature: argument and result types become boundary types, with an
/// unrealized_conversion_cast between each and its tg type. The boundary patterns then turn the casts into nothing, or
/// into packing of sub-byte elements.
void rewriteSignature(mlir::FunctionOpInterface function);
void populateBoundaryPatterns(Converter converter, mlir::RewritePatternSet &patterns);

} // namespace weft::lower

#endif // WEFT_LIB_LOWER_TILEGRAPHTOLINALG_PATTERNS_H
