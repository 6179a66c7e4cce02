// What --weft-tk-split-steps leaves for the lowering.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_SPLITSTEPS_H
#define WEFT_TARGET_SPLITSTEPS_H

#include "llvm/ADT/StringRef.h"

namespace weft::gpu {

/// i64, of a tk.cluster_send for a target without clusters: the tiles of the launch, `tk.cluster` CTAs each.
inline constexpr llvm::StringLiteral tilesAttr = "tk.tiles";

/// Bytes of the parts of all tiles of a launch at most, f32, where CTAs send them through memory.
inline constexpr int64_t mostBytesOfParts = 16 << 20;

} // namespace weft::gpu

#endif // WEFT_TARGET_SPLITSTEPS_H
