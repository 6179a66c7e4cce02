// Dependencies, shifts and clones of the values behind a streamed operand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldFactors.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::tg {

/// Ops that the tree looks through.
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
    bool reduces = inputRank + axis >= 0 && llvm::is_contained(reduce.getAxes(), inputRank + axis);
    if (reduces && reduce.getKeepDims() && holds(FoldGuard::SameAxis, reduce.getAxes().size() == 1) &&
        holds(FoldGuard::FloatReduction, isa<FloatType>(GraphBuilder::elementOf(value))) &&
        holds(FoldGuard::SameExtent, isEqual(getDim(reduce.getInput().getType(), inputRank + axis), extent))) {
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

bool StreamTree::isShift(Value value) const {
  if (getDependencies(value).empty() || isUniform(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (isa<CastOp>(op))
    return isa<FloatType>(GraphBuilder::elementOf(op->getOperand(0))) && isShift(op->getOperand(0));
  if (isa<NegOp>(op))
    return isShift(op->getOperand(0));
  if (isa<AddOp, SubOp>(op))
    return isShift(op->getOperand(0)) && isShift(op->getOperand(1));
  auto isFactor = [&](unsigned i) {
    return holds(FoldGuard::UniformFactor, isUniform(op->getOperand(i))) &&
           holds(FoldGuard::FreeFactor, getDependencies(op->getOperand(i)).empty());
  };
  if (isa<MulOp, DivOp>(op) && isFactor(1))
    return isShift(op->getOperand(0));
  return isa<MulOp>(op) && isFactor(0) && isShift(op->getOperand(1));
}

Value StreamTree::findShifted(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<AddOp, SubOp>(op))
    return {};
  for (unsigned i : {0u, 1u}) {
    Value other = op->getOperand(1 - i), x = op->getOperand(i);
    if (!isUniform(other) || isUniform(x))
      continue;
    return getDependencies(x).empty() ? x : findShifted(x);
  }
  return {};
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
  SmallVector<Dims> shapes;
  if (isPointwise(op))
    for (Value operand : op->getOperands()) {
      mapping.map(operand, clone(b, operand, states));
      shapes.push_back(getDims(mapping.lookup(operand).getType()));
    }
  Operation *made = b.builder.clone(*op, mapping);
  // A state in place of values that change along the stream: extent 1 there.
  if (std::optional<Dims> dims = shapes.empty() ? std::nullopt : broadcastDims(shapes))
    made->getResult(0).setType(getTensorType(*dims, GraphBuilder::elementOf(made->getResult(0))));
  return made->getResult(0);
}

/// `value`, 0 where it is NaN or infinite.
static Value finite(GraphBuilder &b, Value value, const StreamTree &tree) {
  if (tree.holds(FoldGuard::FiniteDifference, false))
    return value;
  Value isBad = b.op<OrOp>(b.op<IsNanOp>(value), b.op<IsInfOp>(value, /*negative=*/true, /*positive=*/true));
  return b.op<SelectOp>(isBad, b.scalar(0, GraphBuilder::elementOf(value)), value);
}

Value StreamTree::cloneDifference(GraphBuilder &b, Value value, const StateValues &states, bool isGuarded) const {
  Operation *op = value.getDefiningOp();
  if (!isGuarded || getDependencies(value).empty())
    return clone(b, value, states);
  if (isUniform(value))
    return finite(b, clone(b, value, states), *this);
  Value left = cloneDifference(b, op->getOperand(0), states, true);
  Value right = cloneDifference(b, op->getOperand(1), states, true);
  return isa<AddOp>(op) ? b.op<AddOp>(left, right) : b.op<SubOp>(left, right);
}

Value StreamTree::buildShift(GraphBuilder &b, Value value, const StateValues &before, const StateValues &after,
                             Guard guard) const {
  if (getDependencies(value).empty())
    return {};
  Operation *op = value.getDefiningOp();
  FloatType type = getComputeType(GraphBuilder::elementOf(value));
  auto ends = [&](Value uniform) {
    Value old = clone(b, uniform, before), now = clone(b, uniform, after);
    return std::pair(b.cast(guard.before ? finite(b, old, *this) : old, type),
                     b.cast(guard.after ? finite(b, now, *this) : now, type));
  };
  if (isUniform(value)) {
    auto [old, now] = ends(value);
    return b.op<SubOp>(now, old);
  }
  if (isa<CastOp>(op))
    return buildShift(b, op->getOperand(0), before, after, guard);
  if (isa<NegOp>(op))
    return b.op<NegOp>(buildShift(b, op->getOperand(0), before, after, guard));
  if (isa<SubOp>(op) && getDependencies(op->getOperand(0)).empty() && isUniform(op->getOperand(1))) {
    auto [old, now] = ends(op->getOperand(1)); // (x - g(r')) - (x - g(r)) = g(r) - g(r')
    return b.op<SubOp>(old, now);
  }
  if (isa<AddOp, SubOp>(op)) {
    Value left = buildShift(b, op->getOperand(0), before, after, guard);
    Value right = buildShift(b, op->getOperand(1), before, after, guard);
    if (!right)
      return left;
    if (!left)
      return isa<AddOp>(op) ? right : b.op<NegOp>(right);
    return isa<AddOp>(op) ? b.op<AddOp>(left, right) : b.op<SubOp>(left, right);
  }
  unsigned factor = getDependencies(op->getOperand(1)).empty() ? 1 : 0;
  Value shift = buildShift(b, op->getOperand(1 - factor), before, after, guard);
  Value scale = b.cast(op->getOperand(factor), GraphBuilder::elementOf(shift));
  return isa<DivOp>(op) ? b.op<DivOp>(shift, scale) : b.op<MulOp>(shift, scale);
}

} // namespace weft::tg
