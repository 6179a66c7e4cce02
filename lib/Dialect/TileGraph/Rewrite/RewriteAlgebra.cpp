// --weft-rewrite: rules of algebra, greedily by gain, to a fixpoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rules/Rewriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Dialect/TileGraph/Rewrite/Rules.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_REWRITEALGEBRA
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

remark::RemarkOpts getOptions(llvm::StringRef name) { return remark::RemarkOpts::name(name).category("rewrite"); }

struct RewriteAlgebra : impl::RewriteAlgebraBase<RewriteAlgebra> {
  using RewriteAlgebraBase::RewriteAlgebraBase;

  void runOnOperation() override {
    std::vector<std::string> guards(disabledGuards.begin(), disabledGuards.end());
    RuleLicence ruleLicence;
    SmallVector<const Prices *> lists;
    SmallVector<const Rule *> rules;
    if (failed(parseRuleOptions(getOperation(), licence, prices, only, ruleLicence, lists, rules)))
      return signalPassFailure();
    ruleLicence.disabledGuards = guards;
    Rewriter rewriter(ruleLicence, lists, {maxWeightBytes, maxTotalWeightBytes, RewriteLimits().maxFoldedPoints});
    getOperation()->walk([&](func::FuncOp function) {
      if (!function.isDeclaration() && function.getBody().hasOneBlock())
        rewrite(function, rules, rewriter);
    });
  }

private:
  static OpSet getOps(Block &block) {
    OpSet ops;
    for (Operation &op : block)
      ops.insert(&op);
    return ops;
  }

  void rewrite(func::FuncOp function, ArrayRef<const Rule *> rules, Rewriter &rewriter) {
    Block &block = function.getBody().front();
    Work before = countWork(getOps(block));
    GreedyResult result = rewriteGreedily(block, rules, rewriter, [](Location loc, const Attempt &attempt) {
      remark::passed(loc, getOptions("rewrite"))
          << remark::add("{0}", attempt.rule->name + ": " + describe(attempt.before, attempt.after));
    });
    numRewrites += result.numApplied;
    for (const Attempt &attempt : result.missed)
      remark::missed(attempt.root->getLoc(), getOptions("no-rewrite"))
          << remark::add("{0}", attempt.rule->name + ": " +
                                    (attempt.failed.empty() ? "does not pay: " + describe(attempt.before, attempt.after)
                                                            : "expected " + attempt.failed));
    std::string text =
        llvm::formatv("{0} rules considered, {1} rewrites: {2}, {3} bytes of new weights", rules.size(),
                      result.numApplied, describe(before, countWork(getOps(block))), rewriter.getWeightBytes());
    remark::analysis(function.getLoc(), getOptions("rules").function(function.getName())) << remark::add("{0}", text);
  }
};

} // namespace
} // namespace weft::tg
