// What LaunchLevels.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/LaunchLevels.h"
#include <algorithm>

using namespace mlir;

namespace weft::plan {

std::vector<SmallVector<tg::DispatchOp>> findLevels(func::FuncOp main) {
  llvm::DenseMap<Operation *, unsigned> levels;
  std::vector<SmallVector<tg::DispatchOp>> found;
  for (Operation &op : main.getBody().front()) {
    unsigned level = 0;
    for (Value operand : op.getOperands())
      if (Operation *before = operand.getDefiningOp())
        level = std::max(level, levels.lookup(before));
    auto dispatch = dyn_cast<tg::DispatchOp>(op);
    levels[&op] = level + bool(dispatch);
    if (!dispatch)
      continue;
    if (found.size() <= level)
      found.resize(level + 1);
    found[level].push_back(dispatch);
  }
  return found;
}

} // namespace weft::plan
