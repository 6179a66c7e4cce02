// What the plan says of a kernel on its module, for the rooms that follow it and for the explanation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_PLANATTRIBUTES_H
#define WEFT_TARGET_PLANATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace weft::plan {

/// Of a kernel module: its #tg.schedule.
inline constexpr llvm::StringLiteral scheduleAttr = "tg.schedule";

/// Of a kernel module whose schedule is that of a record (weft/Plan/Records.h): what was measured, a text. And, unit,
/// of one for which that was no schedule after all, while it is planned again.
inline constexpr llvm::StringLiteral recordAttr = "tg.record", skippedRecordAttr = "tg.skipped_record";

/// Of a tg.kernel and its dispatch: the name of its subgraph in records; and the types of what it reads and writes, an
/// array of texts.
inline constexpr llvm::StringLiteral subgraphAttr = "tg.subgraph", shapesAttr = "tg.shapes";

/// Of a kernel module that is tiled: its launch as the cost models take it (weft/Plan/KernelLaunch.h), as text; and
/// what they say it takes, seconds, f64.
inline constexpr llvm::StringLiteral launchAttr = "weft.launch", secondsAttr = "weft.seconds";

} // namespace weft::plan

#endif // WEFT_TARGET_PLANATTRIBUTES_H
