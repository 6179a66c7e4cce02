// Contractions of operands whose dimensions carry labels: what MatMul, Gemm, Einsum and attention reduce to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_CONTRACTION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_CONTRACTION_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// A value and one label for each of its dimensions. Labels are any numbers; within an operand they are distinct.
struct Labeled {
  mlir::Value value;
  llvm::SmallVector<int> labels;
};

/// Sum of products over the labels that `result` lacks; the result's dimensions are labelled `result`, its elements are
/// of type `element`. Extents of a label agree or are static 1 in one operand, which then stretches. Every label of
/// `result` is one of an operand's. Without labels to sum, an elementwise product. Null in, null out.
mlir::Value contractLabeled(NodeContext &n, Labeled lhs, Labeled rhs, llvm::ArrayRef<int> result, mlir::Type element);

/// numpy's matmul of operands of any rank from 1 on, with elements of type `element`.
mlir::Value matmul(NodeContext &n, mlir::Value lhs, mlir::Value rhs, mlir::Type element);

/// Gemm: alpha * A' * B' + beta * C, where ' transposes on demand; C may be null and stretches to the product's shape.
struct GemmArgs {
  mlir::Value a, b, c;
  double alpha = 1, beta = 1;
  bool transA = false, transB = false;
};
/// Operands of rank 2 and one element type. The result is in the compute type if anything but the product is left to
/// do, so that f16 and bf16 round once: the caller casts.
mlir::Value gemm(NodeContext &n, const GemmArgs &args);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_CONTRACTION_H
