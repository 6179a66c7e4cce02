// Which dispatches of a program start as one kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_MERGE_LAUNCHES_H
#define WEFT_EMIT_MERGE_LAUNCHES_H

#include "Part.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::emit {

/// Which dependent kernels may share a launch.
enum class Chains { None, Model, All };

/// Dispatches that start as one kernel, writers before readers; `parts` is empty for a kernel that cannot be a part.
struct Launch {
  llvm::SmallVector<tg::DispatchOp> dispatches;
  llvm::SmallVector<Part> parts;
  const Device *device = nullptr;
};

/// Operands of the launch's dispatches that its other dispatches write.
llvm::SmallVector<Wire> findWires(const Launch &launch);

/// Dispatches of one level (the longest chain of dispatches in front of them) share a launch where nothing speaks
/// against it; then, as `chains` says, launches go behind the ones whose results they read. Every dispatch is in one
/// launch. Remarks say what did not come together, and why.
llvm::SmallVector<Launch> chooseLaunches(mlir::func::FuncOp main, mlir::SymbolTable &symbols,
                                         llvm::StringRef deviceName, Chains chains);

} // namespace weft::emit

#endif // WEFT_EMIT_MERGE_LAUNCHES_H
