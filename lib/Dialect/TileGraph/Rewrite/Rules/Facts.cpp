// What the ops behind a value say about its elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"

using namespace mlir;

namespace weft::tg {

static bool isNonNegativeConstant(ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || (!elements.isSplat() && elements.getNumElements() > 4096))
    return false;
  if (isa<FloatType>(elements.getElementType()))
    return llvm::all_of(elements.getValues<APFloat>(),
                        [](const APFloat &v) { return v.isNaN() || !v.isNegative() || v.isZero(); });
  bool isUnsigned = elements.getElementType().isUnsignedInteger();
  return llvm::all_of(elements.getValues<APInt>(), [&](const APInt &v) { return isUnsigned || !v.isNegative(); });
}

/// Whether the reduction has elements for each result, so that its identity is not seen.
static bool isOverElements(ReduceOp op) {
  return llvm::all_of(op.getAxes(), [&](int64_t axis) {
    std::optional<int64_t> extent = getConstant(getDim(op.getInput().getType(), axis));
    return extent && *extent > 0;
  });
}

static bool isNonNegative(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  auto holds = [&](unsigned operand) { return isNonNegative(op->getOperand(operand), depth - 1); };
  bool isFloat = isa<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isNonNegativeConstant(constant);
  if (isa<ExpOp, SqrtOp, SigmoidOp, SoftmaxOp>(op))
    return !isa<SoftmaxOp>(op) || !cast<SoftmaxOp>(op).getLog();
  if (isa<AbsOp>(op))
    return isFloat; // The least integer is its own absolute value.
  if (isa<MulOp>(op))
    return isFloat && (isSameValue(op->getOperand(0), op->getOperand(1)) || (holds(0) && holds(1)));
  if (isa<AddOp>(op))
    return isFloat && holds(0) && holds(1);
  if (isa<MaxOp>(op))
    return holds(0) || holds(1);
  if (isa<MinOp>(op))
    return holds(0) && holds(1);
  if (isa<SelectOp>(op))
    return holds(1) && holds(2);
  if (isa<CastOp>(op))
    return isFloat && isa<FloatType>(cast<RankedTensorType>(op->getOperand(0).getType()).getElementType()) && holds(0);
  if (isa<TransposeOp, ReshapeOp, BroadcastOp, SliceOp, WindowOp>(op))
    return holds(0);
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    bool isExtreme = reduce.getKind() == Monoid::Max || reduce.getKind() == Monoid::Min;
    return (isExtreme ? isOverElements(reduce) : isFloat) && holds(0);
  }
  return false;
}

bool isNonNegative(Value value) { return isNonNegative(value, /*depth=*/8); }

} // namespace weft::tg
