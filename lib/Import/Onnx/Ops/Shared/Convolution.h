// Convolutions as `tg.contract` over an affine domain; shared by Conv, ConvTranspose and the integer convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_CONVOLUTION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_CONVOLUTION_H

#include "Window.h"

namespace weft::onnx {

/// How the weights of a convolution are laid out.
struct ConvWeights {
  int64_t groups = 1;
  int64_t inPerGroup = 1;
  int64_t outPerGroup = 1;
  bool transposed = false;           ///< C x M/g x kernel (ConvTranspose) instead of M x C/g x kernel.
  llvm::SmallVector<int64_t> kernel; ///< Spatial sizes.

  int64_t channelsIn() const { return groups * inPerGroup; }
  int64_t channelsOut() const { return groups * outPerGroup; }
};

/// Reads `group` and (if given) `kernel_shape`, checks `x` (N x C x spatial) and `w` against them. 1 to 3 spatial
/// dimensions; all extents of `w` static.
mlir::FailureOr<ConvWeights> readConvWeights(NodeContext &c, mlir::Value x, mlir::Value w, bool transposed);

/// y[n, m, o..] = sum over c, k.. of x[n, c, o * stride + k * dilation, ..] * w[m, c, k..], in element type `element`.
/// `x` is padded already; `windows` gives sizes, strides, dilations and output extents. The domain is (n, [g], [oc],
/// o.., [ic], k..): dimensions that a grouping makes 1 and kernel dimensions of size 1 are left out.
mlir::Value convolve(NodeContext &c, mlir::Value x, mlir::Value w, const ConvWeights &weights,
                     llvm::ArrayRef<WindowDim> windows, mlir::Type element);

/// `y` (N x M x spatial) plus a bias of M elements; `y` itself if `bias` is null.
mlir::Value addChannelBias(NodeContext &c, mlir::Value y, mlir::Value bias);

/// A vector of M elements (or one element) as 1 x M x 1.. of rank `rank`.
mlir::FailureOr<mlir::Value> asChannels(NodeContext &c, mlir::Value vector, mlir::AffineExpr channels, int64_t rank,
                                        llvm::StringRef what);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_CONVOLUTION_H
