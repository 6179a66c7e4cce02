// What the plan says of a kernel on its module, for the rooms that follow it and for the explanation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_PLANATTRIBUTES_H
#define WEFT_TARGET_PLANATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace weft::plan {

/// Of a kernel module: its #tg.schedule.
inline constexpr llvm::StringLiteral scheduleAttr = "tg.schedule";

/// Of a tg.kernel and its dispatch: the name of its subgraph in profiles; and the types of what it reads and writes, an
/// array of texts.
inline constexpr llvm::StringLiteral subgraphAttr = "tg.subgraph", shapesAttr = "tg.shapes";

/// Of a kernel module that is tiled: its launch as the cost models take it (weft/Plan/KernelLaunch.h), as text; and
/// what they say it takes, seconds, f64.
inline constexpr llvm::StringLiteral launchAttr = "weft.launch", secondsAttr = "weft.seconds";

} // namespace weft::plan

#endif // WEFT_TARGET_PLANATTRIBUTES_H
