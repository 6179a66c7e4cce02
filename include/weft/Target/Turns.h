// How --weft-plan-gpu tells --weft-tk-roles that warpgroups take turns at the matrix unit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_TURNS_H
#define WEFT_TARGET_TURNS_H

#include "llvm/ADT/StringRef.h"

namespace weft::gpu {

/// Of a kernel module, unit: in loops whose dots overlap the maps between them, the warpgroups' dots follow each other,
/// so that one's maps run beside another's dots (tk.take_turn).
inline constexpr llvm::StringLiteral turnsAttr = "tk.turns";

} // namespace weft::gpu

#endif // WEFT_TARGET_TURNS_H
