// Orders of grids of any rank: the batches of `each`, rows and columns of several dimensions, every tile once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Traversal/GridOrder.h"
#include "MakeOrder.h"
#include <gtest/gtest.h>
#include <set>

using namespace weft::plan;

TEST(GridOrder, EachIsTheOrderOfEveryRun) {
  for (const char *inner :
       {"row", "column", "serpentine", "grouped<3>", "grouped-snake<2,columns>", "morton", "hilbert"})
    for (int64_t runs : {1, 2, 5})
      for (TileGrid grid : {TileGrid{1, 7}, TileGrid{6, 4}, TileGrid{8, 9}}) {
        TileOrder one = makeOrder(inner, {grid});
        TileOrder all = makeOrder("each<" + std::to_string(runs) + "," + inner + ">", {{runs * grid.rows, grid.cols}});
        for (int64_t block = 0; block < all.size(); ++block) {
          Tile tile = one[block % one.size()];
          tile.row += block / one.size() * grid.rows;
          ASSERT_EQ(all[block], tile) << inner << " " << runs;
        }
      }
}

TEST(GridOrder, EachRefuses) {
  Traversal traversal;
  TileOrder order;
  std::string error;
  ASSERT_TRUE(parseTraversal("each<3,column>", traversal, error));
  EXPECT_EQ(traversal.print(), "each<3,column>");
  EXPECT_FALSE(TileOrder::create(traversal, {{8, 2}}, order, error));
  EXPECT_EQ(error, "each: expected tile rows in 3 equal runs, got 8");
  for (const char *text : {"each<3>", "each<0,row>", "each<3,table<0>>", "each<3,chain<2>>", "each<2,each<2,row>>",
                           "chain<2,each<2,row>>"})
    EXPECT_FALSE(parseTraversal(text, traversal, error)) << text;
}

/// The tile along each dimension, block after block.
static std::vector<std::vector<int64_t>> listTiles(const std::string &text, const std::vector<int64_t> &counts) {
  GridOrder order;
  IndexProgram program;
  std::string error;
  EXPECT_TRUE(parseGridOrder(text, order, error) && buildGridOrder(order, counts, program, error)) << error;
  EXPECT_EQ(order.print(), text);
  int64_t total = 1;
  for (int64_t count : counts)
    total *= count;
  std::vector<std::vector<int64_t>> places, tiles(total);
  program.evaluate(0, total, places);
  for (int64_t block = 0; block < total; ++block)
    for (size_t d = 0; d < counts.size(); ++d)
      tiles[block].push_back(places[d][block]);
  return tiles;
}

TEST(GridOrder, EveryTileOnce) {
  for (const char *text : {"row", "column", "column@2", "each<2,column>", "grouped<3>", "grouped<2>@3", "hilbert@2"})
    for (std::vector<int64_t> counts : {std::vector<int64_t>{2, 3, 4, 5}, {2, 1, 4, 1, 3}, {4, 1, 2}, {2, 6, 1, 2}}) {
      std::vector<std::vector<int64_t>> tiles = listTiles(text, counts);
      EXPECT_EQ(std::set<std::vector<int64_t>>(tiles.begin(), tiles.end()).size(), tiles.size()) << text;
      for (const std::vector<int64_t> &tile : tiles)
        for (size_t d = 0; d < counts.size(); ++d)
          ASSERT_TRUE(tile[d] >= 0 && tile[d] < counts[d]) << text;
    }
}

TEST(GridOrder, ColumnsAreTheLastDimensionsWithTiles) {
  using Tiles = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(listTiles("column", {2, 2, 1}), (Tiles{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}}));
  EXPECT_EQ(listTiles("each<2,column>", {2, 2, 2}),
            (Tiles{{0, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 1, 1}, {1, 0, 0}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}}));
  EXPECT_EQ(listTiles("column@2", {2, 2, 2}),
            (Tiles{{0, 0, 0}, {1, 0, 0}, {0, 0, 1}, {1, 0, 1}, {0, 1, 0}, {1, 1, 0}, {0, 1, 1}, {1, 1, 1}}));
  EXPECT_EQ(foldGrid({4, 1, 6, 1}, 1).rows, 4);
  EXPECT_EQ(foldGrid({4, 1, 6, 1}, 1).cols, 6);
  EXPECT_EQ(foldGrid({4, 5, 6}, 2).cols, 30);
  EXPECT_EQ(foldGrid({1, 7}, 1).rows, 1);
}

TEST(GridOrder, RefusedText) {
  GridOrder order;
  std::string error;
  for (const char *text : {"row@", "row@0", "row@9", "row@12", "row@x", "@2", "spiral@2"})
    EXPECT_FALSE(parseGridOrder(text, order, error)) << text;
}
