// Normalisations that ai.onnx and com.microsoft operators share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NORMALIZE_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NORMALIZE_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// Attributes of a normalisation over trailing dimensions.
struct NormAttrs {
  int64_t axis = 0; ///< First normalised dimension, not negative.
  double epsilon = 1e-5;
  mlir::Type stash; ///< Element type of the statistics.
};

/// Reads `axis` (default -1), `epsilon` (default `epsilon`) and `stash_type` (default f32) for an operand `x`.
mlir::FailureOr<NormAttrs> readNormAttrs(NodeContext &n, mlir::Value x, double epsilon = 1e-5);

struct LayerNorm {
  mlir::Value result, mean, invStd;
};
/// (x - mean) / sqrt(variance + epsilon) * scale + bias; `bias` may be null. Null results after an error.
LayerNorm layerNorm(NodeContext &n, mlir::Value x, mlir::Value scale, mlir::Value bias, const NormAttrs &attrs);
/// x / sqrt(mean(x^2) + epsilon) * scale. The result has the element type of `scale`.
mlir::Value rmsNorm(NodeContext &n, mlir::Value x, mlir::Value scale, const NormAttrs &attrs);
/// 1 / sqrt(mean(x^2) + epsilon) in the stash type, with extents 1 in the normalised dimensions.
mlir::Value inverseRms(NodeContext &n, mlir::Value x, const NormAttrs &attrs);
/// Handler of the operators x, scale -> rmsNorm, inverseRms (optional, where the operator has it).
mlir::LogicalResult importRmsNorm(NodeContext &n);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_NORMALIZE_H
