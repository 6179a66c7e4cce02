// --weft-move-views: movements of elements go behind arithmetic that treats all elements alike, to where their readers
// take them as views.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A head's transposition between a projection and its scale would be the last op but one of the projection's kernel,
// which then stores in pieces. Behind the scale, it is a map of the contraction that reads it, and costs nothing.
#include "Rules/Canonical.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_MOVEVIEWS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// A transposed tensor that is a result is stored in any case: contractions that read the tensor behind it read the
/// result instead, so that the tensor itself need not be stored too.
void readResults(TransposeOp transpose) {
  auto isResult = [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); };
  Value input = transpose.getInput();
  Operation *source = input.getDefiningOp();
  if (!source || llvm::none_of(transpose->getUsers(), isResult))
    return;
  bool isOnly = llvm::all_of(input.getUsers(), [&](Operation *user) {
    return user == transpose || (isa<ContractOp>(user) && user->getBlock() == transpose->getBlock());
  });
  if (!isOnly)
    return;
  transpose->moveAfter(source);
  for (OpOperand &use : llvm::make_early_inc_range(input.getUses())) {
    auto contract = dyn_cast<ContractOp>(use.getOwner());
    if (!contract)
      continue;
    SmallVector<AffineMap> maps{contract.getMap(0), contract.getMap(1), contract.getMap(2)};
    AffineMap &map = maps[use.getOperandNumber()];
    SmallVector<AffineExpr> places;
    for (int64_t d : transpose.getPermutation())
      places.push_back(map.getResult(d));
    map = AffineMap::get(map.getNumDims(), map.getNumSymbols(), places, map.getContext());
    contract.setMapsAttr(Builder(contract.getContext()).getAffineMapArrayAttr(maps));
    use.set(transpose.getResult());
  }
}

constexpr StringRef families[] = {"movements", "slices"};

struct MoveViews : impl::MoveViewsBase<MoveViews> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateCanonicalRules(patterns, families);
    TransposeOp::getCanonicalizationPatterns(patterns, &getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    ContractOp::getCanonicalizationPatterns(patterns, &getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns)); // Valid where it does not converge.
    emitMissedRules(getOperation(), families);
    getOperation()->walk([](TransposeOp op) { readResults(op); });
  }
};

} // namespace
} // namespace weft::tg
