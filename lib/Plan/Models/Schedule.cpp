// What all schedules share: estimates of the kernel, and the attribute.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Schedule.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

tg::ScheduleAttr ScheduleChoice::getAttr(MLIRContext *context) const {
  return tg::ScheduleAttr::get(context, tile, stream, engine, warps, stages, order, persistent, split, multicast,
                               turns);
}

ScheduleChoice readSchedule(tg::ScheduleAttr schedule) {
  ScheduleChoice choice;
  choice.tile.assign(schedule.getTile().begin(), schedule.getTile().end());
  choice.stream.assign(schedule.getStream().begin(), schedule.getStream().end());
  choice.engine = schedule.getEngine();
  choice.warps = schedule.getWarps();
  choice.stages = schedule.getStages();
  choice.order = schedule.getOrder().str();
  choice.persistent = schedule.getPersistent();
  choice.split = schedule.getSplit();
  choice.multicast = schedule.getMulticast();
  choice.turns = schedule.getTurns();
  return choice;
}

KernelToSchedule::KernelToSchedule(func::FuncOp kernel, bool entersFolds)
    : func(kernel), access(analyseAccess(kernel.getBody().front(), entersFolds)) {
  for (const KernelDim &dim : access.dims)
    extents.push_back(estimateExtent(dim.extent));
}

int64_t KernelToSchedule::getWidestBytes() const {
  int64_t widest = 1;
  auto see = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      widest = std::max(widest, tg::getElementBits(tensor.getElementType()) / 8);
  };
  func::FuncOp kernel = func;
  llvm::for_each(kernel.getArgumentTypes(), see);
  llvm::for_each(kernel.getResultTypes(), see);
  return widest;
}

int64_t fitPower(int64_t extent, int64_t budget, int64_t least) {
  int64_t whole = llvm::PowerOf2Ceil(std::max<int64_t>(extent, 1));
  int64_t largest = std::min<int64_t>(llvm::bit_floor(uint64_t(std::max<int64_t>(budget, 1))), whole);
  int64_t best = largest, bestCovered = llvm::alignTo(extent, largest);
  for (int64_t power = largest; power >= std::min(least, largest) && power >= 1; power /= 2) {
    int64_t covered = llvm::alignTo(extent, power);
    if (covered * 8 <= extent * 9)
      return power;
    if (covered < bestCovered) {
      best = power;
      bestCovered = covered;
    }
  }
  return best;
}

} // namespace weft::plan
