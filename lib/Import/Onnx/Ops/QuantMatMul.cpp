// com.microsoft products of integers, as onnxruntime's quantiser writes them: integer contractions and one factor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Contraction.h"
#include "Shared/Expr.h"
#include "Shared/Quantization.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// (a - aZero) * (b - bZero) as i32. Zero points may be null, one element, or one for each column of `b`.
Value integerProduct(NodeContext &c, Value a, Value aZero, Value b, Value bZero) {
  for (Value operand : {a, b})
    if (!operand || !isQuantizedInt(c.elementType(operand))) {
      if (operand)
        (void)c.error("expected operands of quantised integer types, got " + typeName(c.elementType(operand)));
      return {};
    }
  return matmul(c, subtractZeroPoint(c, a, aZero), subtractZeroPoint(c, b, bZero), c.b.getI32Type());
}

/// A scale: one element, or one for each column.
Expr scaleOf(NodeContext &c, Value scale) {
  if (scale && tg::getConstant(tg::getNumElements(scale.getType())) == 1)
    scale = c.reshape(scale, ArrayRef<AffineExpr>());
  return {c, c.cast(scale, c.b.getF32Type())};
}

/// Hands over product * factor + bias (null: 0) in f32.
LogicalResult deliverReal(NodeContext &c, Value product, Expr factor, Value bias) {
  Expr y = Expr(c, c.cast(product, c.b.getF32Type())) * factor;
  return deliver(c, bias ? Value(y + Expr(c, bias)) : Value(y));
}

LogicalResult importMatMulIntegerToFloat(NodeContext &c) {
  Value a = c.required(0), b = c.required(1), aScale = c.required(2), bScale = c.required(3);
  if (!a || !b || !aScale || !bScale || failed(c.checkNumInputs(4, 7)))
    return failure();
  Value product = integerProduct(c, a, c.input(4), b, c.input(5));
  return deliverReal(c, product, scaleOf(c, aScale) * scaleOf(c, bScale), c.input(6));
}

LogicalResult importDynamicQuantizeMatMul(NodeContext &c) {
  Value a = c.required(0), b = c.required(1), bScale = c.required(2);
  if (!a || !b || !bScale || failed(c.checkNumInputs(3, 5)))
    return failure();
  FailureOr<DynamicallyQuantized> quantised = quantizeDynamically(c, a);
  if (failed(quantised))
    return failure();
  Value product = integerProduct(c, quantised->tensor, quantised->zeroPoint, b, c.input(3));
  return deliverReal(c, product, Expr(c, quantised->scale) * scaleOf(c, bScale), c.input(4));
}

/// alpha * (A * B) * scales + C * scales, where C is i32; quantised again if there is a scale of the result.
LogicalResult importQGemm(NodeContext &c) {
  FailureOr<double> alpha = c.floatAttr("alpha", 1.0);
  FailureOr<bool> transA = c.boolAttr("transA", false), transB = c.boolAttr("transB", false);
  Value a = c.required(0), aScale = c.required(1), b = c.required(3), bScale = c.required(4);
  if (failed(alpha) || failed(transA) || failed(transB) || !a || !aScale || !b || !bScale ||
      failed(c.checkNumInputs(6, 9)) || failed(c.checkRank(a, 2, 2, "A")) || failed(c.checkRank(b, 2, 2, "B")))
    return failure();
  Expr sum(c, integerProduct(c, *transA ? c.transpose(a, {1, 0}) : a, c.input(2), *transB ? c.transpose(b, {1, 0}) : b,
                             c.input(5)));
  if (sum && c.input(6))
    sum = sum + Expr(c, c.input(6));
  Expr factor = scaleOf(c, aScale) * scaleOf(c, bScale) * *alpha;
  if (!c.input(7))
    return deliverReal(c, sum, factor, {});
  Expr real = Expr(c, c.cast(sum, c.b.getF32Type())) * (factor / scaleOf(c, c.input(7)));
  Value zero = c.input(8) ? c.reshape(c.input(8), ArrayRef<AffineExpr>()) : Value();
  return deliver(c, roundToInteger(c, real, zero, c.elementType(zero ? zero : a)));
}

} // namespace

ArrayRef<OpEntry> getQuantMatMulOps() {
  static const OpEntry table[] = {
      {"com.microsoft", "DynamicQuantizeMatMul", 1, anyOpset, importDynamicQuantizeMatMul, ""},
      {"com.microsoft", "MatMulIntegerToFloat", 1, anyOpset, importMatMulIntegerToFloat, ""},
      {"com.microsoft", "QGemm", 1, anyOpset, importQGemm, ""},
  };
  return table;
}

} // namespace weft::onnx
