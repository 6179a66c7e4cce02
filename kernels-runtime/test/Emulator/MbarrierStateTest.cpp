// Arrivals, bytes and phases of one mbarrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of the PTX manual's section on mbarriers, on the state alone.
#include "Emulator/Async/Mbarrier.h"

#include <gtest/gtest.h>

using weft::emu::Mbarrier;
using weft::emu::MbarrierFault;

namespace {

TEST(MbarrierState, PhaseCompletesWithTheLastArrival) {
  Mbarrier barrier(3);
  EXPECT_TRUE(barrier.testParity(1)) << "the phase before the first counts as complete";
  EXPECT_FALSE(barrier.testParity(0));
  uint64_t token = barrier.token();
  EXPECT_EQ(barrier.arrive(2, 0, false, false), MbarrierFault::None);
  EXPECT_FALSE(barrier.testParity(0));
  EXPECT_EQ(barrier.pendingCount(), 1u);
  EXPECT_EQ(Mbarrier::pendingOf(token), 3u);
  EXPECT_EQ(barrier.arrive(1, 0, false, false), MbarrierFault::None);
  EXPECT_TRUE(barrier.testParity(0));
  EXPECT_EQ(barrier.pendingCount(), 3u);
  bool isComplete = false;
  EXPECT_EQ(barrier.testToken(token, isComplete), MbarrierFault::None);
  EXPECT_TRUE(isComplete);
  EXPECT_EQ(barrier.testToken(barrier.token(), isComplete), MbarrierFault::None);
  EXPECT_FALSE(isComplete);
}

TEST(MbarrierState, BytesHoldThePhase) {
  Mbarrier barrier(1);
  EXPECT_EQ(barrier.arrive(1, 48, false, false), MbarrierFault::None);
  EXPECT_FALSE(barrier.testParity(0));
  EXPECT_EQ(barrier.completeTx(16), MbarrierFault::None);
  EXPECT_FALSE(barrier.testParity(0));
  EXPECT_EQ(barrier.completeTx(32), MbarrierFault::None);
  EXPECT_TRUE(barrier.testParity(0));
  // Bytes may come before they are expected, as long as an arrival is pending.
  EXPECT_EQ(barrier.completeTx(64), MbarrierFault::None);
  EXPECT_EQ(barrier.txCount(), -64);
  EXPECT_EQ(barrier.arrive(1, 64, false, false), MbarrierFault::None);
  EXPECT_TRUE(barrier.testParity(1));
}

TEST(MbarrierState, DropsLowerLaterPhases) {
  Mbarrier barrier(3);
  EXPECT_EQ(barrier.arrive(1, 0, true, false), MbarrierFault::None);
  EXPECT_EQ(barrier.arrive(2, 0, false, false), MbarrierFault::None);
  EXPECT_EQ(barrier.phase(), 1u);
  EXPECT_EQ(barrier.expectedCount(), 2u);
  EXPECT_EQ(barrier.arrive(2, 0, false, false), MbarrierFault::None);
  EXPECT_EQ(barrier.phase(), 2u);
}

TEST(MbarrierState, Faults) {
  Mbarrier barrier(2);
  EXPECT_EQ(barrier.arrive(0, 0, false, false), MbarrierFault::BadCount);
  EXPECT_EQ(barrier.arrive(1u << 20, 0, false, false), MbarrierFault::BadCount);
  EXPECT_EQ(barrier.arrive(3, 0, false, false), MbarrierFault::TooManyArrivals);
  EXPECT_EQ(barrier.phase(), 1u);
  EXPECT_EQ(barrier.arrive(1, 0, false, true), MbarrierFault::None);
  EXPECT_EQ(barrier.arrive(1, 0, false, true), MbarrierFault::CompletesPhase);
  EXPECT_EQ(barrier.expectTx((1u << 20) - 1), MbarrierFault::None);
  EXPECT_EQ(barrier.expectTx(1), MbarrierFault::TxOverflow);
  Mbarrier other(2);
  EXPECT_EQ(other.completeTx((1u << 20) - 1), MbarrierFault::None);
  EXPECT_EQ(other.completeTx(1), MbarrierFault::TxOverflow);
  bool isComplete = true;
  EXPECT_EQ(other.testToken(0, isComplete), MbarrierFault::NotAToken);
  EXPECT_FALSE(isComplete);
  Mbarrier third(1);
  uint64_t old = third.token();
  EXPECT_EQ(third.arrive(1, 0, false, false), MbarrierFault::None);
  EXPECT_EQ(third.testToken(old, isComplete), MbarrierFault::None);
  EXPECT_EQ(third.arrive(1, 0, false, false), MbarrierFault::None);
  EXPECT_EQ(third.testToken(old, isComplete), MbarrierFault::StaleToken);
  EXPECT_TRUE(isComplete);
}

TEST(MbarrierState, CopiesAddAndTakeAnArrival) {
  Mbarrier barrier(1);
  EXPECT_EQ(barrier.addPending(), MbarrierFault::None);
  EXPECT_EQ(barrier.arrive(1, 0, false, false), MbarrierFault::None);
  EXPECT_EQ(barrier.phase(), 0u);
  EXPECT_EQ(barrier.arrive(1, 0, false, false), MbarrierFault::None);
  EXPECT_EQ(barrier.phase(), 1u);
  EXPECT_EQ(barrier.pendingCount(), 1u);
}

} // namespace
