// Tensor types with symbolic extents: building, reading, comparing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An extent is an AffineExpr over the module's symbols (no dimensions). A static extent is a constant expression. All
// tensor types of the dialect are built here, so that a type has a `#tg.dims` encoding exactly when an extent is not
// constant.
#ifndef WEFT_DIALECT_TILEGRAPH_IR_SHAPES_H
#define WEFT_DIALECT_TILEGRAPH_IR_SHAPES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace weft::tg {

using Dims = llvm::SmallVector<mlir::AffineExpr>;

/// The tensor type with extents `dims` (simplified) and element type `element`.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type element);
/// The static tensor type with extents `shape`.
mlir::RankedTensorType getTensorType(llvm::ArrayRef<int64_t> shape, mlir::Type element);
/// Extents of a tensor type as expressions.
Dims getDims(mlir::Type tensor);
mlir::AffineExpr getDim(mlir::Type tensor, int64_t d);
/// `type` with another element type.
mlir::RankedTensorType withElement(mlir::Type type, mlir::Type element);
/// Product of the extents.
mlir::AffineExpr getNumElements(mlir::Type tensor);
/// The constant that `expr` is, if it is one.
std::optional<int64_t> getConstant(mlir::AffineExpr expr);
/// The expressions, of symbols only, as a map.
mlir::AffineMap getSymbolMap(llvm::ArrayRef<mlir::AffineExpr> exprs, mlir::MLIRContext *context);
/// Whether the expressions are equal after simplification. False means "not known to be equal".
bool isEqual(mlir::AffineExpr a, mlir::AffineExpr b);
/// `expr` over symbols only, in its simplest known form.
mlir::AffineExpr simplify(mlir::AffineExpr expr);
/// Size of one element in bits as stored (i1 is stored in a byte, sub-byte types packed).
int64_t getElementBits(mlir::Type element);
/// Bytes of a tensor of a static type: ceil(elements * bits / 8); none if it is not static or overflows 2^62.
std::optional<int64_t> getByteSize(mlir::Type tensor);
/// Text such as `batch x 16 x 768` with symbol names from `symbolNames` (may be empty: s0, s1, ...).
std::string formatDims(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::ArrayRef<std::string> symbolNames = {});

/// numpy broadcast of several shapes, aligned at the last dimension. `assumed` receives pairs of extents that are not
/// known to be equal (neither constant 1) and that the result takes as equal; null forbids that. None if the shapes do
/// not broadcast.
std::optional<Dims>
broadcastDims(llvm::ArrayRef<Dims> shapes,
              llvm::SmallVectorImpl<std::pair<mlir::AffineExpr, mlir::AffineExpr>> *assumed = nullptr);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_SHAPES_H
