// Orders of grids of any rank: the batches of `each`, rows and columns of several dimensions, every tile once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Traversal/GridOrder.h"
#include "MakeOrder.h"
#include "weft/Traversal/GridTail.h"
#include <algorithm>
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

TEST(GridOrder, ZigzagTurnsEveryOtherRun) {
  for (const char *inner : {"row", "column", "grouped-snake<2,columns>", "each<2,column>", "hilbert"})
    for (int64_t width : {1, 3, 7, 48, 100})
      for (TileGrid grid : {TileGrid{2, 7}, TileGrid{6, 4}, TileGrid{8, 9}}) {
        TileOrder all = makeOrder(inner, {grid});
        TileOrder turned = makeOrder("zigzag<" + std::to_string(width) + "," + inner + ">", {grid});
        for (int64_t block = 0; block < all.size(); ++block) {
          int64_t first = block / width * width, last = std::min(first + width, all.size()) - 1;
          bool isTurned = block / width % 2 == 1;
          ASSERT_EQ(turned[block], all[isTurned ? first + last - block : block]) << inner << " " << width;
        }
      }
}

/// Tiles of 32, 32, ... 1, 1 steps, 12 to each of 5 CTAs: who takes every fifth has at most one step more than others.
TEST(GridOrder, ZigzagSharesTilesThatShrink) {
  constexpr int64_t ctas = 5, rows = 32;
  TileOrder order = makeOrder("zigzag<5,column>", {{2, rows}});
  std::vector<int64_t> steps(ctas, 0);
  for (int64_t block = 0; block < order.size() / ctas * ctas; ++block)
    steps[block % ctas] += rows - order[block].col;
  auto [least, most] = std::minmax_element(steps.begin(), steps.end());
  EXPECT_LE(*most - *least, 2);
}

TEST(GridOrder, ZigzagRefuses) {
  Traversal traversal;
  TileOrder order;
  std::string error;
  ASSERT_TRUE(parseTraversal("zigzag<3,each<4,column>>", traversal, error)) << error;
  EXPECT_EQ(traversal.print(), "zigzag<3,each<4,column>>");
  EXPECT_FALSE(TileOrder::create(traversal, {{6, 2}}, order, error));
  EXPECT_EQ(error, "each: expected tile rows in 4 equal runs, got 6");
  for (const char *text : {"zigzag<3>", "zigzag<0,row>", "zigzag<3,table<0>>", "zigzag<3,chain<2>>",
                           "zigzag<3,zigzag<2,row>>", "each<2,zigzag<3,row>>"})
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
  for (const char *text :
       {"row", "column", "column@2", "each<2,column>", "grouped<3>", "grouped<2>@3", "hilbert@2", "zigzag<5,column>@2"})
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

/// As `listTiles`, by a program for which only the launch knows the counts where `isOfLaunch`.
static std::vector<std::vector<int64_t>> listTilesOfLaunch(const std::string &text, const std::vector<int64_t> &counts,
                                                           const std::vector<bool> &isOfLaunch) {
  GridOrder order;
  IndexProgram program;
  std::string error;
  std::vector<int64_t> known = counts;
  int64_t total = 1;
  for (size_t d = 0; d < counts.size(); ++d) {
    known[d] = isOfLaunch[d] ? countOfLaunch : counts[d];
    total *= counts[d];
  }
  EXPECT_TRUE(parseGridOrder(text, order, error) && buildGridOrder(order, known, program, error)) << error;
  std::vector<std::vector<int64_t>> places, tiles(total);
  program.evaluate(0, total, places, counts);
  for (int64_t block = 0; block < total; ++block)
    for (size_t d = 0; d < counts.size(); ++d)
      tiles[block].push_back(places[d][block]);
  return tiles;
}

TEST(GridOrder, CountsOfTheLaunchGiveTheSameOrder) {
  for (const char *text : {"row", "column", "serpentine", "grouped<3>", "grouped<3,columns>", "grouped-snake<2>",
                           "grouped-snake<4,columns>", "column@2", "grouped<2>@2"})
    for (std::vector<int64_t> counts : {std::vector<int64_t>{5, 7}, {2, 3, 4}, {8, 1, 9}, {3, 2, 2, 5}, {1, 2, 6}})
      for (unsigned mask = 1; mask < 1u << counts.size(); ++mask) {
        std::vector<bool> isOfLaunch;
        bool isAmbiguous = false; // One tile of a symbol counts as several: other dimensions are the columns then.
        for (size_t d = 0; d < counts.size(); ++d) {
          isOfLaunch.push_back(mask >> d & 1);
          isAmbiguous |= isOfLaunch[d] && counts[d] == 1;
        }
        std::vector<std::vector<int64_t>> tiles = listTilesOfLaunch(text, counts, isOfLaunch);
        if (!isAmbiguous)
          ASSERT_EQ(tiles, listTiles(text, counts)) << text << " " << mask;
        EXPECT_EQ(std::set<std::vector<int64_t>>(tiles.begin(), tiles.end()).size(), tiles.size()) << text;
      }
}

TEST(GridOrder, RunsOfTheLaunch) {
  EXPECT_EQ(listTilesOfLaunch("each<4,column>", {2, 2, 3, 5}, {false, false, true, true}),
            listTiles("each<4,column>", {2, 2, 3, 5}));
  EXPECT_EQ(listTilesOfLaunch("zigzag<7,column>", {4, 7, 5}, {false, true, true}),
            listTiles("zigzag<7,column>", {4, 7, 5}));
  EXPECT_EQ(listTilesOfLaunch("each<2,grouped<3>>", {4, 7, 5}, {false, true, false}),
            listTiles("each<2,grouped<3>>", {4, 7, 5}));
  EXPECT_EQ(listTilesOfLaunch("cutlass<8>", {9, 7}, {true, false}), listTiles("cutlass<8>", {9, 7}));
}

TEST(GridOrder, CountsThatMustBeKnown) {
  auto refuse = [](const char *text, const std::vector<int64_t> &counts) {
    GridOrder order;
    IndexProgram program;
    std::string error;
    EXPECT_TRUE(parseGridOrder(text, order, error)) << error;
    EXPECT_FALSE(buildGridOrder(order, counts, program, error)) << text;
    return error;
  };
  EXPECT_EQ(refuse("hilbert", {countOfLaunch, 7}),
            "traversal hilbert: expected numbers of tiles that are known before the launch; row, column, serpentine, "
            "grouped and grouped-snake take any");
  for (const char *text : {"morton", "table<0,1>", "cutlass<8>", "each<2,hilbert>"})
    refuse(text, {2, countOfLaunch, countOfLaunch});
  EXPECT_EQ(refuse("each<4,column>", {countOfLaunch, 6, 5}),
            "each: expected tile rows in 4 equal runs, got a multiple of 6");
}

TEST(GridOrder, RefusedText) {
  GridOrder order;
  std::string error;
  for (const char *text : {"row@", "row@0", "row@9", "row@12", "row@x", "@2", "spiral@2"})
    EXPECT_FALSE(parseGridOrder(text, order, error)) << text;
}

TEST(GridOrder, TailsAreCtasNotTiles) {
  GridTail tail;
  std::string error;
  std::string_view text = "tail<264,5,grouped<8>@2>";
  ASSERT_TRUE(takeGridTail(text, tail, error)) << error;
  EXPECT_EQ(text, "grouped<8>@2");
  EXPECT_EQ(tail.countCtas(300), 264 + 36 * 5);
  EXPECT_EQ(tail.print("grouped<8>@2"), "tail<264,5,grouped<8>@2>");
  GridOrder order;
  ASSERT_TRUE(parseGridOrder("tail<2,3,column>", order, error)) << error;
  EXPECT_EQ(order.print(), "column");
  text = "row";
  ASSERT_TRUE(takeGridTail(text, tail, error));
  EXPECT_EQ(text, "row");
  EXPECT_EQ(tail.countCtas(300), 300);
  EXPECT_EQ(tail.print("row"), "row");
  for (const char *wrong :
       {"tail<2,1,row>", "tail<-1,2,row>", "tail<2,row>", "tail<2,3,row", "tail<2,3,>", "tail<,3,row>"}) {
    EXPECT_FALSE(parseGridOrder(wrong, order, error)) << wrong;
    EXPECT_FALSE(error.empty());
  }
}
