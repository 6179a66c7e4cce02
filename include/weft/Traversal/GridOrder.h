// A traversal over a grid of any rank.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels have grids with a dimension for each of their results. An order sees rows and columns: the columns are the
// last dimensions with more than one tile, `colDims` of them, the rows are all the dimensions before them, both
// numbered in row-major order. The text is that of the traversal, and `@2` behind it where columns are two dimensions:
// `grouped<8>@2`, `each<4,column>`. Plain C++17.
#ifndef WEFT_TRAVERSAL_GRIDORDER_H
#define WEFT_TRAVERSAL_GRIDORDER_H

#include "weft/Traversal/Traversal.h"

namespace weft::plan {

struct GridOrder {
  Traversal traversal;
  int64_t colDims = 1; ///< 1 to 8.

  std::string print() const;
};

/// Parses the text. On failure returns false and says why in `error`.
bool parseGridOrder(std::string_view text, GridOrder &result, std::string &error);

/// The grid's rows and columns. Fewer dimensions with several tiles than `colDims` + 1 leave one row.
TileGrid foldGrid(const std::vector<int64_t> &counts, int64_t colDims);

/// In place of a count: only the launch knows it. It counts as several, whatever it turns out to be.
constexpr int64_t countOfLaunch = -1;

/// The tile number along each of `counts` (all at least 1) as results of index arithmetic; a count that only the launch
/// knows is the parameter of its dimension's number. Fails as buildTraversal does.
bool buildGridOrder(const GridOrder &order, const std::vector<int64_t> &counts, IndexProgram &program,
                    std::string &error);

} // namespace weft::plan

#endif // WEFT_TRAVERSAL_GRIDORDER_H
