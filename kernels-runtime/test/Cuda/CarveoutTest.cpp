// One division of an SM's memory for all kernels of a run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cuda/Carveout.h"

#include <gtest/gtest.h>

using namespace weft::cuda;

static const SmLimits kCard = {132, 2048, 65536, 200 << 10, 1024};

/// In the first run a kernel gets what those before it want; from the second run on all have the same.
TEST(Carveout, AsMuchAsTheGreediest) {
  Carveout carveout;
  CtaNeeds small = {128, 32, 9 << 10}, large = {256, 64, 99 << 10};
  EXPECT_EQ(carveout.follow(kCard, small, 132, 0), 5);
  EXPECT_EQ(carveout.follow(kCard, large, 100, 1), 50);
  carveout.begin();
  EXPECT_EQ(carveout.follow(kCard, small, 132, 0), 50);
  EXPECT_EQ(carveout.follow(kCard, large, 100, 1), std::nullopt);
  EXPECT_EQ(carveout.follow(kCard, small, 132, 0), std::nullopt);
}

/// A plan for other extents keeps its own division, however runs alternate.
TEST(Carveout, OtherRunsHaveTheirOwn) {
  Carveout carveout;
  CtaNeeds small = {128, 32, 9 << 10}, middle = {128, 32, 19 << 10}, large = {256, 64, 99 << 10};
  for (int run = 0; run < 3; ++run) {
    carveout.begin();
    EXPECT_EQ(carveout.follow(kCard, small, 132, 0), run == 0   ? std::optional(5)
                                                     : run == 1 ? std::optional(10)
                                                                : std::nullopt);
    EXPECT_EQ(carveout.follow(kCard, middle, 132, 1), run == 0 ? std::optional(10) : std::nullopt);
    carveout.begin();
    EXPECT_EQ(carveout.follow(kCard, large, 100, 2), run == 0 ? std::optional(50) : std::nullopt);
  }
}

/// As many CTAs as an SM gets of the launch, and as it has room for.
TEST(Carveout, ResidentCtas) {
  CtaNeeds cta = {512, 64, 19 << 10}; // Two by registers.
  EXPECT_EQ(Carveout().follow(kCard, cta, 132, 0), 10);
  EXPECT_EQ(Carveout().follow(kCard, cta, 133, 0), 20);
  EXPECT_EQ(Carveout().follow(kCard, cta, 1000, 0), 20);
  EXPECT_EQ(Carveout().follow(kCard, {32, 32, 99 << 10}, 1000, 0), 100);
}

/// The system's own kilobyte counts where a kernel has no shared memory, too; parts of a per cent are a whole one.
TEST(Carveout, NoSharedMemory) { EXPECT_EQ(Carveout().follow(kCard, {1024, 16, 0}, 1, 0), 1); }
