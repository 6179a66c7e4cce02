// Slots in shared memory of what a CTA reads once a tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_TILESLOTS_H
#define WEFT_TARGET_TILESLOTS_H

#include <cstdint>

namespace weft {

/// Where a CTA goes on with another tile: as many as steps have, so that the next tiles' operands are there early; one
/// where that is large, which the next tile's comes to when this one's products are over.
inline int64_t countTileSlots(int64_t stages, int64_t bytes) {
  constexpr int64_t large = 48 << 10;
  return bytes > large ? 1 : stages;
}

} // namespace weft

#endif // WEFT_TARGET_TILESLOTS_H
