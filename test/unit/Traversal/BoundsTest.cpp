// Lower bounds: known closed forms for products, chains, attention and convolutions; never above what a tiling moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Cost/Bounds.h"
#include "Convolution.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace weft::plan;

static TrafficBound bound(const AffineGroup &group, double fastBytes) {
  TrafficBound result;
  std::string error;
  EXPECT_TRUE(computeTrafficBound(group, fastBytes, result, error)) << error;
  return result;
}

/// Elements: 2 m n k / sqrt S - 2 S.
TEST(Bounds, ProductsAreAtTwoMnkOverRootS) {
  for (int64_t extent : {4096, 16384})
    for (double elements : {1e4, 1e5, 1e6, 5e6}) {
      double leading = 2 * std::pow(double(extent), 3) / std::sqrt(elements), want = 2 * (leading - 2 * elements);
      double got = bound(makeGemmGroup(extent, extent, extent), 2 * elements).partition;
      EXPECT_GT(got, 0.99 * want);
      EXPECT_LT(got, 1.01 * 2 * leading);
    }
  double leading = 2 * 2 * std::pow(16384.0, 3) / 1000; // S = 10^6: within 1 %.
  EXPECT_NEAR(bound(makeGemmGroup(16384, 16384, 16384), 2e6).partition, leading, 0.01 * leading);
  // What fits moves once.
  TrafficBound fits = bound(makeGemmGroup(4096, 4096, 4096), 40 << 20);
  EXPECT_LT(fits.partition, 60.0e6);
  EXPECT_DOUBLE_EQ(fits.bytes, 3 * 4096.0 * 4096 * 2);
}

TEST(Bounds, ElementSizesAndBatchesScale) {
  double one = bound(makeGemmGroup(4096, 4096, 4096), 1 << 16).partition;
  EXPECT_NEAR(bound(makeGemmGroup(4096, 4096, 4096, 4), 1 << 17).partition, 2 * one, 0.01 * one);
  EXPECT_NEAR(bound(makeGemmGroup(4096, 4096, 4096, 2, 8), 1 << 16).partition, 8 * one, 0.05 * one);
}

/// k + n above 2 sqrt S: tile by tile, 2 m l (k + n) / sqrt S. Below: m l (k + n)^2 / S.
TEST(Bounds, ChainsTurnWhereRowsFit) {
  double wide = 2 * 2 * 16384.0 * 16384 * 8192 / std::sqrt(1e6); // 2 sqrt S = 2000.
  EXPECT_NEAR(bound(makeChainGroup(16384, 4096, 16384, 4096), 2e6).partition, wide, 0.02 * wide);
  double narrow = 2 * 65536.0 * 65536 * 256 * 256 / 1e6;
  EXPECT_NEAR(bound(makeChainGroup(65536, 128, 65536, 128), 2e6).partition, narrow, 0.02 * narrow);
}

/// Attention: slope -1 in log S above S = d^2, -1/2 below.
TEST(Bounds, AttentionHasTwoSlopes) {
  AffineGroup group = makeChainGroup(65536, 256, 65536, 256);
  auto slope = [&](double elements) {
    return std::log2(bound(group, 4 * elements).partition / bound(group, 2 * elements).partition);
  };
  EXPECT_NEAR(slope(16 * 65536), -1.0, 0.05);
  EXPECT_NEAR(slope(65536.0 / 64), -0.5, 0.05);
  // 32 heads of 4096 x 128 need no more than their inputs and outputs in an L2.
  TrafficBound heads = bound(makeChainGroup(4096, 128, 4096, 128, 2, 32), 40 << 20);
  EXPECT_DOUBLE_EQ(heads.bytes, 134217728);
}

/// Heads that share keys are rows of one product; of a causal mask half of the keys count, of a broken group nothing.
TEST(Bounds, AttentionIsAChainForEachGroup) {
  auto same = [](const AffineGroup &a, const AffineGroup &b) {
    TrafficBound one = bound(a, 1 << 16), other = bound(b, 1 << 16);
    EXPECT_DOUBLE_EQ(one.partition, other.partition);
    EXPECT_DOUBLE_EQ(one.compulsory, other.compulsory);
  };
  same(makeAttentionGroup(6, 1, 512, 301, 64, false), makeChainGroup(512, 64, 301, 64, 2, 6));
  same(makeAttentionGroup(6, 3, 512, 301, 64, true), makeChainGroup(3 * 512, 64, 151, 64, 2, 2));
  same(makeAttentionGroup(7, 3, 512, 301, 64, false), makeAttentionGroup(6, 3, 512, 301, 64, false));
  same(makeAttentionGroup(2, 8, 512, 301, 64, false, 4), makeChainGroup(2 * 512, 64, 301, 64, 4, 1));
}

/// 2 MACs / sqrt(R S) with R = 9 / stride^2 uses of an input by a window.
TEST(Bounds, ConvolutionsReuseWindows) {
  for (int64_t stride : {1, 2}) {
    ConvolutionGroupShape shape;
    shape.batch = 64, shape.height = shape.width = 112, shape.outChannels = 512, shape.inChannels = 512;
    shape.stride = stride;
    double elements = 1e5, macs = 64.0 * 112 * 112 * 512 * 512 * 9, reuse = 9.0 / double(stride * stride);
    double want = 2 * 2 * macs / std::sqrt(reuse * elements);
    double got = bound(makeConvolutionGroup(shape), 2 * elements).partition;
    EXPECT_GT(got, 0.95 * want) << stride;
    EXPECT_LT(got, 1.25 * want) << "halos cost a little: " << stride;
  }
  ConvolutionGroupShape point;
  point.batch = 64, point.height = point.width = 56, point.outChannels = point.inChannels = 1024;
  point.kernelHeight = point.kernelWidth = 1;
  double want = 2 * 2 * 64.0 * 56 * 56 * 1024 * 1024 / std::sqrt(1e5);
  EXPECT_NEAR(bound(makeConvolutionGroup(point), 2e5).partition, want, 0.01 * want) << "1x1 is a product";
}

/// An a x b block of C stays, A and B stream: a schedule that moves m n k (1/a + 1/b) + 2 m n elements at least.
TEST(Bounds, NoTilingMovesLess) {
  for (int64_t n : {256, 1000, 4096})
    for (int64_t k : {64, 1000, 4096})
      for (double elements : {1e3, 1e4, 1e6}) {
        double side = std::sqrt(elements + 1) - 1, a = std::min(side, 2048.0), b = std::min(side, double(n));
        double volume = 2048.0 * double(n) * double(k);
        double moved = volume * (1 / a + 1 / b) + 2 * 2048.0 * double(n);
        EXPECT_LE(bound(makeGemmGroup(2048, n, k), 2 * elements).partition, 2 * moved) << n << " " << k;
      }
}

/// V(X) against every box of powers of two: the search is at least as good.
TEST(Bounds, SearchFindsTheBestBox) {
  TrafficBound found = bound(makeGemmGroup(512, 64, 2048), 8192);
  double X = found.partBytes, most = 0;
  for (double a = 1; a <= 512; a *= 2)
    for (double b = 1; b <= 64; b *= 2)
      for (double c = 1; c <= 2048; c *= 2)
        if (2 * (a * c + c * b + a * b) <= X)
          most = std::max(most, a * b * c);
  double total = 512.0 * 64 * 2048, volume = total / (found.partition / (X - 8192) + 1);
  EXPECT_GE(volume, most);
  EXPECT_NEAR(found.tile[0] * found.tile[1] * found.tile[2], volume, 1e-6 * volume);
}

/// The table of what fusion of a feed-forward block saves, in MB (S = the whole L2, 16-bit elements).
TEST(Bounds, ChainTable) {
  const struct {
    int64_t k, l, n;
    double l2;
    double unfused, fused;
  } rows[] = {{4096, 14336, 4096, 40e6, 601, 430},  {8192, 28672, 8192, 40e6, 2023, 1721},
              {4096, 14336, 4096, 6e6, 1262, 1111}, {4096, 14336, 4096, 72e6, 546, 302},
              {4096, 14336, 4096, 2e6, 2075, 1924}, {4096, 14336, 4096, 50e6, 578, 382}};
  for (const auto &row : rows) {
    ChainTraffic traffic = computeChainTraffic(4096, row.k, row.l, row.n, row.l2 / 2, 2);
    EXPECT_NEAR(traffic.unfused * 1e-6, row.unfused, 1) << row.l2;
    EXPECT_NEAR(traffic.fused * 1e-6, row.fused, 1) << row.l2;
    EXPECT_EQ(traffic.rowResident < traffic.tileWise, row.k == 4096 && row.l2 >= 50e6) << row.l2;
    EXPECT_LE(bound(makeChainGroup(4096, row.k, row.l, row.n), row.l2).bytes, 1.01 * traffic.fused) << row.l2;
  }
}

TEST(Bounds, RefusesMalformedGroups) {
  TrafficBound result;
  auto refuse = [&](const AffineGroup &group, double bytes) {
    std::string error;
    EXPECT_FALSE(computeTrafficBound(group, bytes, result, error));
    return error;
  };
  EXPECT_NE(refuse({}, 100), "");
  AffineGroup group = makeGemmGroup(0, 4, 4);
  EXPECT_EQ(refuse(group, 100), "loop m: expected an extent of 1 to 2147483648, got 0");
  group = makeGemmGroup(4, 4, 4);
  EXPECT_NE(refuse(group, 0), "");
  EXPECT_NE(refuse(group, std::nan("")), "");
  group.statements[0].reads = {0, 7};
  EXPECT_EQ(refuse(group, 100), "expected statements over the group's loops and arrays");
  group.statements[0].reads = {0};
  EXPECT_EQ(refuse(group, 100), "expected every array to have a statement that uses it");
}
