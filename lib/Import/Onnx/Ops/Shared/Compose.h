// Small idioms of operator decompositions that several categories of handlers share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All functions follow NodeContext's rules: null in, null out; a null result has a recorded error behind it.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_COMPOSE_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_COMPOSE_H

#include "weft/Import/Onnx/Handler.h"
#include <initializer_list>

namespace weft::onnx {

/// Hands over output 0, or fails if `value` is null.
inline llvm::LogicalResult deliver(NodeContext &n, mlir::Value value) {
  n.output(0, value);
  return llvm::success(bool(value));
}

/// Whether `value` has a float element type that arithmetic is defined on.
bool isFloat(NodeContext &n, mlir::Value value);
/// Whether `value` has an integer element type (booleans are none).
bool isInteger(NodeContext &n, mlir::Value value);
/// Records an error unless `value` is a tensor of f64, f32, f16 or bf16. `what` names it.
llvm::LogicalResult checkFloat(NodeContext &n, mlir::Value value, llvm::StringRef what);
/// Records an error unless all present values have the element type of `reference`.
llvm::LogicalResult checkSameElement(NodeContext &n, mlir::Value reference, llvm::ArrayRef<mlir::Value> values);
/// Element type a decomposition computes in: f32 for f16 and bf16, else `type`.
mlir::Type computeType(mlir::Type type);

/// A rank-0 constant of the element type of `like`.
mlir::Value scalarLike(NodeContext &n, double value, mlir::Value like);
/// A tensor of extents `dims`, every element `value`.
mlir::Value full(NodeContext &n, double value, mlir::Type element, llvm::ArrayRef<mlir::AffineExpr> dims);
/// Index along dimension `axis` of a tensor of extents `dims`.
mlir::Value iota(NodeContext &n, int64_t axis, llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
/// The value of `expr` as a rank-0 tensor.
mlir::Value extentScalar(NodeContext &n, mlir::AffineExpr expr, mlir::Type element);
/// Arithmetic mean along `axes` in the element type of `value`, a float type.
mlir::Value mean(NodeContext &n, mlir::Value value, llvm::ArrayRef<int64_t> axes, bool keepDims);
/// Entries `indices` of dimension `axis`, whose position the dimensions of `indices` take (ONNX Gather).
mlir::Value take(NodeContext &n, mlir::Value data, mlir::Value indices, int64_t axis);
mlir::Value compare(NodeContext &n, tg::CmpPredicate predicate, mlir::Value lhs, mlir::Value rhs);
/// x * sigmoid(alpha * x), in the element type of `value`.
mlir::Value swish(NodeContext &n, mlir::Value value, double alpha = 1.0);
/// ln(1 + e^x) without overflow, in the element type of `value`.
mlir::Value softplus(NodeContext &n, mlir::Value value);

/// Moves the channels of `x` from behind the spatial dimensions to the front of them (N x .. x C to N x C x ..), or
/// back.
mlir::Value moveChannels(NodeContext &n, mlir::Value x, bool toFront);

/// Axes 0 to rank-1.
llvm::SmallVector<int64_t> allAxes(int64_t rank);
/// Axes first to last-1.
llvm::SmallVector<int64_t> axisRange(int64_t first, int64_t last);
/// Extents `dims` with `axis` replaced.
tg::Dims withDim(llvm::ArrayRef<mlir::AffineExpr> dims, int64_t axis, mlir::AffineExpr extent);
/// Product of `dims`, 1 for none.
mlir::AffineExpr product(NodeContext &n, llvm::ArrayRef<mlir::AffineExpr> dims);

/// Extents with dimension `axis` split in two: `outerCount` and the rest. An error naming `what` if a static extent
/// does not divide.
mlir::FailureOr<tg::Dims> splitDim(NodeContext &n, llvm::ArrayRef<mlir::AffineExpr> dims, int64_t axis,
                                   int64_t outerCount, llvm::StringRef what);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_COMPOSE_H
