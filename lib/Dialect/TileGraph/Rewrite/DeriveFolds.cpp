// Derives folds: a contraction that reads, over the dimension it reduces, the results of earlier reductions of that
// dimension becomes one streaming pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let R be the last reduction (a sum), r an earlier one, and b(x, r) what R sums. The fold carries both; when r changes
// to r', what R has summed so far must be repaired: h(R, r, r') = sum b(x, r'). This needs b(x, r') = b(x, r) * q(r,
// r') with q independent of x, for then q commutes with the sum (research note 1.6; the invertible second argument is
// that of exp(x - r)). Factors of b that do not depend on x at all are not repaired but applied once, in `finish`
// (delayed scales: softmax's division, the row scale of a normalisation before a contraction).
//
// A maximum of -inf so far (a row masked up to here) is replaced by 0 where it is subtracted: exp(-inf - 0) = 0 is what
// such places contribute, while -inf - -inf would be NaN. A row that stays masked ends as 0 / 0 = NaN, as without the
// fold.
#include "FoldFactors.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_DERIVEFOLDS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// A factor of the summed operand that does not depend on the streamed dimension.
struct DelayedScale {
  enum Kind { Mul, Div, ZeroIfNan, ZeroWhere } kind;
  Value value; ///< ZeroWhere: a condition. With extent 1 along the streamed axis, or less rank.
};

/// The widest accumulator tile, and the longest operand rows beside it, that a CTA keeps.
constexpr int64_t maxResident = 256;

/// One contraction, and whether it ends a cascade.
class Cascade {
public:
  explicit Cascade(ContractOp root) : root(root) {}

  /// Finds the cascade; the reason otherwise.
  std::string analyse();
  /// Replaces the root by the fold.
  void build(OpBuilder &builder);

private:
  std::string findStream();
  std::string findLoss();
  void peelScales();
  bool isGuardedQuotient(SelectOp select, DivOp &quotient);

  Value cloneState(GraphBuilder &b, ReduceOp reduce, Value old, StateValues &values);
  Value repaired(GraphBuilder &b, Value total, Value summand, const StateValues &before, const StateValues &after,
                 llvm::function_ref<Value(Value)> align);
  Value aligned(GraphBuilder &b, Value value);
  void buildUpdate(OpBuilder &builder, FoldOp fold);
  void buildMerge(OpBuilder &builder, FoldOp fold);
  void buildFinish(OpBuilder &builder, FoldOp fold);
  Type stateType(ReduceOp reduce) {
    Type element = GraphBuilder::elementOf(reduce.getResult());
    bool isSum = reduce.getKind() == Monoid::Add && isa<FloatType>(element);
    return withElement(reduce.getResult().getType(), isSum ? getComputeType(element) : element);
  }

  ContractOp root;
  unsigned operand = 0;             ///< Of the root: the one that is computed by the cascade.
  int64_t axis = 0;                 ///< Of that operand: the streamed dimension.
  Value core;                       ///< That operand without its delayed scales.
  SmallVector<DelayedScale> scales; ///< The outermost first.
  std::optional<StreamTree> tree;
};

/// The one reduction dimension of the root, and which operand has a cascade behind it.
std::string Cascade::findStream() {
  auto interface = cast<TileOpInterface>(*root);
  SmallVector<utils::IteratorType> iterators = interface.getDomainIterators();
  if (llvm::count(iterators, utils::IteratorType::reduction) != 1)
    return "the contraction reduces several dimensions";
  unsigned dim = llvm::find(iterators, utils::IteratorType::reduction) - iterators.begin();
  for (unsigned side : {0u, 1u}) {
    AffineMap map = root.getMap(side);
    if (!map.isProjectedPermutation())
      continue;
    std::optional<unsigned> position = map.getResultPosition(getAffineDimExpr(dim, root.getContext()));
    Value value = root->getOperand(side);
    if (!position || !isa<FloatType>(GraphBuilder::elementOf(value)))
      continue;
    StreamTree candidate(*position - GraphBuilder::rankOf(value));
    candidate.visit(value);
    if (candidate.getReductions().empty())
      continue;
    operand = side;
    axis = *position;
    return "";
  }
  return "no operand depends on a reduction of the same dimension";
}

static bool isZero(Value value) {
  auto elements = isa<FloatType>(GraphBuilder::elementOf(value)) ? getConstantElements(value, 8) : ElementsAttr();
  return elements && elements.isSplat() && elements.getSplatValue<APFloat>().isZero();
}

/// Whether `select` is is_nan(x) ? 0 : x of x = e / sum(e), perhaps rounded, as exporters guard rows that are masked as
/// a whole. There x is NaN at one place of a row exactly if it is so at all: e is in [0, 1], so the sum is NaN if an e
/// is.
bool Cascade::isGuardedQuotient(SelectOp select, DivOp &quotient) {
  auto isNan = select.getCondition().getDefiningOp<IsNanOp>();
  if (!isNan || isNan.getInput() != select.getOnFalse() || !isZero(select.getOnTrue()))
    return false;
  Value value = select.getOnFalse();
  while (auto cast = value.getDefiningOp<CastOp>()) {
    if (!isa<FloatType>(GraphBuilder::elementOf(cast.getInput())))
      return false;
    value = cast.getInput();
  }
  quotient = value.getDefiningOp<DivOp>();
  auto sum = quotient ? quotient.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
  return sum && sum.getKind() == Monoid::Add && sum.getInput() == quotient.getLhs() &&
         quotient.getLhs().getDefiningOp<ExpOp>();
}

void Cascade::peelScales() {
  core = root->getOperand(operand);
  while (Operation *op = core.getDefiningOp()) {
    DivOp guarded;
    if (auto cast = dyn_cast<CastOp>(op); cast && isa<FloatType>(GraphBuilder::elementOf(cast.getInput()))) {
      core = cast.getInput();
    } else if (auto select = dyn_cast<SelectOp>(op); select && isGuardedQuotient(select, guarded)) {
      scales.push_back({DelayedScale::ZeroIfNan, guarded.getRhs()});
      core = guarded.getResult();
    } else if (select && tree->isDelayable(select.getCondition()) && isZero(select.getOnTrue())) {
      scales.push_back({DelayedScale::ZeroWhere, select.getCondition()});
      core = select.getOnFalse();
    } else if (auto div = dyn_cast<DivOp>(op); div && tree->isDelayable(div.getRhs())) {
      scales.push_back({DelayedScale::Div, div.getRhs()});
      core = div.getLhs();
    } else if (auto mul = dyn_cast<MulOp>(op); mul && tree->isDelayable(mul.getRhs())) {
      scales.push_back({DelayedScale::Mul, mul.getRhs()});
      core = mul.getLhs();
    } else if (mul && tree->isDelayable(mul.getLhs())) {
      scales.push_back({DelayedScale::Mul, mul.getLhs()});
      core = mul.getRhs();
    } else {
      return;
    }
  }
}

/// Product of the extents of those dimensions of `op` that satisfy `wanted`; none if it is not constant.
static std::optional<int64_t> extentOf(ContractOp op, llvm::function_ref<bool(unsigned)> wanted) {
  AffineExpr product = getAffineConstantExpr(1, op.getContext());
  for (auto [dim, extent] : llvm::enumerate(cast<TileOpInterface>(*op).getDomainExtents()))
    if (wanted(dim))
      product = product * extent;
  return getConstant(simplify(product));
}

/// A fold computes the streamed operand again for every tile of the root's other dimensions, and holds a row of what
/// that operand is made from: it pays if both fit one tile, and if nobody else needs the operand in memory.
std::string Cascade::findLoss() {
  if (tree->getContractions().size() != 1)
    return "the streamed operand is not made by one contraction";
  ContractOp inner = tree->getContractions().front();
  for (Operation *user : inner.getResult().getUsers())
    for (Value result : user->getResults())
      if (!tree->contains(result))
        return "the streamed operand's contraction has other readers";
  auto isFunctionOf = [](AffineMap map, unsigned dim) { return map.isFunctionOfDim(dim); };
  std::optional<int64_t> columns = extentOf(root, [&](unsigned dim) {
    return isFunctionOf(root.getMap(2), dim) && !isFunctionOf(root.getMap(operand), dim);
  });
  std::optional<int64_t> depth = extentOf(inner, [&](unsigned dim) { return !isFunctionOf(inner.getMap(2), dim); });
  if (columns.value_or(maxResident + 1) > maxResident || depth.value_or(maxResident + 1) > maxResident)
    return "expected at most " + std::to_string(maxResident) +
           " columns of the contraction and terms of the one before it, so that one tile holds them";
  return "";
}

std::string Cascade::analyse() {
  if (std::string reason = findStream(); !reason.empty())
    return reason;
  tree.emplace(axis - GraphBuilder::rankOf(root->getOperand(operand)));
  tree->visit(root->getOperand(operand));
  if (std::string reason = findLoss(); !reason.empty())
    return reason;
  peelScales();
  for (ReduceOp reduce : tree->getReductions()) {
    if (reduce.getKind() != Monoid::Add && reduce.getKind() != Monoid::Max)
      return "a reduction that is neither a sum nor a maximum";
    if (reduce.getKind() == Monoid::Max && !tree->getDependencies(reduce.getInput()).empty())
      return "a maximum depends on another reduction";
    if (reduce.getKind() == Monoid::Add && !tree->isRepairable(reduce.getInput()))
      return "no repair of a sum is known";
  }
  return tree->isRepairable(core) ? "" : "no repair of the contraction is known";
}

/// `value`, shaped like the streamed operand with extent 1 along the stream, with the dimensions of the root's result.
Value Cascade::aligned(GraphBuilder &b, Value value) {
  AffineMap from = root.getMap(operand), to = root.getMap(2);
  Dims dims = getDims(value.getType());
  dims.insert(dims.begin(), from.getNumResults() - dims.size(), b.builder.getAffineConstantExpr(1));
  value = b.reshape(value, dims);
  SmallVector<int64_t> order;
  Dims shape;
  for (AffineExpr expr : to.getResults()) {
    std::optional<unsigned> position = from.getResultPosition(expr);
    shape.push_back(position ? dims[*position] : b.builder.getAffineConstantExpr(1));
    if (position)
      order.push_back(*position);
  }
  for (int64_t i = 0; i < int64_t(from.getNumResults()); ++i) // The stream and what the root's result lacks: extent 1.
    if (!llvm::is_contained(order, i))
      order.push_back(i);
  return b.reshape(b.op<TransposeOp>(value, order), shape);
}

/// `total` with what changed since `before` repaired: times q(r, r') of every reduction that `summand` depends on.
Value Cascade::repaired(GraphBuilder &b, Value total, Value summand, const StateValues &before,
                        const StateValues &after, llvm::function_ref<Value(Value)> align) {
  for (ReduceOp reduce : tree->getDependencies(summand)) {
    Value ratio = tree->buildRatio(b, summand, reduce, before, after);
    total = b.op<MulOp>(total, align(b.cast(ratio, GraphBuilder::elementOf(total))));
  }
  return total;
}

void Cascade::buildUpdate(OpBuilder &builder, FoldOp fold) {
  Block &block = fold.getUpdate().front();
  builder.setInsertionPointToEnd(&block);
  GraphBuilder b{builder, root.getLoc()};
  StateValues before, after;
  SmallVector<Value> next;
  for (auto [reduce, old] : llvm::zip(tree->getReductions(), block.getArguments())) {
    bool isSum = reduce.getKind() == Monoid::Add;
    Value input = b.cast(tree->clone(b, reduce.getInput(), after), GraphBuilder::elementOf(old));
    auto part =
        ReduceOp::create(builder, reduce.getLoc(), reduce.getKind(), input, reduce.getAxes(), reduce.getKeepDims());
    part->setAttr(FoldOp::streamedAttr, builder.getUnitAttr());
    Value kept =
        isSum ? repaired(b, old, reduce.getInput(), before, after, [](Value ratio) { return ratio; }) : Value(old);
    Value total = isSum ? b.op<AddOp>(kept, part.getResult()) : b.op<MaxOp>(kept, part.getResult());
    next.push_back(total);
    before.set(b, reduce, old, /*isSafe=*/false);
    after.set(b, reduce, total, /*isSafe=*/true);
  }
  Value old = block.getArguments().back();
  SmallVector<Value> operands(root->getOperands());
  // Beside a narrower operand the streamed one is rounded to its type, as ONNX's Attention says of its probabilities.
  Type element = GraphBuilder::elementOf(operands[operand]), other = GraphBuilder::elementOf(operands[1 - operand]);
  if (isa<FloatType>(other) && other.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    element = other;
  operands[operand] = b.cast(tree->clone(b, core, after), element);
  auto part = ContractOp::create(builder, root.getLoc(), old.getType(), operands[0], operands[1], root.getMaps());
  part->setAttr(FoldOp::streamedAttr, builder.getUnitAttr());
  Value kept = repaired(b, old, core, before, after, [&](Value ratio) { return aligned(b, ratio); });
  next.push_back(b.op<AddOp>(kept, part.getResult()));
  FoldYieldOp::create(builder, root.getLoc(), next);
}

/// Both sides are brought to the common later reductions, then added.
void Cascade::buildMerge(OpBuilder &builder, FoldOp fold) {
  Block &block = fold.getMerge().front();
  builder.setInsertionPointToEnd(&block);
  GraphBuilder b{builder, root.getLoc()};
  StateValues left, right, after;
  SmallVector<Value> next;
  unsigned count = block.getNumArguments() / 2;
  for (auto [i, reduce] : llvm::enumerate(tree->getReductions())) {
    Value l = block.getArgument(i), r = block.getArgument(count + i), total;
    auto same = [](Value ratio) { return ratio; };
    if (reduce.getKind() == Monoid::Add)
      total = b.op<AddOp>(repaired(b, l, reduce.getInput(), left, after, same),
                          repaired(b, r, reduce.getInput(), right, after, same));
    else
      total = b.op<MaxOp>(l, r);
    next.push_back(total);
    left.set(b, reduce, l, false);
    right.set(b, reduce, r, false);
    after.set(b, reduce, total, true);
  }
  auto align = [&](Value ratio) { return aligned(b, ratio); };
  next.push_back(b.op<AddOp>(repaired(b, block.getArgument(count - 1), core, left, after, align),
                             repaired(b, block.getArguments().back(), core, right, after, align)));
  FoldYieldOp::create(builder, root.getLoc(), next);
}

void Cascade::buildFinish(OpBuilder &builder, FoldOp fold) {
  Block &block = fold.getFinish().front();
  builder.setInsertionPointToEnd(&block);
  GraphBuilder b{builder, root.getLoc()};
  StateValues last;
  for (auto [reduce, state] : llvm::zip(tree->getReductions(), block.getArguments()))
    last.set(b, reduce, state, /*isSafe=*/false);
  Value value = block.getArguments().back();
  Type element = GraphBuilder::elementOf(value);
  for (const DelayedScale &scale : llvm::reverse(scales)) {
    Value clone = tree->clone(b, scale.value, last);
    if (scale.kind == DelayedScale::ZeroWhere) {
      value = b.op<SelectOp>(aligned(b, clone), b.scalar(0, element), value);
      continue;
    }
    Value factor = aligned(b, b.cast(clone, element));
    if (scale.kind == DelayedScale::Mul) {
      value = b.op<MulOp>(value, factor);
    } else if (scale.kind == DelayedScale::Div) {
      value = b.op<DivOp>(value, factor);
    } else { // The sum is 0 where it would have been NaN for a masked row.
      Value zero = b.scalar(0, element);
      Value isBad = b.op<OrOp>(b.op<IsNanOp>(factor), b.op<CmpOp>(CmpPredicate::Eq, factor, zero));
      value = b.op<SelectOp>(isBad, zero, value);
    }
  }
  FoldYieldOp::create(builder, root.getLoc(), b.cast(value, GraphBuilder::elementOf(root.getResult())));
}

/// x and c of x * c, c a positive finite constant; a null x for other values.
static std::pair<Value, Value> findScale(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  for (unsigned i = 0; product && i < 2; ++i) {
    Value factor = product->getOperand(1 - i);
    ElementsAttr elements =
        isa<FloatType>(GraphBuilder::elementOf(factor)) ? getConstantElements(factor, 8) : ElementsAttr();
    if (!elements || !elements.isSplat() || GraphBuilder::rankOf(factor) != 0)
      continue;
    if (APFloat number = elements.getSplatValue<APFloat>(); number.isFiniteNonZero() && !number.isNegative())
      return {product->getOperand(i), factor};
  }
  return {};
}

static bool isNegInf(Value value) {
  auto elements = isa<FloatType>(GraphBuilder::elementOf(value)) ? getConstantElements(value, 8) : ElementsAttr();
  if (!elements || !elements.isSplat())
    return false;
  APFloat number = elements.getSplatValue<APFloat>();
  return number.isInfinity() && number.isNegative();
}

/// Moves a positive scale behind masks and maxima, so that it is left to the difference with the maximum, where it
/// costs nothing (an FMA), and to single rows. Exact: -inf * c = -inf, and rounding is monotonic.
static void delayScales(OpBuilder &builder, Block &update) {
  for (Operation &op : llvm::make_early_inc_range(update)) {
    GraphBuilder b{builder, op.getLoc()};
    builder.setInsertionPoint(&op);
    if (auto select = dyn_cast<SelectOp>(op); select && isNegInf(select.getOnFalse())) {
      auto [value, factor] = findScale(select.getOnTrue());
      if (!value || value.getType() != select.getOnTrue().getType())
        continue;
      Value masked = b.op<SelectOp>(select.getCondition(), value, select.getOnFalse());
      select.getResult().replaceAllUsesWith(b.op<MulOp>(masked, factor));
      select.erase();
    } else if (auto reduce = dyn_cast<ReduceOp>(op); reduce && reduce.getKind() == Monoid::Max) {
      auto [value, factor] = findScale(reduce.getInput());
      if (!value || value.getType() != reduce.getInput().getType())
        continue;
      auto most =
          ReduceOp::create(builder, reduce.getLoc(), Monoid::Max, value, reduce.getAxes(), reduce.getKeepDims());
      most->setDiscardableAttrs(reduce->getDiscardableAttrDictionary());
      reduce.getResult().replaceAllUsesWith(b.op<MulOp>(most.getResult(), factor));
      reduce.erase();
    }
  }
}

void Cascade::build(OpBuilder &builder) {
  builder.setInsertionPoint(root);
  SmallVector<Type> states;
  SmallVector<Attribute> init;
  for (ReduceOp reduce : tree->getReductions()) {
    states.push_back(stateType(reduce));
    auto element = cast<FloatType>(cast<RankedTensorType>(states.back()).getElementType());
    const llvm::fltSemantics &semantics = element.getFloatSemantics();
    init.push_back(FloatAttr::get(element, reduce.getKind() == Monoid::Add ? APFloat::getZero(semantics)
                                                                           : APFloat::getInf(semantics, true)));
  }
  Type result = root.getResult().getType();
  FloatType sum = getComputeType(GraphBuilder::elementOf(root.getResult()));
  states.push_back(withElement(result, sum));
  init.push_back(FloatAttr::get(sum, 0.0));
  AffineExpr extent = simplify(getDim(root->getOperand(operand).getType(), axis));
  unsigned symbols = 0;
  extent.walk([&](AffineExpr e) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(e))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  auto fold = FoldOp::create(builder, root.getLoc(), TypeRange{result}, AffineMap::get(0, symbols, extent),
                             builder.getArrayAttr(init));
  SmallVector<Type> twice = states;
  llvm::append_range(twice, states);
  for (auto [region, types] : {std::pair<Region *, ArrayRef<Type>>{&fold.getUpdate(), states},
                               {&fold.getMerge(), twice},
                               {&fold.getFinish(), states}})
    region->emplaceBlock().addArguments(types, SmallVector<Location>(types.size(), root.getLoc()));
  buildUpdate(builder, fold);
  delayScales(builder, fold.getUpdate().front());
  buildMerge(builder, fold);
  buildFinish(builder, fold);
  root.getResult().replaceAllUsesWith(fold.getResult(0));
  root.erase();
  IRRewriter rewriter(builder);
  DominanceInfo dominance(fold);
  eliminateCommonSubExpressions(rewriter, dominance, fold); // Clones of one value for several readers become one.
}

class DeriveFolds : public impl::DeriveFoldsBase<DeriveFolds> {
  void runOnOperation() override {
    SmallVector<ContractOp> roots;
    getOperation()->walk([&](ContractOp op) {
      if (!op->getParentOfType<FoldOp>())
        roots.push_back(op);
    });
    OpBuilder builder(&getContext());
    bool changed = false;
    for (ContractOp root : roots) {
      Cascade cascade(root);
      std::string reason = cascade.analyse();
      if (!reason.empty()) {
        remark::missed(root.getLoc(), remark::RemarkOpts::name("no-fold").category("fold"))
            << remark::add("{0}", reason);
        continue;
      }
      cascade.build(builder);
      ++numFolds;
      changed = true;
    }
    if (changed) // What only the replaced contractions read.
      getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
        if (isOpTriviallyDead(op))
          op->erase();
      });
  }
};

} // namespace
} // namespace weft::tg
