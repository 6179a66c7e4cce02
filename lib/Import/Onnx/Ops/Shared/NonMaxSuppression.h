// Greedy non-maximum suppression on host arrays; ONNX's operator folds to a constant where boxes and scores are
// constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NONMAXSUPPRESSION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NONMAXSUPPRESSION_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace weft::onnx {

struct SuppressionSpec {
  int64_t batches = 0, classes = 0, boxes = 0;
  int64_t maxPerClass = 0;   ///< Boxes kept of each class of each batch entry; 0 keeps none.
  double iouThreshold = 0;   ///< A box that overlaps a kept one by more (intersection over union) is dropped.
  double scoreThreshold = 0; ///< Boxes must score more, if `hasScoreThreshold`.
  bool hasScoreThreshold = false;
  bool centerFormat = false; ///< (x, y, width, height) instead of two opposite corners (y, x, y, x).
};

/// Kept boxes as triples (batch, class, box), best first within a class. `boxes` is batches x boxes x 4, `scores`
/// batches x classes x boxes.
std::vector<int64_t> suppressNonMaxima(const SuppressionSpec &spec, llvm::ArrayRef<double> boxes,
                                       llvm::ArrayRef<double> scores);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NONMAXSUPPRESSION_H
