// How two dependent kernels take turns: the launch of both against the chain's own model, the choice of g, what it
// costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/ChainOrder.h"
#include "weft/Plan/Cost/Configuration.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace weft::plan;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// E[m,n] = (A[m,k] B[k,l]) D[l,n] of 16-bit elements as two products; tiles of 128 x 128 x 64, or of the second one's
/// `rows`.
static ChainProblem makeProblem(int64_t m, int64_t k, int64_t l, int64_t n, int64_t rows = 128) {
  GemmModelShape first, second;
  first.m = m, first.n = l, first.k = k;
  second.m = m, second.n = n, second.k = l, second.tileM = rows;
  ChainProblem problem;
  problem.first = {makeGemmLaunch(first), ceilDiv(l, 128), std::max<int64_t>(rows / 128, 1)};
  problem.second = {makeGemmLaunch(second), ceilDiv(n, 128), std::max<int64_t>(128 / rows, 1)};
  problem.links = {{"C", "A"}};
  problem.units = m / std::max<int64_t>(rows, 128);
  return problem;
}

static MachineModel makeMachineOf(int64_t cacheBytes) {
  MachineModel machine;
  machine.cache.bytes = cacheBytes;
  return machine;
}

static double simulateBytes(const LaunchModel &launch, int64_t units, const MachineModel &machine) {
  Traversal traversal;
  TileOrder order;
  SimulationResult result;
  std::string error;
  EXPECT_TRUE(parseTraversal("chain<" + std::to_string(units) + ",row>", traversal, error) &&
              TileOrder::create(traversal, launch.getGrids(), order, error) &&
              simulate(launch, order, machine, result, error))
      << error;
  return 32.0 * double(result.dramReads + result.dramWrites + result.dirty);
}

TEST(ChainOrder, TwoProductsAreTheChain) {
  ChainModelShape shape;
  shape.m = 4096, shape.k = 1024, shape.l = 4096, shape.n = 1024;
  LaunchModel known = makeChainLaunch(shape), joined;
  std::string error;
  ASSERT_TRUE(joinLaunches(makeProblem(4096, 1024, 4096, 1024), {}, joined, error)) << error;
  EXPECT_EQ(joined.getCompulsoryReads(), known.getCompulsoryReads());
  EXPECT_EQ(joined.getCompulsoryWrites(), known.getCompulsoryWrites());
  for (int64_t megabytes : {4, 16, 50})
    for (int64_t units : {2, 8, 32}) {
      MachineModel machine = makeMachineOf(megabytes << 20);
      EXPECT_NEAR(simulateBytes(joined, units, machine) / simulateBytes(known, units, machine), 1, 0.02)
          << megabytes << " MB, " << units;
    }
}

/// Boxes of each CTA are those of the part's own launch, whatever grid the chain has.
TEST(ChainOrder, PlacesAreThoseOfTheParts) {
  // A batch of 3 with 8 rows and 6 columns of tiles: 144 CTAs, in units of 12 and of 48.
  GemmModelShape shape;
  shape.m = 3 * 1024, shape.n = 768, shape.k = 256;
  LaunchModel own = makeGemmLaunch(shape);
  StageModel &stage = own.stages[0];
  stage.accesses[1].outer.terms = {{LaunchLoop::Row, 8, 0, 256}}; // B of the batch's member.
  stage.accesses[2].byte.terms = {{LaunchLoop::Row, 1, 8, 16}};   // Within a member.
  stage.accesses[0].byte.terms = {
      {LaunchLoop::Col, 2, 0, 32}, {LaunchLoop::Col, 1, 2, 64}, {LaunchLoop::Step, 1, 0, 8}};
  own.arrays[1].outers *= 3;
  for (int64_t blocks : {2, 8}) {
    ChainProblem problem;
    problem.first = problem.second = {own, 6, blocks};
    problem.units = 24 / blocks;
    LaunchModel joined;
    std::string error;
    ASSERT_TRUE(joinLaunches(problem, {}, joined, error)) << error;
    for (int64_t cta = 0; cta < 144; ++cta)
      for (size_t i = 0; i < 3; ++i) {
        const AccessModel &mine = own.stages[0].accesses[i], &other = joined.stages[1].accesses[i];
        int64_t cols = 6 * blocks, row = cta / cols, col = cta % cols;
        EXPECT_EQ(mine.outer.getValue(cta / 6, cta % 6, 1), other.outer.getValue(row, col, 1)) << blocks << " " << cta;
        EXPECT_EQ(mine.byte.getValue(cta / 6, cta % 6, 1), other.byte.getValue(row, col, 1)) << blocks << " " << cta;
      }
  }
}

/// Bytes a second at which the bytes decide, not the steps.
static constexpr double slow = 1e11;

TEST(ChainOrder, TakesTurnsWhereTheResultDoesNotStay) {
  // 134 MB between the products, through an L2 of 50: written and read back unless rows take turns.
  ChainProblem problem = makeProblem(8192, 512, 8192, 512);
  MachineModel machine = makeMachineOf(int64_t(50) << 20);
  ChainChoice choice = chooseChain(problem, machine, slow);
  ASSERT_GE(choice.candidates.size(), 4u);
  EXPECT_EQ(choice.candidates[0].units, 64);
  EXPECT_EQ(choice.units, 1);
  EXPECT_LT(choice.candidates[1].bytes, 0.75 * choice.candidates[0].bytes);
  EXPECT_DOUBLE_EQ(choice.candidates[1].seconds, choice.candidates[1].bytes / slow);
  // Where the steps decide, one row is too few: the second product's 4 CTAs a row wait for the first one's 64.
  problem.first.stepSeconds = problem.second.stepSeconds = 2.8e-7;
  choice = chooseChain(problem, machine, 3.35e12);
  EXPECT_GT(choice.candidates[1].seconds, 1.1 * choice.candidates[0].seconds);
  EXPECT_GT(choice.units, 8);
}

TEST(ChainOrder, ChosenByASampleAsByTheWhole) {
  for (auto [megabytes, m, k, l, n, rows] :
       {std::tuple(50, 8192, 512, 8192, 512, 128), std::tuple(6, 4096, 256, 4096, 256, 128),
        std::tuple(20, 8192, 256, 4096, 256, 64), std::tuple(50, 8192, 512, 8192, 512, 256)}) {
    ChainProblem problem = makeProblem(m, k, l, n, rows);
    MachineModel machine = makeMachineOf(int64_t(megabytes) << 20);
    ChainChoice choice = chooseChain(problem, machine, slow);
    LaunchModel whole;
    std::string error;
    ASSERT_TRUE(joinLaunches(problem, {}, whole, error)) << error;
    double least = HUGE_VAL, chosen = HUGE_VAL;
    for (const ChainCandidate &candidate : choice.candidates) {
      double bytes = simulateBytes(whole, candidate.units, machine);
      least = std::min(least, bytes);
      bool isChosen = candidate.units == (choice.units ? choice.units : problem.units);
      chosen = isChosen ? bytes : chosen;
      EXPECT_NEAR(candidate.bytes / bytes, 1, 0.1) << megabytes << " MB, " << rows << " rows, " << candidate.units;
    }
    EXPECT_LE(chosen, 1.03 * least) << megabytes << " MB, " << rows << " rows";
  }
}

TEST(ChainOrder, StaysWhereNothingIsGained) {
  ChainChoice fits = chooseChain(makeProblem(2048, 512, 2048, 512), makeMachineOf(int64_t(50) << 20), slow);
  EXPECT_GE(fits.candidates.size(), 2u);
  EXPECT_EQ(fits.units, 0) << "the result stays in the L2";
  EXPECT_TRUE(chooseChain(makeProblem(128, 512, 2048, 512), MachineModel(), slow).candidates.empty()) << "one unit";
  ChainProblem causal = makeProblem(2048, 512, 2048, 512);
  causal.second.launch.stages[0].causalRows = 128;
  EXPECT_TRUE(chooseChain(causal, MachineModel(), slow).candidates.empty()) << "uneven tiles";
}

TEST(ChainOrder, SimulatesNoMoreThanTheTimeAllows) {
  for (const char *name : {"H100", "RTX3050"})
    for (ChainProblem problem : {makeProblem(8192, 8192, 8192, 8192), makeProblem(2048, 8192, 28672, 8192),
                                 makeProblem(16384, 512, 512, 512), makeProblem(4096, 64, 16384, 64)}) {
      ChainChoice choice = chooseChain(problem, makeMachine(*weft::findDevice(name)), slow);
      EXPECT_GE(choice.candidates.size(), 2u);
      EXPECT_LE(choice.lookups, mostChainLookups);
    }
}

TEST(ChainOrder, RefusesWhatDoesNotFit) {
  ChainProblem problem = makeProblem(2048, 512, 2048, 512);
  LaunchModel joined;
  std::string error;
  problem.links = {{"C", "X"}};
  EXPECT_FALSE(joinLaunches(problem, {}, joined, error));
  EXPECT_EQ(error, "expected arrays C and X");
  problem = makeProblem(2048, 512, 2048, 512);
  problem.second.ctas = 3; // Of 4 columns of tiles.
  error.clear();
  EXPECT_FALSE(joinLaunches(problem, {}, joined, error));
  EXPECT_NE(error.find("do not go by rows"), std::string::npos) << error;
}
