// Geometry of sliding windows (Conv, pooling): attributes read and checked, padding resolved, output extents.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_WINDOW_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_WINDOW_H

#include "Common.h"

namespace weft::onnx {

/// Largest size, stride, dilation or padding that handlers accept; sums and products of two fit 64 bits.
inline constexpr int64_t maxWindowParameter = (int64_t(1) << 31) - 1;

/// The window along one spatial dimension.
struct WindowDim {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t low = 0, high = 0; ///< Padding before and after, not negative.
  int64_t overhang = 0;      ///< Elements that the last window needs beyond the padding (ceil_mode).
  mlir::AffineExpr output;   ///< Number of window positions.
  mlir::AffineExpr first;    ///< SAME over a symbolic extent: index of the first window in the padded operand.

  /// Elements from the first to the last tap.
  int64_t reach() const { return (size - 1) * dilation + 1; }
};
using Windows = llvm::SmallVector<WindowDim, 3>;

/// Attribute `name` of `count` integers in [min, maxWindowParameter]; `def` repeated when absent.
mlir::FailureOr<llvm::SmallVector<int64_t>> readWindowInts(NodeContext &c, llvm::StringRef name, size_t count,
                                                           int64_t min, int64_t def);

/// Windows over the spatial dimensions (2..) of `x` with the given kernel sizes, from the attributes strides,
/// dilations, pads, auto_pad and, if `mayCeil`, ceil_mode. The kernel fits at least once.
mlir::FailureOr<Windows> readWindows(NodeContext &c, mlir::Value x, llvm::ArrayRef<int64_t> kernel, bool mayCeil);

/// Records an error if a static spatial extent (dimensions 2..) exceeds maxWindowParameter.
llvm::LogicalResult checkSpatialExtents(NodeContext &c, mlir::Value x);

/// The required attribute kernel_shape, one entry per spatial dimension of `x`.
mlir::FailureOr<llvm::SmallVector<int64_t>> readKernelShape(NodeContext &c, mlir::Value x);

/// Pads (or crops, where an amount is negative) `x` with `value`; `interior` elements go between neighbours. Amounts
/// are per dimension of `x`. Crops happen after padding.
mlir::Value padOrCrop(NodeContext &c, mlir::Value x, mlir::Value value, llvm::ArrayRef<int64_t> low,
                      llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior = {});

/// `x`, whose dimensions from `from` on are the windows', with their padding and overhang, filled with `value`, from
/// the first window on; `x` itself if there is no padding.
mlir::Value padForWindows(NodeContext &c, mlir::Value x, mlir::Value value, llvm::ArrayRef<WindowDim> windows,
                          int64_t from = 2);

/// `tg.window` over the spatial dimensions: N x C x positions x sizes.
mlir::Value takeWindows(NodeContext &c, mlir::Value x, llvm::ArrayRef<WindowDim> windows);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_WINDOW_H
