// Composite ops: verifiers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/CompositeOps.cpp.inc"

static LogicalResult verifyAxis(Operation *op, Type input, int64_t axis) {
  int64_t rank = cast<RankedTensorType>(input).getRank();
  if (axis < 0 || axis >= rank)
    return op->emitOpError("expected axis within [0, ") << rank << "), got " << axis;
  return success();
}

static LogicalResult verifyStash(Operation *op, Type stash) {
  if (!isa<FloatType>(stash))
    return op->emitOpError("expected a float stash type, got ") << stash;
  return success();
}

/// Checks that `operand` broadcasts to `input` without enlarging it.
static LogicalResult verifyBroadcastsTo(Operation *op, Value operand, Type input, StringRef role) {
  if (!operand)
    return success();
  Dims shape = getDims(input);
  SmallVector<std::pair<AffineExpr, AffineExpr>> assumed;
  std::optional<Dims> joint = broadcastDims({shape, getDims(operand.getType())}, &assumed);
  bool fits = joint && joint->size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = !getConstant(shape[d]) || (*joint)[d] == shape[d];
  if (!fits)
    return op->emitOpError("expected ") << role << " to broadcast to " << input << ", got " << operand.getType();
  return success();
}

LogicalResult SoftmaxOp::verify() { return verifyAxis(*this, getInput().getType(), getAxis()); }

LogicalResult LayerNormOp::verify() {
  if (failed(verifyBroadcastsTo(*this, getScale(), getInput().getType(), "scale")))
    return failure();
  return verifyBroadcastsTo(*this, getBias(), getInput().getType(), "bias");
}

LogicalResult RmsNormOp::verify() {
  if (failed(verifyAxis(*this, getInput().getType(), getAxis())) || failed(verifyStash(*this, getStashType())))
    return failure();
  return verifyBroadcastsTo(*this, getScale(), getInput().getType(), "scale");
}

LogicalResult GroupNormOp::verify() {
  if (failed(verifyStash(*this, getStashType())))
    return failure();
  Dims dims = getDims(getInput().getType());
  if (dims.size() < 2)
    return emitOpError("expected an operand of rank 2 or more (batch, channels, ...), got rank ") << dims.size();
  std::optional<int64_t> channels = getConstant(dims[1]);
  if (!channels)
    return emitOpError("expected a static number of channels");
  int64_t groups = getGroups();
  if (groups < 1 || *channels % groups != 0)
    return emitOpError("expected groups to divide ") << *channels << " channels, got " << groups;
  for (Value operand : {Value(getScale()), Value(getBias())})
    if (cast<RankedTensorType>(operand.getType()).getShape() != ArrayRef<int64_t>(*channels))
      return emitOpError("expected scale and bias of extent ") << *channels << ", got " << operand.getType();
  return success();
}

LogicalResult AttentionOp::verify() {
  Dims q = getDims(getQuery().getType()), k = getDims(getKey().getType()), v = getDims(getValue().getType());
  auto differ = [](AffineExpr a, AffineExpr b) { return getConstant(a) && getConstant(b) && a != b; };
  if (differ(q[0], k[0]) || differ(q[0], v[0]))
    return emitOpError("expected equal batch extents of query, key and value");
  if (differ(k[1], v[1]) || differ(k[2], v[2]))
    return emitOpError("expected key and value with equal heads and sequence lengths");
  if (differ(q[3], k[3]))
    return emitOpError("expected query and key of equal width");
  std::optional<int64_t> heads = getConstant(q[1]), groups = getConstant(k[1]);
  if (!heads || !groups || *groups == 0 || *heads % *groups != 0)
    return emitOpError("expected the number of query heads to be a multiple of the number of key heads");
  if (getScoresStage() < 0 || getScoresStage() > 3)
    return emitOpError("expected scores_stage within [0, 3], got ") << int64_t(getScoresStage());
  if (!isa<FloatType>(getSoftmaxType()))
    return emitOpError("expected a float softmax type, got ") << getSoftmaxType();
  return verifyBroadcastsTo(*this, getMask(), getScores().getType(), "mask");
}
