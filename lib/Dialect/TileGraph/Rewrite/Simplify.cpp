// The pass that brings `tg` into canonical form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rules/Canonical.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_SIMPLIFY
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// A check that holds for all values of the symbols.
LogicalResult dropTrueCheck(AssumeEqualOp op, PatternRewriter &rewriter) {
  ArrayRef<AffineExpr> exprs = op.getMap().getResults();
  if (!llvm::all_of(exprs, [&](AffineExpr expr) { return isEqual(expr, exprs.front()); }))
    return failure();
  rewriter.eraseOp(op);
  return success();
}

constexpr llvm::StringRef families[] = {"identities", "views"};

struct Simplify : impl::SimplifyBase<Simplify> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    for (Dialect *dialect : context->getLoadedDialects())
      dialect->getCanonicalizationPatterns(set);
    for (RegisteredOperationName op : context->getRegisteredOperations())
      op.getCanonicalizationPatterns(set, context);
    populateCanonicalRules(set, families);
    set.add(dropTrueCheck);
    patterns = FrozenRewritePatternSet(std::move(set));
    return success();
  }

  void runOnOperation() override {
    // Not converging within the driver's bounds leaves valid, if not canonical, IR.
    (void)applyPatternsGreedily(getOperation(), patterns);
    dropRepeatedChecks();
    emitMissedRules(getOperation(), families);
  }

  /// Each broadcast of the model emits its own checks; of equal ones in a block the first says it all.
  void dropRepeatedChecks() {
    llvm::DenseSet<std::pair<Block *, AffineMap>> seen;
    getOperation()->walk([&](AssumeEqualOp op) {
      if (!seen.insert({op->getBlock(), op.getMap()}).second)
        op->erase();
    });
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace weft::tg
