// Dependencies, factors and clones of the values behind a streamed operand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldFactors.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::tg {

void StateValues::set(GraphBuilder &b, ReduceOp reduce, Value state, bool isSafe) {
  if (isSafe && reduce.getKind() == Monoid::Max) {
    Type element = GraphBuilder::elementOf(state);
    Value isMasked = b.op<IsInfOp>(state, /*negative=*/true, /*positive=*/false);
    state = b.op<SelectOp>(isMasked, b.scalar(0, element), state);
  }
  values[reduce.getResult()] = b.cast(state, GraphBuilder::elementOf(reduce.getResult()));
}

/// Ops that the tree looks through: pointwise ones, and reshapes of values that do not change along the stream.
static bool isPointwise(Operation *op) { return isa_and_nonnull<PointwiseOpInterface>(op); }

void StreamTree::visit(Value value) {
  if (nodes.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  int64_t rank = GraphBuilder::rankOf(value), extentOne = 1;
  Node node;
  node.changes = rank + axis >= 0 && getConstant(getDim(value.getType(), rank + axis)) != extentOne;
  if (auto reduce = dyn_cast_or_null<ReduceOp>(op)) {
    int64_t inputRank = GraphBuilder::rankOf(reduce.getInput());
    if (reduce.getKeepDims() && reduce.getAxes() == ArrayRef<int64_t>{inputRank + axis} &&
        isa<FloatType>(GraphBuilder::elementOf(value))) {
      visit(reduce.getInput());
      reductions.push_back(reduce);
      node.dependencies.insert(reduce);
    }
  } else if (isPointwise(op)) {
    for (Value operand : op->getOperands()) {
      visit(operand);
      node.dependencies.insert_range(nodes.find(operand)->second.dependencies);
    }
  } else if (auto contract = dyn_cast_or_null<ContractOp>(op)) {
    if (node.changes)
      contractions.push_back(contract);
  }
  nodes.insert({value, std::move(node)});
}

ArrayRef<ReduceOp> StreamTree::getDependencies(Value value) const {
  auto found = nodes.find(value);
  return found == nodes.end() ? ArrayRef<ReduceOp>() : found->second.dependencies.getArrayRef();
}

bool StreamTree::isUniform(Value value) const {
  auto found = nodes.find(value);
  return found != nodes.end() && !found->second.changes;
}

bool StreamTree::isDelayable(Value value) const { return isUniform(value) && !getDependencies(value).empty(); }

bool StreamTree::dependsOn(Value value, ReduceOp reduce) const {
  return llvm::is_contained(getDependencies(value), reduce);
}

bool StreamTree::isRepairable(Value value) const {
  return llvm::all_of(getDependencies(value), [&](ReduceOp reduce) { return findRatio(value, reduce); });
}

/// value(after) - value(before) is uniform: a difference with a uniform subtrahend, or a uniform multiple of one.
bool StreamTree::findShift(Value value, ReduceOp reduce) const {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<CastOp>(op))
    return isa<FloatType>(GraphBuilder::elementOf(op->getOperand(0))) && findShift(op->getOperand(0), reduce);
  if (isa_and_nonnull<SubOp>(op))
    return isUniform(op->getOperand(1)) && getDependencies(op->getOperand(1)) == ArrayRef<ReduceOp>(reduce) &&
           getDependencies(op->getOperand(0)).empty();
  if (isa_and_nonnull<MulOp>(op))
    for (unsigned i : {0u, 1u})
      if (isUniform(op->getOperand(i)) && getDependencies(op->getOperand(i)).empty())
        return findShift(op->getOperand(1 - i), reduce);
  return false;
}

/// value(after) / value(before) is uniform: exp of a shift, and products with what does not depend on the reduction.
bool StreamTree::findRatio(Value value, ReduceOp reduce) const {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<CastOp>(op))
    return isa<FloatType>(GraphBuilder::elementOf(op->getOperand(0))) && findRatio(op->getOperand(0), reduce);
  if (isa_and_nonnull<ExpOp>(op))
    return findShift(op->getOperand(0), reduce);
  if (isa_and_nonnull<MulOp>(op))
    for (unsigned i : {0u, 1u})
      if (!dependsOn(op->getOperand(i), reduce))
        return findRatio(op->getOperand(1 - i), reduce);
  return false;
}

Value StreamTree::clone(GraphBuilder &b, Value value, const StateValues &states) const {
  if (Value state = states.lookup(value))
    return state;
  auto found = nodes.find(value);
  Operation *op = value.getDefiningOp();
  bool isLeaf = found == nodes.end() || (!found->second.changes && found->second.dependencies.empty());
  if (isLeaf || !(isPointwise(op) || isa_and_nonnull<ContractOp>(op)))
    return value;
  IRMapping mapping;
  if (isPointwise(op))
    for (Value operand : op->getOperands())
      mapping.map(operand, clone(b, operand, states));
  return b.builder.clone(*op, mapping)->getResult(0);
}

Value StreamTree::buildShift(GraphBuilder &b, Value value, ReduceOp reduce, const StateValues &before,
                             const StateValues &after) const {
  Operation *op = value.getDefiningOp();
  if (isa<CastOp>(op))
    return buildShift(b, op->getOperand(0), reduce, before, after);
  if (isa<SubOp>(op)) { // (x - g(r')) - (x - g(r)) = g(r) - g(r')
    Value old = clone(b, op->getOperand(1), before), now = clone(b, op->getOperand(1), after);
    FloatType type = getComputeType(GraphBuilder::elementOf(old));
    return b.op<SubOp>(b.cast(old, type), b.cast(now, type));
  }
  unsigned uniform = isUniform(op->getOperand(0)) && getDependencies(op->getOperand(0)).empty() ? 0 : 1;
  Value shift = buildShift(b, op->getOperand(1 - uniform), reduce, before, after);
  return b.op<MulOp>(shift, b.cast(op->getOperand(uniform), GraphBuilder::elementOf(shift)));
}

Value StreamTree::buildRatio(GraphBuilder &b, Value value, ReduceOp reduce, const StateValues &before,
                             const StateValues &after) const {
  Operation *op = value.getDefiningOp();
  if (isa<ExpOp>(op))
    return b.op<ExpOp>(buildShift(b, op->getOperand(0), reduce, before, after));
  if (isa<CastOp>(op))
    return buildRatio(b, op->getOperand(0), reduce, before, after);
  return buildRatio(b, op->getOperand(dependsOn(op->getOperand(0), reduce) ? 0 : 1), reduce, before, after);
}

} // namespace weft::tg
