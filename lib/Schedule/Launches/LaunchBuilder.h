// One kernel module from several.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_LAUNCHES_LAUNCHBUILDER_H
#define WEFT_LIB_SCHEDULE_LAUNCHES_LAUNCHBUILDER_H

#include "weft/Schedule/LaunchPart.h"

namespace weft::schedule {

/// A kernel module with a `tk.launch` of these parts as its body, without a name. Its buffers are the inputs of all
/// parts in turn but the wired ones, then the results of all parts; then come the symbols of all. A part that reads
/// what another one writes (`wires`) comes behind it, and waits for its rows, or for all of it; two parts may take
/// turns (`turns`).
mlir::OwningOpRef<mlir::ModuleOp> buildLaunch(llvm::ArrayRef<Part> parts, llvm::ArrayRef<Wire> wires,
                                              std::optional<Interleaving> turns, const Device &device);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_LAUNCHES_LAUNCHBUILDER_H
