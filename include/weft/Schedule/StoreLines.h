// Results whose rows begin anywhere in memory, in whole pieces of 16 bytes: how the registers of a store divide into
// lines, and which thread stores what of them once they are in shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_STORELINES_H
#define WEFT_SCHEDULE_STORELINES_H

#include "weft/Dialect/TileKernel/IR/TileKernel.h"

namespace weft::schedule {

/// Which elements threads hold, and where these are in the scratch of a pass.
struct LineHolders {
  layout::LinearLayout tile;  ///< (register, lane, warp) -> tile.
  layout::LinearLayout place; ///< (register, lane, warp) -> (line of the scratch, position in it).
};

/// A warp takes its lines in passes. In a pass it writes `lines` of them to its scratch, line by line, each as far
/// behind a multiple of 16 bytes as it begins in memory; then the pieces of 16 bytes that lie inside a line leave as
/// they are, and a line's two ends, together as many elements as a piece has, in aligned units.
struct StoreLines {
  unsigned dim = 0;     ///< Of the tile, along which lines go.
  int64_t elements = 1; ///< Of a line.
  int64_t piece = 1;    ///< Elements of 16 bytes.
  int64_t unit = 1;     ///< Elements to whose multiples lines are aligned and cut by the guard.
  int64_t lines = 1;    ///< Of a pass.
  int64_t elementBytes = 1;
  llvm::SmallVector<unsigned> held; ///< Bits of the register's number that belong to a pass,
  llvm::SmallVector<unsigned> left; ///< and those that number the passes.
  LineHolders written;              ///< The tile as it is.
  /// A piece is consecutive registers; behind those and further pieces, the register's number has the bits of `left`.
  LineHolders pieces;
  /// The first element of the line, with units of a piece side by side in lanes; the bits of `left` come last.
  LineHolders ends;

  int64_t pitchBytes() const { return (elements + piece) * elementBytes; }
  int64_t bytesOfWarp() const { return lines * pitchBytes(); }
};

/// Of a store (with a layout, without index tiles) whose tile has lines of at least two pieces in each warp.
std::optional<StoreLines> getStoreLines(tk::StoreOp store);

} // namespace weft::schedule

#endif // WEFT_SCHEDULE_STORELINES_H
