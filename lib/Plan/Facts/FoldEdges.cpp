// Edges between the ops of a fold's regions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/FoldEdges.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::plan {

tg::FoldOp getFoldOf(Operation *op) { return op->getParentOfType<tg::FoldOp>(); }

SmallVector<Operation *> readersInFold(Value value) {
  llvm::SmallSetVector<Operation *, 4> readers;
  llvm::SmallSetVector<Value, 4> names; // Of the value: itself, and the states that it becomes.
  names.insert(value);
  for (size_t i = 0; i < names.size(); ++i)
    for (OpOperand &use : names[i].getUses()) {
      Operation *user = use.getOwner();
      auto fold = isa<tg::FoldYieldOp>(user) ? cast<tg::FoldOp>(user->getParentOp()) : tg::FoldOp();
      if (!fold)
        readers.insert(user);
      else if (user->getParentRegion() == &fold.getUpdate())
        for (Region *region : {&fold.getUpdate(), &fold.getFinish()})
          names.insert(region->getArgument(use.getOperandNumber()));
    }
  return readers.takeVector();
}

void forEachFoldEdge(tg::FoldOp fold, llvm::function_ref<void(Value, Operation *)> found) {
  for (Region *region : {&fold.getUpdate(), &fold.getFinish()})
    for (Operation &maker : region->front())
      if (maker.getNumOperands() > 0)
        for (Value result : maker.getResults())
          for (Operation *reader : readersInFold(result))
            found(result, reader);
}

} // namespace weft::plan
