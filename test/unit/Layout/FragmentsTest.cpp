// Fragments against the formulas of the PTX ISA ("Matrix Fragments for mma.m16n8k16" and so on), written here as they
// stand there, by enumeration of every lane and element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <gtest/gtest.h>

using namespace weft::layout;

namespace {
using Formula = Index (*)(unsigned lane, unsigned i);
struct Case {
  unsigned m, k;
  ElementType type;
  Operand operand;
  unsigned elements; ///< Of a lane.
  Formula formula;
};
unsigned group(unsigned lane) { return lane >> 2; }
unsigned thread(unsigned lane) { return lane % 4; }
} // namespace

/// The accumulator of every m16n8 shape, and of every m8n8 shape.
static Index accumulator16(unsigned l, unsigned i) {
  return {i < 2 ? group(l) : group(l) + 8, thread(l) * 2 + (i & 1)};
}
static Index accumulator8(unsigned l, unsigned i) { return {group(l), thread(l) * 2 + (i & 1)}; }

static const Case cases[] = {
    // f16, bf16: .m16n8k8, .m16n8k16
    {16, 8, ElementType::f16, Operand::a, 4,
     [](unsigned l, unsigned i) { return Index{i < 2 ? group(l) : group(l) + 8, thread(l) * 2 + (i & 1)}; }},
    {16, 8, ElementType::bf16, Operand::b, 2,
     [](unsigned l, unsigned i) { return Index{thread(l) * 2 + i, group(l)}; }},
    {16, 16, ElementType::f16, Operand::a, 8,
     [](unsigned l, unsigned i) {
       bool upper = i < 2 || (i >= 4 && i < 6);
       return Index{upper ? group(l) : group(l) + 8, i < 4 ? thread(l) * 2 + (i & 1) : thread(l) * 2 + (i & 1) + 8};
     }},
    {16, 16, ElementType::bf16, Operand::b, 4,
     [](unsigned l, unsigned i) {
       return Index{i < 2 ? thread(l) * 2 + (i & 1) : thread(l) * 2 + (i & 1) + 8, group(l)};
     }},
    // tf32: .m16n8k4, .m16n8k8
    {16, 4, ElementType::tf32, Operand::a, 2,
     [](unsigned l, unsigned i) { return Index{i == 0 ? group(l) : group(l) + 8, thread(l)}; }},
    {16, 4, ElementType::tf32, Operand::b, 1, [](unsigned l, unsigned) { return Index{thread(l), group(l)}; }},
    {16, 8, ElementType::tf32, Operand::a, 4,
     [](unsigned l, unsigned i) {
       return Index{i == 0 || i == 2 ? group(l) : group(l) + 8, i == 0 || i == 1 ? thread(l) : thread(l) + 4};
     }},
    {16, 8, ElementType::tf32, Operand::b, 2,
     [](unsigned l, unsigned i) { return Index{i == 0 ? thread(l) : thread(l) + 4, group(l)}; }},
    // 8-bit: .m16n8k16, .m16n8k32, .m8n8k16
    {16, 16, ElementType::s8, Operand::a, 8,
     [](unsigned l, unsigned i) { return Index{i < 4 ? group(l) : group(l) + 8, thread(l) * 4 + (i & 3)}; }},
    {16, 16, ElementType::fp8, Operand::b, 4,
     [](unsigned l, unsigned i) { return Index{thread(l) * 4 + i, group(l)}; }},
    {16, 32, ElementType::fp8, Operand::a, 16,
     [](unsigned l, unsigned i) {
       bool upper = i < 4 || (i >= 8 && i < 12);
       return Index{upper ? group(l) : group(l) + 8, i < 8 ? thread(l) * 4 + (i & 3) : thread(l) * 4 + (i & 3) + 16};
     }},
    {16, 32, ElementType::s8, Operand::b, 8,
     [](unsigned l, unsigned i) {
       return Index{i < 4 ? thread(l) * 4 + (i & 3) : thread(l) * 4 + (i & 3) + 16, group(l)};
     }},
    {8, 16, ElementType::s8, Operand::a, 4, [](unsigned l, unsigned i) { return Index{group(l), thread(l) * 4 + i}; }},
    {8, 16, ElementType::s8, Operand::b, 4, [](unsigned l, unsigned i) { return Index{thread(l) * 4 + i, group(l)}; }},
    // 4-bit: .m16n8k32, .m16n8k64, .m8n8k32
    {16, 32, ElementType::s4, Operand::a, 16,
     [](unsigned l, unsigned i) { return Index{i < 8 ? group(l) : group(l) + 8, thread(l) * 8 + (i & 7)}; }},
    {16, 32, ElementType::s4, Operand::b, 8,
     [](unsigned l, unsigned i) { return Index{thread(l) * 8 + (i & 7), group(l)}; }},
    {16, 64, ElementType::s4, Operand::a, 32,
     [](unsigned l, unsigned i) {
       bool upper = i < 8 || (i >= 16 && i < 24);
       return Index{upper ? group(l) : group(l) + 8, i < 16 ? thread(l) * 8 + (i & 7) : thread(l) * 8 + (i & 7) + 32};
     }},
    {16, 64, ElementType::s4, Operand::b, 16,
     [](unsigned l, unsigned i) {
       return Index{i < 8 ? thread(l) * 8 + (i & 7) : thread(l) * 8 + (i & 7) + 32, group(l)};
     }},
    {8, 32, ElementType::s4, Operand::a, 8, [](unsigned l, unsigned i) { return Index{group(l), thread(l) * 8 + i}; }},
    // 1-bit: .m16n8k128, .m16n8k256, .m8n8k128
    {16, 128, ElementType::b1, Operand::a, 64,
     [](unsigned l, unsigned i) { return Index{i < 32 ? group(l) : group(l) + 8, thread(l) * 32 + (i & 31)}; }},
    {16, 256, ElementType::b1, Operand::b, 64,
     [](unsigned l, unsigned i) {
       return Index{i < 32 ? thread(l) * 32 + i : thread(l) * 32 + (i & 31) + 128, group(l)};
     }},
    {8, 128, ElementType::b1, Operand::b, 32,
     [](unsigned l, unsigned i) { return Index{thread(l) * 32 + i, group(l)}; }},
    // f64: .m8n8k4, .m16n8k4, .m16n8k8, .m16n8k16
    {8, 4, ElementType::f64, Operand::a, 1, [](unsigned l, unsigned) { return Index{group(l), thread(l)}; }},
    {8, 4, ElementType::f64, Operand::b, 1, [](unsigned l, unsigned) { return Index{thread(l), group(l)}; }},
    {16, 4, ElementType::f64, Operand::a, 2,
     [](unsigned l, unsigned i) { return Index{i == 0 ? group(l) : group(l) + 8, thread(l)}; }},
    {16, 8, ElementType::f64, Operand::a, 4,
     [](unsigned l, unsigned i) {
       return Index{i == 0 || i == 2 ? group(l) : group(l) + 8, i == 0 || i == 1 ? thread(l) : thread(l) + 4};
     }},
    {16, 16, ElementType::f64, Operand::a, 8,
     [](unsigned l, unsigned i) { return Index{i % 2 == 0 ? group(l) : group(l) + 8, i / 2 * 4 + thread(l)}; }},
    {16, 16, ElementType::f64, Operand::b, 4,
     [](unsigned l, unsigned i) { return Index{thread(l) + 4 * i, group(l)}; }},
    {16, 16, ElementType::f16, Operand::c, 4, accumulator16},
    {16, 8, ElementType::tf32, Operand::c, 4, accumulator16},
    {16, 32, ElementType::s8, Operand::c, 4, accumulator16},
    {16, 64, ElementType::s4, Operand::c, 4, accumulator16},
    {16, 8, ElementType::f64, Operand::c, 4, accumulator16},
    {8, 16, ElementType::s8, Operand::c, 2, accumulator8},
    {8, 4, ElementType::f64, Operand::c, 2, accumulator8},
};

TEST(Fragments, MmaAgreesWithTheIsa) {
  for (const Case &c : cases) {
    SCOPED_TRACE("m" + std::to_string(c.m) + "k" + std::to_string(c.k) + " bits " + std::to_string(getBits(c.type)) +
                 " operand " + std::to_string(int(c.operand)));
    std::optional<LinearLayout> layout = makeMma(c.m, 8, c.k, c.type, c.operand);
    ASSERT_TRUE(layout);
    EXPECT_TRUE(layout->isInjective() && layout->isSurjective());
    ASSERT_EQ(1u << layout->inBits("register"), c.elements);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned i = 0; i < c.elements; ++i)
        ASSERT_EQ(layout->apply({i, lane}), c.formula(lane, i)) << "lane " << lane << ", element " << i;
  }
}

TEST(Fragments, EveryShapeOfPtxIsThereAndNoOther) {
  auto count = [](ElementType type) {
    unsigned shapes = 0;
    for (unsigned m : {8, 16, 32})
      for (unsigned n : {8, 16})
        for (unsigned k = 1; k <= 512; k *= 2)
          shapes += makeMma(m, n, k, type, Operand::a).has_value();
    return shapes;
  };
  EXPECT_EQ(count(ElementType::f16), 2u);
  EXPECT_EQ(count(ElementType::bf16), 2u);
  EXPECT_EQ(count(ElementType::tf32), 2u);
  EXPECT_EQ(count(ElementType::fp8), 2u);
  EXPECT_EQ(count(ElementType::s8), 3u);
  EXPECT_EQ(count(ElementType::s4), 3u);
  EXPECT_EQ(count(ElementType::b1), 3u);
  EXPECT_EQ(count(ElementType::f64), 4u);
}

TEST(Fragments, WgmmaAccumulatorOfEveryN) {
  for (unsigned n = 8; n <= 256; n += 8) {
    LinearLayout layout = *makeWgmmaAccumulator(n);
    std::vector<bool> seen(64 * n, false);
    for (unsigned thread = 0; thread < 128; ++thread)
      for (unsigned i = 0; i < n / 2; ++i) {
        // D fragment of .m64nNk*: row = 16 * (warp % 4) + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane
        // % 4) + i % 2.
        unsigned lane = thread % 32, row = 16 * (thread / 32) + lane / 4 + 8 * (i / 2 % 2),
                 column = i / 4 * 8 + lane % 4 * 2 + i % 2;
        ASSERT_EQ(layout.apply({i, lane, thread / 32}), (Index{row, column})) << "n " << n;
        ASSERT_LT(column, n);
        seen[row * n + column] = true;
      }
    EXPECT_EQ(std::vector<bool>(64 * n, true), seen) << "n " << n;
  }
  EXPECT_FALSE(makeWgmmaAccumulator(0));
  EXPECT_FALSE(makeWgmmaAccumulator(12));
  EXPECT_FALSE(makeWgmmaAccumulator(264));
}

TEST(Fragments, WgmmaAFromRegisters) {
  for (ElementType type : {ElementType::f16, ElementType::bf16, ElementType::tf32, ElementType::fp8, ElementType::s8}) {
    LinearLayout layout = *makeWgmmaA(type);
    unsigned packed = 32 / getBits(type);
    ASSERT_EQ(1u << layout.inBits("register"), 4 * packed);
    for (unsigned thread = 0; thread < 128; ++thread)
      for (unsigned reg = 0; reg < 4;
           ++reg) // 32-bit registers: row + 8 in the odd ones, the upper half of k in 2 and 3.
        for (unsigned e = 0; e < packed; ++e) {
          unsigned lane = thread % 32;
          EXPECT_EQ(layout.apply({reg * packed + e, lane, thread / 32}),
                    (Index{16 * (thread / 32) + lane / 4 + 8 * (reg & 1), (lane % 4 + 4 * (reg >> 1)) * packed + e}));
        }
  }
  EXPECT_FALSE(makeWgmmaA(ElementType::f64));
  EXPECT_FALSE(makeWgmmaA(ElementType::s4));
}

TEST(Fragments, Ldmatrix) {
  for (unsigned count : {1, 2, 4})
    for (bool isTransposed : {false, true}) {
      LinearLayout layout = *makeLdmatrix(count, isTransposed);
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned matrix = 0; matrix < count; ++matrix)
          for (unsigned half = 0; half < 2; ++half) {
            unsigned row = lane / 4,
                     column = lane % 4 * 2 + half; // Register `matrix` of the lane, its low and its high half.
            EXPECT_EQ(layout.apply({matrix * 2 + half, lane}),
                      isTransposed ? (Index{column, row, matrix}) : (Index{row, column, matrix}));
          }
    }
  EXPECT_FALSE(makeLdmatrix(3, false));
  EXPECT_FALSE(makeLdmatrix(8, true));
}
