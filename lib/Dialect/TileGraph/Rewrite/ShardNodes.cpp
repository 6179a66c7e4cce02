// The graph of ShardNodes.h: what each op reads, computes and could do in parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShardNodes.h"
#include "ShardProgram.h"
#include "weft/Dialect/TileGraph/Analysis/Classify.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace mlir;

namespace weft::tg {

/// The argument that `result` has the elements of and more, along a dimension that grows, or with some replaced.
static BlockArgument findContinued(Value result) {
  Operation *op = result.getDefiningOp();
  auto grows = [](Value operand, int64_t axis) { return !getConstant(getDim(operand.getType(), axis)); };
  if (auto concat = dyn_cast_or_null<ConcatOp>(op)) {
    for (Value operand : concat->getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand); argument && grows(operand, concat.getAxis()))
        return argument;
  } else if (auto scatter = dyn_cast_or_null<ScatterOp>(op)) {
    if (auto argument = dyn_cast<BlockArgument>(scatter.getData());
        argument && !scatter.getKind() && argument.getType() == result.getType())
      return argument;
  }
  return {};
}

unsigned ShardGraph::number(Value value) {
  auto [place, isNew] = numbers.try_emplace(value, values.size());
  if (isNew) {
    values.emplace_back();
    values.back().value = value;
    values.back().isGiven = isa<BlockArgument>(value) || isa<WeightOp, ConstantOp>(value.getDefiningOp());
    values.back().bytes = isa<RankedTensorType>(value.getType()) ? estimateBytes(value.getType()) : 0;
  }
  return place->second;
}

void ShardGraph::addArguments(const LayoutProblem &problem) {
  func::FuncOp main = problem.main;
  Operation *terminator = main.front().getTerminator();
  for (BlockArgument argument : main.getArguments()) {
    auto wanted = problem.wanted.find(argument);
    ShardValue &value = values[number(argument)];
    if (wanted != problem.wanted.end())
      value.wanted = wanted->second;
  }
  for (auto [i, result] : llvm::enumerate(terminator->getOperands())) {
    values[number(result)].returned.push_back(i);
    BlockArgument argument = problem.followsRequests ? BlockArgument() : findContinued(result);
    auto name = argument ? main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tg.name") : StringAttr();
    bool isFound = argument && name && argument.getOwner() == &main.front() && !problem.wanted.contains(argument);
    continued.push_back(isFound ? int(numbers[argument]) : -1);
    if (isFound)
      values[numbers[argument]].isChosen = true;
  }
}

void ShardGraph::addNode(Operation &op, const LayoutProblem &problem) {
  ShardNode node;
  node.op = &op;
  if (op.getNumRegions()) {
    llvm::SmallSetVector<Value, 8> captured;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentRegion() == op.getParentRegion())
          captured.insert(operand);
    });
    for (Value operand : captured)
      node.operands.push_back(number(operand));
  } else {
    for (Value operand : op.getOperands())
      node.operands.push_back(number(operand));
  }
  for (Value result : op.getResults())
    node.results.push_back(number(result));
  std::optional<ShardAccess> access =
      op.getNumResults() == 1 && !op.getNumRegions() ? ShardAccess::get(&op) : std::nullopt;
  if (op.getNumResults() == 1)
    if (auto wanted = problem.wanted.find(op.getResult(0)); wanted != problem.wanted.end())
      node.wanted = wanted->second;
  node.isWhole = !access;
  if (!access) {
    node.refusals = "the op has no access maps";
    nodes.push_back(std::move(node));
    return;
  }
  bool sumsAlike = isa<AddOp, SubOp>(op) &&
                   llvm::all_of(op.getOperandTypes(), [&](Type type) { return type == op.getResult(0).getType(); });
  node.isSum = !node.wanted && (sumsAlike || isa<TransposeOp, ReshapeOp>(op));
  for (unsigned dim = 0; dim <= access->getNumDims(); ++dim) {
    std::string refusal;
    bool isRows = dim == access->getNumDims();
    std::optional<Split> split =
        isRows ? access->splitRows(problem.ranks, refusal) : access->split(dim, problem.ranks, refusal);
    if (!split && !refusal.empty() && (isRows || tg::getConstant(access->getExtent(dim)) != 1))
      node.refusals += (node.refusals.empty() ? "" : "; ") +
                       (isRows ? std::string("rows") : "d" + std::to_string(dim)) + ": " + refusal;
    auto isCounted = [](Share share) { return share.dim < mostSplitDims; };
    if (split && llvm::all_of(split->operands, isCounted) && llvm::all_of(split->results, isCounted) &&
        (!node.wanted || split->results.front().dim == *node.wanted))
      node.splits.push_back(std::move(*split));
  }
  bool readsData = llvm::any_of(op.getOperands(), [](Value operand) { return isFree(operand); });
  node.mayBegin = !problem.followsRequests && (isa<ContractOp>(op) || (isa<GatherOp>(op) && readsData));
  node.isView = isa<ReshapeOp, TransposeOp>(op); // Of its readers.
  bool isSlice = isa<SliceOp, GatherOp>(op);     // Which reads no more than it gives.
  double result = estimateBytes(op.getResult(0).getType());
  for (OpOperand &operand : op.getOpOperands()) {
    std::optional<Combination> fused = combine(operand);
    double bytes = estimateBytes(operand.get().getType());
    bool isMoved = !node.isView && !(fused && fused->verdict == Verdict::Fuse);
    node.operandBytes.push_back(!isMoved ? 0 : isSlice ? std::min(bytes, result) : bytes);
  }
  bool stays = llvm::all_of(op.getResult(0).getUses(), [](OpOperand &use) {
    std::optional<Combination> fused = combine(use);
    return fused && fused->verdict == Verdict::Fuse;
  });
  node.resultBytes = stays || node.isView ? 0 : result;
  node.arithmetic = estimateArithmetic(&op, problem.rates);
  nodes.push_back(std::move(node));
}

void ShardGraph::order(const LayoutProblem &problem) {
  func::FuncOp main = problem.main;
  Block &block = main.front();
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> places; ///< Of what is made of weights alone: its first reader's.
  llvm::DenseSet<Operation *> isOfData;
  for (Operation &op : block.without_terminator()) {
    if (isa<WeightOp, ConstantOp>(op)) {
      ShardValue &value = values[number(op.getResult(0))];
      auto wanted = problem.wanted.find(op.getResult(0));
      value.isFree = isFree(op.getResult(0)) && wanted == problem.wanted.end();
      if (wanted != problem.wanted.end())
        value.wanted = wanted->second;
      continue;
    }
    if (op.getNumOperands() && !op.getNumRegions() && isPure(&op) && llvm::all_of(op.getOperands(), [&](Value operand) {
          Operation *from = operand.getDefiningOp();
          return from && (isa<WeightOp, ConstantOp>(from) || isOfData.contains(from));
        }))
      isOfData.insert(&op);
    places[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (!isOfData.contains(op))
      continue;
    size_t first = ops.size();
    for (Operation *user : op->getUsers())
      if (auto place = places.find(block.findAncestorOpInBlock(*user)); place != places.end())
        first = std::min(first, place->second);
    places[op] = first;
  }
  llvm::stable_sort(ops, [&](Operation *a, Operation *b) { return places[a] < places[b]; });
  for (Operation *op : ops)
    addNode(*op, problem);
}

/// Who reads what, and which shares a state has to have.
void ShardGraph::finish(const LayoutProblem &problem) {
  constexpr double smallData = 65536; // Bytes: no part of what is less is worth a thought.
  std::vector<int> reads(values.size(), 0);
  for (auto [i, node] : llvm::enumerate(nodes))
    for (unsigned operand : llvm::SmallSetVector<unsigned, 4>(node.operands.begin(), node.operands.end())) {
      ShardValue &value = values[operand];
      ++reads[operand];
      value.firstRead = value.firstRead < 0 ? int(i) : value.firstRead;
      value.lastRead = int(i);
    }
  for (auto [i, value] : llvm::enumerate(values))
    value.isTracked = !value.isFree || (reads[i] > 1 && value.bytes > smallData);
}

ShardGraph::ShardGraph(const LayoutProblem &problem) {
  addArguments(problem);
  order(problem);
  finish(problem);
}

} // namespace weft::tg
