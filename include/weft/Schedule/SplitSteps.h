// What --weft-tk-split-steps leaves for the lowering.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_SPLITSTEPS_H
#define WEFT_SCHEDULE_SPLITSTEPS_H

#include "llvm/ADT/StringRef.h"

namespace weft::schedule {

/// i64, of a tk.cluster_send for a target without clusters: the tiles of the launch, `tk.cluster` CTAs each.
inline constexpr llvm::StringLiteral tilesAttr = "tk.tiles";

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_SPLITSTEPS_H
