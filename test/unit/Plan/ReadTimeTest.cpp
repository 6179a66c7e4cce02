// The model of reads: its constants, and the measured rows of memory-bound kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/ReadTime.h"
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::plan;

TEST(ReadTime, WhatIsReadAgainComesFromTheLevelThatHoldsIt) {
  const Device &device = *findDevice("H100");
  double dram = 0.875 * device.memoryBandwidth, l2 = device.l2BytesPerSecond(), l1 = 64 * device.clock * device.sms;
  constexpr double mb = 1e6, many = 1000;
  // Once: DRAM, whatever the size.
  EXPECT_DOUBLE_EQ(readSeconds(10 * mb, 10 * mb, many, device), 10 * mb / dram);
  // Again: from the L2 where the tensor fits it, from the L1 if it fits that, else from DRAM.
  EXPECT_DOUBLE_EQ(readSeconds(10 * mb, 30 * mb, many, device), 10 * mb / dram + 20 * mb / l2);
  EXPECT_DOUBLE_EQ(readSeconds(8192, 30 * mb, many, device), 8192 / dram + (30 * mb - 8192) / l1);
  EXPECT_DOUBLE_EQ(readSeconds(100 * mb, 300 * mb, many, device), 300 * mb / dram);
  EXPECT_DOUBLE_EQ(readSeconds(double(device.effectiveL2Bytes), 2 * double(device.effectiveL2Bytes), many, device),
                   double(device.effectiveL2Bytes) * (1 / dram + 1 / l2));
  // Few CTAs ask for 32 bytes a clock each.
  EXPECT_DOUBLE_EQ(readSeconds(10 * mb, 10 * mb, 4, device), 10 * mb / (4 * 32 * device.clock));
  // Less than the tensor: a slice of it.
  EXPECT_DOUBLE_EQ(readSeconds(10 * mb, 2 * mb, many, device), 2 * mb / dram);
}

TEST(ReadTime, ArithmeticHidesBehindMemory) {
  const Device &device = *findDevice("H100");
  EXPECT_DOUBLE_EQ(kernelSeconds(10e-6, 0, device), 10e-6 + device.kernelSeconds());
  EXPECT_DOUBLE_EQ(kernelSeconds(10e-6, 4e-6, device), 10e-6 + 0.05 * 4e-6 + device.kernelSeconds());
  EXPECT_DOUBLE_EQ(kernelSeconds(4e-6, 10e-6, device), 10e-6 + 0.05 * 4e-6 + device.kernelSeconds());
}

/// bench/gpu.py on an H100, 2026-11-21, bytes once, in ms: within 3 %.
TEST(ReadTime, MeasuredRows) {
  const Device &device = *findDevice("H100");
  const struct {
    const char *name;
    double read, written, measured;
  } rows[] = {{"rmsnorm_8192x4096", 2.0 * 8192 * 4096, 2.0 * 8192 * 4096, 0.0486},
              {"residual_rmsnorm_8192x4096", 4.0 * 8192 * 4096, 4.0 * 8192 * 4096, 0.0933},
              {"softmax_16384x4096", 2.0 * 16384 * 4096, 2.0 * 16384 * 4096, 0.0934},
              {"geglu_4096x10240", 2.0 * 4096 * 10240, 1.0 * 4096 * 10240, 0.0466}};
  for (const auto &row : rows) {
    double memory = readSeconds(row.read, row.read, 4096, device) + writeSeconds(row.written, device);
    EXPECT_NEAR(kernelSeconds(memory, 0, device) * 1e3 / row.measured, 1, 0.03) << row.name;
  }
}

TEST(ReadTime, RunsThatAreShorterThanATransactionWasteTheRest) {
  EXPECT_DOUBLE_EQ(coalescedBytes({64, 64}, {4096, 4096}, 2), 64 * 64 * 2);
  EXPECT_DOUBLE_EQ(coalescedBytes({64, 4}, {4096, 4096}, 2), 64 * 32);
  EXPECT_DOUBLE_EQ(coalescedBytes({64, 4}, {4096, 4}, 2), 64 * 4 * 2) << "whole rows lie side by side";
  EXPECT_DOUBLE_EQ(coalescedBytes({1, 1}, {4096, 4096}, 4), 32);
  EXPECT_DOUBLE_EQ(coalescedBytes({8, 1}, {4096, 4096}, 2, 128), 8 * 128);
}

TEST(MemoryLevels, BetweenKernels) {
  const Device &device = *findDevice("H100");
  EXPECT_EQ(levelBetweenKernels(double(device.effectiveL2Bytes), device), MemoryLevel::L2);
  EXPECT_EQ(levelBetweenKernels(double(device.effectiveL2Bytes) + 1, device), MemoryLevel::Memory);
  EXPECT_EQ(levelBetweenKernels(8e6, *findDevice("A40")), MemoryLevel::Memory);
  // Each level is faster than the next.
  for (const Device &each : getDevices())
    for (MemoryLevel level : {MemoryLevel::Register, MemoryLevel::Shared, MemoryLevel::Cluster, MemoryLevel::L2})
      if (level != MemoryLevel::Cluster) {
        EXPECT_GT(bandwidthOf(level, each), bandwidthOf(MemoryLevel(unsigned(level) + 1), each)) << each.name;
      }
}
