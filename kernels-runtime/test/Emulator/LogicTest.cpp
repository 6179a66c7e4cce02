// Logic, shifts and permutations over edge and random values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The oracles look up truth tables bit by bit, and move single bits and bytes.
#include "KernelHarness.h"
#include "OperandSweep.h"

#include <gtest/gtest.h>

using namespace weft::emu::test;

namespace {

bool bit(uint64_t value, unsigned place) { return value >> place & 1; }

/// The function with truth table `table` (bit 4a + 2b + c) of every bit.
uint64_t lookUp(unsigned table, uint64_t a, uint64_t b, uint64_t c, unsigned bits) {
  uint64_t result = 0;
  for (unsigned i = 0; i < bits; ++i)
    result |= uint64_t(table >> (4 * bit(a, i) + 2 * bit(b, i) + bit(c, i)) & 1) << i;
  return result;
}

TEST(Logic, Words) {
  struct Operation {
    const char *name;
    unsigned table;
    bool isBinary;
  };
  for (Operation operation : {Operation{"and", 0xc0, true}, Operation{"or", 0xfc, true}, Operation{"xor", 0x3c, true},
                              Operation{"not", 0x0f, false}})
    for (unsigned bits : {16u, 32u, 64u}) {
      Form form;
      form.text =
          std::string(operation.name) + ".b" + std::to_string(bits) + (operation.isBinary ? " d, a, b;" : " d, a;");
      form.d = form.a = form.b = bits;
      form.c = 0;
      form.oracle = [=](Values &v) {
        v.d = lookUp(operation.table, v.a, v.b, 0, bits);
        return true;
      };
      sweep(form);
    }
  for (unsigned bits : {16u, 32u, 64u}) {
    Form form;
    form.text = "cnot.b" + std::to_string(bits) + " d, a;";
    form.d = form.a = bits;
    form.b = form.c = 0;
    form.oracle = [=](Values &v) {
      v.d = lowBits(v.a, bits) == 0;
      return true;
    };
    sweep(form);
  }
}

TEST(Logic, Predicates) {
  for (const char *name : {"and", "or", "xor", "not"}) {
    std::string word = name;
    Form form;
    form.text = "{.reg .pred s, t;\nsetp.lt.u32 s, a, b;\nsetp.lt.u32 t, b, c;\n" + word +
                (word == "not" ? ".pred p, s;\n" : ".pred p, s, t;\n") + word +
                (word == "not" ? ".pred q, p;\nmov.b32 d, 0;}" : ".pred q, p, t;\nmov.b32 d, 0;}");
    form.oracle = [=](Values &v) {
      auto apply = [&](bool x, bool y) {
        return word == "and" ? x && y : word == "or" ? x || y : word == "xor" ? x != y : !x;
      };
      v.p = apply(v.a < v.b, v.b < v.c);
      v.q = apply(v.p, v.b < v.c);
      v.d = 0;
      return true;
    };
    sweep(form);
  }
}

TEST(Logic, Lop3EveryTable) {
  for (unsigned table = 0; table < 256; table += 15) {
    Form form;
    form.text = "lop3.b32 d, a, b, c, " + std::to_string(table) + ";";
    form.oracle = [=](Values &v) {
      v.d = lookUp(table, v.a, v.b, v.c, 32);
      return true;
    };
    sweep(form);
  }
  // The others in one kernel each of 16: d is the sum of their results.
  for (unsigned first = 0; first < 256; first += 16) {
    Form form;
    form.text = "{.reg .b32 t;\nmov.b32 d, 0;\n";
    for (unsigned table = first; table < first + 16; ++table)
      form.text += "lop3.b32 t, a, b, c, " + std::to_string(table) + ";\nmad.lo.u32 d, d, 31, t;\n";
    form.text += "}";
    form.oracle = [=](Values &v) {
      uint32_t sum = 0;
      for (unsigned table = first; table < first + 16; ++table)
        sum = sum * 31 + uint32_t(lookUp(table, v.a, v.b, v.c, 32));
      v.d = sum;
      return true;
    };
    sweep(form);
  }
}

TEST(Logic, Lop3WithPredicate) {
  for (bool isAnd : {false, true})
    for (bool isNegated : {false, true})
      for (bool hasSink : {false, true}) {
        Form form;
        form.text = std::string("lop3.") + (isAnd ? "and" : "or") + ".b32 " + (hasSink ? "_" : "d") +
                    "|p, a, b, c, 0x80, " + (isNegated ? "!r;" : "r;");
        if (hasSink)
          form.text += "\nmov.b32 d, 7;";
        form.e = 1;
        form.oracle = [=](Values &v) {
          uint64_t word = v.a & v.b & v.c;
          bool r = isNegated ? !v.e : v.e;
          v.d = hasSink ? 7 : word;
          v.p = isAnd ? word && r : word || r;
          return true;
        };
        sweep(form);
      }
}

TEST(Logic, Shifts) {
  for (unsigned bits : {16u, 32u, 64u})
    for (const char *kind : {"shl.b", "shr.b", "shr.u", "shr.s"}) {
      bool isLeft = kind[2] == 'l', isSigned = kind[4] == 's';
      Form form;
      form.text = kind + std::to_string(bits) + " d, a, b;";
      form.d = form.a = bits;
      form.c = 0;
      form.oracle = [=](Values &v) {
        v.d = 0;
        for (unsigned i = 0; i < bits; ++i) {
          int64_t from = isLeft ? int64_t(i) - int64_t(v.b) : int64_t(i) + int64_t(v.b);
          bool isOutside = from < 0 || from >= int64_t(bits);
          bool fill = isSigned && bit(v.a, bits - 1);
          v.d |= uint64_t(isOutside ? fill : bit(v.a, unsigned(from))) << i;
        }
        return true;
      };
      sweep(form);
      form.flavour = Flavour::SmallC;
      sweep(form);
    }
}

TEST(Logic, FunnelShifts) {
  for (bool isLeft : {false, true})
    for (bool isWrapped : {false, true}) {
      Form form;
      form.text = std::string("shf.") + (isLeft ? "l" : "r") + (isWrapped ? ".wrap" : ".clamp") + ".b32 d, a, b, c;";
      form.oracle = [=](Values &v) {
        uint64_t n = isWrapped ? v.c % 32 : std::min<uint64_t>(v.c, 32);
        v.d = 0;
        for (unsigned i = 0; i < 32; ++i) { // bit `from` of the 64 bits b:a
          unsigned from = unsigned(isLeft ? 32 + i - n : i + n);
          v.d |= uint64_t(from < 32 ? bit(v.a, from) : bit(v.b, from - 32)) << i;
        }
        return true;
      };
      sweep(form);
      form.flavour = Flavour::SmallC;
      sweep(form);
    }
}

uint8_t byteOf(const Values &v, unsigned place) {
  return uint8_t((place < 4 ? v.a >> (8 * place) : v.b >> (8 * place - 32)));
}

TEST(Logic, Permute) {
  Form form;
  form.text = "prmt.b32 d, a, b, c;";
  form.oracle = [](Values &v) {
    v.d = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned select = v.c >> (4 * i) & 15;
      uint8_t byte = byteOf(v, select & 7);
      v.d |= uint64_t(select & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
    }
    return true;
  };
  sweep(form);
  form.text = "prmt.b32 d, a, b, 0x7610;";
  auto oracle = form.oracle;
  form.oracle = [=](Values &v) {
    v.c = 0x7610;
    return oracle(v);
  };
  sweep(form);
}

TEST(Logic, PermuteModes) {
  struct Mode {
    const char *name;
    unsigned picks[4][4]; ///< By c mod 4: bytes 0 to 3 of d, as in the manual's table (which begins with byte 3).
  };
  const Mode modes[] = {
      {"f4e", {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}},
      {"b4e", {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}},
      {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecl", {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}},
      {"ecr", {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}},
      {"rc16", {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}},
  };
  for (const Mode &mode : modes) {
    Form form;
    form.text = std::string("prmt.b32.") + mode.name + " d, a, b, c;";
    form.oracle = [&](Values &v) {
      v.d = 0;
      for (unsigned i = 0; i < 4; ++i)
        v.d |= uint64_t(byteOf(v, mode.picks[v.c % 4][i])) << (8 * i);
      return true;
    };
    sweep(form);
  }
}

} // namespace
