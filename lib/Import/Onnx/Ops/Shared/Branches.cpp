// ONNX If whose condition is data, as a branch of the program.
//
// A result of a branch may have extents that the branch computes from data. The type of the result mentions them, so
// they have to be known outside before the result is. The branch is then taken apart where it binds a symbol: what
// stands in front of it is a branch of its own, whose results are the symbol's value and what the rest reads; the
// symbol is bound outside, and the rest is the next branch. Where the condition says otherwise these numbers are 0.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compose.h"
#include "Expr.h"
#include "Loops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Import/Onnx/ModelReader.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace weft::onnx {
namespace {

/// Whether `type` is a tensor of `other`'s element type whose extents in front of `other`'s rank are 1.
bool hasLeadingOnes(Type type, Type other) {
  auto longer = dyn_cast<RankedTensorType>(type), shorter = dyn_cast<RankedTensorType>(other);
  return longer && shorter && longer.getElementType() == shorter.getElementType() &&
         longer.getRank() > shorter.getRank() &&
         llvm::all_of(ArrayRef(tg::getDims(longer)).drop_back(shorter.getRank()),
                      [](AffineExpr extent) { return tg::getConstant(extent) == 1; });
}

/// A branch gives 2, the other one [2], as functions of ONNX do: where they are used they broadcast to the same.
Value withLeadingOnes(NodeContext &ctx, Value value, Type type) {
  if (!value || !hasLeadingOnes(type, value.getType()))
    return value;
  tg::Dims dims(cast<RankedTensorType>(type).getRank() - ctx.rank(value), ctx.constExpr(1));
  llvm::append_range(dims, ctx.dims(value));
  return ctx.reshape(value, dims);
}

/// A tensor of `type` whose elements are 0.
Value zeros(NodeContext &ctx, Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  Value zero = isa<FloatType>(element) ? ctx.scalar(0, element) : ctx.scalarInt(0, element);
  return ctx.broadcastTo(zero, tg::getDims(type));
}

/// tg.if of both functions, whose results have the same types.
SmallVector<Value> runBranch(NodeContext &ctx, Value condition, const Body &onTrue, const Body &onFalse) {
  auto branch = tg::IfOp::create(ctx.b, ValueRange(onTrue.results).getTypes(), condition, onTrue.name, onTrue.captured,
                                 onFalse.name, onFalse.captured);
  return SmallVector<Value>(branch.getResults());
}

/// A branch under construction: ops that are in no function yet.
class Branch {
public:
  Branch(NodeContext &ctx, const ::onnx::GraphProto &graph, Value condition, bool isTrue)
      : ctx(ctx), graph(graph), condition(condition), isTrue(isTrue) {}
  /// What nobody took stays as a function that nothing calls: the importer may still speak of its values.
  ~Branch() {
    if (!block.empty())
      (void)finish({});
  }
  Branch(const Branch &) = delete;
  Branch &operator=(const Branch &) = delete;

  LogicalResult import();
  /// Runs what finds the extents of the results, so that their types mention symbols of the outside only.
  LogicalResult bindExtents();
  /// The function of what is left, with results of `types`.
  FailureOr<Body> finish(TypeRange types);
  /// Moves what is left to the outside.
  void moveHere() {
    ctx.b.getInsertionBlock()->getOperations().splice(ctx.b.getInsertionPoint(), block.getOperations());
  }

  SmallVector<Value> results;

private:
  StringRef name() const { return isTrue ? "then" : "else"; }
  bool resultsMention(const llvm::SmallDenseSet<unsigned> &symbols) const;
  LogicalResult runUpTo(unsigned stage, const tg::Stages &stages);
  void splitConstants(const llvm::SmallPtrSetImpl<Operation *> &early);
  FailureOr<SmallVector<Value>> runEarly(ArrayRef<Operation *> early, ArrayRef<Value> given);

  NodeContext &ctx;
  const ::onnx::GraphProto &graph;
  Value condition;
  bool isTrue;
  Block block;
};

LogicalResult Branch::import() {
  FailureOr<Body> body = ctx.buildBody(name(), {}, /*hoist=*/false, [&](ValueRange) -> FailureOr<SmallVector<Value>> {
    FailureOr<SmallVector<Value>> found = ctx.inlineGraph(graph, {});
    if (failed(found))
      return failure();
    if (found->size() < ctx.numOutputs())
      return ctx.error("expected " + Twine(ctx.numOutputs()) + " outputs of both branches, got " +
                       Twine(found->size()));
    results.assign(found->begin(), found->begin() + ctx.numOutputs());
    for (auto [i, value] : llvm::enumerate(results)) {
      value = withDeclaredExtents(ctx, value, graph.output(int(i)));
      if (!value || failed(ctx.checkTensor(value, "a result of the branches")))
        return failure();
    }
    block.getOperations().splice(block.end(), ctx.b.getInsertionBlock()->getOperations());
    ctx.b.setInsertionPointToEnd(ctx.b.getInsertionBlock());
    return SmallVector<Value>();
  });
  if (failed(body))
    return failure();
  body->function->erase();
  return success();
}

bool Branch::resultsMention(const llvm::SmallDenseSet<unsigned> &symbols) const {
  bool found = false;
  for (Value result : results)
    for (AffineExpr dim : ctx.dims(result))
      dim.walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        found |= symbol && symbols.contains(symbol.getPosition());
      });
  return found;
}

LogicalResult Branch::bindExtents() {
  while (true) {
    tg::Stages stages(block);
    llvm::SmallDenseSet<unsigned> own;
    std::optional<unsigned> first;
    for (auto bind : block.getOps<tg::BindSymbolsOp>()) {
      own.insert_range(llvm::map_range(bind.getSymbols(), [](int64_t symbol) { return unsigned(symbol); }));
      first = std::min(first.value_or(stages.get(bind)), stages.get(bind));
    }
    if (!resultsMention(own))
      return success();
    if (failed(runUpTo(*first, stages)))
      return failure();
  }
}

/// Constants that both parts read are in both of them.
void Branch::splitConstants(const llvm::SmallPtrSetImpl<Operation *> &early) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!early.contains(&op) || !isa<tg::ConstantOp, tg::WeightOp>(op))
      continue;
    auto isLate = [&](OpOperand &use) { return !early.contains(use.getOwner()); };
    Value mine = op.getResult(0);
    if (llvm::none_of(mine.getUses(), isLate) && !llvm::is_contained(results, mine))
      continue;
    Operation *copy = op.clone();
    block.getOperations().insert(std::next(op.getIterator()), copy);
    mine.replaceUsesWithIf(copy->getResult(0), isLate);
    llvm::replace(results, mine, Value(copy->getResult(0)));
  }
}

/// The ops up to `stage`, of which those that bind symbols do so outside.
LogicalResult Branch::runUpTo(unsigned stage, const tg::Stages &stages) {
  SmallVector<Operation *> early;
  SmallVector<tg::BindSymbolsOp> binds;
  for (Operation &op : block) {
    if (stages.get(&op) > stage)
      continue;
    if (auto bind = dyn_cast<tg::BindSymbolsOp>(op))
      binds.push_back(bind);
    else
      early.push_back(&op);
  }
  llvm::SmallPtrSet<Operation *, 16> isEarly(early.begin(), early.end());
  splitConstants(isEarly);
  llvm::SetVector<Value> given;
  for (tg::BindSymbolsOp bind : binds)
    given.insert(bind.getValues());
  for (Operation *op : early)
    for (Value value : op->getResults())
      if (llvm::is_contained(results, value) ||
          llvm::any_of(value.getUsers(), [&](Operation *user) { return !isEarly.contains(user); }))
        given.insert(value);
  FailureOr<SmallVector<Value>> outside = runEarly(early, given.getArrayRef());
  if (failed(outside))
    return failure();
  for (auto [inside, value] : llvm::zip_equal(given, *outside)) {
    Value from = inside;
    from.replaceUsesWithIf(value, [&](OpOperand &use) { return use.getOwner()->getBlock() == &block; });
    llvm::replace(results, from, value);
  }
  for (tg::BindSymbolsOp bind : binds) {
    bind->remove();
    ctx.b.insert(bind);
  }
  return success();
}

/// Results `given` of the ops `early`, as results of a branch; zeros where it does not run.
FailureOr<SmallVector<Value>> Branch::runEarly(ArrayRef<Operation *> early, ArrayRef<Value> given) {
  FailureOr<Body> mine = ctx.buildBody(name(), {}, /*hoist=*/false, [&](ValueRange) -> FailureOr<SmallVector<Value>> {
    for (Operation *op : early)
      op->moveBefore(ctx.b.getInsertionBlock(), ctx.b.getInsertionBlock()->end());
    return SmallVector<Value>(given);
  });
  FailureOr<Body> other = ctx.buildBody(isTrue ? "else" : "then", {}, /*hoist=*/false, [&](ValueRange) {
    return FailureOr(llvm::map_to_vector(given, [&](Value value) { return zeros(ctx, value.getType()); }));
  });
  if (failed(mine) || failed(other))
    return failure();
  return runBranch(ctx, condition, isTrue ? *mine : *other, isTrue ? *other : *mine);
}

FailureOr<Body> Branch::finish(TypeRange types) {
  return ctx.buildBody(name(), {}, /*hoist=*/false, [&](ValueRange) -> FailureOr<SmallVector<Value>> {
    moveHere();
    SmallVector<Value> matched;
    for (auto [value, type] : llvm::zip(results, types))
      matched.push_back(matchType(ctx, withLeadingOnes(ctx, value, type), type, "a result of the branches"));
    return matched;
  });
}

//===--- Both branches ---===//

/// Whether the branches give tensors of different ranks, other than by extents of 1 in front.
bool changesRank(ArrayRef<Value> onTrue, ArrayRef<Value> onFalse) {
  return llvm::any_of(llvm::zip_equal(onTrue, onFalse), [](auto pair) {
    Type x = std::get<0>(pair).getType(), y = std::get<1>(pair).getType();
    return cast<RankedTensorType>(x).getRank() != cast<RankedTensorType>(y).getRank() && !hasLeadingOnes(x, y) &&
           !hasLeadingOnes(y, x);
  });
}

/// Types that results of both branches can have: where extents differ, symbols whose values the condition chooses.
FailureOr<SmallVector<Type>> commonTypes(NodeContext &ctx, Value condition, ArrayRef<Value> onTrue,
                                         ArrayRef<Value> onFalse) {
  using Extents = std::pair<AffineExpr, AffineExpr>;
  llvm::MapVector<Extents, AffineExpr> chosen;
  auto forEachChoice = [&](auto use) {
    SmallVector<Type> types;
    for (auto [x, y] : llvm::zip_equal(onTrue, onFalse)) {
      bool isLonger = hasLeadingOnes(y.getType(), x.getType());
      Value longer = isLonger ? y : x, shorter = isLonger ? x : y;
      tg::Dims dims = ctx.dims(longer), others = ctx.dims(shorter);
      size_t ones = dims.size() - std::min(dims.size(), others.size());
      bool isFitting = dims.size() == others.size() || hasLeadingOnes(longer.getType(), shorter.getType());
      for (size_t d = 0; isFitting && d < others.size(); ++d)
        if (AffineExpr mine = dims[ones + d]; !tg::isEqual(mine, others[d]))
          dims[ones + d] = use(isLonger ? Extents(others[d], mine) : Extents(mine, others[d]));
      types.push_back(tg::getTensorType(dims, ctx.elementType(longer)));
    }
    return types;
  };
  forEachChoice([&](Extents extents) { return chosen[extents] = extents.first; });
  if (!chosen.empty()) {
    Type index = ctx.b.getI64Type();
    SmallVector<Value> numbers;
    for (auto &[extents, symbol] : chosen) {
      Expr ofTrue(ctx, extentScalar(ctx, extents.first, index)), ofFalse(ctx, extentScalar(ctx, extents.second, index));
      numbers.push_back(ctx.reshape(Expr(ctx, condition).select(ofTrue, ofFalse), ArrayRef<int64_t>{1}));
    }
    FailureOr<tg::Dims> symbols = ctx.runtimeDims(ctx.concat(numbers, 0), "extents of results of the branches");
    if (failed(symbols))
      return failure();
    for (auto [entry, symbol] : llvm::zip_equal(chosen, *symbols))
      entry.second = symbol;
  }
  return forEachChoice([&](Extents extents) { return chosen.lookup(extents); });
}

/// `x.squeeze(-1)` of PyTorch: a branch on an extent that is equal to a number, which gives another rank than the other
/// branch. What was written means the extent to be that number. 1 or 0: the branch to take; none: it is no such
/// condition.
std::optional<bool> assumeExtent(NodeContext &ctx, Value condition) {
  Value from = origin(condition);
  bool isNegated = false;
  for (auto negation = from.getDefiningOp<tg::NotOp>(); negation; negation = from.getDefiningOp<tg::NotOp>()) {
    isNegated = !isNegated;
    from = origin(negation.getInput());
  }
  auto compare = from.getDefiningOp<tg::CmpOp>();
  if (!compare || (compare.getPredicate() != tg::CmpPredicate::Eq && compare.getPredicate() != tg::CmpPredicate::Ne))
    return std::nullopt;
  std::optional<AffineExpr> x = exprOf(ctx, compare.getLhs()), y = exprOf(ctx, compare.getRhs());
  if (!x || !y || failed(ctx.assumeEqual(*x, *y, "condition of a branch that changes the rank")))
    return std::nullopt;
  return (compare.getPredicate() == tg::CmpPredicate::Eq) != isNegated;
}

} // namespace

LogicalResult importRuntimeIf(NodeContext &ctx, Value condition, const ::onnx::GraphProto &thenGraph,
                              const ::onnx::GraphProto &elseGraph) {
  Branch onTrue(ctx, thenGraph, condition, true), onFalse(ctx, elseGraph, condition, false);
  if (failed(onTrue.import()) || failed(onFalse.import()))
    return failure();
  if (changesRank(onTrue.results, onFalse.results))
    if (std::optional<bool> known = assumeExtent(ctx, condition)) {
      Branch &taken = *known ? onTrue : onFalse;
      taken.moveHere();
      for (auto [i, value] : llvm::enumerate(taken.results))
        ctx.output(i, value);
      return success();
    }
  if (failed(onTrue.bindExtents()) || failed(onFalse.bindExtents()))
    return failure();
  FailureOr<SmallVector<Type>> types = commonTypes(ctx, condition, onTrue.results, onFalse.results);
  if (failed(types))
    return failure();
  FailureOr<Body> thenBody = onTrue.finish(*types), elseBody = onFalse.finish(*types);
  if (failed(thenBody) || failed(elseBody))
    return failure();
  for (auto [i, result] : llvm::enumerate(runBranch(ctx, condition, *thenBody, *elseBody)))
    ctx.output(i, result);
  return success();
}

} // namespace weft::onnx
