// The attribute by which a kernel module says which elements its CTAs write and read, in the order of their numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_ROWBLOCKS_H
#define WEFT_TARGET_ROWBLOCKS_H

#include "llvm/ADT/StringRef.h"

namespace weft::gpu {

/// {ctas: i64, blocks: i64, writes: array<i64>, reads: [array<i64>]}: CTAs b * ctas to (b + 1) * ctas - 1 compute block
/// b of rows. Of result r they write elements b * writes[r] to (b + 1) * writes[r] - 1, row-major (the last block
/// fewer); 0: others. Of operand i they read elements reads[i][0] * b + reads[i][1] to reads[i][0] * b + reads[i][2],
/// as far as the tensor goes; empty: any. Absent: nothing is known of the CTAs.
inline constexpr llvm::StringLiteral rowBlocksAttr = "tk.tile_rows";

} // namespace weft::gpu

#endif // WEFT_TARGET_ROWBLOCKS_H
