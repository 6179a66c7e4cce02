// Reading tensors at computed indices: taps along each dimension, flat gathers, weighted sums of taps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GridSample, DeformConv and RoiAlign compute coordinates at run time. Along each spatial dimension a coordinate gives
// one or a few taps (index, weight, whether it lies inside); their product over the dimensions is a small box of
// elements around each sample.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SAMPLING_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SAMPLING_H

#include "Common.h"
#include "Expr.h"

namespace weft::onnx {

/// Taps along one dimension; all tensors have the coordinate's shape and one trailing dimension of taps.
struct AxisTaps {
  mlir::Value index;  ///< i64, inside the dimension.
  mlir::Value weight; ///< Null: 1.
  mlir::Value inside; ///< i1; null: all taps count.
};

/// The combination of the taps of all spatial dimensions: extents are the coordinates' shape and one tap dimension per
/// spatial dimension.
struct BoxTaps {
  mlir::Value index;  ///< i64, flat over the spatial dimensions.
  mlir::Value weight; ///< Null: 1.
  mlir::Value inside; ///< Null: all taps count.
  unsigned spatial = 0;
};

/// `value` with a trailing dimension of extent 1.
mlir::Value withTapDim(NodeContext &c, mlir::Value value);

/// The spatial extents (dimensions 2..) of `x`, each in [1, 2^24]: coordinates are f32, which counts exactly up to
/// there. Symbolic ones are checked when the model runs.
mlir::FailureOr<tg::Dims> sampledExtents(NodeContext &c, mlir::Value x);

/// The two taps of linear interpolation at `coordinate` (a float tensor, in elements) over elements 0 to `last` (of
/// rank 0 and the same type), outside ones marked.
AxisTaps linearTaps(Expr coordinate, Expr last);

/// Combines taps of the dimensions with extents `extents`, outermost first.
BoxTaps combineTaps(NodeContext &c, llvm::ArrayRef<AxisTaps> axes, llvm::ArrayRef<mlir::AffineExpr> extents);

/// Sum over the taps of weight * element, 0 for taps outside. `x` is batch.. x channels x plane, the taps' shape
/// batch.. x samples.. x taps..; the result batch.. x channels x samples.., of the element type of the weights (of `x`
/// without weights).
mlir::Value sampleBox(NodeContext &c, mlir::Value x, int64_t batchDims, const BoxTaps &taps);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SAMPLING_H
