// What the price of a product's tile and the list of tiles have in common.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_GEMMTILES_H
#define WEFT_LIB_PLAN_MODELS_GEMMTILES_H

#include "weft/Plan/GemmModel.h"
#include "weft/Target/TileSlots.h"
#include "llvm/Support/MathExtras.h"

namespace weft::plan {

/// Up to how many rows (or columns) the way in which DRAM is read decides.
inline constexpr int64_t skinny = 32;

/// Groups of warps that share each step of a tile (weft-tk-slice-steps).
int64_t slicesOf(const GemmProblem &problem, const GemmTile &tile);

/// Whether a tile's columns are no power of two.
inline bool isNarrow(const GemmTile &tile) { return !llvm::isPowerOf2_64(uint64_t(tile.n)); }

/// What has the elements of a tile in shared memory. Of boxes whole panels of 128 bytes along the columns, which is no
/// less than what they bring of rows that are columns of the tile, if those are one panel; all else is powers of two.
inline GemmTile padded(const GemmProblem &problem, GemmTile tile) {
  constexpr int64_t panelBytes = 128;
  int64_t bytes = std::max<int64_t>(problem.rhsBytes, 1);
  bool isBoxed = tile.engine == tg::Engine::Wgmma && problem.rhsWork == 0 && tile.k * bytes <= panelBytes;
  tile.n = isBoxed ? countPanelBytes(tile.n, bytes) / bytes : int64_t(llvm::PowerOf2Ceil(uint64_t(tile.n)));
  return tile;
}

/// SMs that CTAs find.
inline int64_t countSms(const GemmTile &tile, const Device &device) {
  return device.maxCluster > 1 && tile.split > 2 ? device.clusteredSms : device.sms;
}

/// Bytes of shared memory that the matrix pipe (or the FMA units) read for one step.
double sharedReads(const GemmProblem &problem, const GemmTile &tile);

/// What products gain at least by a tail: what it takes to merge them is known less well than the rest.
inline constexpr double gainOfTail = 0.97;

/// The tile with the tiles behind its last whole round shared by several CTAs each. Where one CTA has room on an SM, as
/// those do that go on from tile to tile.
std::optional<GemmChoice> shareTail(const GemmProblem &problem, GemmTile tile, const GemmCost &whole,
                                    const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_GEMMTILES_H
