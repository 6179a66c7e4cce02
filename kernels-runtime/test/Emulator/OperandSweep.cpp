// One instruction over many operand values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operand lies in 64 bits, inputs as {a, b, c, e}, outputs as {d, predicates} of the plain and of the guarded
// run. The guard leaves d and the predicates as they were in about half of the threads.
#include "OperandSweep.h"

#include "KernelHarness.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

constexpr uint32_t kThreads = 1024, kBlock = 128;
constexpr uint64_t kUntouched = 0x5a5a5a5a5a5a5a5a;

std::string width(unsigned bits) { return std::to_string(bits); }

/// Declares and loads one operand.
std::string load(const char *name, unsigned bits, unsigned offset) {
  if (bits == 0)
    return "";
  std::string at = "[%in+" + std::to_string(offset) + "];\n";
  if (bits == 1)
    return "ld.global.u32 %t, " + at + "and.b32 %t, %t, 1;\nsetp.ne.u32 r, %t, 0;\n";
  return ".reg .b" + width(bits) + " " + name + ";\nld.global.b" + width(bits) + " " + name + ", " + at;
}

/// The instruction once, with its results stored from `offset` on.
std::string runOnce(const Form &form, bool isGuarded, unsigned offset) {
  std::string text = "setp.ne.u32 p, 0, 0;\nsetp.ne.u32 q, 0, 0;\nmov.b" + width(form.d) + " d, " +
                     std::to_string(int64_t(lowBits(kUntouched, form.d))) + ";\n";
  if (isGuarded)
    text += "@%guard bra SKIP;\n"; // lanes that skip keep their values while others compute
  text += form.text + "\n";
  if (isGuarded)
    text += "SKIP:\n";
  text += "st.global.b" + width(form.d) + " [%out+" + std::to_string(offset) + "], d;\n";
  text += "selp.u32 %t, 1, 0, p;\nselp.u32 %u, 2, 0, q;\nor.b32 %t, %t, %u;\n";
  return text + "st.global.u32 [%out+" + std::to_string(offset + 8) + "], %t;\n";
}

std::string makeKernel(const Form &form) {
  std::string text = ".version 8.3\n.target sm_90a\n.address_size 64\n"
                     ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                     ".reg .pred p, q, r, %guard;\n.reg .b32 %t, %u, %i;\n.reg .b64 %in, %out, %x;\n"
                     "mov.u32 %t, %ctaid.x;\nmov.u32 %u, %ntid.x;\nmov.u32 %i, %tid.x;\nmad.lo.u32 %i, %t, %u, %i;\n"
                     "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n"
                     "mul.wide.u32 %x, %i, 32;\nadd.u64 %in, %in, %x;\nadd.u64 %out, %out, %x;\n"
                     "setp.ne.u32 r, 0, 0;\n";
  text += ".reg .b" + width(form.d) + " d;\n";
  text += load("a", form.a, 0) + load("b", form.b, 8) + load("c", form.c, 16) + load("e", form.e, 24);
  text += runOnce(form, false, 0);
  text += "mul.lo.u32 %u, %i, 0x9E3779B1;\nshr.u32 %u, %u, 31;\nsetp.ne.u32 %guard, %u, 0;\n";
  text += runOnce(form, true, 16);
  return text + "ret;\n}\n";
}

bool isSkipped(uint32_t thread) { return (thread * 0x9E3779B1u) >> 31; }

/// Edge values of a width.
std::vector<uint64_t> edges(unsigned bits) {
  uint64_t top = uint64_t(1) << (bits - 1), all = lowBits(~uint64_t(0), bits);
  return {0,
          1,
          2,
          3,
          top,
          top - 1,
          top + 1,
          all,
          all - 1,
          all >> (bits / 2),
          uint64_t(1) << (bits / 2),
          bits,
          bits - 1,
          lowBits(0x8877665544332211, bits),
          lowBits(0xaaaaaaaaaaaaaaaa, bits),
          lowBits(0x00ff00ff7f80ff01, bits)};
}

class Generator {
public:
  Generator(const Form &form) : form(form) {}
  /// Operands for which the result is defined, and the result.
  Values next(uint32_t thread) {
    Values values = draw(thread);
    while (!form.oracle(values))
      values = draw(thread = kThreads); // no edge values
    return values;
  }

private:
  Values draw(uint32_t thread) {
    Values values;
    values.a = pick(form.a, thread % 16, thread < 256, false);
    bool isSmall = form.flavour == Flavour::SmallC;
    values.b = pick(form.b, thread / 16 % 16, thread < 256, isSmall && form.c == 0);
    values.c = pick(form.c, (thread * 7 + thread / 16) % 16, thread < 128, isSmall);
    values.e = pick(form.e, (thread * 3) % 16, thread < 64, isSmall);
    return values;
  }

  uint64_t pick(unsigned bits, uint32_t edge, bool isEdge, bool isSmall) {
    if (bits == 0)
      return 0;
    if (bits == 1)
      return random() & 1;
    if (isSmall && random() % 8 != 0)
      return random() % 72;
    if (isEdge)
      return edges(bits)[edge];
    uint64_t value = random();
    return lowBits(random() % 4 == 0 ? value >> (random() % 64) : value, bits);
  }
  const Form &form;
  std::mt19937_64 random{42};
};

void compare(const Form &form, uint32_t thread, const Values &values, uint64_t d, uint64_t predicates) {
  ASSERT_TRUE(lowBits(d, form.d) == lowBits(values.d, form.d) && predicates == (values.p | values.q << 1))
      << form.text << "\nthread " << thread << std::hex << " a " << values.a << " b " << values.b << " c " << values.c
      << " e " << values.e << "\nexpected d " << lowBits(values.d, form.d) << " p " << values.p << " q " << values.q
      << ", got d " << lowBits(d, form.d) << " predicates " << predicates;
}

} // namespace

void test::sweep(const Form &form) {
  std::vector<uint64_t> in(kThreads * 4);
  std::vector<Values> all;
  Generator generator(form);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    all.push_back(generator.next(thread));
    const Values &values = all.back();
    const uint64_t operands[4] = {values.a, values.b, values.c, values.e};
    std::memcpy(&in[thread * 4], operands, sizeof operands);
  }
  KernelCase kernel;
  kernel.ptx = makeKernel(form);
  kernel.grid = {kThreads / kBlock, 1, 1};
  kernel.block = {kBlock, 1, 1};
  kernel.arguments = {buffer(in), buffer(std::vector<uint64_t>(kThreads * 4))};
  KernelResult result = runClean(kernel);
  ASSERT_FALSE(result.error) << result.error.getMessage() << "\n" << kernel.ptx;
  std::vector<uint64_t> out = result.get<uint64_t>(1);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    const Values &values = all[thread];
    Values untouched = values;
    untouched.d = kUntouched;
    untouched.p = untouched.q = 0;
    ASSERT_NO_FATAL_FAILURE(compare(form, thread, values, out[thread * 4], uint32_t(out[thread * 4 + 1])));
    ASSERT_NO_FATAL_FAILURE(compare(form, thread, isSkipped(thread) ? untouched : values, out[thread * 4 + 2],
                                    uint32_t(out[thread * 4 + 3])));
  }
}
