// Which kernels start while the one in front still runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cuda/EarlyStart.h"

#include <gtest/gtest.h>

using namespace weft::cuda;

static const SmLimits kCard = {132, 2048, 65536, 228 << 10, 1024};
static constexpr CtaNeeds kSmall = {128, 64, 16 << 10}, kLarge = {256, 168, 200 << 10};

/// Whether a launch of code that waits starts early, with what it needs of shared memory and no more.
static bool follow(EarlyStart &order, const CtaNeeds &cta, int64_t grid) {
  std::optional<unsigned> bytes = order.follow(kCard, cta, grid, /*waits=*/true);
  return bytes == cta.sharedBytes;
}

TEST(EarlyStart, ShareFitsBesideTheOneInFront) {
  EarlyStart order;
  follow(order, kSmall, 132);
  EXPECT_TRUE(follow(order, kSmall, 96));
  EXPECT_TRUE(follow(order, kSmall, 4 * 132));
}

/// Room for one CTA, and two would be the share.
TEST(EarlyStart, SharedMemoryIsCounted) {
  EarlyStart order;
  follow(order, kLarge, 132);
  EXPECT_TRUE(follow(order, kSmall, 132));
  follow(order, kLarge, 132);
  EXPECT_FALSE(follow(order, kSmall, 133));
}

TEST(EarlyStart, RegistersAndThreadsAreCounted) {
  EarlyStart order;
  follow(order, {1024, 40, 0}, 132); // 40 of 64 Ki registers.
  EXPECT_FALSE(follow(order, {512, 56, 0}, 132));
  follow(order, {1024, 32, 0}, 132);
  EXPECT_TRUE(follow(order, {1024, 32, 0}, 132));
  follow(order, {1024, 16, 0}, 132);
  EXPECT_FALSE(follow(order, {544, 16, 0}, 264));
}

/// Whatever is in front: CTAs that come later even it out.
TEST(EarlyStart, WhatFillsTheCardStartsEarly) {
  EarlyStart order;
  follow(order, kLarge, 132);
  EXPECT_TRUE(follow(order, kSmall, 100 * 132));
  EXPECT_TRUE(follow(order, kLarge, 132)) << "its share is all that an SM holds";
}

/// Nothing is known of what came before a run.
TEST(EarlyStart, FirstLaunch) {
  EarlyStart order;
  EXPECT_FALSE(follow(order, kSmall, 132));
}

/// A CTA for each SM, which finds no room on all of them: so much shared memory that no SM takes two.
TEST(EarlyStart, OneOfAnSmAsksForMoreThanHalf) {
  EarlyStart order;
  follow(order, kLarge, 132);
  CtaNeeds fold = {128, 136, 64 << 10};
  std::optional<unsigned> bytes = order.follow(kCard, fold, 128, /*waits=*/true);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(countResident(kCard, {fold.threads, fold.registers, *bytes}), 1);
  EXPECT_EQ(countResident(kCard, {fold.threads, fold.registers, *bytes - 128}), 2);
  EXPECT_FALSE(follow(order, {128, 64, 56 << 10}, 264)) << "its memory is held";
}

TEST(EarlyStart, OthersStayBehind) {
  EarlyStart order;
  CtaNeeds fold = {128, 136, 64 << 10}, wide = {128, 136, 90 << 10};
  follow(order, kLarge, 132);
  EXPECT_FALSE(order.follow(kCard, fold, 133, true)) << "two for some SMs";
  follow(order, kLarge, 132);
  EXPECT_FALSE(order.follow(kCard, fold, 65, true)) << "most SMs would have none";
  follow(order, kLarge, 132);
  EXPECT_FALSE(order.follow(kCard, fold, 132, false)) << "its code does not wait";
  EXPECT_TRUE(follow(order, wide, 132)) << "beside what the launch in front needs, not what it could have asked for";
}
