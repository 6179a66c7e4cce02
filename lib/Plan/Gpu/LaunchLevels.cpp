// What LaunchLevels.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/LaunchLevels.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "llvm/ADT/MapVector.h"
#include <algorithm>

using namespace mlir;

namespace weft::plan {

std::vector<SmallVector<tg::DispatchOp>> findLevels(func::FuncOp main) {
  llvm::DenseMap<Operation *, unsigned> levels;
  llvm::DenseMap<Operation *, unsigned> collectives = tg::countCollectives(main.getBody().front());
  std::vector<llvm::MapVector<unsigned, SmallVector<tg::DispatchOp>>> found;
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
    found[level][collectives.lookup(&op)].push_back(dispatch);
  }
  std::vector<SmallVector<tg::DispatchOp>> together;
  for (auto &level : found)
    for (auto &each : level)
      together.push_back(std::move(each.second));
  return together;
}

} // namespace weft::plan
