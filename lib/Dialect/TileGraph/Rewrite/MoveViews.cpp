// --weft-move-views: movements of elements go behind arithmetic that treats all elements alike, to where their readers
// take them as views.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A head's transposition between a projection and its scale would be the last op but one of the projection's kernel,
// which then stores in pieces. Behind the scale, it is a map of the contraction that reads it, and costs nothing.
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_MOVEVIEWS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

bool isMovement(Operation *op) { return isa_and_nonnull<TransposeOp, ReshapeOp>(op); }

/// f(move(x), c) = move(f(x, c)) for a scalar c. Not where f widens elements: the moved tensor would be larger.
struct MovePointwise : OpInterfaceRewritePattern<PointwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(PointwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1)
      return failure();
    OpOperand *moved = nullptr;
    for (OpOperand &operand : op->getOpOperands()) {
      if (getDims(operand.get().getType()).empty())
        continue;
      if (moved)
        return failure();
      moved = &operand;
    }
    Operation *movement = moved ? moved->get().getDefiningOp() : nullptr;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    if (!isMovement(movement) || !movement->hasOneUse() || getDims(type) != getDims(moved->get().getType()) ||
        getElementBits(type.getElementType()) >
            getElementBits(cast<RankedTensorType>(moved->get().getType()).getElementType()))
      return failure();
    Value input = movement->getOperand(0);
    SmallVector<Value> operands(op->getOperands());
    operands[moved->getOperandNumber()] = input;
    OperationState state(op->getLoc(), op->getName(), operands,
                         getTensorType(getDims(input.getType()), type.getElementType()), op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *inner = rewriter.create(state);
    if (auto transpose = dyn_cast<TransposeOp>(movement))
      rewriter.replaceOpWithNewOp<TransposeOp>(op, type, inner->getResult(0), transpose.getPermutation());
    else
      rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, inner->getResult(0));
    return success();
  }
};

/// For each dimension of `to` the neighbouring ones of `from` that it holds; none if one of `from` is divided.
std::optional<SmallVector<SmallVector<int64_t>>> findMergedDims(ArrayRef<AffineExpr> from, ArrayRef<AffineExpr> to) {
  SmallVector<SmallVector<int64_t>> groups;
  size_t next = 0;
  for (AffineExpr extent : to) {
    AffineExpr product = getAffineConstantExpr(1, extent.getContext());
    SmallVector<int64_t> &group = groups.emplace_back();
    while (!isEqual(product, extent) && next < from.size()) {
      product = simplify(product * from[next]);
      group.push_back(next++);
    }
    if (!isEqual(product, extent))
      return std::nullopt;
  }
  for (; next < from.size(); ++next) { // Extents of 1 are left.
    if (getConstant(from[next]) != 1 || groups.empty())
      return std::nullopt;
    groups.back().push_back(next);
  }
  return groups;
}

/// A transposition of merged dimensions moves them all: transpose(merge(x)) = merge(transpose(x)). Where x is
/// transposed itself, that makes one of two.
LogicalResult transposeFirst(TransposeOp op, PatternRewriter &rewriter) {
  auto reshape = op.getInput().getDefiningOp<ReshapeOp>();
  if (!reshape || !reshape->hasOneUse() || !reshape.getInput().getDefiningOp<TransposeOp>())
    return failure();
  Dims from = getDims(reshape.getInput().getType()), to = getDims(reshape.getType());
  auto groups = findMergedDims(from, to);
  if (!groups || from.size() <= to.size())
    return failure();
  SmallVector<int64_t> permutation;
  Dims dims;
  for (int64_t d : op.getPermutation())
    for (int64_t member : (*groups)[d]) {
      permutation.push_back(member);
      dims.push_back(from[member]);
    }
  auto type = getTensorType(dims, op.getType().getElementType());
  Value inner = TransposeOp::create(rewriter, op.getLoc(), type, reshape.getInput(), permutation);
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner);
  return success();
}

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

struct MoveViews : impl::MoveViewsBase<MoveViews> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MovePointwise>(&getContext());
    patterns.add(transposeFirst);
    TransposeOp::getCanonicalizationPatterns(patterns, &getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    ContractOp::getCanonicalizationPatterns(patterns, &getContext());
    (void)applyPatternsGreedily(getOperation(), std::move(patterns)); // Valid where it does not converge.
    getOperation()->walk([](TransposeOp op) { readResults(op); });
  }
};

} // namespace
} // namespace weft::tg
