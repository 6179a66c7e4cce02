//===- MemoryPlanTest.cpp - Properties of the packer --------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// Random live intervals: no overlap, aligned, between the lower bound and the sum, the same every time; and a few plans
// by hand.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "weft/Bundle/MemoryPlan.h"
#include "weft/bundle_format.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace weft::bundle;

static int64_t align(int64_t size) { return (size + 63) / 64 * 64; }

/// Fails if two buffers alive at the same time share bytes.
static void expectSound(const std::vector<PlanRequest> &requests, const MemoryPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), requests.size());
  int64_t sum = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % int64_t(kBufferAlignment), 0);
    EXPECT_LE(plan.offsets[i] + requests[i].size, plan.total);
    sum += align(requests[i].size);
    for (size_t j = 0; j < i; ++j) {
      bool meet = requests[i].first <= requests[j].last && requests[j].first <= requests[i].last;
      bool share =
          plan.offsets[i] < plan.offsets[j] + requests[j].size && plan.offsets[j] < plan.offsets[i] + requests[i].size;
      EXPECT_FALSE(meet && share && requests[i].size && requests[j].size) << i << " and " << j;
    }
  }
  EXPECT_LE(plan.total, sum);
  EXPECT_GE(plan.total, peakLiveBytes(requests));
}

TEST(MemoryPlan, RandomIntervals) {
  std::mt19937 random(7);
  double worst = 1;
  for (int round = 0; round < 300; ++round) {
    std::vector<PlanRequest> requests(1 + random() % 60);
    for (PlanRequest &request : requests) {
      request.size = random() % 5 == 0 ? 0 : int64_t(random() % 10000);
      request.first = random() % 50;
      request.last = request.first + random() % 8;
    }
    MemoryPlan plan, again;
    ASSERT_TRUE(planMemory(requests, plan));
    ASSERT_TRUE(planMemory(requests, again));
    EXPECT_EQ(plan.offsets, again.offsets);
    expectSound(requests, plan);
    if (int64_t peak = peakLiveBytes(requests))
      worst = std::max(worst, double(plan.total) / double(peak));
  }
  // Greedy by size is within a few per cent of the bound on average; a broken search would be far above.
  EXPECT_LT(worst, 1.5);
}

TEST(MemoryPlan, ChainNeedsTwoBuffers) {
  std::vector<PlanRequest> requests;
  for (uint32_t i = 0; i < 100; ++i)
    requests.push_back({1000, i, i + 1});
  MemoryPlan plan;
  ASSERT_TRUE(planMemory(requests, plan));
  EXPECT_EQ(plan.total, 2 * 1024);
  EXPECT_EQ(peakLiveBytes(requests), 2 * 1024);
}

TEST(MemoryPlan, TakesTheSmallestGap) {
  // At command 2, after the two small ones have died, gaps of 640 and 128 bytes lie between the three that live on.
  std::vector<PlanRequest> requests = {{1280, 0, 9}, {640, 0, 1}, {1216, 0, 9}, {128, 0, 1}, {1152, 0, 9}, {128, 2, 3}};
  MemoryPlan plan;
  ASSERT_TRUE(planMemory(requests, plan));
  expectSound(requests, plan);
  EXPECT_EQ(plan.total, peakLiveBytes(requests));
}

TEST(MemoryPlan, Limits) {
  MemoryPlan plan;
  EXPECT_TRUE(planMemory({}, plan));
  EXPECT_EQ(plan.total, 0);
  EXPECT_FALSE(planMemory({{-1, 0, 0}}, plan));
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(planMemory({{max, 0, 0}}, plan));
  EXPECT_FALSE(planMemory({{max - 63, 0, 0}, {64, 0, 0}}, plan));
  EXPECT_TRUE(planMemory({{max - 63, 0, 0}, {64, 1, 1}}, plan));
  EXPECT_EQ(peakLiveBytes({{max, 0, 0}}), max);
}
