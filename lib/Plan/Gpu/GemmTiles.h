// What the price of a product's tile and the list of tiles have in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_GEMMTILES_H
#define WEFT_LIB_PLAN_GPU_GEMMTILES_H

#include "weft/Plan/GemmModel.h"
#include "llvm/Support/MathExtras.h"

namespace weft::plan {

/// Up to how many rows (or columns) the way in which DRAM is read decides.
inline constexpr int64_t skinny = 32;

/// What tiles that are no power of two take longer than they should.
inline constexpr double narrowFactor = 1.05;

/// Groups of warps that share each step of a tile (weft-tk-slice-steps).
int64_t slicesOf(const GemmProblem &problem, const GemmTile &tile);

/// What has the places of a tile in shared memory: a power of two.
inline GemmTile padded(GemmTile tile) {
  tile.n = int64_t(llvm::PowerOf2Ceil(uint64_t(tile.n)));
  return tile;
}

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_GEMMTILES_H
