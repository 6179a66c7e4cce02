// Moves, loads, stores and address spaces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace weft::emu;
using namespace weft::emu::test;

/// One kernel with the pointers %a (input) and %o (output) of the thread already advanced by tid * `inStride` and
/// tid * `outStride` bytes; scratch registers of all widths.
static std::string kernelOf(const std::string &body, unsigned inStride, unsigned outStride,
                            const std::string &before = "", const std::string &version = "8.3") {
  return module(before + R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b16 %h<16>;
  .reg .b32 %r<32>;
  .reg .f32 %f<16>;
  .reg .b64 %d<32>;
  .reg .b128 %q<4>;
  .reg .b64 %a, %o;
  .reg .b32 %t;
  ld.param.u64 %a, [in];
  ld.param.u64 %o, [out];
  cvta.to.global.u64 %a, %a;
  cvta.to.global.u64 %o, %o;
  mov.u32 %t, %tid.x;
  mad.wide.u32 %a, %t, )" +
                    std::to_string(inStride) +
                    R"(, %a;
  mad.wide.u32 %o, %t, )" +
                    std::to_string(outStride) + ", %o;\n" + body + "\n  ret;\n}\n",
                version);
}

static std::vector<uint32_t> words(size_t count) {
  std::vector<uint32_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = uint32_t(i * 2654435761u + 0x80c01234u);
  return values;
}

static KernelCase caseOf(const std::string &ptx, const std::vector<uint32_t> &in, size_t outBytes,
                         uint32_t threads = 32) {
  KernelCase kernel;
  kernel.ptx = ptx;
  kernel.block.x = threads;
  kernel.arguments = {buffer(in), output(outBytes)};
  return kernel;
}

TEST(Data, PackAndUnpack) {
  std::vector<uint32_t> in = words(64);
  KernelResult result = runClean(caseOf(kernelOf(R"(
  ld.global.v2.u32 {%r1, %r2}, [%a];
  mov.b64 %d1, {%r1, %r2};
  mov.b64 {%r3, %r4}, %d1;
  mov.b32 {%h1, %h2}, %r3;
  mov.b32 %r5, {%h2, %h1};
  mov.b64 {%h3, %h4, %h5, %h6}, %d1;
  mov.b64 %d2, {%h6, %h5, %h4, %h3};
  mov.b64 {_, %r6}, %d2;
  mov.b128 %q1, {%d1, %d2};
  mov.b128 {%d3, %d4}, %q1;
  mov.b64 %d5, {7, %r1};
  st.global.v2.b32 [%o], {%r4, %r5};
  st.global.u32 [%o+8], %r6;
  st.global.u32 [%o+12], 305419896;
  st.global.v2.b64 [%o+16], {%d4, %d5};)",
                                                 8, 32),
                                        in, 32 * 32));
  std::vector<uint32_t> out = result.get<uint32_t>(1);
  auto swap = [](uint32_t x) { return x >> 16 | x << 16; };
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t a = in[2 * i], b = in[2 * i + 1];
    EXPECT_EQ(out[8 * i], b);
    EXPECT_EQ(out[8 * i + 1], swap(a));
    EXPECT_EQ(out[8 * i + 2], swap(a));
    EXPECT_EQ(out[8 * i + 3], 0x12345678u);
    EXPECT_EQ(out[8 * i + 4], swap(b));
    EXPECT_EQ(out[8 * i + 5], swap(a));
    EXPECT_EQ(out[8 * i + 6], 7u);
    EXPECT_EQ(out[8 * i + 7], a);
  }
}

TEST(Data, WidthsAndSigns) {
  std::vector<uint32_t> in = words(32);
  KernelResult result = runClean(caseOf(kernelOf(R"(
  ld.global.s8 %r1, [%a];
  ld.global.u8 %r2, [%a+1];
  ld.global.s16 %d1, [%a+2];
  ld.global.b16 %h1, [%a];
  ld.global.s8 %h2, [%a+3];
  ld.global.u32 %d2, [%a];
  ld.global.s32 %d3, [%a];
  ld.global.f32 %f1, [%a];
  st.global.u32 [%o], %r1;
  st.global.u32 [%o+4], %r2;
  st.global.u64 [%o+8], %d1;
  st.global.u16 [%o+16], %h1;
  st.global.u16 [%o+18], %h2;
  st.global.u8 [%o+20], %r1;
  st.global.b8 [%o+21], %h1;
  st.global.u16 [%o+22], %d2;
  st.global.b64 [%o+24], %d2;
  st.global.s64 [%o+32], %d3;
  st.global.f32 [%o+40], %f1;
  st.global.v2.u16 [%o+44], {%h1, %h2};)",
                                                 4, 48),
                                        in, 32 * 48));
  for (unsigned i = 0; i < 32; ++i) {
    const uint8_t *o = result.buffers[1].data() + 48 * i;
    uint32_t x = in[i];
    auto at = [&](size_t offset, size_t size) {
      uint64_t value = 0;
      memcpy(&value, o + offset, size);
      return value;
    };
    EXPECT_EQ(at(0, 4), uint32_t(int32_t(int8_t(x))));
    EXPECT_EQ(at(4, 4), x >> 8 & 0xff);
    EXPECT_EQ(at(8, 8), uint64_t(int64_t(int16_t(x >> 16))));
    EXPECT_EQ(at(16, 2), x & 0xffff);
    EXPECT_EQ(at(18, 2), uint16_t(int8_t(x >> 24)));
    EXPECT_EQ(at(20, 1), x & 0xff);
    EXPECT_EQ(at(21, 1), x & 0xff);
    EXPECT_EQ(at(22, 2), x & 0xffff);
    EXPECT_EQ(at(24, 8), x);
    EXPECT_EQ(at(32, 8), uint64_t(int64_t(int32_t(x))));
    EXPECT_EQ(at(40, 4), x);
    EXPECT_EQ(at(44, 2), x & 0xffff);
    EXPECT_EQ(at(46, 2), uint16_t(int8_t(x >> 24)));
  }
}

TEST(Data, Qualifiers) {
  std::vector<uint32_t> in = words(32 * 16);
  KernelResult result = runClean(caseOf(kernelOf(R"(
  createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %d1, 0.5;
  createpolicy.fractional.L2::evict_first.b64 %d2;
  createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %d3, [%a], 256, 512;
  createpolicy.cvt.L2.b64 %d4, %d2;
  prefetch.global.L1 [%a];
  prefetch.global.L2::evict_last [%a];
  prefetchu.L1 [%a];
  ld.global.nc.u32 %r0, [%a];
  ld.global.ca.u32 %r1, [%a+4];
  ld.global.cg.v2.u32 {%r2, %r3}, [%a+8];
  ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r4, %r5, %r6, %r7}, [%a+16];
  ld.volatile.global.u32 %r8, [%a+32];
  ld.relaxed.gpu.global.u32 %r9, [%a+36];
  ld.acquire.sys.global.u32 %r10, [%a+40];
  ld.global.L1::evict_last.L2::cache_hint.u32 %r11, [%a+44], %d1;
  ld.weak.global.L1::evict_first.u32 %r12, [%a+48];
  ld.relaxed.cluster.global.u32 %r13, [%a+52];
  ld.mmio.relaxed.sys.global.u32 %r14, [%a+56];
  ldu.global.u32 %r15, [%a+60];
  st.global.wb.u32 [%o], %r0;
  st.global.cs.u32 [%o+4], %r1;
  st.global.v2.u32 [%o+8], {%r2, %r3};
  st.global.L1::no_allocate.v4.u32 [%o+16], {%r4, %r5, %r6, %r7};
  st.volatile.global.u32 [%o+32], %r8;
  st.relaxed.gpu.global.u32 [%o+36], %r9;
  st.release.sys.global.u32 [%o+40], %r10;
  st.global.L2::cache_hint.u32 [%o+44], %r11, %d1;
  st.weak.global.u32 [%o+48], %r12;
  st.mmio.relaxed.sys.global.u32 [%o+52], %r13;
  st.global.wt.u32 [%o+56], %r14;
  st.global.cg.u32 [%o+60], %r15;)",
                                                 64, 64),
                                        in, 32 * 64));
  EXPECT_EQ(result.get<uint32_t>(1), in);
}

TEST(Data, Priorities) {
  std::vector<uint32_t> in = words(32 * 32);
  KernelCase kernel = caseOf(kernelOf(R"(
  ld.global.u32 %r1, [%a];
  applypriority.global.L2::evict_normal [%a], 128;
  discard.global.L2 [%a], 128;
  st.global.u32 [%o], %r1;)",
                                      128, 4),
                             in, 128);
  kernel.arguments[0].isCompared = false;
  std::vector<uint32_t> out = runClean(kernel).get<uint32_t>(1);
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], in[32 * i]);
}

TEST(Data, WideAndB128) {
  std::vector<uint32_t> in = words(32 * 8);
  KernelResult result = runClean(caseOf(kernelOf(R"(
  ld.global.b128 %q1, [%a];
  ld.global.v2.b64 {%d1, %d2}, [%a+16];
  mov.b128 %q2, %q1;
  st.global.b128 [%o+16], %q2;
  st.global.v2.b64 [%o], {%d2, %d1};)",
                                                 32, 32),
                                        in, 32 * 32));
  std::vector<uint32_t> out = result.get<uint32_t>(1);
  const unsigned order[] = {6, 7, 4, 5, 0, 1, 2, 3};
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned j = 0; j < 8; ++j)
      EXPECT_EQ(out[8 * i + j], in[8 * i + order[j]]);
}

TEST(Data, ModuleVariables) {
  std::string before = ".global .align 4 .b8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
                       ".const .align 4 .u32 factors[4] = {10, 20, 30, 40};\n"
                       ".global .u64 pointer = generic(table);\n";
  KernelResult result = runClean(caseOf(kernelOf(R"(
  and.b32 %r1, %t, 3;
  mul.wide.u32 %d1, %r1, 4;
  mov.u64 %d2, factors;
  add.s64 %d2, %d2, %d1;
  ld.const.u32 %r2, [%d2];
  ld.const.u32 %r3, [factors+8];
  cvta.const.u64 %d3, %d2;
  ld.u32 %r2, [%d3];
  isspacep.const %p1, %d3;
  @!%p1 trap;
  ld.global.u64 %d4, [pointer];
  ld.u8 %r4, [%d4+5];
  ld.global.u32 %r5, [table];
  st.global.v4.u32 [%o], {%r2, %r3, %r4, %r5};)",
                                                 4, 16, before),
                                        words(32), 32 * 16));
  std::vector<uint32_t> out = result.get<uint32_t>(1);
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(out[4 * i], 10 * (i % 4 + 1));
    EXPECT_EQ(out[4 * i + 1], 30u);
    EXPECT_EQ(out[4 * i + 2], 6u);
    EXPECT_EQ(out[4 * i + 3], 0x04030201u);
  }
}

TEST(Data, SharedLocalAndGeneric) {
  std::string before = ".shared .align 16 .b8 fixed[64];\n.extern .shared .align 16 .b8 dynamic[];\n";
  KernelCase kernel = caseOf(kernelOf(R"(
  .local .align 8 .b8 depot[16];
  ld.global.u32 %r1, [%a];
  mul.lo.u32 %r2, %t, 4;
  mov.u32 %r3, dynamic;
  add.u32 %r3, %r3, %r2;
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  xor.b32 %r4, %r2, 124;
  mov.u64 %d1, dynamic;
  cvta.shared.u64 %d1, %d1;
  cvt.u64.u32 %d2, %r4;
  add.u64 %d1, %d1, %d2;
  ld.u32 %r5, [%d1];
  mov.u64 %d3, depot;
  st.local.u32 [depot+8], %r5;
  cvta.local.u64 %d4, %d3;
  ld.u32 %r6, [%d4+8];
  ld.local.u32 %r7, [%d3+8];
  cvta.to.local.u64 %d5, %d4;
  cvta.to.shared.u64 %d6, %d1;
  ld.shared.u32 %r8, [%d6];
  isspacep.local %p1, %d4;
  isspacep.shared %p2, %d1;
  isspacep.global %p3, %d1;
  isspacep.shared::cta %p4, %d1;
  selp.u32 %r9, 1, 0, %p1;
  selp.u32 %r10, 2, 0, %p2;
  selp.u32 %r11, 4, 0, %p3;
  selp.u32 %r12, 8, 0, %p4;
  or.b32 %r9, %r9, %r10;
  or.b32 %r9, %r9, %r11;
  or.b32 %r9, %r9, %r12;
  setp.eq.u64 %p5, %d5, %d3;
  selp.u32 %r13, 16, 0, %p5;
  or.b32 %r9, %r9, %r13;
  st.global.v4.u32 [%o], {%r6, %r7, %r8, %r9};)",
                                      4, 16, before),
                             words(32), 32 * 16);
  kernel.dynamicShared = 128;
  std::vector<uint32_t> in = words(32), out = runAllWays(kernel).get<uint32_t>(1);
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(out[4 * i], in[31 - i]);
    EXPECT_EQ(out[4 * i + 1], in[31 - i]);
    EXPECT_EQ(out[4 * i + 2], in[31 - i]);
    EXPECT_EQ(out[4 * i + 3], 27u);
  }
}

TEST(Data, GridConstantParameter) {
  KernelCase kernel;
  kernel.ptx = module(R"(
.visible .entry k(.param .align 16 .b8 box[32], .param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  .reg .pred %p;
  ld.param.u64 %d1, [out];
  cvta.to.global.u64 %d1, %d1;
  mov.b64 %d2, box;
  cvta.param.u64 %d3, %d2;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d4, %r1, 4;
  add.s64 %d5, %d3, %d4;
  ld.u32 %r2, [%d5];
  add.s64 %d6, %d2, %d4;
  ld.param.u32 %r3, [%d6];
  isspacep.param %p, %d5;
  selp.u32 %r4, 1, 0, %p;
  mul.wide.u32 %d4, %r1, 12;
  add.s64 %d1, %d1, %d4;
  st.global.u32 [%d1], %r2;
  st.global.u32 [%d1+4], %r3;
  st.global.u32 [%d1+8], %r4;
  ret;
}
)");
  kernel.block.x = 8;
  Argument box;
  box.bytes = toBytes(words(8));
  box.alignment = 16;
  kernel.arguments = {box, output(96)};
  std::vector<uint32_t> in = words(8), out = runClean(kernel).get<uint32_t>(1);
  for (unsigned i = 0; i < 8; ++i) {
    EXPECT_EQ(out[3 * i], in[i]);
    EXPECT_EQ(out[3 * i + 1], in[i]);
    EXPECT_EQ(out[3 * i + 2], 1u);
  }
}

TEST(Data, SpecialRegisters) {
  std::string body;
  const char *names[] = {"%tid.x",
                         "%tid.y",
                         "%tid.z",
                         "%ntid.x",
                         "%ntid.y",
                         "%ntid.z",
                         "%ctaid.x",
                         "%ctaid.y",
                         "%ctaid.z",
                         "%nctaid.x",
                         "%nctaid.y",
                         "%nctaid.z",
                         "%laneid",
                         "%lanemask_eq",
                         "%lanemask_le",
                         "%lanemask_lt",
                         "%lanemask_ge",
                         "%lanemask_gt",
                         "%clusterid.x",
                         "%nclusterid.x",
                         "%cluster_ctaid.x",
                         "%cluster_nctaid.x",
                         "%cluster_ctarank",
                         "%cluster_nctarank",
                         "%dynamic_smem_size"};
  unsigned count = sizeof names / sizeof *names;
  for (unsigned i = 0; i < count; ++i)
    body += std::string("  mov.u32 %r1, ") + names[i] + ";\n  st.global.u32 [%o+" + std::to_string(4 * i) + "], %r1;\n";
  KernelCase kernel;
  kernel.ptx = module(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %o;
  ld.param.u64 %o, [out];
  mov.u32 %r1, %ctaid.y;
  mov.u32 %r2, %nctaid.x;
  mov.u32 %r3, %ctaid.x;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mov.u32 %r2, %ntid.y;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mul.lo.u32 %r2, %r2, %r4;
  mov.u32 %r3, %tid.y;
  mad.lo.u32 %r3, %r3, %r4, %r5;
  mad.lo.u32 %r1, %r1, %r2, %r3;
  mad.wide.u32 %o, %r1, )" +
                      std::to_string(4 * count) + ", %o;\n" + body + "  ret;\n}\n");
  kernel.grid = {4, 2, 1};
  kernel.block = {20, 3, 1};
  kernel.cluster = {2, 1, 1};
  kernel.dynamicShared = 40;
  kernel.arguments = {output(4 * count * 480)};
  std::vector<uint32_t> out = runAllWays(kernel).get<uint32_t>(0);
  for (unsigned thread = 0; thread < 480; ++thread) {
    unsigned cta = thread / 60, x = thread % 20, y = thread % 60 / 20, lane = thread % 60 % 32;
    unsigned cx = cta % 4, cy = cta / 4;
    std::vector<uint32_t> want = {x,
                                  y,
                                  0,
                                  20,
                                  3,
                                  1,
                                  cx,
                                  cy,
                                  0,
                                  4,
                                  2,
                                  1,
                                  lane,
                                  1u << lane,
                                  (2u << lane) - 1,
                                  (1u << lane) - 1,
                                  ~((1u << lane) - 1),
                                  ~((2u << lane) - 1),
                                  cx / 2,
                                  2,
                                  cx % 2,
                                  2,
                                  cx % 2,
                                  2,
                                  40};
    EXPECT_EQ(std::vector<uint32_t>(out.begin() + count * thread, out.begin() + count * (thread + 1)), want);
  }
}

TEST(Data, Clocks) {
  KernelCase kernel = caseOf(kernelOf(R"(
  mov.u64 %d1, %clock64;
  mov.u32 %r1, %clock;
  mov.u64 %d2, %globaltimer;
  mov.u32 %r2, %smid;
  mov.u32 %r3, %nsmid;
  mov.u32 %r4, %warpid;
  mov.u32 %r5, %nwarpid;
  mov.u32 %r6, %gridid;
  mov.u32 %r7, %total_smem_size;
  mov.u64 %d3, %clock64;
  sub.u64 %d4, %d3, %d1;
  st.global.u64 [%o], %d4;
  st.global.u32 [%o+8], %r2;
  st.global.u32 [%o+12], %r3;)",
                                      4, 16),
                             words(32), 512);
  kernel.isDumped = false;
  std::vector<uint32_t> out = runClean(kernel).get<uint32_t>(1);
  EXPECT_GT(out[0], 0u);
  EXPECT_LT(out[2], 132u);
  EXPECT_EQ(out[3], 132u);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Faults and refusals
//===--------------------------------------------------------------------------------------------------------------===//

static std::string faultOf(const std::string &body, const std::string &before = "") {
  KernelCase kernel = caseOf(kernelOf(body, 4, 4, before), words(32), 128);
  return run(kernel).error.getMessage();
}

TEST(Data, Faults) {
  std::string message = faultOf("  st.global.u32 [%o+128], %t;");
  EXPECT_NE(message.find("kernel k, line "), std::string::npos) << message;
  EXPECT_NE(message.find("st.global.u32, cta (0,0,0), thread (0,0,0): write of 4 bytes at global address"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("is out of bounds: 0 bytes past the end of the allocation of 128 bytes"), std::string::npos)
      << message;
  message = faultOf("  ld.global.u32 %r1, [%a+1];");
  EXPECT_NE(message.find("misaligned: it must be a multiple of 4"), std::string::npos) << message;
  message = faultOf("  mov.u64 %d1, 0;\n  ld.global.u32 %r1, [%d1];");
  EXPECT_NE(message.find("address 0x0 is out of bounds"), std::string::npos) << message;
  message = faultOf("  ld.shared.u32 %r1, [s+64];", ".shared .b8 s[64];");
  EXPECT_NE(message.find("out of bounds: the cta has 64 bytes of shared memory"), std::string::npos) << message;
  message = faultOf("  .local .align 4 .b8 depot[16];\n  st.local.u32 [depot+16], %t;");
  EXPECT_NE(message.find("out of bounds of the thread's local variables"), std::string::npos) << message;
  message = faultOf("  mov.u64 %d1, c;\n  cvta.const.u64 %d1, %d1;\n  st.u32 [%d1], %t;", ".const .u32 c = 1;");
  EXPECT_NE(message.find("in the constant variable \"c\""), std::string::npos) << message;
  message = faultOf("  ld.const.u32 %r1, [%a];");
  EXPECT_NE(message.find("in no .const variable"), std::string::npos) << message;
  message = faultOf("  discard.global.L2 [%a+4], 128;");
  EXPECT_NE(message.find("is no multiple of 128"), std::string::npos) << message;
}

TEST(Data, FreedMemory) {
  std::unique_ptr<Emulator> emulator;
  ASSERT_FALSE(Emulator::create("sm_90a", emulator));
  uint64_t in = 0, out = 0;
  ASSERT_FALSE(emulator->allocate(128, in));
  ASSERT_FALSE(emulator->allocate(128, out));
  ASSERT_FALSE(emulator->free(in));
  EXPECT_TRUE(emulator->free(in));
  EXPECT_TRUE(emulator->free(out + 4));
  uint64_t parameters[] = {in, out};
  LaunchSpec spec;
  ASSERT_FALSE(emulator->load(kernelOf("  ld.global.u32 %r1, [%a];", 4, 4), "freed", spec.module));
  spec.entry = "k";
  spec.parameters = parameters;
  spec.parameterBytes = sizeof parameters;
  LaunchResult result;
  Error error = emulator->launch(spec, result);
  ASSERT_TRUE(error);
  EXPECT_NE(error.getMessage().find("(freed)"), std::string::npos) << error.getMessage();
  spec.parameterBytes = 8;
  EXPECT_NE(emulator->launch(spec, result).getMessage().find("expected 16 bytes of parameters, got 8"),
            std::string::npos);
}

TEST(Data, Refusals) {
  auto refused = [](const std::string &body, const std::string &what) {
    std::string message = refusal(kernelOf(body, 4, 4));
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  refused("  ld.global.u32.cg %r1, [%a];", "modifier .cg is not known here");
  refused("  ld.global.v4.u64 {%d1, %d2, %d3, %d4}, [%a];", "requires .target sm_100");
  refused("  ld.global.u32 %h1, [%a];", "expected a destination register of at least 32 bits");
  refused("  ld.relaxed.global.u32 %r1, [%a];", "expected a scope");
  refused("  ld.release.gpu.global.u32 %r1, [%a];", "this order is for stores");
  refused("  st.const.u32 [%a], %r1;", "read-only");
  refused("  mov.u32 %r1, %d1;", "expected a register of 32 bits, got one of type .b64");
  refused("  mov.b32 {%r1, %r2}, %r3;", "expected a destination register of 16 bits");
  refused("  cvta.to.global.u32 %r1, %r2;", "addresses have 64 bits");
  refused("  frobnicate.u32 %r1, %r2;", "frobnicate.u32: the emulator does not know this instruction");
}
