// Records of shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Agents without warps: 1 and 2 are threads' warps, 3 an asynchronous one. Last, random programs against an oracle that
// remembers every access of every byte.
#include "Emulator/Sanitizer/SharedShadow.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace weft::emu;

namespace {

struct Told {
  Conflict kind;
  uint32_t offset;
  uint16_t agent;
  bool isOtherWrite;
};

struct Recorder final : ConflictSink {
  std::vector<Told> told;
  bool isInWarpOrdered = true;
  void conflict(Conflict kind, uint32_t offset, const Party &other, bool isOtherWrite) override {
    told.push_back({kind, offset, other.agent, isOtherWrite});
  }
  bool isOrderedInWarp(const Party &) override { return isInWarpOrdered; }
};

class SharedShadowTest : public testing::Test {
protected:
  SharedShadowTest() : shadow(4096) {
    shadow.markInitialised(0, 4096);
    for (uint16_t agent = 1; agent < 8; ++agent)
      knows[agent].seen.set(agent, 1);
  }
  void access(uint16_t agent, SharedUse use, uint32_t offset, uint32_t bytes, uint8_t flags = 0, uint8_t lane = 0) {
    Party self;
    self.agent = agent;
    self.clock = knows[agent].seen[agent];
    self.flags = flags;
    self.lane = lane;
    self.site = agent;
    shadow.access(offset, bytes, use, self, knows[agent], sink);
  }
  /// Everything that `from` did happens before what `to` does next.
  void order(uint16_t from, uint16_t to) {
    knows[to].join(knows[from]);
    knows[from].seen.set(from, knows[from].seen[from] + 1);
  }
  std::vector<Told> take() { return std::move(sink.told); }

  SharedShadow shadow;
  Knowledge knows[8];
  Recorder sink;
};

TEST_F(SharedShadowTest, ReadAfterUnorderedWrite) {
  access(1, SharedUse::Write, 16, 4);
  access(2, SharedUse::Read, 16, 4);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Conflict::Race);
  EXPECT_EQ(told[0].offset, 16u);
  EXPECT_EQ(told[0].agent, 1);
  EXPECT_TRUE(told[0].isOtherWrite);
}

TEST_F(SharedShadowTest, OrderedAccessesAreClean) {
  access(1, SharedUse::Write, 16, 4);
  order(1, 2);
  access(2, SharedUse::Read, 16, 4);
  access(2, SharedUse::Write, 16, 4);
  order(2, 1);
  access(1, SharedUse::Read, 16, 4);
  EXPECT_TRUE(take().empty());
}

TEST_F(SharedShadowTest, EveryReaderMustBeOrderedBeforeAWrite) {
  for (uint16_t agent = 2; agent < 8; ++agent)
    access(agent, SharedUse::Read, 0, 4);
  for (uint16_t agent = 2; agent < 7; ++agent)
    order(agent, 1);
  access(1, SharedUse::Write, 0, 4);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].agent, 7);
  EXPECT_FALSE(told[0].isOtherWrite);
}

TEST_F(SharedShadowTest, NeighboursInAWordDoNotMeet) {
  for (uint16_t agent = 1; agent < 5; ++agent)
    access(agent, SharedUse::Write, 64 + (agent - 1), 1);
  access(5, SharedUse::Write, 72, 2);
  access(6, SharedUse::Write, 74, 2);
  EXPECT_TRUE(take().empty());
  access(7, SharedUse::Read, 75, 1);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].offset, 75u);
  EXPECT_EQ(told[0].agent, 6);
}

TEST_F(SharedShadowTest, WordsSplitAndMerge) {
  access(1, SharedUse::Write, 0, 4);
  access(1, SharedUse::Write, 2, 2);
  order(1, 2);
  access(2, SharedUse::Write, 0, 4); // Whole again.
  EXPECT_TRUE(take().empty());
  access(3, SharedUse::Read, 0, 2);
  access(4, SharedUse::Read, 2, 2);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].agent, 2);
  EXPECT_EQ(told[1].agent, 2);
}

TEST_F(SharedShadowTest, AtomicsMeetAtomicsButNotStores) {
  access(1, SharedUse::Update, 0, 4, Party::Strong);
  access(2, SharedUse::Update, 0, 4, Party::Strong);
  EXPECT_TRUE(take().empty());
  access(3, SharedUse::Write, 0, 4);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].agent, 2);
  EXPECT_EQ(told[1].agent, 1);
  EXPECT_TRUE(told[1].isOtherWrite);
}

TEST_F(SharedShadowTest, LanesOfAWarp) {
  access(1, SharedUse::Write, 0, 4, 0, 3);
  access(1, SharedUse::Read, 0, 4, 0, 5);
  EXPECT_TRUE(take().empty());
  sink.isInWarpOrdered = false;
  access(1, SharedUse::Read, 0, 4, 0, 3);
  EXPECT_TRUE(take().empty());
  access(1, SharedUse::Read, 0, 4, 0, 5);
  EXPECT_EQ(take().size(), 1u);
}

TEST_F(SharedShadowTest, ProxyFence) {
  const uint8_t kAsync = Party::Async | Party::AsyncProxy;
  access(1, SharedUse::Write, 0, 16);
  order(1, 3);
  access(3, SharedUse::Read, 0, 16, kAsync);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 1u); // Once for the run of words.
  EXPECT_EQ(told[0].kind, Conflict::MissingFence);
  access(1, SharedUse::Write, 32, 16);
  knows[1].fenced.join(knows[1].seen);
  order(1, 4);
  access(4, SharedUse::Read, 32, 16, kAsync);
  EXPECT_TRUE(take().empty());
  access(5, SharedUse::Write, 64, 4, kAsync); // What the proxy wrote it may read.
  order(5, 6);
  access(6, SharedUse::Read, 64, 4, kAsync);
  EXPECT_TRUE(take().empty());
}

TEST_F(SharedShadowTest, Uninitialised) {
  SharedShadow fresh(256);
  Party self;
  self.agent = 1, self.clock = 1;
  fresh.access(8, 2, SharedUse::Write, self, knows[1], sink);
  EXPECT_TRUE(take().empty());
  fresh.access(8, 2, SharedUse::Read, self, knows[1], sink);
  EXPECT_TRUE(take().empty());
  fresh.access(8, 8, SharedUse::Read, self, knows[1], sink);
  std::vector<Told> told = take();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Conflict::Uninitialised);
  EXPECT_EQ(told[0].offset, 10u);
}

/// The oracle: every access of every byte, with the knowledge of its agent then.
struct OracleAccess {
  uint16_t agent;
  uint32_t clock;
  bool isWrite;
};

/// Up to the first conflict of a byte, the shadow and the oracle agree about every access.
TEST_F(SharedShadowTest, RandomProgramsAgreeWithTheOracle) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    SharedShadow fresh(64);
    fresh.markInitialised(0, 64);
    std::vector<OracleAccess> history[16];
    for (uint16_t agent = 1; agent < 8; ++agent) {
      knows[agent].clear();
      knows[agent].seen.set(agent, 1);
    }
    bool hasConflict = false;
    for (int event = 0; event < 60 && !hasConflict; ++event) {
      uint16_t agent = uint16_t(1 + random() % 5);
      if (random() % 2) {
        order(agent, uint16_t(1 + random() % 5));
        continue;
      }
      uint32_t bytes = 1u << random() % 4;
      uint32_t offset = uint32_t(random() % 16) / bytes * bytes;
      bool isWrite = random() % 3 == 0;
      for (uint32_t i = offset; i < offset + bytes; ++i) {
        for (const OracleAccess &earlier : history[i])
          if ((earlier.isWrite || isWrite) && earlier.agent != agent &&
              knows[agent].seen[earlier.agent] < earlier.clock)
            hasConflict = true;
        history[i].push_back({agent, knows[agent].seen[agent], isWrite});
      }
      Party self;
      self.agent = agent;
      self.clock = knows[agent].seen[agent];
      fresh.access(offset, bytes, isWrite ? SharedUse::Write : SharedUse::Read, self, knows[agent], sink);
      ASSERT_EQ(!take().empty(), hasConflict) << "round " << round << ", event " << event;
    }
  }
}

} // namespace
