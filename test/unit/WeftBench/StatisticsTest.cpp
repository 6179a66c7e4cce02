// What samples of times say.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against tables, and against what a confidence interval promises.
#include "Statistics.h"
#include "Counts.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace weft::bench;

TEST(Statistics, Percentiles) {
  std::vector<double> sorted = {1, 2, 3, 4, 5};
  EXPECT_EQ(getPercentile(sorted, 0), 1);
  EXPECT_EQ(getPercentile(sorted, 50), 3);
  EXPECT_DOUBLE_EQ(getPercentile(sorted, 90), 4.6);
  EXPECT_EQ(getPercentile(sorted, 100), 5);
  EXPECT_EQ(getPercentile({7}, 99), 7);
}

TEST(Statistics, Summaries) {
  std::vector<double> samples;
  for (int i = 100; i > 0; --i)
    samples.push_back(i);
  Summary summary = summarise(samples, {50, 99});
  EXPECT_EQ(summary.count, 100u);
  EXPECT_EQ(summary.min, 1);
  EXPECT_DOUBLE_EQ(summary.mean, 50.5);
  EXPECT_DOUBLE_EQ(summary.median, 50.5);
  EXPECT_EQ(summary.percentiles.size(), 2u);
  // The textbook's ranks for n = 100 are 40 and 61.
  EXPECT_EQ(summary.medianLow, 40);
  EXPECT_EQ(summary.medianHigh, 61);
  Summary one = summarise({3}, {});
  EXPECT_EQ(one.medianLow, 3);
  EXPECT_EQ(one.medianHigh, 3);
  Summary few = summarise({3, 1, 2}, {});
  EXPECT_EQ(few.medianLow, 1);
  EXPECT_EQ(few.medianHigh, 3);
}

TEST(Statistics, StudentsTable) {
  const std::pair<size_t, double> table[] = {{1, 12.706}, {2, 4.303},  {4, 2.776},  {5, 2.571},   {7, 2.365},
                                             {10, 2.228}, {30, 2.042}, {60, 2.000}, {120, 1.980}, {100000, 1.960}};
  for (auto [freedom, value] : table)
    EXPECT_NEAR(getStudentQuantile(freedom), value, 0.002 * value) << freedom;
}

TEST(Statistics, ComparesBlocks) {
  Ratio same = comparePairs({0.01, -0.01, 0.02, -0.02, 0.0, 0.01, -0.01, 0.0});
  EXPECT_EQ(same.getVerdict(), Ratio::None);
  EXPECT_NEAR(same.value, 1, 1e-12);
  double twice = std::log(2.0);
  Ratio faster = comparePairs({twice + 0.01, twice - 0.01, twice, twice});
  EXPECT_EQ(faster.getVerdict(), Ratio::Faster);
  EXPECT_NEAR(faster.value, 2, 1e-12);
  EXPECT_LT(faster.low, 2);
  EXPECT_GT(faster.high, 2);
  EXPECT_EQ(faster.pairs, 4u);
  EXPECT_EQ(comparePairs({-twice, -twice - 0.01, -twice}).getVerdict(), Ratio::Slower);
}

TEST(Statistics, FalseAlarmsAreAsRareAsPromised) {
  std::mt19937 engine(1);
  std::normal_distribution<double> noise(0, 0.03);
  int alarms = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> blocks;
    for (int i = 0; i < 10; ++i)
      blocks.push_back(noise(engine));
    alarms += comparePairs(blocks).getVerdict() != Ratio::None;
  }
  EXPECT_NEAR(double(alarms) / trials, 0.05, 0.012);
}

TEST(Counts, AddsUpMembers) {
  const char *json =
      R"([{"kernel": "a\"n.sum\": 7", "counters": {"n.sum": 3, "m.sum": 5}}, {"counters": {"n.sum": 4.5}}])";
  EXPECT_EQ(sumMembers(json, "n.sum"), 7.5);
  EXPECT_EQ(sumMembers(json, "m.sum"), 5);
  EXPECT_EQ(sumMembers(json, "k.sum"), 0);
  EXPECT_EQ(sumMembers("[]", "n.sum"), 0);
}
