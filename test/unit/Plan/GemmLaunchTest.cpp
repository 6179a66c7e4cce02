// Tiles for the products of a launch: one shape for all, columns by the products in a tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/GemmLaunch.h"
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::plan;

/// 512 rows of 4096 by `products` matrices of `columns`.
static GemmProblem makeProblem(int64_t columns, int64_t products = 1) {
  GemmProblem problem;
  problem.m = 512, problem.n = columns, problem.k = 4096;
  problem.products = problem.rhsTensors = products;
  return problem;
}

TEST(GemmLaunch, QueriesWithKeysAndValues) {
  const Device &device = *findDevice("sm_80");
  std::vector<GemmProblem> problems = {makeProblem(4096), makeProblem(1536, 2)};
  for (GemmProblem &problem : problems)
    problem.m = 1024;
  llvm::SmallVector<GemmChoice> alone;
  double apart = 0;
  for (const GemmProblem &problem : problems) {
    alone.push_back(chooseGemmTile(problem, device));
    apart += alone.back().cost.seconds;
  }
  EXPECT_FALSE(canStartTogether(alone, device));
  GemmLaunch launch = chooseGemmLaunch(problems, device);
  ASSERT_EQ(launch.tiles.size(), 2u);
  EXPECT_LT(launch.cost.seconds, apart);
  EXPECT_EQ(launch.tiles[0].m, launch.tiles[1].m);
  EXPECT_EQ(launch.tiles[0].n, 2 * launch.tiles[1].n);
  EXPECT_EQ(launch.tiles[0].stages, launch.tiles[1].stages);
  int64_t tiles = 0;
  llvm::SmallVector<GemmChoice> together;
  for (auto [problem, tile] : llvm::zip_equal(problems, launch.tiles)) {
    problem.only = tile; // What the schedule of each kernel takes.
    together.push_back(chooseGemmTile(problem, device));
    EXPECT_TRUE(together.back().tile == tile);
    tiles += together.back().cost.tiles;
  }
  EXPECT_EQ(launch.cost.tiles, tiles);
  EXPECT_TRUE(canStartTogether(together, device));
}

TEST(GemmLaunch, OtherRowsOrDepthsAreNoOneProduct) {
  const Device &device = *findDevice("sm_80");
  for (auto change : {+[](GemmProblem &p) { p.m = 256; }, +[](GemmProblem &p) { p.k = 2048; },
                      +[](GemmProblem &p) { p.onlyN = 128; }, +[](GemmProblem &p) { p.products = p.rhsTensors = 3; }}) {
    std::vector<GemmProblem> problems = {makeProblem(4096), makeProblem(1024)};
    EXPECT_EQ(chooseGemmLaunch(problems, device).tiles.size(), 2u);
    change(problems[1]);
    EXPECT_TRUE(chooseGemmLaunch(problems, device).tiles.empty());
  }
}

TEST(GemmLaunch, TilesThatDoNotFitAreNotTaken) {
  const Device &device = *findDevice("sm_80");
  GemmProblem problem = makeProblem(4096);
  problem.only = GemmTile{256, 256, 64, 4, 6, tg::Engine::Mma};
  EXPECT_FALSE(chooseGemmTile(problem, device).tile == *problem.only);
}

TEST(GemmLaunch, ClustersStartAlone) {
  const Device &device = *findDevice("sm_90a");
  GemmChoice choice = chooseGemmTile(makeProblem(1024), device);
  llvm::SmallVector<GemmChoice> both = {choice, choice};
  EXPECT_TRUE(canStartTogether(both, device));
  both[1].tile.multicast = 2;
  EXPECT_FALSE(canStartTogether(both, device));
}
