// Steps of a tile's product that begin ahead of the end of the step before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_READAHEAD_H
#define WEFT_TARGET_READAHEAD_H

#include <cstdint>

namespace weft::gpu {

/// Whether warps read the first fragments of a step by mma.sync ahead of the last products of the step before.
/// `products`: instructions of a warp for each piece of the depth: of few, reads take as long as products do. `warps`:
/// one alone waits for no others. `stages`: of two slots one is read, and the other's copies have no time to spare
/// (docs/notes/mma-sync-loops.md).
inline bool readsAhead(int64_t products, int64_t warps, int64_t stages) {
  constexpr int64_t leastProducts = 32, leastStages = 3;
  return products >= leastProducts && warps > 1 && stages >= leastStages;
}

} // namespace weft::gpu

#endif // WEFT_TARGET_READAHEAD_H
