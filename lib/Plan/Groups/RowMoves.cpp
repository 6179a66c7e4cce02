// Which ops move values within rows, and what a value costs at one more position.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowMoves.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace weft::plan {

/// Whether `value` has all dimensions of the rows but the reduced ones, which may be of any extent.
static bool hasRowsPlaces(Value value, tg::ReduceOp reduce, const DimClasses &dims) {
  unsigned rank = tg::getDims(value.getType()).size(), wanted = tg::getDims(reduce.getInput().getType()).size();
  return rank == wanted && llvm::all_of(llvm::seq(rank), [&](unsigned d) {
           return llvm::is_contained(reduce.getAxes(), int64_t(d)) || dims.isSame(value, d, reduce.getInput(), d);
         });
}

Ops findRowMoves(const Group &group, tg::ReduceOp reduce, const Ops &behind, const DimClasses &dims) {
  Ops moves;
  for (Operation *op : group) {
    if (!behind.contains(op) || op->getNumResults() != 1 || !hasRowsPlaces(op->getResult(0), reduce, dims))
      continue;
    auto isOfRow = [&](Value value) {
      Operation *maker = value.getDefiningOp();
      return moves.contains(maker) || dims.isOfRows(value, reduce);
    };
    if (isa<tg::SliceOp>(op)) {
      // One element of a row would pass for a sum of it.
      if (isOfRow(op->getOperand(0)) && !dims.isOfRows(op->getResult(0), reduce))
        moves.insert(op);
    } else if (auto concat = dyn_cast<tg::ConcatOp>(op)) {
      if (llvm::is_contained(reduce.getAxes(), int64_t(concat.getAxis())) && llvm::all_of(op->getOperands(), isOfRow))
        moves.insert(op);
    } else if (isa<tg::PointwiseOpInterface>(op) && !dims.isOfRows(op->getResult(0), reduce)) {
      bool reads = llvm::all_of(op->getOperands(), [&](Value operand) {
        Operation *maker = operand.getDefiningOp();
        return !maker || !behind.contains(maker) || isOfRow(operand);
      });
      if (reads)
        moves.insert(op);
    }
  }
  return moves;
}

int64_t countRowInstructions(Value value, const Group &group, tg::ReduceOp reduce, const DimClasses &dims) {
  llvm::DenseMap<Operation *, bool> seen;
  SmallVector<Operation *> work;
  auto push = [&](Value operand) {
    Operation *maker = operand.getDefiningOp();
    bool isSum = maker && dims.isOfRows(operand, reduce) && !dims.areSame(operand, reduce.getInput());
    if (maker && group.contains(maker) && !isSum && seen.try_emplace(maker, true).second)
      work.push_back(maker);
  };
  push(value);
  int64_t count = 0;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    count += countInstructions(op);
    llvm::for_each(op->getOperands(), push);
  }
  return count;
}

} // namespace weft::plan
