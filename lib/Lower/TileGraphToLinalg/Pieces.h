// Ops that are loops of their own (concatenation, scan, top-k), cut into pieces that may run on different threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEGRAPHTOLINALG_PIECES_H
#define WEFT_LIB_LOWER_TILEGRAPHTOLINALG_PIECES_H

#include "KernelBuilder.h"

namespace weft::lower {

/// A part of tensors that differ in extent along one axis only, whole along that axis.
struct Piece {
  int64_t axis;
  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes; ///< The entry of the axis is 0, and unspecified.

  /// The part of `tensor`, whose extent along the axis is `extent`.
  mlir::Value of(KernelBuilder &b, mlir::Value tensor, mlir::OpFoldResult extent) const;
};

using PieceBody =
    llvm::function_ref<llvm::SmallVector<mlir::Value>(KernelBuilder &, const Piece &, mlir::ValueRange outputs)>;

/// Fills `outputs`, tensors of extents `dims` but with extent `axisExtents[i]` along `axis`, by `body`, which gets and
/// returns their parts in a piece. Several pieces are one scf.forall; a single one is no loop at all.
llvm::SmallVector<mlir::Value> forEachPiece(KernelBuilder &b, llvm::ArrayRef<mlir::AffineExpr> dims, int64_t axis,
                                            mlir::ValueRange outputs, llvm::ArrayRef<mlir::OpFoldResult> axisExtents,
                                            PieceBody body);

} // namespace weft::lower

#endif // WEFT_LIB_LOWER_TILEGRAPHTOLINALG_PIECES_H
