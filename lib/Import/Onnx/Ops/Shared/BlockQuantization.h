// Weights of few bits that are packed into bytes and quantised block by block along their last dimension.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_BLOCKQUANTIZATION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_BLOCKQUANTIZATION_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// The fields of `bits` bits (1, 2, 4 or 8) of each byte along the last dimension, those of the low bits first.
mlir::Value unpackBits(NodeContext &n, mlir::Value bytes, int64_t bits);

/// A matrix (or several) whose rows are blocks of numbers: (q - zero point) * scale.
struct BlockedRows {
  int64_t bits = 4;
  int64_t block = 0;   ///< Numbers that share a scale.
  int64_t columns = 0; ///< Numbers of a row; the last block may hold more.
  int64_t blocks() const { return (columns + block - 1) / block; }
};

/// `rows`.. x columns numbers in `element`, computed in its compute type. `packed` is ui8 of rows.. x bytes of the
/// blocks, `scales` rows.. x blocks, `zeros` null (half the range), floats of rows.. x blocks, or packed like the
/// numbers with each row padded to whole bytes. `groups`, 1-D, names the block of each column where that does not
/// follow from its position.
mlir::Value dequantizeRows(NodeContext &n, const BlockedRows &spec, llvm::ArrayRef<mlir::AffineExpr> rows,
                           mlir::Value packed, mlir::Value scales, mlir::Value zeros, mlir::Value groups,
                           mlir::Type element);

/// Records an error unless `block` is a power of two in [16, 2^20].
llvm::LogicalResult checkBlockSize(NodeContext &n, int64_t block);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_BLOCKQUANTIZATION_H
