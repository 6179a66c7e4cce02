// Taps and weights of a resampling along one axis whose extents or scale are known only when the model runs: what
// ResampleTable.h lists, as tensors that the model computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLETENSORS_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLETENSORS_H

#include "ResampleFormulas.h"

namespace weft::onnx {

/// One axis; the numbers are of rank 0 and f64. The extents must be at least 1 where the model runs.
struct RuntimeAxis {
  mlir::AffineExpr input, output;
  resample::Axis<Expr> numbers;
};

struct ResampleTaps {
  mlir::Value index;  ///< i64, inside the axis: outputs x taps, or outputs for the nearest element alone.
  mlir::Value weight; ///< f64, of the same shape; null for the nearest element.
  mlir::Value
      outside; ///< i1, one for each output: its source lies outside of the axis. TfCropAndResize only; else null.
};

/// Null values after an error.
ResampleTaps makeResampleTaps(NodeContext &c, const ResampleSpec &spec, const RuntimeAxis &axis);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLETENSORS_H
