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

bool isInner(ContractOp contract) {
  Block *block = contract->getBlock();
  SmallVector<Operation *> work{contract};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!work.empty()) {
    for (Operation *each : work.pop_back_val()->getUsers()) {
      Operation *user = block->findAncestorOpInBlock(*each);
      if (!user || !seen.insert(user).second)
        continue;
      if (isa<ContractOp, FoldOp, ReduceOp>(user))
        return true;
      work.push_back(user);
    }
  }
  return false;
}

ContractOp findAnchor(Block &block) {
  for (auto contract : block.getOps<ContractOp>())
    if (!isInner(contract))
      return contract;
  return {};
}

} // namespace weft::tg
