// Sectors, wavefronts and bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The measured tables are what Nsight Compute read on an H100 for one warp per launch: a row per kind of access, a
// column per pattern of addresses (see `pattern`). The rest is derived by hand.
#include "Emulator/Counters/WarpAccess.h"

#include <gtest/gtest.h>

using namespace weft::emu;

namespace {

constexpr unsigned kPatterns = 34;

struct Addresses {
  uint64_t of[32];
  uint32_t mask = ~0u;
};

/// Byte offset of a lane under patterns 10 and up.
unsigned irregular(unsigned index, unsigned lane, unsigned width) {
  uint32_t random = lane * 2654435761u;
  switch (index) {
  case 10:
    return 0;
  case 11:
    return (lane & 1) * width;
  case 12:
  case 13:
  case 14:
  case 15:
    return (lane >> (index - 11)) * width;
  case 16:
    return (lane & 15) * width;
  case 17:
    return (lane & 7) * width;
  case 18:
    return (31 - lane) * width;
  case 19:
    return (lane ^ 5) * width;
  case 20:
    return (1 + lane) * width;
  case 21:
    return (random >> 20 & 255) * width;
  case 22:
    return (random >> 24 & 31) * width;
  case 25:
    return lane * 32 * width;
  case 26:
    return lane * 16 + lane / 8 * 16;
  case 27:
    return lane * 48;
  case 28:
    return lane * 80;
  case 29:
    return lane * 144;
  case 30:
    return (lane & 7) * 128 + (lane / 8 ^ (lane & 7)) * 16;
  case 31:
    return (lane & 7) * 128 + lane / 8 * 16;
  case 32:
    return (lane & 3) * width + (lane >> 4) * 256;
  case 33:
    return lane * 128 + (lane & 7) * 16;
  default: // 23 and 24: contiguous, half of the lanes.
    return lane * width;
  }
}

/// Pattern number `index` of lanes of `width` bytes; the first ten are strides.
Addresses pattern(unsigned index, unsigned width) {
  static const unsigned kStrides[] = {1, 2, 3, 4, 5, 8, 16, 17, 32, 33};
  Addresses addresses;
  for (unsigned lane = 0; lane < 32; ++lane)
    addresses.of[lane] = index < 10 ? lane * kStrides[index] * width : irregular(index, lane, width);
  addresses.mask = index == 23 ? 0xffff : index == 24 ? 0x55555555 : index == 25 ? 0x000f000f : ~0u;
  return addresses;
}

TEST(WarpAccess, SectorsOfStoresAsMeasured) {
  struct {
    unsigned width;
    unsigned sectors[kPatterns];
  } const kMeasured[] = {
      {4, {4, 8, 12, 16, 20, 32, 32, 32, 32, 32, 1,  1,  2,  1,  1,  1, 2,
           1, 4, 4,  5,  12, 4,  2,  4,  8,  18, 32, 32, 32, 16, 16, 2, 32}},
      {16, {16, 32, 32, 32, 32, 32, 32, 32, 32, 32, 1,  1,  8,  4,  2,  1, 8,
            4,  16, 16, 17, 18, 16, 8,  16, 8,  18, 32, 32, 32, 16, 16, 4, 32}},
  };
  for (const auto &row : kMeasured)
    for (unsigned i = 0; i < kPatterns; ++i) {
      Addresses addresses = pattern(i, row.width);
      EXPECT_EQ(touchedSectors(addresses.of, addresses.mask, row.width).count, row.sectors[i])
          << row.width << " bytes, pattern " << i;
    }
}

TEST(WarpAccess, SectorsOfReductionsAsMeasured) {
  const unsigned kMeasured[kPatterns] = {4, 8, 12, 16, 20, 32, 32, 32, 32, 32, 32, 16, 4,  4,  8,  16, 4,
                                         4, 4, 4,  5,  18, 7,  2,  4,  8,  18, 32, 32, 32, 16, 16, 8,  32};
  for (unsigned i = 0; i < kPatterns; ++i) {
    Addresses addresses = pattern(i, 4);
    EXPECT_EQ(touchedSectors(addresses.of, addresses.mask, 4).passes, kMeasured[i]) << "pattern " << i;
  }
}

TEST(WarpAccess, WavefrontsOfSharedMemoryAsMeasured) {
  struct {
    SharedAccess kind;
    unsigned width;
    unsigned wavefronts[kPatterns];
    unsigned conflicts[kPatterns];
  } const kMeasured[] = {
      {SharedAccess::Store,
       4,
       {1, 2, 1, 4, 1, 8, 16, 1, 32, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 4, 4, 4, 4, 4, 8, 2, 4},
       {0, 1, 0, 3, 0, 7, 15, 0, 31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 3, 3, 3, 3, 3, 7, 1, 3}},
      {SharedAccess::Store,
       8,
       {2, 4, 2, 8, 2, 16, 32, 2, 32, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4, 1, 2, 8, 4, 4, 4, 4, 4, 16, 2, 4},
       {0, 2, 0, 6, 0, 14, 30, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 6, 2, 2, 2, 2, 2, 14, 0, 2}},
      {SharedAccess::Store,
       16,
       {4, 8, 4, 16, 4, 32, 32, 4, 32, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 7, 7, 2, 4, 8, 4, 4, 4, 4, 4, 32, 4, 4},
       {0, 4, 0, 12, 0, 28, 28, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 6, 0, 0, 0, 0, 0, 28, 0, 0}},
      {SharedAccess::Atomic,
       4,
       {1, 2, 1, 4, 1, 8, 16, 1, 32, 1, 32, 16, 2, 4, 8, 16, 2, 4, 1, 1, 1, 2, 2, 1, 1, 8, 4, 4, 4, 4, 4, 8, 8, 4},
       {0, 1, 0, 3, 0, 7, 15, 0, 31, 0, 31, 15, 1, 3, 7, 15, 1, 3, 0, 0, 0, 1, 1, 0, 0, 7, 3, 3, 3, 3, 3, 7, 7, 3}},
  };
  for (const auto &row : kMeasured)
    for (unsigned i = 0; i < kPatterns; ++i) {
      Addresses addresses = pattern(i, row.width);
      SharedCost cost = sharedCost(row.kind, addresses.of, addresses.mask, row.width);
      EXPECT_EQ(cost.wavefronts, row.wavefronts[i]) << int(row.kind) << ", " << row.width << " bytes, pattern " << i;
      EXPECT_EQ(cost.conflicts, row.conflicts[i]) << int(row.kind) << ", " << row.width << " bytes, pattern " << i;
    }
}

/// stmatrix .x4: a pass per matrix, eight row addresses each.
TEST(WarpAccess, WavefrontsOfStmatrixAsMeasured) {
  const unsigned kMeasured[kPatterns] = {4, 8, 4, 16, 4, 32, 32, 4, 32, 4, 4, 4, 4, 4, 4,  4, 4,
                                         4, 4, 4, 4,  7, 7,  4,  4, 32, 4, 4, 4, 4, 4, 32, 4, 4};
  for (unsigned i = 0; i < kPatterns; ++i) {
    Addresses addresses = pattern(i, 16);
    SharedCost cost = sharedCost(SharedAccess::Matrix, addresses.of, ~0u, 16);
    EXPECT_EQ(cost.wavefronts, kMeasured[i]) << "pattern " << i;
    EXPECT_EQ(cost.conflicts, kMeasured[i] - 4) << "pattern " << i;
  }
}

/// A load at a stride of s words meets gcd(s, 32) words in each bank that it uses.
TEST(WarpAccess, LoadsAtStrides) {
  for (unsigned stride = 1; stride <= 33; ++stride) {
    unsigned gcd = 32;
    while (stride % gcd != 0)
      gcd /= 2;
    Addresses addresses;
    for (unsigned lane = 0; lane < 32; ++lane)
      addresses.of[lane] = lane * stride * 4;
    SharedCost cost = sharedCost(SharedAccess::Load, addresses.of, ~0u, 4);
    EXPECT_EQ(cost.wavefronts, gcd) << stride;
    EXPECT_EQ(cost.conflicts, gcd - 1) << stride;
  }
}

TEST(WarpAccess, NarrowNeighboursShareAWord) {
  Addresses addresses = pattern(0, 2);
  EXPECT_EQ(sharedCost(SharedAccess::Store, addresses.of, ~0u, 2).wavefronts, 1u);
  addresses = pattern(0, 1);
  EXPECT_EQ(sharedCost(SharedAccess::Load, addresses.of, ~0u, 1).wavefronts, 1u);
  EXPECT_EQ(touchedSectors(addresses.of, ~0u, 1).count, 1u);
}

constexpr unsigned kLoadPatterns = 20;

/// The elements that the lanes load, for the measured loads.
unsigned loadPattern(unsigned index, unsigned lane) {
  const unsigned elements[kLoadPatterns] = {lane,           0,
                                            lane & 1,       lane / 2,
                                            lane / 4,       lane / 8,
                                            lane / 16,      lane & 15,
                                            lane & 7,       lane & 3,
                                            lane * 2,       lane * 3,
                                            lane * 8,       lane ^ 5,
                                            31 - lane,      lane / 2 * 2,
                                            lane & ~2u,     lane / 8 * 8 + (lane & 1),
                                            lane * 37 % 64, lane * 7 % 16};
  return elements[index];
}

TEST(WarpAccess, SharedLoadsAsMeasured) {
  struct {
    SharedAccess kind;
    unsigned width;
    unsigned wavefronts[kLoadPatterns];
    unsigned conflicts[kLoadPatterns];
  } const kMeasured[] = {
      {SharedAccess::Load, 8, {2, 1, 1, 1, 1, 1, 1, 2, 2, 2, 4, 2, 16, 2, 2, 2, 2, 2, 2, 2}, {0, 0, 0, 0, 0, 0,  0,
                                                                                              0, 0, 0, 2, 0, 14, 0,
                                                                                              0, 1, 1, 1, 0, 0}},
      {SharedAccess::Load, 16, {4, 2, 2, 2, 2, 2, 2, 4, 4, 4, 8, 4, 32, 4, 4, 4, 4, 4, 4, 4}, {0, 0, 0, 0, 0, 0,  0,
                                                                                               0, 0, 0, 4, 0, 28, 0,
                                                                                               0, 2, 2, 2, 0, 0}},
      {SharedAccess::Matrix,
       16, // ldmatrix .x4
       {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 4, 32, 4, 4, 4, 4, 4, 4, 4},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 28, 0, 0, 0, 0, 0, 0, 0}},
  };
  for (const auto &row : kMeasured)
    for (unsigned i = 0; i < kLoadPatterns; ++i) {
      uint64_t addresses[32];
      for (unsigned lane = 0; lane < 32; ++lane)
        addresses[lane] = loadPattern(i, lane) * row.width;
      SharedCost cost = sharedCost(row.kind, addresses, ~0u, row.width);
      EXPECT_EQ(cost.wavefronts, row.wavefronts[i]) << int(row.kind) << ", " << row.width << " bytes, pattern " << i;
      EXPECT_EQ(cost.conflicts, row.conflicts[i]) << int(row.kind) << ", " << row.width << " bytes, pattern " << i;
    }
}

TEST(WarpAccess, SectorsOfLoadsAsMeasured) {
  struct {
    unsigned width;
    unsigned sectors[kLoadPatterns];
  } const kMeasured[] = {{16, {16, 1, 1, 8, 4, 2, 1, 8, 4, 2, 32, 32, 32, 16, 16, 16, 8, 4, 26, 8}},
                         {4, {4, 1, 1, 2, 1, 1, 1, 2, 1, 1, 8, 12, 32, 4, 4, 4, 4, 4, 8, 2}}};
  for (const auto &row : kMeasured)
    for (unsigned i = 0; i < kLoadPatterns; ++i) {
      uint64_t addresses[32];
      for (unsigned lane = 0; lane < 32; ++lane)
        addresses[lane] = loadPattern(i, lane) * row.width;
      EXPECT_EQ(touchedSectors(addresses, ~0u, row.width).count, row.sectors[i])
          << row.width << " bytes, pattern " << i;
    }
}

/// Rows of 128 bytes: without a swizzle the eight rows of a matrix are in the same four banks; XOR with the row number
/// spreads them.
TEST(WarpAccess, MatrixLoads) {
  Addresses rows = pattern(31, 16);
  EXPECT_EQ(sharedCost(SharedAccess::Matrix, rows.of, 0xff, 16).conflicts, 7u);
  EXPECT_EQ(sharedCost(SharedAccess::Matrix, rows.of, ~0u, 16).wavefronts, 32u);
  rows = pattern(30, 16);
  EXPECT_EQ(sharedCost(SharedAccess::Matrix, rows.of, 0xff, 16).wavefronts, 1u);
  EXPECT_EQ(sharedCost(SharedAccess::Matrix, rows.of, 0xffff, 16).wavefronts, 2u);
  EXPECT_EQ(sharedCost(SharedAccess::Matrix, rows.of, ~0u, 16).conflicts, 0u);
}

TEST(WarpAccess, LinesAndCoveredBytes) {
  Addresses addresses = pattern(20, 4);
  TouchedSectors touched = touchedSectors(addresses.of, ~0u, 4);
  EXPECT_EQ(touched.count, 5u);
  EXPECT_EQ(touched.lines, 2u);
  EXPECT_EQ(touched.sector[0].bytes, 0xfffffff0u);
  EXPECT_EQ(touched.sector[1].bytes, 0xffffffffu);
  EXPECT_EQ(touched.sector[4].number, 4u);
  EXPECT_EQ(touched.sector[4].bytes, 0x0000000fu);
  EXPECT_EQ(touchedSectors(addresses.of, 0, 4).count, 0u);
}

} // namespace
