// Sums of f16 and bf16 that a file writes apart from what makes them small again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ReduceMean, ReduceL2 and ReduceSumSquare round once. Tools write the same as ReduceSum with a product or a root
// behind it and squares in front; rounded there, a sum of squares exceeds the largest f16 where its mean would not.
// Such nodes are imported as the one operator that they are: no result has more roundings than before.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NARROWSUMS_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NARROWSUMS_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// Squares (x * x, x ^ 2) of f16 or bf16 before they are rounded, in f32; null for other values.
mlir::Value unroundedSquares(NodeContext &ctx, mlir::Value value);

/// `sum` times (`divides`: by) `factor`, rounded once, if `sum` is one over axes of f16 or bf16 and `factor` makes it
/// their mean, up to the rounding of `factor` itself; else null.
mlir::Value meanOfSum(NodeContext &ctx, mlir::Value sum, mlir::Value factor, bool divides);

/// The root of `sum`, rounded once, if that is a sum over axes of f16 or bf16; else null.
mlir::Value rootOfSum(NodeContext &ctx, mlir::Value sum);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NARROWSUMS_H
