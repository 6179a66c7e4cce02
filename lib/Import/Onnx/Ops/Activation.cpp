// Activation functions, softmax and its relatives, and losses' inner normalisations by norm.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of several steps compute f16 and bf16 in f32 and round once at the end.
#include "Shared/Compose.h"

using namespace mlir;

namespace weft::onnx {

namespace {

using Body = llvm::function_ref<Value(Value)>;

/// Delivers body(input 0), computed in the compute type of a float operand.
LogicalResult floatFunction(NodeContext &n, Body body) {
  Value value = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || failed(checkFloat(n, value, "input")))
    return failure();
  return deliver(n, n.cast(body(n.toCompute(value)), n.elementType(value)));
}

/// x < 0 ? below : above.
Value whereNegative(NodeContext &n, Value x, Value below, Value above) {
  return n.make<tg::SelectOp>(compare(n, tg::CmpPredicate::Lt, x, scalarLike(n, 0, x)), below, above);
}

Value scaled(NodeContext &n, Value x, double factor) { return n.make<tg::MulOp>(x, scalarLike(n, factor, x)); }

/// Attribute `name` through the f32 that the file holds.
struct FloatAttrs {
  NodeContext &n;
  bool bad = false;
  double operator()(StringRef name, std::optional<double> def = std::nullopt) {
    FailureOr<double> value = n.floatAttr(name, def);
    bad |= failed(value);
    return succeeded(value) ? *value : 0;
  }
};

//===----------------------------------------------------------------------===//
// Rectifiers
//===----------------------------------------------------------------------===//

LogicalResult relu(NodeContext &n) {
  Value x = n.required(0);
  if (!x || failed(n.checkNumInputs(1, 1)))
    return failure();
  return deliver(n, n.make<tg::MaxOp>(x, scalarLike(n, 0, x)));
}

LogicalResult leakyRelu(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 0.01);
  return attr.bad ? failure() : floatFunction(n, [&](Value x) { return whereNegative(n, x, scaled(n, x, alpha), x); });
}

LogicalResult prelu(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value x = n.required(0), slope = n.required(1);
  if (!x || !slope || failed(checkSameElement(n, x, slope)))
    return failure();
  if (n.rank(slope) > n.rank(x))
    return n.error("expected a slope of rank at most " + Twine(n.rank(x)) + ", got " + Twine(n.rank(slope)));
  // Before opset 7, of each channel.
  if (n.opset < 7 && n.rank(slope) == 1 && n.rank(x) > 2 && n.staticDim(slope, 0) != 1) {
    tg::Dims dims(n.rank(x) - 1, n.constExpr(1));
    dims.front() = n.dim(slope, 0);
    slope = n.reshape(slope, dims);
  }
  return deliver(n, whereNegative(n, x, n.make<tg::MulOp>(x, slope), x));
}

LogicalResult thresholdedRelu(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 1.0);
  if (attr.bad)
    return failure();
  return floatFunction(n, [&](Value x) {
    Value above = compare(n, tg::CmpPredicate::Gt, x, scalarLike(n, alpha, x));
    return n.make<tg::SelectOp>(above, x, scalarLike(n, 0, x));
  });
}

LogicalResult elu(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 1.0);
  if (attr.bad)
    return failure();
  return floatFunction(n, [&](Value x) { return whereNegative(n, x, scaled(n, n.make<tg::Expm1Op>(x), alpha), x); });
}

LogicalResult selu(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 1.67326319217681884765625), gamma = attr("gamma", 1.05070102214813232421875);
  if (attr.bad)
    return failure();
  return floatFunction(
      n, [&](Value x) { return scaled(n, whereNegative(n, x, scaled(n, n.make<tg::Expm1Op>(x), alpha), x), gamma); });
}

LogicalResult celu(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 1.0);
  if (attr.bad)
    return failure();
  if (alpha == 0)
    return n.error("expected attribute `alpha` other than 0");
  return floatFunction(n, [&](Value x) {
    // max(0, x) + min(0, alpha * (e^(x / alpha) - 1))
    Value zero = scalarLike(n, 0, x);
    Value curve = scaled(n, n.make<tg::Expm1Op>(n.make<tg::DivOp>(x, scalarLike(n, alpha, x))), alpha);
    return n.make<tg::AddOp>(n.make<tg::MaxOp>(x, zero), n.make<tg::MinOp>(curve, zero));
  });
}

/// Shrink: x + bias below -lambd, x - bias above lambd, 0 between. Defined on integers too.
LogicalResult shrink(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  FloatAttrs attr{n};
  double lambd = attr("lambd", 0.5), bias = attr("bias", 0.0);
  Value input = n.required(0);
  if (attr.bad || !input)
    return failure();
  Type result = n.elementType(input);
  Value x = n.cast(input, isFloat(n, input) ? computeType(result) : Type(n.b.getF64Type()));
  Value below = compare(n, tg::CmpPredicate::Lt, x, scalarLike(n, -lambd, x));
  Value above = compare(n, tg::CmpPredicate::Gt, x, scalarLike(n, lambd, x));
  Value shift = scalarLike(n, bias, x);
  Value right = n.make<tg::SelectOp>(above, n.make<tg::SubOp>(x, shift), scalarLike(n, 0, x));
  return deliver(n, n.cast(n.make<tg::SelectOp>(below, n.make<tg::AddOp>(x, shift), right), result));
}

//===----------------------------------------------------------------------===//
// Sigmoids and gates
//===----------------------------------------------------------------------===//

template <typename OpTy> LogicalResult direct(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  return deliver(n, n.make<OpTy>(n.required(0)));
}

Value hardSigmoidOf(NodeContext &n, Value x, double alpha, double beta) {
  Value line = n.make<tg::AddOp>(scaled(n, x, alpha), scalarLike(n, beta, x));
  return n.make<tg::MinOp>(n.make<tg::MaxOp>(line, scalarLike(n, 0, x)), scalarLike(n, 1, x));
}

LogicalResult hardSigmoid(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 0.2f), beta = attr("beta", 0.5);
  return attr.bad ? failure() : floatFunction(n, [&](Value x) { return hardSigmoidOf(n, x, alpha, beta); });
}

LogicalResult hardSwish(NodeContext &n) {
  return floatFunction(n, [&](Value x) { return n.make<tg::MulOp>(x, hardSigmoidOf(n, x, 1.0 / 6.0, 0.5)); });
}

LogicalResult softplusHandler(NodeContext &n) {
  return floatFunction(n, [&](Value x) { return softplus(n, x); });
}

LogicalResult softsign(NodeContext &n) {
  return floatFunction(
      n, [&](Value x) { return n.make<tg::DivOp>(x, n.make<tg::AddOp>(n.make<tg::AbsOp>(x), scalarLike(n, 1, x))); });
}

LogicalResult mish(NodeContext &n) {
  return floatFunction(n, [&](Value x) { return n.make<tg::MulOp>(x, n.make<tg::TanhOp>(softplus(n, x))); });
}

LogicalResult gelu(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  FailureOr<unsigned> approximate = n.choiceAttr("approximate", {"none", "tanh"}, "none");
  if (failed(approximate))
    return failure();
  return deliver(n, n.make<tg::GeluOp>(n.required(0), *approximate ? n.b.getUnitAttr() : UnitAttr()));
}

LogicalResult swishHandler(NodeContext &n) {
  FloatAttrs attr{n};
  double alpha = attr("alpha", 1.0);
  return attr.bad ? failure() : floatFunction(n, [&](Value x) { return swish(n, x, alpha); });
}

LogicalResult swiglu(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  FloatAttrs attr{n};
  double alpha = attr("alpha", 1.0);
  Value gate = n.required(0), linear = n.required(1);
  if (attr.bad || !gate || !linear || failed(checkFloat(n, gate, "input 0")) ||
      failed(checkSameElement(n, gate, linear)))
    return failure();
  if (n.rank(gate) != n.rank(linear))
    return n.error("expected inputs of one shape, got ranks " + Twine(n.rank(gate)) + " and " + Twine(n.rank(linear)));
  for (int64_t d = 0; d < n.rank(gate); ++d)
    if (failed(n.assumeEqual(n.dim(gate, d), n.dim(linear, d), "dimension " + Twine(d) + " of the inputs")))
      return failure();
  Value product = n.make<tg::MulOp>(swish(n, n.toCompute(gate), alpha), n.toCompute(linear));
  return deliver(n, n.cast(product, n.elementType(gate)));
}

//===----------------------------------------------------------------------===//
// Along an axis
//===----------------------------------------------------------------------===//

/// The attribute `axis` of input 0's rank.
FailureOr<int64_t> axisAttr(NodeContext &n, Value x, int64_t def) {
  FailureOr<int64_t> axis = n.intAttr("axis", def);
  if (failed(axis) || !x)
    return failure();
  return n.normalizeAxis(*axis, n.rank(x));
}

/// Before opset 13, softmax and its relatives see the operand as a matrix: dimensions before and from `axis` on.
/// Delivers body(matrix, 1) in the operand's shape; since then, body(x, axis).
LogicalResult alongAxis(NodeContext &n, llvm::function_ref<Value(Value, int64_t)> body) {
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || failed(checkFloat(n, x, "input")))
    return failure();
  bool matrix = n.opset < 13;
  FailureOr<int64_t> axis = axisAttr(n, x, matrix ? 1 : -1);
  if (failed(axis))
    return failure();
  if (!matrix)
    return deliver(n, body(x, *axis));
  tg::Dims dims = n.dims(x);
  ArrayRef<AffineExpr> all(dims);
  Value rows = n.reshape(x, {product(n, all.take_front(*axis)), product(n, all.drop_front(*axis))});
  return deliver(n, n.reshape(body(rows, 1), dims));
}

template <bool log> LogicalResult softmax(NodeContext &n) {
  return alongAxis(n, [&](Value x, int64_t axis) {
    return n.make<tg::SoftmaxOp>(x, n.b.getI64IntegerAttr(axis), log ? n.b.getUnitAttr() : UnitAttr());
  });
}

/// 1 at the first maximum along the axis, else 0.
LogicalResult hardmax(NodeContext &n) {
  return alongAxis(n, [&](Value x, int64_t axis) {
    Value index = n.make<tg::ArgReduceOp>(tg::MonoidAttr::get(n.b.getContext(), tg::Monoid::Max), x,
                                          n.b.getI64IntegerAttr(axis), n.b.getUnitAttr(), UnitAttr());
    if (!index)
      return index;
    Value place = iota(n, axis, n.dims(x), n.elementType(index));
    return n.cast(compare(n, tg::CmpPredicate::Eq, place, index), n.elementType(x));
  });
}

/// x / |x|_p along the axis; a zero norm gives zero.
LogicalResult lpNormalization(NodeContext &n) {
  FailureOr<int64_t> p = n.intAttr("p", 2);
  Value input = n.required(0);
  FailureOr<int64_t> axis = axisAttr(n, input, -1);
  if (failed(p) || failed(axis))
    return failure();
  if (*p != 1 && *p != 2)
    return n.error("expected attribute `p` = 1 or 2, got " + Twine(*p));
  return floatFunction(n, [&](Value x) {
    Value powers = *p == 1 ? n.make<tg::AbsOp>(x) : n.make<tg::MulOp>(x, x);
    Value norm = n.reduce(tg::Monoid::Add, powers, *axis, true);
    if (*p == 2)
      norm = n.make<tg::SqrtOp>(norm);
    Value zero = scalarLike(n, 0, x);
    return n.make<tg::SelectOp>(compare(n, tg::CmpPredicate::Eq, norm, zero), zero, n.make<tg::DivOp>(x, norm));
  });
}

} // namespace

ArrayRef<OpEntry> getActivationOps() {
  static const OpEntry table[] = {
      {"", "Relu", 1, newestOpset, relu, ""},
      {"", "LeakyRelu", 1, newestOpset, leakyRelu, ""},
      {"", "PRelu", 1, newestOpset, prelu, ""},
      {"", "ThresholdedRelu", 10, newestOpset, thresholdedRelu, ""},
      {"", "Elu", 1, newestOpset, elu, ""},
      {"", "Selu", 1, newestOpset, selu, ""},
      {"", "Celu", 12, newestOpset, celu, ""},
      {"", "Shrink", 9, newestOpset, shrink, ""},
      {"", "Sigmoid", 1, newestOpset, direct<tg::SigmoidOp>, ""},
      {"", "HardSigmoid", 1, newestOpset, hardSigmoid, ""},
      {"", "HardSwish", 14, newestOpset, hardSwish, ""},
      {"", "Softplus", 1, newestOpset, softplusHandler, ""},
      {"", "Softsign", 1, newestOpset, softsign, ""},
      {"", "Mish", 18, newestOpset, mish, ""},
      {"", "Gelu", 20, newestOpset, gelu, ""},
      {"", "Swish", 24, newestOpset, swishHandler, ""},
      {"", "SwiGLU", 28, newestOpset, swiglu, ""},
      {"", "Softmax", 1, newestOpset, softmax<false>, ""},
      {"", "LogSoftmax", 1, newestOpset, softmax<true>, ""},
      {"", "Hardmax", 1, newestOpset, hardmax, ""},
      {"", "LpNormalization", 1, newestOpset, lpNormalization, ""},
  };
  return table;
}

} // namespace weft::onnx
