// Panels with sizes: equal to the panel model for products of square tiles, results and intermediates, policies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/PanelTrace.h"
#include "MakeOrder.h"
#include "OptimalReplacement.h"
#include "weft/Plan/Cost/PanelModel.h"
#include <gtest/gtest.h>

using namespace weft::plan;

static PanelTrace makeTrace(const LaunchModel &launch, const std::string &text) {
  PanelTrace trace;
  std::string error;
  EXPECT_TRUE(listPanels(launch, makeOrder(text, launch.getGrids()), trace, error)) << error;
  return trace;
}

/// Panels of 16 x 256 elements of 2 bytes; the result is left out.
static LaunchModel makeSquare(int64_t tiles) {
  GemmModelShape shape;
  shape.m = shape.n = 16 * tiles, shape.k = 256;
  shape.tileM = shape.tileN = 16;
  LaunchModel launch = makeGemmLaunch(shape);
  launch.stages[0].accesses.pop_back();
  return launch;
}

TEST(PanelTrace, IsThePanelModelForEqualPanels) {
  LaunchModel launch = makeSquare(16);
  for (const char *text : {"row", "serpentine", "morton", "hilbert", "grouped<3>", "grouped-snake<5>"}) {
    TileOrder order = makeOrder(text, {{16, 16}});
    PanelTrace trace = makeTrace(launch, text);
    for (int64_t panels : {2, 3, 6, 9, 40}) {
      int64_t capacity = panels * 16 * 256 * 2;
      PanelTraffic lru = runPanels(trace, capacity, Replacement::Lru);
      EXPECT_EQ(lru.loads, computeReuse(listPanelUses(order)).getLruLoads(panels)) << text << " " << panels;
      EXPECT_EQ(lru.reads, lru.loads * 16 * 256 * 2);
      PanelTraffic best = runPanels(trace, capacity, Replacement::FarthestUse);
      EXPECT_EQ(best.loads, computeOptimalReplacement(order, panels)) << text << " " << panels;
      EXPECT_GE(runPanels(trace, capacity, Replacement::Fifo).loads, best.loads);
    }
  }
}

TEST(PanelTrace, NamesAndSizes) {
  GemmModelShape shape;
  shape.m = 300, shape.n = 200, shape.k = 100;
  PanelTrace trace = makeTrace(makeGemmLaunch(shape), "row");
  EXPECT_EQ(trace.names,
            (std::vector<std::string>{"A0", "A1", "A2", "B0", "B1", "C0.0", "C0.1", "C1.0", "C1.1", "C2.0", "C2.1"}));
  EXPECT_EQ(trace.bytes[2], 44 * 200);
  EXPECT_EQ(trace.bytes[4], 100 * 144);
  EXPECT_EQ(trace.bytes[10], 44 * 144);
  ASSERT_EQ(trace.uses.size(), 6u);
  EXPECT_EQ(trace.uses[3].size(), 3u);
  EXPECT_EQ(trace.uses[3][2].panel, 8);
  EXPECT_TRUE(trace.uses[3][2].isWrite);
  EXPECT_EQ(trace.arrays, (std::vector<int32_t>{0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2}));
}

TEST(PanelTrace, ResultsAreWrittenOnce) {
  GemmModelShape shape;
  shape.m = shape.n = shape.k = 1024;
  LaunchModel launch = makeGemmLaunch(shape);
  for (Replacement policy : {Replacement::Lru, Replacement::Fifo, Replacement::FarthestUse}) {
    PanelTraffic traffic = runPanels(makeTrace(launch, "row"), 1 << 20, policy);
    EXPECT_EQ(traffic.writes + traffic.left, launch.getCompulsoryWrites());
    EXPECT_GE(traffic.reads, launch.getCompulsoryReads());
    EXPECT_EQ(runPanels(makeTrace(launch, "row"), 1 << 30, policy).reads, launch.getCompulsoryReads());
  }
}

/// A chain in strips: what the second stage reads of the first is still there.
using Panels = std::vector<int32_t>;

/// Two by two tiles: panels A0, A1, B0, B1 of 16 KiB, then the results of 32 KiB.
TEST(PanelTrace, WatchesOneBlock) {
  GemmModelShape shape;
  shape.m = shape.n = 256, shape.k = 64;
  PanelTrace trace = makeTrace(makeGemmLaunch(shape), "row");
  PanelStep first = watchPanels(trace, 80 << 10, Replacement::Lru, 0), step;
  EXPECT_EQ(first.loads, (Panels{0, 2}));
  EXPECT_EQ(first.held, (Panels{0, 2, 4}));
  EXPECT_EQ(first.traffic.writes, 0);
  step = watchPanels(trace, 80 << 10, Replacement::Lru, 1);
  EXPECT_EQ(step.hits, Panels{0});
  EXPECT_EQ(step.loads, Panels{3});
  EXPECT_EQ(step.stored, Panels{5});
  EXPECT_EQ(step.evicted, (Panels{2, 4}));
  EXPECT_EQ(step.held, (Panels{0, 3, 5}));
  EXPECT_EQ(step.traffic.reads, 48 << 10);
  EXPECT_EQ(step.traffic.writes, 32 << 10);
  EXPECT_EQ(step.traffic.left, 32 << 10);
  // What comes behind the block decides here: the result is not needed again, B0 is.
  step = watchPanels(trace, 80 << 10, Replacement::FarthestUse, 1);
  EXPECT_EQ(step.evicted, Panels{4});
  EXPECT_EQ(step.hits, Panels{0});
  EXPECT_EQ(watchPanels(trace, 80 << 10, Replacement::Fifo, 3).traffic.reads,
            runPanels(trace, 80 << 10, Replacement::Fifo).reads);
}

TEST(PanelTrace, ChainsReadWhatTheyWrote) {
  ChainModelShape shape;
  shape.m = 2048, shape.k = shape.n = 512, shape.l = 1024;
  LaunchModel launch = makeChainLaunch(shape);
  int64_t inputs = launch.getCompulsoryReads();
  PanelTrace strips = makeTrace(launch, "chain<1>"), stages = makeTrace(launch, "chain<16>");
  EXPECT_EQ(stages.uses.back().size(), 8u + 1 + 1) << "a row of the intermediate, a column of D, a tile of E";
  EXPECT_EQ(runPanels(strips, 4 << 20, Replacement::Lru).reads, inputs);
  EXPECT_GE(runPanels(stages, 4 << 20, Replacement::Lru).reads, inputs + 2048 * 1024 * 2);
}

TEST(PanelTrace, CausalAttentionReadsWholeHeads) {
  AttentionModelShape shape;
  shape.heads = 4, shape.group = 2, shape.queries = shape.keys = 512, shape.isCausal = true;
  PanelTrace trace = makeTrace(makeAttentionLaunch(shape), "row");
  EXPECT_EQ(runPanels(trace, 1 << 30, Replacement::Lru).reads, 4 * 512 * 256 + 2 * 2 * 512 * 256);
}

TEST(PanelTrace, RefusesWhatDoesNotFit) {
  PanelTrace trace;
  std::string error;
  EXPECT_FALSE(listPanels(makeChainLaunch({}), makeOrder("row", {{1, 1}}), trace, error));
  EXPECT_EQ(error, "expected an order of 2 stages, got 1");
}
