// The panel model: exact optima and LRU loads of known orders; optimal replacement against the exact search.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/PanelModel.h"
#include "OptimalReplacement.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

using namespace weft::plan;

static TileOrder makeOrder(const std::string &text, TileGrid grid) {
  Traversal traversal;
  TileOrder order;
  std::string error;
  EXPECT_TRUE(parseTraversal(text, traversal, error)) << error;
  EXPECT_TRUE(TileOrder::create(traversal, {grid}, order, error)) << error;
  return order;
}

static int64_t lru(const std::string &text, TileGrid grid, int64_t capacity) {
  return computeReuse(listPanelUses(makeOrder(text, grid))).getLruLoads(capacity);
}

static int64_t best(const std::string &name, TileGrid grid, int64_t capacity) {
  int64_t loads = INT64_MAX;
  for (int64_t g = 1; g <= grid.rows; ++g)
    loads = std::min(loads, lru(name + "<" + std::to_string(g) + ">", grid, capacity));
  return loads;
}

TEST(PanelModel, ExactOptima) {
  const struct {
    TileGrid grid;
    int64_t loads[4];
  } rows[] = {{{2, 2}, {5, 4, 4, 4}}, {{3, 3}, {10, 8, 6, 6}}, {{3, 4}, {13, 9, 7, 7}}, {{4, 4}, {17, 11, 10, 8}}};
  for (const auto &[grid, loads] : rows)
    for (int64_t capacity = 2; capacity <= 5; ++capacity) {
      OptimalOrder optimum;
      std::string error;
      ASSERT_TRUE(findOptimalOrder(grid, capacity, optimum, error)) << error;
      EXPECT_EQ(optimum.loads, loads[capacity - 2]) << grid.rows << "x" << grid.cols << " c=" << capacity;
      Traversal traversal;
      traversal.kind = Traversal::Kind::Table;
      traversal.table = optimum.table;
      TileOrder order;
      ASSERT_TRUE(TileOrder::create(traversal, {grid}, order, error)) << error;
      EXPECT_EQ(computeOptimalReplacement(order, capacity), optimum.loads) << "the order attains it";
    }
}

TEST(PanelModel, LruOn4x4) {
  const int64_t want[4][5] = {{20, 17, 24, 17, 17}, {20, 17, 20, 17, 17}, {20, 14, 14, 12, 11}, {17, 11, 12, 10, 11}};
  for (int64_t c = 2; c <= 5; ++c) {
    const char *const names[] = {"row", "serpentine", "morton", "hilbert"};
    for (int k = 0; k < 4; ++k)
      EXPECT_EQ(lru(names[k], {4, 4}, c), want[c - 2][k]) << names[k] << " c=" << c;
    EXPECT_EQ(best("grouped-snake", {4, 4}, c), want[c - 2][4]) << "c=" << c;
  }
}

TEST(PanelModel, LruOn32x32) {
  const TileGrid grid{32, 32};
  const int64_t want[2][6] = {{1056, 870, 480, 352, 224, 219}, {1056, 622, 248, 180, 128, 126}};
  for (int k = 0; k < 2; ++k) {
    int64_t c = k ? 16 : 8;
    EXPECT_EQ(lru("row", grid, c), want[k][0]);
    EXPECT_EQ(lru("serpentine", grid, c), want[k][1]);
    EXPECT_EQ(lru("morton", grid, c), want[k][2]);
    EXPECT_EQ(lru("hilbert", grid, c), want[k][3]);
    EXPECT_EQ(lru(k ? "grouped<11>" : "grouped<6>", grid, c), want[k][4]);
    EXPECT_EQ(lru(k ? "grouped-snake<11>" : "grouped-snake<6>", grid, c), want[k][5]);
  }
}

/// All 6! orders of 2x3: the least under optimal replacement is the search's answer, and LRU is never better.
TEST(PanelModel, EveryOrderOf2x3) {
  std::vector<int64_t> tiles(6);
  for (int64_t c = 2; c <= 4; ++c) {
    std::iota(tiles.begin(), tiles.end(), 0);
    int64_t least = INT64_MAX;
    std::string error;
    do {
      Traversal traversal;
      traversal.kind = Traversal::Kind::Table;
      traversal.table = tiles;
      TileOrder order;
      ASSERT_TRUE(TileOrder::create(traversal, {{2, 3}}, order, error)) << error;
      int64_t loads = computeOptimalReplacement(order, c);
      EXPECT_LE(loads, computeReuse(listPanelUses(order)).getLruLoads(c));
      least = std::min(least, loads);
    } while (std::next_permutation(tiles.begin(), tiles.end()));
    OptimalOrder optimum;
    ASSERT_TRUE(findOptimalOrder({2, 3}, c, optimum, error));
    EXPECT_EQ(least, optimum.loads);
  }
}

/// Where c-1 divides the rows, c-1 row panels stay and the columns stream back and forth.
TEST(PanelModel, ResidentRowsAreTheOptimum) {
  OptimalOrder optimum;
  std::string error;
  for (int64_t c : {2, 3, 5}) {
    int64_t strips = 4 / (c - 1);
    ASSERT_TRUE(findOptimalOrder({4, 4}, c, optimum, error));
    EXPECT_EQ(optimum.loads, 4 + strips * 4 - (strips - 1));
  }
}

TEST(PanelModel, SearchRefusesWhatItCannotHold) {
  OptimalOrder optimum;
  std::string error;
  EXPECT_FALSE(findOptimalOrder({5, 5}, 3, optimum, error));
  EXPECT_EQ(error, "expected a grid with at most 29 tiles and panels, got 5x5; the exact search is for small grids");
  EXPECT_FALSE(findOptimalOrder({2, 2}, 1, optimum, error));
  EXPECT_EQ(error, "expected a cache of at least 2 panels, got 1");
}
