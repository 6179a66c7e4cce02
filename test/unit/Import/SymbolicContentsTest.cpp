// Signs and comparisons of extents, and symbolic contents through every op that they follow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include <gtest/gtest.h>

using namespace weft;

namespace {

class SymbolicContentsTest : public testing::Test {
protected:
  SymbolicContentsTest() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<tg::TileGraphDialect, mlir::func::FuncDialect>();
  }

  /// Contents of the value that the function `body` returns, as text; "?" if they are not known.
  std::string contentsOf(const std::string &body, const std::string &type) {
    std::string text = "module attributes {tg.symbols = [\"a\", \"b\"]} { func.func @f(%x: tensor<2xi64>) -> " + type +
                       " {\n" + body + "\nreturn %r : " + type + "\n} }";
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return "does not parse";
    auto function = *module->getOps<mlir::func::FuncOp>().begin();
    mlir::Value value = function.front().getTerminator()->getOperand(0);
    std::optional<tg::Dims> contents = tg::SymbolicContents().get(value);
    return contents ? tg::formatDims(*contents) : "?";
  }

  mlir::AffineExpr symbol(unsigned i) { return mlir::getAffineSymbolExpr(i, &context); }

  mlir::MLIRContext context;
};

} // namespace

TEST_F(SymbolicContentsTest, Signs) {
  mlir::AffineExpr a = symbol(0), b = symbol(1);
  EXPECT_TRUE(tg::isNonNegative(a * 2 + b));
  EXPECT_FALSE(tg::isNonNegative(a - 1));
  // A remainder is less than its divisor.
  EXPECT_TRUE(tg::isNonNegative(7 - a % 8));
  EXPECT_FALSE(tg::isNonNegative(6 - a % 8));
  EXPECT_TRUE(tg::isNonNegative(3 - (a % 8).floorDiv(2)));
  EXPECT_TRUE(tg::isNonNegative(4 - (a % 8).ceilDiv(2)));
  EXPECT_FALSE(tg::isNonNegative(3 - (a % 8).ceilDiv(2)));
  EXPECT_FALSE(tg::isNonNegative(7 - a % b));
  EXPECT_TRUE(tg::isNonNegative(a.floorDiv(b) * b));
  EXPECT_EQ(tg::compareExprs(a + 1, a), 1);
  EXPECT_EQ(tg::compareExprs(a, a + b + 1), -1);
  EXPECT_EQ(tg::compareExprs(a + b, b + a), 0);
  EXPECT_EQ(tg::compareExprs(a, b), std::nullopt);
}

TEST_F(SymbolicContentsTest, Arithmetic) {
  EXPECT_EQ(
      contentsOf("%e = tg.extents affine_map<()[s0, s1] -> (s0, s1)>\n%c = tg.constant dense<[2, 3]> : tensor<2xi64>\n"
                 "%r = tg.mul %e, %c : tensor<2xi64>, tensor<2xi64>",
                 "tensor<2xi64>"),
      "s0 * 2 x s1 * 3");
  EXPECT_EQ(contentsOf("%e = tg.extents affine_map<()[s0] -> (s0 * 4)>\n%c = tg.constant dense<2> : tensor<1xi64>\n"
                       "%r = tg.div %e, %c : tensor<1xi64>, tensor<1xi64>",
                       "tensor<1xi64>"),
            "s0 * 2");
  EXPECT_EQ(contentsOf("%c = tg.constant dense<-7> : tensor<1xi64>\n%d = tg.constant dense<2> : tensor<1xi64>\n"
                       "%r = tg.div %c, %d : tensor<1xi64>, tensor<1xi64>",
                       "tensor<1xi64>"),
            "-3");
}

// That with the divisor's sign is AffineExpr's for any dividend; C's is where no operand is negative.
TEST_F(SymbolicContentsTest, Remainders) {
  auto remainder = [&](const std::string &op, const std::string &extent) {
    return contentsOf("%e = tg.extents affine_map<()[s0] -> (" + extent +
                          ")>\n%c = tg.constant dense<8> : tensor<1xi64>\n%r = tg." + op +
                          " %e, %c : tensor<1xi64>, tensor<1xi64>",
                      "tensor<1xi64>");
  };
  std::string rest = "s0 + (s0 + 3) floordiv 8 * -8 + 3";
  EXPECT_EQ(remainder("mod", "s0 + 3"), rest);
  EXPECT_EQ(remainder("mod", "s0 - 3"), "s0 + (s0 + -3) floordiv 8 * -8 + -3");
  EXPECT_EQ(remainder("fmod", "s0 + 3"), rest);
  EXPECT_EQ(remainder("fmod", "s0 - 3"), "?");
}

TEST_F(SymbolicContentsTest, ComparisonSelects) {
  EXPECT_EQ(contentsOf("%e = tg.extents affine_map<()[s0] -> (s0, 5)>\n%m = tg.constant dense<-1> : tensor<i64>\n"
                       "%c = tg.cmp eq %e, %m : tensor<2xi64>, tensor<i64>\n%o = tg.constant dense<1> : tensor<i64>\n"
                       "%r = tg.select %c, %o, %e : tensor<2xi1>, tensor<i64>, tensor<2xi64>",
                       "tensor<2xi64>"),
            "s0 x 5");
}

TEST_F(SymbolicContentsTest, Movement) {
  EXPECT_EQ(contentsOf("%e = tg.extents affine_map<()[s0, s1] -> (s0, s1, 7)>\n"
                       "%t = tg.slice %e offsets = [2] strides = [-1] : tensor<3xi64> to tensor<2xi64>\n"
                       "%r = tg.concat %t, %e axis = 0 : tensor<2xi64>, tensor<3xi64>",
                       "tensor<5xi64>"),
            "7 x s1 x s0 x s1 x 7");
  EXPECT_EQ(
      contentsOf(
          "%e = tg.extents affine_map<()[s0, s1] -> (s0, s1, 7)>\n%i = tg.constant dense<[-1, 0]> : tensor<2xi64>\n"
          "%r = tg.gather %e, %i data_map = affine_map<(i)[s] -> (s)> index_maps = [affine_map<(i) -> (i)>]\n"
          "  : tensor<3xi64>, tensor<2xi64> -> tensor<2xi64>",
          "tensor<2xi64>"),
      "7 x s0");
  EXPECT_EQ(
      contentsOf(
          "%e = tg.extents affine_map<()[s0, s1] -> (s0, s1, 7)>\n%r = tg.reduce mul %e axes = [0] : tensor<3xi64>",
          "tensor<i64>"),
      "s0 * s1 * 7");
}

TEST_F(SymbolicContentsTest, UnknownStaysUnknown) {
  EXPECT_EQ(contentsOf("%r = tg.add %x, %x : tensor<2xi64>, tensor<2xi64>", "tensor<2xi64>"), "?");
  // Division of something that may be negative rounds toward zero, which floordiv does not.
  EXPECT_EQ(contentsOf("%e = tg.extents affine_map<()[s0] -> (s0 - 3)>\n%c = tg.constant dense<2> : tensor<1xi64>\n"
                       "%r = tg.div %e, %c : tensor<1xi64>, tensor<1xi64>",
                       "tensor<1xi64>"),
            "?");
}
