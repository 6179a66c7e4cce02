// The choice between the kinds of schedules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/ChooseSchedule.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/KernelLaunch.h"

using namespace mlir;

namespace weft::plan {

/// Reductions, order statistics and scans: they want the rows of their axes.
static bool reducesRows(Operation &op) { return isa<tg::ReduceOp, tg::ArgReduceOp, tg::TopKOp, tg::ScanOp>(op); }

static ScheduleChoice chooseTiles(const KernelToSchedule &kernel, const Device &device) {
  if (auto fold = kernel.find<tg::FoldOp>())
    return chooseFold(kernel, fold, device);
  func::FuncOp func = kernel.func;
  if (tg::ContractOp contract = tg::findAnchor(func.getBody().front()))
    return chooseContraction(kernel, contract, device);
  if (llvm::any_of(func.getBody().front(), reducesRows))
    return chooseReduction(kernel, device);
  return chooseElementwise(kernel, device);
}

ScheduleChoice chooseSchedule(const KernelToSchedule &kernel, const Device &device) {
  ScheduleChoice choice = chooseTiles(kernel, device);
  if (!choice.isOrdered && choice.multicast == 1)
    chooseOrderOfLaunch(kernel, device, choice);
  return choice;
}

} // namespace weft::plan
