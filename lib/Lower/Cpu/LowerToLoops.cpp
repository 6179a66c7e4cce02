// weft-cpu-loops: linalg ops on memory become loops whose innermost dimension LLVM can vectorise.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_LOWERTOLOOPS
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

/// Extents below this do not fill a vector.
constexpr int64_t shortLoop = 8;

/// How well loop `d` serves as the innermost: +2 for each operand it walks with stride one, -2 for each it strides
/// through, 0 for operands without it; a short loop loses against all others.
int64_t score(linalg::GenericOp op, unsigned d) {
  int64_t total = 0;
  for (AffineMap map : op.getIndexingMapsArray()) {
    for (auto [i, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(d))
        continue;
      bool last = i + 1 == map.getNumResults();
      total += last ? (isa<AffineDimExpr>(expr) || isa<AffineBinaryOpExpr>(expr) ? 2 : 0) : -2;
    }
  }
  int64_t extent = op.getStaticLoopRanges()[d];
  return !ShapedType::isDynamic(extent) && extent < shortLoop ? total - 100 + extent : total;
}

/// The loop that should be innermost; the present one unless another is better.
unsigned bestInnermost(linalg::GenericOp op) {
  unsigned best = op.getNumLoops() - 1;
  int64_t bestScore = score(op, best);
  for (int64_t d = op.getNumLoops() - 2; d >= 0; --d)
    if (int64_t s = score(op, d); s > bestScore) {
      best = d;
      bestScore = s;
    }
  return best;
}

/// Allows the vectoriser to split the sum of a reduction: the licence of `tg.reduce` and `tg.contract`.
void allowReassociation(linalg::GenericOp op) {
  for (BlockArgument accumulator : op.getRegionOutputArgs())
    for (Operation *user : accumulator.getUsers())
      if (auto fp = dyn_cast<arith::ArithFastMathInterface>(user))
        user->setAttr(fp.getFastMathAttrName(),
                      arith::FastMathFlagsAttr::get(op.getContext(), arith::FastMathFlags::reassoc));
}

class LowerToLoops : public weft::cpu::impl::LowerToLoopsBase<LowerToLoops> {
public:
  using LowerToLoopsBase::LowerToLoopsBase;

private:
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      if (failed(lower(rewriter, op)))
        return signalPassFailure();
    weft::cpu::guardPaddedLoads(getOperation());
    if (fastMath)
      getOperation().walk([&](arith::ArithFastMathInterface op) {
        op->setAttr(op.getFastMathAttrName(), arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::fast));
      });
  }

  LogicalResult lower(IRRewriter &rewriter, linalg::LinalgOp op) {
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (generic && generic.getNumLoops() > 1) {
      unsigned inner = bestInnermost(generic);
      SmallVector<unsigned> order;
      for (unsigned d = 0; d < generic.getNumLoops(); ++d)
        if (d != inner)
          order.push_back(d);
      order.push_back(inner);
      FailureOr<linalg::GenericOp> interchanged = linalg::interchangeGenericOp(rewriter, generic, order);
      if (succeeded(interchanged))
        generic = *interchanged;
      op = generic;
    }
    if (generic && generic.getNumReductionLoops() &&
        generic.getIteratorTypesArray().back() == utils::IteratorType::reduction)
      allowReassociation(generic);
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToLoops(rewriter, op)))
      return op.emitError("cannot be lowered to loops");
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace
