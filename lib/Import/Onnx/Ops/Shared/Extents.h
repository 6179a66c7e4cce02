// Arithmetic on symbolic extents, and movement along one axis by symbolic offsets, shared by shape operators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_EXTENTS_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_EXTENTS_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// Product of `dims`.
mlir::AffineExpr productOf(NodeContext &ctx, llvm::ArrayRef<mlir::AffineExpr> dims);

/// (product of `dividend`) / (product of `divisor`), with equal factors and common constants cancelled; the rest
/// becomes a floordiv.
mlir::AffineExpr divideProducts(NodeContext &ctx, llvm::ArrayRef<mlir::AffineExpr> dividend,
                                llvm::ArrayRef<mlir::AffineExpr> divisor);

/// Elements offset, offset + stride, ... (`size` of them) along `axis`; all indices are in bounds. A symbolic offset
/// makes a gather.
mlir::Value takeRange(NodeContext &ctx, mlir::Value value, int64_t axis, mlir::AffineExpr offset, mlir::AffineExpr size,
                      int64_t stride);

/// r[.., i.., ..] = data[.., indices[i..], ..] along `axis`: the indices' dimensions replace the axis.
mlir::Value takeAlong(NodeContext &ctx, mlir::Value data, mlir::Value indices, int64_t axis);

/// 0, 1, ... `extent` - 1 as 1-D i64.
mlir::Value iota(NodeContext &ctx, mlir::AffineExpr extent);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_EXTENTS_H
