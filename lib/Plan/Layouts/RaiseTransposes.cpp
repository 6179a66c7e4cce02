// transpose(f(x, y)) is f(transpose(x), transpose(y)), from the results of a kernel on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RaiseTransposes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::plan {

/// `value` with the rank of `order`, transposed. Operands of pointwise ops align their last dimensions. Where only
/// extents of 1 move, as around the channels of a bias, that is another shape.
static Value transposed(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> order) {
  tg::Dims dims = tg::getDims(value.getType()), moved;
  if (dims.empty())
    return value;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  auto reshaped = [&](const tg::Dims &to) -> Value {
    return tg::ReshapeOp::create(builder, loc, tg::getTensorType(to, element), value);
  };
  tg::Dims padded(order.size() - dims.size(), getAffineConstantExpr(1, builder.getContext()));
  padded.append(dims.begin(), dims.end());
  int64_t last = -1;
  bool movesOnes = true;
  for (int64_t d : order) {
    moved.push_back(padded[d]);
    if (tg::getConstant(padded[d]) == 1)
      continue;
    movesOnes &= d > last;
    last = d;
  }
  if (movesOnes)
    return reshaped(moved);
  if (dims.size() < order.size())
    value = reshaped(padded);
  return tg::TransposeOp::create(builder, loc, value, order);
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> numbers, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t d) { return numbers[d]; });
}

/// The op behind the transposition, on transposed operands; null if it is of another kind.
static Operation *raise(tg::TransposeOp transpose) {
  Operation *op = transpose.getInput().getDefiningOp();
  if (!op || op->getBlock() != transpose->getBlock() || !op->hasOneUse() || op->getNumResults() != 1)
    return nullptr;
  ArrayRef<int64_t> order = transpose.getPermutation();
  OpBuilder builder(op);
  Operation *raised = nullptr;
  if (auto pad = dyn_cast<tg::PadOp>(op)) {
    Value input = tg::TransposeOp::create(builder, op->getLoc(), pad.getInput(), order);
    raised = builder.clone(*op);
    raised->setOperand(0, input);
    auto moved = cast<tg::PadOp>(raised);
    moved.setLow(permuted(pad.getLow(), order));
    moved.setHigh(permuted(pad.getHigh(), order));
    moved.setInterior(permuted(pad.getInterior(), order));
  } else if (auto concat = dyn_cast<tg::ConcatOp>(op)) {
    SmallVector<Value> parts = llvm::map_to_vector(concat.getInputs(), [&](Value part) -> Value {
      return tg::TransposeOp::create(builder, op->getLoc(), part, order);
    });
    raised = builder.clone(*op);
    raised->setOperands(parts);
    cast<tg::ConcatOp>(raised).setAxis(llvm::find(order, int64_t(concat.getAxis())) - order.begin());
  } else if (isa<tg::PointwiseOpInterface>(op) && op->getNumRegions() == 0 && op->getNumOperands() > 0) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(transposed(builder, op->getLoc(), operand, order));
    raised = builder.clone(*op);
    raised->setOperands(operands);
  }
  if (raised)
    raised->getResult(0).setType(transpose.getType());
  return raised;
}

void raiseTransposes(Block &body) {
  SmallVector<tg::TransposeOp> work(body.getOps<tg::TransposeOp>());
  while (!work.empty()) {
    tg::TransposeOp transpose = work.pop_back_val();
    Operation *raised = raise(transpose);
    if (!raised)
      continue;
    Operation *old = transpose.getInput().getDefiningOp();
    transpose.getResult().replaceAllUsesWith(raised->getResult(0));
    transpose.erase();
    old->erase();
    for (Value operand : raised->getOperands())
      if (auto next = operand.getDefiningOp<tg::TransposeOp>(); next && !llvm::is_contained(work, next))
        work.push_back(next);
  }
}

} // namespace weft::plan
