// --weft-saturate: greedy rewriting against equality saturation, and the cheaper of the two.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rules/Rewriter.h"
#include "Rules/Saturation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_SATURATE
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

Work countBlock(Block &block) {
  OpSet ops, folded;
  for (Operation &op : block) {
    ops.insert(&op);
    bool isFolded =
        op.getNumOperands() > 0 && op.getNumResults() == 1 && llvm::all_of(op.getOperands(), [&](Value operand) {
          Operation *producer = operand.getDefiningOp();
          return producer && (isa<ConstantOp, WeightOp>(producer) || folded.contains(producer));
        });
    if (isFolded)
      folded.insert(&op);
  }
  return countWork(ops, folded);
}

struct Saturate : impl::SaturateBase<Saturate> {
  using SaturateBase::SaturateBase;

  void runOnOperation() override {
    RuleLicence ruleLicence;
    SmallVector<const Prices *> lists;
    SmallVector<const Rule *> rules;
    if (failed(parseRuleOptions(getOperation(), licence, prices, {}, ruleLicence, lists, rules)))
      return signalPassFailure();
    if (lists.size() != 1) {
      getOperation()->emitError("prices: expected one price list, got `") << prices << "`";
      return signalPassFailure();
    }
    getOperation()->walk([&](func::FuncOp function) {
      if (!function.isDeclaration() && function.getBody().hasOneBlock())
        compare(function, ruleLicence, rules, *lists.front());
    });
  }

private:
  void compare(func::FuncOp function, const RuleLicence &ruleLicence, ArrayRef<const Rule *> rules,
               const Prices &list) {
    OwningOpRef<func::FuncOp> greedy = function.clone();
    Rewriter rewriter(ruleLicence, {&list}, {});
    unsigned applied = rewriteGreedily(greedy->front(), rules, rewriter, [](Location, const Attempt &) {}).numApplied;
    Work before = countBlock(function.front()), byGreedy = countBlock(greedy->front()), bySaturation;
    SaturationLimits limits;
    limits.maxNodes = maxNodes;
    limits.maxIterations = maxIterations;
    OwningOpRef<func::FuncOp> saturated;
    std::string effort;
    bool allCheapest = true;
    for (bool countBytes : {true, false}) { // Extraction sees nodes alone; the better of two is what counts.
      OwningOpRef<func::FuncOp> candidate = function.clone();
      Saturation saturation(candidate->front(), ruleLicence, limits);
      saturation.run(rules);
      bool isProgram = saturation.replace(list, countBytes);
      allCheapest &= saturation.isCheapest();
      effort = llvm::formatv("{0} nodes, {1} iterations, {2}, extraction {3}", saturation.getNumNodes(),
                             saturation.getNumIterations(), saturation.getStop(), allCheapest ? "proved" : "bounded");
      if (!isProgram)
        continue;
      Work work = countBlock(candidate->front());
      if (saturated && getSeconds(work, list) >= getSeconds(bySaturation, list))
        continue;
      saturated = std::move(candidate);
      bySaturation = work;
    }
    if (!saturated)
      bySaturation = byGreedy;
    double seconds[] = {getSeconds(before, list), getSeconds(byGreedy, list), getSeconds(bySaturation, list)};
    bool isBetter = saturated && seconds[2] < seconds[1] * (1 - 1e-9);
    std::string text =
        llvm::formatv("flops {0:f0}, greedy {1:f0} ({2} rewrites), saturated {3:f0}; modelled {4:f3} us, {5:f3} us, "
                      "{6:f3} us; {7}",
                      before.flops, byGreedy.flops, applied, bySaturation.flops, seconds[0] * 1e6, seconds[1] * 1e6,
                      seconds[2] * 1e6, effort);
    remark::analysis(
        function.getLoc(),
        remark::RemarkOpts::name(isBetter ? "saturated" : "greedy").category("rewrite").function(function.getName()))
        << remark::add("{0}", text);
    function.getBody().takeBody(isBetter ? saturated->getBody() : greedy->getBody());
    numBetter += isBetter;
  }
};

} // namespace
} // namespace weft::tg
