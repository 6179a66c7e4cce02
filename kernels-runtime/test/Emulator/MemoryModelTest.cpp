// L1, L2 and DRAM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small caches whose contents can be followed by hand, the figures of cold streams measured on an H100, and the cost of
// an access.
#include "Emulator/Counters/MemoryModel.h"

#include <gtest/gtest.h>

#include <ctime>

using namespace weft::emu;

namespace {

constexpr uint64_t kSet = 2 * kLineBytes; ///< One set of two ways: everything falls into it.
constexpr EvictionClass kNormal = EvictionClass::Normal;

TEST(SectorCache, SectorsComeOneByOne) {
  SectorCache cache(kSet, 2, /*fetchesPairs=*/false);
  SectorTraffic traffic = cache.read(7, 0b0011, kNormal);
  EXPECT_EQ(traffic.hits, 0u);
  EXPECT_EQ(traffic.fetched, 0b0011u);
  traffic = cache.read(7, 0b0110, kNormal);
  EXPECT_EQ(traffic.hits, 1u);
  EXPECT_EQ(traffic.fetched, 0b0100u);
}

TEST(SectorCache, PairsComeTogether) {
  SectorCache cache(kSet, 2, /*fetchesPairs=*/true);
  EXPECT_EQ(cache.read(7, 0b0001, kNormal).fetched, 0b0011u);
  EXPECT_EQ(cache.read(7, 0b0110, kNormal).fetched, 0b1100u);
  EXPECT_EQ(cache.read(7, 0b1111, kNormal).hits, 4u);
}

TEST(SectorCache, LeastRecentlyUsedGoes) {
  SectorCache cache(kSet, 2, false);
  cache.read(1, 1, kNormal);
  cache.read(2, 1, kNormal);
  cache.read(1, 1, kNormal);
  cache.read(3, 1, kNormal); // In place of 2.
  EXPECT_EQ(cache.read(1, 1, kNormal).hits, 1u);
  EXPECT_EQ(cache.read(2, 1, kNormal).hits, 0u);
}

TEST(SectorCache, EvictionClassesGoInOrder) {
  SectorCache cache(kSet, 2, false);
  cache.read(1, 1, EvictionClass::Last);
  cache.read(2, 1, EvictionClass::First);
  cache.read(3, 1, kNormal); // In place of 2, though 1 is older.
  cache.read(4, 1, kNormal); // In place of 3.
  EXPECT_EQ(cache.read(1, 1, EvictionClass::NoAllocate).hits, 1u);
  EXPECT_EQ(cache.read(3, 1, EvictionClass::NoAllocate).hits, 0u);
  EXPECT_EQ(cache.read(3, 1, EvictionClass::NoAllocate).hits, 0u);
}

TEST(SectorCache, DirtySectorsAreWrittenBackOnce) {
  SectorCache cache(kSet, 2, false);
  EXPECT_EQ(cache.write(1, 0b0111, 0, kNormal).hits, 3u);
  SectorTraffic traffic = cache.write(2, 0b0001, 0b0001, kNormal);
  EXPECT_EQ(traffic.fetched, 0b0001u);
  EXPECT_EQ(traffic.misses, 1u);
  cache.read(2, 0b0010, kNormal);
  EXPECT_EQ(cache.read(3, 1, kNormal).writeBacks, 3u);
  EXPECT_EQ(cache.flush(), 1u);
  EXPECT_EQ(cache.flush(), 0u);
}

TEST(SectorCache, NothingHitsWithoutSets) {
  SectorCache cache(100, 2, false);
  EXPECT_EQ(cache.read(1, 0b1111, kNormal).misses, 4u);
  EXPECT_EQ(cache.write(1, 0b1111, 0, kNormal).writeBacks, 4u);
  EXPECT_EQ(cache.read(1, 0b1111, kNormal).misses, 4u);
}

MemoryModelConfig h100() { return {132, 0, uint64_t(50) << 20, 2}; }

/// One warp after the other reads words at a stride, 1024 CTAs of 8 warps, as the measured kernel did.
MemoryTraffic strided(MemoryModelConfig config, uint64_t stride) {
  MemoryModel model(config);
  uint64_t addresses[32];
  for (uint32_t warp = 0; warp < 8192; ++warp) {
    for (uint32_t lane = 0; lane < 32; ++lane)
      addresses[lane] = (uint64_t(warp) * 32 + lane) * stride;
    model.access(GlobalOp::Load, warp / 8 % config.sms, touchedSectors(addresses, ~0u, 4), true, kNormal, kNormal);
  }
  return model.traffic();
}

/// Measured: sectors at L2 (less about 915 of the launch itself) and at DRAM (less about 80).
TEST(MemoryModel, ColdStreamsAsMeasuredOnH100) {
  struct {
    uint64_t stride, l2, dram;
  } const kMeasured[] = {{4, 49231, 32856},    {8, 99419, 65624},    {16, 197605, 131160},
                         {32, 394225, 262232}, {64, 525292, 524368}, {128, 525303, 524408}};
  for (const auto &row : kMeasured) {
    MemoryTraffic traffic = strided(h100(), row.stride);
    EXPECT_NEAR(double(traffic.l2Reads), double(row.l2 - 915), 0.03 * double(row.l2)) << row.stride;
    EXPECT_NEAR(double(traffic.dramReads), double(row.dram - 80), 0.001 * double(row.dram)) << row.stride;
  }
}

TEST(MemoryModel, OnePartitionLooksOnce) {
  MemoryTraffic traffic = strided({84, 0, uint64_t(6) << 20, 1}, 32);
  EXPECT_EQ(traffic.l2Reads, 262144u);
  EXPECT_EQ(traffic.l2Fabric, 0u);
  EXPECT_EQ(traffic.dramReads, 262144u);
}

TouchedSectors words(uint64_t first, uint32_t mask, unsigned bytes) {
  uint64_t addresses[32];
  for (unsigned lane = 0; lane < 32; ++lane)
    addresses[lane] = first + lane * bytes;
  return touchedSectors(addresses, mask, bytes);
}

TEST(MemoryModel, L1KeepsWhatWasRead) {
  MemoryModel model({2, 64 << 10, 1 << 20, 1});
  auto load = [&](uint32_t sm, bool usesL1) {
    model.access(GlobalOp::Load, sm, words(0, ~0u, 4), usesL1, kNormal, kNormal);
  };
  load(0, true);
  load(0, true);
  EXPECT_EQ(model.traffic().l1Hits, 4u);
  load(1, true);  // Another SM has its own.
  load(0, false); // ld.cg
  EXPECT_EQ(model.traffic().l1Hits, 4u);
  EXPECT_EQ(model.traffic().l2Reads, 12u);
  EXPECT_EQ(model.traffic().l2ReadHits, 8u);
  EXPECT_EQ(model.traffic().dramReads, 4u);
  model.invalidateL1(0);
  load(0, true);
  EXPECT_EQ(model.traffic().l1Hits, 4u);
}

TEST(MemoryModel, PartialStoresFetchNothing) {
  MemoryModel model({1, 0, 1 << 20, 1});
  model.access(GlobalOp::Store, 0, words(0, ~0u, 4), false, kNormal, kNormal);
  EXPECT_EQ(model.traffic().l2Writes, 4u);
  EXPECT_EQ(model.traffic().dramReads, 0u);
  model.access(GlobalOp::Store, 0, words(0, 1, 1), false, kNormal, kNormal);
  EXPECT_EQ(model.traffic().dramReads, 0u); // It is there already.
  model.access(GlobalOp::Store, 0, words(4096, 1, 1), false, kNormal, kNormal);
  EXPECT_EQ(model.traffic().dramReads, 0u);
}

TEST(MemoryModel, StoresAcrossPartitionsCountTwice) {
  MemoryModel model({2, 0, 50 << 20, 2});
  for (unsigned i = 0; i < 4096; ++i)
    model.access(GlobalOp::Store, i % 2, words(uint64_t(i) * 4096, ~0u, 4), false, kNormal, kNormal);
  EXPECT_NEAR(double(model.traffic().l2Writes), 1.5 * 4 * 4096, 0.05 * 4 * 4096);
}

TEST(MemoryModel, AtomicsAtOneAddressFollowEachOther) {
  MemoryModel model({1, 0, 1 << 20, 1});
  uint64_t addresses[32] = {};
  model.access(GlobalOp::Reduction, 0, touchedSectors(addresses, ~0u, 4), false, kNormal, kNormal);
  EXPECT_EQ(model.traffic().l2Reductions, 32u);
  EXPECT_EQ(model.traffic().l2AtomicHits, 31u);
  EXPECT_EQ(model.traffic().dramReads, 1u);
}

TEST(MemoryModel, RangesOfBulkCopies) {
  MemoryModel model({1, 64 << 10, 1 << 20, 1});
  model.range(GlobalOp::Load, 0, 16, 256, kNormal); // 16 .. 272: sectors 0 to 8, pairs to 9.
  EXPECT_EQ(model.traffic().l2Reads, 9u);
  EXPECT_EQ(model.traffic().dramReads, 10u);
  EXPECT_EQ(model.traffic().l1Lookups, 0u);
  model.range(GlobalOp::Store, 0, 16, 256, kNormal);
  EXPECT_EQ(model.traffic().l2Writes, 9u);
  EXPECT_EQ(model.traffic().dramReads, 10u);
  model.range(GlobalOp::Load, 0, 0, 0, kNormal);
  EXPECT_EQ(model.traffic().l2Reads, 9u);
}

/// The goal is tens of nanoseconds per sector; the bound leaves room for slow and shared machines.
TEST(MemoryModel, CostPerSector) {
  std::clock_t begin = std::clock(); // Of the processor: other work does not count.
  MemoryTraffic traffic = strided(h100(), 32);
  double nanoseconds = 1e9 * double(std::clock() - begin) / CLOCKS_PER_SEC;
  double perSector = nanoseconds / 262144;
  RecordProperty("nanosecondsPerSector", std::to_string(perSector));
  EXPECT_LT(perSector, 1000) << traffic.l2Reads;
}

} // namespace
