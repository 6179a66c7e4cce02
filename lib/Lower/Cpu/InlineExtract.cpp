// An elementwise producer that is read element by element (by a gather or a pad) is computed where it is read, so that
// it needs no memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

/// x[i] with x = generic(a, b, ...) becomes body(a[map_a(i)], b[map_b(i)], ...).
struct InlineExtract : OpRewritePattern<tensor::ExtractOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::ExtractOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getTensor().getDefiningOp<linalg::GenericOp>();
    if (!producer || !op->getParentOfType<linalg::GenericOp>() || producer.getNumDpsInits() != 1 ||
        !op.getTensor().hasOneUse() || producer.getNumParallelLoops() != producer.getNumLoops() ||
        producer.payloadUsesValueFromOperand(producer.getDpsInitOperand(0)))
      return failure();
    AffineMap write = producer.getIndexingMapsArray().back();
    if (!write.isPermutation() || !producer.getBlock()->getOps<tensor::ExtractOp>().empty())
      return failure();
    Location loc = op.getLoc();
    // Values of the producer's loops.
    SmallVector<OpFoldResult> loops(producer.getNumLoops());
    for (auto [index, expr] : llvm::zip(op.getIndices(), write.getResults()))
      loops[cast<AffineDimExpr>(expr).getPosition()] = index;
    IRMapping mapping;
    for (OpOperand *input : producer.getDpsInputOperands()) {
      Value element = input->get();
      if (isa<RankedTensorType>(element.getType())) {
        SmallVector<Value> indices;
        AffineMap read = producer.getMatchingIndexingMap(input);
        for (AffineExpr expr : read.getResults())
          indices.push_back(
              affine::AffineApplyOp::create(rewriter, loc, AffineMap::get(read.getNumDims(), 0, expr),
                                            llvm::map_to_vector(loops, [](OpFoldResult v) { return cast<Value>(v); })));
        element = tensor::ExtractOp::create(rewriter, loc, element, indices);
      }
      mapping.map(producer.getMatchingBlockArgument(input), element);
    }
    for (Operation &body : producer.getBlock()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(body))
        mapping.map(index.getResult(), cast<Value>(loops[index.getDim()]));
      else
        rewriter.clone(body, mapping);
    }
    rewriter.replaceOp(op, mapping.lookupOrDefault(producer.getBlock()->getTerminator()->getOperand(0)));
    return success();
  }
};

} // namespace

void weft::cpu::populateInlineExtract(RewritePatternSet &patterns) {
  patterns.add<InlineExtract>(patterns.getContext());
}
