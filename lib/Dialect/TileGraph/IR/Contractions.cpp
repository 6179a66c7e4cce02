// Kinds of contractions: window sums, matrices by vectors, inner ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

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

/// The dimensions of `whole` that `cut` has as two, of which `axis` is the second one.
static std::optional<std::pair<unsigned, unsigned>> findCut(ArrayRef<AffineExpr> whole, ArrayRef<AffineExpr> cut,
                                                            unsigned axis) {
  if (axis < 1 || whole.size() + 1 < cut.size())
    return std::nullopt;
  unsigned begin = axis - 1, behind = cut.size() - axis - 1, end = whole.size() - behind;
  std::optional<int64_t> parts = getConstant(cut[begin]), places = getConstant(cut[axis]);
  if (end <= begin || whole.take_front(begin) != cut.take_front(begin) ||
      whole.take_back(behind) != cut.take_back(behind) || !parts || !places || *places < 1)
    return std::nullopt;
  int64_t all = 1;
  for (AffineExpr extent : whole.slice(begin, end - begin))
    if (std::optional<int64_t> number = getConstant(extent); !number || llvm::MulOverflow(all, *number, all))
      return std::nullopt;
  if (all % *places != 0 || all / *places != *parts)
    return std::nullopt;
  return std::pair(begin, end);
}

std::optional<TileParts> findTileParts(ReduceOp reduce) {
  constexpr size_t mostOps = 16;
  if (reduce.getAxes().size() != 1)
    return std::nullopt;
  Dims dims = getDims(reduce.getInput().getType());
  unsigned axis = reduce.getAxes().front();
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work{reduce.getInput()};
  while (!work.empty() && seen.size() < mostOps) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || getDims(value.getType()) != dims || !seen.insert(op).second)
      continue;
    if (isa<PointwiseOpInterface>(op))
      llvm::append_range(work, op->getOperands());
    auto reshape = dyn_cast<ReshapeOp>(op);
    if (!reshape)
      continue;
    Dims whole = getDims(reshape.getInput().getType());
    if (auto found = findCut(whole, dims, axis))
      return TileParts{reduce, reshape.getInput(), found->first, found->second, *getConstant(dims[axis])};
  }
  return std::nullopt;
}

std::optional<ProductOf> findProductOf(Value value) {
  constexpr size_t mostOps = 24;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<std::pair<Value, SmallVector<int64_t>>> work{
      {value, llvm::to_vector(llvm::seq<int64_t>(0, int64_t(getDims(value.getType()).size())))}};
  while (!work.empty() && seen.size() < mostOps) {
    auto [next, order] = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto contract = dyn_cast<ContractOp>(op))
      return ProductOf{contract, order};
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      for (int64_t &d : order)
        d = transpose.getPermutation()[d];
      work.push_back({transpose.getInput(), order});
    } else if (isa<PointwiseOpInterface>(op)) {
      for (Value operand : op->getOperands())
        if (getDims(operand.getType()) == getDims(next.getType()))
          work.push_back({operand, order});
    }
  }
  return std::nullopt;
}

std::optional<PartsResult> findPartsResult(Value result) {
  PartsResult found;
  Dims dims = getDims(result.getType());
  found.permutation = llvm::to_vector(llvm::seq<int64_t>(0, int64_t(dims.size())));
  if (auto transpose = result.getDefiningOp<TransposeOp>()) {
    result = transpose.getInput();
    dims = getDims(result.getType());
    found.permutation.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
  }
  found.value = result;
  while (Operation *op = result.getDefiningOp()) {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      std::optional<TileParts> parts = findTileParts(reduce);
      if (!parts)
        return std::nullopt;
      found.parts = *parts;
      return found;
    }
    if (!isa<PointwiseOpInterface>(op))
      return std::nullopt;
    auto next = llvm::find_if(op->getOperands(), [&](Value v) { return getDims(v.getType()) == dims; });
    if (next == op->operand_end())
      return std::nullopt;
    result = *next;
  }
  return std::nullopt;
}

SmallVector<PartsResult> findPartsResults(ValueRange results) {
  SmallVector<PartsResult> found;
  for (Value result : results)
    if (std::optional<PartsResult> parts = findPartsResult(result))
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
      auto reduce = dyn_cast<ReduceOp>(user);
      bool inParts = reduce && findTileParts(reduce) && !isWindowSum(contract);
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
