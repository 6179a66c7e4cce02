// The schedules of a kernel that the models like best, for whoever can measure them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_RANKSCHEDULES_H
#define WEFT_PLAN_RANKSCHEDULES_H

#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Target/Device.h"

namespace weft::plan {

struct RankedSchedule {
  tg::ScheduleAttr schedule;
  double seconds = 0; ///< By the model; 0: it has no price.
};

/// At most `count` schedules of a kernel module that has one: that one, then others by the model's time. Products: of
/// all tiles that the planner looks at, one of each shape. All else: what a few steps lead to (a tile's or a step's
/// extent, warps or stages doubled or halved), as far as the model has a price for it. A model that errs ranks wrongly,
/// so they are spread: no more than three of one tile of the result. Whether a schedule can be compiled is not known.
llvm::SmallVector<RankedSchedule> rankSchedules(mlir::ModuleOp kernel, const Device &device, bool allowTf32,
                                                size_t count);

} // namespace weft::plan

#endif // WEFT_PLAN_RANKSCHEDULES_H
