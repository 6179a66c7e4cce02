// NaN payloads, and results next to the smallest normal number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What FloatFormat.h says of NaNs and of .ftz, as an H100 was seen to do it: signalling and quiet NaNs of both signs
// with payloads in every operand of an instruction, and exact results within a few units of the smallest normal number.

#include "FloatOracle.h"
#include "LaneKernel.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace weft::emu::test;

namespace {

bool isNan(uint64_t bits) { return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000; }
uint64_t quiet(uint64_t bits) { return bits | 0x0008000000000000; }

const Lanes kDoubles = {0x7ff69840d3a6d457, 0xfff2eb3b7a57fdd9, 0x7ffe442a1fab7012, 0xfff8000000000001,
                        0x7ff0000000000001, 0x3ff0000000000000, 0x7ff0000000000000, 0x0000000000000000};

/// Every triple of the numbers above; 512 of each operand.
std::vector<Lanes> triples() {
  std::vector<Lanes> operands(3);
  for (uint64_t a : kDoubles)
    for (uint64_t b : kDoubles)
      for (uint64_t c : kDoubles) {
        operands[0].push_back(a);
        operands[1].push_back(b);
        operands[2].push_back(c);
      }
  return operands;
}

/// Lanes for which a form gives a NaN, and which.
void checkNans(const std::string &body, unsigned sources, const std::vector<unsigned> &order) {
  std::vector<Lanes> operands = triples();
  operands.resize(sources);
  Lanes out = runLanes({body, std::vector<unsigned>(sources, 8), {8}}, operands)[0];
  for (size_t i = 0; i < out.size(); ++i) {
    uint64_t expected = 0;
    for (unsigned k : order)
      if (!expected && isNan(operands[k][i]))
        expected = quiet(operands[k][i]);
    if (expected)
      ASSERT_EQ(out[i], expected) << body << " " << i << std::hex << " of 0x" << operands[0][i];
    else if (isNan(out[i]))
      ASSERT_EQ(out[i], 0xfff8000000000000) << body << " " << i;
  }
}

} // namespace

TEST(NanPayloads, ArithmeticOfDoubles) {
  for (const char *name : {"add.f64", "sub.f64", "mul.f64"})
    checkNans(std::string(name) + " %d, %a, %b;", 2, {1, 0});
  for (const char *name : {"div.rn.f64", "div.rp.f64"})
    checkNans(std::string(name) + " %d, %a, %b;", 2, {0, 1});
  checkNans("fma.rn.f64 %d, %a, %b, %c;", 3, {1, 2, 0});
  for (const char *name : {"abs.f64", "neg.f64", "rcp.rn.f64", "sqrt.rn.f64", "rsqrt.approx.f64", "cvt.rzi.f64.f64"})
    checkNans(std::string(name) + " %d, %a;", 1, {0});
}

TEST(NanPayloads, MinAndMaxOfDoubles) {
  std::vector<Lanes> operands = triples();
  operands.resize(2);
  for (const char *name : {"min.f64", "max.f64"}) {
    Lanes out = runLanes({std::string(name) + " %d, %a, %b;", {8, 8}, {8}}, operands)[0];
    for (size_t i = 0; i < out.size(); ++i) {
      uint64_t a = operands[0][i], b = operands[1][i];
      if (isNan(a) || isNan(b))
        ASSERT_EQ(out[i], !isNan(a) ? a : !isNan(b) ? b : quiet(b)) << name << std::hex << " 0x" << a << " 0x" << b;
    }
  }
}

TEST(NanPayloads, Conversions) {
  Lanes doubles, singles, halves;
  for (uint64_t i = 0; i < 128; ++i) {
    uint64_t noise = (i + 1) * 0x9e3779b97f4a7c15, sign = i & 1;
    doubles.push_back(sign << 63 | 0x7ff0000000000000 | (noise >> 12) | 1);
    singles.push_back(sign << 31 | 0x7f800000 | (noise >> 41) | 1);
    halves.push_back(sign << 15 | 0x7f80 | (noise >> 57) | 1); // a NaN of f16 as of bf16
  }
  struct Form {
    const char *words;
    const Lanes &in;
    unsigned from, to;
    std::function<uint64_t(uint64_t)> expected;
  };
  const Form forms[] = {
      {"rn.f32.f64", doubles, 8, 4,
       [](uint64_t x) { return (x >> 32 & 0x80000000) | 0x7fc00000 | (x >> 29 & 0x3fffff); }},
      {"rz.ftz.f32.f64", doubles, 8, 4,
       [](uint64_t x) { return (x >> 32 & 0x80000000) | 0x7fc00000 | (x >> 29 & 0x3fffff); }},
      {"rn.f16.f64", doubles, 8, 2, [](uint64_t x) { return (x >> 48 & 0x8000) | 0x7e00 | (x >> 42 & 0x1ff); }},
      {"rn.sat.f32.f64", doubles, 8, 4, [](uint64_t) { return 0; }},
      {"f64.f32", singles, 4, 8,
       [](uint64_t x) { return (x & 0x80000000) << 32 | 0x7ff8000000000000 | (x & 0x7fffff) << 29; }},
      {"ftz.f64.f32", singles, 4, 8, [](uint64_t) { return 0x7fffffffe0000000; }},
      {"f64.f16", halves, 2, 8, [](uint64_t x) { return (x & 0x8000) << 48 | 0x7ff8000000000000 | (x & 0x3ff) << 42; }},
      {"f32.bf16", halves, 2, 4, [](uint64_t x) { return x << 16; }},
      {"f32.f16", halves, 2, 4, [](uint64_t) { return 0x7fffffff; }},
      {"rn.f16.f32", singles, 4, 2, [](uint64_t) { return 0x7fff; }},
      {"rni.f32.f32", singles, 4, 4, [](uint64_t) { return 0x7fffffff; }},
      {"ftz.f32.f32", singles, 4, 4, [](uint64_t) { return 0x7fffffff; }},
      {"f32.f32", singles, 4, 4, [](uint64_t x) { return x; }},
      {"rna.tf32.f32", singles, 4, 4, [](uint64_t x) { return x & 0xffffe000; }},
      {"rna.satfinite.tf32.f32", singles, 4, 4, [](uint64_t x) { return (x & 0xffffe000) - 0x2000; }},
      {"rz.relu.tf32.f32", singles, 4, 4, [](uint64_t) { return 0x7fffe000; }},
  };
  for (const Form &form : forms) {
    std::string body = std::string("cvt.") + form.words + " %d, %a;";
    Lanes out = runLanes({body, {form.from}, {form.to}, "8.1"}, {form.in})[0];
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], form.expected(form.in[i])) << body << std::hex << " of 0x" << form.in[i];
  }
}

namespace {

/// `exact` in a direction, flushed if it is below 2^-126 when rounded with exponents that have no end.
uint64_t flushedAfterRounding(Wide exact, char direction) {
  float unbounded = rounded<float>(exact * Wide(0x1p64), direction);
  return bitsOf(std::fabs(unbounded) < 0x1p-62f ? std::copysign(0.0f, unbounded) : rounded<float>(exact, direction));
}

/// 1,024 pairs whose product is within some units of 2^-126; both signs.
std::vector<Lanes> pairsNearSmallest() {
  std::mt19937 random(5);
  std::vector<Lanes> operands(2);
  for (int i = 0; i < 1024; ++i) {
    float a = std::ldexp(1 + float(random() & 0x7fffff) * 0x1p-23f, -20 - int(random() % 80));
    uint64_t b = bitsOf(float(0x1p-126 / double(a))) + random() % 5 - 2;
    operands[0].push_back(bitsOf(i % 2 ? -a : a));
    operands[1].push_back(b);
  }
  return operands;
}

} // namespace

TEST(FlushToZero, DecidesAfterRounding) {
  std::vector<Lanes> operands = pairsNearSmallest();
  for (char direction : {'n', 'z', 'm', 'p'}) {
    std::string r = std::string(".r") + direction + ".ftz.f32 %d, %a";
    Lanes products = runLanes({"mul" + r + ", %b;", {4, 4}, {4}}, operands)[0];
    Lanes fused = runLanes({"{.reg .f32 z;\nmov.f32 z, 0f00000000;\nfma" + r + ", %b, z;}", {4, 4}, {4}}, operands)[0];
    std::vector<Lanes> ratios = operands;
    for (uint64_t &b : ratios[1]) // 1 / b
      b = bitsOf(1 / asFloat(b));
    Lanes quotients = runLanes({"div" + r + ", %b;", {4, 4}, {4}}, ratios)[0];
    for (size_t i = 0; i < products.size(); ++i) {
      float a = asFloat(operands[0][i]), b = asFloat(operands[1][i]);
      ASSERT_EQ(products[i], flushedAfterRounding(Wide(a) * Wide(b), direction)) << "mul" << r << a << ", " << b;
      ASSERT_EQ(fused[i], products[i]) << "fma" << r << a << ", " << b;
      ASSERT_EQ(quotients[i], flushedAfterRounding(Wide(a) / Wide(asFloat(ratios[1][i])), direction)) << "div" << r;
    }
    Lanes doubles;
    for (int i = 0; i < 256; ++i)
      doubles.push_back(bitsOf((i % 2 ? -0x1p-126 : 0x1p-126) * (1 - std::ldexp(1.0 + i % 7 / 8.0, -20 - i / 8))));
    Lanes singles = runLanes({std::string("cvt.r") + direction + ".ftz.f32.f64 %d, %a;", {8}, {4}}, {doubles})[0];
    for (size_t i = 0; i < doubles.size(); ++i)
      ASSERT_EQ(singles[i], flushedAfterRounding(Wide(asDouble(doubles[i])), direction)) << direction << " " << i;
  }
}

TEST(FlushToZero, DecidesAfterRoundingOfHalves) {
  auto valueOf = [](uint64_t bits) { return std::ldexp(1024 + double(bits & 0x3ff), int(bits >> 10) - 25); };
  std::mt19937 random(6);
  std::vector<Lanes> operands(2);
  while (operands[0].size() < 1024) {
    uint64_t a = 0x1000 + random() % 0x2800, b = 0x1000 + random() % 0x2800;
    double product = valueOf(a) * valueOf(b);
    if (product > 0x1p-14 * (1 - 0x1p-9) && product < 0x1p-14 * (1 + 0x1p-9)) {
      operands[0].push_back(a);
      operands[1].push_back(b);
    }
  }
  Lanes products = runLanes({"mul.rn.ftz.f16 %d, %a, %b;", {2, 2}, {2}}, operands)[0];
  Lanes fused = runLanes({"{.reg .b16 z;\nmov.b16 z, 0;\nfma.rn.ftz.f16 %d, %a, %b, z;}", {2, 2}, {2}}, operands)[0];
  for (size_t i = 0; i < products.size(); ++i) {
    double exact = valueOf(operands[0][i]) * valueOf(operands[1][i]);
    // Eleven bits: below 2^-14 they are 2^-25 apart, and the middle below it goes to the even 2^-14.
    uint64_t expected = exact < 0x1p-14 - 0x1p-26 ? 0 : uint64_t(std::nearbyint(exact * 0x1p24));
    ASSERT_EQ(products[i], expected) << std::hex << operands[0][i] << " " << operands[1][i];
    ASSERT_EQ(fused[i], expected) << std::hex << operands[0][i] << " " << operands[1][i];
  }
}
