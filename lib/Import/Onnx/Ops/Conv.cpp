// Conv and ConvTranspose. A convolution is padding and one contraction; a transposed convolution is the same over its
// operand with stride - 1 zeros between neighbours, and the kernel reversed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Convolution.h"
#include "Shared/Expr.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// The convolution of `x` and `w` plus input B; null after an error.
Value convolution(NodeContext &c, Value x, Value w) {
  Value bias = c.input(2);
  if (!x || !w || failed(checkSameFloat(c, x, w, "W")) || failed(checkSameFloat(c, x, bias, "B")))
    return {};
  FailureOr<ConvWeights> weights = readConvWeights(c, x, w, /*transposed=*/false);
  if (failed(weights))
    return {};
  FailureOr<Windows> windows = readWindows(c, x, weights->kernel, /*mayCeil=*/false);
  if (failed(windows))
    return {};
  Type element = c.elementType(x);
  Value padded = padForWindows(c, x, c.scalar(0, element), *windows);
  return addChannelBias(c, convolve(c, padded, w, *weights, *windows, element), bias);
}

LogicalResult importConv(NodeContext &c) {
  return failed(c.checkNumInputs(2, 3)) ? failure() : deliver(c, convolution(c, c.required(0), c.required(1)));
}

/// The activation of com.microsoft's FusedConv, with its parameters in attribute `activation_params`.
FailureOr<Value> convActivation(NodeContext &c, Expr x) {
  FailureOr<unsigned> kind =
      c.choiceAttr("activation", {"", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"}, "");
  FailureOr<SmallVector<double>> params = c.floatsAttr("activation_params", SmallVector<double>());
  if (failed(kind) || failed(params))
    return failure();
  constexpr size_t numParams[] = {0, 0, 0, 0, 1, 2, 2};
  if (params->size() < numParams[*kind])
    return c.error("expected " + Twine(numParams[*kind]) + " values in attribute `activation_params`, got " +
                   Twine(params->size()));
  switch (*kind) {
  case 1:
    return Value(x.max(0.0));
  case 2:
    return Value(x.unary<tg::TanhOp>());
  case 3:
    return Value(x.unary<tg::SigmoidOp>());
  case 4:
    return Value(x.compare(tg::CmpPredicate::Ge, 0.0).select(x, x * (*params)[0]));
  case 5:
    return Value(x.clamp((*params)[0], (*params)[1]));
  case 6:
    return Value((x * (*params)[0] + (*params)[1]).clamp(0, 1));
  default:
    return Value(x);
  }
}

/// com.microsoft's convolution of N x .. x C by M x C/group x kernel.
LogicalResult importNhwcConv(NodeContext &c) {
  Value x = c.required(0), w = c.required(1);
  if (failed(c.checkNumInputs(2, 3)) || !x || failed(c.checkRank(x, 3, 5, "X")))
    return failure();
  return deliver(c, moveChannels(c, convolution(c, moveChannels(c, x, /*toFront=*/true), w), /*toFront=*/false));
}

/// activation(conv(X, w) + B + Z), where channels may be last in X, Z and the result.
template <bool channelsLast> LogicalResult fusedConv(NodeContext &c, Value w) {
  Value x = c.required(0);
  if (failed(c.checkNumInputs(2, 4)) || !x || failed(c.checkRank(x, 3, 5, "X")))
    return failure();
  Expr y(c, convolution(c, channelsLast ? moveChannels(c, x, /*toFront=*/true) : x, w));
  if (channelsLast)
    y = Expr(c, moveChannels(c, y, /*toFront=*/false));
  if (y && c.input(3)) {
    if (failed(checkSameFloat(c, y, c.input(3), "Z")))
      return failure();
    y = y + Expr(c, c.input(3));
  }
  if (!y)
    return failure();
  FailureOr<Value> active = convActivation(c, y);
  return failed(active) ? failure() : deliver(c, *active);
}

template <bool channelsLast> LogicalResult importFusedConv(NodeContext &c) {
  return fusedConv<channelsLast>(c, c.required(1));
}

//===--- Blocks of channels ---===//
// Values between the nodes of com.microsoft.nchwc are N x C x H x W here as elsewhere: how onnxruntime blocks them in
// memory is nobody's business but that of the weights, which the file has in blocks, and of counts of channels, which
// are filled up with zeros.

/// Weights M x C/group x H x W in plain order. In the file they are M/block x C/block x H x W x block x block or, where
/// the operand is not blocked (too few channels) or each channel is a group, M/block x C x H x W x block.
Value unblockWeights(NodeContext &c, Value w) {
  FailureOr<int64_t> groups = c.intAttr("group", 1);
  if (!w || failed(groups) || failed(c.checkRank(w, 4, 4, "W")))
    return {};
  FailureOr<SmallVector<int64_t>> shape = staticDims(c, w, 0, "W");
  if (failed(shape))
    return {};
  int64_t block = c.channelBlock(), out = (*shape)[0], in = (*shape)[1], rows = (*shape)[2], columns = (*shape)[3];
  bool hasBlockedInput = in >= block;
  if (out % block != 0 || (hasBlockedInput && in % block != 0)) {
    (void)c.error("expected channels of `W` in blocks of " + Twine(block) + ", got " + Twine(out) + " x " + Twine(in));
    return {};
  }
  int64_t inner = hasBlockedInput ? block : 1;
  w = c.reshape(w, ArrayRef<int64_t>{out / block, in / inner, rows, columns, inner, block});
  return c.reshape(c.transpose(w, {0, 5, 1, 4, 2, 3}), *shape);
}

LogicalResult importBlockedConv(NodeContext &c) { return fusedConv<false>(c, unblockWeights(c, c.required(1))); }

LogicalResult importReorderInput(NodeContext &c) {
  Value x = c.required(0);
  FailureOr<bool> channelsLast = c.boolAttr("channels_last", false);
  if (failed(c.checkNumInputs(1, 1)) || !x || failed(c.checkRank(x, 4, 4, "X")) || failed(channelsLast))
    return failure();
  if (*channelsLast)
    x = moveChannels(c, x, /*toFront=*/true);
  std::optional<int64_t> channels = c.staticDim(x, 1);
  if (!channels)
    return c.unsupported("a symbolic number of channels is not supported", "fix the extent with --dim");
  int64_t missing = llvm::alignTo(*channels, c.channelBlock()) - *channels;
  return deliver(c, padOrCrop(c, x, c.scalar(0, c.elementType(x)), {0, 0, 0, 0}, {0, missing, 0, 0}));
}

LogicalResult importReorderOutput(NodeContext &c) {
  Value x = c.required(0);
  FailureOr<bool> channelsLast = c.boolAttr("channels_last", false);
  FailureOr<int64_t> channels = c.intAttr("channels");
  if (failed(c.checkNumInputs(1, 1)) || !x || failed(c.checkRank(x, 4, 4, "X")) || failed(channelsLast) ||
      failed(channels))
    return failure();
  std::optional<int64_t> padded = c.staticDim(x, 1);
  if (*channels < 1 || (padded && *channels > *padded))
    return c.error("expected attribute `channels` in [1, " + c.extentsText(c.dim(x, 1)) + "], got " + Twine(*channels));
  if (!padded && failed(c.assumeAtMost(c.constExpr(*channels), c.dim(x, 1), "channels")))
    return failure();
  Value y = padded == *channels ? x : c.slice(x, 1, 0, c.constExpr(*channels));
  return deliver(c, *channelsLast ? moveChannels(c, y, /*toFront=*/false) : y);
}

//===--- ConvTranspose ---===//

/// The geometry of one spatial dimension of ConvTranspose as a stride-1 convolution of the spread operand.
struct Transposed {
  int64_t low = 0, high = 0; ///< Padding (or crop) of the spread operand.
  AffineExpr output;
};

struct TransposedAttrs {
  SmallVector<int64_t> strides, dilations, pads, outputPadding, outputShape;
  unsigned autoPad = 0;
};

FailureOr<TransposedAttrs> readTransposedAttrs(NodeContext &c, size_t count) {
  FailureOr<SmallVector<int64_t>> strides = readWindowInts(c, "strides", count, 1, 1);
  FailureOr<SmallVector<int64_t>> dilations = readWindowInts(c, "dilations", count, 1, 1);
  FailureOr<SmallVector<int64_t>> pads = readWindowInts(c, "pads", 2 * count, 0, 0);
  FailureOr<SmallVector<int64_t>> outputPadding = readWindowInts(c, "output_padding", count, 0, 0);
  FailureOr<unsigned> autoPad = c.choiceAttr("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}, "NOTSET");
  if (failed(strides) || failed(dilations) || failed(pads) || failed(outputPadding) || failed(autoPad))
    return failure();
  TransposedAttrs attrs{*strides, *dilations, *pads, *outputPadding, {}, *autoPad};
  if (c.hasAttr("output_shape")) {
    FailureOr<SmallVector<int64_t>> shape = c.intsAttr("output_shape");
    if (failed(shape))
      return failure();
    // Some exporters list the batch and the channels too.
    if (shape->size() == count + 2)
      shape->erase(shape->begin(), shape->begin() + 2);
    if (!shape->empty() && shape->size() != count)
      return c.error("expected " + Twine(count) + " values in attribute `output_shape`, got " + Twine(shape->size()));
    for (int64_t extent : *shape)
      if (extent < 1 || extent > maxWindowParameter)
        return c.error("expected values of attribute `output_shape` in [1, " + Twine(maxWindowParameter) + "], got " +
                       Twine(extent));
    attrs.outputShape = *shape;
  }
  return attrs;
}

/// Output position o takes x[i] * w[k] where i * stride + k * dilation - padBefore = o. With the spread operand padded
/// by reach - 1 - padBefore in front and the kernel reversed, that is a plain convolution.
FailureOr<Transposed> placeTransposed(NodeContext &c, const TransposedAttrs &attrs, size_t i, AffineExpr extent,
                                      int64_t reach) {
  size_t count = attrs.strides.size();
  int64_t stride = attrs.strides[i], before = attrs.pads[i], after = attrs.pads[count + i];
  bool same = attrs.autoPad == 1 || attrs.autoPad == 2;
  AffineExpr full = tg::simplify((extent - 1) * stride + attrs.outputPadding[i] + reach);
  Transposed result;
  if (!attrs.outputShape.empty() || same) {
    result.output = attrs.outputShape.empty() ? tg::simplify(extent * stride) : c.constExpr(attrs.outputShape[i]);
    std::optional<int64_t> total = tg::getConstant(tg::simplify(full - result.output));
    if (!total)
      return c.unsupported("attribute `output_shape` with a symbolic spatial extent is not supported",
                           "fix the extent with --dim");
    int64_t half = std::max<int64_t>(*total, 0) / 2, rest = std::max<int64_t>(*total, 0) - half;
    before = attrs.autoPad == 1 ? half : rest;
    after = *total - before;
  } else {
    if (attrs.autoPad == 3)
      before = after = 0;
    result.output = tg::simplify(full - (before + after));
  }
  result.low = reach - 1 - before;
  result.high = reach - 1 - after + attrs.outputPadding[i];
  if (std::optional<int64_t> positions = tg::getConstant(result.output); positions && *positions < 1)
    return c.error("expected an output of at least 1 element along spatial dimension " + Twine(i) + ", got " +
                   Twine(*positions));
  return result;
}

LogicalResult importConvTranspose(NodeContext &c) {
  Value x = c.required(0), w = c.required(1), bias = c.input(2);
  if (!x || !w || failed(c.checkNumInputs(2, 3)) || failed(checkSameFloat(c, x, w, "W")) ||
      failed(checkSameFloat(c, x, bias, "B")))
    return failure();
  FailureOr<ConvWeights> weights = readConvWeights(c, x, w, /*transposed=*/true);
  if (failed(weights))
    return failure();
  size_t count = weights->kernel.size();
  FailureOr<TransposedAttrs> attrs = readTransposedAttrs(c, count);
  if (failed(attrs))
    return failure();

  Windows windows(count);
  SmallVector<int64_t> low(2, 0), high(2, 0), interior(2, 0), offsets(2, 0), steps(2, 1);
  for (size_t i = 0; i < count; ++i) {
    windows[i].size = weights->kernel[i];
    windows[i].dilation = attrs->dilations[i];
    if (windows[i].reach() > maxWindowParameter)
      return c.error("expected a window of at most " + Twine(maxWindowParameter) + " elements, got " +
                     Twine(windows[i].reach()));
    FailureOr<Transposed> placed = placeTransposed(c, *attrs, i, c.dim(x, 2 + i), windows[i].reach());
    if (failed(placed))
      return failure();
    windows[i].output = placed->output;
    low.push_back(placed->low);
    high.push_back(placed->high);
    interior.push_back(attrs->strides[i] - 1);
    offsets.push_back(weights->kernel[i] - 1);
    steps.push_back(weights->kernel[i] > 1 ? -1 : 1);
  }
  if (llvm::any_of(steps, [](int64_t step) { return step < 0; }))
    w = c.make<tg::SliceOp>(w.getType(), w, offsets, steps);
  Type element = c.elementType(x);
  Value spread = padOrCrop(c, x, c.scalar(0, element), low, high, interior);
  Value y = addChannelBias(c, convolve(c, spread, w, *weights, windows, element), bias);
  return deliver(c, y);
}

} // namespace

ArrayRef<OpEntry> getConvOps() {
  static const OpEntry ops[] = {
      {"", "Conv", 1, newestOpset, importConv, "1 to 3 spatial dimensions"},
      {"com.microsoft", "FusedConv", 1, anyOpset, importFusedConv<false>, "1 to 3 spatial dimensions"},
      {"com.microsoft", "NhwcConv", 1, anyOpset, importNhwcConv, "1 to 3 spatial dimensions"},
      {"com.microsoft", "NhwcFusedConv", 1, anyOpset, importFusedConv<true>, "1 to 3 spatial dimensions"},
      {"com.microsoft.nchwc", "Conv", 1, anyOpset, importBlockedConv, "static channels"},
      {"com.microsoft.nchwc", "ReorderInput", 1, anyOpset, importReorderInput, "static channels"},
      {"com.microsoft.nchwc", "ReorderOutput", 1, anyOpset, importReorderOutput, ""},
      {"", "ConvTranspose", 1, newestOpset, importConvTranspose, "1 to 3 spatial dimensions"},
  };
  return ops;
}

} // namespace weft::onnx
