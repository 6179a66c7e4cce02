// Slots in shared memory: how many of what a CTA reads once a tile, and how many bytes of a row.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_TILESLOTS_H
#define WEFT_TARGET_TILESLOTS_H

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdint>

namespace weft {

/// Where a CTA goes on with another tile: as many as steps have, so that the next tiles' operands are there early; one
/// where that is large, which the next tile's comes to when this one's products are over.
inline int64_t countTileSlots(int64_t stages, int64_t bytes) {
  constexpr int64_t large = 48 << 10;
  return bytes > large ? 1 : stages;
}

/// Bytes of so many neighbouring elements in a slot that TMA fills: panels of 128 bytes of which something is read, or
/// a power of two that is less.
inline int64_t countPanelBytes(int64_t elements, int64_t elementBytes) {
  constexpr int64_t panelBytes = 128;
  return std::min(int64_t(llvm::PowerOf2Ceil(uint64_t(elements))) * elementBytes,
                  int64_t(llvm::alignTo(uint64_t(elements * elementBytes), panelBytes)));
}

} // namespace weft

#endif // WEFT_TARGET_TILESLOTS_H
