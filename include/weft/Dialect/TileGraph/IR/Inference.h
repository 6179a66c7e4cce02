// Type inference and default interface implementations that the generated op code calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each `infer*` fills `results`, or emits an error at `location` (when given) and fails. They check everything that the
// result type depends on, for hostile attributes too: ranks, axes, signs, overflow.
#ifndef WEFT_DIALECT_TILEGRAPH_IR_INFERENCE_H
#define WEFT_DIALECT_TILEGRAPH_IR_INFERENCE_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"

namespace weft::tg {
enum class MappingType : uint32_t;
}

namespace weft::tg::detail {

using OptLoc = std::optional<mlir::Location>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

/// Element type of an elementwise result from the operands' element types; null with an error emitted if they do not
/// fit.
using ElementRule = mlir::Type (*)(OptLoc, mlir::ValueRange);
mlir::Type sameElement(OptLoc location, mlir::ValueRange operands);
mlir::Type boolElement(OptLoc location, mlir::ValueRange operands);
/// Of `select`: operands 1 and 2 agree.
mlir::Type lastElement(OptLoc location, mlir::ValueRange operands);

llvm::LogicalResult inferPointwise(OptLoc location, mlir::ValueRange operands, ElementRule element, Types &results);
llvm::LogicalResult inferReduce(OptLoc location, mlir::Type input, llvm::ArrayRef<int64_t> axes, bool keepDims,
                                Types &results);
llvm::LogicalResult inferArgReduce(OptLoc location, mlir::Type input, int64_t axis, bool keepDims, Types &results);
llvm::LogicalResult inferTopK(OptLoc location, mlir::Type input, int64_t axis, int64_t k, Types &results);
llvm::LogicalResult inferTranspose(OptLoc location, mlir::Type input, llvm::ArrayRef<int64_t> permutation,
                                   Types &results);
llvm::LogicalResult inferPad(OptLoc location, mlir::Type input, llvm::ArrayRef<int64_t> low,
                             llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior, Types &results);
llvm::LogicalResult inferConcat(OptLoc location, mlir::TypeRange inputs, int64_t axis, Types &results);
llvm::LogicalResult inferWindow(OptLoc location, mlir::Type input, llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                llvm::ArrayRef<int64_t> dilations, Types &results);
llvm::LogicalResult inferLayerNorm(OptLoc location, mlir::Type input, int64_t axis, mlir::Type stash, Types &results);
llvm::LogicalResult inferAttention(OptLoc location, mlir::Type query, mlir::Type key, mlir::Type value, Types &results);
mlir::Type extentsType(mlir::MLIRContext *context, mlir::AffineMap map);

/// Extents of the op's first result.
Dims resultExtents(mlir::Operation *op);
llvm::SmallVector<mlir::utils::IteratorType> parallelIterators(mlir::Operation *op);
/// Map from the result's index space to operand `operand` under numpy broadcasting.
mlir::AffineMap broadcastMap(mlir::Operation *op, unsigned operand);
mlir::AffineMap identityResultMap(mlir::Operation *op);
MappingType pointwiseMapping(mlir::Operation *op, unsigned operand);
/// Bytes of all distinct operands and results.
mlir::AffineExpr defaultBytes(mlir::Operation *op);

} // namespace weft::tg::detail

#endif // WEFT_DIALECT_TILEGRAPH_IR_INFERENCE_H
