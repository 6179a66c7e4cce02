// Normalisations: by layer, root mean square, group, instance, batch; local response; mean and variance.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Compose.h"
#include "Shared/Normalize.h"

using namespace mlir;

namespace weft::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Over trailing dimensions
//===----------------------------------------------------------------------===//

LogicalResult layerNormalization(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 3)))
    return failure();
  Value x = n.required(0), scale = n.required(1), bias = n.input(2);
  FailureOr<NormAttrs> attrs = readNormAttrs(n, x);
  if (failed(attrs) || failed(checkSameElement(n, x, {scale, bias})))
    return failure();
  LayerNorm norm = layerNorm(n, x, scale, bias, *attrs);
  n.output(1, norm.mean);
  n.output(2, norm.invStd);
  return deliver(n, norm.result);
}

//===----------------------------------------------------------------------===//
// Over groups of channels
//===----------------------------------------------------------------------===//

Value groupNorm(NodeContext &n, Value x, Value scale, Value bias, int64_t groups, double epsilon, Type stash) {
  return n.make<tg::GroupNormOp>(x, scale, bias, n.b.getI64IntegerAttr(groups), n.b.getF64FloatAttr(epsilon),
                                 TypeAttr::get(stash));
}

/// One value for each of `groups` groups, repeated for the group's channels.
Value perChannel(NodeContext &n, Value perGroup, int64_t groups, int64_t channels) {
  if (!perGroup || failed(n.checkRank(perGroup, 1, 1, "scale and bias")))
    return {};
  Value column = n.unsqueeze(perGroup, {1});
  return n.reshape(n.broadcastTo(column, n.constDims({groups, channels / groups})), ArrayRef<int64_t>{channels});
}

/// `perGroupScale`: opset 18 to 20 have a scale and bias for each group, later ones for each channel.
template <bool perGroupScale> LogicalResult groupNormalization(NodeContext &n) {
  if (failed(n.checkNumInputs(3, 3)))
    return failure();
  Value x = n.required(0), scale = n.required(1), bias = n.required(2);
  FailureOr<int64_t> groups = n.intAttr("num_groups");
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-5);
  FailureOr<Type> stash = n.typeAttr("stash_type", n.b.getF32Type());
  if (failed(groups) || failed(epsilon) || failed(stash) || failed(checkFloat(n, x, "input 0")) ||
      failed(checkSameElement(n, x, {scale, bias})) || failed(n.checkRank(x, 2, 64, "input 0")))
    return failure();
  std::optional<int64_t> channels = n.staticDim(x, 1);
  if (!channels)
    return n.unsupported("a symbolic number of channels is not supported");
  if (*groups < 1 || *channels % *groups != 0)
    return n.error("expected attribute `num_groups` to divide the " + Twine(*channels) + " channels, got " +
                   Twine(*groups));
  if (perGroupScale) {
    scale = perChannel(n, scale, *groups, *channels);
    bias = perChannel(n, bias, *groups, *channels);
  }
  return deliver(n, groupNorm(n, x, scale, bias, *groups, *epsilon, computeType(*stash)));
}

LogicalResult instanceNormalization(NodeContext &n) {
  if (failed(n.checkNumInputs(3, 3)))
    return failure();
  Value x = n.required(0), scale = n.required(1), bias = n.required(2);
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-5);
  if (failed(epsilon) || failed(checkFloat(n, x, "input 0")) || failed(checkSameElement(n, x, {scale, bias})) ||
      failed(n.checkRank(x, 2, 64, "input 0")))
    return failure();
  std::optional<int64_t> channels = n.staticDim(x, 1);
  if (!channels || *channels == 0)
    return n.unsupported("a symbolic or zero number of channels is not supported");
  return deliver(n, groupNorm(n, x, scale, bias, *channels, *epsilon, computeType(n.elementType(x))));
}

//===----------------------------------------------------------------------===//
// Batch normalisation
//===----------------------------------------------------------------------===//

/// A vector over channels, converted to `type`, that broadcasts over N x C x spatial of rank `rank`.
Value overChannels(NodeContext &n, Value vector, int64_t rank, Type type) {
  if (!vector || failed(n.checkRank(vector, 1, 1, "a parameter of the channels")))
    return {};
  return n.cast(n.unsqueeze(vector, axisRange(1, rank - 1)), type);
}

/// What batch normalisation computes with, all broadcastable over the operand.
struct BatchParams {
  Value scale, bias, mean, variance;
};

/// (x - mean) * (scale / sqrt(variance + epsilon)) + bias: the factor is one number a channel, which folds when
/// constant.
Value normalizeChannels(NodeContext &n, Value x, const BatchParams &p, double epsilon) {
  Value deviation = n.make<tg::SqrtOp>(n.make<tg::AddOp>(p.variance, scalarLike(n, epsilon, p.variance)));
  Value factor = n.make<tg::DivOp>(p.scale, deviation);
  return n.make<tg::AddOp>(n.make<tg::MulOp>(n.make<tg::SubOp>(x, p.mean), factor), p.bias);
}

/// Statistics of this batch replace the given ones, which move towards them: r = given * momentum + batch * (1 -
/// momentum).
Value runningStatistic(NodeContext &n, Value given, Value batch, double momentum) {
  Value result = n.make<tg::AddOp>(n.make<tg::MulOp>(given, scalarLike(n, momentum, given)),
                                   n.make<tg::MulOp>(batch, scalarLike(n, 1 - momentum, batch)));
  return result ? n.reshape(result, {n.dim(result, 1)}) : Value();
}

LogicalResult batchNormalization(NodeContext &n) {
  if (failed(n.checkNumInputs(5, 5)))
    return failure();
  Value x = n.required(0);
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-5), momentum = n.floatAttr("momentum", 0.9);
  FailureOr<bool> training = n.boolAttr("training_mode", false), spatial = n.boolAttr("spatial", true);
  if (failed(epsilon) || failed(momentum) || failed(training) || failed(spatial) ||
      failed(checkFloat(n, x, "input 0")) || failed(n.checkRank(x, 2, 64, "input 0")))
    return failure();
  if (!*spatial)
    return n.unsupported("attribute `spatial` = 0 is not supported");
  if (failed(checkIsTest(n)))
    return failure();
  for (unsigned i = 1; n.opset < 14 && i < n.numOutputs(); ++i)
    if (n.outputUsed(i))
      return n.unsupported("the outputs of training mode before opset 14 are not supported");
  int64_t rank = n.rank(x);
  Type compute = computeType(n.elementType(x));
  Value wide = n.cast(x, compute);
  BatchParams p{overChannels(n, n.required(1), rank, compute), overChannels(n, n.required(2), rank, compute),
                overChannels(n, n.required(3), rank, compute), overChannels(n, n.required(4), rank, compute)};
  if (*training && wide && p.mean && p.variance) {
    SmallVector<int64_t> axes = axisRange(2, rank);
    axes.insert(axes.begin(), 0);
    Value given = p.mean, givenVariance = p.variance;
    p.mean = mean(n, wide, axes, true);
    Value centred = n.make<tg::SubOp>(wide, p.mean);
    p.variance = mean(n, n.make<tg::MulOp>(centred, centred), axes, true);
    n.output(1, n.cast(runningStatistic(n, given, p.mean, *momentum), n.elementType(n.required(3))));
    n.output(2, n.cast(runningStatistic(n, givenVariance, p.variance, *momentum), n.elementType(n.required(4))));
  }
  return deliver(n, n.cast(normalizeChannels(n, wide, p, *epsilon), n.elementType(x)));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// x / (bias + alpha / size * sum of x^2 over a window of channels) ^ beta.
LogicalResult localResponse(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  Value x = n.required(0);
  FailureOr<double> alpha = n.floatAttr("alpha", 1e-4), beta = n.floatAttr("beta", 0.75),
                    bias = n.floatAttr("bias", 1.0);
  FailureOr<int64_t> size = n.intAttr("size");
  if (failed(alpha) || failed(beta) || failed(bias) || failed(size) || failed(checkFloat(n, x, "input 0")) ||
      failed(n.checkRank(x, 2, 64, "input 0")))
    return failure();
  if (*size < 1 || *size > (1 << 20))
    return n.error("expected attribute `size` within [1, 1048576], got " + Twine(*size));
  int64_t rank = n.rank(x);
  Value wide = n.toCompute(x);
  Value squares = n.make<tg::MulOp>(wide, wide);
  if (!squares)
    return failure();
  SmallVector<int64_t> low(rank, 0), high(rank, 0), none(rank, 0);
  low[1] = (*size - 1) / 2;
  high[1] = *size / 2;
  Value padded = n.make<tg::PadOp>(squares, scalarLike(n, 0, squares), n.b.getDenseI64ArrayAttr(low),
                                   n.b.getDenseI64ArrayAttr(high), n.b.getDenseI64ArrayAttr(none));
  Value windows = n.make<tg::WindowOp>(padded, n.b.getDenseI64ArrayAttr({1}), n.b.getDenseI64ArrayAttr({*size}),
                                       n.b.getDenseI64ArrayAttr({1}), n.b.getDenseI64ArrayAttr({1}));
  Value sum = n.reduce(tg::Monoid::Add, windows, {rank}, false);
  Value base =
      n.make<tg::AddOp>(n.make<tg::MulOp>(sum, scalarLike(n, *alpha / double(*size), sum)), scalarLike(n, *bias, sum));
  Value result = n.make<tg::DivOp>(wide, n.make<tg::PowOp>(base, scalarLike(n, *beta, base)));
  return deliver(n, n.cast(result, n.elementType(x)));
}

/// (x - mean) / (standard deviation + 1e-9) over the attribute `axes`.
LogicalResult meanVariance(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  Value x = n.required(0);
  FailureOr<SmallVector<int64_t>> axes = n.intsAttr("axes", SmallVector<int64_t>{0, 2, 3});
  if (failed(axes) || failed(checkFloat(n, x, "input 0")))
    return failure();
  FailureOr<SmallVector<int64_t>> normalized = n.normalizeAxes(*axes, n.rank(x));
  if (failed(normalized))
    return failure();
  llvm::sort(*normalized);
  Value wide = n.toCompute(x);
  Value centred = n.make<tg::SubOp>(wide, mean(n, wide, *normalized, true));
  Value deviation = n.make<tg::SqrtOp>(mean(n, n.make<tg::MulOp>(centred, centred), *normalized, true));
  Value divisor = n.make<tg::AddOp>(deviation, scalarLike(n, 1e-9, deviation));
  return deliver(n, n.cast(n.make<tg::DivOp>(centred, divisor), n.elementType(x)));
}

} // namespace

ArrayRef<OpEntry> getNormOps() {
  static const OpEntry table[] = {
      // Opset 17 made it an operator; onnxruntime's optimiser writes it into models of older ones.
      {"", "LayerNormalization", 1, newestOpset, layerNormalization, ""},
      {"", "RMSNormalization", 23, newestOpset, importRmsNorm, ""},
      {"", "GroupNormalization", 18, 20, groupNormalization<true>, "static number of channels"},
      {"", "GroupNormalization", 21, newestOpset, groupNormalization<false>, "static number of channels"},
      {"", "InstanceNormalization", 1, newestOpset, instanceNormalization, "static number of channels"},
      {"", "BatchNormalization", 1, newestOpset, batchNormalization, "training outputs from opset 14 on"},
      {"", "LRN", 1, newestOpset, localResponse, ""},
      {"", "MeanVarianceNormalization", 9, newestOpset, meanVariance, ""},
  };
  return table;
}

} // namespace weft::onnx
