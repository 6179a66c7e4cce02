// Affine quantisation, real = (quantised - zero point) * scale, per tensor, per axis or per block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numerics: quantising divides in one float type, rounds half to even, adds the zero point and saturates to the
// target's range.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_QUANTIZATION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_QUANTIZATION_H

#include "Common.h"

namespace weft::onnx {

/// Whether `element` is a quantised integer type: i2..i16, signed or not.
bool isQuantizedInt(mlir::Type element);
/// Whether `element` is an 8-bit or narrower float.
bool isNarrowFloat(mlir::Type element);

/// Where the scales and zero points of a node apply.
struct QuantAxis {
  int64_t axis = 0;
  int64_t block =
      0; ///< Elements along `axis` that share a scale; 0: one scale for the tensor or for each index of `axis`.
};

/// A scale or zero point made broadcastable to `x`: rank 0 or 1 element (per tensor), rank 1 (per axis), rank of `x`
/// (blocks, repeated). Keeps its element type, except that sub-byte ones become i32. An error naming `what` if the
/// shape does not fit.
mlir::FailureOr<mlir::Value> spreadParameter(NodeContext &c, mlir::Value parameter, mlir::Value x, QuantAxis axis,
                                             llvm::StringRef what);

/// round(ratio) + zeroPoint, saturated to the integer type `target`. `ratio` is a float tensor, the quotient by the
/// scale; `zeroPoint` (may be null) broadcasts to it.
mlir::Value roundToInteger(NodeContext &c, mlir::Value ratio, mlir::Value zeroPoint, mlir::Type target);

/// roundToInteger(x / scale): computed in f32 (f64 for f64). `scale` and `zeroPoint` broadcast.
mlir::Value quantize(NodeContext &c, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint, mlir::Type target);
/// (x - zeroPoint) * scale in f32. `zeroPoint` may be null.
mlir::Value dequantize(NodeContext &c, mlir::Value x, mlir::Value scale, mlir::Value zeroPoint);

/// `x` as i32 less its zero point (null: zero), which broadcasts to it. `x` itself if there is nothing to subtract.
mlir::Value subtractZeroPoint(NodeContext &c, mlir::Value x, mlir::Value zeroPoint);

/// A tensor of ui8 with its parameters, which are data.
struct DynamicallyQuantized {
  mlir::Value tensor, scale, zeroPoint;
};

/// scale = (max(x, 0) - min(x, 0)) / 255, or 1 / 255 where that is 0; zero point = round(-min(x, 0) / scale), saturated
/// to ui8.
mlir::FailureOr<DynamicallyQuantized> quantizeDynamically(NodeContext &c, mlir::Value x);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_QUANTIZATION_H
