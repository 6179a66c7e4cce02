// transpose(f(x, y)) is f(transpose(x), transpose(y)), from the results of a kernel on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RaiseTransposes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::plan {

/// `value` with the rank of `order`, transposed. Operands of elementwise ops align their last dimensions. Where only
/// extents of 1 move, as around the channels of a bias, that is another shape.
static Value transposed(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> order, bool isCpu) {
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
  else if (isCpu)
    for (Operation *user : value.getUsers())
      if (auto other = dyn_cast<tg::TransposeOp>(user);
          other && other->getBlock() == builder.getInsertionBlock() && other.getPermutation() == order) {
        if (Operation *at = &*builder.getInsertionPoint(); at->isBeforeInBlock(other))
          other->moveBefore(at);
        return other;
      }
  return tg::TransposeOp::create(builder, loc, value, order);
}

static SmallVector<int64_t> permuted(ArrayRef<int64_t> numbers, ArrayRef<int64_t> order) {
  return llvm::map_to_vector(order, [&](int64_t d) { return numbers[d]; });
}

/// The input of a pooling, the reduction of all of a window's elements and nothing else; null if it is none.
static tg::WindowOp findPooled(tg::ReduceOp reduce) {
  auto window = reduce.getInput().getDefiningOp<tg::WindowOp>();
  if (!window || !window->hasOneUse() || window->getBlock() != reduce->getBlock() || reduce.getKeepDims())
    return nullptr;
  int64_t rank = tg::getDims(window.getInput().getType()).size(), places = window.getDims().size();
  return llvm::equal(reduce.getAxes(), llvm::seq<int64_t>(rank, rank + places)) ? window : nullptr;
}

/// The op behind the transposition, on transposed operands; null if it is of another kind.
static Operation *raise(tg::TransposeOp transpose, bool isCpu) {
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
  } else if (auto reduce = dyn_cast<tg::ReduceOp>(op)) {
    tg::WindowOp window = isCpu ? findPooled(reduce) : nullptr;
    if (!window)
      return nullptr;
    SmallVector<int64_t> dims = llvm::map_to_vector(
        window.getDims(), [&](int64_t d) -> int64_t { return llvm::find(order, d) - order.begin(); });
    Value input = tg::TransposeOp::create(builder, op->getLoc(), window.getInput(), order);
    raised = builder.clone(*op);
    raised->setOperand(0, tg::WindowOp::create(builder, op->getLoc(), input, dims, window.getSizes(),
                                               window.getStrides(), window.getDilations()));
    raised->moveAfter(raised->getOperand(0).getDefiningOp());
  } else if (isa<tg::PointwiseOpInterface>(op) && op->getNumRegions() == 0 && op->getNumOperands() > 0) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(transposed(builder, op->getLoc(), operand, order, isCpu));
    raised = builder.clone(*op);
    raised->setOperands(operands);
  }
  if (raised)
    raised->getResult(0).setType(transpose.getType());
  return raised;
}

void raiseTransposes(Block &body, bool isCpu) {
  SmallVector<tg::TransposeOp> work(body.getOps<tg::TransposeOp>());
  while (!work.empty()) {
    tg::TransposeOp transpose = work.pop_back_val();
    Operation *raised = raise(transpose, isCpu);
    if (!raised)
      continue;
    Operation *old = transpose.getInput().getDefiningOp();
    transpose.getResult().replaceAllUsesWith(raised->getResult(0));
    transpose.erase();
    auto window = old->getNumOperands() ? old->getOperand(0).getDefiningOp<tg::WindowOp>() : tg::WindowOp();
    old->erase();
    if (window && window->use_empty())
      window->erase();
    for (Value operand : raised->getOperands()) {
      if (auto pooled = operand.getDefiningOp<tg::WindowOp>())
        operand = pooled.getInput();
      if (auto next = operand.getDefiningOp<tg::TransposeOp>(); next && !llvm::is_contained(work, next))
        work.push_back(next);
    }
  }
}

} // namespace weft::plan
