// Pieces of ops that are loops of their own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Pieces.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace weft::lower {

/// Elements of a piece: as the tiles of elementwise kernels, large enough to pay for its share of the grid.
static constexpr int64_t piecePoints = 16384;
/// Neighbours in memory that a piece has at least, where there are as many.
static constexpr int64_t minRun = 256;

/// Extents of a piece along each dimension but `axis`, innermost first; 0 takes a dimension whole.
static SmallVector<int64_t> pieceSizes(ArrayRef<AffineExpr> dims, int64_t axis) {
  SmallVector<int64_t> sizes(dims.size(), 0);
  int64_t left = std::max<int64_t>(piecePoints / std::max<int64_t>(tg::getConstant(dims[axis]).value_or(512), 1), 1);
  for (auto d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    std::optional<int64_t> extent = tg::getConstant(dims[d]);
    if (d == axis)
      continue;
    if (extent && *extent <= left) {
      left /= std::max<int64_t>(*extent, 1);
      continue;
    }
    bool isInnermost = d + 1 == static_cast<int64_t>(dims.size());
    sizes[d] = isInnermost ? std::max(left, minRun) : left;
    left = 1;
  }
  return sizes;
}

Value Piece::of(KernelBuilder &b, Value tensor, OpFoldResult extent) const {
  SmallVector<OpFoldResult> part(sizes), strides(sizes.size(), b.getIndexAttr(1));
  part[axis] = extent;
  return tensor::ExtractSliceOp::create(b, tensor, offsets, part, strides);
}

SmallVector<Value> forEachPiece(KernelBuilder &b, ArrayRef<AffineExpr> dims, int64_t axis, ValueRange outputs,
                                ArrayRef<OpFoldResult> axisExtents, PieceBody body) {
  SmallVector<int64_t> sizes = pieceSizes(dims, axis);
  SmallVector<OpFoldResult> extents = b.extents(dims), lows, highs, steps;
  Piece piece{axis, SmallVector<OpFoldResult>(dims.size(), b.getIndexAttr(0)), extents};
  for (auto [d, size] : llvm::enumerate(sizes))
    if (size) {
      lows.push_back(b.getIndexAttr(0));
      highs.push_back(extents[d]);
      steps.push_back(b.getIndexAttr(size));
    }
  if (steps.empty())
    return body(b, piece, outputs);
  auto forall = scf::ForallOp::create(b, lows, highs, steps, outputs, std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ivs = forall.getInductionVars();
  AffineExpr place, extent;
  bindDims(b.getContext(), place);
  bindSymbols(b.getContext(), extent);
  for (size_t d = 0, loop = 0; d < sizes.size(); ++d) {
    if (!sizes[d])
      continue;
    piece.offsets[d] = ivs[loop++];
    AffineMap bound = AffineMap::get(1, 1, {b.getAffineConstantExpr(sizes[d]), extent - place}, b.getContext());
    piece.sizes[d] = affine::makeComposedFoldedAffineMin(b, b.getLoc(), bound, {piece.offsets[d], extents[d]});
  }
  SmallVector<Value> parts;
  for (auto [output, along] : llvm::zip(forall.getRegionOutArgs(), axisExtents))
    parts.push_back(piece.of(b, output, along));
  SmallVector<Value> filled = body(b, piece, parts);
  b.setInsertionPointToStart(forall.getTerminator().getBody());
  SmallVector<OpFoldResult> strides(dims.size(), b.getIndexAttr(1));
  for (auto [part, output, along] : llvm::zip(filled, forall.getRegionOutArgs(), axisExtents)) {
    SmallVector<OpFoldResult> partSizes(piece.sizes);
    partSizes[axis] = along;
    tensor::ParallelInsertSliceOp::create(b, part, output, piece.offsets, partSizes, strides);
  }
  return llvm::to_vector(ValueRange(forall.getResults()));
}

} // namespace weft::lower
