// Orders of values that rise or fall with others: top_k(f(c)) is f(top_k(c)), and so is where the extreme is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The indices are the payload of a maximum. Taken of c, which depends on no reduction, they no longer wait for the
// reductions in f, and f is computed for k elements instead of all (the probabilities of the k best experts: k
// divisions). Where rounding makes different c into equal f(c), the indices are those of c's order; where all f(c) are
// NaN (a row that is masked as a whole), they are those of c.
#include "Cascade.h"

using namespace mlir;

namespace weft::tg {

std::string commuteOrder(Operation *op, OpBuilder &builder, const FoldGuards &guards) {
  auto topK = dyn_cast<TopKOp>(op);
  auto extreme = dyn_cast<ArgReduceOp>(op);
  Value input = op->getOperand(0);
  int64_t axis = topK ? topK.getAxis() : extreme.getAxis();
  StreamTree tree(axis - GraphBuilder::rankOf(input), getDim(input.getType(), axis), guards);
  if (!guards.holds(FoldGuard::FloatOrder, isa<FloatType>(GraphBuilder::elementOf(input))))
    return "an order of integers";
  tree.visit(input);
  if (tree.getDependencies(input).empty())
    return "no operand depends on a reduction of the same dimension";
  Monotone found = findMonotone(tree, input);
  if (!found.core)
    return found.reason;
  if (!guards.holds(FoldGuard::SameShape, getDims(found.core.getType()) == getDims(input.getType())))
    return "what decides the order has another shape";
  builder.setInsertionPoint(op);
  GraphBuilder b{builder, op->getLoc()};
  if (extreme) {
    bool isMax = (extreme.getKind() == Monoid::Max) == found.rises;
    auto made = ArgReduceOp::create(builder, op->getLoc(), isMax ? Monoid::Max : Monoid::Min, found.core,
                                    uint64_t(axis), extreme.getKeepDims(), extreme.getSelectLast());
    extreme.getResult().replaceAllUsesWith(made.getResult());
  } else {
    auto made = TopKOp::create(builder, op->getLoc(), found.core, uint64_t(axis), topK.getK(),
                               topK.getLargest() == found.rises);
    StateValues values;
    values[found.core] = made.getValues();
    topK.getValues().replaceAllUsesWith(tree.clone(b, input, values));
    topK.getIndices().replaceAllUsesWith(made.getIndices());
  }
  op->erase();
  return "";
}

} // namespace weft::tg
