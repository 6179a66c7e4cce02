// Register layouts of tiles without dots: blocked ones from how memory is accessed, and projections of layouts to fewer
// dimensions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_SCHEDULE_LAYOUTS_TILELAYOUTS_H
#define WEFT_LIB_SCHEDULE_LAYOUTS_TILELAYOUTS_H

#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace weft::schedule {

/// What a layout is chosen by.
struct BlockedWish {
  llvm::SmallVector<int64_t> shape;
  int64_t warps = 4;
  unsigned fastDim = 0;                 ///< Contiguous in memory.
  int64_t vector = 1;                   ///< Elements of an access along it.
  llvm::SmallVector<bool> reduced = {}; ///< By dimension: combined across threads, so better within a warp.
  /// Bits of a dimension whose elements read the same elements (windows): they belong to one thread.
  unsigned slidingDim = 0, firstSlidingBit = 0, slidingBits = 0;
};

/// A vector of `fastDim` to a thread, and the sliding bits; neighbouring vectors to neighbouring lanes, then to the
/// lanes the next dimensions, then to the warps the dimensions that are not reduced, the slowest first; registers hold
/// the rest. Threads that find no work repeat others'.
layout::LinearLayout makeBlockedLayout(const BlockedWish &wish);

/// The layout of a tile whose dimension i is dimension `dims[i]` of `layout`'s, with extent `shape[i]` (that of the
/// larger tile, or 1). Registers that come to hold the same elements are dropped.
layout::LinearLayout projectLayout(const layout::LinearLayout &layout, llvm::ArrayRef<int64_t> dims,
                                   llvm::ArrayRef<int64_t> shape);

/// The other way: the layout of a tile of extents `shape` whose dimension `dims[i]` is dimension i of `layout`'s and
/// whose other dimensions have extent 1.
layout::LinearLayout injectLayout(const layout::LinearLayout &layout, llvm::ArrayRef<int64_t> dims,
                                  llvm::ArrayRef<int64_t> shape);

/// The layout of a tile that is loaded to be added up: the sums lie as `sums`, by dimensions `kept` of the tile. Along
/// the others, lanes that would hold a sum again take parts of it, registers the rest; nothing crosses warps.
layout::LinearLayout makeSummedLayout(const layout::LinearLayout &sums, llvm::ArrayRef<int64_t> kept,
                                      llvm::ArrayRef<int64_t> shape);

/// The lowest bits of the index along `dim` that a thread's registers have all values of.
unsigned countRegisterBits(const layout::LinearLayout &layout, unsigned dim);

/// Contiguous elements along `dim` that one instruction of a warp accesses: those of a vector of at most `vector`
/// elements in a thread's registers, and of the lanes beside it.
int64_t getRunLength(const layout::LinearLayout &layout, unsigned dim, int64_t vector);

} // namespace weft::schedule

#endif // WEFT_LIB_SCHEDULE_LAYOUTS_TILELAYOUTS_H
