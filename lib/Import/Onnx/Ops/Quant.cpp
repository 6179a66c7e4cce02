// QuantizeLinear, DequantizeLinear (both domains) and DynamicQuantizeLinear as elementwise arithmetic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/Quantization.h"

using namespace mlir;

namespace weft::onnx {
namespace {

FailureOr<QuantAxis> readQuantAxis(NodeContext &c, Value x, Value scale) {
  FailureOr<int64_t> axis = c.intAttr("axis", 1), block = c.intAttr("block_size", 0);
  if (failed(axis) || failed(block))
    return failure();
  if (*block < 0)
    return c.error("expected attribute `block_size` to be 0 or positive, got " + Twine(*block));
  // Per-tensor parameters need no axis, and the default one may lie outside the operand.
  QuantAxis result{0, *block};
  if (*block == 0 && tg::getConstant(tg::getNumElements(scale.getType())) == 1)
    return result;
  if (c.rank(x) == 1 && !c.hasAttr("axis"))
    axis = 0;
  FailureOr<int64_t> normal = c.normalizeAxis(*axis, c.rank(x));
  if (failed(normal))
    return failure();
  result.axis = *normal;
  return result;
}

/// The zero point of a float type has to be zero; then it means nothing.
LogicalResult checkFloatZeroPoint(NodeContext &c, Value zeroPoint) {
  if (!zeroPoint)
    return success();
  std::optional<SmallVector<double>> values = c.constantFloats(zeroPoint);
  if (values && llvm::any_of(*values, [](double value) { return value != 0; }))
    return c.unsupported("a zero point that is not zero is not supported for element type " +
                         typeName(c.elementType(zeroPoint)));
  return success();
}

LogicalResult checkSameShape(NodeContext &c, Value scale, Value zeroPoint) {
  if (!zeroPoint)
    return success();
  if (tg::getConstant(tg::getNumElements(scale.getType())) == 1 &&
      tg::getConstant(tg::getNumElements(zeroPoint.getType())) == 1)
    return success();
  if (c.rank(scale) != c.rank(zeroPoint))
    return c.error("expected scale and zero point of one rank, got " + Twine(c.rank(scale)) + " and " +
                   Twine(c.rank(zeroPoint)));
  return success();
}

/// Element type of QuantizeLinear's result: the zero point's, `output_dtype`, or ui8.
FailureOr<Type> quantizedType(NodeContext &c, Value zeroPoint) {
  FailureOr<Type> wanted = c.typeAttr("output_dtype");
  // 0 (undefined) means that the attribute is not set.
  if (c.hasAttr("output_dtype")) {
    FailureOr<int64_t> number = c.intAttr("output_dtype");
    if (failed(number))
      return failure();
    if (*number == 0)
      wanted = Type();
  }
  if (failed(wanted))
    return failure();
  if (zeroPoint && *wanted && *wanted != c.elementType(zeroPoint))
    return c.error("expected attribute `output_dtype` to be the type of the zero point, " +
                   typeName(c.elementType(zeroPoint)) + ", got " + typeName(*wanted));
  Type target = zeroPoint ? c.elementType(zeroPoint)
                : *wanted ? *wanted
                          : Type(c.b.getIntegerType(8, /*isSigned=*/false));
  if (!isQuantizedInt(target) && !isNarrowFloat(target))
    return c.error("expected a quantised element type, got " + typeName(target));
  return target;
}

/// The type that QuantizeLinear divides in.
FailureOr<Type> divisionType(NodeContext &c, Value x, Value scale) {
  FailureOr<int64_t> precision = c.intAttr("precision", 0);
  if (failed(precision))
    return failure();
  if (*precision != 0) {
    FailureOr<Type> type = c.typeAttr("precision");
    if (failed(type) || !*type)
      return failure();
    if (!isa<FloatType>(*type) || isNarrowFloat(*type))
      return c.error("expected attribute `precision` to be a float type of at least 16 bits, got " + typeName(*type));
    return type;
  }
  for (Value value : {scale, x})
    if (isa<FloatType>(c.elementType(value)) && !isNarrowFloat(c.elementType(value)))
      return c.elementType(value);
  return Type(c.b.getF32Type());
}

LogicalResult importQuantizeLinear(NodeContext &c) {
  Value x = c.required(0), scale = c.required(1), zeroPoint = c.input(2);
  if (!x || !scale || failed(c.checkNumInputs(2, 3)) || failed(checkSameShape(c, scale, zeroPoint)))
    return failure();
  FailureOr<QuantAxis> axis = readQuantAxis(c, x, scale);
  FailureOr<Type> target = quantizedType(c, zeroPoint), division = divisionType(c, x, scale);
  FailureOr<bool> saturate = c.boolAttr("saturate", true);
  if (failed(axis) || failed(target) || failed(division) || failed(saturate))
    return failure();
  FailureOr<Value> spread = spreadParameter(c, scale, x, *axis, "y_scale");
  if (failed(spread))
    return failure();
  Expr ratio = Expr(c, c.cast(x, *division)) / Expr(c, c.cast(*spread, *division));
  if (isNarrowFloat(*target)) {
    if (failed(checkFloatZeroPoint(c, zeroPoint)))
      return failure();
    return deliver(c, c.cast(ratio, *target, *saturate));
  }
  if (zeroPoint) {
    FailureOr<Value> spreadZero = spreadParameter(c, zeroPoint, x, *axis, "y_zero_point");
    if (failed(spreadZero))
      return failure();
    zeroPoint = *spreadZero;
  }
  return deliver(c, roundToInteger(c, ratio, zeroPoint, *target));
}

LogicalResult importDequantizeLinear(NodeContext &c) {
  Value x = c.required(0), scale = c.required(1), zeroPoint = c.input(2);
  if (!x || !scale || failed(c.checkNumInputs(2, 3)) || failed(checkSameShape(c, scale, zeroPoint)))
    return failure();
  Type element = c.elementType(x);
  if (!isQuantizedInt(element) && !isNarrowFloat(element) && !element.isInteger(32))
    return c.error("expected a quantised element type, got " + typeName(element));
  if (zeroPoint && c.elementType(zeroPoint) != element)
    return c.error("expected a zero point of element type " + typeName(element) + ", got " +
                   typeName(c.elementType(zeroPoint)));
  FailureOr<int64_t> wanted = c.intAttr("output_dtype", 0);
  FailureOr<QuantAxis> axis = readQuantAxis(c, x, scale);
  if (failed(wanted) || failed(axis))
    return failure();
  FailureOr<Type> target = *wanted != 0 ? c.typeAttr("output_dtype") : FailureOr<Type>(c.elementType(scale));
  if (failed(target))
    return failure();
  if (!isa<FloatType>(*target) || isNarrowFloat(*target))
    return c.error("expected a result of type f16, bf16 or f32, got " + typeName(*target),
                   "set attribute `output_dtype`");
  FailureOr<Value> spread = spreadParameter(c, scale, x, *axis, "x_scale");
  if (failed(spread))
    return failure();
  if (isa<FloatType>(element)) {
    if (failed(checkFloatZeroPoint(c, zeroPoint)))
      return failure();
    zeroPoint = {};
  }
  if (zeroPoint) {
    FailureOr<Value> spreadZero = spreadParameter(c, zeroPoint, x, *axis, "x_zero_point");
    if (failed(spreadZero))
      return failure();
    zeroPoint = *spreadZero;
  }
  return deliver(c, c.cast(dequantize(c, x, *spread, zeroPoint), *target));
}

LogicalResult importDynamicQuantizeLinear(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)))
    return failure();
  FailureOr<DynamicallyQuantized> y = quantizeDynamically(c, x);
  if (failed(y))
    return failure();
  c.output(1, y->scale);
  c.output(2, y->zeroPoint);
  return deliver(c, y->tensor);
}

} // namespace

ArrayRef<OpEntry> getQuantOps() {
  static const OpEntry ops[] = {
      {"", "QuantizeLinear", 10, newestOpset, importQuantizeLinear, "no 6-bit floats"},
      {"", "DequantizeLinear", 10, newestOpset, importDequantizeLinear, "no 6-bit floats"},
      {"", "DynamicQuantizeLinear", 11, newestOpset, importDynamicQuantizeLinear, ""},
      {"com.microsoft", "QuantizeLinear", 1, anyOpset, importQuantizeLinear, ""},
      {"com.microsoft", "DequantizeLinear", 1, anyOpset, importDequantizeLinear, ""},
  };
  return ops;
}

} // namespace weft::onnx
