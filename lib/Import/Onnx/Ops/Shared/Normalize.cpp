// Layer and root-mean-square normalisation as composites, and their statistics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Normalize.h"
#include "Compose.h"

using namespace mlir;

namespace weft::onnx {

FailureOr<NormAttrs> readNormAttrs(NodeContext &n, Value x, double epsilon) {
  NormAttrs attrs;
  FailureOr<int64_t> axis = n.intAttr("axis", -1);
  FailureOr<double> eps = n.floatAttr("epsilon", epsilon);
  FailureOr<Type> stash = n.typeAttr("stash_type", n.b.getF32Type());
  if (failed(checkFloat(n, x, "input 0")) || failed(axis) || failed(eps) || failed(stash))
    return failure();
  if (!stash->isF32() && !stash->isF64() && !stash->isF16() && !stash->isBF16())
    return n.error("expected attribute `stash_type` to name a float type");
  FailureOr<int64_t> normalized = n.normalizeAxis(*axis, n.rank(x));
  if (failed(normalized))
    return failure();
  attrs.axis = *normalized;
  attrs.epsilon = *eps;
  attrs.stash = computeType(*stash);
  return attrs;
}

LayerNorm layerNorm(NodeContext &n, Value x, Value scale, Value bias, const NormAttrs &attrs) {
  auto op = n.create<tg::LayerNormOp>(x, scale, bias, n.b.getI64IntegerAttr(attrs.axis),
                                      n.b.getF64FloatAttr(attrs.epsilon), TypeAttr::get(attrs.stash));
  return op ? LayerNorm{op.getResult(), op.getMean(), op.getInvStd()} : LayerNorm();
}

Value rmsNorm(NodeContext &n, Value x, Value scale, const NormAttrs &attrs) {
  if (!x || !scale)
    return {};
  bool sameType = n.elementType(x) == n.elementType(scale);
  Value factor = sameType ? scale : scalarLike(n, 1, x);
  Value result = n.make<tg::RmsNormOp>(x, factor, n.b.getI64IntegerAttr(attrs.axis), n.b.getF64FloatAttr(attrs.epsilon),
                                       TypeAttr::get(attrs.stash));
  return sameType || !result ? result : n.make<tg::MulOp>(n.cast(result, n.elementType(scale)), scale);
}

Value inverseRms(NodeContext &n, Value x, const NormAttrs &attrs) {
  if (!x)
    return {};
  Value wide = n.cast(x, attrs.stash);
  Value squares = mean(n, n.make<tg::MulOp>(wide, wide), axisRange(attrs.axis, n.rank(x)), true);
  Value root = n.make<tg::SqrtOp>(n.make<tg::AddOp>(squares, scalarLike(n, attrs.epsilon, squares)));
  return n.make<tg::ReciprocalOp>(root);
}

LogicalResult importRmsNorm(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value x = n.required(0), scale = n.required(1);
  FailureOr<NormAttrs> attrs = readNormAttrs(n, x);
  if (failed(attrs) || failed(checkFloat(n, scale, "scale")))
    return failure();
  if (n.outputUsed(1))
    n.output(1, inverseRms(n, x, *attrs));
  return deliver(n, rmsNorm(n, x, scale, *attrs));
}

} // namespace weft::onnx
