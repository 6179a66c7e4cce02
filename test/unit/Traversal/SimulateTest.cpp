// The simulation: equal to the panel model where both apply, hints, halves of an L2, chains, attention, what is
// refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/Simulate.h"
#include "MakeOrder.h"
#include "weft/Plan/Cost/PanelModel.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace weft::plan;

static SimulationResult run(const LaunchModel &launch, const std::string &text, const MachineModel &machine) {
  SimulationResult result;
  std::string error;
  EXPECT_TRUE(simulate(launch, makeOrder(text, launch.getGrids()), machine, result, error)) << error;
  return result;
}

static double megabytes(int64_t sectors) { return double(sectors) * 32e-6; }

static MachineModel makeH100(int64_t blocksPerSm = 1) {
  MachineModel machine;
  machine.blocksPerSm = blocksPerSm;
  machine.cache.partitions = 2;
  return machine;
}

/// One block at a time, whole panels of 64 lines, no result, `rows` x 32 tiles, a cache of `panels`.
static int64_t simulatePanels(const std::string &text, int64_t rows, int64_t panels, bool keepsRows) {
  GemmModelShape shape;
  shape.m = rows * 16, shape.n = 32 * 16;
  shape.tileM = shape.tileN = 16;
  shape.k = shape.tileK = 256;
  shape.isRhsTransposed = true;
  if (keepsRows) {
    shape.lhsHint = CacheHint::EvictLast;
    shape.rhsHint = CacheHint::EvictFirst;
  }
  LaunchModel launch = makeGemmLaunch(shape);
  launch.stages[0].accesses.pop_back();
  MachineModel machine;
  machine.sms = 1;
  machine.cache.ways = 0;
  machine.cache.bytes = panels * 64 * 128;
  machine.sampling = 1;
  return run(launch, text, machine).dramReads / (64 * 4);
}

TEST(Simulate, IsThePanelModelForOneBlock) {
  for (int64_t panels : {8, 16})
    for (const char *text : {"row", "serpentine", "morton", "hilbert", "grouped<6>", "grouped-snake<11>"})
      EXPECT_EQ(simulatePanels(text, 32, panels, false),
                computeReuse(listPanelUses(makeOrder(text, {{32, 32}}))).getLruLoads(panels))
          << text << " " << panels;
}

/// Within a strip, rows kept by evict-last and columns streamed by evict-first load each panel once, which LRU does
/// not. From strip to strip nothing frees the rows of the strip before: then the hints are worse than none.
TEST(Simulate, HintsKeepTheRowsOfAStrip) {
  EXPECT_EQ(simulatePanels("grouped<7>", 7, 8, true), 7 + 32);
  EXPECT_GT(simulatePanels("grouped<7>", 7, 8, false), 7 * 32);
  EXPECT_GT(simulatePanels("grouped-snake<7>", 32, 8, true), simulatePanels("grouped-snake<6>", 32, 8, false));
}

TEST(Simulate, LargeCachesLoadWhatIsCompulsory) {
  GemmModelShape shape;
  shape.m = 300, shape.n = 500, shape.k = 200;
  LaunchModel launch = makeGemmLaunch(shape);
  for (int64_t ways : {0, 16})
    for (int64_t partitions : {1, 2}) {
      MachineModel machine;
      machine.cache.ways = ways;
      machine.cache.partitions = partitions;
      machine.sampling = 1;
      SimulationResult result = run(launch, "row", machine);
      // Rows of 400 and 1000 bytes are 13 and 32 sectors.
      EXPECT_EQ(result.dramReads, 300 * 13 + 200 * 32);
      EXPECT_EQ(result.dramReadsByArray, (std::vector<int64_t>{300 * 13, 200 * 32, 0}));
      EXPECT_EQ(result.dirty, 300 * 32);
      EXPECT_EQ(result.dramWrites, 0);
      EXPECT_EQ(launch.getCompulsoryReads(), 300 * 400 + 200 * 1000);
    }
}

TEST(Simulate, SamplingKeepsRates) {
  GemmModelShape shape;
  shape.m = shape.n = 4096, shape.k = 1024;
  LaunchModel launch = makeGemmLaunch(shape);
  MachineModel machine = makeH100();
  machine.cache.bytes = 6 << 20;
  machine.sampling = 1;
  SimulationResult all = run(launch, "grouped<8>", machine);
  for (int64_t sampling : {8, 64}) {
    machine.sampling = sampling;
    SimulationResult some = run(launch, "grouped<8>", machine);
    EXPECT_EQ(some.readSectors, all.readSectors);
    EXPECT_NEAR(double(some.dramReads), double(all.dramReads), 0.03 * double(all.dramReads)) << sampling;
    EXPECT_NEAR(some.getHitRate(), all.getHitRate(), 0.01) << sampling;
  }
}

/// Measured on an H100 by ncu: 132.1 MB read, 2.4 MB written, L2 hit rate 69.2 %. One cache would hit more than halves
/// do.
TEST(Simulate, SkinnyProductOnAnH100) {
  GemmModelShape shape;
  shape.m = 512, shape.n = 4096, shape.k = 14336;
  MachineModel machine = makeH100();
  SimulationResult halves = run(makeGemmLaunch(shape), "row", machine);
  EXPECT_NEAR(megabytes(halves.dramReads), 132.1, 0.1);
  EXPECT_EQ(halves.dramWrites, 0) << "the result stays in the cache";
  machine.cache.partitions = 1;
  SimulationResult whole = run(makeGemmLaunch(shape), "row", machine);
  EXPECT_GT(whole.getHitRate(), halves.getHitRate() + 0.05);
  EXPECT_GT(halves.getHitRate(), 0.692);
}

/// 4096 x 4096 x 14336 in strips of 16: 521.2 MB; 2048 x 8192 x 28672: 988.0 MB.
TEST(Simulate, LargeProductsOnAnH100) {
  GemmModelShape shape;
  shape.m = shape.n = 4096, shape.k = 14336, shape.tileN = 256;
  EXPECT_NEAR(megabytes(run(makeGemmLaunch(shape), "grouped<16>", makeH100()).dramReads), 521.2, 0.02 * 521.2);
  shape.m = 2048, shape.n = 8192, shape.k = 28672;
  EXPECT_NEAR(megabytes(run(makeGemmLaunch(shape), "grouped<16>", makeH100()).dramReads), 988.0, 0.02 * 988.0);
}

TEST(Simulate, LargeProductWithinTwoSeconds) {
  GemmModelShape shape;
  shape.m = shape.n = shape.k = 8192;
  std::clock_t start = std::clock(); // Of the processor: other work does not count.
  SimulationResult grouped = run(makeGemmLaunch(shape), "grouped<8>", makeH100());
  EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 2.0);
  SimulationResult row = run(makeGemmLaunch(shape), "row", makeH100());
  EXPECT_LT(grouped.dramReads, row.dramReads);
  EXPECT_EQ(grouped.readSectors * 32, int64_t(64) * 64 * 2 * 128 * 8192 * 2) << "every block reads its two panels";
  EXPECT_NEAR(grouped.getWaves(), 4096.0 / 132, 1e-9);
}

/// The intermediate of strips that fit is never read from memory; row after row of whole stages it is.
TEST(Simulate, ChainsKeepTheIntermediate) {
  ChainModelShape shape;
  shape.m = 4096, shape.k = shape.n = 512, shape.l = 2048;
  LaunchModel launch = makeChainLaunch(shape);
  MachineModel machine;
  machine.sms = 16;
  machine.cache.bytes = 8 << 20;
  SimulationResult strips = run(launch, "chain<2>", machine), stages = run(launch, "chain<32>", machine);
  EXPECT_LT(strips.dramReadsByArray[2] * 32, 4096 * 2048 * 2 / 50);
  EXPECT_GT(stages.dramReadsByArray[2] * 32, 4096 * 2048 * 2 / 2);
  EXPECT_LT(strips.dramReads, stages.dramReads);
  EXPECT_GT(strips.ticks, stages.ticks) << "strips wait for each other";
}

TEST(Simulate, AttentionReadsKeysOfAGroupOnce) {
  AttentionModelShape shape;
  shape.heads = 32, shape.group = 4, shape.queries = shape.keys = 2048;
  LaunchModel launch = makeAttentionLaunch(shape);
  SimulationResult full = run(launch, "row", makeH100());
  EXPECT_NEAR(double(full.dramReads * 32), double(launch.getCompulsoryReads()), 0.01 * double(full.dramReads * 32));
  shape.isCausal = true;
  SimulationResult causal = run(makeAttentionLaunch(shape), "row", makeH100());
  EXPECT_NEAR(double(causal.readSectors) / double(full.readSectors), 0.5, 0.1);
}

TEST(Simulate, SkewChangesNoRequest) {
  GemmModelShape shape;
  shape.m = shape.n = shape.k = 2048;
  MachineModel machine = makeH100(2);
  SimulationResult together = run(makeGemmLaunch(shape), "column", machine);
  machine.skew = 8;
  SimulationResult apart = run(makeGemmLaunch(shape), "column", machine);
  EXPECT_EQ(together.readSectors, apart.readSectors);
  EXPECT_GT(apart.ticks, together.ticks);
}

TEST(Simulate, DriftPartsWaves) {
  GemmModelShape shape;
  shape.m = shape.n = shape.k = 8192, shape.tileN = 256;
  MachineModel machine = makeH100();
  // Measured: 3495 MB in rows, 1229 MB in strips of 16. Side by side all the time, rows would read a third less.
  SimulationResult together = run(makeGemmLaunch(shape), "row", machine);
  machine.drift = 8;
  machine.smsPerPort = 2;
  SimulationResult apart = run(makeGemmLaunch(shape), "row", machine);
  SimulationResult strips = run(makeGemmLaunch(shape), "grouped<16>", machine);
  EXPECT_LT(megabytes(together.dramReads), 2400);
  EXPECT_NEAR(megabytes(apart.dramReads), 3495, 0.15 * 3495);
  EXPECT_NEAR(megabytes(strips.dramReads), 1229, 0.02 * 1229);
  EXPECT_EQ(together.readSectors, apart.readSectors);
}

TEST(Simulate, NeighboursAskOnce) {
  GemmModelShape shape;
  shape.m = shape.n = 2048, shape.k = 1024;
  MachineModel machine = makeH100();
  SimulationResult alone = run(makeGemmLaunch(shape), "column", machine);
  EXPECT_EQ(alone.merged, 0);
  // Neighbours in a column share their panel of B: half of its requests, a quarter of all.
  machine.smsPerPort = 2;
  SimulationResult pairs = run(makeGemmLaunch(shape), "column", machine);
  EXPECT_EQ(pairs.readSectors, alone.readSectors);
  EXPECT_EQ(pairs.merged * 4, alone.readSectors);
  EXPECT_EQ(pairs.dramReads, alone.dramReads);
  EXPECT_LT(pairs.getHitRate(), alone.getHitRate()) << "as many misses, fewer look-ups";
}

TEST(Simulate, RefusesWhatIsOutOfRange) {
  LaunchModel launch = makeGemmLaunch({});
  TileOrder order = makeOrder("row", launch.getGrids());
  SimulationResult result;
  auto refuse = [&](const MachineModel &machine, const TileOrder &tiles) {
    std::string error;
    EXPECT_FALSE(simulate(launch, tiles, machine, result, error));
    return error;
  };
  MachineModel machine;
  machine.sms = 0;
  EXPECT_EQ(refuse(machine, order), "expected 1 to 4096 SMs with 1 to 64 blocks each, got 0 and 1");
  machine = {};
  machine.smsPerPort = 0;
  EXPECT_EQ(refuse(machine, order), "expected 1 to 4096 SMs at a port, got 0");
  machine = {};
  machine.drift = -1;
  EXPECT_EQ(refuse(machine, order), "expected a drift of 0 to 1048576 steps, got -1");
  machine = {};
  machine.cache.partitions = 3;
  EXPECT_EQ(refuse(machine, order), "expected a cache of 1 or 2 partitions, got 3");
  machine.cache = {};
  machine.cache.sectorBytes = 48;
  EXPECT_NE(refuse(machine, order), "");
  machine.cache = {};
  machine.sampling = 3;
  EXPECT_EQ(refuse(machine, order), "expected a sampling of a power of two, got 3");
  EXPECT_EQ(refuse({}, makeOrder("row", {{2, 2}})), "expected an order of 1x1 tiles, got 2x2");
  launch.arrays[0].rowBytes = int64_t(1) << 40;
  EXPECT_NE(refuse({}, order).find("use a larger sampling"), std::string::npos);
}
