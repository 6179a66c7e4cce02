// A kernel to schedule, and a choice of its #tg.schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_SCHEDULE_H
#define WEFT_PLAN_SCHEDULE_H

#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Target/Device.h"
#include <string>

namespace weft::plan {

struct ScheduleChoice {
  llvm::SmallVector<int64_t> tile;   ///< By dimension of the first result.
  llvm::SmallVector<int64_t> stream; ///< By reduced dimension that the result lacks.
  tg::Engine engine = tg::Engine::Simt;
  int64_t warps = 4, stages = 1;
  std::string order = "row";
  bool persistent = false;
  int64_t split = 1;
  int64_t ctasPerSm = 1;  ///< That run at once; an estimate.
  double stepSeconds = 0; ///< Of a CTA among those that run at once, where a model says so; 0: by the peak rate.
  bool isOrdered = false; ///< The choice of tiles has chosen their order too.
  int64_t multicast = 1;  ///< CTAs of a cluster with tiles side by side.
  bool turns = false;     ///< Warpgroups take turns at the matrix unit.
  std::string reason;     ///< The numbers that decided, for the remark.

  tg::ScheduleAttr getAttr(mlir::MLIRContext *context) const;
};

/// The choice that an attribute stands for.
ScheduleChoice readSchedule(tg::ScheduleAttr schedule);

/// A kernel to schedule: its function, and what it accesses.
struct KernelToSchedule {
  mlir::func::FuncOp func;
  KernelAccess access;
  llvm::SmallVector<int64_t> extents; ///< Estimates, by dimension of the iteration space.
  bool allowTf32 = false;             ///< Products of f32 may round their operands to tf32.

  explicit KernelToSchedule(mlir::func::FuncOp kernel, bool entersFolds = false);
  /// Bytes of the widest (narrowest) element among arguments and results; at least 1.
  int64_t getWidestBytes() const;
  /// The first op of a type in the kernel, or null.
  template <typename OpT> OpT find() const {
    for (mlir::Operation &op : mlir::func::FuncOp(func).getBody().front())
      if (auto found = llvm::dyn_cast<OpT>(op))
        return found;
    return OpT();
  }
};

/// The power of two up to `budget` (one itself) to tile `extent` with: the largest whose tiles cover at most an eighth
/// more than the extent, else the one with the least excess; never below `least` unless the budget or the extent is.
int64_t fitPower(int64_t extent, int64_t budget, int64_t least);

} // namespace weft::plan

#endif // WEFT_PLAN_SCHEDULE_H
