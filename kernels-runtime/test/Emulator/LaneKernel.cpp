// One instruction on many operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of the kernels and the operands.

#include "LaneKernel.h"

#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace weft::emu::test {

static std::string bits(unsigned bytes) { return "b" + std::to_string(bytes * 8); }

static Lanes readLanes(const Bytes &bytes, unsigned width) {
  Lanes lanes(bytes.size() / width);
  for (size_t i = 0; i < lanes.size(); ++i)
    std::memcpy(&lanes[i], &bytes[i * width], width);
  return lanes;
}

std::vector<Lanes> runLanes(const LaneKernel &kernel, const std::vector<Lanes> &operands) {
  size_t count = operands[0].size();
  KernelCase launch;
  launch.ptx = ptxOf(kernel);
  launch.entry = "lanes";
  launch.block.x = 64;
  launch.grid.x = uint32_t(count / 64);
  for (size_t i = 0; i < operands.size(); ++i) {
    Bytes bytes(count * kernel.in[i]);
    for (size_t k = 0; k < count; ++k)
      std::memcpy(&bytes[k * kernel.in[i]], &operands[i][k], kernel.in[i]);
    launch.arguments.push_back(buffer(std::move(bytes)));
  }
  for (unsigned width : kernel.out) {
    launch.arguments.push_back(output(count * width));
    launch.arguments.back().tolerance = kernel.tolerance;
  }
  KernelResult result = runClean(launch);
  std::vector<Lanes> results;
  for (size_t i = 0; i < kernel.out.size(); ++i) {
    if (result.error || operands.size() + i >= result.buffers.size())
      results.emplace_back(count, 0xdeadbeef);
    else
      results.push_back(readLanes(result.buffers[operands.size() + i], kernel.out[i]));
  }
  return results;
}

std::string refusalOf(const LaneKernel &kernel) { return refusal(ptxOf(kernel)); }

std::string ptxOf(const LaneKernel &kernel) {
  const char names[] = "abcde";
  std::string text = ".version " + kernel.version + "\n.target sm_90a\n.address_size 64\n\n.visible .entry lanes(";
  auto forEach = [&](auto &&body) {
    for (size_t i = 0; i < kernel.in.size(); ++i)
      body(names[i], kernel.in[i], false);
    for (size_t i = 0; i < kernel.out.size(); ++i)
      body(names[3 + i], kernel.out[i], true);
  };
  std::string separator;
  forEach([&](char name, unsigned, bool) {
    text += separator + ".param .u64 p" + name;
    separator = ", ";
  });
  text += ")\n{\n  .reg .pred %p, %q;\n  .reg .b16 %h<2>;\n  .reg .b32 %t<4>, %thread, %block;\n  .reg .b64 %w<2>;\n";
  forEach([&](char name, unsigned bytes, bool) {
    text += std::string("  .reg .") + bits(bytes) + " %" + name + ";\n  .reg .b64 %p" + name + ";\n";
  });
  text += "  mov.u32 %thread, %tid.x;\n  mov.u32 %block, %ctaid.x;\n  mad.lo.u32 %thread, %block, 64, %thread;\n";
  forEach([&](char name, unsigned bytes, bool isResult) {
    std::string n(1, name);
    text += "  ld.param.u64 %p" + n + ", [p" + n + "];\n  mad.wide.u32 %p" + n + ", %thread, " + std::to_string(bytes) +
            ", %p" + n + ";\n";
    if (!isResult)
      text += "  ld.global." + bits(bytes) + " %" + n + ", [%p" + n + "];\n";
  });
  text += "  " + kernel.body + "\n";
  forEach([&](char name, unsigned bytes, bool isResult) {
    std::string n(1, name);
    if (isResult)
      text += "  st.global." + bits(bytes) + " [%p" + n + "], %" + n + ";\n";
  });
  return text + "  ret;\n}\n";
}

/// Special bit patterns of a type.
static Lanes specialsOf(unsigned bytes, bool isBfloat) {
  if (bytes == 8)
    return {0,
            1,
            0x000fffffffffffff,
            0x0010000000000000,
            0x3fe0000000000000,
            0x3ff0000000000000,
            0x3ff0000000000001,
            0x4008000000000000,
            0x7fefffffffffffff,
            0x7ff0000000000000,
            0x7ff8000000000000};
  if (bytes == 4)
    return {0,          1,          0x007fffff, 0x00800000, 0x3f000000, 0x3f800000,
            0x3f800001, 0x40400000, 0x7e800000, 0x7f7fffff, 0x7f800000, 0x7fc12345};
  if (isBfloat)
    return {0, 1, 0x007f, 0x0080, 0x3f00, 0x3f80, 0x3f81, 0x4040, 0x7f7f, 0x7f80, 0x7fc1};
  return {0, 1, 0x03ff, 0x0400, 0x3800, 0x3c00, 0x3c01, 0x4200, 0x7bff, 0x7c00, 0x7e01};
}

std::vector<Lanes> floatOperands(unsigned bytes, bool isBfloat, unsigned count, unsigned random) {
  Lanes specials = specialsOf(bytes, isBfloat);
  uint64_t sign = uint64_t(1) << (bytes * 8 - 1);
  for (size_t i = 0, n = specials.size(); i < n; ++i)
    specials.push_back(specials[i] | sign);
  std::vector<Lanes> operands(count);
  auto add = [&](uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t values[] = {a, b, c};
    for (unsigned i = 0; i < count; ++i)
      operands[i].push_back(values[i]);
  };
  for (uint64_t a : specials)
    for (uint64_t b : count > 1 ? specials : Lanes{0})
      for (uint64_t c :
           count > 2 ? Lanes{specials[0], specials[1], specials[5], specials[specials.size() - 2], specials[3] | sign}
                     : Lanes{0})
        add(a, b, c);
  std::mt19937_64 generator(bytes * 2 + isBfloat);
  // Numbers around one (exponents near the middle), so that results are mostly finite; one in eight anything at all.
  unsigned mantissa = bytes == 8 ? 52 : bytes == 4 ? 23 : isBfloat ? 7 : 10;
  uint64_t bias = (uint64_t(1) << (bytes * 8 - 2 - mantissa)) - 1, range = bytes == 2 && !isBfloat ? 8 : 24;
  auto draw = [&]() {
    uint64_t any = generator() & (sign | (sign - 1));
    if (generator() % 8 == 0)
      return any;
    return (any & (sign | ((uint64_t(1) << mantissa) - 1))) | (bias - range / 2 + generator() % range) << mantissa;
  };
  for (unsigned i = 0; i < random || operands[0].size() % 64; ++i)
    add(draw(), draw(), draw());
  return operands;
}

} // namespace weft::emu::test
