// What KernelTime.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/KernelTime.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/ReadTime.h"

using namespace mlir;

namespace weft::plan {

std::optional<double> estimateKernel(const KernelToSchedule &kernel, tg::ScheduleAttr schedule, const Device &device) {
  if (auto fold = kernel.find<tg::FoldOp>())
    return estimateFoldKernel(kernel, fold, schedule, device);
  func::FuncOp func = kernel.func;
  if (tg::ContractOp contract = tg::findAnchor(func.getBody().front()))
    return estimateContraction(kernel, contract, schedule, device);
  return estimateMemoryBound(kernel, schedule, device).seconds;
}

} // namespace weft::plan
