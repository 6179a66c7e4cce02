// The pass that brings `tg` into canonical form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rules/Canonical.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Dialect/TileGraph/IR/Canonicalize.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
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

LogicalResult dropTrueOrder(AssumeAtMostOp op, PatternRewriter &rewriter) {
  ArrayRef<AffineExpr> exprs = op.getMap().getResults();
  for (auto [low, high] : llvm::zip(exprs, exprs.drop_front()))
    if (!isNonNegative(simplify(high - low)))
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
    populateScatterPatterns(set);
    set.add(dropTrueCheck);
    set.add(dropTrueOrder);
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
    llvm::DenseSet<std::pair<Block *, AffineMap>> equal, ordered;
    getOperation()->walk([&](Operation *op) {
      if (auto check = dyn_cast<AssumeEqualOp>(op); check && !equal.insert({op->getBlock(), check.getMap()}).second)
        op->erase();
      else if (auto check = dyn_cast<AssumeAtMostOp>(op);
               check && !ordered.insert({op->getBlock(), check.getMap()}).second)
        op->erase();
    });
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace weft::tg
