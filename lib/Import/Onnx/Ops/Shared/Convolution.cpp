// Builds the contraction of a convolution: reshape views split the channels into groups, affine maps position the
// windows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Convolution.h"

using namespace mlir;

namespace weft::onnx {

FailureOr<ConvWeights> readConvWeights(NodeContext &c, Value x, Value w, bool transposed) {
  if (failed(c.checkRank(x, 3, 5, "X")) || failed(c.checkRank(w, c.rank(x), c.rank(x), "W")) ||
      failed(checkSpatialExtents(c, x)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t d = 0; d < c.rank(w); ++d) {
    std::optional<int64_t> extent = c.staticDim(w, d);
    if (!extent)
      return c.unsupported("weights with a symbolic extent are not supported", "fix the extent with --dim");
    if (*extent < 1)
      return c.error("expected extents of `W` of at least 1, got " + Twine(*extent));
    shape.push_back(*extent);
  }

  ConvWeights weights;
  weights.transposed = transposed;
  weights.kernel.assign(shape.begin() + 2, shape.end());
  FailureOr<int64_t> groups = c.intAttr("group", 1);
  if (failed(groups))
    return failure();
  if (*groups < 1 || shape[0] % *groups != 0)
    return c.error("expected attribute `group` to divide the " + Twine(shape[0]) + " channels of `W`, got " +
                   Twine(*groups));
  weights.groups = *groups;
  weights.inPerGroup = transposed ? shape[0] / *groups : shape[1];
  weights.outPerGroup = transposed ? shape[1] : shape[0] / *groups;
  if (c.hasAttr("kernel_shape")) {
    FailureOr<SmallVector<int64_t>> kernel = readKernelShape(c, x);
    if (failed(kernel))
      return failure();
    if (*kernel != weights.kernel)
      return c.error("attribute `kernel_shape` does not agree with the shape of `W`");
  }
  if (failed(c.assumeEqual(c.dim(x, 1), c.constExpr(weights.channelsIn()), "channels of `X` and `W`")))
    return failure();
  return weights;
}

namespace {

/// Names dimensions of the domain in order.
class Domain {
public:
  explicit Domain(MLIRContext *context) : context(context) {}
  AffineExpr add() { return getAffineDimExpr(count++, context); }
  AffineMapAttr map(ArrayRef<AffineExpr> results) const {
    return AffineMapAttr::get(AffineMap::get(count, 0, results, context));
  }

private:
  MLIRContext *context;
  unsigned count = 0;
};

/// The views and maps of one convolution under construction.
struct Operands {
  tg::Dims xShape, wShape, yShape;
  SmallVector<AffineExpr> xMap, wMap, yMap;
};

} // namespace

Value convolve(NodeContext &c, Value x, Value w, const ConvWeights &weights, ArrayRef<WindowDim> windows,
               Type element) {
  if (!x || !w)
    return {};
  Domain domain(c.b.getContext());
  Operands ops;
  bool grouped = weights.groups > 1;
  bool hasOut = !grouped || weights.outPerGroup > 1, hasIn = !grouped || weights.inPerGroup > 1;
  auto add = [](tg::Dims &shape, SmallVector<AffineExpr> &map, AffineExpr extent, AffineExpr index) {
    shape.push_back(extent);
    map.push_back(index);
  };

  AffineExpr n = domain.add();
  add(ops.xShape, ops.xMap, c.dim(x, 0), n);
  add(ops.yShape, ops.yMap, c.dim(x, 0), n);
  AffineExpr groupExtent = c.constExpr(weights.groups), outExtent = c.constExpr(weights.outPerGroup);
  AffineExpr inExtent = c.constExpr(weights.inPerGroup), out;
  if (grouped) {
    AffineExpr g = domain.add();
    add(ops.xShape, ops.xMap, groupExtent, g);
    add(ops.wShape, ops.wMap, groupExtent, g);
    add(ops.yShape, ops.yMap, groupExtent, g);
  }
  if (hasOut) {
    out = domain.add();
    add(ops.yShape, ops.yMap, outExtent, out);
    if (!weights.transposed)
      add(ops.wShape, ops.wMap, outExtent, out);
  }
  SmallVector<AffineExpr> positions;
  for (const WindowDim &window : windows) {
    positions.push_back(domain.add());
    add(ops.yShape, ops.yMap, window.output, positions.back());
  }
  if (hasIn) {
    AffineExpr in = domain.add();
    add(ops.xShape, ops.xMap, inExtent, in);
    add(ops.wShape, ops.wMap, inExtent, in);
  }
  if (hasOut && weights.transposed)
    add(ops.wShape, ops.wMap, outExtent, out);
  for (auto [i, window] : llvm::enumerate(windows)) {
    AffineExpr place = positions[i] * window.stride;
    if (window.size > 1) {
      AffineExpr k = domain.add();
      place = place + k * window.dilation;
      add(ops.wShape, ops.wMap, c.constExpr(window.size), k);
    }
    add(ops.xShape, ops.xMap, c.dim(x, 2 + i), place);
  }

  auto maps = c.b.getArrayAttr({domain.map(ops.xMap), domain.map(ops.wMap), domain.map(ops.yMap)});
  Value y = c.make<tg::ContractOp>(tg::getTensorType(ops.yShape, element), c.reshape(x, ops.xShape),
                                   c.reshape(w, ops.wShape), maps);
  tg::Dims result{c.dim(x, 0), c.constExpr(weights.channelsOut())};
  for (const WindowDim &window : windows)
    result.push_back(window.output);
  return c.reshape(y, result);
}

FailureOr<Value> asChannels(NodeContext &c, Value vector, AffineExpr channels, int64_t rank, StringRef what) {
  if (c.rank(vector) == 0)
    return vector;
  if (failed(c.checkRank(vector, 1, 1, what)))
    return failure();
  tg::Dims shape(rank, c.constExpr(1));
  shape[1] = c.dim(vector, 0);
  if (c.staticDim(vector, 0) != 1 &&
      failed(c.assumeEqual(shape[1], channels, "length of `" + what + "` and the channels")))
    return failure();
  return c.reshape(vector, shape);
}

Value addChannelBias(NodeContext &c, Value y, Value bias) {
  if (!y || !bias)
    return y;
  if (c.rank(bias) != 1) {
    (void)c.error("expected a bias of rank 1, got rank " + Twine(c.rank(bias)));
    return {};
  }
  FailureOr<Value> shaped = asChannels(c, bias, c.dim(y, 1), c.rank(y), "B");
  return failed(shaped) ? Value() : c.make<tg::AddOp>(y, *shaped);
}

} // namespace weft::onnx
