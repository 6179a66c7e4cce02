// Tables that operator handlers compute at import: resampling taps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ResampleTable.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace weft::onnx;

namespace {

constexpr int64_t many = 1 << 20;

TEST(ResampleTable, NearestTwiceTakesEachElementTwice) {
  ResampleSpec spec;
  spec.coordinates = CoordinateMode::Asymmetric;
  spec.nearest = NearestMode::Floor;
  auto table = makeResampleTable(spec, {3, 6, 2.0}, many);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->isSelection());
  EXPECT_EQ(table->index, (std::vector<int64_t>{0, 0, 1, 1, 2, 2}));
}

TEST(ResampleTable, NearestModesDifferAtTies) {
  // Half-pixel coordinates of 4 elements halved lie at 0.5 and 2.5: ties.
  auto indices = [](NearestMode mode) {
    ResampleSpec spec;
    spec.nearest = mode;
    return makeResampleTable(spec, {4, 2, 0.5}, many)->index;
  };
  EXPECT_EQ(indices(NearestMode::RoundPreferFloor), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(indices(NearestMode::RoundPreferCeil), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(indices(NearestMode::Floor), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(indices(NearestMode::Ceil), (std::vector<int64_t>{1, 3}));
}

TEST(ResampleTable, LinearClampsAtTheEdges) {
  ResampleSpec spec;
  spec.mode = ResampleMode::Linear;
  auto table = makeResampleTable(spec, {2, 4, 2.0}, many);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->taps, 2);
  EXPECT_EQ(table->index, (std::vector<int64_t>{0, 0, 0, 1, 0, 1, 1, 1}));
  EXPECT_EQ(table->weight, (std::vector<double>{0.25, 0.75, 0.75, 0.25, 0.25, 0.75, 0.75, 0.25}));
}

TEST(ResampleTable, TapsWithoutWeightAreDropped) {
  ResampleSpec spec;
  spec.mode = ResampleMode::Linear;
  spec.coordinates = CoordinateMode::Asymmetric;
  auto table = makeResampleTable(spec, {6, 3, 0.5}, many);
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->isSelection());
  EXPECT_EQ(table->index, (std::vector<int64_t>{0, 2, 4}));
}

TEST(ResampleTable, WeightsSumToOne) {
  for (ResampleMode mode : {ResampleMode::Linear, ResampleMode::Cubic})
    for (bool antialias : {false, true})
      for (bool exclude : {false, true}) {
        ResampleSpec spec;
        spec.mode = mode;
        spec.antialias = antialias;
        spec.excludeOutside = exclude;
        auto table = makeResampleTable(spec, {17, 5, 5.0 / 17}, many);
        ASSERT_TRUE(table);
        for (int64_t o = 0; o < 5; ++o) {
          auto row = table->weight.begin() + o * table->taps;
          EXPECT_NEAR(std::accumulate(row, row + table->taps, 0.0), 1.0, 1e-12);
        }
        for (int64_t index : table->index)
          EXPECT_TRUE(index >= 0 && index < 17);
      }
}

TEST(ResampleTable, CropMarksOutputsOutside) {
  ResampleSpec spec;
  spec.mode = ResampleMode::Linear;
  spec.coordinates = CoordinateMode::TfCropAndResize;
  auto table = makeResampleTable(spec, {4, 3, 0.75, 0.5, 1.5}, many);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->outside, (std::vector<bool>{false, false, true}));
}

TEST(ResampleTable, RefusesEndlessFilters) {
  ResampleSpec spec;
  spec.mode = ResampleMode::Cubic;
  spec.antialias = true;
  EXPECT_FALSE(makeResampleTable(spec, {4, 1, 1e-300}, many));
  EXPECT_FALSE(makeResampleTable(spec, {4, 1 << 21, 1.0}, many));
}

} // namespace
