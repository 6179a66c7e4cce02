// Which kernels of a program do not need each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_LAUNCHLEVELS_H
#define WEFT_PLAN_LAUNCHLEVELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::plan {

/// The dispatches of `main` by their level, the longest chain of kernels in front of them: those of one level can start
/// together, unless a collective stands between them, whose position the plan has chosen. In the order of the program.
std::vector<llvm::SmallVector<tg::DispatchOp>> findLevels(mlir::func::FuncOp main);

} // namespace weft::plan

#endif // WEFT_PLAN_LAUNCHLEVELS_H
