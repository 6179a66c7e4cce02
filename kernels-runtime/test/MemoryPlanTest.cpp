// Properties of the packer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random live intervals: no overlap, aligned, between the lower bound and the sum, the same every time; a few plans by
// hand; the largest plans that a bundle can ask for, which must not take long (a bundle may be hostile).
#include "weft/Bundle/MemoryPlan.h"
#include "TestBundles.h"
#include "weft/bundle_format.h"

#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace weft::bundle;

static int64_t align(int64_t size) { return (size + 63) / 64 * 64; }

/// The largest sum of aligned sizes alive at one command, or INT64_MAX: no plan can be smaller.
static int64_t peakLiveBytes(const std::vector<PlanRequest> &requests) {
  struct Event {
    uint64_t time;
    int64_t change;
  };
  std::vector<Event> events;
  for (const PlanRequest &request : requests) {
    if (request.size > std::numeric_limits<int64_t>::max() - 63)
      return std::numeric_limits<int64_t>::max();
    int64_t size = align(request.size);
    events.push_back({request.first, size});
    events.push_back({uint64_t(request.last) + 1, -size});
  }
  // At one time, ends come before beginnings: an interval is closed, its end event lies one command later.
  std::sort(events.begin(), events.end(),
            [](const Event &a, const Event &b) { return a.time != b.time ? a.time < b.time : a.change < b.change; });
  int64_t live = 0, peak = 0;
  for (const Event &event : events) {
    if (__builtin_add_overflow(live, event.change, &live))
      return std::numeric_limits<int64_t>::max();
    peak = std::max(peak, live);
  }
  return peak;
}

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

/// The same property as expectSound's, for many buffers: walks over time with the ranges that are alive, by offset.
static void expectSoundSweep(const std::vector<PlanRequest> &requests, const MemoryPlan &plan) {
  std::vector<size_t> births(requests.size());
  std::iota(births.begin(), births.end(), size_t{0});
  std::vector<size_t> deaths = births;
  std::sort(births.begin(), births.end(), [&](size_t a, size_t b) { return requests[a].first < requests[b].first; });
  std::sort(deaths.begin(), deaths.end(), [&](size_t a, size_t b) { return requests[a].last < requests[b].last; });
  std::map<int64_t, int64_t> live;
  size_t dead = 0;
  for (size_t i : births) {
    for (; requests[deaths[dead]].last < requests[i].first; ++dead)
      live.erase(plan.offsets[deaths[dead]]);
    int64_t begin = plan.offsets[i], end = begin + requests[i].size;
    ASSERT_EQ(begin % int64_t(kBufferAlignment), 0);
    ASSERT_LE(end, plan.total);
    auto next = live.lower_bound(begin);
    ASSERT_TRUE(next == live.end() || next->first >= end);
    ASSERT_TRUE(next == live.begin() || std::prev(next)->second <= begin);
    live.emplace(begin, end);
  }
}

/// Random buffers without empty ones, each alive for up to `span` further commands out of `commands`.
static std::vector<PlanRequest> manyRequests(uint32_t commands, uint32_t span) {
  std::mt19937 random(11);
  std::vector<PlanRequest> requests(kMaxBuffers);
  for (PlanRequest &request : requests) {
    request.size = 1 + int64_t(random() % 100000);
    request.first = random() % commands;
    request.last = request.first + random() % span;
  }
  return requests;
}

/// Plans within a second of processor time, whatever the intervals are. Returns total / lower bound.
static double planMany(const std::vector<PlanRequest> &requests) {
  MemoryPlan plan;
  std::clock_t start = std::clock();
  EXPECT_TRUE(planMemory(requests, plan));
  double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, weft::test::kSlowdown);
  expectSoundSweep(requests, plan);
  return double(plan.total) / double(peakLiveBytes(requests));
}

TEST(MemoryPlan, ManyBuffersOfShortLife) { EXPECT_LT(planMany(manyRequests(60000, 16)), 1.5); }

TEST(MemoryPlan, ManyBuffersJustWithinTheSearch) { EXPECT_LT(planMany(manyRequests(60000, 110)), 1.5); }

TEST(MemoryPlan, ManyBuffersOfLongLife) { EXPECT_LT(planMany(manyRequests(60000, 30000)), 1.5); }

TEST(MemoryPlan, ManyBuffersAliveAtOnce) { EXPECT_EQ(planMany(manyRequests(1, 1)), 1.0); }

TEST(MemoryPlan, ManyBuffersInAStaircase) {
  // Sizes fall while lives nest: the search would meet all buffers placed before, for each buffer.
  std::vector<PlanRequest> requests;
  for (uint32_t i = 0; i < kMaxBuffers; ++i)
    requests.push_back({int64_t{kMaxBuffers - i} * 64, i, 2 * kMaxBuffers - i});
  EXPECT_EQ(planMany(requests), 1.0);
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
}
