// Which dispatches of a program start as one kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_LAUNCHES_LAUNCHES_H
#define WEFT_LIB_PLAN_LAUNCHES_LAUNCHES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Schedule/LaunchPart.h"

namespace weft::plan {

/// Which dependent kernels may share a launch.
enum class Chains { None, Model, All };

struct PlannedLaunch : schedule::Launch {
  const Device *device = nullptr;
};

/// Dispatches of one level (the longest chain of dispatches in front of them) share a launch where nothing speaks
/// against it; then, as `chains` says, launches go behind the ones whose results they read. Every dispatch is in one
/// launch. Remarks say what did not come together, and why.
llvm::SmallVector<PlannedLaunch> chooseLaunches(mlir::func::FuncOp main, mlir::SymbolTable &symbols,
                                                llvm::StringRef deviceName, Chains chains);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAUNCHES_LAUNCHES_H
