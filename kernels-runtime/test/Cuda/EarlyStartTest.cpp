//===- EarlyStartTest.cpp - Which kernels start while the one in front still runs ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "Cuda/EarlyStart.h"

#include <gtest/gtest.h>

using namespace weft::cuda;

static const SmLimits kCard = {132, 2048, 65536, 228 << 10, 1024};
static constexpr CtaNeeds kSmall = {128, 64, 16 << 10}, kLarge = {256, 168, 200 << 10};

TEST(EarlyStart, ShareFitsBesideTheOneInFront) {
  EarlyStart order;
  order.follow(kCard, kSmall, 132);
  EXPECT_TRUE(order.follow(kCard, kSmall, 96));
  EXPECT_TRUE(order.follow(kCard, kSmall, 4 * 132));
}

/// Room for one CTA, and two would be the share.
TEST(EarlyStart, SharedMemoryIsCounted) {
  EarlyStart order;
  order.follow(kCard, kLarge, 132);
  EXPECT_TRUE(order.follow(kCard, kSmall, 132));
  order.follow(kCard, kLarge, 132);
  EXPECT_FALSE(order.follow(kCard, kSmall, 133));
}

TEST(EarlyStart, RegistersAndThreadsAreCounted) {
  EarlyStart order;
  order.follow(kCard, {1024, 40, 0}, 132); // 40 of 64 Ki registers.
  EXPECT_FALSE(order.follow(kCard, {512, 56, 0}, 132));
  order.follow(kCard, {1024, 32, 0}, 132);
  EXPECT_TRUE(order.follow(kCard, {1024, 32, 0}, 132));
  order.follow(kCard, {1024, 16, 0}, 132);
  EXPECT_FALSE(order.follow(kCard, {544, 16, 0}, 264));
}

/// Whatever is in front: CTAs that come later even it out.
TEST(EarlyStart, WhatFillsTheCardStartsEarly) {
  EarlyStart order;
  order.follow(kCard, kLarge, 132);
  EXPECT_TRUE(order.follow(kCard, kSmall, 100 * 132));
  EXPECT_TRUE(order.follow(kCard, kLarge, 132)) << "its share is all that an SM holds";
}

/// Nothing is known of what came before a run.
TEST(EarlyStart, FirstLaunch) {
  EarlyStart order;
  EXPECT_FALSE(order.follow(kCard, kSmall, 132));
}
