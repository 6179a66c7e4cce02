// The products of kernels as groups: their bounds are those of the named groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Traversal/Convolution.h"
#include "Kernels.h"
#include "weft/Plan/KernelLaunch.h"

using namespace weft::plan;

static TrafficBound boundOf(const std::string &text, double bytes) {
  ParsedKernel parsed(text);
  std::optional<AffineGroup> group = describeGroup(parsed.get());
  EXPECT_TRUE(group) << text;
  TrafficBound bound;
  std::string error;
  EXPECT_TRUE(group && computeTrafficBound(*group, bytes, bound, error)) << error;
  return bound;
}

static TrafficBound boundOf(const AffineGroup &group, double bytes) {
  TrafficBound bound;
  std::string error;
  EXPECT_TRUE(computeTrafficBound(group, bytes, bound, error)) << error;
  return bound;
}

static void expectSame(const TrafficBound &got, const TrafficBound &want) {
  EXPECT_NEAR(got.partition / want.partition, 1, 0.01);
  EXPECT_DOUBLE_EQ(got.compulsory, want.compulsory);
}

TEST(LaunchGroup, Products) {
  expectSame(boundOf(makeProductText(4, 1024, 2048, 4096), 1e5), boundOf(makeGemmGroup(1024, 2048, 4096, 2, 4), 1e5));
}

TEST(LaunchGroup, Windows) {
  ConvolutionGroupShape shape;
  shape.height = shape.width = 56, shape.inChannels = 256, shape.outChannels = 512;
  expectSame(boundOf(makeWindowText(56, 256, 512), 1e5), boundOf(makeConvolutionGroup(shape), 1e5));
  EXPECT_GT(boundOf(makeWindowText(56, 256, 512), 1e4).partition, boundOf(makeConvolutionGroup(shape), 1e4).compulsory);
}

TEST(LaunchGroup, AttentionIsAChain) {
  TrafficBound all = boundOf(makeAttentionText(8, 1024, 64, false), 1e5);
  expectSame(all, boundOf(makeChainGroup(1024, 64, 1024, 64, 2, 8), 1e5));
  EXPECT_GT(all.partition, all.compulsory);
  // Keys of the mean row: half of them.
  EXPECT_NEAR(boundOf(makeAttentionText(8, 1024, 64, true), 1e4).partition,
              boundOf(makeChainGroup(1024, 64, 512, 64, 2, 8), 1e4).partition, 1e5);
}

TEST(LaunchGroup, ManyRows) { // As many as there may be: none is looked at alone.
  ParsedKernel parsed(makeAttentionText(1, int64_t(1) << 30, 64, true));
  std::optional<AffineGroup> group = describeGroup(parsed.get());
  ASSERT_TRUE(group);
  int64_t least = int64_t(1) << 30;
  for (const auto &dim : group->dims)
    least = dim.extent > 64 ? std::min(least, dim.extent) : least;
  EXPECT_NEAR(double(least), double(int64_t(1) << 29), 1); // The keys of the mean row.
}

TEST(LaunchGroup, DiamondsBeforeAProduct) { // 2^40 ways to the argument.
  std::string text = "#a = affine_map<(i, j, k) -> (i, k)>\n#b = affine_map<(i, j, k) -> (k, j)>\n#c = affine_map<(i, "
                     "j, k) -> (i, j)>\n"
                     "func.func @kernel(%x0: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {\n";
  for (int i = 0; i < 40; ++i)
    text += "%x" + std::to_string(i + 1) + " = tg.mul %x" + std::to_string(i) + ", %x" + std::to_string(i) +
            " : tensor<16x16xf32>, tensor<16x16xf32>\n";
  text += "%y = tg.contract %x40, %w [#a, #b, #c] : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>\n"
          "return %y : tensor<16x16xf32>\n}\n";
  ParsedKernel parsed(text);
  std::optional<AffineGroup> group = describeGroup(parsed.get());
  ASSERT_TRUE(group);
  EXPECT_EQ(group->statements.front().reads.size(), 2u);
}

TEST(LaunchGroup, MasksThatAreNotUnderstood) {
  std::string text = makeAttentionText(2, 256, 64, true);
  size_t at = text.find("tg.cmp le %j, %i");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 16, "tg.cmp eq %j, %i"); // Which steps are needed is not known: no bound but the compulsory one.
  ParsedKernel parsed(text);
  EXPECT_FALSE(describeGroup(parsed.get()));
}

TEST(LaunchGroup, NothingMultiplied) {
  ParsedKernel parsed("func.func @kernel(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
                      "  %0 = tg.neg %x : tensor<64xf32>\n"
                      "  return %0 : tensor<64xf32>\n}");
  EXPECT_FALSE(describeGroup(parsed.get()));
}
