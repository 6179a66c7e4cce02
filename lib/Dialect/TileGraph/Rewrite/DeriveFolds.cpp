// Derives folds: a sum that reads, over the dimension it reduces, the results of earlier reductions of that dimension
// becomes one streaming pass.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Let R be the last reduction, r an earlier one, and b(x, r) what R sums. The fold carries both; when r changes to r',
// what R has summed so far must be repaired by a map h with h(sum b(x, r)) = sum b(x, r') (research note 1.6).
// FoldTerms writes b as a sum of products whose factors either do not change along the stream (they are applied at the
// end, h is the identity), or change by a ratio that does not (exp(x - r)), or are powers of x - r, whose sums are
// repaired by the binomial formula. So h is a linear map of a few sums, which commutes with adding: that is the whole
// proof.
//
// A maximum of -inf so far (a row masked up to here) is replaced by 0 where it is subtracted: exp(-inf - 0) = 0 is what
// such elements contribute, while -inf - -inf would be NaN. A row that stays masked ends as 0 / 0 = NaN, as without the
// fold.
#include "Cascade.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_DERIVEFOLDS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

/// x and c of x * c, c a positive finite constant; a null x for other values.
static std::pair<Value, Value> findScale(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  for (unsigned i = 0; product && i < 2; ++i) {
    Value factor = product->getOperand(1 - i);
    std::optional<double> number = GraphBuilder::rankOf(factor) == 0 ? getSplatFloat(factor) : std::nullopt;
    if (number && *number > 0 && std::isfinite(*number))
      return {product->getOperand(i), factor};
  }
  return {};
}

static bool isNegInf(Value value) {
  std::optional<double> number = getSplatFloat(value);
  return number && std::isinf(*number) && *number < 0;
}

/// `value` as the wider float `element`: its product without the rounding, where nothing else reads it; else null.
static Value widen(OpBuilder &builder, Value value, FloatType element) {
  Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse())
    return {};
  IRMapping wide;
  if (!isa<ContractOp>(op)) {
    auto isNumber = [](Value each) { return GraphBuilder::rankOf(each) == 0 && getSplatFloat(each); };
    auto isNarrow = [&](Value each) { return GraphBuilder::elementOf(each) == GraphBuilder::elementOf(value); };
    SmallVector<Value> read = llvm::filter_to_vector(op->getOperands(), isNarrow), others;
    llvm::copy_if(read, std::back_inserter(others), [&](Value each) { return !isNumber(each); });
    bool isScale = isa<MulOp>(op) || (isa<DivOp>(op) && others == ArrayRef(op->getOperand(0)));
    auto select = dyn_cast<SelectOp>(op);
    bool isMask = select && llvm::any_of(read, isNegInf);
    if (others.size() != 1 || read.size() != 2 || !(isScale || isMask))
      return {};
    Value inner = widen(builder, others.front(), element);
    if (!inner)
      return {};
    wide.map(others.front(), inner);
    builder.setInsertionPoint(op);
    for (Value each : read)
      if (each != others.front())
        wide.map(each, GraphBuilder{builder, op->getLoc()}.scalar(*getSplatFloat(each), element));
  }
  builder.setInsertionPoint(op);
  Operation *copy = builder.clone(*op, wide);
  copy->getResult(0).setType(withElement(value.getType(), element));
  return copy->getResult(0);
}

void widenProducts(OpBuilder &builder, Block &update) {
  for (Operation &op : llvm::make_early_inc_range(update)) {
    auto cast = dyn_cast<CastOp>(op);
    auto to = cast ? dyn_cast<FloatType>(GraphBuilder::elementOf(cast)) : FloatType();
    auto from = cast ? dyn_cast<FloatType>(GraphBuilder::elementOf(cast.getInput())) : FloatType();
    if (!to || !from || from.getWidth() >= to.getWidth() || to.isF64())
      continue;
    if (Value value = widen(builder, cast.getInput(), to)) {
      cast.getResult().replaceAllUsesWith(value);
      cast.erase();
    }
  }
}

void delayScales(OpBuilder &builder, Block &update) {
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

namespace {

/// Erases what nothing reads; adds it to `gone`.
void eraseDead(Operation *scope, llvm::SmallPtrSetImpl<Operation *> &gone) {
  scope->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isOpTriviallyDead(op)) {
      gone.insert(op);
      op->erase();
    }
  });
}

class DeriveFolds : public impl::DeriveFoldsBase<DeriveFolds> {
  using Base::Base;
  FoldGuards guards;

  /// The reason why no fold takes the place of `root`; "" if one does.
  std::string derive(Operation *root, Numerics licence, bool all) {
    if (isa<TopKOp, ArgReduceOp>(root)) {
      OpBuilder builder(&getContext());
      return commuteOrder(root, builder, guards);
    }
    Cascade cascade(root, licence, guards);
    if (std::string reason = cascade.findStream(); !reason.empty())
      return reason;
    if (std::string reason = all ? "" : cascade.findLoss(); !reason.empty())
      return reason;
    if (std::string reason = cascade.derive(); !reason.empty())
      return reason;
    if (std::string reason = all ? "" : cascade.findLossOfStates(); !reason.empty())
      return reason;
    if (!all && !cascade.fitsMatrix())
      return "without its scale the streamed operand may not fit f16, the type of what it is multiplied with";
    OpBuilder builder(&getContext());
    FoldOp fold = cascade.build(builder, all);
    IRRewriter rewriter(builder);
    DominanceInfo dominance(fold);
    eliminateCommonSubExpressions(rewriter, dominance, fold); // Clones of one value for several readers become one.
    ++numFolds;
    return "";
  }

  void runOnOperation() override {
    std::optional<Numerics> licence = llvm::StringSwitch<std::optional<Numerics>>(numerics)
                                          .Case("exact", Numerics::Exact)
                                          .Case("reassociating", Numerics::Reassociating)
                                          .Case("approximating", Numerics::Approximating)
                                          .Default(std::nullopt);
    if (!licence || (when != "pays" && when != "proved")) {
      emitError(UnknownLoc::get(&getContext()), "weft-derive-folds: expected when=pays or proved and numerics=exact, "
                                                "reassociating or approximating, got when=")
          << when << " numerics=" << numerics;
      return signalPassFailure();
    }
    std::string error;
    std::vector<std::string> names(disabledGuards.begin(), disabledGuards.end());
    std::optional<FoldGuards> chosen = FoldGuards::without(names, error);
    if (!chosen) {
      emitError(UnknownLoc::get(&getContext()), "weft-derive-folds: ") << error;
      return signalPassFailure();
    }
    guards = *chosen;
    bool all = when == "proved";
    SmallVector<Operation *> roots;
    getOperation()->walk([&](Operation *op) {
      if ((isa<ContractOp>(op) || (all && isa<ReduceOp, TopKOp, ArgReduceOp>(op))) && !op->getParentOfType<FoldOp>())
        roots.push_back(op);
    });
    // The last first: earlier sums may be part of its cascade, and are gone then.
    llvm::SmallPtrSet<Operation *, 16> gone;
    for (Operation *root : llvm::reverse(roots)) {
      if (gone.contains(root))
        continue;
      std::string reason = derive(root, *licence, all);
      if (reason.empty())
        eraseDead(getOperation(), gone);
      else
        remark::missed(root->getLoc(), remark::RemarkOpts::name("no-fold").category("fold"))
            << remark::add("{0}", reason);
    }
  }
};

} // namespace
} // namespace weft::tg
