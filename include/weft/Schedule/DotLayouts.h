// The layouts that a tk.dot wants: what its instruction holds in registers and reads from shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_DOTLAYOUTS_H
#define WEFT_SCHEDULE_DOTLAYOUTS_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include <optional>

namespace weft::schedule {

/// Layouts of one dot over the warps that execute it. `acc` is a register layout of [m, n]. `lhs` and `rhs` are the
/// register layouts of operands that come in registers (tiles), or the memory layouts of those that the instruction
/// reads from shared memory itself; null for an operand in shared memory whose layout the allocation has fixed.
struct DotLayouts {
  tk::LayoutAttr acc, lhs, rhs;
};

/// The layouts for `dot` on `warps` warps of `target` ("sm_80", "sm_90a"); nothing when no instruction and no FMA
/// tiling fits the extents, with a diagnostic at the dot.
std::optional<DotLayouts> getDotLayouts(tk::DotOp dot, int64_t warps, llvm::StringRef target);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_DOTLAYOUTS_H
