// The launches that a program says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_LAUNCHES_READLAUNCHES_H
#define WEFT_LIB_SCHEDULE_LAUNCHES_READLAUNCHES_H

#include "mlir/IR/SymbolTable.h"
#include "weft/Schedule/LaunchPart.h"

namespace weft::schedule {

/// Launches of several dispatches in the order of their numbers (weft/Target/Launches.h). Fails, with an error at a
/// dispatch, for what cannot start together.
mlir::FailureOr<llvm::SmallVector<Launch>> readLaunches(mlir::func::FuncOp main, mlir::SymbolTable &symbols);

/// How the CTAs of a launch's two parts take turns; none: one part after the other. Fails as above.
mlir::FailureOr<std::optional<Interleaving>> readOrder(Launch &launch, llvm::ArrayRef<Wire> wires);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_LAUNCHES_READLAUNCHES_H
