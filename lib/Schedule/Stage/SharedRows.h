// What several tiles of a step have in common, copied once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_STAGE_SHAREDROWS_H
#define WEFT_LIB_SCHEDULE_STAGE_SHAREDROWS_H

#include "weft/Schedule/Access.h"
#include <vector>

namespace weft::schedule {

/// A tile that the copies of a step bring.
struct TileToFetch {
  tk::LoadOp load;
  Access access;
};

/// What lies together in a slot: a tile, or tiles that lie some rows of a tensor apart, whose rows are slots of their
/// own.
struct Fetch {
  tk::LoadOp load;
  Access access; ///< Of the first of the tiles.
  int64_t rows = 1;
  llvm::SmallVector<int64_t> rowShape; ///< Of the tile, if `rows` is 1.
  /// By number of the tile: its first row.
  llvm::SmallVector<std::pair<unsigned, int64_t>> tiles;
  struct Copy {
    int64_t from;                     ///< Its first row.
    llvm::SmallVector<int64_t> shape; ///< Of whole rows.
    mlir::AffineMap map;
    std::optional<mlir::IntegerSet> guard;
  };
  llvm::SmallVector<Copy> copies;
};

/// Tiles that TMA brings share rows where they lie a constant number of them apart along the outermost index that
/// varies in them, and a row is whole blocks of the swizzle, in one panel: then rows in shared memory follow each other
/// as those of a tile do.
std::vector<Fetch> shareRows(llvm::ArrayRef<TileToFetch> tiles, tk::CopyEngine engine);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_STAGE_SHAREDROWS_H
