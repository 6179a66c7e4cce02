// Small things that the operator handlers share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_COMMON_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_COMMON_H

#include "Compose.h"

namespace weft::onnx {

/// Text of a type for messages.
std::string typeName(mlir::Type type);

/// Records an error unless `x` has a float element type that arithmetic is defined on, and `y` (which may be null) the
/// same.
llvm::LogicalResult checkSameFloat(NodeContext &c, mlir::Value x, mlir::Value y, llvm::StringRef what);

/// Input `i` as numpy's broadcasting over input 0 takes it. Before opset 7 it broadcasts only where attribute
/// `broadcast` says so, with its dimensions from `axis` of input 0 on, or at its end.
mlir::Value broadcastInput(NodeContext &c, unsigned i);

/// Records an error if `is_test`, which operators before opset 7 have, is not set: they train then.
llvm::LogicalResult checkIsTest(NodeContext &c);

/// Static extents of `value` from dimension `from` on; unsupported if one is symbolic.
mlir::FailureOr<llvm::SmallVector<int64_t>> staticDims(NodeContext &c, mlir::Value value, int64_t from,
                                                       llvm::StringRef what);

//===--- Constants ---===//

/// Most entries of a table that handlers compute at import: more would be a hostile model.
inline constexpr int64_t maxTableEntries = int64_t(1) << 22;

/// Static i64 tensor; `shape` has as many elements as `values`.
mlir::Value intTable(NodeContext &c, llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> shape);
/// Static float tensor, each value rounded once to `element`.
mlir::Value floatTable(NodeContext &c, llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> shape,
                       mlir::Type element);
/// `table` as a constant where it follows from what is known and has at most `maxTableEntries`.
mlir::Value foldTable(NodeContext &c, mlir::Value table);
mlir::Value boolTable(NodeContext &c, const std::vector<bool> &values, llvm::ArrayRef<int64_t> shape);

//===--- Gathers ---===//

/// `take` along `axis` with a constant table (inside the axis, which is static): a view where the table allows one
/// (identity, strided slice, repetition of each element), else a gather.
mlir::Value takeTable(NodeContext &c, mlir::Value x, int64_t axis, llvm::ArrayRef<int64_t> table);
/// Repeats each element along `axis` `times` times, as reshape views around a broadcast.
mlir::Value repeatAlong(NodeContext &c, mlir::Value x, int64_t axis, int64_t times);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_COMMON_H
