// Shape operators whose operands are data: the extents are computed on tensors, and become symbols that the program
// binds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RUNTIMESHAPES_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RUNTIMESHAPES_H

#include "Expr.h"

namespace weft::onnx {

/// Takes `value`, of one element and at least 0, to be `number`; the program checks it where it is data.
llvm::LogicalResult assumeNumber(NodeContext &ctx, mlir::Value value, int64_t number, const llvm::Twine &what);

/// The shape that Reshape gives `x` for the run-time `shape`, with its zeros and its -1 resolved.
mlir::FailureOr<tg::Dims> runtimeReshapeDims(NodeContext &ctx, mlir::Value x, mlir::Value shape, bool allowZero);

/// Numpy broadcast of `x` to the run-time `shape`.
mlir::Value runtimeExpand(NodeContext &ctx, mlir::Value x, mlir::Value shape);

/// Number of elements of start, start + delta, ... in front of limit, as a rank-0 i64.
mlir::Value rangeLength(NodeContext &ctx, mlir::Value start, mlir::Value limit, mlir::Value delta);

/// x[start:end:step] for 1-D operands, of which `axes` and `steps` may be null.
mlir::Value runtimeSlice(NodeContext &ctx, mlir::Value x, mlir::Value starts, mlir::Value ends, mlir::Value axes,
                         mlir::Value steps);

/// One number for each of `rank` dimensions: those of the 1-D `values` where `axes` (null: 0, 1, ...) names the
/// dimension, else `absent`. 1-D i64.
mlir::Value spreadOverAxes(NodeContext &ctx, mlir::Value values, mlir::Value axes, int64_t rank, int64_t absent);

/// Element `i` of a 1-D tensor as rank 0.
Expr elementAt(NodeContext &ctx, mlir::Value values, int64_t i);

/// A tensor as a matrix, whose columns are what a reduction over run-time axes takes together.
struct SplitByAxes {
  mlir::Value matrix;
  tg::Dims result; ///< Extents of the reduction, of which the matrix has the product as rows.
};

/// `axes`, 1-D, name the dimensions of `x` to reduce.
mlir::FailureOr<SplitByAxes> splitByAxes(NodeContext &ctx, mlir::Value x, mlir::Value axes, bool keepDims);

/// Extents without the dimensions that the run-time `axes` name, and with 1 where they name new ones.
mlir::FailureOr<tg::Dims> runtimeSqueezeDims(NodeContext &ctx, mlir::Value x, mlir::Value axes);
mlir::FailureOr<tg::Dims> runtimeUnsqueezeDims(NodeContext &ctx, mlir::Value x, mlir::Value axes);

/// r[.., i, ..] = x[.., i - low, ..] along `axis` for i below `extent`, or `value` (rank 0) where there is no such
/// element. `low` is of rank 0.
mlir::Value shiftAlong(NodeContext &ctx, mlir::Value x, int64_t axis, Expr low, mlir::AffineExpr extent,
                       mlir::Value value);

/// Indices of the true elements of the 1-D `mask`, in order: 1-D i64 of an extent that the program binds.
mlir::Value placesOfTrue(NodeContext &ctx, mlir::Value mask, llvm::StringRef what);

/// Indices along `axis` in the order of their elements, descending if `largest`; equal elements in the order of
/// indices, NaN before all others when descending. i64 of the shape of `x`.
mlir::Value sortedPlaces(NodeContext &ctx, mlir::Value x, int64_t axis, bool largest);

/// Indices of the rows of a matrix in ascending lexicographic order; equal rows in the order of indices, NaN last. 1-D
/// i64.
mlir::Value sortedRows(NodeContext &ctx, mlir::Value x);

/// The element of a list, of one rank and element type, whose position is the rank-0 i64 `place`. Its extents are bound
/// when the program runs where those of the elements differ.
mlir::Value elementOfList(NodeContext &ctx, llvm::ArrayRef<mlir::Value> elements, mlir::Value place);

/// r[.., i, ..] = data[.., indices[.., i, ..], ..] along `axis`, both of one rank.
mlir::Value takeElements(NodeContext &ctx, mlir::Value data, mlir::Value indices, int64_t axis);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RUNTIMESHAPES_H
