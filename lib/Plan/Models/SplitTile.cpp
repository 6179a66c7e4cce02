// A tile's elements along the extents of a side.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/GemmModel.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using llvm::ArrayRef, llvm::SmallVector;

namespace weft::plan {

namespace {

/// The search of splitTile, from the last dimension on.
struct TileSplit {
  ArrayRef<int64_t> extents;
  int64_t leastInner;
  SmallVector<int64_t> tile, best;
  int64_t fewest = INT64_MAX;

  void search(size_t dims, int64_t left, int64_t tiles, bool isInnermost) {
    if (tiles >= fewest)
      return;
    if (dims == 0) {
      if (left == 1) {
        best = tile;
        fewest = tiles;
      }
      return;
    }
    size_t d = dims - 1;
    int64_t most = std::min<int64_t>(left, llvm::PowerOf2Ceil(extents[d]));
    bool isInner = isInnermost && extents[d] > 1;
    int64_t least = isInner ? std::min(most, leastInner) : 1;
    for (tile[d] = most; tile[d] >= least; tile[d] /= 2)
      search(d, left / tile[d], tiles * int64_t(llvm::divideCeil(extents[d], tile[d])), isInnermost && !isInner);
  }
};

} // namespace

SmallVector<int64_t> splitTile(ArrayRef<int64_t> extents, int64_t elements, int64_t leastInner) {
  int64_t all = 1; // What one tile of everything takes; more pads the innermost dimension.
  for (int64_t extent : extents)
    all = std::min<int64_t>(all * int64_t(llvm::PowerOf2Ceil(std::min<int64_t>(extent, elements))), elements);
  TileSplit split{extents, leastInner, SmallVector<int64_t>(extents.size(), 1), {}};
  split.search(extents.size(), std::min(all, elements), 1, /*isInnermost=*/true);
  SmallVector<int64_t> tile = split.best.empty() ? SmallVector<int64_t>(extents.size(), 1) : split.best;
  size_t inner = extents.size();
  while (inner-- > 1 && extents[inner] == 1)
    ;
  if (!extents.empty())
    tile[inner] *= elements / std::min(all, elements);
  return tile;
}

} // namespace weft::plan
