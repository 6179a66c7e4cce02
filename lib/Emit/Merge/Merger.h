// The bodies of several lowered kernels in one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_MERGE_MERGER_H
#define WEFT_EMIT_MERGE_MERGER_H

#include "mlir/IR/OwningOpRef.h"
#include "weft/Emit/LaunchPart.h"

namespace weft::emit {

/// A kernel module whose CTAs are those of the parts, one part after the other. Its buffers are the inputs of all
/// parts in turn but the wired ones, then the results of all parts; scalars and tensor maps in turn. A part that
/// reads what another one writes (`wires`) comes behind it, and waits for its rows, or for all of it; two parts may
/// take turns (`turns`).
mlir::OwningOpRef<mlir::ModuleOp> mergeParts(llvm::ArrayRef<Part> parts, llvm::ArrayRef<Wire> wires,
                                             std::optional<Interleaving> turns);

} // namespace weft::emit

#endif // WEFT_EMIT_MERGE_MERGER_H
