// Vector widths, bank conflicts, ldmatrix, swizzles and conversions against simulation, lane by lane.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Random.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace weft::layout;

static const Dims threads = {{"register", 3}, {"lane", 5}, {"warp", 1}}, tile = {{"dim0", 4}, {"dim1", 5}};

/// Wavefronts of a warp that stores `vector` elements of each lane: per pass the largest number of different words in a
/// bank.
static unsigned simulate(const LinearLayout &registers, const LinearLayout &memory, unsigned bits,
                         const VectorWidth &width, unsigned vector) {
  LinearLayout offsets = *getOffsets(registers, memory);
  unsigned bytes = vector * bits / 8, lanesPerPass = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32, total = 0;
  for (unsigned first = 0; first < 32; first += lanesPerPass) {
    std::map<uint64_t, std::set<uint64_t>> words;
    for (unsigned lane = first; lane < first + lanesPerPass; ++lane) {
      uint64_t start = offsets.apply({0, lane})[0];
      for (unsigned position = 0; position < vector; ++position) {
        uint64_t offset = offsets.apply({combine(width.registerBits, position), lane})[0];
        EXPECT_EQ(offset, start + position) << "a vector is contiguous";
        for (uint64_t byte = offset * bits / 8; byte < (offset + 1) * bits / 8; ++byte)
          words[byte / 4 % 32].insert(byte / 4);
      }
      EXPECT_EQ(start % vector, 0u) << "and aligned";
    }
    size_t most = 0;
    for (const auto &[bank, inBank] : words)
      most = std::max(most, inBank.size());
    total += most;
  }
  return total;
}

TEST(Memory, ConflictsAgreeWithSimulation) {
  std::mt19937_64 random(6);
  unsigned conflicting = 0;
  for (int round = 0; round < 400; ++round) {
    LinearLayout registers =
        round % 4 == 0 ? makeRandom(random, threads, tile) : makeRandomPermutation(random, threads, tile);
    LinearLayout memory =
        round % 2 ? makeRandomPermutation(random, {{"offset", 9}}, tile) : *makeShared({{16, 32}, {1, 0}, 16});
    unsigned bits = 8u << random() % 4;
    VectorWidth width = *getVectorWidth(registers, memory, bits);
    for (unsigned vector = 1; vector <= width.elements; vector *= 2) {
      BankConflicts conflicts = *getBankConflicts(registers, memory, bits, vector);
      ASSERT_EQ(conflicts.wavefronts(), simulate(registers, memory, bits, width, vector))
          << "round " << round << ", " << bits << " bits";
      EXPECT_EQ(conflicts.isFree(), conflicts.wavefronts() == conflicts.passes);
      conflicting += !conflicts.isFree();
    }
    EXPECT_FALSE(getBankConflicts(registers, memory, bits, width.elements * 2));
  }
  EXPECT_GT(conflicting, 50u) << "the test must see conflicts";
}

TEST(Memory, VectorWidthIsTheLargest) {
  LinearLayout rows = *makeShared({{16, 32}, {1, 0}, 16}), columns = *makeShared({{16, 32}, {0, 1}, 16});
  LinearLayout blocked = *makeBlocked({{16, 32}, {1, 8}, {8, 4}, {2, 1}, {1, 0}});
  EXPECT_EQ(getVectorWidth(blocked, rows, 16)->elements, 8u);
  EXPECT_EQ(getVectorWidth(blocked, rows, 32)->elements, 4u) << "128 bits at most";
  EXPECT_EQ(getVectorWidth(blocked, rows, 16, 64)->elements, 4u);
  EXPECT_EQ(getVectorWidth(blocked, columns, 16)->elements, 1u);
  EXPECT_FALSE(getVectorWidth(blocked, LinearLayout::zeros("offset", 9, blocked.outs()), 16))
      << "memory that holds nothing";
  EXPECT_FALSE(getVectorWidth(blocked, *makeShared({{16, 16}, {1, 0}, 16}), 16)) << "another tile";
}

/// Offsets of the swizzled tile against the formula on addresses.
TEST(Memory, SwizzlesAgreeWithTheirFormulas) {
  LinearLayout xored = *makeSwizzled({{64, 64}, {1, 0}, 16}, 8, 2, 4);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < 64; ++column)
      ASSERT_EQ(xored.apply({row * 64 + (column / 8 ^ row / 2 % 4) * 8 + column % 8}), (Index{row, column}));
  EXPECT_FALSE(makeSwizzled({{64, 16}, {1, 0}, 16}, 8, 1, 4)) << "the XOR would leave the row";
  for (unsigned bytes : {32, 64, 128})
    for (unsigned bits : {8, 16, 32}) {
      LinearLayout tma = *makeTmaSwizzled({{32, 128}, {1, 0}, bits}, bytes);
      unsigned width = bytes * 8 / bits;
      EXPECT_TRUE(tma.isInjective());
      for (unsigned row = 0; row < 32; ++row)
        for (unsigned column = 0; column < 128; ++column) {
          uint64_t address = uint64_t((column / width * 32 + row) * width + column % width) * bits / 8;
          address ^= (address >> 7 & (bytes / 16 - 1)) << 4;
          ASSERT_EQ(tma.apply({address * 8 / bits}), (Index{row, column})) << bytes << " bytes, " << bits << " bits";
        }
    }
  EXPECT_FALSE(makeTmaSwizzled({{32, 32}, {1, 0}, 16}, 128)) << "a row of 64 bytes";
}

TEST(Memory, MatrixAccess) {
  // A of m16n8k16 as a part of a 16 x 64 tile: four k steps.
  LinearLayout a =
      *makeMma(16, 8, 16, ElementType::f16, Operand::a)->product(LinearLayout::identity("register", "dim1", 2));
  LinearLayout swizzled = *makeTmaSwizzled({{16, 64}, {1, 0}, 16}, 128),
               transposed = *makeTmaSwizzled({{16, 64}, {0, 1}, 16}, 32);
  std::optional<MatrixAccess> plain = getMatrixAccess(a, swizzled, 16), turned = getMatrixAccess(a, transposed, 16);
  ASSERT_TRUE(plain && turned);
  EXPECT_EQ(plain->matrices, 4u);
  EXPECT_FALSE(plain->isTransposed);
  EXPECT_EQ(turned->matrices, 4u);
  EXPECT_TRUE(turned->isTransposed);
  EXPECT_FALSE(getMatrixAccess(a, *makeSwizzled({{16, 64}, {1, 0}, 16}, 4, 1, 8), 16)) << "rows of 8 bytes";
  LinearLayout a8 = *makeMma(16, 8, 32, ElementType::s8, Operand::a);
  EXPECT_TRUE(getMatrixAccess(a8, *makeShared({{16, 32}, {1, 0}, 8}), 8));
  EXPECT_FALSE(getMatrixAccess(a8, *makeShared({{16, 32}, {0, 1}, 8}), 8)) << "transposed needs 16 bits";
  EXPECT_FALSE(getMatrixAccess(*makeBlocked({{16, 32}, {1, 8}, {4, 8}, {1, 1}, {1, 0}}),
                               *makeShared({{16, 32}, {1, 0}, 16}), 16));
  EXPECT_EQ(getMatrixAccess(*makeMma(16, 8, 8, ElementType::f16, Operand::b), *makeShared({{8, 8}, {0, 1}, 16}), 16)
                ->matrices,
            1u);
}

TEST(Memory, ChosenSwizzlesAreFreeOfConflicts) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    auto pick = [&](int kind) {
      return kind == 0   ? makeRandom(random, threads, tile)
             : kind == 1 ? makeRandomBijection(random, threads, tile)
                         : makeRandomPermutation(random, threads, tile);
    };
    LinearLayout writer = pick(round % 3), reader = pick(round / 3 % 3);
    unsigned bits = 8u << random() % 4;
    std::optional<SwizzleChoice> choice = chooseSwizzle(writer, reader, bits);
    ASSERT_TRUE(choice && choice->memory.isInjective()) << round;
    for (const LinearLayout *side : {&writer, &reader}) {
      ASSERT_GE(getVectorWidth(*side, choice->memory, bits)->elements, choice->vector) << round;
      EXPECT_TRUE(getBankConflicts(*side, choice->memory, bits, choice->vector)->isFree()) << round;
    }
  }
  // Rows in, columns out: no vector in common, and still free. The same layout twice: full vectors.
  LinearLayout rows = *makeBlocked({{32, 32}, {1, 8}, {8, 4}, {1, 1}, {1, 0}}),
               columns = *makeBlocked({{32, 32}, {8, 1}, {4, 8}, {1, 1}, {0, 1}});
  EXPECT_EQ(chooseSwizzle(rows, columns, 16)->vector, 1u);
  EXPECT_EQ(chooseSwizzle(rows, rows, 16)->vector, 8u);
  EXPECT_FALSE(chooseSwizzle(rows, *makeShared({{16, 32}, {1, 0}, 16}), 16));
}

/// Rows of 8 x 16 bytes of ldmatrix: the most rows that share their banks, row by row.
TEST(Memory, MatrixConflictsAreThoseOfTheRows) {
  LinearLayout a = *makeMma(16, 8, 16, ElementType::f16, Operand::a);
  struct Row {
    LinearLayout memory;
    bool isTransposed;
    unsigned wavefronts;
  };
  for (const Row &row :
       {Row{*makeTmaSwizzled({{16, 16}, {1, 0}, 16}, 32), false, 1}, Row{*makeShared({{16, 16}, {1, 0}, 16}), false, 2},
        Row{*makeTmaSwizzled({{16, 16}, {0, 1}, 16}, 32), true, 1},
        Row{*makeShared({{16, 16}, {0, 1}, 16}), true, 2}}) {
    BankConflicts conflicts = *getMatrixConflicts(a, row.memory, 16);
    std::map<uint64_t, unsigned> rowsOfBanks;
    LinearLayout place = *row.memory.inverse();
    for (uint64_t i = 0; i < 8; ++i)
      ++rowsOfBanks[place.apply(row.isTransposed ? Index{0, i} : Index{i, 0})[0] / 8 % 8];
    unsigned most = 0;
    for (auto [banks, count] : rowsOfBanks)
      most = std::max(most, count);
    EXPECT_EQ(most, row.wavefronts);
    EXPECT_EQ(conflicts.wavefronts(), 4 * most) << "four matrices";
    EXPECT_EQ(conflicts.isFree(), most == 1);
  }
  EXPECT_FALSE(getMatrixConflicts(a, *makeSwizzled({{16, 16}, {1, 0}, 16}, 4, 1, 4), 16)) << "no ldmatrix";
}

/// Executes the rounds on values and checks that every lane ends with what `to` says; returns the number of rounds.
static size_t runShuffles(const LinearLayout &from, const LinearLayout &to, const Conversion &conversion) {
  size_t count = 0;
  for (unsigned warp = 0; warp < 1u << to.inBits("warp"); ++warp) {
    std::vector<ShuffleRound> rounds = planShuffles(conversion, warp);
    count = rounds.size();
    std::map<std::pair<unsigned, unsigned>, Index> result;
    for (const ShuffleRound &round : rounds) {
      std::map<unsigned, unsigned> sent;
      std::set<unsigned> received;
      for (const LaneExchange &e : round) {
        EXPECT_EQ(sent.emplace(e.srcLane, e.srcRegister).first->second, e.srcRegister) << "a lane sends one register";
        EXPECT_TRUE(received.insert(e.lane).second) << "and receives one value";
        result[{e.lane, e.dstRegister}] = from.apply({e.srcRegister, e.srcLane, warp});
      }
    }
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned r = 0; r < 1u << to.inBits("register"); ++r)
        EXPECT_EQ((result[{lane, r}]), to.apply({r, lane, warp}));
  }
  return count;
}

TEST(Conversion, Kinds) {
  std::mt19937_64 random(8);
  auto kindOf = [](const LinearLayout &from, const LinearLayout &to) { return classifyConversion(from, to)->kind; };
  for (int round = 0; round < 100; ++round) {
    LinearLayout from = makeRandomBijection(random, threads, tile);
    EXPECT_EQ(kindOf(from, from), ConversionKind::none);
    // Invertible maps of the registers, of registers and lanes, and of all.
    auto renamed = [&](unsigned bits) {
      LinearLayout part = makeRandomBijection(random, {{"x", bits}}, {{"y", bits}});
      Vectors columns = unitVectors(9);
      std::copy(part.columns().begin(), part.columns().end(), columns.begin());
      return *LinearLayout::make(threads, threads, columns)->compose(from);
    };
    LinearLayout within = renamed(3), shuffled = renamed(8), any = renamed(9);
    EXPECT_LE(kindOf(from, within), ConversionKind::withinThread);
    ASSERT_LE(kindOf(from, shuffled), ConversionKind::shuffles);
    EXPECT_EQ(runShuffles(from, shuffled, *classifyConversion(from, shuffled)), 8u) << "one shuffle for each register";
    EXPECT_EQ(runShuffles(from, within, *classifyConversion(from, within)), 8u);
    ASSERT_LE(kindOf(from, any), ConversionKind::shared);
    LinearLayout source = classifyConversion(from, any)->source;
    Names names = {"register", "lane", "warp"};
    EXPECT_EQ(*source.sublayout(names, names)->compose(from), any);
  }
}

TEST(Conversion, Broadcasts) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 100; ++round) {
    // The result holds elements many times; the operand holds some twice.
    LinearLayout from = *makeRandomBijection(random, {{"register", 3}, {"lane", 5}}, {{"x", 8}})
                             .concatenateIns(LinearLayout::zeros("warp", 1, {{"x", 8}}));
    LinearLayout to = makeRandom(random, threads, {{"x", 8}});
    std::optional<Conversion> conversion = classifyConversion(from, to);
    ASSERT_TRUE(conversion && conversion->kind <= ConversionKind::shuffles) << "every warp of the operand holds all";
    runShuffles(from, to, *conversion);
    LinearLayout part = makeRandom(random, {{"lane", 5}}, {{"x", 8}});
    EXPECT_FALSE(classifyConversion(part, from)) << "256 elements from 32";
  }
}

TEST(Conversion, MmaResultAsNextOperand) {
  // Two accumulators side by side are operand A of the next product (as in attention): no exchange of any kind.
  LinearLayout c =
      *makeMma(16, 8, 16, ElementType::f16, Operand::c)->product(LinearLayout::identity("register", "dim1", 1));
  EXPECT_EQ(classifyConversion(c, *makeMma(16, 8, 16, ElementType::f16, Operand::a))->kind, ConversionKind::none);
  EXPECT_EQ(classifyConversion(c, *makeMma(16, 8, 16, ElementType::s8, Operand::a))->kind, ConversionKind::shuffles);
  LinearLayout warps = *makeBlocked({{32, 16}, {1, 4}, {8, 4}, {4, 1}, {1, 0}}),
               other = *makeBlocked({{32, 16}, {1, 4}, {8, 4}, {1, 4}, {1, 0}});
  EXPECT_EQ(classifyConversion(warps, other)->kind, ConversionKind::shared);
}
