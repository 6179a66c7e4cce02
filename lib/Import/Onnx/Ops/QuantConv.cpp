// ConvInteger and QLinearConv: the convolution of integers less their zero points, accumulated in i32.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Convolution.h"
#include "Shared/Expr.h"
#include "Shared/Quantization.h"

using namespace mlir;

namespace weft::onnx {
namespace {

LogicalResult checkEightBit(NodeContext &c, Value value, StringRef what) {
  Type element = c.elementType(value);
  if (!isa<IntegerType>(element) || element.getIntOrFloatBitWidth() != 8)
    return c.error("expected `" + what + "` of element type i8 or ui8, got " + typeName(element));
  return success();
}

/// A parameter of the weights (M x C/g x kernel): a scalar, or one entry for each of the M output channels.
FailureOr<Value> perOutputChannel(NodeContext &c, Value parameter, Value w, StringRef what) {
  return spreadParameter(c, parameter, w, QuantAxis{0, 0}, what);
}

/// The i32 convolution of x - xZero and w - wZero. Padding is zero after the subtraction.
FailureOr<Value> convolveIntegers(NodeContext &c, Value x, Value w, Value xZero, Value wZero) {
  if (failed(checkEightBit(c, x, "x")) || failed(checkEightBit(c, w, "w")))
    return failure();
  FailureOr<ConvWeights> weights = readConvWeights(c, x, w, /*transposed=*/false);
  if (failed(weights))
    return failure();
  FailureOr<Windows> windows = readWindows(c, x, weights->kernel, /*mayCeil=*/false);
  if (failed(windows))
    return failure();
  if (xZero) {
    FailureOr<Value> spread = spreadParameter(c, xZero, x, QuantAxis{1, 0}, "x_zero_point");
    if (failed(spread))
      return failure();
    x = subtractZeroPoint(c, x, *spread);
  }
  if (wZero) {
    FailureOr<Value> spread = perOutputChannel(c, wZero, w, "w_zero_point");
    if (failed(spread))
      return failure();
    w = subtractZeroPoint(c, w, *spread);
  }
  if (!x || !w)
    return failure();
  Value padded = padForWindows(c, x, c.scalarInt(0, c.elementType(x)), *windows);
  Value y = convolve(c, padded, w, *weights, *windows, c.b.getI32Type());
  if (!y)
    return failure();
  return y;
}

LogicalResult importConvInteger(NodeContext &c) {
  Value x = c.required(0), w = c.required(1);
  if (!x || !w || failed(c.checkNumInputs(2, 4)))
    return failure();
  FailureOr<Value> y = convolveIntegers(c, x, w, c.input(2), c.input(3));
  return failed(y) ? failure() : deliver(c, *y);
}

LogicalResult importQLinearConv(NodeContext &c) {
  if (failed(c.checkNumInputs(8, 9)))
    return failure();
  enum { X, XScale, XZero, W, WScale, WZero, YScale, YZero, Bias };
  for (unsigned i : {X, XScale, XZero, W, WScale, WZero, YScale, YZero})
    if (!c.required(i))
      return failure();
  Value w = c.input(W), bias = c.input(Bias);
  if (failed(checkEightBit(c, c.input(YZero), "y_zero_point")))
    return failure();
  if (bias && !c.elementType(bias).isInteger(32))
    return c.error("expected `B` of element type i32, got " + typeName(c.elementType(bias)));
  FailureOr<Value> sum = convolveIntegers(c, c.input(X), w, c.input(XZero), c.input(WZero));
  if (failed(sum))
    return failure();
  Value acc = addChannelBias(c, *sum, bias);
  if (!acc)
    return failure();

  // y = acc * (x_scale * w_scale / y_scale), with one w_scale for each output channel.
  SmallVector<Value> scales;
  for (unsigned i : {XScale, WScale, YScale}) {
    FailureOr<Value> scale = spreadParameter(c, c.input(i), acc, QuantAxis{1, 0},
                                             i == WScale   ? "w_scale"
                                             : i == XScale ? "x_scale"
                                                           : "y_scale");
    if (failed(scale) || failed(checkSameFloat(c, *scale, {}, "")))
      return failure();
    scales.push_back(*scale);
  }
  FailureOr<Value> zero = spreadParameter(c, c.input(YZero), acc, QuantAxis{1, 0}, "y_zero_point");
  if (failed(zero))
    return failure();
  Expr factor = Expr(c, scales[0]) * Expr(c, scales[1]) / Expr(c, scales[2]);
  Expr real = Expr(c, c.cast(acc, c.b.getF32Type())) * Expr(c, c.toCompute(factor));
  return deliver(c, roundToInteger(c, real, *zero, c.elementType(c.input(YZero))));
}

} // namespace

ArrayRef<OpEntry> getQuantConvOps() {
  static const OpEntry ops[] = {
      {"", "ConvInteger", 10, newestOpset, importConvInteger, "1 to 3 spatial dimensions"},
      {"", "QLinearConv", 10, newestOpset, importQLinearConv, "1 to 3 spatial dimensions"},
  };
  return ops;
}

} // namespace weft::onnx
