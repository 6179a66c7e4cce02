// Greedy non-maximum suppression: boxes in the order of their scores, each unless it overlaps one kept before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NONMAXSUPPRESSION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NONMAXSUPPRESSION_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// Operands as ONNX NonMaxSuppression has them; the thresholds and the count are of rank 0.
struct SuppressionArgs {
  mlir::Value boxes;          ///< Batches x boxes x 4, floats.
  mlir::Value scores;         ///< Batches x classes x boxes, floats.
  mlir::Value maxPerClass;    ///< i64: boxes kept of each class of each batch entry.
  mlir::Value iouThreshold;   ///< f32: a box that overlaps a kept one by more (intersection over union) is dropped.
  mlir::Value scoreThreshold; ///< f32: boxes must score more; null: all take part.
  bool centerFormat = false;  ///< (x, y, width, height) instead of two opposite corners (y, x, y, x).
};

/// Kept boxes as triples (batch, class, box), best first within a class: i64, kept x 3, of which the program binds the
/// first extent. A loop of the program has one turn for each box that scores enough. Null after an error.
mlir::Value suppressNonMaxima(NodeContext &ctx, const SuppressionArgs &args);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NONMAXSUPPRESSION_H
