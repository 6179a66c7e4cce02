// Elements of tensors: every code of the narrow floating formats survives decoding and encoding, rounding is to nearest
// even, packed integers keep to their bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace weft::run;
using weft::bundle::getBits;
using weft::bundle::getName;

static Tensor make(DType dtype, std::vector<int64_t> dims) {
  Tensor tensor;
  EXPECT_FALSE(Tensor::create(dtype, std::move(dims), tensor));
  return tensor;
}

/// What `value` becomes in `dtype`.
static double round(DType dtype, double value) {
  Tensor tensor = make(dtype, {1});
  tensor.set(0, value);
  return tensor.get(0);
}

TEST(Tensor, EveryCodeSurvives) {
  const DType types[] = {DType::F16,    DType::BF16,       DType::F8E4M3FN,  DType::F8E4M3FNUZ,
                         DType::F8E5M2, DType::F8E5M2FNUZ, DType::F8E8M0FNU, DType::F4E2M1FN};
  for (DType dtype : types) {
    for (int64_t code = 0; code < int64_t(1) << getBits(dtype); ++code) {
      Tensor tensor = make(dtype, {1}), again = make(dtype, {1});
      tensor.setInteger(0, code);
      double value = tensor.get(0);
      again.set(0, value);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(again.get(0))) << getName(dtype) << " " << code;
      else
        EXPECT_EQ(tensor.bytes, again.bytes) << getName(dtype) << " " << code << " is " << value;
    }
  }
}

TEST(Tensor, RoundsToNearestEven) {
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(round(DType::F16, 2049), 2048);
  EXPECT_EQ(round(DType::F16, 2051), 2052);
  EXPECT_EQ(round(DType::F16, 65519), 65504);
  EXPECT_EQ(round(DType::F16, 65520), infinity);
  EXPECT_EQ(round(DType::F16, -1e30), -infinity);
  EXPECT_EQ(round(DType::F16, 0x1p-25), 0);
  EXPECT_EQ(round(DType::F16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(round(DType::F16, 0x1.ff8p-15), 0x1.ff8p-15) << "a subnormal is exact";
  EXPECT_EQ(round(DType::BF16, 1 + 0x1p-8), 1);
  EXPECT_EQ(round(DType::BF16, 1 + 0x1.8p-8), 1 + 0x1p-7);
  EXPECT_EQ(round(DType::F8E4M3FN, 1000), 448) << "no infinity: saturates";
  EXPECT_EQ(round(DType::F8E5M2, 1e9), infinity);
  EXPECT_EQ(round(DType::F4E2M1FN, 100), 6);
  EXPECT_EQ(round(DType::F4E2M1FN, -2.5), -2);
  EXPECT_EQ(round(DType::F8E8M0FNU, 4), 4);
  EXPECT_TRUE(std::isnan(round(DType::F8E4M3FNUZ, std::nan(""))));
  EXPECT_FALSE(std::signbit(round(DType::F8E4M3FNUZ, -0.0))) << "that code is NaN";
}

TEST(Tensor, PacksLowBitsFirst) {
  Tensor tensor = make(DType::I4, {3});
  tensor.setInteger(0, -8);
  tensor.setInteger(1, 7);
  tensor.setInteger(2, -1);
  EXPECT_EQ(tensor.bytes, (std::vector<uint8_t>{0x78, 0x0f}));
  EXPECT_EQ(tensor.getInteger(0), -8);
  EXPECT_EQ(tensor.getInteger(2), -1);
  Tensor two = make(DType::UI2, {5});
  two.setInteger(4, 3);
  two.setInteger(1, 2);
  EXPECT_EQ(two.bytes, (std::vector<uint8_t>{0x08, 0x03}));
}

TEST(Tensor, CountsUlps) {
  Tensor a = make(DType::F32, {2}), b = make(DType::F32, {2});
  a.set(0, 1);
  b.set(0, std::nextafter(1.0f, 2.0f));
  a.set(1, -0.0);
  b.set(1, double(std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(a.getUlps(b, 0), 1);
  EXPECT_EQ(a.getUlps(b, 1), 1);
}

TEST(Tensor, RefusesImpossibleSizes) {
  Tensor tensor;
  EXPECT_TRUE(Tensor::create(DType::F32, {-1}, tensor));
  EXPECT_TRUE(Tensor::create(DType::F32, {int64_t(1) << 40, int64_t(1) << 40}, tensor));
  EXPECT_TRUE(Tensor::create(DType::F32, {int64_t(1) << 39}, tensor));
}
