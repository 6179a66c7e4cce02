// Tensors: limits, attributes, packed bytes; affine expressions on numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "weft/Reference/Reference.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using weft::reference::Scalar;
using weft::reference::Tensor;

namespace {

struct TensorTest : ::testing::Test {
  MLIRContext context;
  Builder b{&context};
  Type ui4 = IntegerType::get(&context, 4, IntegerType::Unsigned);

  static Scalar integer(uint64_t value) {
    Scalar scalar;
    scalar.i = value;
    return scalar;
  }
};

TEST_F(TensorTest, RefusesWhatIsTooLarge) {
  EXPECT_FALSE(Tensor::create({1 << 20, 1 << 20, 1 << 20, 1 << 20}, b.getF32Type(), 1 << 30));
  EXPECT_FALSE(Tensor::create({-1}, b.getF32Type(), 1 << 30));
  EXPECT_FALSE(Tensor::create({257}, b.getF32Type(), 1024));
  EXPECT_TRUE(Tensor::create({256}, b.getF32Type(), 1024));
  // No elements, whatever the other extents.
  EXPECT_TRUE(Tensor::create({std::numeric_limits<int64_t>::max(), 0}, b.getF64Type(), 0));
}

TEST_F(TensorTest, AttributesRoundTrip) {
  for (Type type : {Type(b.getI1Type()), Type(b.getI8Type()), Type(b.getI64Type()), Type(b.getIntegerType(4)), ui4,
                    Type(b.getIntegerType(16, false)), Type(b.getF16Type()), Type(b.getBF16Type()),
                    Type(b.getF64Type()), Type(b.getType<Float8E5M2Type>()), Type(b.getType<Float4E2M1FNType>())}) {
    for (bool splat : {false, true}) {
      std::optional<Tensor> tensor = Tensor::create({3, 5}, type, 1024);
      for (int64_t i = 0; i < 15; ++i) {
        Scalar value;
        if (tensor->isFloat())
          value.f = splat ? 1 : double(i % 4) / 2;
        else
          value.i = splat ? 1 : uint64_t(i);
        tensor->store(i, value);
      }
      DenseElementsAttr attr = tensor->toElements();
      EXPECT_EQ(attr.isSplat(), splat);
      std::optional<Tensor> back = Tensor::fromElements(attr, 1024);
      ASSERT_TRUE(back);
      EXPECT_EQ(back->bytes(), tensor->bytes());
      std::vector<char> packed = tensor->toPacked();
      std::optional<Tensor> unpacked = Tensor::fromPacked({3, 5}, type, packed, 1024);
      ASSERT_TRUE(unpacked);
      EXPECT_EQ(unpacked->bytes(), tensor->bytes());
    }
  }
}

TEST_F(TensorTest, EmptyAndSplatAttributes) {
  auto empty = RankedTensorType::get({0, 4}, b.getF32Type());
  std::optional<Tensor> tensor = Tensor::fromElements(DenseElementsAttr::get(empty, ArrayRef<float>()), 1024);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->size(), 0);
  EXPECT_EQ(tensor->toElements().getNumElements(), 0);
  auto large = RankedTensorType::get({1 << 20}, b.getF32Type());
  EXPECT_FALSE(Tensor::fromElements(DenseElementsAttr::get(large, 1.0f), 1024));
  auto flags = RankedTensorType::get({9}, b.getI1Type());
  std::optional<Tensor> ones = Tensor::fromElements(DenseElementsAttr::get(flags, true), 1024);
  ASSERT_TRUE(ones);
  for (int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(ones->load(i).i, 1u);
}

TEST_F(TensorTest, PackedBytesMustFit) {
  char bytes[] = {'\x21', '\x43'};
  std::optional<Tensor> tensor = Tensor::fromPacked({3}, ui4, bytes, 1024);
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->load(0).i, 1u);
  EXPECT_EQ(tensor->load(1).i, 2u);
  EXPECT_EQ(tensor->load(2).i, 3u);
  EXPECT_FALSE(Tensor::fromPacked({5}, ui4, bytes, 1024));
  EXPECT_FALSE(Tensor::fromPacked({3}, b.getI8Type(), bytes, 1024));
}

TEST_F(TensorTest, ExpressionsAreChecked) {
  AffineExpr s0 = b.getAffineSymbolExpr(0), d0 = b.getAffineDimExpr(0);
  EXPECT_EQ(weft::reference::evaluateExpr(s0 * 2 + d0.floorDiv(3) - 1, {-4}, {5}), 7);
  EXPECT_EQ(weft::reference::evaluateExpr(d0 % 3, {-4}, {}), 2);
  EXPECT_EQ(weft::reference::evaluateExpr(d0.ceilDiv(3), {-4}, {}), -1);
  EXPECT_FALSE(weft::reference::evaluateExpr(d0.floorDiv(s0), {4}, {0}));
  EXPECT_FALSE(weft::reference::evaluateExpr(s0 * s0, {}, {int64_t(1) << 40}));
  EXPECT_FALSE(weft::reference::evaluateExpr(s0 + 1, {}, {std::numeric_limits<int64_t>::max()}));
  EXPECT_FALSE(weft::reference::evaluateExpr(b.getAffineSymbolExpr(3), {}, {1}));
}

} // namespace
