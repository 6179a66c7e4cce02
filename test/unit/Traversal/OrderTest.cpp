// Orders: bijections on every grid to 64x64, their text, their arithmetic, known values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MakeOrder.h"
#include "weft/Traversal/Traversal.h"
#include <gtest/gtest.h>

using namespace weft::plan;

/// TileOrder::create refuses what is no bijection; here also both directions agree.
static void expectBijection(const std::string &text, const std::vector<TileGrid> &grids) {
  TileOrder order = makeOrder(text, grids);
  for (int64_t block = 0; block < order.size(); ++block)
    ASSERT_EQ(order.find(order[block]), block) << text << " on " << grids[0].rows << "x" << grids[0].cols;
}

class EveryGrid : public testing::TestWithParam<const char *> {};

TEST_P(EveryGrid, IsABijection) {
  for (int64_t rows = 1; rows <= 64; ++rows)
    for (int64_t cols = 1; cols <= 64; ++cols)
      expectBijection(GetParam(), {{rows, cols}});
}

INSTANTIATE_TEST_SUITE_P(Orders, EveryGrid,
                         testing::Values("row", "column", "serpentine", "grouped<1>", "grouped<5>", "grouped<8>",
                                         "grouped<100>", "grouped<8,columns>", "grouped-snake<3>",
                                         "grouped-snake<8,columns>", "cutlass<8>", "cutlass<2>", "morton", "hilbert"));

TEST(Order, ChainsAreBijectionsAndKeepDependences) {
  for (const char *inner : {"", ",row", ",serpentine", ",morton", ",hilbert", ",grouped-snake<2>", ",cutlass<8>"})
    for (int64_t height : {1, 3, 8, 40})
      for (int64_t rows : {1, 7, 8, 17, 32})
        for (TileGrid columns : {TileGrid{1, 9}, TileGrid{12, 5}, TileGrid{16, 16}}) {
          std::string text = "chain<" + std::to_string(height) + inner + ">";
          std::vector<TileGrid> grids = {{rows, columns.rows}, {rows, columns.cols}};
          expectBijection(text, grids);
          TileOrder order = makeOrder(text, grids);
          for (int64_t row = 0; row < rows; ++row) // A row of the second stage after that row of the first.
            for (int64_t j = 0; j < columns.cols; ++j)
              for (int64_t k = 0; k < columns.rows; ++k)
                ASSERT_LT(order.find({0, row, k}), order.find({1, row, j})) << text;
        }
}

/// Every first grid to 64x64, with second stages of many widths and strips of every height to 9.
TEST(Order, ChainsOnEveryGrid) {
  for (int64_t rows = 1; rows <= 64; ++rows)
    for (int64_t cols = 1; cols <= 64; ++cols)
      for (const char *inner : {"", ",grouped-snake<3>"}) {
        std::string text = "chain<" + std::to_string((rows + cols) % 9 + 1) + inner + ">";
        expectBijection(text, {{rows, cols}, {rows, (7 * cols + rows) % 64 + 1}});
      }
}

TEST(Order, HilbertStepsToNeighbours) {
  for (int64_t rows = 1; rows <= 40; ++rows)
    for (int64_t cols = 1; cols <= 40; ++cols) {
      TileOrder order = makeOrder("hilbert", {{rows, cols}});
      int64_t diagonals = 0;
      for (int64_t i = 1; i < order.size(); ++i) {
        int64_t down = std::abs(order[i].row - order[i - 1].row), right = std::abs(order[i].col - order[i - 1].col);
        ASSERT_LE(std::max(down, right), 1) << rows << "x" << cols;
        diagonals += down + right == 2;
      }
      ASSERT_LE(diagonals, 1) << rows << "x" << cols;
    }
}

TEST(Order, MortonIsTheInterleavingOfBits) {
  TileOrder order = makeOrder("morton", {{8, 8}});
  for (int64_t i = 0; i < 64; ++i) {
    int64_t row = 0, col = 0;
    for (int bit = 0; bit < 3; ++bit) {
      col |= (i >> (2 * bit) & 1) << bit;
      row |= (i >> (2 * bit + 1) & 1) << bit;
    }
    EXPECT_EQ(order[i], (Tile{0, row, col}));
  }
}

/// tile_m = bx >> log, tile_n = (by << log) + (bx & mask) over the padded grid, blocks outside exit.
TEST(Order, CutlassIsTheSwizzleOfCutlass) {
  for (TileGrid grid : {TileGrid{5, 1}, TileGrid{5, 2}, TileGrid{7, 5}, TileGrid{3, 6}, TileGrid{9, 21}}) {
    int log = grid.cols >= 6 ? 3 : grid.cols >= 3 ? 2 : grid.cols >= 2 ? 1 : 0;
    TileOrder order = makeOrder("cutlass<8>", {grid});
    int64_t block = 0;
    for (int64_t y = 0; y < (grid.cols + (1 << log) - 1) >> log; ++y)
      for (int64_t x = 0; x < grid.rows << log; ++x) {
        int64_t row = x >> log, col = (y << log) + (x & ((1 << log) - 1));
        if (col < grid.cols)
          EXPECT_EQ(order[block++], (Tile{0, row, col}));
      }
    EXPECT_EQ(block, order.size());
  }
}

TEST(Order, Table) {
  TileOrder order = makeOrder("table<3,0,2,1,5,4>", {{2, 3}});
  EXPECT_EQ(order[0], (Tile{0, 1, 0}));
  EXPECT_EQ(order.find({0, 1, 2}), 4);
  Traversal traversal;
  std::string error;
  ASSERT_TRUE(parseTraversal("table<0,0>", traversal, error));
  EXPECT_FALSE(TileOrder::create(traversal, {{1, 2}}, order, error));
  EXPECT_EQ(error, "traversal table<0,0>: block 1 repeats a tile");
  EXPECT_FALSE(TileOrder::create(traversal, {{1, 3}}, order, error));
  EXPECT_EQ(error, "table: expected 3 tiles, got 2");
}

TEST(Order, TextRoundTrips) {
  for (const char *text :
       {"row", "column", "serpentine", "grouped<8>", "grouped<3,columns>", "grouped-snake<2>", "cutlass<4>", "morton",
        "hilbert", "table<1,0>", "chain<4>", "chain<2,grouped<3,columns>>"}) {
    Traversal traversal;
    std::string error;
    ASSERT_TRUE(parseTraversal(text, traversal, error)) << error;
    EXPECT_EQ(traversal.print(), text);
  }
}

TEST(Order, BrokenTextIsRefused) {
  Traversal traversal;
  for (const char *text : {"", "rows", "row<1>", "grouped", "grouped<", "grouped<>", "grouped<0>", "grouped<-1>",
                           "grouped<8", "grouped<8,rows>", "grouped<99999999999999999999>", "cutlass<3>", "cutlass<16>",
                           "table<>", "table<1,>", "chain<2,chain<2>>", "chain<2,table<0>>", "morton ", "\x01\xff"}) {
    std::string error;
    EXPECT_FALSE(parseTraversal(text, traversal, error)) << text;
    EXPECT_NE(error.find("expected"), std::string::npos) << error;
  }
  std::string error;
  EXPECT_FALSE(parseTraversal("grouped<x>", traversal, error));
  EXPECT_EQ(error, "traversal 'grouped<x>': expected a number from 1 to 16777216, got 'x>'");
}

TEST(Order, ArithmeticIsPrinted) {
  EXPECT_EQ(makeOrder("row", {{4, 6}}).getProgram().print(), "%0 = div %block, 6\n%1 = rem %block, 6\nreturn %0, %1\n");
  EXPECT_LT(makeOrder("grouped<8>", {{64, 64}}).getProgram().countOperations(), 12);
}

TEST(Order, HugeGridsAreRefused) {
  TileOrder order;
  std::string error;
  EXPECT_FALSE(TileOrder::create({}, {{int64_t(1) << 40, int64_t(1) << 40}}, order, error));
  EXPECT_NE(error.find("16777216"), std::string::npos) << error;
  EXPECT_FALSE(TileOrder::create({}, {{0, 4}}, order, error));
}
