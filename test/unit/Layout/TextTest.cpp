// The text form: what it accepts, what it says of the rest, and that printed layouts parse to themselves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Text.h"
#include "Random.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <gtest/gtest.h>

using namespace weft::layout;

static std::string errorOf(std::string_view text) {
  std::string error;
  return parseLayout(text, error) ? "none" : error;
}

TEST(Text, RoundTrip) {
  std::mt19937_64 random(10);
  std::string error;
  for (int round = 0; round < 100; ++round) {
    Dims ins = {{"register", unsigned(random() % 4)}, {"lane", unsigned(random() % 6)}},
         outs = {{"dim0", unsigned(random() % 5)}, {"x", 2}};
    LinearLayout layout = makeRandom(random, ins, outs);
    ASSERT_EQ(parseLayout(printLayout(layout), error), layout) << printLayout(layout) << ": " << error;
  }
  EXPECT_EQ(parseLayout(printLayout(LinearLayout()), error), LinearLayout());
  EXPECT_EQ(printLayout(*makeMma(8, 8, 4, ElementType::f64, Operand::a)),
            "linear(register=[], lane=[[0,1],[0,2],[1,0],[2,0],[4,0]] -> dim0=8, dim1=4)");
}

TEST(Text, Builders) {
  std::string error;
  EXPECT_EQ(parseLayout("mma(m16n8k16, f16, a)", error), makeMma(16, 8, 16, ElementType::f16, Operand::a));
  EXPECT_EQ(parseLayout("mma( m8n8k4 , f64 , c )", error), makeMma(8, 8, 4, ElementType::f64, Operand::c));
  EXPECT_EQ(parseLayout("wgmma(n=24, c)", error), makeWgmmaAccumulator(24));
  EXPECT_EQ(parseLayout("wgmma(e4m3, a)", error), makeWgmmaA(ElementType::fp8));
  EXPECT_EQ(parseLayout("ldmatrix(x4, trans)", error), makeLdmatrix(4, true));
  EXPECT_EQ(parseLayout("smem(shape=[64,64], order=[1,0], swizzle=128)", error),
            makeTmaSwizzled({{64, 64}, {1, 0}, 16}, 128));
  EXPECT_EQ(parseLayout("smem(shape=[8,64], order=[1,0], vec=8, perPhase=1, maxPhase=8)", error),
            makeSwizzled({{8, 64}, {1, 0}, 16}, 8, 1, 8));
  EXPECT_EQ(parseLayout("blocked(shape=[16,32], size=[1,4], threads=[4,8], warps=[2,1], order=[1,0])", error),
            makeBlocked({{16, 32}, {1, 4}, {4, 8}, {2, 1}, {1, 0}}));
}

TEST(Text, Errors) {
  EXPECT_EQ(errorOf(""), "column 1: expected a name, got the end");
  EXPECT_EQ(errorOf("mma(m16n8k16, f16, a"), "column 21: expected ',', got the end");
  EXPECT_EQ(errorOf("mma(m16n8k16, f16, a) x"), "column 23: expected the end, got 'x'");
  EXPECT_EQ(errorOf("swirl()"), "expected blocked, mma, wgmma, ldmatrix, smem or linear, got \"swirl\"");
  EXPECT_EQ(errorOf("mma(m16n8k16, f16)"), "mma: expected an operand: a, b or c");
  EXPECT_EQ(errorOf("smem(order=[0])"), "smem: expected shape=[...]");
  EXPECT_EQ(errorOf("ldmatrix(x4, turned)"), "ldmatrix: unknown parameter \"turned\"");
  EXPECT_EQ(errorOf("smem(shape=[12], order=[0])").substr(0, 20), "smem: no such layout");
  EXPECT_EQ(errorOf("smem(shape=[99999999999999999999], order=[0])"),
            "column 33: expected a number below 2^60, got ']'");
  EXPECT_EQ(errorOf("linear(a=[[2]] -> b=2)"),
            "linear: a: expected a list of bases, each with a value within its size for each of 1 outputs");
  EXPECT_EQ(errorOf("linear(a=[], a=[] -> b=2)"), "linear: expected each name once on a side and 60 bits at most");
  EXPECT_EQ(errorOf("linear(a=[[[[1]]]] -> b=2)").substr(0, 9), "column 12");
  // No text crashes or hangs the parser: cut and changed forms of a good one.
  std::mt19937_64 random(11);
  std::string good = "linear(register=[[0,1],[8,0]], lane=[[0,2]] -> dim0=16, dim1=8)", error;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    if (!text.empty())
      text[random() % text.size()] = "[](),=->0z "[random() % 11];
    if (std::optional<LinearLayout> layout = parseLayout(text, error))
      EXPECT_EQ(parseLayout(printLayout(*layout), error), layout) << text;
    else
      EXPECT_FALSE(error.empty()) << text;
  }
}

TEST(Text, Grid) {
  EXPECT_EQ(*printGrid(*LinearLayout::make({{"lane", 1}, {"register", 1}}, {{"dim0", 1}, {"dim1", 1}}, {1, 2})),
            "0:0 0:1\n1:0 1:1\n");
  EXPECT_EQ(*printGrid(*LinearLayout::make({{"offset", 2}}, {{"x", 2}}, {1, 0})), "0+ 1+  .  .\n");
  EXPECT_FALSE(printGrid(LinearLayout::identity("offset", "x", 15)));
  EXPECT_FALSE(printGrid(LinearLayout()));
}
