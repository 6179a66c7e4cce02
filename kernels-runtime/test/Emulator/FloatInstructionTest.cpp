// Arithmetic of f32 and f64 as kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form of the float family on special values and random ones: rounded results bit for bit, approximations within
// the errors that the PTX manual states.

#include "FloatOracle.h"
#include "LaneKernel.h"

#include <gtest/gtest.h>

#include <functional>

using namespace weft::emu::test;

namespace {

/// Checks a kernel's first result, bit by bit, by a function of the operands.
void check(const LaneKernel &kernel, const std::vector<Lanes> &operands,
           const std::function<uint64_t(const uint64_t *)> &oracle) {
  std::vector<Lanes> results = runLanes(kernel, operands);
  if (testing::Test::HasFatalFailure())
    return;
  for (size_t i = 0; i < operands[0].size(); ++i) {
    uint64_t values[3] = {};
    for (size_t k = 0; k < operands.size(); ++k)
      values[k] = operands[k][i];
    ASSERT_EQ(results[0][i], oracle(values))
        << kernel.body << std::hex << " of 0x" << values[0] << " 0x" << values[1] << " 0x" << values[2];
  }
}

using Binary = float (*)(float, float, char);

float saturated(float value) { return !(value > 0) ? 0.0f : value > 1 ? 1.0f : value; }

/// One f32 form of two operands, as `name`{.rnd}{.ftz}{.sat}.
void checkBinary(const std::string &name, Binary exact, bool hasSat, bool isRounded) {
  std::vector<Lanes> operands = floatOperands(4, false, 2);
  for (const char *rounding : {"", ".rn", ".rz", ".rm", ".rp"})
    for (bool flushes : {false, true})
      for (bool saturates : {false, true}) {
        if ((saturates && !hasSat) || (isRounded && !*rounding))
          continue;
        LaneKernel kernel;
        kernel.body = name + rounding + (flushes ? ".ftz" : "") + (saturates ? ".sat" : "") + ".f32 %d, %a, %b;";
        kernel.in = {4, 4};
        kernel.out = {4};
        char direction = *rounding ? rounding[2] : 'n';
        check(kernel, operands, [&](const uint64_t *v) {
          float x = asFloat(v[0]), y = asFloat(v[1]);
          if (flushes)
            x = flushed(x), y = flushed(y);
          float result = exact(x, y, direction);
          if (saturates)
            result = saturated(result);
          // A quotient is tiny, and flushed, when it is so before rounding.
          bool isTiny = isRounded && flushes && std::fabs(exact(x, y, 'z')) < 0x1p-126f;
          return bitsOf(flushes ? flushed(isTiny ? result * 0.0f : result) : result);
        });
      }
}

bool isNan(uint64_t bits) { return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000; }

/// The NaN result of f64 operands as an H100 chooses it: the second operand if it is one, then the third, then the
/// first (in a division the first before the second); without a NaN operand the negative quiet one.
uint64_t nanOf(const uint64_t *values, unsigned count, bool isDivision) {
  for (unsigned k : {isDivision ? 0u : 1u, 2u, isDivision ? 1u : 0u})
    if (k < count && isNan(values[k]))
      return values[k] | uint64_t(1) << 51;
  return uint64_t(0xfff8) << 48;
}

/// f64 forms.
void checkDouble(const std::string &body, unsigned sources, const std::function<double(const uint64_t *)> &oracle) {
  LaneKernel kernel;
  kernel.body = body;
  kernel.in.assign(sources, 8);
  kernel.out = {8};
  std::vector<Lanes> operands = floatOperands(8, false, sources);
  std::vector<Lanes> results = runLanes(kernel, operands);
  for (size_t i = 0; i < operands[0].size(); ++i) {
    uint64_t values[3] = {};
    for (size_t k = 0; k < operands.size(); ++k)
      values[k] = operands[k][i];
    double expected = oracle(values);
    if (std::isnan(expected))
      ASSERT_EQ(results[0][i], nanOf(values, sources, body.substr(0, 3) == "div")) << body;
    else
      ASSERT_EQ(results[0][i], bitsOf(expected))
          << body << std::hex << " of 0x" << values[0] << " 0x" << values[1] << " 0x" << values[2];
  }
}

} // namespace

TEST(FloatInstruction, AddSubMul) {
  checkBinary("add", sum<float>, true, false);
  checkBinary("sub", [](float x, float y, char d) { return sum<float>(x, -y, d); }, true, false);
  checkBinary("mul", product<float>, true, false);
}

TEST(FloatInstruction, Division) { checkBinary("div", quotient<float>, false, true); }

TEST(FloatInstruction, ReciprocalAndRoot) {
  std::vector<Lanes> operands = floatOperands(4, false, 1);
  for (char direction : {'n', 'z', 'm', 'p'})
    for (bool flushes : {false, true}) {
      std::string modifiers = std::string(".r") + direction + (flushes ? ".ftz" : "");
      auto flush = [=](float value) { return flushes ? flushed(value) : value; };
      check({"rcp" + modifiers + ".f32 %d, %a;", {4}, {4}}, operands, [&](const uint64_t *v) {
        float x = flush(asFloat(v[0])), result = quotient<float>(1.0f, x, direction);
        bool isTiny = flushes && std::fabs(quotient<float>(1.0f, x, 'z')) < 0x1p-126f;
        return bitsOf(isTiny ? result * 0.0f : result);
      });
      check({"sqrt" + modifiers + ".f32 %d, %a;", {4}, {4}}, operands, [&](const uint64_t *v) {
        float x = flush(asFloat(v[0]));
        if (!(x > 0) || std::isinf(x))
          return bitsOf(std::sqrt(x));
        // The root of an f32 is no tie, and 53 bits tell on which side of an f32 it is, or that it is one.
        double root = std::sqrt(double(x));
        bool isExact = double(float(root)) * double(float(root)) == double(x);
        return bitsOf(isExact ? float(root) : rounded<float>(Wide(root), direction));
      });
    }
}

TEST(FloatInstruction, FusedMultiplyAdd) {
  std::vector<Lanes> operands = floatOperands(4, false, 3);
  for (const char *name : {"fma", "mad"})
    for (bool flushes : {false, true})
      for (bool saturates : {false, true}) {
        std::string body =
            std::string(name) + ".rn" + (flushes ? ".ftz" : "") + (saturates ? ".sat" : "") + ".f32 %d, %a, %b, %c;";
        check({body, {4, 4, 4}, {4}}, operands, [&](const uint64_t *v) {
          float x[3];
          for (int i = 0; i < 3; ++i)
            x[i] = flushes ? flushed(asFloat(v[i])) : asFloat(v[i]);
          float result = std::fma(x[0], x[1], x[2]);
          if (saturates)
            result = saturated(result);
          return bitsOf(flushes ? flushed(result) : result);
        });
      }
  // Directed: operands whose product and sum 113 bits hold.
  for (char direction : {'z', 'm', 'p'}) {
    std::vector<Lanes> near(3);
    for (uint32_t i = 0; i < 512; ++i)
      for (int k = 0; k < 3; ++k)
        near[k].push_back(
            bitsOf((i % 2 ? -1.0f : 1.0f) * (1.0f + float((i * 2654435761u >> (7 * k)) % 8388593u) * 0x1p-23f) *
                   (k == 2 ? 4.0f : 1.0f)));
    check({std::string("fma.r") + direction + ".f32 %d, %a, %b, %c;", {4, 4, 4}, {4}}, near, [&](const uint64_t *v) {
      return bitsOf(rounded<float>(Wide(asFloat(v[0])) * asFloat(v[1]) + asFloat(v[2]), direction));
    });
  }
}

TEST(FloatInstruction, Doubles) {
  for (char direction : {'n', 'z', 'm', 'p'}) {
    std::string r = std::string(".r") + direction;
    checkDouble("add" + r + ".f64 %d, %a, %b;", 2,
                [=](const uint64_t *v) { return sum<double>(asDouble(v[0]), asDouble(v[1]), direction); });
    checkDouble("sub" + r + ".f64 %d, %a, %b;", 2,
                [=](const uint64_t *v) { return sum<double>(asDouble(v[0]), -asDouble(v[1]), direction); });
    checkDouble("mul" + r + ".f64 %d, %a, %b;", 2,
                [=](const uint64_t *v) { return product<double>(asDouble(v[0]), asDouble(v[1]), direction); });
    checkDouble("div" + r + ".f64 %d, %a, %b;", 2,
                [=](const uint64_t *v) { return quotient<double>(asDouble(v[0]), asDouble(v[1]), direction); });
    checkDouble("rcp" + r + ".f64 %d, %a;", 1,
                [=](const uint64_t *v) { return quotient<double>(1.0, asDouble(v[0]), direction); });
  }
  checkDouble("sqrt.rn.f64 %d, %a;", 1, [](const uint64_t *v) { return std::sqrt(asDouble(v[0])); });
  checkDouble("fma.rn.f64 %d, %a, %b, %c;", 3,
              [](const uint64_t *v) { return std::fma(asDouble(v[0]), asDouble(v[1]), asDouble(v[2])); });
  checkDouble("mad.rn.f64 %d, %a, %b, %c;", 3,
              [](const uint64_t *v) { return std::fma(asDouble(v[0]), asDouble(v[1]), asDouble(v[2])); });
  checkDouble("add.f64 %d, %a, %b;", 2, [](const uint64_t *v) { return asDouble(v[0]) + asDouble(v[1]); });
  checkDouble("mul.f64 %d, %a, %b;", 2, [](const uint64_t *v) { return asDouble(v[0]) * asDouble(v[1]); });
  checkDouble("sub.f64 %d, %a, %b;", 2, [](const uint64_t *v) { return asDouble(v[0]) - asDouble(v[1]); });
}

namespace {

struct Approximation {
  const char *name; ///< Up to .approx or .full.
  double (*exact)(double, double);
  unsigned sources;
  double relative, absolute; ///< Error bounds of the manual.
  double low, high;          ///< Of the magnitudes of the operands that are compared.
  bool isPositive;
  double units, difference; ///< Of GPU and emulator: the GPU's documented error and half a unit.
};

// Units and differences: the manual's 2 units of div and of ex2, 1 of rcp, relative errors of 2^-22.9 of rsqrt, 2^-23
// of sqrt and 2^-11 of tanh; absolute ones of 2^-20.5 of sin and cos in [-2 pi, 2 pi], and 2^-22 of lg2 in (0.5, 2),
// where outside it is relative; and the emulator's own rounding (of sin and cos its like reduction of the argument).
const Approximation kApproximations[] = {
    {"div.approx", [](double x, double y) { return x / y; }, 2, 0x1p-22, 0, 0x1p-40, 0x1p40, false, 3, 0},
    {"div.full", [](double x, double y) { return x / y; }, 2, 0x1p-22, 0, 0x1p-40, 0x1p40, false, 3, 0},
    {"rcp.approx", [](double x, double) { return 1 / x; }, 1, 0x1p-22, 0, 0x1p-40, 0x1p40, false, 1, 0},
    {"rsqrt.approx", [](double x, double) { return 1 / std::sqrt(x); }, 1, 0x1p-22, 0, 0x1p-40, 0x1p40, true, 2, 0},
    {"sqrt.approx", [](double x, double) { return std::sqrt(x); }, 1, 0x1p-22, 0, 0x1p-40, 0x1p40, true, 2, 0},
    {"sin.approx", [](double x, double) { return std::sin(x); }, 1, 0, 0x1p-20, 0, 6.28, false, 0, 0x1p-20},
    {"cos.approx", [](double x, double) { return std::cos(x); }, 1, 0, 0x1p-20, 0, 6.28, false, 0, 0x1p-20},
    {"lg2.approx", [](double x, double) { return std::log2(x); }, 1, 0x1p-22, 0x1p-22, 0x1p-40, 0x1p40, true, 4,
     0x1p-22},
    {"ex2.approx", [](double x, double) { return std::exp2(x); }, 1, 0x1p-21, 0, 0, 100, false, 2, 0},
    {"tanh.approx", [](double x, double) { return std::tanh(x); }, 1, 0x1p-10, 0, 0x1p-10, 20, false, 8192, 0},
};

} // namespace

TEST(FloatInstruction, ApproximationsAreWithinTheirBounds) {
  for (const Approximation &form : kApproximations)
    for (bool flushes : {false, true}) {
      bool hasFlush = std::string(form.name) != "tanh.approx";
      if (flushes && !hasFlush)
        continue;
      LaneKernel kernel;
      kernel.body =
          std::string(form.name) + (flushes ? ".ftz" : "") + ".f32 %d, %a" + (form.sources == 2 ? ", %b;" : ";");
      kernel.in.assign(form.sources, 4);
      kernel.out = {4};
      kernel.tolerance = {"f32", form.units, form.difference};
      std::vector<Lanes> operands(form.sources);
      for (int i = 0; i < 512; ++i)
        for (unsigned k = 0; k < form.sources; ++k) {
          double low = form.low > 0 ? form.low : form.high * 0x1p-12;
          double magnitude = low * std::pow(form.high / low, ((i * 37 + int(k) * 211) % 512) / 512.0);
          operands[k].push_back(bitsOf(float(form.isPositive || i % 3 ? magnitude : -magnitude)));
        }
      std::vector<Lanes> results = runLanes(kernel, operands);
      for (size_t i = 0; i < 512; ++i) {
        double exact = form.exact(asFloat(operands[0][i]), form.sources == 2 ? asFloat(operands[1][i]) : 0);
        ASSERT_NEAR(asFloat(results[0][i]), exact, form.relative * std::fabs(exact) + form.absolute)
            << kernel.body << " of " << asFloat(operands[0][i]);
      }
    }
}

TEST(FloatInstruction, ApproximationsOfSpecialValues) {
  const uint64_t nan = 0x7fffffff, plus = 0x7f800000, minus = 0xff800000, one = 0x3f800000, zero = 0,
                 minusZero = 0x80000000;
  struct Special {
    const char *body;
    Lanes in, out;
  };
  const Special specials[] = {
      {"rcp.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan}, {plus, minus, zero, minusZero, nan}},
      {"rcp.approx.ftz.f32 %d, %a;", {1, 0x80000001, 0x7f000000}, {plus, minus, 0}},
      {"rsqrt.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan, 0xbf800000}, {plus, minus, zero, nan, nan, nan}},
      {"sqrt.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan}, {zero, minusZero, plus, nan, nan}},
      {"lg2.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan, one}, {minus, minus, plus, nan, nan, zero}},
      {"lg2.approx.ftz.f32 %d, %a;", {1, 0x80000001}, {minus, minus}},
      {"ex2.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan}, {one, one, plus, zero, nan}},
      {"ex2.approx.ftz.f32 %d, %a;", {1, 0xc3020000}, {one, zero}},
      {"sin.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan}, {zero, minusZero, nan, nan, nan}},
      {"cos.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan}, {one, one, nan, nan, nan}},
      {"tanh.approx.f32 %d, %a;", {zero, minusZero, plus, minus, nan}, {zero, minusZero, one, 0xbf800000, nan}},
  };
  for (const Special &special : specials) {
    Lanes in = special.in;
    in.resize(64, in[0]);
    Lanes out = runLanes({special.body, {4}, {4}}, {in})[0];
    for (size_t i = 0; i < special.in.size(); ++i)
      EXPECT_EQ(out[i], special.out[i]) << special.body << std::hex << " of 0x" << in[i];
  }
}

TEST(FloatInstruction, ApproximationsOfDoubles) {
  Lanes in;
  for (int i = 0; i < 64; ++i)
    in.push_back(bitsOf(0.75 * (i + 1)));
  struct Form {
    const char *body;
    double (*exact)(double);
    double bound;
    double units; ///< Of GPU and emulator. The manual says nothing; of .ftz results the upper words differ by 1.
  };
  for (const Form &form :
       {Form{"rcp.approx.ftz.f64 %d, %a;", [](double x) { return 1 / x; }, 0x1p-18, 0x1p32},
        Form{"rsqrt.approx.ftz.f64 %d, %a;", [](double x) { return 1 / std::sqrt(x); }, 0x1p-18, 0x1p32},
        Form{"rsqrt.approx.f64 %d, %a;", [](double x) { return 1 / std::sqrt(x); }, 0x1p-18, 1}}) {
    Lanes out = runLanes({form.body, {8}, {8}, "8.0", {"f64", form.units, 0}}, {in})[0];
    for (int i = 0; i < 64; ++i) {
      double exact = form.exact(asDouble(in[i]));
      EXPECT_NEAR(asDouble(out[i]), exact, exact * form.bound) << form.body;
      if (std::string(form.body).find("ftz") != std::string::npos) {
        EXPECT_EQ(uint32_t(out[i]), 0u) << form.body;
      }
    }
  }
}

TEST(FloatInstruction, Refusals) {
  for (auto [body, words] :
       {std::pair("add.rn.sat.f64 %d, %a, %b;", "f64"), std::pair("fma.f32 %d, %a, %b, %c;", ".rn"),
        std::pair("div.f32 %d, %a, %b;", ".rn"), std::pair("add.rn.f32x2 %d, %a, %b;", "sm_100")}) {
    LaneKernel kernel = {body, {8, 8, 8}, {8}};
    if (std::string(body).find("f32 ") != std::string::npos)
      kernel = {body, {4, 4, 4}, {4}};
    EXPECT_NE(refusalOf(kernel).find(words), std::string::npos) << body << ": " << refusalOf(kernel);
  }
}
