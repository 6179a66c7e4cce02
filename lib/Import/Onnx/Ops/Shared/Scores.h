// What models of ai.onnx.ml do with scores: post transforms, and labels of classes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SCORES_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SCORES_H

#include "Expr.h"

namespace weft::onnx {

/// Numbered as in TreeEnsemble.
enum PostTransform : unsigned { None, Softmax, Logistic, SoftmaxZero, Probit };

/// Attribute `post_transform`.
mlir::FailureOr<unsigned> readPostTransform(NodeContext &n);
/// `scores`, rows x classes, transformed; null after an error.
mlir::Value transformScores(NodeContext &n, unsigned post, Expr scores);

/// The numbers that stand for the classes: attribute `numbers`, or positions in attribute `classlabels_strings` (there
/// are no tensors of strings).
mlir::FailureOr<llvm::SmallVector<int64_t>> readLabels(NodeContext &n, llvm::StringRef numbers);
/// The label of the first of the largest scores of each row.
mlir::Value labelOfLargest(NodeContext &n, llvm::ArrayRef<int64_t> labels, mlir::Value scores);
/// The second of two labels where the condition (rows x 1) holds, else the first.
mlir::Value labelOfTwo(NodeContext &n, llvm::ArrayRef<int64_t> labels, Expr isSecond);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SCORES_H
