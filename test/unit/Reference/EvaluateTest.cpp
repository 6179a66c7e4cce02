// The Reference's C++ interface: folding through weights, limits, and errors that the tool cannot reach.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Reference/Reference.h"
#include "llvm/Support/FormatVariadic.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weft::reference;
using ::testing::HasSubstr;

namespace {

struct EvaluateTest : ::testing::Test {
  EvaluateTest() { context.loadDialect<weft::tg::TileGraphDialect, func::FuncDialect>(); }

  /// The op that defines the first returned value of @main.
  Value returned(StringRef body) {
    module = parseSourceString<ModuleOp>(body, ParserConfig(&context));
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    return function.getBody().front().getTerminator()->getOperand(0);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(EvaluateTest, FoldsThroughWeights) {
  auto &store = context.getLoadedDialect<weft::tg::TileGraphDialect>()->getWeightStore();
  std::string name = store.addBuffer(std::string("\x01\x02\x03\x04", 4));
  Value value = returned("func.func @main() -> tensor<2x2xi16> {\n"
                         "  %0 = tg.weight <\"" +
                         name +
                         "\", 0, 4> : tensor<2x2xi8>\n"
                         "  %1 = tg.transpose %0 [1, 0] : tensor<2x2xi8>\n"
                         "  %2 = tg.cast %1 : tensor<2x2xi8> to tensor<2x2xi16>\n"
                         "  return %2 : tensor<2x2xi16>\n}");
  auto elements = dyn_cast_or_null<DenseElementsAttr>(foldToConstant(value));
  ASSERT_TRUE(elements);
  EXPECT_THAT(llvm::to_vector(elements.getValues<int16_t>()), ::testing::ElementsAre(1, 3, 2, 4));
}

TEST_F(EvaluateTest, DoesNotFoldInputsMissingWeightsOrLargeResults) {
  EXPECT_FALSE(foldToConstant(returned("func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {\n"
                                       "  %0 = tg.neg %x : tensor<2xi8>\n  return %0 : tensor<2xi8>\n}")));
  EXPECT_FALSE(foldToConstant(returned("func.func @main() -> tensor<2xi8> {\n"
                                       "  %0 = tg.weight <\"gone\", 0, 2> : tensor<2xi8>\n"
                                       "  %1 = tg.neg %0 : tensor<2xi8>\n  return %1 : tensor<2xi8>\n}")));
  EXPECT_FALSE(foldToConstant(returned("func.func @main() -> tensor<99999999x9999xf32> {\n"
                                       "  %0 = tg.iota 0 : tensor<99999999x9999xf32>\n"
                                       "  return %0 : tensor<99999999x9999xf32>\n}")));
}

TEST_F(EvaluateTest, DeepGraphsFoldWithinTheLimitOfOps) {
  auto chain = [](int n) {
    std::string text = "func.func @main() -> tensor<i64> {\n  %0 = tg.constant dense<1> : tensor<i64>\n";
    for (int i = 0; i < n; ++i)
      text += llvm::formatv("  %{0} = tg.add %{1}, %{1} : tensor<i64>, tensor<i64>\n", i + 1, i);
    return text + llvm::formatv("  return %{0} : tensor<i64>\n}", n).str();
  };
  Limits limits = foldLimits();
  limits.maxOps = 3000;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(foldToConstant(returned(chain(2500)), limits));
  ASSERT_TRUE(elements);
  EXPECT_EQ(elements.getSplatValue<int64_t>(), 0); // 2^2500 modulo 2^64.
  EXPECT_FALSE(foldToConstant(returned(chain(3500)), limits));
}

TEST_F(EvaluateTest, ReportsErrors) {
  Value value = returned("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                         "  %0 = tg.exp %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}");
  Operation *op = value.getDefiningOp();
  std::optional<Tensor> wrong = Tensor::create({5}, Float32Type::get(&context), 1024);
  std::optional<Tensor> right = Tensor::create({4}, Float32Type::get(&context), 1024);
  std::string error;
  EXPECT_TRUE(failed(evaluate(op, {*wrong}, {}, {}, &error)));
  EXPECT_THAT(error, HasSubstr("expected operand 0 of shape 4xf32, got 5xf32"));
  EXPECT_TRUE(failed(evaluate(op, {}, {}, {}, &error)));
  EXPECT_THAT(error, HasSubstr("expected 1 operands, got 0"));
  Limits limits;
  limits.maxWork = 3;
  EXPECT_TRUE(failed(evaluate(op, {*right}, {}, limits, &error)));
  EXPECT_THAT(error, HasSubstr("expected at most 3 scalar operations"));
  int64_t shared = 10'000;
  limits = Limits();
  limits.sharedWork = &shared;
  EXPECT_TRUE(succeeded(evaluate(op, {*right}, {}, limits)));
  EXPECT_LT(shared, 6'000);
  shared = 1;
  EXPECT_TRUE(failed(evaluate(op, {*right}, {}, limits)));
  EXPECT_EQ(shared, 1);
  limits = Limits();
  limits.maxTensorBytes = 8;
  EXPECT_TRUE(failed(evaluate(op, {*right}, {}, limits, &error)));
  EXPECT_THAT(error, HasSubstr("expected a tensor of at most 8 bytes"));
  EXPECT_TRUE(failed(evaluate(value.getParentRegion()->front().getTerminator(), {*right}, {}, {}, &error)));
  EXPECT_THAT(error, HasSubstr("the reference does not evaluate this op"));
  FailureOr<SmallVector<Tensor>> results = evaluate(op, {*right});
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ(results->front().load(3).f, 1.0);
}

} // namespace
