// Chains of contractions: the cascade without a reduction in the middle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/FoldChain.h"
#include "Cascade.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace weft::tg {

/// The product of the extents of those loops of `op` that `wanted` takes; 0 for symbols.
static int64_t extentOf(ContractOp op, llvm::function_ref<bool(unsigned)> wanted) {
  AffineExpr product = getAffineConstantExpr(1, op.getContext());
  for (auto [dim, extent] : llvm::enumerate(cast<TileOpInterface>(*op).getDomainExtents()))
    if (wanted(dim))
      product = product * extent;
  return getConstant(simplify(product)).value_or(0);
}

/// Of the sum of a chain: `side` is the operand that the first contraction makes.
static ChainShape describe(ContractOp first, ContractOp sum, unsigned side) {
  ChainShape shape;
  AffineMap made = sum.getMap(side), other = sum.getMap(1 - side), result = sum.getMap(2);
  auto extent = [&](bool inMade, bool inOther, bool inResult) {
    return extentOf(sum, [&](unsigned dim) {
      return made.isFunctionOfDim(dim) == inMade && other.isFunctionOfDim(dim) == inOther &&
             result.isFunctionOfDim(dim) == inResult;
    });
  };
  shape.batch = extent(true, true, true);
  shape.m = extent(true, false, true);
  shape.n = extent(false, true, true);
  shape.l = extent(true, true, false);
  shape.k = extentOf(first, [&](unsigned dim) { return !first.getMap(2).isFunctionOfDim(dim); });
  shape.elementBytes = std::max<int64_t>(getElementBits(GraphBuilder::elementOf(sum->getOperand(1 - side))) / 8, 1);
  return shape;
}

std::string Cascade::findChain() {
  auto contract = cast<ContractOp>(root);
  SmallVector<utils::IteratorType> iterators = cast<TileOpInterface>(*root).getDomainIterators();
  if (llvm::count(iterators, utils::IteratorType::reduction) != 1)
    return "the contraction reduces several dimensions";
  unsigned dim = llvm::find(iterators, utils::IteratorType::reduction) - iterators.begin();
  for (unsigned side : {0u, 1u}) {
    AffineMap map = contract.getMap(side);
    Value value = contract->getOperand(side);
    if (!map.isProjectedPermutation() || !isa<FloatType>(GraphBuilder::elementOf(value)))
      continue;
    std::optional<unsigned> position = map.getResultPosition(getAffineDimExpr(dim, contract.getContext()));
    if (!position)
      continue;
    StreamTree candidate(int64_t(*position) - GraphBuilder::rankOf(value), getDim(value.getType(), *position), guards);
    candidate.visit(value);
    if (!candidate.getDependencies(value).empty() || candidate.getContractions().size() != 1)
      continue;
    operand = side, axis = *position, streamed = value;
    tree.emplace(std::move(candidate));
    return "";
  }
  return "no operand is made by one contraction";
}

ChainShape Cascade::describeChain() const {
  return describe(tree->getContractions().front(), cast<ContractOp>(root), operand);
}

std::optional<ChainShape> describeChain(ContractOp root, std::string &reason) {
  Cascade cascade(root, Numerics::Reassociating, FoldGuards());
  reason = cascade.findChain();
  if (reason.empty())
    reason = cascade.findLoss();
  if (!reason.empty())
    return std::nullopt;
  return cascade.describeChain();
}

std::optional<ChainShape> describeChain(FoldOp fold) {
  ContractOp first, sum;
  for (Operation &op : fold.getUpdate().front())
    if (auto contract = dyn_cast<ContractOp>(op))
      (isStreamed(contract) ? sum : first) = contract;
  if (!first || !sum)
    return std::nullopt;
  Operation *right = sum.getRhs().getDefiningOp();
  return describe(first, sum, right && fold->isAncestor(right) ? 1 : 0);
}

FoldOp foldChain(ContractOp root, std::string &reason) {
  Cascade cascade(root, Numerics::Reassociating, FoldGuards());
  reason = cascade.findChain();
  if (reason.empty())
    reason = cascade.findLoss();
  if (reason.empty())
    reason = cascade.derive();
  if (reason.empty() && !cascade.fitsMatrix())
    reason = "the streamed operand may not fit f16, the type of what it is multiplied with";
  if (!reason.empty())
    return {};
  OpBuilder builder(root->getContext());
  FoldOp fold = cascade.build(builder, /*withResults=*/false);
  IRRewriter rewriter(builder);
  DominanceInfo dominance(fold);
  eliminateCommonSubExpressions(rewriter, dominance, fold);
  return fold;
}

} // namespace weft::tg
