// Decompositions of gelu, softmax and the normalisations. Formulas are those of the ops' descriptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphBuilder.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include <cmath>
#include <numeric>

using namespace mlir;

namespace weft::tg {
namespace {

SmallVector<int64_t> axesFrom(int64_t first, int64_t rank) {
  SmallVector<int64_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

LogicalResult decomposeGelu(GeluOp op, PatternRewriter &rewriter) {
  GraphBuilder g{rewriter, op.getLoc()};
  Type element = g.elementOf(op.getInput()), compute = getComputeType(element);
  Value x = g.cast(op.getInput(), compute), bell;
  if (op.getTanh()) {
    Value cube = g.op<MulOp>(g.op<MulOp>(x, x), x);
    Value inner = g.op<AddOp>(x, g.op<MulOp>(cube, g.scalar(0.044715, compute)));
    bell = g.op<TanhOp>(g.op<MulOp>(inner, g.scalar(std::sqrt(2.0 / M_PI), compute)));
  } else {
    bell = g.op<ErfOp>(g.op<MulOp>(x, g.scalar(std::sqrt(0.5), compute)));
  }
  Value half = g.op<MulOp>(x, g.scalar(0.5, compute));
  Value result = g.op<MulOp>(half, g.op<AddOp>(bell, g.scalar(1.0, compute)));
  rewriter.replaceOp(op, g.cast(result, element));
  return success();
}

LogicalResult decomposeSoftmax(SoftmaxOp op, PatternRewriter &rewriter) {
  GraphBuilder g{rewriter, op.getLoc()};
  Type element = g.elementOf(op.getInput());
  int64_t axis = op.getAxis();
  Value x = g.cast(op.getInput(), getComputeType(element));
  Value shifted = g.op<SubOp>(x, g.reduce(Monoid::Max, x, axis));
  Value e = g.op<ExpOp>(shifted);
  Value sum = g.reduce(Monoid::Add, e, axis);
  Value result = op.getLog() ? g.op<SubOp>(shifted, g.op<LogOp>(sum)) : g.op<DivOp>(e, sum);
  rewriter.replaceOp(op, g.cast(result, element));
  return success();
}

/// x - mean and 1 / sqrt(variance + epsilon) over `axes`; also gives the mean.
struct Centred {
  Value deviation, invStd, mean;
};

Centred centre(const GraphBuilder &g, Value x, ArrayRef<int64_t> axes, double epsilon) {
  Centred c;
  c.mean = g.mean(x, axes);
  c.deviation = g.op<SubOp>(x, c.mean);
  Value variance = g.mean(g.op<MulOp>(c.deviation, c.deviation), axes);
  c.invStd = g.op<RsqrtOp>(g.op<AddOp>(variance, g.scalar(epsilon, g.elementOf(x))));
  return c;
}

/// `normal` rounded to `element`, then scaled (and shifted) in the compute type and rounded once more.
Value scaleAndShift(const GraphBuilder &g, Value normal, Type element, Value scale, Value bias) {
  Type compute = getComputeType(element);
  Value result = g.op<MulOp>(g.cast(g.cast(normal, element), compute), g.cast(scale, compute));
  if (bias)
    result = g.op<AddOp>(result, g.cast(bias, compute));
  return g.cast(result, element);
}

LogicalResult decomposeLayerNorm(LayerNormOp op, PatternRewriter &rewriter) {
  GraphBuilder g{rewriter, op.getLoc()};
  Value x = g.cast(op.getInput(), op.getStashType());
  SmallVector<int64_t> axes = axesFrom(op.getAxis(), g.rankOf(x));
  Centred c = centre(g, x, axes, op.getEpsilon().convertToDouble());
  Value normal = g.op<MulOp>(c.deviation, c.invStd);
  Value result = scaleAndShift(g, normal, g.elementOf(op.getInput()), op.getScale(), op.getBias());
  rewriter.replaceOp(op, {result, c.mean, c.invStd});
  return success();
}

LogicalResult decomposeRmsNorm(RmsNormOp op, PatternRewriter &rewriter) {
  GraphBuilder g{rewriter, op.getLoc()};
  Value x = g.cast(op.getInput(), op.getStashType());
  SmallVector<int64_t> axes = axesFrom(op.getAxis(), g.rankOf(x));
  Value meanSquare = g.mean(g.op<MulOp>(x, x), axes);
  Value epsilon = g.scalar(op.getEpsilon().convertToDouble(), op.getStashType());
  Value normal = g.op<MulOp>(x, g.op<RsqrtOp>(g.op<AddOp>(meanSquare, epsilon)));
  rewriter.replaceOp(op, scaleAndShift(g, normal, g.elementOf(op.getInput()), op.getScale(), Value()));
  return success();
}

/// N x C x spatial as N x groups x C/groups x spatial, statistics over all but the first two. Instance normalisation
/// (one channel a group) needs no reshape.
LogicalResult decomposeGroupNorm(GroupNormOp op, PatternRewriter &rewriter) {
  GraphBuilder g{rewriter, op.getLoc()};
  Type element = g.elementOf(op.getInput()), stash = op.getStashType();
  Dims dims = getDims(op.getInput().getType());
  int64_t channels = *getConstant(dims[1]), groups = op.getGroups();
  bool isInstance = groups == channels && dims.size() > 2;
  Dims grouped = {dims[0], rewriter.getAffineConstantExpr(groups), rewriter.getAffineConstantExpr(channels / groups)};
  grouped.append(dims.begin() + 2, dims.end());
  if (isInstance)
    grouped = dims;
  Value x = g.reshape(g.cast(op.getInput(), stash), grouped);
  Centred c = centre(g, x, axesFrom(2, grouped.size()), op.getEpsilon().convertToDouble());
  // Scale and bias align with the channel dimensions: all dimensions but the batch, the spatial ones of extent 1.
  Dims perChannel(grouped.begin() + 1, grouped.begin() + (isInstance ? 2 : 3));
  perChannel.resize(grouped.size() - 1, rewriter.getAffineConstantExpr(1));
  Value scale = g.reshape(g.cast(op.getScale(), stash), perChannel);
  Value bias = g.reshape(g.cast(op.getBias(), stash), perChannel);
  Value normal = g.op<MulOp>(c.deviation, c.invStd);
  Value result = g.op<AddOp>(g.op<MulOp>(normal, scale), bias);
  rewriter.replaceOp(op, g.cast(g.reshape(result, dims), element));
  return success();
}

} // namespace

void populateNormDecompositions(RewritePatternSet &patterns) {
  patterns.add(decomposeGelu);
  patterns.add(decomposeSoftmax);
  patterns.add(decomposeLayerNorm);
  patterns.add(decomposeRmsNorm);
  patterns.add(decomposeGroupNorm);
}

} // namespace weft::tg
