// DeformConv over two spatial dimensions: the operand sampled at offset kernel positions, then a contraction with the
// weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Convolution.h"
#include "Shared/Extents.h"
#include "Shared/Sampling.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// Undeformed positions along one dimension: tap (outer or inner part of K) and output position, as a tensor K x
/// positions, with the other dimension's positions left to broadcasting.
Value basePlaces(NodeContext &c, const Windows &windows, size_t d, Type element) {
  int64_t taps = windows[0].size * windows[1].size;
  SmallVector<double> offsets;
  for (int64_t k = 0; k < taps; ++k) {
    int64_t tap = d == 0 ? k / windows[1].size : k % windows[1].size;
    offsets.push_back(static_cast<double>(tap * windows[d].dilation - windows[d].low));
  }
  tg::Dims line(2, c.constExpr(1));
  line[d] = windows[d].output;
  Expr positions = Expr(c, iota(c, windows[d].output)).cast(element) * static_cast<double>(windows[d].stride);
  return foldTable(c, Expr(c, floatTable(c, offsets, {taps, 1, 1}, element)) + positions.reshape(line));
}

struct DeformShape {
  ConvWeights weights;
  Windows windows;
  int64_t offsetGroups = 1;
  tg::Dims extents; ///< Height and width.

  int64_t taps() const { return windows[0].size * windows[1].size; }
};

FailureOr<DeformShape> readDeformShape(NodeContext &c, Value x, Value w) {
  if (failed(c.checkRank(x, 4, 4, "X")))
    return failure();
  DeformShape shape;
  FailureOr<ConvWeights> weights = readConvWeights(c, x, w, /*transposed=*/false);
  FailureOr<int64_t> groups = c.intAttr("offset_group", 1);
  FailureOr<tg::Dims> extents = sampledExtents(c, x);
  if (failed(weights) || failed(groups) || failed(extents))
    return failure();
  if (*groups < 1 || weights->channelsIn() % *groups != 0)
    return c.error("expected attribute `offset_group` to divide the " + Twine(weights->channelsIn()) +
                   " channels of `X`, got " + Twine(*groups));
  FailureOr<Windows> windows = readWindows(c, x, weights->kernel, /*mayCeil=*/false);
  if (failed(windows))
    return failure();
  if ((*windows)[0].size * (*windows)[1].size > maxTableEntries)
    return c.limit("a deformed window of more than " + Twine(maxTableEntries) + " elements");
  return DeformShape{*weights, *windows, *groups, *extents};
}

/// `value` (N x groups * perGroup x oh x ow) as N x groups x perGroup.. x oh x ow, after a check of its shape.
FailureOr<Value> splitGroups(NodeContext &c, Value value, const DeformShape &shape, Value x, ArrayRef<int64_t> perGroup,
                             StringRef what) {
  if (failed(c.checkRank(value, 4, 4, what)))
    return failure();
  tg::Dims expected{c.dim(x, 0), c.constExpr(shape.offsetGroups * llvm::product_of(perGroup)), shape.windows[0].output,
                    shape.windows[1].output};
  for (unsigned d = 0; d < 4; ++d)
    if (failed(c.assumeEqual(c.dim(value, d), expected[d], "dimension " + Twine(d) + " of `" + what + "`")))
      return failure();
  tg::Dims split{expected[0], c.constExpr(shape.offsetGroups)};
  split.append(c.constDims(perGroup));
  split.append({expected[2], expected[3]});
  return c.reshape(value, split);
}

LogicalResult importDeformConv(NodeContext &c) {
  Value x = c.required(0), w = c.required(1), offset = c.required(2), bias = c.input(3), mask = c.input(4);
  if (!x || !w || !offset || failed(c.checkNumInputs(3, 5)))
    return failure();
  for (Value value : {w, offset, bias, mask})
    if (failed(checkSameFloat(c, x, value, "W, offset, B and mask")))
      return failure();
  FailureOr<DeformShape> shape = readDeformShape(c, x, w);
  if (failed(shape))
    return failure();
  int64_t taps = shape->taps(), offsetGroups = shape->offsetGroups;
  FailureOr<Value> offsets = splitGroups(c, offset, *shape, x, {taps, 2}, "offset");
  if (failed(offsets) || !*offsets)
    return failure();

  Type compute = c.elementType(c.toCompute(x));
  SmallVector<AxisTaps> axes;
  for (int64_t d : {0, 1}) {
    Value part = c.slice(c.cast(*offsets, compute), 3, d, c.constExpr(1));
    Expr coordinate =
        Expr(c, part ? c.squeeze(part, {3}) : Value()) + Expr(c, basePlaces(c, shape->windows, d, compute));
    if (!coordinate)
      return failure();
    axes.push_back(linearTaps(coordinate, {c, extentScalar(c, tg::simplify(shape->extents[d] - 1), compute)}));
  }
  BoxTaps box = combineTaps(c, axes, shape->extents);
  tg::Dims plane{c.dim(x, 0), c.constExpr(offsetGroups), c.constExpr(shape->weights.channelsIn() / offsetGroups),
                 productOf(c, shape->extents)};
  // N x offset groups x channels of a group x taps x oh x ow.
  Expr sampled(c, sampleBox(c, c.reshape(x, plane), /*batchDims=*/2, box));
  if (mask) {
    FailureOr<Value> split = splitGroups(c, mask, *shape, x, {taps}, "mask");
    if (failed(split) || !*split)
      return failure();
    sampled = sampled * Expr(c, c.unsqueeze(c.cast(*split, compute), {2}));
  }

  const ConvWeights &weights = shape->weights;
  AffineExpr oh = shape->windows[0].output, ow = shape->windows[1].output;
  Value columns = sampled.reshape(
      {c.dim(x, 0), c.constExpr(weights.groups), c.constExpr(weights.inPerGroup), c.constExpr(taps), oh, ow});
  Value kernels =
      c.reshape(c.cast(w, compute), ArrayRef<int64_t>{weights.groups, weights.outPerGroup, weights.inPerGroup, taps});
  Value y = c.contract(columns, kernels, "ngckhw,gmck->ngmhw", compute);
  y = c.cast(c.reshape(y, {c.dim(x, 0), c.constExpr(weights.channelsOut()), oh, ow}), c.elementType(x));
  return deliver(c, addChannelBias(c, y, bias));
}

} // namespace

ArrayRef<OpEntry> getDeformOps() {
  static const OpEntry ops[] = {
      {"", "DeformConv", 19, newestOpset, importDeformConv, "2 spatial dimensions"},
  };
  return ops;
}

} // namespace weft::onnx
