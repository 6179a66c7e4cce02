// Which dispatches of a program start as one kernel, and in which order their CTAs begin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_LAUNCHES_H
#define WEFT_TARGET_LAUNCHES_H

#include "llvm/ADT/StringRef.h"

namespace weft::gpu {

/// Of a `tg.dispatch`, array<i64: launch, position>: dispatches of one launch start as one kernel, whose CTAs are
/// theirs by position. Absent: a launch of its own.
inline constexpr llvm::StringLiteral sharedLaunchAttr = "tg.launch";
/// Of the dispatch at position 0 of two, string: their CTAs take turns, `chain<g>` (weft/Target/ChainOrder.h).
inline constexpr llvm::StringLiteral sharedLaunchOrderAttr = "tg.launch_order";

} // namespace weft::gpu

#endif // WEFT_TARGET_LAUNCHES_H
