// The grammar of --input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InputSpec.h"

#include <gtest/gtest.h>

using namespace weft::run;

/// "name | shape | value" of a spec, or the error.
static std::string describe(std::string_view text) {
  Spec spec;
  if (Error error = parseSpec(text, {"x", "a=b", "input.1"}, spec))
    return error.getMessage();
  std::string shape;
  for (int64_t dim : spec.dims.value_or(std::vector<int64_t>()))
    shape += std::to_string(dim) + "x";
  shape += spec.dtype ? weft::bundle::getName(*spec.dtype) : "";
  return spec.name.value_or("-") + " | " + shape + " | " + spec.value;
}

TEST(InputSpec, Grammar) {
  EXPECT_EQ(describe("x=@f.npy"), "x |  | @f.npy");
  EXPECT_EQ(describe("@f=g.npy"), "- |  | @f=g.npy");
  EXPECT_EQ(describe("2x3xf32=@f.npy"), "- | 2x3xf32 | @f.npy");
  EXPECT_EQ(describe("x=2x3xf32=1 2 3"), "x | 2x3xf32 | 1 2 3");
  EXPECT_EQ(describe("x=f16=1"), "x | f16 | 1");
  EXPECT_EQ(describe("x=2x3"), "x | 2x3x | ");
  EXPECT_EQ(describe("x=7"), "x |  | 7") << "a lone number is a value";
  EXPECT_EQ(describe("a=b=1"), "a=b |  | 1") << "the longest name of the model wins";
  EXPECT_EQ(describe("rand:normal:3"), "- |  | rand:normal:3");
  EXPECT_EQ(describe("input.1=0x4xi8=0"), "input.1 | 0x4xi8 | 0");
  EXPECT_EQ(describe("imput.1=3"), "the model has no \"imput.1\"; did you mean \"input.1\"?");
}

/// The elements of the tensor that `value` makes, or the error.
static std::string values(const char *text, DType dtype, std::vector<int64_t> dims) {
  Spec spec;
  spec.value = text;
  Tensor tensor;
  if (Error error = makeTensor(spec, dtype, dims, 1, tensor))
    return error.getMessage();
  std::string result;
  for (int64_t i = 0; i < tensor.getCount(); ++i)
    result += (i ? " " : "") + std::to_string(int64_t(tensor.get(i) * 1000));
  return result;
}

TEST(InputSpec, Numbers) {
  EXPECT_EQ(values("1.5 -2 1e-1", DType::F32, {3}), "1500 -2000 100");
  EXPECT_EQ(values("[[1, 2], [3, 4]]", DType::I8, {2, 2}), "1000 2000 3000 4000");
  EXPECT_EQ(values("2", DType::F64, {3}), "2000 2000 2000");
  EXPECT_EQ(values("true false", DType::I1, {2}), "1000 0");
  EXPECT_EQ(values("0x10", DType::UI8, {}), "16000");
  EXPECT_EQ(values("1 2", DType::F32, {3}), "expected 1 or 3 numbers for 3xf32, got 2");
  EXPECT_EQ(values("1 b", DType::F32, {2}), "expected a number, got \"b\"; @FILE reads a file");
  EXPECT_EQ(values("300", DType::UI8, {1}), "number \"300\" does not fit into ui8");
  EXPECT_EQ(values("-1", DType::UI8, {1}), "number \"-1\" does not fit into ui8");
  EXPECT_EQ(values("99999999999999999999", DType::I64, {1}), "number \"99999999999999999999\" does not fit into i64");
}

TEST(InputSpec, RandomNumbers) {
  EXPECT_EQ(values("rand:normal:3", DType::F32, {4}), values("rand:normal:3", DType::F32, {4}));
  EXPECT_NE(values("rand:normal:3", DType::F32, {4}), values("rand:normal:4", DType::F32, {4}));
  EXPECT_EQ(values("", DType::F32, {4}), values("rand:normal:1", DType::F32, {4})) << "without a value: the given seed";
  Tensor tensor;
  ASSERT_FALSE(Tensor::create(DType::F64, {10000}, tensor));
  fillRandom(tensor, "normal", 0, {});
  double mean = 0, square = 0;
  for (int64_t i = 0; i < 10000; ++i)
    mean += tensor.get(i) / 10000, square += tensor.get(i) * tensor.get(i) / 10000;
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(square, 1, 0.05);
  ASSERT_FALSE(Tensor::create(DType::I64, {1000}, tensor));
  fillRandom(tensor, "uniform", 5, std::pair(-2.0, 3.0));
  bool hasLow = false, hasHigh = false;
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_GE(tensor.getInteger(i), -2);
    ASSERT_LE(tensor.getInteger(i), 3);
    hasLow |= tensor.getInteger(i) == -2;
    hasHigh |= tensor.getInteger(i) == 3;
  }
  EXPECT_TRUE(hasLow && hasHigh);
  EXPECT_EQ(values("rand:gauss", DType::F32, {1}),
            "expected rand:normal[:SEED] or rand:uniform[:SEED[:LOW:HIGH]], got \"rand:gauss\"");
  EXPECT_EQ(values("rand:uniform:1:x:2", DType::F32, {1}), "expected a number in \"rand:uniform:1:x:2\", got \"x\"");
}
