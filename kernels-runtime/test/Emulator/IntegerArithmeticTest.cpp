// Integer arithmetic over edge and random values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracles compute exactly, in 128 bits, and reduce at the end.
#include "KernelHarness.h"
#include "OperandSweep.h"

#include <gtest/gtest.h>

using namespace weft::emu::test;

namespace {

using Wide = __int128;

struct IntegerType {
  const char *name;
  unsigned bits;
  bool isSigned;
};
const IntegerType kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                              {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

/// The number that the low bits stand for.
Wide number(uint64_t value, IntegerType type) {
  return type.isSigned ? Wide(signExtend(value, type.bits)) : Wide(lowBits(value, type.bits));
}

/// Arithmetic shift, rounding down.
Wide shiftDown(Wide value, unsigned bits) { return value >> bits; }

Wide clampTo32(Wide value) { return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : value; }

/// A form of three operands of one type, all of whose results are defined.
Form uniform(std::string text, IntegerType type, Wide (*oracle)(Wide, Wide, Wide)) {
  Form form;
  form.text = std::move(text);
  form.d = form.a = form.b = form.c = type.bits;
  form.oracle = [=](Values &v) {
    v.d = uint64_t(oracle(number(v.a, type), number(v.b, type), number(v.c, type)));
    return true;
  };
  return form;
}

TEST(IntegerArithmetic, SumsAndProducts) {
  for (IntegerType type : kTypes) {
    std::string t = type.name;
    sweep(uniform("add." + t + " d, a, b;", type, [](Wide a, Wide b, Wide) { return a + b; }));
    sweep(uniform("sub." + t + " d, a, b;", type, [](Wide a, Wide b, Wide) { return a - b; }));
    sweep(uniform("mul.lo." + t + " d, a, b;", type,
                  [](Wide a, Wide b, Wide) { return Wide((unsigned __int128)a * b); }));
    sweep(uniform("mad.lo." + t + " d, a, b, c;", type,
                  [](Wide a, Wide b, Wide c) { return Wide((unsigned __int128)a * b + c); }));
  }
}

/// The upper half of a product, of 64-bit numbers too: by schoolbook on 32-bit digits.
uint64_t multiplyHigh64(uint64_t a, uint64_t b) {
  uint64_t low = (a & 0xffffffff) * (b & 0xffffffff), first = (a >> 32) * (b & 0xffffffff);
  uint64_t second = (a & 0xffffffff) * (b >> 32);
  uint64_t middle = (low >> 32) + (first & 0xffffffff) + (second & 0xffffffff);
  return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32) + (middle >> 32);
}

uint64_t multiplyHigh(uint64_t a, uint64_t b, IntegerType type) {
  if (type.bits < 64)
    return uint64_t(shiftDown(number(a, type) * number(b, type), type.bits));
  uint64_t high = multiplyHigh64(a, b);
  if (type.isSigned) // each negative factor counts 2^64 too much
    high -= (int64_t(a) < 0 ? b : 0) + (int64_t(b) < 0 ? a : 0);
  return high;
}

TEST(IntegerArithmetic, UpperHalves) {
  for (IntegerType type : kTypes)
    for (bool isSum : {false, true}) {
      Form form;
      form.text = (isSum ? "mad.hi." : "mul.hi.") + std::string(type.name) + (isSum ? " d, a, b, c;" : " d, a, b;");
      form.d = form.a = form.b = form.c = type.bits;
      form.oracle = [=](Values &v) {
        v.d = multiplyHigh(v.a, v.b, type) + (isSum ? v.c : 0);
        return true;
      };
      sweep(form);
    }
}

TEST(IntegerArithmetic, WideProducts) {
  for (IntegerType type : {kTypes[0], kTypes[1], kTypes[2], kTypes[3]})
    for (bool isSum : {false, true}) {
      Form form;
      form.text = (isSum ? "mad.wide." : "mul.wide.") + std::string(type.name) + (isSum ? " d, a, b, c;" : " d, a, b;");
      form.a = form.b = type.bits;
      form.d = form.c = 2 * type.bits;
      form.oracle = [=](Values &v) {
        v.d = uint64_t(number(v.a, type) * number(v.b, type)) + (isSum ? v.c : 0);
        return true;
      };
      sweep(form);
    }
}

TEST(IntegerArithmetic, Saturation) {
  IntegerType type = kTypes[3];
  sweep(uniform("add.sat.s32 d, a, b;", type, [](Wide a, Wide b, Wide) { return clampTo32(a + b); }));
  sweep(uniform("sub.sat.s32 d, a, b;", type, [](Wide a, Wide b, Wide) { return clampTo32(a - b); }));
  sweep(uniform("mad.hi.sat.s32 d, a, b, c;", type,
                [](Wide a, Wide b, Wide c) { return clampTo32(shiftDown(a * b, 32) + c); }));
}

TEST(IntegerArithmetic, Products24) {
  auto low24 = [](Wide a, bool isSigned) {
    Wide low = a & 0xffffff;
    return isSigned && low >= 0x800000 ? low - 0x1000000 : low;
  };
  for (IntegerType type : {kTypes[2], kTypes[3]})
    for (bool isHigh : {false, true})
      for (bool isSum : {false, true}) {
        Form form;
        form.text = (isSum ? "mad24." : "mul24.") + std::string(isHigh ? "hi." : "lo.") + type.name +
                    (isSum ? " d, a, b, c;" : " d, a, b;");
        form.oracle = [=](Values &v) {
          Wide product = low24(Wide(v.a), type.isSigned) * low24(Wide(v.b), type.isSigned);
          v.d = uint64_t(shiftDown(product, isHigh ? 16 : 0)) + (isSum ? v.c : 0);
          return true;
        };
        sweep(form);
      }
  Form form;
  form.text = "mad24.hi.sat.s32 d, a, b, c;";
  form.oracle = [=](Values &v) {
    Wide product = shiftDown(low24(Wide(v.a), true) * low24(Wide(v.b), true), 16);
    v.d = uint64_t(clampTo32(product + signExtend(v.c, 32)));
    return true;
  };
  sweep(form);
}

TEST(IntegerArithmetic, Quotients) {
  for (IntegerType type : kTypes)
    for (bool isRemainder : {false, true}) {
      Form form;
      form.text = (isRemainder ? "rem." : "div.") + std::string(type.name) + " d, a, b;";
      form.d = form.a = form.b = type.bits;
      form.c = 0;
      form.oracle = [=](Values &v) {
        Wide a = number(v.a, type), b = number(v.b, type);
        if (b == 0) // open in PTX
          return false;
        v.d = uint64_t(isRemainder ? a % b : a / b);
        return true;
      };
      sweep(form);
    }
}

TEST(IntegerArithmetic, DivisionByZeroGoesOn) {
  KernelCase kernel;
  kernel.ptx = module(".visible .entry k(.param .u64 out)\n{\n.reg .b32 %a, %z, %q, %r;\n.reg .b64 %out;\n"
                      "ld.param.u64 %out, [out];\nmov.u32 %a, %tid.x;\nsub.u32 %z, %a, %a;\n"
                      "div.u32 %q, %a, %z;\nrem.s32 %r, %a, %z;\nmov.u32 %q, 1;\nst.global.u32 [%out], %q;\nret;\n}\n");
  kernel.block = {32, 1, 1};
  kernel.arguments = {output(4)};
  EXPECT_EQ(runClean(kernel).get<uint32_t>(0), std::vector<uint32_t>{1});
}

TEST(IntegerArithmetic, ExtremesAndSigns) {
  for (IntegerType type : kTypes) {
    std::string t = type.name;
    sweep(uniform("min." + t + " d, a, b;", type, [](Wide a, Wide b, Wide) { return std::min(a, b); }));
    sweep(uniform("max." + t + " d, a, b;", type, [](Wide a, Wide b, Wide) { return std::max(a, b); }));
    sweep(
        uniform("sad." + t + " d, a, b, c;", type, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); }));
    if (!type.isSigned)
      continue;
    sweep(uniform("abs." + t + " d, a;", type, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; }));
    sweep(uniform("neg." + t + " d, a;", type, [](Wide a, Wide, Wide) { return -a; }));
  }
  sweep(uniform("min.relu.s32 d, a, b;", kTypes[3],
                [](Wide a, Wide b, Wide) { return std::max(std::min(a, b), Wide(0)); }));
  sweep(uniform("max.relu.s32 d, a, b;", kTypes[3],
                [](Wide a, Wide b, Wide) { return std::max(std::max(a, b), Wide(0)); }));
}

TEST(IntegerArithmetic, PackedHalves) {
  struct Packed {
    const char *text;
    bool isSigned;
    Wide (*half)(Wide, Wide);
  };
  const Packed forms[] = {
      {"add.u16x2 d, a, b;", false, [](Wide a, Wide b) { return a + b; }},
      {"add.s16x2 d, a, b;", true, [](Wide a, Wide b) { return a + b; }},
      {"min.u16x2 d, a, b;", false, [](Wide a, Wide b) { return std::min(a, b); }},
      {"min.s16x2 d, a, b;", true, [](Wide a, Wide b) { return std::min(a, b); }},
      {"max.u16x2 d, a, b;", false, [](Wide a, Wide b) { return std::max(a, b); }},
      {"max.s16x2 d, a, b;", true, [](Wide a, Wide b) { return std::max(a, b); }},
      {"min.relu.s16x2 d, a, b;", true, [](Wide a, Wide b) { return std::max(std::min(a, b), Wide(0)); }},
      {"max.relu.s16x2 d, a, b;", true, [](Wide a, Wide b) { return std::max(std::max(a, b), Wide(0)); }},
  };
  for (const Packed &packed : forms) {
    Form form;
    form.text = packed.text;
    form.c = 0;
    form.oracle = [&](Values &v) {
      v.d = 0;
      IntegerType type = packed.isSigned ? kTypes[1] : kTypes[0];
      for (unsigned shift : {0u, 16u})
        v.d |= lowBits(uint64_t(packed.half(number(v.a >> shift, type), number(v.b >> shift, type))), 16) << shift;
      return true;
    };
    sweep(form);
  }
}

/// Two words through a carry: the result is that of twice the width.
TEST(IntegerArithmetic, Carries) {
  for (const char *type : {"u32", "s32", "u64", "s64"}) {
    std::string t = type;
    unsigned bits = t.substr(1) == "32" ? 32 : 64;
    auto both = [=](const std::string &text, auto oracle) {
      Form form;
      form.text = text;
      form.d = form.a = form.b = form.c = form.e = bits;
      form.oracle = [=](Values &v) {
        unsigned __int128 x = (unsigned __int128)v.b << bits | v.a, y = (unsigned __int128)v.e << bits | v.c;
        v.d = uint64_t(oracle(x, y) >> bits);
        return true;
      };
      sweep(form);
    };
    std::string low = ".reg .b" + std::to_string(bits) + " t;\n";
    both("{" + low + "add.cc." + t + " t, a, c;\naddc." + t + " d, b, e;}",
         [](unsigned __int128 x, unsigned __int128 y) { return x + y; });
    both("{" + low + "sub.cc." + t + " t, a, c;\nsubc." + t + " d, b, e;}",
         [](unsigned __int128 x, unsigned __int128 y) { return x - y; });
    // The middle operation passes a carry on: d is the carry out of the second word.
    both("{" + low + "add.cc." + t + " t, a, c;\naddc.cc." + t + " t, b, e;\naddc." + t + " d, 0, 0;\n" + "shl.b" +
             std::to_string(bits) + " d, d, 1;}",
         [=](unsigned __int128 x, unsigned __int128 y) {
           unsigned __int128 sum = x + y;
           bool carry = bits == 64 ? sum < x : bool(sum >> 64);
           return (unsigned __int128)(carry ? 2 : 0) << bits;
         });
    both("{" + low + "sub.cc." + t + " t, a, c;\nsubc.cc." + t + " t, b, e;\nsubc." + t + " d, 0, 0;}",
         [=](unsigned __int128 x, unsigned __int128 y) {
           return (unsigned __int128)(x < y ? ~uint64_t(0) : 0) << bits;
         });
  }
}

/// mad.lo.cc and madc.hi: the two words of a * b + (c, e).
TEST(IntegerArithmetic, CarriesOfProducts) {
  for (IntegerType type : {kTypes[2], kTypes[3], kTypes[4], kTypes[5]}) {
    std::string t = type.name;
    std::string low = ".reg .b" + std::to_string(type.bits) + " t;\n";
    auto high = [=](const Values &v) {
      uint64_t product = lowBits(v.a * v.b, type.bits);
      bool carry = lowBits(product + v.c, type.bits) < product;
      return multiplyHigh(v.a, v.b, type) + v.e + carry;
    };
    Form form;
    form.d = form.a = form.b = form.c = form.e = type.bits;
    form.text = "{" + low + "mad.lo.cc." + t + " t, a, b, c;\nmadc.hi." + t + " d, a, b, e;}";
    form.oracle = [=](Values &v) {
      v.d = high(v);
      return true;
    };
    sweep(form);
    form.text =
        "{" + low + "mad.lo.cc." + t + " t, a, b, c;\nmadc.hi.cc." + t + " t, a, b, e;\nmadc.lo." + t + " d, a, b, t;}";
    form.oracle = [=](Values &v) {
      uint64_t upper = multiplyHigh(v.a, v.b, type), product = lowBits(v.a * v.b, type.bits);
      bool carry = lowBits(product + v.c, type.bits) < product;
      Wide sum = Wide(lowBits(upper, type.bits)) + lowBits(v.e, type.bits) + carry;
      v.d = product + uint64_t(sum) + bool(sum >> type.bits);
      return true;
    };
    sweep(form);
    form.text = "{" + low + "mad.hi.cc." + t + " t, a, b, c;\nmadc.lo.cc." + t + " d, a, b, t;}";
    form.oracle = [=](Values &v) {
      Wide sum = Wide(lowBits(multiplyHigh(v.a, v.b, type), type.bits)) + lowBits(v.c, type.bits);
      v.d = v.a * v.b + uint64_t(sum) + bool(sum >> type.bits);
      return true;
    };
    sweep(form);
  }
}

TEST(IntegerArithmetic, Refusals) {
  auto body = [](const std::string &line) {
    return module(".visible .entry k()\n{\n.reg .b32 %r<4>;\n.reg .b16 %h;\n.reg .pred %p;\n" + line + "\nret;\n}\n");
  };
  EXPECT_NE(refusal(body("add.s8 %r1, %r2, %r3;")).find("this instruction has no type .s8"), std::string::npos);
  EXPECT_NE(refusal(body("mul.s32 %r1, %r2, %r3;")).find("expected one of .lo, .hi, .wide"), std::string::npos);
  EXPECT_NE(refusal(body("add.s32 %r1, %r2;")).find("expected 3 operands, got 2"), std::string::npos);
  EXPECT_NE(refusal(body("add.s32 %r1, %r2, %h;")).find("32 bits"), std::string::npos);
  EXPECT_NE(refusal(body("add.s32 %r1, %r2, 1.5;")).find("floating-point"), std::string::npos);
  EXPECT_NE(refusal(body("sub.u16x2 %r1, %r2, %r3;")).find("no type .u16x2"), std::string::npos);
}

} // namespace
