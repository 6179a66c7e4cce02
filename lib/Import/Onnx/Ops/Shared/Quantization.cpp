// Builds quantisation arithmetic from elementwise ops and repeats block parameters to the shape of what they scale.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Quantization.h"
#include "Expr.h"

using namespace mlir;

namespace weft::onnx {

bool isQuantizedInt(Type element) {
  auto type = dyn_cast<IntegerType>(element);
  return type && type.getWidth() > 1 && type.getWidth() <= 16;
}

bool isNarrowFloat(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() <= 8;
}

FailureOr<Value> spreadParameter(NodeContext &c, Value parameter, Value x, QuantAxis axis, StringRef what) {
  int64_t rank = c.rank(parameter);
  if (auto type = dyn_cast<IntegerType>(c.elementType(parameter)); type && type.getWidth() < 8)
    parameter = c.cast(parameter, c.b.getI32Type());
  if (!parameter)
    return failure();
  if (tg::getConstant(tg::getNumElements(parameter.getType())) == 1 && (rank <= 1 || axis.block == 0))
    return c.reshape(parameter, ArrayRef<AffineExpr>());
  if (axis.block == 0) {
    if (rank != 1)
      return c.error("expected `" + what + "` of rank 0 or 1, got rank " + Twine(rank));
    tg::Dims shape(c.rank(x), c.constExpr(1));
    shape[axis.axis] = c.dim(parameter, 0);
    if (failed(c.assumeEqual(shape[axis.axis], c.dim(x, axis.axis), "length of `" + what + "` and the quantised axis")))
      return failure();
    return c.reshape(parameter, shape);
  }

  if (rank != c.rank(x))
    return c.error("expected `" + what + "` of rank " + Twine(c.rank(x)) + " for blocks, got rank " + Twine(rank));
  for (int64_t d = 0; d < rank; ++d) {
    AffineExpr expected = c.dim(x, d);
    if (d == axis.axis)
      expected = tg::simplify(expected.ceilDiv(axis.block));
    if (failed(c.assumeEqual(c.dim(parameter, d), expected,
                             "dimension " + Twine(d) + " of `" + what + "` and the blocks")))
      return failure();
  }
  Value repeated = repeatAlong(c, parameter, axis.axis, axis.block);
  if (!repeated || tg::isEqual(c.dim(repeated, axis.axis), c.dim(x, axis.axis)))
    return repeated;
  return c.slice(repeated, axis.axis, 0, c.dim(x, axis.axis)); // The last block is cut short.
}

Value roundToInteger(NodeContext &c, Value ratio, Value zeroPoint, Type target) {
  if (!ratio)
    return {};
  auto type = cast<IntegerType>(target);
  unsigned width = type.getWidth();
  double low = type.isUnsigned() ? 0 : static_cast<double>(llvm::minIntN(width));
  double high =
      static_cast<double>(type.isUnsigned() ? static_cast<int64_t>(llvm::maxUIntN(width)) : llvm::maxIntN(width));
  // Both summands are integers; where f32 cannot hold the sum, it saturates.
  Expr rounded = Expr(c, c.toCompute(ratio)).unary<tg::RoundOp>();
  if (zeroPoint)
    rounded = rounded + Expr(c, c.cast(zeroPoint, c.elementType(rounded)));
  return rounded.clamp(low, high).cast(target);
}

Value quantize(NodeContext &c, Value x, Value scale, Value zeroPoint, Type target) {
  if (!x || !scale)
    return {};
  Type compute = c.elementType(x).isF64() ? c.elementType(x) : Type(c.b.getF32Type());
  Expr ratio = Expr(c, c.cast(x, compute)) / Expr(c, c.cast(scale, compute));
  return roundToInteger(c, ratio, zeroPoint, target);
}

Value dequantize(NodeContext &c, Value x, Value scale, Value zeroPoint) {
  Type f32 = c.b.getF32Type();
  Expr real(c, c.cast(x, f32));
  if (zeroPoint)
    real = real - Expr(c, c.cast(zeroPoint, f32));
  return real * Expr(c, c.cast(scale, f32));
}

Value subtractZeroPoint(NodeContext &c, Value x, Value zeroPoint) {
  if (!x || !zeroPoint)
    return x;
  if (tg::getConstant(tg::getNumElements(zeroPoint.getType())) == 1) {
    if (c.constantInt(zeroPoint) == 0)
      return x;
    zeroPoint = c.reshape(zeroPoint, ArrayRef<AffineExpr>());
  }
  Type i32 = c.b.getI32Type();
  return Expr(c, c.cast(x, i32)) - Expr(c, c.cast(zeroPoint, i32));
}

FailureOr<DynamicallyQuantized> quantizeDynamically(NodeContext &c, Value x) {
  if (!c.elementType(x).isF32())
    return c.error("expected `x` of element type f32, got " + typeName(c.elementType(x)));
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, c.rank(x)));
  Expr high = Expr(c, c.reduce(tg::Monoid::Max, x, axes, /*keepDims=*/false)).max(0.0);
  Expr low = Expr(c, c.reduce(tg::Monoid::Min, x, axes, /*keepDims=*/false)).min(0.0);
  Expr range = high - low;
  Expr scale = range.compare(tg::CmpPredicate::Eq, 0.0).select(range.like(1), range) / 255.0;
  Type target = c.b.getIntegerType(8, /*isSigned=*/false);
  Value zeroPoint = roundToInteger(c, 0.0 - low / scale, {}, target);
  return DynamicallyQuantized{quantize(c, x, scale, zeroPoint, target), scale, zeroPoint};
}

} // namespace weft::onnx
