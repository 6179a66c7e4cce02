// weft-cpu-grid: the parallel loops of the tile become one loop over linear grid points [begin, end).
//
// Work outside the `scf.forall` is repeated by every worker, so it may only set things up; a kernel with other work
// there, or without a grid, is one grid point.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernel.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Lower/Cpu/Passes.h"

namespace weft::cpu {
#define GEN_PASS_DEF_GRIDLOOP
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

class GridLoop : public weft::cpu::impl::GridLoopBase<GridLoop> {
  void runOnOperation() override {
    func::FuncOp func = weft::cpu::getKernelFunc(getOperation());
    if (!func)
      return signalPassFailure();
    Type index = IndexType::get(&getContext());
    unsigned symbols = weft::cpu::getSymbols(func).size();
    scf::ForallOp forall = findGrid(func);
    SmallVector<AffineExpr> counts;
    AffineExpr grid = forall ? tripCounts(func, forall, counts) : nullptr;
    if (!grid)
      forall = nullptr;
    unsigned place = func.getNumArguments();
    if (failed(func.insertArguments({place, place}, {index, index}, {DictionaryAttr(), DictionaryAttr()},
                                    {func.getLoc(), func.getLoc()})))
      return signalPassFailure();
    Value begin = func.getArgument(place), end = func.getArgument(place + 1);
    if (forall)
      linearise(forall, begin, end);
    else
      grid = getAffineConstantExpr(1, &getContext());
    if (failed(lowerOtherForalls(func)))
      return signalPassFailure();
    getOperation()->setAttr(weft::cpu::gridAttr, AffineMapAttr::get(AffineMap::get(0, symbols, grid)));
  }

  /// The only loop of the grid, if everything else in the function has no effect that another worker could see.
  static scf::ForallOp findGrid(func::FuncOp func) {
    scf::ForallOp found;
    for (Operation &op : func.front().without_terminator()) {
      if (auto forall = dyn_cast<scf::ForallOp>(op)) {
        if (found || forall->getNumResults())
          return nullptr;
        found = forall;
      } else if (!isPure(&op) && !isa<memref::AllocaOp, memref::AllocOp>(op)) {
        return nullptr;
      }
    }
    return found;
  }

  /// Fills `counts` with the trip count of each loop and returns their product; null if one is not an expression of the
  /// symbols.
  static AffineExpr tripCounts(func::FuncOp func, scf::ForallOp forall, SmallVectorImpl<AffineExpr> &counts) {
    AffineExpr product = getAffineConstantExpr(1, func.getContext());
    for (auto [low, high, step] :
         llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(), forall.getMixedStep())) {
      AffineExpr l = weft::cpu::asSymbolExpr(func, low), h = weft::cpu::asSymbolExpr(func, high),
                 s = weft::cpu::asSymbolExpr(func, step);
      if (!l || !h || !s)
        return nullptr;
      counts.push_back((h - l).ceilDiv(s));
      product = product * counts.back();
    }
    return product;
  }

  static void linearise(scf::ForallOp forall, Value begin, Value end) {
    IRRewriter rewriter(forall);
    Location loc = forall.getLoc();
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    SmallVector<OpFoldResult> counts;
    SmallVector<Value> lows, steps;
    for (auto [low, high, step] :
         llvm::zip(forall.getMixedLowerBound(), forall.getMixedUpperBound(), forall.getMixedStep())) {
      AffineExpr l, h, s;
      bindSymbols(rewriter.getContext(), l, h, s);
      counts.push_back(affine::makeComposedFoldedAffineApply(rewriter, loc, (h - l).ceilDiv(s), {low, high, step}));
      lows.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, low));
      steps.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, step));
    }
    auto loop = scf::ForOp::create(rewriter, loc, begin, end, one);
    rewriter.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getInductionVar();
    SmallVector<Value> indices(counts.size());
    for (int64_t i = counts.size() - 1; i >= 0; --i) {
      Value count = getValueOrCreateConstantIndexOp(rewriter, loc, counts[i]);
      Value index = i == 0 ? rest : arith::RemUIOp::create(rewriter, loc, rest, count).getResult();
      if (i > 0)
        rest = arith::DivUIOp::create(rewriter, loc, rest, count);
      indices[i] = arith::AddIOp::create(rewriter, loc, lows[i], arith::MulIOp::create(rewriter, loc, index, steps[i]));
    }
    Block *body = forall.getBody();
    rewriter.eraseOp(body->getTerminator());
    rewriter.inlineBlockBefore(body, loop.getBody()->getTerminator(), indices);
    rewriter.eraseOp(forall);
  }

  LogicalResult lowerOtherForalls(func::FuncOp func) {
    SmallVector<scf::ForallOp> others;
    func.walk([&](scf::ForallOp op) { others.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (scf::ForallOp op : others) {
      rewriter.setInsertionPoint(op);
      if (failed(scf::forallToForLoop(rewriter, op)))
        return failure();
    }
    return success();
  }
};

} // namespace
