// The pass that rewrites composites to primitives, and the check that none is left.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#define GEN_PASS_DEF_VERIFYNORMALIZED
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

bool isComposite(Operation *op) { return isa<GeluOp, SoftmaxOp, LayerNormOp, RmsNormOp, GroupNormOp, AttentionOp>(op); }

void populateDecompositionPatterns(RewritePatternSet &patterns) {
  populateNormDecompositions(patterns);
  populateAttentionDecompositions(patterns);
}

namespace {

struct DecomposeComposites : impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override {
    int64_t before = countComposites();
    RewritePatternSet patterns(&getContext());
    populateDecompositionPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
    numDecomposed += before - countComposites();
  }

  int64_t countComposites() {
    int64_t count = 0;
    getOperation()->walk([&](Operation *op) { count += isComposite(op); });
    return count;
  }
};

struct VerifyNormalized : impl::VerifyNormalizedBase<VerifyNormalized> {
  void runOnOperation() override {
    bool isValid = true;
    getOperation()->walk([&](Operation *op) {
      if (isComposite(op)) {
        op->emitOpError("expected primitives only after normalization, got a composite");
        isValid = false;
      } else if (!isa_and_nonnull<BuiltinDialect, func::FuncDialect, TileGraphDialect>(op->getDialect())) {
        op->emitOpError("expected ops of builtin, func and tg only after normalization");
        isValid = false;
      }
    });
    if (!isValid)
      signalPassFailure();
  }
};

} // namespace
} // namespace weft::tg
