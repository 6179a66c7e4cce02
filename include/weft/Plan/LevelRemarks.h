// The levels of a kernel's values as remarks, which explanations are made of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_LEVELREMARKS_H
#define WEFT_PLAN_LEVELREMARKS_H

#include "weft/Plan/MemoryLevels.h"

namespace weft::plan {

/// One remark `value` of category `levels` for each value between two ops of the kernel, at the op that makes it, with
/// `op`, `readers` (names of ops, separated by commas), `level`, `bytes` of a tile, `tensor-bytes` and `reason`.
/// `name`: the kernel's.
void emitLevelRemarks(llvm::StringRef name, const KernelLevels &levels);

} // namespace weft::plan

#endif // WEFT_PLAN_LEVELREMARKS_H
