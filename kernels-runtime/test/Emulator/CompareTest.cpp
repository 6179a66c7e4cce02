// Integer comparison and selection over edge and random values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every comparison with every type, with and without a boolean operation and a second result.
#include "KernelHarness.h"
#include "OperandSweep.h"

#include <gtest/gtest.h>

using namespace weft::emu::test;

namespace {

struct Comparison {
  const char *name;
  bool (*holds)(__int128 a, __int128 b);
};

const Comparison kAll[] = {
    {"eq", [](__int128 a, __int128 b) { return a == b; }}, {"ne", [](__int128 a, __int128 b) { return a != b; }},
    {"lt", [](__int128 a, __int128 b) { return a < b; }},  {"le", [](__int128 a, __int128 b) { return a <= b; }},
    {"gt", [](__int128 a, __int128 b) { return a > b; }},  {"ge", [](__int128 a, __int128 b) { return a >= b; }},
    {"lo", [](__int128 a, __int128 b) { return a < b; }},  {"ls", [](__int128 a, __int128 b) { return a <= b; }},
    {"hi", [](__int128 a, __int128 b) { return a > b; }},  {"hs", [](__int128 a, __int128 b) { return a >= b; }},
};

bool applies(const Comparison &comparison, char kind) {
  std::string name = comparison.name;
  if (name == "eq" || name == "ne")
    return true;
  bool isUnsignedOnly = name[0] == 'h' || name == "lo" || name == "ls";
  return kind != 'b' && !(isUnsignedOnly && kind == 's');
}

__int128 number(uint64_t value, char kind, unsigned bits) {
  return kind == 's' ? __int128(signExtend(value, bits)) : __int128(lowBits(value, bits));
}

TEST(Compare, SetPredicate) {
  for (char kind : {'b', 'u', 's'})
    for (unsigned bits : {16u, 32u, 64u})
      for (const Comparison &comparison : kAll) {
        if (!applies(comparison, kind))
          continue;
        std::string type = "." + std::string(1, kind) + std::to_string(bits);
        Form form;
        form.text = std::string("setp.") + comparison.name + type + " p, a, b;\nsetp." + comparison.name + type +
                    " q, b, b;\nmov.b32 d, 0;";
        form.a = form.b = bits;
        form.c = 0;
        form.oracle = [=](Values &v) {
          v.p = comparison.holds(number(v.a, kind, bits), number(v.b, kind, bits));
          v.q = comparison.holds(0, 0);
          v.d = 0;
          return true;
        };
        sweep(form);
      }
}

TEST(Compare, BooleanOperationsAndSecondResult) {
  for (const char *op : {"and", "or", "xor"})
    for (const char *third : {"r", "!r"})
      for (const char *results : {"p|q", "p", "_|q"}) {
        std::string name = op, where = results;
        Form form;
        form.text = "setp.le." + name + ".s32 " + where + ", a, b, " + third + ";\nmov.b32 d, 0;";
        form.c = 0;
        form.e = 1;
        form.oracle = [=](Values &v) {
          bool holds = signExtend(v.a, 32) <= signExtend(v.b, 32), c = (v.e != 0) == (third[0] == 'r');
          auto apply = [&](bool x) { return name == "and" ? x && c : name == "or" ? x || c : x != c; };
          v.p = where[0] == 'p' ? apply(holds) : 0;
          v.q = where.size() == 3 ? apply(!holds) : 0;
          v.d = 0;
          return true;
        };
        sweep(form);
      }
}

TEST(Compare, PairWithoutBooleanOperation) {
  Form form;
  form.text = "setp.gt.u64 p|q, a, b;\nmov.b32 d, 0;";
  form.a = form.b = 64;
  form.c = 0;
  form.oracle = [](Values &v) {
    v.p = v.a > v.b;
    v.q = !v.p;
    v.d = 0;
    return true;
  };
  sweep(form);
}

TEST(Compare, SetRegister) {
  for (const char *result : {"u32", "s32", "f32"})
    for (char kind : {'b', 'u', 's'})
      for (unsigned bits : {16u, 32u, 64u})
        for (const Comparison &comparison : kAll) {
          if (!applies(comparison, kind))
            continue;
          std::string words = std::string(".") + result + "." + kind + std::to_string(bits);
          uint32_t yes = result[0] == 'f' ? 0x3f800000 : ~0u;
          Form form;
          form.text = std::string("set.") + comparison.name + words + " d, a, b;";
          form.a = form.b = bits;
          form.c = 0;
          form.oracle = [=](Values &v) {
            v.d = comparison.holds(number(v.a, kind, bits), number(v.b, kind, bits)) ? yes : 0;
            return true;
          };
          sweep(form);
        }
}

TEST(Compare, SetRegisterWithBooleanOperation) {
  for (const char *op : {"and", "or", "xor"}) {
    std::string name = op;
    Form form;
    form.text = "set.ne." + name + ".u32.s32 d, a, b, !r;";
    form.c = 0;
    form.e = 1;
    form.oracle = [=](Values &v) {
      bool x = v.a != v.b, c = !v.e;
      v.d = (name == "and" ? x && c : name == "or" ? x || c : x != c) ? ~uint32_t(0) : 0;
      return true;
    };
    sweep(form);
  }
}

TEST(Compare, Select) {
  for (const char *type : {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    std::string t = type;
    unsigned bits = unsigned(std::stoul(t.substr(1)));
    Form form;
    form.text = "selp." + t + " d, a, b, r;";
    form.d = form.a = form.b = bits;
    form.c = 0;
    form.e = 1;
    form.oracle = [](Values &v) {
      v.d = v.e ? v.a : v.b;
      return true;
    };
    sweep(form);
    form.text = "slct." + t + ".s32 d, a, b, c;";
    form.c = 32;
    form.e = 0;
    form.oracle = [](Values &v) {
      v.d = signExtend(v.c, 32) >= 0 ? v.a : v.b;
      return true;
    };
    sweep(form);
  }
}

TEST(Compare, Refusals) {
  auto body = [](const std::string &line) {
    return module(".visible .entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p;\n" + line + "\nret;\n}\n");
  };
  EXPECT_NE(refusal(body("setp.lt.b32 %p, %r1, %r2;")).find(".eq and .ne only"), std::string::npos);
  EXPECT_NE(refusal(body("setp.lo.s32 %p, %r1, %r2;")).find("unsigned types"), std::string::npos);
  EXPECT_NE(refusal(body("setp.equ.s32 %p, %r1, %r2;")).find("expected one of .eq"), std::string::npos);
  EXPECT_NE(refusal(body("setp.lt.and.s32 %p, %r1, %r2;")).find("expected 4 operands"), std::string::npos);
  EXPECT_NE(refusal(body("selp.b32 %r1, %r2, %r3, %r1;")).find("expected a register of type .pred"), std::string::npos);
}

} // namespace
