// Canonicalisation of contractions: views around them become part of their maps, so that they move no data. Exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only maps without division stay readable by every tiling (a tile of `h floordiv 4` is a box only if it is aligned),
// so views whose composition would need one (a reshape that splits a dimension) are left alone.
#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace weft::tg;

/// Whether every dimension of the domain is alone in a result of one of the maps (the rule of tg.contract).
static bool coversDomain(ArrayRef<AffineMap> maps) {
  llvm::SmallBitVector alone(maps.front().getNumDims());
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        alone.set(dim.getPosition());
  return alone.all();
}

static bool hasDivision(AffineMap map) {
  bool found = false;
  map.walkExprs([&](AffineExpr e) {
    found |= e.getKind() == AffineExprKind::FloorDiv || e.getKind() == AffineExprKind::CeilDiv ||
             e.getKind() == AffineExprKind::Mod;
  });
  return found;
}

/// Whether `map` keeps the domain's `extents`: each dimension that it has alone runs over all of `type`'s dimension. (A
/// slice from 0 with stride 1 does not: its dimension would be taken for the longer one.)
static bool keepsExtents(AffineMap map, ArrayRef<AffineExpr> extents, Type type) {
  return llvm::all_of(llvm::zip(map.getResults(), getDims(type)), [&](auto pair) {
    auto dim = dyn_cast<AffineDimExpr>(std::get<0>(pair));
    return !dim || isEqual(extents[dim.getPosition()], std::get<1>(pair));
  });
}

/// contract(view(x)) reads x where the view does.
static LogicalResult composeOperandView(ContractOp op, PatternRewriter &rewriter) {
  for (unsigned i = 0; i < 2; ++i) {
    Operation *view = op->getOperand(i).getDefiningOp();
    if (!isa_and_nonnull<TransposeOp, BroadcastOp, SliceOp, ReshapeOp>(view))
      continue;
    std::optional<AffineMap> viewMap = cast<TileOpInterface>(view).getOperandMap(0);
    if (!viewMap)
      continue;
    SmallVector<AffineMap> maps{op.getMap(0), op.getMap(1), op.getMap(2)};
    maps[i] = simplifyAffineMap(viewMap->compose(maps[i]));
    if (hasDivision(maps[i]) || !coversDomain(maps) ||
        !keepsExtents(maps[i], op.getDomainExtents(), view->getOperand(0).getType()))
      continue;
    rewriter.modifyOpInPlace(op, [&] {
      op->setOperand(i, view->getOperand(0));
      op.setMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
    return success();
  }
  return rewriter.notifyMatchFailure(op, "no operand is a view that composes");
}

/// transpose(contract) writes in the transposed order at once.
static LogicalResult composeResultTranspose(TransposeOp op, PatternRewriter &rewriter) {
  auto contract = op.getInput().getDefiningOp<ContractOp>();
  if (!contract || !contract->hasOneUse())
    return rewriter.notifyMatchFailure(op, "operand is not a contraction of one use");
  SmallVector<AffineExpr> exprs;
  for (int64_t d : op.getPermutation())
    exprs.push_back(contract.getMap(2).getResult(d));
  AffineMap map = AffineMap::get(contract.getMap(2).getNumDims(), 0, exprs, op.getContext());
  rewriter.replaceOpWithNewOp<ContractOp>(
      op, op.getType(), contract.getLhs(), contract.getRhs(),
      rewriter.getAffineMapArrayAttr({contract.getMap(0), contract.getMap(1), map}));
  return success();
}

void ContractOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(composeOperandView);
  patterns.add(composeResultTranspose);
}
