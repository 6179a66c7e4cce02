// Exact rewrites of views, weights and checks: chains of data movement become one, and what moves nothing becomes a
// reshape.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::tg {
namespace {

LogicalResult composeBroadcasts(BroadcastOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<BroadcastOp>();
  if (!inner)
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, inner.getInput()); });
  return success();
}

/// A broadcast that only adds dimensions of extent 1 moves nothing.
LogicalResult reshapeForBroadcast(BroadcastOp op, PatternRewriter &rewriter) {
  Dims from = getDims(op.getInput().getType()), to = getDims(op.getType());
  size_t lead = to.size() - from.size();
  for (size_t d = 0; d < to.size(); ++d)
    if (d < lead ? getConstant(to[d]) != 1 : to[d] != from[d - lead])
      return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
  return success();
}

/// x[o1 + s1 (o2 + s2 i)].
LogicalResult composeSlices(SliceOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<SliceOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> offsets, strides;
  for (size_t d = 0; d < op.getOffsets().size(); ++d) {
    int64_t offset, stride;
    if (llvm::MulOverflow(inner.getStrides()[d], op.getOffsets()[d], offset) ||
        llvm::AddOverflow(offset, inner.getOffsets()[d], offset) ||
        llvm::MulOverflow(inner.getStrides()[d], op.getStrides()[d], stride) || offset < 0)
      return failure();
    offsets.push_back(offset);
    strides.push_back(stride);
  }
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getInput(), offsets, strides);
  return success();
}

/// A transposition that keeps the order of all dimensions but those of extent 1 moves nothing.
LogicalResult reshapeForTranspose(TransposeOp op, PatternRewriter &rewriter) {
  Dims dims = getDims(op.getInput().getType());
  SmallVector<int64_t> moved;
  for (int64_t d : op.getPermutation())
    if (getConstant(dims[d]) != 1)
      moved.push_back(d);
  if (!llvm::is_sorted(moved) || llvm::is_sorted(op.getPermutation()))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
  return success();
}

LogicalResult dropEmptyParts(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> kept;
  for (Value input : op.getInputs())
    if (getConstant(getDim(input.getType(), op.getAxis())) != 0)
      kept.push_back(input);
  if (kept.empty() || kept.size() == op.getInputs().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op->setOperands(kept); });
  return success();
}

/// A part that is itself a concatenation along the axis gives its own parts.
LogicalResult flattenConcat(ConcatOp op, PatternRewriter &rewriter) {
  SmallVector<Value> parts;
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatOp>();
    if (inner && inner.getAxis() == op.getAxis() && inner->hasOneUse())
      llvm::append_range(parts, inner.getInputs());
    else
      parts.push_back(input);
  }
  if (parts.size() == op.getInputs().size())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op->setOperands(parts); });
  return success();
}

/// A reshaped or bitcast weight is a weight of another type on the same bytes.
template <typename OpTy> LogicalResult retypeWeight(OpTy op, PatternRewriter &rewriter) {
  auto weight = op.getInput().template getDefiningOp<WeightOp>();
  if (!weight || weight.getOrder() || getByteSize(op.getType()) != weight.getData().getSize())
    return failure();
  rewriter.replaceOpWithNewOp<WeightOp>(op, op.getType(), weight.getData());
  return success();
}

/// A reduction over dimensions of extent 1 combines each element with the identity alone. That gives the element, but
/// for floats 0.0 + (-0.0) is 0.0: sums stay.
LogicalResult reshapeForReduce(ReduceOp op, PatternRewriter &rewriter) {
  Dims dims = getDims(op.getInput().getType());
  bool isSum = op.getKind() == Monoid::Add && isa<FloatType>(op.getType().getElementType());
  if (isSum || !llvm::all_of(op.getAxes(), [&](int64_t axis) { return getConstant(dims[axis]) == 1; }))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getInput());
  return success();
}

/// A check that holds for all values of the symbols.
LogicalResult dropTrueCheck(AssumeEqualOp op, PatternRewriter &rewriter) {
  ArrayRef<AffineExpr> exprs = op.getMap().getResults();
  if (!llvm::all_of(exprs, [&](AffineExpr expr) { return isEqual(expr, exprs.front()); }))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

} // namespace

void populateViewSimplifications(RewritePatternSet &patterns) {
  patterns.add(composeBroadcasts).add(reshapeForBroadcast).add(composeSlices).add(reshapeForTranspose);
  patterns.add(dropEmptyParts).add(flattenConcat).add(reshapeForReduce).add(dropTrueCheck);
  patterns.add(retypeWeight<ReshapeOp>).add(retypeWeight<BitcastOp>);
}

} // namespace weft::tg
