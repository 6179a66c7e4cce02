// weft-unroll-folds: a fold becomes its updates, one after the other, on slices of the streamed dimension.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The inverse of deriving folds: one step gives the plain reductions back, for a target that has no loop for them;
// several steps show that repairs do what they must, for the law of the fold says that the number of steps does not
// matter. What a value's streamed dimension is follows from the reductions that carry `tg.streamed`, back through the
// ops between.
#include "GraphBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_UNROLLFOLDS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

using Axis = std::optional<unsigned>;

/// Clones the ops of a fold's update for the indices [begin, begin + count) of the stream.
class StepCloner {
public:
  StepCloner(OpBuilder &builder, FoldOp fold, int64_t begin, int64_t count)
      : builder(builder), fold(fold), begin(begin), count(count) {}

  void set(Value value, Value stand) { known[{value, -1}] = stand; }
  /// What stands for `value`, whose streamed dimension is `axis`. Null and a reason where that is not possible.
  Value get(Value value, Axis axis = std::nullopt);
  std::string reason;

private:
  Value fail(Operation *op, const Twine &why) {
    if (reason.empty())
      reason = ("'" + op->getName().stripDialect() + "': " + why).str();
    return {};
  }
  Value slice(Value value, unsigned axis);
  Value clone(Operation *op, Axis axis);
  /// The streamed dimension of operand `i`; false if it cannot be told.
  bool findOperandAxis(Operation *op, unsigned i, Axis axis, Axis &own);

  OpBuilder &builder;
  FoldOp fold;
  int64_t begin, count;
  llvm::DenseMap<std::pair<Value, int>, Value> known;
};

Value StepCloner::slice(Value value, unsigned axis) {
  Dims dims = getDims(value.getType());
  dims[axis] = builder.getAffineConstantExpr(count);
  SmallVector<int64_t> offsets(dims.size(), 0), strides(dims.size(), 1);
  offsets[axis] = begin;
  return SliceOp::create(builder, value.getLoc(), getTensorType(dims, GraphBuilder::elementOf(value)), value, offsets,
                         strides);
}

Value StepCloner::get(Value value, Axis axis) {
  std::pair<Value, int> key(value, axis ? int(*axis) : -1); // An operand may stream along one dimension, another not.
  if (auto it = known.find(key); it != known.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  Value stand = op && fold->isProperAncestor(op) ? clone(op, axis) : axis ? slice(value, *axis) : value;
  return known[key] = stand;
}

bool StepCloner::findOperandAxis(Operation *op, unsigned i, Axis axis, Axis &own) {
  own = std::nullopt;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    own = isStreamed(op) ? Axis(reduce.getAxes().front()) : axis;
    return reduce.getAxes().size() == 1 && (isStreamed(op) || !axis || reduce.getKeepDims());
  }
  if (auto contract = dyn_cast<ContractOp>(op)) {
    AffineExpr along;
    for (auto [d, kind] : llvm::enumerate(cast<TileOpInterface>(op).getDomainIterators()))
      if (isStreamed(op) && kind == utils::IteratorType::reduction)
        along = builder.getAffineDimExpr(d);
    if (!isStreamed(op) && axis)
      along = contract.getMap(2).getResult(*axis);
    if (!along)
      return !isStreamed(op);
    AffineMap map = contract.getMap(i);
    if (std::optional<unsigned> position = map.getResultPosition(along))
      own = position;
    return own || !map.isFunctionOfDim(cast<AffineDimExpr>(along).getPosition());
  }
  if (!axis)
    return true;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    own = transpose.getPermutation()[*axis];
    return true;
  }
  unsigned missing = GraphBuilder::rankOf(op->getResult(0)) - GraphBuilder::rankOf(op->getOperand(i));
  if (isa<PointwiseOpInterface, BroadcastOp>(op) && *axis >= missing &&
      getConstant(getDim(op->getOperand(i).getType(), *axis - missing)) != 1)
    own = *axis - missing;
  return isa<PointwiseOpInterface, BroadcastOp>(op);
}

Value StepCloner::clone(Operation *op, Axis axis) {
  if (op->getNumResults() != 1)
    return fail(op, "several results");
  if (op->getNumOperands() == 0) {
    Value made = builder.clone(*op)->getResult(0);
    return axis ? slice(made, *axis) : made;
  }
  SmallVector<Value> operands; // By number: one value may be read in two ways.
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Axis own;
    if (!findOperandAxis(op, i, axis, own))
      return fail(op, "not known in steps");
    Value stand = get(operand, own);
    if (!stand)
      return {};
    operands.push_back(stand);
  }
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  made->removeAttr(FoldOp::streamedAttr);
  if (axis) {
    Dims dims = getDims(op->getResult(0).getType());
    dims[*axis] = builder.getAffineConstantExpr(count);
    made->getResult(0).setType(getTensorType(dims, GraphBuilder::elementOf(op->getResult(0))));
  }
  return made->getResult(0);
}

/// The first states: tensors filled with the fold's scalars.
Value buildInit(GraphBuilder &b, Type state, Attribute init) {
  Type element = cast<RankedTensorType>(state).getElementType();
  Value scalar = b.op<ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({}, element), init));
  return b.op<BroadcastOp>(state, scalar);
}

class UnrollFolds : public impl::UnrollFoldsBase<UnrollFolds> {
  using Base::Base;

  /// The states `from` after one step.
  SmallVector<Value> runStep(OpBuilder &builder, FoldOp fold, ArrayRef<Value> from, int64_t begin, int64_t end,
                             std::string &reason) {
    Block &update = fold.getUpdate().front();
    StepCloner cloner(builder, fold, begin, end - begin);
    for (auto [argument, state] : llvm::zip(update.getArguments(), from))
      cloner.set(argument, state);
    SmallVector<Value> next;
    for (Value yielded : update.getTerminator()->getOperands())
      next.push_back(cloner.get(yielded));
    reason = cloner.reason;
    return next;
  }

  SmallVector<Value> runMerge(OpBuilder &builder, FoldOp fold, ArrayRef<Value> left, ArrayRef<Value> right) {
    Block &body = fold.getMerge().front();
    IRMapping mapping;
    mapping.map(body.getArguments().take_front(left.size()), left);
    mapping.map(body.getArguments().drop_front(left.size()), right);
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    return llvm::map_to_vector(body.getTerminator()->getOperands(),
                               [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
  }

  /// The states after all steps. A reason if they cannot be had.
  SmallVector<Value> runSteps(OpBuilder &builder, FoldOp fold, int64_t number, int64_t extent, std::string &reason) {
    GraphBuilder b{builder, fold.getLoc()};
    SmallVector<Value> init;
    for (auto [argument, scalar] : llvm::zip(fold.getUpdate().front().getArguments(), fold.getInit()))
      init.push_back(buildInit(b, argument.getType(), scalar));
    SmallVector<Value> states = init;
    for (int64_t step = 0; step < number && reason.empty(); ++step) {
      int64_t begin = extent * step / number, end = extent * (step + 1) / number;
      SmallVector<Value> next = runStep(builder, fold, merge ? init : states, begin, end, reason);
      states = merge && reason.empty() ? runMerge(builder, fold, states, next) : next;
    }
    return states;
  }

  /// One step of the whole stream: no slices, whatever the extent.
  SmallVector<Value> runWhole(OpBuilder &builder, FoldOp fold) {
    Block &update = fold.getUpdate().front();
    GraphBuilder b{builder, fold.getLoc()};
    IRMapping mapping;
    for (auto [argument, init] : llvm::zip(update.getArguments(), fold.getInit()))
      mapping.map(argument, buildInit(b, argument.getType(), init));
    for (Operation &op : update.without_terminator())
      builder.clone(op, mapping)->removeAttr(FoldOp::streamedAttr);
    return llvm::map_to_vector(update.getTerminator()->getOperands(),
                               [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
  }

  void unroll(FoldOp fold) {
    OpBuilder builder(fold);
    std::optional<int64_t> extent = getConstant(fold.getExtent().getResult(0));
    std::string reason = fold.getParts()                    ? "its parts are results"
                         : steps > 1 && !extent             ? "the extent is not constant"
                         : merge && fold.getMerge().empty() ? "there is no merge"
                                                            : "";
    int64_t number = extent ? std::clamp<int64_t>(steps, 1, std::max<int64_t>(*extent, 1)) : 1;
    SmallVector<Value> states;
    if (reason.empty())
      states = number == 1 && !merge ? runWhole(builder, fold) : runSteps(builder, fold, number, *extent, reason);
    if (!reason.empty()) {
      remark::missed(fold.getLoc(), remark::RemarkOpts::name("no-unroll").category("fold"))
          << remark::add("{0}", reason);
      return;
    }
    Block &finish = fold.getFinish().front();
    IRMapping mapping;
    mapping.map(finish.getArguments(), states);
    for (Operation &op : finish.without_terminator())
      builder.clone(op, mapping);
    for (auto [result, yielded] : llvm::zip(fold.getResults(), finish.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(yielded));
    fold.erase();
    ++numUnrolled;
  }

  void runOnOperation() override {
    SmallVector<FoldOp> folds;
    getOperation()->walk([&](FoldOp fold) { folds.push_back(fold); });
    for (FoldOp fold : folds)
      unroll(fold);
  }
};

} // namespace
} // namespace weft::tg
