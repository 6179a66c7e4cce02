// Building blocks of the lowering: plain types, extents from symbol arguments, linalg generics, scalars in memory and
// in registers.
//
// A "tg type" is a tensor type of the input; its "plain type" is what it becomes (Passes.td says how). Scalars exist in
// two forms: as stored (plain element type) and as computed with (what `buildScalar` takes: floats in a compute type,
// booleans as i1).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_TILEGRAPHTOLINALG_KERNELBUILDER_H
#define WEFT_LIB_LOWER_TILEGRAPHTOLINALG_KERNELBUILDER_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"

namespace weft::lower {

using tg::Dims;

/// Element type in memory: signless; i8 for booleans and storage-only types.
mlir::Type getPlainElement(mlir::Type element);
/// Plain type of a tg tensor type, inside the function.
mlir::RankedTensorType getPlainType(mlir::Type tensor);
/// Whether values of the tensor type are packed several to a byte at the function's boundary.
bool isSubByte(mlir::Type tensor);
/// Plain type at the function's boundary: `getPlainType`, or tensor<ceil(elements * bits / 8) x i8> for sub-byte types.
mlir::RankedTensorType getBoundaryType(mlir::Type tensor);
/// Plain type that reductions and contractions over `element` accumulate in: f32 or f64 for floats, integers as they
/// are.
mlir::Type getAccumulatorType(mlir::Type element);

/// A tensor and the map from an iteration domain to its indices.
struct Access {
  mlir::Value tensor;
  mlir::AffineMap map;
};

/// Builds IR at one position of a kernel function. Whatever takes expressions of symbols must be called at the
/// function's top level: the bodies of generics and loops are built before their ops are part of the function.
class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  KernelBuilder(mlir::Location loc, mlir::OpBuilder &builder) : ImplicitLocOpBuilder(loc, builder) {}

  /// Value of an expression over symbols, from the function's symbol arguments. Division by an extent of zero gives the
  /// dividend.
  mlir::OpFoldResult extent(mlir::AffineExpr expr);
  llvm::SmallVector<mlir::OpFoldResult> extents(llvm::ArrayRef<mlir::AffineExpr> exprs);
  mlir::Value index(mlir::AffineExpr expr);
  mlir::Value index(int64_t value);

  /// Tensor of extents `dims` without contents.
  mlir::Value empty(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type plainElement);
  /// Tensor of extents `dims` filled with `scalar` (in its stored form).
  mlir::Value filled(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Value scalar);

  /// One linalg.generic over the domain with extents `domain`. `outputs` are initial contents. `body` receives the
  /// stored scalars of inputs and outputs and returns the stored scalars of the outputs. A domain dimension that stands
  /// alone in no map gets its extent from an added shape-only operand.
  llvm::SmallVector<mlir::Value> generic(llvm::ArrayRef<mlir::AffineExpr> domain,
                                         llvm::ArrayRef<mlir::utils::IteratorType> iterators,
                                         llvm::ArrayRef<Access> inputs, llvm::ArrayRef<Access> outputs, Body body);
  /// A generic with parallel dimensions that fills a new tensor of extents `domain`.
  mlir::Value parallel(llvm::ArrayRef<mlir::AffineExpr> domain, llvm::ArrayRef<Access> inputs, mlir::Type plainElement,
                       Body body);
  /// The elements of `input` under its map as a tensor of extents `domain`.
  mlir::Value copy(llvm::ArrayRef<mlir::AffineExpr> domain, Access input);
  /// `tensor` of accumulators rounded to tg element type `element`; itself if that changes nothing.
  mlir::Value rounded(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Value tensor, mlir::Type element);

  /// `tensor`, whose extents are those of `from`, with extents `to` and the same elements in row-major order.
  mlir::Value reshape(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> from, llvm::ArrayRef<mlir::AffineExpr> to);
  /// `tensor` with the static extents that `dims` have and no others; the extents are equal at run time.
  mlir::Value castExtents(mlir::Value tensor, llvm::ArrayRef<mlir::AffineExpr> dims);

private:
  mlir::Value semiAffine(mlir::AffineExpr expr);
  mlir::Value symbol(unsigned position);
};

/// Stored scalar -> scalar to compute with. `element` is the tg element type.
mlir::Value loadScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value stored, mlir::Type element,
                       mlir::FloatType computeType);
/// Scalar computed with -> stored scalar; the one rounding of an op.
mlir::Value storeScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value scalar, mlir::Type element);

/// A map of `rank` dimensions whose results are all of them.
inline mlir::AffineMap identityMap(mlir::MLIRContext *context, unsigned rank) {
  return mlir::AffineMap::getMultiDimIdentityMap(rank, context);
}

} // namespace weft::lower

#endif // WEFT_LIB_LOWER_TILEGRAPHTOLINALG_KERNELBUILDER_H
