// The choice of a launch's order: formulas against the simulation, what is chosen, how long it takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/OrderModel.h"
#include "weft/Plan/Cost/Configuration.h"
#include "weft/Plan/Cost/Simulate.h"
#include <cmath>
#include <ctime>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::plan;

static OrderProblem makeProblem(int64_t m, int64_t n, int64_t k) {
  OrderProblem problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.tileN = 256;
  return problem;
}

/// Megabytes by the whole simulation, all steps of k.
static double simulateWhole(const OrderProblem &p, const std::string &text, const Device &device) {
  GemmModelShape shape;
  shape.m = p.m, shape.n = p.n, shape.k = p.k;
  shape.tileM = p.tileM, shape.tileN = p.tileN, shape.tileK = p.tileK;
  LaunchModel launch = makeGemmLaunch(shape);
  Traversal traversal;
  TileOrder order;
  SimulationResult result;
  std::string error;
  EXPECT_TRUE(parseTraversal(text, traversal, error) && TileOrder::create(traversal, launch.getGrids(), order, error) &&
              simulate(launch, order, makeMachine(device), result, error))
      << error;
  return double(result.dramReads + result.dramWrites + result.dirty) * 32e-6;
}

TEST(OrderModel, ChosenByASampleOfTheDepth) {
  // A few steps of k in a cache of that part of the size give the bytes of all steps within 3 %.
  const Device &device = *findDevice("H100");
  for (OrderProblem problem :
       {makeProblem(4096, 4096, 4096), makeProblem(2048, 14336, 4096), makeProblem(8192, 8192, 8192)}) {
    OrderChoice choice = chooseOrder(problem, device);
    ASSERT_FALSE(choice.candidates.empty());
    for (const OrderCandidate &candidate : choice.candidates)
      if (candidate.simulatedBytes >= 0) {
        EXPECT_NEAR(candidate.simulatedBytes * 1e-6 / simulateWhole(problem, candidate.order, device), 1, 0.03)
            << problem.m << " " << candidate.order;
      }
  }
}

TEST(OrderModel, NoOtherOrderIsMuchBetter) {
  // The formulas leave out orders that are no better than what was simulated: within 3 %.
  for (const char *name : {"H100", "A100-40", "RTX4090"})
    for (OrderProblem problem :
         {makeProblem(4096, 4096, 4096), makeProblem(2048, 14336, 4096), makeProblem(2048, 4096, 14336)}) {
      const Device &device = *findDevice(name);
      OrderChoice choice = chooseOrder(problem, device);
      ASSERT_FALSE(choice.candidates.empty());
      double chosen = simulateWhole(problem, choice.order, device), least = chosen;
      for (const OrderCandidate &candidate : choice.candidates)
        least = std::min(least, simulateWhole(problem, candidate.order, device));
      EXPECT_LE(chosen, 1.03 * least) << name << " " << problem.m << " x " << problem.n << " x " << problem.k << " "
                                      << choice.order;
    }
}

TEST(OrderModel, Formulas) {
  const Device &device = *findDevice("H100");
  OrderProblem problem = makeProblem(2048, 14336, 4096);
  double results = 2048 * 14336 * 2, rows = 2048 * 4096 * 2, cols = 14336.0 * 4096 * 2;
  // One strip of all 16 rows: the columns once; each of its 56 / (132 / 16) waves brings the rows again, which half of
  // the L2 does not hold beside the columns of a wave.
  EXPECT_DOUBLE_EQ(estimateOrderBytes(problem, "grouped<16>", device), results + 56 / 8.25 * rows + cols);
  EXPECT_DOUBLE_EQ(estimateOrderBytes(problem, "column", device), results + 7 * rows + cols);
  // Two strips: the columns twice.
  EXPECT_DOUBLE_EQ(estimateOrderBytes(problem, "grouped<8>", device), results + 56 / 16.5 * rows + 2 * cols);
  // A wave of 132 tiles is 2.36 rows of 56: seven waves load all columns.
  EXPECT_DOUBLE_EQ(estimateOrderBytes(problem, "row", device), results + rows + 7 * cols);
  // An L2 that holds everything.
  EXPECT_DOUBLE_EQ(estimateOrderBytes(makeProblem(4096, 3072, 768), "row", device), 2 * (4096.0 * 3072 + 7168 * 768));
  problem.batch = 3;
  EXPECT_DOUBLE_EQ(estimateOrderBytes(problem, "column", device), 3 * (results + 7 * rows + cols));
  EXPECT_TRUE(std::isinf(estimateOrderBytes(problem, "spiral", device)));
}

TEST(OrderModel, StaysInRowsWhereNothingIsGained) {
  const Device &device = *findDevice("H100");
  EXPECT_TRUE(chooseOrder(makeProblem(128, 65536, 4096), device).candidates.empty()) << "one row of tiles";
  EXPECT_TRUE(chooseOrder(makeProblem(512, 4096, 14336), device).candidates.empty()) << "one wave";
  OrderChoice fits = chooseOrder(makeProblem(4096, 3072, 768), device);
  EXPECT_EQ(fits.order, "row") << "everything fits the L2";
  EXPECT_NE(fits.describe().find("order row: "), std::string::npos) << fits.describe();
}

TEST(OrderModel, TakesAtMost20Milliseconds) {
  for (const char *name : {"H100", "RTX3050"})
    for (OrderProblem problem :
         {makeProblem(4096, 4096, 4096), makeProblem(8192, 8192, 8192), makeProblem(16384, 16384, 4096),
          makeProblem(2048, 28672, 8192), makeProblem(32768, 32768, 32768)}) {
      std::clock_t start = std::clock(); // Of the processor: other work does not count.
      OrderChoice choice = chooseOrder(problem, *findDevice(name));
      double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
      EXPECT_FALSE(choice.candidates.empty());
#if defined(__OPTIMIZE__)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
      double most = 0.200; // Sanitizers take several times the time.
#else
      double most = 0.020;
#endif
      EXPECT_LT(seconds, most) << name << " " << problem.m << " x " << problem.n << " x " << problem.k;
#endif
      RecordProperty(std::to_string(problem.m), std::to_string(seconds));
    }
}
