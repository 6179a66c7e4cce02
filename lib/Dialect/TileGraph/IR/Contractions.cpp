// Kinds of contractions: window sums, matrices by vectors, inner ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace weft::tg {

std::optional<int64_t> countTerms(ContractOp contract) {
  int64_t terms = 1;
  for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents())) {
    if (contract.getMap(2).isFunctionOfDim(d))
      continue;
    std::optional<int64_t> number = getConstant(extent);
    if (!number || *number < 1 || *number > mostTerms || (terms *= *number) > mostTerms)
      return std::nullopt;
  }
  return terms;
}

bool hasNoTiles(ContractOp contract) {
  bool hasOwn[2] = {false, false};
  for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents())) {
    if (!contract.getMap(2).isFunctionOfDim(d) || getConstant(extent) == 1)
      continue;
    bool left = contract.getMap(0).isFunctionOfDim(d), right = contract.getMap(1).isFunctionOfDim(d);
    hasOwn[0] |= left && !right;
    hasOwn[1] |= right && !left;
  }
  return !hasOwn[0] || !hasOwn[1];
}

bool isWindowSum(ContractOp contract) { return hasNoTiles(contract) && countTerms(contract); }

std::optional<RowParts> findRowParts(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (transpose)
    value = transpose.getInput();
  auto reduce = value.getDefiningOp<ReduceOp>();
  auto reshape = reduce ? reduce.getInput().getDefiningOp<ReshapeOp>() : ReshapeOp();
  if (!reshape || reduce.getKeepDims())
    return std::nullopt;
  Dims whole = getDims(reshape.getInput().getType()), parts = getDims(reshape.getType());
  if (whole.empty() || parts.size() != whole.size() + 1 || reduce.getAxes() != ArrayRef<int64_t>(int64_t(whole.size())))
    return std::nullopt;
  std::optional<int64_t> extent = getConstant(whole.back()), places = getConstant(parts.back());
  bool isLastCut = extent && places && *places > 0 && *extent % *places == 0 &&
                   ArrayRef(whole).drop_back() == ArrayRef(parts).drop_back(2);
  if (!isLastCut)
    return std::nullopt;
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(whole.size())));
  if (transpose)
    permutation.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
  return RowParts{reduce, reshape.getInput(), *places, permutation};
}

SmallVector<RowParts> findRowParts(ValueRange results) {
  SmallVector<RowParts> found;
  for (Value result : results)
    if (std::optional<RowParts> parts = findRowParts(result))
      found.push_back(*parts);
  return found;
}

bool isInner(ContractOp contract) {
  Block *block = contract->getBlock();
  SmallVector<Operation *> work{contract};
  llvm::SmallPtrSet<Operation *, 16> seen;
  bool leaves = false, isSummedInParts = false;
  while (!work.empty()) {
    for (Operation *each : work.pop_back_val()->getUsers()) {
      Operation *user = block->findAncestorOpInBlock(*each);
      leaves |= user && user->hasTrait<OpTrait::IsTerminator>();
      if (!user || !seen.insert(user).second)
        continue;
      bool inParts = isa<ReduceOp>(user) && findRowParts(user->getResult(0)) && !hasNoTiles(contract);
      isSummedInParts |= inParts;
      if (isa<ContractOp, FoldOp, ReduceOp>(user) && !inParts)
        return true;
      if (!inParts)
        work.push_back(user);
    }
  }
  return isSummedInParts && !leaves;
}

ContractOp findAnchor(Block &block) {
  for (auto contract : block.getOps<ContractOp>())
    if (!isInner(contract))
      return contract;
  return {};
}

} // namespace weft::tg
