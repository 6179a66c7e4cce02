// weft-cpu-bufferize: one-shot bufferisation of the kernel function; copies that remain become linalg ops, to be
// lowered like others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_BUFFERIZE
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// A copy as a generic, so that loop order and vectorisation are decided in one place.
struct CopyToGeneric : OpRewritePattern<memref::CopyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(memref::CopyOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<MemRefType>(op.getTarget().getType());
    if (!type || !isa<MemRefType>(op.getSource().getType()))
      return failure();
    if (op.getSource() == op.getTarget()) {
      rewriter.eraseOp(op);
      return success();
    }
    AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> parallel(type.getRank(), utils::IteratorType::parallel);
    linalg::GenericOp::create(
        rewriter, op.getLoc(), op.getSource(), op.getTarget(), ArrayRef<AffineMap>{identity, identity}, parallel,
        [](OpBuilder &b, Location loc, ValueRange args) { linalg::YieldOp::create(b, loc, args[0]); });
    rewriter.eraseOp(op);
    return success();
  }
};

class Bufferize : public weft::cpu::impl::BufferizeBase<Bufferize> {
  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options;
    options.bufferAlignment = 64;
    options.unknownTypeConverterFn = [](TensorType type, Attribute space, const bufferization::BufferizationOptions &) {
      return bufferization::getMemRefTypeWithStaticIdentityLayout(type, space);
    };
    bufferization::BufferizationState state;
    IRRewriter rewriter(&getContext());
    if (failed(bufferization::eliminateEmptyTensors(rewriter, getOperation())) ||
        failed(bufferization::runOneShotBufferize(getOperation(), options, state)))
      return signalPassFailure();
    // Equal subviews must be one value for copies of a tile onto itself to show.
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<CopyToGeneric>(&getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    memref::CopyOp::getCanonicalizationPatterns(patterns, &getContext());
    memref::SubViewOp::getCanonicalizationPatterns(patterns, &getContext());
    memref::CastOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
