// Signs, minima, classes and comparisons as kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// abs, neg, copysign, min, max, testp, setp, set and slct on every floating-point type, with host comparisons on f64
// values as oracle. NaN results are those of an H100: canonical, and
// on f64 an operand.

#include "FloatOracle.h"
#include "LaneKernel.h"

#include <gtest/gtest.h>

#include <functional>

using namespace weft::emu::test;

namespace {

struct FloatType {
  const char *word;
  unsigned bytes;
  bool isBfloat;
  uint64_t nan;
  bool canFlush;
};
const FloatType kTypes[] = {{"f16", 2, false, 0x7fff, true},
                            {"bf16", 2, true, 0x7fff, false},
                            {"f32", 4, false, 0x7fffffff, true},
                            {"f64", 8, false, 0, false}};

double valueOf(const FloatType &type, uint64_t bits) {
  if (type.bytes == 8)
    return asDouble(bits);
  if (type.bytes == 4)
    return asFloat(bits);
  if (type.isBfloat)
    return asFloat(bits << 16);
  int exponent = int(bits >> 10 & 31), mantissa = int(bits & 1023);
  double value = exponent == 31
                     ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity())
                 : exponent ? std::ldexp(1024 + mantissa, exponent - 25)
                            : std::ldexp(mantissa, -24);
  return bits & 0x8000 ? -value : value;
}

uint64_t signOf(const FloatType &type) { return uint64_t(1) << (type.bytes * 8 - 1); }

uint64_t flush(const FloatType &type, uint64_t bits) {
  double least = type.bytes == 8 ? 0x1p-1022 : type.bytes == 4 || type.isBfloat ? 0x1p-126 : 0x1p-14;
  return std::fabs(valueOf(type, bits)) < least ? bits & signOf(type) : bits;
}

/// Runs the single and, for halves, the packed form, and checks every element.
void checkElements(const std::string &name, const std::string &modifiers, const FloatType &type, unsigned sources,
                   const std::function<bool(uint64_t, uint64_t, uint64_t)> &isRight) {
  std::vector<Lanes> operands = floatOperands(type.bytes, type.isBfloat, sources);
  std::string arguments = sources == 2 ? " %d, %a, %b;" : " %d, %a;";
  std::string head = name + modifiers + "." + type.word;
  Lanes results = runLanes({head + arguments, std::vector<unsigned>(sources, type.bytes), {type.bytes}}, operands)[0];
  auto second = [&](size_t i) { return sources == 2 ? operands[1][i] : 0; };
  size_t n = results.size();
  for (size_t i = 0; i < n; ++i)
    ASSERT_TRUE(isRight(operands[0][i], second(i), results[i]))
        << head << std::hex << " of 0x" << operands[0][i] << " 0x" << second(i) << " gives 0x" << results[i];
  if (type.bytes != 2)
    return;
  for (Lanes &lanes : operands)
    for (size_t i = 0; i < n; ++i)
      lanes[i] |= (lanes[n - 1 - i] & 0xffff) << 16;
  Lanes packed = runLanes({head + "x2" + arguments, std::vector<unsigned>(sources, 4), {4}}, operands)[0];
  for (size_t i = 0; i < n; ++i)
    ASSERT_EQ(packed[i], results[i] | results[n - 1 - i] << 16) << head << "x2";
}

} // namespace

TEST(FloatSelectInstruction, AbsAndNeg) {
  for (const FloatType &type : kTypes)
    for (bool flushes : {false, true}) {
      if (flushes && !type.canFlush)
        continue;
      uint64_t sign = signOf(type);
      auto operand = [&](uint64_t a) { return flushes ? flush(type, a) : a; };
      checkElements("abs", flushes ? ".ftz" : "", type, 1, [&](uint64_t a, uint64_t, uint64_t got) {
        return std::isnan(valueOf(type, a)) ? got == (type.nan ? type.nan : a) : got == (operand(a) & ~sign);
      });
      checkElements("neg", flushes ? ".ftz" : "", type, 1, [&](uint64_t a, uint64_t, uint64_t got) {
        return std::isnan(valueOf(type, a)) ? got == (type.nan ? type.nan : a) : got == (operand(a) ^ sign);
      });
    }
}

TEST(FloatSelectInstruction, Copysign) {
  for (const FloatType &type : {kTypes[2], kTypes[3]})
    checkElements("copysign", "", type, 2, [&](uint64_t a, uint64_t b, uint64_t got) {
      return got == ((a & signOf(type)) | (b & ~signOf(type)));
    });
}

TEST(FloatSelectInstruction, MinAndMax) {
  for (const FloatType &type : kTypes)
    for (bool flushes : {false, true})
      for (bool propagates : {false, true})
        for (bool isXor : {false, true})
          for (bool isMaximum : {false, true}) {
            if ((flushes && !type.canFlush) || ((propagates || isXor) && type.bytes == 8))
              continue;
            std::string modifiers =
                std::string(flushes ? ".ftz" : "") + (propagates ? ".NaN" : "") + (isXor ? ".xorsign.abs" : "");
            auto isRight = [&](uint64_t a, uint64_t b, uint64_t got) {
              if (flushes)
                a = flush(type, a), b = flush(type, b);
              double x = valueOf(type, a), y = valueOf(type, b), result = valueOf(type, got);
              bool isNan = propagates ? std::isnan(x) || std::isnan(y) : std::isnan(x) && std::isnan(y);
              if (isNan)
                return got == (type.nan ? type.nan : b);
              bool isNegative = std::signbit(x) != std::signbit(y);
              if (isXor) {
                if (std::isnan(x) || std::isnan(y)) // the sign of a NaN operand is not defined
                  return std::fabs(result) == std::fabs(std::isnan(x) ? y : x);
                x = std::fabs(x), y = std::fabs(y);
              }
              double expected = isMaximum ? std::fmax(x, y) : std::fmin(x, y);
              if (x == 0 && y == 0) // -0 is below +0
                expected = std::signbit(x) == std::signbit(y) ? x : isMaximum ? 0.0 : -0.0;
              if (isXor)
                expected = isNegative ? -expected : expected;
              return result == expected && std::signbit(result) == std::signbit(expected);
            };
            checkElements(isMaximum ? "max" : "min", modifiers, type, 2, isRight);
            if (HasFatalFailure())
              return;
          }
}

TEST(FloatSelectInstruction, Testp) {
  for (const FloatType &type : {kTypes[2], kTypes[3]}) {
    const char *names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    Lanes in = floatOperands(type.bytes, false, 1)[0];
    for (int kind = 0; kind < 6; ++kind) {
      std::string body = std::string("testp.") + names[kind] + "." + type.word + " %p, %a; selp.b32 %d, 1, 0, %p;";
      Lanes out = runLanes({body, {type.bytes}, {4}}, {in})[0];
      for (size_t i = 0; i < in.size(); ++i) {
        int c = type.bytes == 8 ? std::fpclassify(asDouble(in[i])) : std::fpclassify(asFloat(in[i]));
        bool isNormal = c == FP_NORMAL || c == FP_ZERO;
        bool expected[] = {
            c != FP_NAN && c != FP_INFINITE, c == FP_INFINITE, c != FP_NAN, c == FP_NAN, isNormal, c == FP_SUBNORMAL};
        ASSERT_EQ(out[i], uint64_t(expected[kind])) << body << std::hex << " 0x" << in[i];
      }
    }
  }
}

namespace {

struct Comparison {
  const char *name;
  bool (*holds)(double, double);
};
bool unordered(double x, double y) { return std::isnan(x) || std::isnan(y); }
const Comparison kComparisons[] = {
    {"eq", [](double x, double y) { return x == y; }},
    {"ne", [](double x, double y) { return x < y || x > y; }},
    {"lt", [](double x, double y) { return x < y; }},
    {"le", [](double x, double y) { return x <= y; }},
    {"gt", [](double x, double y) { return x > y; }},
    {"ge", [](double x, double y) { return x >= y; }},
    {"equ", [](double x, double y) { return x == y || unordered(x, y); }},
    {"neu", [](double x, double y) { return !(x == y); }},
    {"ltu", [](double x, double y) { return !(x >= y); }},
    {"leu", [](double x, double y) { return !(x > y); }},
    {"gtu", [](double x, double y) { return !(x <= y); }},
    {"geu", [](double x, double y) { return !(x < y); }},
    {"num", [](double x, double y) { return !unordered(x, y); }},
    {"nan", [](double x, double y) { return unordered(x, y); }},
};

} // namespace

TEST(FloatSelectInstruction, Setp) {
  for (const FloatType &type : kTypes)
    for (const Comparison &comparison : kComparisons)
      for (bool flushes : {false, true}) {
        if (flushes && !type.canFlush)
          continue;
        std::vector<Lanes> in = floatOperands(type.bytes, type.isBfloat, 2, 64);
        std::string head = std::string("setp.") + comparison.name + (flushes ? ".ftz." : ".") + type.word;
        // A single half has one destination.
        std::string ends = type.bytes == 2 ? " %p, %a, %b; selp.b32 %d, 1, 2, %p;"
                                           : " %p|%q, %a, %b; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;";
        Lanes out = runLanes({head + ends, {type.bytes, type.bytes}, {4}}, in)[0];
        auto holds = [&](size_t i) {
          uint64_t a = in[0][i], b = in[1][i];
          if (flushes)
            a = flush(type, a), b = flush(type, b);
          return comparison.holds(valueOf(type, a), valueOf(type, b));
        };
        for (size_t i = 0; i < out.size(); ++i)
          ASSERT_EQ(out[i], holds(i) ? 1u : 2u) << head << std::hex << " 0x" << in[0][i] << " 0x" << in[1][i];
        if (type.bytes != 2)
          continue;
        size_t n = out.size();
        std::vector<Lanes> packed = in;
        for (Lanes &lanes : packed)
          for (size_t i = 0; i < n; ++i)
            lanes[i] |= (lanes[n - 1 - i] & 0xffff) << 16;
        Lanes both = runLanes({head + "x2 %p|%q, %a, %b; selp.b32 %d, 1, 0, %p; @%q add.u32 %d, %d, 2;", {4, 4}, {4}},
                              packed)[0];
        for (size_t i = 0; i < n; ++i)
          ASSERT_EQ(both[i], (holds(i) ? 1u : 0u) + (holds(n - 1 - i) ? 2u : 0u)) << head << "x2";
      }
}

TEST(FloatSelectInstruction, SetpCombines) {
  std::vector<Lanes> in = floatOperands(4, false, 2, 64);
  for (const char *op : {"and", "or", "xor"})
    for (bool isNegated : {false, true}) {
      std::string body = std::string("setp.gt.f32 %q, %b, 0f3F800000; setp.lt.") + op + ".f32 %p, %a, %b, " +
                         (isNegated ? "!" : "") + "%q; selp.b32 %d, 1, 0, %p;";
      Lanes out = runLanes({body, {4, 4}, {4}}, in)[0];
      for (size_t i = 0; i < out.size(); ++i) {
        bool less = asFloat(in[0][i]) < asFloat(in[1][i]), c = (asFloat(in[1][i]) > 1.0f) != isNegated;
        ASSERT_EQ(out[i], uint64_t(*op == 'a' ? less && c : *op == 'o' ? less || c : less != c)) << body;
      }
    }
}

TEST(FloatSelectInstruction, Set) {
  struct Target {
    const char *word;
    unsigned bytes;
    uint64_t isTrue;
  };
  for (const FloatType &type : kTypes) {
    std::vector<Lanes> in = floatOperands(type.bytes, type.isBfloat, 2, 64);
    for (const Target &target :
         {Target{"u32", 4, 0xffffffff}, Target{"s32", 4, 0xffffffff}, Target{"f32", 4, 0x3f800000}}) {
      if (type.bytes == 2 && std::string(target.word) == "f32")
        continue;
      std::string body = std::string("set.geu.") + target.word + "." + type.word + " %d, %a, %b;";
      Lanes out = runLanes({body, {type.bytes, type.bytes}, {target.bytes}}, in)[0];
      for (size_t i = 0; i < out.size(); ++i)
        ASSERT_EQ(out[i], !(valueOf(type, in[0][i]) < valueOf(type, in[1][i])) ? target.isTrue : 0) << body;
    }
  }
  std::vector<Lanes> in = floatOperands(2, false, 2, 64);
  for (const Target &target : {Target{"f16", 2, 0x3c00}, Target{"u16", 2, 0xffff}, Target{"s16", 2, 0xffff}}) {
    std::string body = std::string("setp.gt.f16 %q, %b, %a; set.eq.or.") + target.word + ".f16 %d, %a, %b, %q;";
    Lanes out = runLanes({body, {2, 2}, {2}}, in)[0];
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], valueOf(kTypes[0], in[0][i]) <= valueOf(kTypes[0], in[1][i]) ? target.isTrue : 0) << body;
  }
  for (const char *word : {"f16x2", "bf16x2"}) {
    const FloatType &type = kTypes[*word == 'b'];
    std::vector<Lanes> packed = floatOperands(2, *word == 'b', 2, 64);
    size_t n = packed[0].size();
    for (Lanes &lanes : packed)
      for (size_t i = 0; i < n; ++i)
        lanes[i] |= (lanes[n - 1 - i] & 0xffff) << 16;
    std::string body = std::string("set.lt.") + word + "." + word + " %d, %a, %b;";
    Lanes out = runLanes({body, {4, 4}, {4}}, packed)[0];
    uint64_t one = *word == 'b' ? 0x3f80 : 0x3c00;
    for (size_t i = 0; i < n; ++i) {
      auto half = [&](unsigned shift) {
        return valueOf(type, packed[0][i] >> shift & 0xffff) < valueOf(type, packed[1][i] >> shift & 0xffff) ? one : 0;
      };
      ASSERT_EQ(out[i], half(0) | half(16) << 16) << body;
    }
  }
}

TEST(FloatSelectInstruction, Slct) {
  for (bool flushes : {false, true})
    for (auto [word, bytes] : {std::pair("u16", 2u), std::pair("f32", 4u), std::pair("s64", 8u), std::pair("f64", 8u),
                               std::pair("b32", 4u)}) {
      std::string body = std::string("slct") + (flushes ? ".ftz." : ".") + word + ".f32 %d, %a, %b, %c;";
      Lanes c = floatOperands(4, false, 1)[0], a(c.size()), b(c.size());
      uint64_t mask = bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << (bytes * 8)) - 1;
      for (size_t i = 0; i < c.size(); ++i)
        a[i] = (i * 0x9e3779b97f4a7c15) & mask, b[i] = ~a[i] & mask;
      Lanes out = runLanes({body, {bytes, bytes, 4}, {bytes}}, {a, b, c})[0];
      for (size_t i = 0; i < c.size(); ++i) {
        float value = flushes ? flushed(asFloat(c[i])) : asFloat(c[i]);
        ASSERT_EQ(out[i], value >= 0 ? a[i] : b[i]) << body << " " << value;
      }
    }
}
