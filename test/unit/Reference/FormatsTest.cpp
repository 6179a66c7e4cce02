// The bit arithmetic of the f8 and f4 formats (load, store, rounding) against APFloat, every code, in f32 and in f64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/MLIRContext.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using weft::reference::Scalar;
using weft::reference::ScalarProgram;

namespace {

class Formats : public ::testing::TestWithParam<bool> {
protected:
  Formats() { context.loadDialect<arith::ArithDialect, math::MathDialect, weft::tg::TileGraphDialect>(); }

  FloatType compute() {
    return GetParam() ? FloatType(Float64Type::get(&context)) : FloatType(Float32Type::get(&context));
  }
  SmallVector<FloatType> formats() {
    return {Float8E4M3FNType::get(&context),   Float8E4M3FNUZType::get(&context), Float8E5M2Type::get(&context),
            Float8E5M2FNUZType::get(&context), Float8E8M0FNUType::get(&context),  Float4E2M1FNType::get(&context)};
  }
  /// A program of one argument.
  ScalarProgram program(Type argument, llvm::function_ref<Value(OpBuilder &, Location, Value)> build) {
    auto compiled = ScalarProgram::compile(
        &context, argument, [&](OpBuilder &b, Location loc, ValueRange x) { return build(b, loc, x[0]); });
    EXPECT_TRUE(compiled.has_value());
    return std::move(*compiled);
  }
  ScalarProgram load(FloatType format) {
    return program(weft::tg::getStorageType(format), [&](OpBuilder &b, Location loc, Value x) {
      return weft::tg::buildLoad(b, loc, x, format, compute());
    });
  }
  ScalarProgram store(FloatType format) {
    return program(compute(),
                   [&](OpBuilder &b, Location loc, Value x) { return weft::tg::buildStore(b, loc, x, format); });
  }
  ScalarProgram round(FloatType format, bool saturate, bool roundUp = false) {
    return program(compute(), [&](OpBuilder &b, Location loc, Value x) {
      return weft::tg::detail::buildRoundToStorageFloat(b, loc, x, format, saturate, roundUp);
    });
  }

  static uint64_t runBits(ScalarProgram &p, double x) {
    p.argument(0)->f = x;
    return p.run(1)->i;
  }
  static double runReal(ScalarProgram &p, double x) {
    p.argument(0)->f = x;
    return p.run(1)->f;
  }
  static double decode(FloatType format, uint64_t code) {
    llvm::APFloat value(format.getFloatSemantics(), llvm::APInt(format.getWidth(), code));
    if (value.isNaN())
      return std::numeric_limits<double>::quiet_NaN();
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }

  MLIRContext context;
};

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST_P(Formats, LoadsEveryCode) {
  for (FloatType format : formats()) {
    ScalarProgram p = load(format);
    for (uint64_t code = 0; code < (uint64_t(1) << format.getWidth()); ++code) {
      p.argument(0)->i = code;
      double got = p.run(1)->f;
      EXPECT_PRED2(same, got, decode(format, code)) << "code " << code;
    }
  }
}

TEST_P(Formats, StoresWhatItLoads) {
  for (FloatType format : formats()) {
    ScalarProgram p = store(format);
    for (uint64_t code = 0; code < (uint64_t(1) << format.getWidth()); ++code) {
      double value = decode(format, code);
      if (std::isnan(value))
        EXPECT_TRUE(std::isnan(decode(format, runBits(p, value)))) << "code " << code;
      else
        EXPECT_EQ(runBits(p, value), code) << value;
    }
  }
}

TEST_P(Formats, RoundsBetweenNeighbours) {
  for (FloatType format : formats()) {
    if (isa<Float8E8M0FNUType>(format))
      continue;
    ScalarProgram p = round(format, true);
    uint64_t half = uint64_t(1) << (format.getWidth() - 1);
    for (uint64_t code = 0; code + 1 < half; ++code) {
      double low = decode(format, code), high = decode(format, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high))
        continue;
      double middle = (low + high) / 2, even = code % 2 == 0 ? low : high;
      for (double sign : {1.0, -1.0}) {
        EXPECT_EQ(runReal(p, sign * middle), sign * even);
        EXPECT_EQ(runReal(p, sign * (middle + (low - middle) / 8)), sign * low);
        EXPECT_EQ(runReal(p, sign * (middle + (high - middle) / 8)), sign * high);
        EXPECT_EQ(runReal(p, sign * high), sign * high);
      }
    }
  }
}

TEST_P(Formats, OverflowSaturatesOrNot) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  struct Case {
    FloatType format;
    double max, beyond;
  };
  double nan = std::numeric_limits<double>::quiet_NaN();
  for (Case c : {Case{Float8E4M3FNType::get(&context), 448, nan}, Case{Float8E4M3FNUZType::get(&context), 240, nan},
                 Case{Float8E5M2Type::get(&context), 57344, inf}, Case{Float8E5M2FNUZType::get(&context), 57344, nan},
                 Case{Float4E2M1FNType::get(&context), 6, 6}}) {
    ScalarProgram saturating = round(c.format, true), wrapping = round(c.format, false);
    for (double x : {c.max * 1.25, 1e30, inf}) {
      EXPECT_EQ(runReal(saturating, x), c.max);
      EXPECT_EQ(runReal(saturating, -x), -c.max);
      EXPECT_PRED2(same, runReal(wrapping, x), c.beyond);
    }
    double ofNaN = isa<Float4E2M1FNType>(c.format) ? 0.0 : nan;
    EXPECT_PRED2(same, runReal(saturating, nan), ofNaN);
  }
}

TEST_P(Formats, PowersOfTwo) {
  FloatType format = Float8E8M0FNUType::get(&context);
  ScalarProgram nearest = round(format, true), up = round(format, true, true), strict = round(format, false);
  EXPECT_EQ(runReal(nearest, 1.25), 1.0);
  EXPECT_EQ(runReal(nearest, 1.5), 2.0);
  EXPECT_EQ(runReal(up, 1.0), 1.0);
  EXPECT_EQ(runReal(up, 1.0625), 2.0);
  EXPECT_EQ(runReal(nearest, 0x1.4p-127), 0x1p-127);
  EXPECT_EQ(runReal(up, 0x1.4p-127), 0x1p-126);
  EXPECT_EQ(runReal(nearest, 0.0), 0x1p-127);
  EXPECT_EQ(runReal(up, 0x1.8p127), 0x1p127);
  EXPECT_TRUE(std::isnan(runReal(strict, 0.0)));
  EXPECT_TRUE(std::isnan(runReal(strict, 0x1.8p127)));
  EXPECT_TRUE(std::isnan(runReal(nearest, -1.0)));
  EXPECT_TRUE(std::isnan(runReal(nearest, std::nan(""))));
}

INSTANTIATE_TEST_SUITE_P(ComputeTypes, Formats, ::testing::Bool(),
                         [](const auto &info) { return info.param ? "f64" : "f32"; });

} // namespace
