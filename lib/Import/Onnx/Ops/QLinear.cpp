// Operators on quantised tensors: QLinearMatMul and com.microsoft's QLinear family. All but the product dequantise,
// compute in f32 and quantise again, which is their definition.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Contraction.h"
#include "Shared/Expr.h"
#include "Shared/Pooling.h"
#include "Shared/Quantization.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// One quantised operand: three consecutive inputs tensor, scale, zero point (optional), scale and zero point per
/// tensor.
struct QuantOperand {
  Value tensor, scale, zero;
};

/// A per-tensor parameter as a rank-0 tensor.
FailureOr<Value> perTensor(NodeContext &c, Value parameter, StringRef what) {
  if (tg::getConstant(tg::getNumElements(parameter.getType())) != 1)
    return c.error("expected `" + what + "` of one element, got type " + typeName(parameter.getType()));
  return c.reshape(parameter, ArrayRef<AffineExpr>());
}

/// Scale and optional zero point from inputs `i` and `i + 1`.
FailureOr<QuantOperand> readParameters(NodeContext &c, unsigned i, StringRef name) {
  Value scale = c.required(i), zero = c.input(i + 1);
  if (!scale || failed(checkFloat(c, scale, name.str() + "_scale")))
    return failure();
  QuantOperand result;
  FailureOr<Value> flatScale = perTensor(c, scale, name.str() + "_scale");
  if (failed(flatScale))
    return failure();
  result.scale = *flatScale;
  if (zero) {
    FailureOr<Value> flatZero = perTensor(c, zero, name.str() + "_zero_point");
    if (failed(flatZero))
      return failure();
    result.zero = *flatZero;
  }
  return result;
}

FailureOr<QuantOperand> readOperand(NodeContext &c, unsigned i, StringRef name) {
  Value tensor = c.required(i);
  if (!tensor)
    return failure();
  if (!isQuantizedInt(c.elementType(tensor)))
    return c.error("expected `" + name + "` of a quantised integer type, got " + typeName(c.elementType(tensor)));
  FailureOr<QuantOperand> operand = readParameters(c, i + 1, name);
  if (failed(operand))
    return failure();
  if (operand->zero && c.elementType(operand->zero) != c.elementType(tensor))
    return c.error("expected `" + name + "_zero_point` of element type " + typeName(c.elementType(tensor)) + ", got " +
                   typeName(c.elementType(operand->zero)));
  operand->tensor = tensor;
  return operand;
}

Expr real(NodeContext &c, const QuantOperand &operand) {
  return {c, dequantize(c, operand.tensor, operand.scale, operand.zero)};
}

/// Quantises `value` with `result`'s parameters to the type of its zero point, or `element` without one.
LogicalResult deliverQuantized(NodeContext &c, Value value, const QuantOperand &result, Type element) {
  return deliver(c, quantize(c, value, result.scale, result.zero, result.zero ? c.elementType(result.zero) : element));
}

//===--- QLinearMatMul ---===//

/// A scale or zero point of a matrix operand: one element, a vector over rows (`rows`) or columns, or a tensor that
/// broadcasts as it is.
Value asMatrixParameter(NodeContext &c, Value parameter, bool rows) {
  if (tg::getConstant(tg::getNumElements(parameter.getType())) == 1)
    return c.reshape(parameter, ArrayRef<AffineExpr>());
  return c.rank(parameter) == 1 && rows ? c.unsqueeze(parameter, {1}) : parameter;
}

LogicalResult importQLinearMatMul(NodeContext &c) {
  if (failed(c.checkNumInputs(8, 8)))
    return failure();
  enum { A, AScale, AZero, B, BScale, BZero, YScale, YZero };
  for (unsigned i = A; i <= YZero; ++i)
    if (!c.required(i))
      return failure();
  for (unsigned i : {A, B, YZero})
    if (!isQuantizedInt(c.elementType(c.input(i))))
      return c.unsupported("a product of element type " + typeName(c.elementType(c.input(i))) + " is not supported");
  for (unsigned i : {AScale, BScale, YScale})
    if (failed(checkFloat(c, c.input(i), "scale")))
      return failure();
  auto parameter = [&](unsigned i, bool rows) { return asMatrixParameter(c, c.input(i), rows); };
  Value a = subtractZeroPoint(c, c.input(A), parameter(AZero, true));
  Value b = subtractZeroPoint(c, c.input(B), parameter(BZero, false));
  Value sum = matmul(c, a, b, c.b.getI32Type());
  if (!sum)
    return failure();
  Expr factor = Expr(c, parameter(AScale, true)) * Expr(c, parameter(BScale, false)) / Expr(c, parameter(YScale, true));
  Expr scaled = Expr(c, c.cast(sum, c.b.getF32Type())) * Expr(c, c.cast(factor, c.b.getF32Type()));
  if (scaled && c.rank(scaled) != c.rank(sum))
    return c.error("expected scales that broadcast to the product, got type " + typeName(Value(scaled).getType()));
  return deliver(c, roundToInteger(c, scaled, parameter(YZero, true), c.elementType(c.input(YZero))));
}

//===--- Elementwise ---===//

/// a * sa + b * sb or a * sa * b * sb, over sy. Scales are divided by scales first, as onnxruntime does: with equal
/// ones the quotient is exact, and so are ties.
template <typename OpTy> LogicalResult importQLinearBinary(NodeContext &c) {
  if (failed(c.checkNumInputs(7, 8)))
    return failure();
  FailureOr<QuantOperand> a = readOperand(c, 0, "A"), b = readOperand(c, 3, "B"), y = readParameters(c, 6, "C");
  if (failed(a) || failed(b) || failed(y))
    return failure();
  Type f32 = c.b.getF32Type();
  auto units = [&](const QuantOperand &operand) {
    Expr value(c, c.cast(operand.tensor, f32));
    return operand.zero ? value - Expr(c, c.cast(operand.zero, f32)) : value;
  };
  auto scale = [&](const QuantOperand &operand) { return Expr(c, c.cast(operand.scale, f32)); };
  Expr left = units(*a), right = units(*b), ratio = left;
  if (std::is_same_v<OpTy, tg::AddOp>) {
    left = left * (scale(*a) / scale(*y));
    right = right * (scale(*b) / scale(*y));
    ratio = left + right;
  } else {
    Expr factor = scale(*a) * scale(*b) / scale(*y);
    ratio = left * right * factor;
  }
  Type target = c.elementType(y->zero ? y->zero : a->tensor);
  return deliver(c, roundToInteger(c, ratio, y->zero, target));
}

/// Input x, its parameters, the result's parameters.
struct UnaryOperands {
  QuantOperand x, y;
};

FailureOr<UnaryOperands> readUnary(NodeContext &c) {
  if (failed(c.checkNumInputs(4, 5)))
    return failure();
  FailureOr<QuantOperand> x = readOperand(c, 0, "X"), y = readParameters(c, 3, "Y");
  if (failed(x) || failed(y))
    return failure();
  return UnaryOperands{*x, *y};
}

LogicalResult importQLinearSigmoid(NodeContext &c) {
  FailureOr<UnaryOperands> ops = readUnary(c);
  if (failed(ops))
    return failure();
  return deliverQuantized(c, real(c, ops->x).unary<tg::SigmoidOp>(), ops->y, c.elementType(ops->x.tensor));
}

LogicalResult importQLinearLeakyRelu(NodeContext &c) {
  FailureOr<UnaryOperands> ops = readUnary(c);
  FailureOr<double> alpha = c.floatAttr("alpha", 0.01);
  if (failed(ops) || failed(alpha))
    return failure();
  Expr x = real(c, ops->x);
  Expr y = x.compare(tg::CmpPredicate::Ge, 0.0).select(x, x * *alpha);
  return deliverQuantized(c, y, ops->y, c.elementType(ops->x.tensor));
}

LogicalResult importQLinearSoftmax(NodeContext &c) {
  FailureOr<UnaryOperands> ops = readUnary(c);
  FailureOr<int64_t> axis = c.intAttr("axis", -1), opset = c.intAttr("opset");
  if (failed(ops) || failed(axis) || failed(opset))
    return failure();
  FailureOr<int64_t> normal = c.normalizeAxis(*axis, c.rank(ops->x.tensor));
  if (failed(normal))
    return failure();
  Expr x = real(c, ops->x);
  tg::Dims dims = c.dims(ops->x.tensor);
  // Attribute `opset` is the Softmax's that was quantised: below 13 it is over all dimensions from the axis on.
  bool isFlat = *opset < 13;
  if (isFlat) {
    ArrayRef<AffineExpr> all(dims);
    x = x.reshape({product(c, all.take_front(*normal)), product(c, all.drop_front(*normal))});
  }
  Expr y(c, c.make<tg::SoftmaxOp>(Value(x), c.b.getI64IntegerAttr(isFlat ? 1 : *normal), UnitAttr()));
  return deliverQuantized(c, isFlat ? y.reshape(dims) : y, ops->y, c.elementType(ops->x.tensor));
}

LogicalResult importQLinearGlobalAveragePool(NodeContext &c) {
  FailureOr<UnaryOperands> ops = readUnary(c);
  FailureOr<bool> channelsLast = c.boolAttr("channels_last", false);
  if (failed(ops) || failed(channelsLast) || failed(c.checkRank(ops->x.tensor, 3, 8, "X")))
    return failure();
  int64_t rank = c.rank(ops->x.tensor);
  SmallVector<int64_t> axes = *channelsLast ? axisRange(1, rank - 1) : axisRange(2, rank);
  return deliverQuantized(c, mean(c, real(c, ops->x), axes, /*keepDims=*/true), ops->y, c.elementType(ops->x.tensor));
}

LogicalResult importQLinearAveragePool(NodeContext &c) {
  FailureOr<UnaryOperands> ops = readUnary(c);
  FailureOr<bool> channelsLast = c.boolAttr("channels_last", false);
  if (failed(ops) || failed(channelsLast) || failed(c.checkRank(ops->x.tensor, 3, 5, "X")))
    return failure();
  Value x = real(c, ops->x);
  Value y = averagePool(c, *channelsLast ? moveChannels(c, x, /*toFront=*/true) : x);
  return deliverQuantized(c, *channelsLast ? moveChannels(c, y, /*toFront=*/false) : y, ops->y,
                          c.elementType(ops->x.tensor));
}

/// condition ? x : y, each with parameters of its own, in those of the result.
LogicalResult importQLinearWhere(NodeContext &c) {
  Value condition = c.required(0);
  if (!condition || failed(c.checkNumInputs(9, 9)))
    return failure();
  FailureOr<QuantOperand> x = readOperand(c, 1, "X"), y = readOperand(c, 4, "Y"), z = readParameters(c, 7, "Z");
  if (failed(x) || failed(y) || failed(z))
    return failure();
  return deliverQuantized(c, Expr(c, condition).select(real(c, *x), real(c, *y)), *z, c.elementType(x->tensor));
}

LogicalResult importQLinearConcat(NodeContext &c) {
  if (c.numInputs() < 5 || (c.numInputs() - 2) % 3 != 0)
    return c.error("expected a scale, a zero point and triples of tensor, scale and zero point, got " +
                   Twine(c.numInputs()) + " inputs");
  FailureOr<QuantOperand> y = readParameters(c, 0, "Y");
  FailureOr<int64_t> axis = c.intAttr("axis");
  if (failed(y) || failed(axis))
    return failure();
  SmallVector<Value> parts;
  for (unsigned i = 2; i < c.numInputs(); i += 3) {
    FailureOr<QuantOperand> x = readOperand(c, i, "X");
    if (failed(x))
      return failure();
    parts.push_back(real(c, *x));
  }
  FailureOr<int64_t> normal = c.normalizeAxis(*axis, c.rank(c.input(2)));
  if (failed(normal))
    return failure();
  return deliverQuantized(c, c.concat(parts, *normal), *y, c.elementType(c.input(2)));
}

} // namespace

ArrayRef<OpEntry> getQLinearOps() {
  static const OpEntry ops[] = {
      {"", "QLinearMatMul", 10, newestOpset, importQLinearMatMul, "integers only"},
      {"com.microsoft", "QLinearAdd", 1, anyOpset, importQLinearBinary<tg::AddOp>, "parameters per tensor"},
      {"com.microsoft", "QLinearMul", 1, anyOpset, importQLinearBinary<tg::MulOp>, "parameters per tensor"},
      {"com.microsoft", "QLinearSigmoid", 1, anyOpset, importQLinearSigmoid, "parameters per tensor"},
      {"com.microsoft", "QLinearLeakyRelu", 1, anyOpset, importQLinearLeakyRelu, "parameters per tensor"},
      {"com.microsoft", "QLinearSoftmax", 1, anyOpset, importQLinearSoftmax, "parameters per tensor"},
      {"com.microsoft", "QLinearGlobalAveragePool", 1, anyOpset, importQLinearGlobalAveragePool,
       "parameters per tensor"},
      {"com.microsoft", "QLinearAveragePool", 1, anyOpset, importQLinearAveragePool, "parameters per tensor"},
      {"com.microsoft", "QLinearWhere", 1, anyOpset, importQLinearWhere, "parameters per tensor"},
      {"com.microsoft", "QLinearConcat", 1, anyOpset, importQLinearConcat, "parameters per tensor"},
  };
  return ops;
}

} // namespace weft::onnx
