// weft-cpu-fuse: folds elementwise producers into their consumers where that repeats no expensive work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// Operands that one fused op may have: each is a pointer in a register of the loop.
constexpr int64_t maxOperands = 16;
/// Body ops beyond which an op is not repeated.
constexpr int64_t cheapOps = 6;
/// And of one that unpacks: what it reads is a part of what it would store.
constexpr int64_t unpackOps = 16;

/// Bytes of a static tensor; those of others are unknown.
std::optional<int64_t> bytesOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isIntOrFloat())
    return std::nullopt;
  return type.getNumElements() * int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8u));
}

/// Whether all inputs together have at most half of the result's bytes.
bool unpacks(linalg::GenericOp op) {
  std::optional<int64_t> written = bytesOf(op->getResult(0));
  int64_t read = 0;
  for (Value input : op.getDpsInputs()) {
    std::optional<int64_t> bytes = bytesOf(input);
    if (!bytes)
      return false;
    read += *bytes;
  }
  return written && op.getNumDpsInputs() > 0 && read <= *written / 2;
}

/// A body whose repetition costs less than storing and loading its result.
bool isCheap(linalg::GenericOp op) {
  int64_t count = 0;
  for (Operation &body : op.getBlock()->without_terminator()) {
    if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp, arith::RemSIOp, arith::RemUIOp>(body) ||
        isa<math::MathDialect>(body.getDialect()) || body.getNumRegions())
      return false;
    ++count;
  }
  return count <= (unpacks(op) ? unpackOps : cheapOps);
}

bool mayFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer.getNumOperands() + consumer.getNumOperands() > maxOperands)
    return false;
  bool repeats = !consumer.getMatchingIndexingMap(operand).isPermutation();
  return (producer->hasOneUse() && !repeats) || isCheap(producer);
}

class FuseElementwise : public weft::cpu::impl::FuseElementwiseBase<FuseElementwise> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateLinalgNamedOpsGeneralizationPatterns(patterns);
    weft::cpu::populatePadToGeneric(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    RewritePatternSet fusion(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(fusion, mayFuse);
    weft::cpu::populateInlineExtract(fusion);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(fusion);
    linalg::GenericOp::getCanonicalizationPatterns(fusion, &getContext());
    tensor::EmptyOp::getCanonicalizationPatterns(fusion, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(fusion))))
      signalPassFailure();
  }
};

} // namespace
