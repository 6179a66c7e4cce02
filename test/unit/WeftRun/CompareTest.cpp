// Verdicts of comparisons.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compare.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace weft::run;

static Tensor make(DType dtype, const std::vector<double> &values) {
  Tensor tensor;
  EXPECT_FALSE(Tensor::create(dtype, {int64_t(values.size())}, tensor));
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(int64_t(i), values[i]);
  return tensor;
}

static std::string verdict(DType dtype, const std::vector<double> &got, const std::vector<double> &want,
                           Tolerance tolerance = {}) {
  return compare(make(dtype, got), make(dtype, want), tolerance).failure;
}

TEST(Compare, AppliesTheTypesTolerance) {
  EXPECT_EQ(verdict(DType::F32, {1.00005}, {1}), "");
  EXPECT_NE(verdict(DType::F32, {1.0002}, {1}), "");
  EXPECT_EQ(verdict(DType::F16, {1.001}, {1}), "");
  EXPECT_EQ(verdict(DType::BF16, {1.015625}, {1}), "");
  EXPECT_NE(verdict(DType::F64, {1.00001}, {1}), "");
  EXPECT_EQ(verdict(DType::I32, {5}, {5}), "");
  EXPECT_EQ(verdict(DType::I32, {5, 6}, {5, 7}), "1 of 2 elements differ, first at [1]: expected 7, got 6");
}

TEST(Compare, AppliesGivenTolerances) {
  Tolerance loose;
  loose.rtol = 0.1;
  EXPECT_EQ(verdict(DType::F32, {1.05, -2.1}, {1, -2}, loose), "");
  EXPECT_EQ(verdict(DType::I32, {105}, {100}, loose), "");
  Tolerance ulp;
  ulp.ulp = 0;
  EXPECT_NE(verdict(DType::F32, {double(std::nextafter(1.0f, 2.0f))}, {1}, ulp), "")
      << "ulp alone replaces the defaults";
  ulp.ulp = 1;
  EXPECT_EQ(verdict(DType::F32, {double(std::nextafter(1.0f, 2.0f))}, {1}, ulp), "");
}

TEST(Compare, TreatsSpecialValues) {
  double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(verdict(DType::F32, {nan, infinity, -0.0}, {nan, infinity, 0}), "");
  EXPECT_NE(verdict(DType::F32, {nan}, {1}), "");
  EXPECT_NE(verdict(DType::F32, {1}, {nan}), "");
  EXPECT_NE(verdict(DType::F32, {infinity}, {-infinity}), "");
  EXPECT_NE(verdict(DType::F32, {3e38}, {infinity}), "");
}

TEST(Compare, TellsLargeIntegersApart) {
  Tensor a, b;
  ASSERT_FALSE(Tensor::create(DType::I64, {1}, a));
  ASSERT_FALSE(Tensor::create(DType::I64, {1}, b));
  a.setInteger(0, (int64_t(1) << 62) + 1);
  b.setInteger(0, int64_t(1) << 62);
  EXPECT_NE(compare(a, b, {}).failure, "") << "equal as doubles, different as integers";
}

TEST(Compare, NamesShapes) {
  Tensor a, b;
  ASSERT_FALSE(Tensor::create(DType::F32, {2, 3}, a));
  ASSERT_FALSE(Tensor::create(DType::F16, {3, 2}, b));
  EXPECT_EQ(compare(a, b, {}).failure, "expected 3x2xf16, got 2x3xf32");
  Tensor c = a;
  c.set(4, 1);
  EXPECT_NE(compare(c, a, {}).failure.find("first at [1,1]"), std::string::npos);
}
