// atom and red.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every thread of several CTAs adds to one cell (the sum must come out, whatever the order), and one thread does every
// operation in turn on cells of its own (old and new values compared with an oracle).
#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::emu;
using namespace weft::emu::test;

static std::string kernelOf(const std::string &body, const std::string &version = "8.4") {
  return module(R"(
.shared .align 16 .b8 s[4096];
.visible .entry k(.param .u64 cells, .param .u64 out, .param .u64 in)
{
  .reg .pred %p<4>;
  .reg .b16 %h<16>;
  .reg .b32 %r<32>;
  .reg .f32 %f<16>;
  .reg .f64 %e<4>;
  .reg .b64 %d<16>;
  .reg .b128 %q<8>;
  .reg .b64 %c, %o, %a;
  .reg .b32 %t;
  ld.param.u64 %c, [cells];
  ld.param.u64 %o, [out];
  ld.param.u64 %a, [in];
  mov.u32 %t, %tid.x;
)" + body + "\n  ret;\n}\n",
                version);
}

namespace {
struct IntegerForm {
  const char *op, *type;
  uint64_t (*apply)(uint64_t cell, uint64_t value, unsigned bits);
};
} // namespace

static uint64_t cut(uint64_t value, unsigned bits) { return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1); }
static int64_t sign(uint64_t value, unsigned bits) { return int64_t(value << (64 - bits)) >> (64 - bits); }

static const IntegerForm kForms[] = {
    {"add", "u32", [](uint64_t a, uint64_t b, unsigned) { return a + b; }},
    {"add", "s32", [](uint64_t a, uint64_t b, unsigned) { return a + b; }},
    {"add", "u64", [](uint64_t a, uint64_t b, unsigned) { return a + b; }},
    {"min", "u32", [](uint64_t a, uint64_t b, unsigned) { return std::min(a, b); }},
    {"min", "s32", [](uint64_t a, uint64_t b, unsigned n) { return uint64_t(std::min(sign(a, n), sign(b, n))); }},
    {"min", "u64", [](uint64_t a, uint64_t b, unsigned) { return std::min(a, b); }},
    {"min", "s64", [](uint64_t a, uint64_t b, unsigned n) { return uint64_t(std::min(sign(a, n), sign(b, n))); }},
    {"max", "u32", [](uint64_t a, uint64_t b, unsigned) { return std::max(a, b); }},
    {"max", "s32", [](uint64_t a, uint64_t b, unsigned n) { return uint64_t(std::max(sign(a, n), sign(b, n))); }},
    {"max", "u64", [](uint64_t a, uint64_t b, unsigned) { return std::max(a, b); }},
    {"max", "s64", [](uint64_t a, uint64_t b, unsigned n) { return uint64_t(std::max(sign(a, n), sign(b, n))); }},
    {"inc", "u32", [](uint64_t a, uint64_t b, unsigned) { return a >= b ? 0 : a + 1; }},
    {"dec", "u32", [](uint64_t a, uint64_t b, unsigned) { return a == 0 || a > b ? b : a - 1; }},
    {"and", "b32", [](uint64_t a, uint64_t b, unsigned) { return a & b; }},
    {"and", "b64", [](uint64_t a, uint64_t b, unsigned) { return a & b; }},
    {"or", "b32", [](uint64_t a, uint64_t b, unsigned) { return a | b; }},
    {"or", "b64", [](uint64_t a, uint64_t b, unsigned) { return a | b; }},
    {"xor", "b32", [](uint64_t a, uint64_t b, unsigned) { return a ^ b; }},
    {"xor", "b64", [](uint64_t a, uint64_t b, unsigned) { return a ^ b; }},
    {"exch", "b32", [](uint64_t, uint64_t b, unsigned) { return b; }},
    {"exch", "b64", [](uint64_t, uint64_t b, unsigned) { return b; }},
};

/// One thread per pair of interesting values: atom on global, generic and shared memory, and red.
TEST(Atomic, Integers) {
  const uint64_t values[] = {0, 1, 5, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0xfffffffffffffffe};
  for (const IntegerForm &form : kForms) {
    unsigned bits = form.type[1] == '6' ? 64 : 32;
    std::string op = form.op, type = form.type, reg = bits == 64 ? "%d" : "%r", width = bits == 64 ? "b64" : "b32";
    bool hasRed = op != "exch";
    std::string body = R"(
  mad.wide.u32 %a, %t, 8, %a;
  mad.wide.u32 %c, %t, 24, %c;
  mad.wide.u32 %o, %t, 24, %o;
  mov.u32 %r20, s;
  mad.lo.u32 %r20, %t, 8, %r20;
  ld.)" + width + " " + reg +
                       "1, [%a];\n  ld.global." + width + " " + reg + "2, [%c];\n  st.shared." + width + " [%r20], " +
                       reg + "2;\n";
    body += "  atom.global." + op + "." + type + " " + reg + "3, [%c], " + reg + "1;\n";
    body += "  atom.relaxed.gpu." + op + "." + type + " " + reg + "4, [%c+8], " + reg + "1;\n";
    body += "  atom.shared." + op + "." + type + " " + reg + "5, [%r20], " + reg + "1;\n";
    if (hasRed)
      body += "  red.relaxed.sys.global." + op + "." + type + " [%c+16], " + reg + "1;\n";
    body += "  ld.shared." + width + " " + reg + "6, [%r20];\n";
    body += "  st." + width + " [%o], " + reg + "3;\n  st." + width + " [%o+8], " + reg + "5;\n  st." + width +
            " [%o+16], " + reg + "6;\n";
    std::vector<uint64_t> cells(64 * 3), in(64), wantCells(64 * 3), wantOut(64 * 3);
    for (unsigned i = 0; i < 64; ++i) {
      uint64_t cell = cut(values[i / 8], bits), b = cut(values[i % 8], bits);
      uint64_t result = cut(form.apply(cell, b, bits), bits);
      in[i] = b;
      for (unsigned j = 0; j < 3; ++j) {
        cells[3 * i + j] = cell;
        wantCells[3 * i + j] = j < 2 || hasRed ? result : cell;
      }
      wantOut[3 * i] = wantOut[3 * i + 1] = cell;
      wantOut[3 * i + 2] = result;
    }
    KernelCase kernel;
    kernel.ptx = kernelOf(body);
    kernel.block.x = 64;
    kernel.arguments = {buffer(cells), buffer(std::vector<uint64_t>(192)), buffer(in)};
    KernelResult result = runClean(kernel);
    EXPECT_EQ(result.get<uint64_t>(0), wantCells) << op << "." << type;
    EXPECT_EQ(result.get<uint64_t>(1), wantOut) << op << "." << type;
  }
}

TEST(Atomic, SumsOfAllThreads) {
  KernelCase kernel;
  kernel.ptx = kernelOf(R"(
  atom.global.add.u32 %r1, [%c], %t;
  red.global.add.f32 [%c+4], 0f3f800000;
  red.relaxed.gpu.global.add.f64 [%c+8], 0d3fe0000000000000;
  mov.b32 %r5, 0x3c003c00;
  atom.add.noftz.f16x2 %r2, [%c+16], %r5;
  mov.b16 %h1, 0x3f80;
  atom.global.add.noftz.bf16 %h2, [%c+20], %h1;
  mov.b32 %r4, 0x3f803f80;
  red.global.add.noftz.bf16x2 [%c+24], %r4;
  mov.b16 %h3, 0x3c00;
  red.global.add.noftz.f16 [%c+28], %h3;)");
  kernel.grid.x = 3;
  kernel.block.x = 40;
  kernel.arguments = {buffer(std::vector<uint32_t>(8)), buffer(std::vector<uint32_t>(1)),
                      buffer(std::vector<uint32_t>(1))};
  std::vector<uint32_t> cells = runAllWays(kernel).get<uint32_t>(0);
  EXPECT_EQ(cells[0], 3u * 39 * 40 / 2);
  EXPECT_EQ(cells[1], 0x42f00000u); // 120
  EXPECT_EQ(cells[3], 0x404e0000u); // 60
  EXPECT_EQ(cells[4], 0x57805780u); // 120 twice
  EXPECT_EQ(cells[5] & 0xffff, 0x42f0u);
  EXPECT_EQ(cells[6], 0x42f042f0u);
  EXPECT_EQ(cells[7] & 0xffff, 0x5780u);
}

TEST(Atomic, Vectors) {
  KernelCase kernel;
  kernel.ptx = kernelOf(R"(
  mad.wide.u32 %c, %t, 128, %c;
  mad.wide.u32 %o, %t, 128, %o;
  mov.f32 %f1, 0f3f800000;
  mov.f32 %f2, 0f40000000;
  atom.global.add.v4.f32 {%f3, %f4, %f5, %f6}, [%c], {%f1, %f2, %f1, %f2};
  st.global.v4.f32 [%o], {%f3, %f4, %f5, %f6};
  red.global.add.v2.f32 [%c+16], {%f1, %f2};
  mov.b32 %r1, 0x3c004000;
  atom.global.max.noftz.v2.f16x2 {%r2, %r3}, [%c+32], {%r1, %r1};
  st.global.v2.u32 [%o+16], {%r2, %r3};
  mov.b32 %r4, 0x3f80c000;
  red.global.min.noftz.v4.bf16x2 [%c+48], {%r4, %r4, %r4, %r4};
  mov.b16 %h1, 0x3c00;
  red.global.add.noftz.v8.f16 [%c+64], {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1};
  mov.b16 %h2, 0x3f80;
  atom.global.add.noftz.v2.bf16 {%h3, %h4}, [%c+80], {%h2, %h2};
  st.global.v2.b16 [%o+24], {%h3, %h4};
)");
  kernel.block.x = 2;
  std::vector<uint32_t> zero(64), want(64);
  for (unsigned i = 0; i < 2; ++i) {
    uint32_t *cell = want.data() + 32 * i;
    cell[0] = cell[2] = cell[4] = 0x3f800000;
    cell[1] = cell[3] = cell[5] = 0x40000000;
    cell[8] = cell[9] = 0x3c004000;
    for (unsigned j = 12; j < 16; ++j)
      cell[j] = 0x0000c000;
    for (unsigned j = 16; j < 20; ++j)
      cell[j] = 0x3c003c00;
    cell[20] = 0x3f803f80;
  }
  kernel.arguments = {buffer(zero), buffer(zero), buffer(zero)};
  KernelResult result = runClean(kernel);
  EXPECT_EQ(result.get<uint32_t>(0), want);
  EXPECT_EQ(result.get<uint32_t>(1), zero);
}

TEST(Atomic, CompareAndSwap) {
  KernelCase kernel;
  kernel.ptx = kernelOf(R"(
  mad.wide.u32 %c, %t, 64, %c;
  mad.wide.u32 %o, %t, 64, %o;
  mov.b16 %h1, 7;
  mov.b16 %h2, 9;
  atom.global.cas.b16 %h3, [%c], %h1, %h2;
  st.global.b16 [%o], %h3;
  mov.b32 %r1, 7;
  atom.acquire.cta.cas.b32 %r3, [%c+4], %r1, 9;
  st.global.b32 [%o+4], %r3;
  mov.b64 %d1, 7;
  atom.acq_rel.gpu.global.cas.b64 %d3, [%c+8], %d1, 9;
  st.global.b64 [%o+8], %d3;
  mov.b64 %d2, 0;
  mov.b64 %d4, 9;
  mov.b128 %q1, {%d1, %d2};
  mov.b128 %q2, {%d4, %d2};
  atom.release.sys.global.cas.b128 %q3, [%c+16], %q1, %q2;
  st.global.b128 [%o+16], %q3;
  atom.global.exch.b128 %q4, [%c+32], %q2;
  st.global.b128 [%o+32], %q4;
  atom.global.add.u32 _, [%c+48], 5;
)");
  kernel.block.x = 2;
  std::vector<uint32_t> cells(32), wantCells(32), wantOut(32);
  for (unsigned i = 0; i < 2; ++i) {
    uint32_t start = i == 0 ? 7 : 8, end = i == 0 ? 9 : 8;
    for (unsigned j : {0u, 1u, 2u, 4u, 8u}) {
      cells[16 * i + j] = wantOut[16 * i + j] = start;
      wantCells[16 * i + j] = j == 8 ? 9 : end;
    }
    wantCells[16 * i + 12] = 5;
  }
  kernel.arguments = {buffer(cells), buffer(std::vector<uint32_t>(32)), buffer(cells)};
  KernelResult result = runClean(kernel);
  EXPECT_EQ(result.get<uint32_t>(0), wantCells);
  EXPECT_EQ(result.get<uint32_t>(1), wantOut);
}

/// Global f32 sums flush subnormals, shared ones do not.
TEST(Atomic, Subnormals) {
  KernelCase kernel;
  kernel.ptx = kernelOf(R"(
  st.shared.u32 [s], 1;
  atom.shared.add.f32 %f1, [s], 0f00000001;
  ld.shared.u32 %r1, [s];
  red.global.add.f32 [%c], 0f00000001;
  st.global.u32 [%o], %r1;)");
  kernel.arguments = {buffer(std::vector<uint32_t>{1}), output(4), buffer(std::vector<uint32_t>(1))};
  KernelResult result = runClean(kernel);
  EXPECT_EQ(result.get<uint32_t>(0)[0], 0u);
  EXPECT_EQ(result.get<uint32_t>(1)[0], 2u);
}

/// A lock taken by every thread of several CTAs, also within one warp: needs progress of every split.
TEST(Atomic, SpinLock) {
  KernelCase kernel;
  kernel.ptx = kernelOf(R"(
again:
  atom.acquire.gpu.global.cas.b32 %r1, [%c], 0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra again;
  ld.relaxed.gpu.global.u32 %r2, [%c+4];
  add.u32 %r2, %r2, 1;
  st.relaxed.gpu.global.u32 [%c+4], %r2;
  atom.release.gpu.global.exch.b32 %r3, [%c], 0;)");
  kernel.grid.x = 3;
  kernel.block.x = 40;
  kernel.arguments = {buffer(std::vector<uint32_t>(2)), buffer(std::vector<uint32_t>(1)),
                      buffer(std::vector<uint32_t>(1))};
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(0), (std::vector<uint32_t>{0, 120}));
}

TEST(Atomic, Refusals) {
  auto refused = [](const std::string &body, const std::string &what) {
    std::string message = refusal(kernelOf(body));
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  refused("  atom.global.add.f16 %h1, [%c], %h2;", "expected .noftz");
  refused("  atom.global.and.u32 %r1, [%c], %r2;", "expected a type (.b32, .b64), got .u32");
  refused("  red.global.exch.b32 [%c], %r2;", "expected one of .add");
  refused("  atom.shared.add.v2.f32 {%f1, %f2}, [%r1], {%f3, %f4};", "vectors are for .global");
  refused("  atom.local.add.u32 %r1, [%c], %r2;", "expected .global, .shared or generic");
}
