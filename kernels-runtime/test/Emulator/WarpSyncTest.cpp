// Instructions between lanes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace weft::emu;
using namespace weft::emu::test;

static std::string kernelOf(const std::string &body, unsigned outStride = 4) {
  return module(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %d<8>;
  .reg .b64 %a, %o;
  .reg .b32 %t;
  ld.param.u64 %a, [in];
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %a, %t, 4, %a;
  mad.wide.u32 %o, %t, )" +
                std::to_string(outStride) + ", %o;\n  ld.global.u32 %r1, [%a];\n" + body + "\n  ret;\n}\n");
}

static std::vector<uint32_t> inputs() {
  std::vector<uint32_t> values(32);
  for (uint32_t i = 0; i < 32; ++i)
    values[i] = (i * 7 + 3) * 0x01010101u;
  return values;
}

static std::vector<uint32_t> outputOf(const std::string &body, unsigned outStride = 4,
                                      const std::vector<uint32_t> &in = inputs()) {
  KernelCase kernel;
  kernel.ptx = kernelOf(body, outStride);
  kernel.block.x = 32;
  kernel.arguments = {buffer(in), output(32 * outStride)};
  return runAllWays(kernel).get<uint32_t>(1);
}

TEST(WarpSync, Shuffles) {
  std::vector<uint32_t> in = inputs();
  for (const char *mode : {"up", "down", "bfly", "idx"}) {
    for (uint32_t offset : {0u, 1u, 5u, 16u, 31u, 33u}) {
      for (uint32_t width : {32u, 8u}) {
        uint32_t clamp = (mode == std::string("up") ? 0 : 31) | (32 - width) << 8;
        std::string shuffle = std::string("  shfl.sync.") + mode + ".b32 %r2|%p1, %r1, " + std::to_string(offset) +
                              ", " + std::to_string(clamp) +
                              ", -1;\n  selp.u32 %r3, 1, 0, %p1;\n  st.global.v2.u32 [%o], {%r2, %r3};";
        std::vector<uint32_t> out = outputOf(shuffle, 8);
        for (int lane = 0; lane < 32; ++lane) {
          int base = lane / int(width) * int(width), last = base + int(width) - 1, o = int(offset % 32), source = lane;
          if (mode == std::string("up"))
            source = lane - o >= base ? lane - o : -1;
          else if (mode == std::string("down"))
            source = lane + o <= last ? lane + o : -1;
          else if (mode == std::string("bfly"))
            source = (lane ^ o) <= last ? lane ^ o : -1;
          else
            source = base + o % int(width);
          EXPECT_EQ(out[size_t(2 * lane)], in[size_t(source < 0 ? lane : source)]) << mode << offset << " " << lane;
          EXPECT_EQ(out[size_t(2 * lane + 1)], uint32_t(source >= 0)) << mode << offset << " " << lane;
        }
      }
    }
  }
}

TEST(WarpSync, Votes) {
  std::vector<uint32_t> out = outputOf(R"(
  and.b32 %r2, %t, 3;
  setp.eq.u32 %p1, %r2, 1;
  setp.lt.u32 %p2, %t, 99;
  vote.sync.ballot.b32 %r3, %p1, -1;
  vote.sync.ballot.b32 %r4, !%p1, -1;
  vote.sync.all.pred %p3, %p2, -1;
  vote.sync.any.pred %p4, !%p2, -1;
  vote.sync.uni.pred %p5, %p1, -1;
  vote.sync.uni.pred %p6, !%p2, -1;
  selp.u32 %r5, 1, 0, %p3;
  selp.u32 %r6, 2, 0, %p4;
  selp.u32 %r7, 4, 0, %p5;
  selp.u32 %r8, 8, 0, %p6;
  or.b32 %r5, %r5, %r6;
  or.b32 %r5, %r5, %r7;
  or.b32 %r5, %r5, %r8;
  activemask.b32 %r9;
  st.global.v4.u32 [%o], {%r3, %r4, %r5, %r9};)",
                                       16);
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(out[4 * i], 0x22222222u);
    EXPECT_EQ(out[4 * i + 1], ~0x22222222u);
    EXPECT_EQ(out[4 * i + 2], 9u);
    EXPECT_EQ(out[4 * i + 3], ~0u);
  }
}

TEST(WarpSync, MatchReduxElect) {
  std::vector<uint32_t> in = inputs();
  std::vector<uint32_t> out = outputOf(R"(
  and.b32 %r2, %t, 7;
  match.any.sync.b32 %r3, %r2, -1;
  cvt.u64.u32 %d1, %r2;
  match.any.sync.b64 %r4, %d1, -1;
  match.all.sync.b32 %r5|%p1, %r2, -1;
  mov.b64 %d2, 5;
  match.all.sync.b64 %r6|%p2, %d2, -1;
  redux.sync.add.u32 %r7, %r1, -1;
  redux.sync.min.u32 %r8, %r1, -1;
  redux.sync.max.s32 %r9, %r1, -1;
  redux.sync.min.s32 %r10, %r1, -1;
  redux.sync.max.u32 %r11, %r1, -1;
  redux.sync.add.s32 %r12, %r1, -1;
  redux.sync.and.b32 %r13, %r1, -1;
  redux.sync.or.b32 %r14, %r1, -1;
  redux.sync.xor.b32 %r15, %r1, -1;
  elect.sync %r16|%p3, -1;
  elect.sync _|%p4, -1;
  selp.u32 %r17, 1, 0, %p3;
  selp.u32 %r18, 2, 0, %p4;
  or.b32 %r17, %r17, %r18;
  st.global.v4.u32 [%o], {%r3, %r4, %r5, %r6};
  st.global.v4.u32 [%o+16], {%r7, %r8, %r9, %r10};
  st.global.v4.u32 [%o+32], {%r11, %r12, %r13, %r14};
  st.global.v4.u32 [%o+48], {%r15, %r16, %r17, %r17};)",
                                       64);
  uint32_t sum = 0, least = ~0u, most = 0, all = ~0u, any = 0, odd = 0;
  int32_t leastSigned = INT32_MAX, mostSigned = INT32_MIN;
  for (uint32_t x : in) {
    sum += x, odd ^= x, any |= x, all &= x;
    least = std::min(least, x), most = std::max(most, x);
    leastSigned = std::min(leastSigned, int32_t(x)), mostSigned = std::max(mostSigned, int32_t(x));
  }
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t same = 0x01010101u << (i % 8);
    std::vector<uint32_t> want = {same, same, 0,   ~0u, sum, least, uint32_t(mostSigned), uint32_t(leastSigned),
                                  most, sum,  all, any, odd, 0,     i == 0 ? 3u : 0u,     i == 0 ? 3u : 0u};
    EXPECT_EQ(std::vector<uint32_t>(out.begin() + 16 * i, out.begin() + 16 * (i + 1)), want) << i;
  }
}

/// Halves of a warp with masks of their own, in different branches, and lanes that end early.
TEST(WarpSync, PartialMasks) {
  std::vector<uint32_t> out = outputOf(R"(
  setp.lt.u32 %p1, %t, 16;
  @%p1 bra low;
  mov.u32 %r3, 0xffff0000;
  redux.sync.add.u32 %r2, %t, %r3;
  bra join;
low:
  redux.sync.max.u32 %r2, %t, 0x0000ffff;
join:
  selp.u32 %r4, 0x0000ffff, 0xffff0000, %p1;
  shfl.sync.idx.b32 %r5, %r2, 0, 0x101f, %r4;
  bar.warp.sync %r4;
  setp.eq.u32 %p2, %t, 7;
  st.global.v2.u32 [%o], {%r2, %r5};
  @%p2 exit;
  vote.sync.ballot.b32 %r6, 1, -1;
  st.global.u32 [%o+8], %r6;)",
                                       16);
  for (unsigned i = 0; i < 32; ++i) {
    uint32_t want = i < 16 ? 15 : (16 + 31) * 8;
    EXPECT_EQ(out[4 * i], want);
    EXPECT_EQ(out[4 * i + 1], want);
    if (i != 7)
      EXPECT_EQ(out[4 * i + 2], ~0x80u);
  }
}

/// Lanes of one mask may meet at different instructions of one form: in two branches, and in a call and outside of it.
TEST(WarpSync, DifferentPlaces) {
  std::vector<uint32_t> in = inputs(), out = outputOf(R"(
  setp.lt.u32 %p1, %t, 16;
  @%p1 bra low;
  mul.lo.u32 %r3, %r1, 3;
  shfl.sync.bfly.b32 %r2, %r3, 16, 31, -1;
  bar.warp.sync -1;
  bra join;
low:
  mul.lo.u32 %r4, %r1, 5;
  mov.u32 %r5, 16;
  shfl.sync.bfly.b32 %r2, %r4, %r5, 31, -1;
  bar.warp.sync -1;
join:
  setp.eq.u32 %p2, %t, 9;
  @!%p2 bra all;
  vote.sync.ballot.b32 %r6, %p2, -1;
  bra done;
all:
  vote.sync.ballot.b32 %r6, %p1, -1;
done:
  st.global.v2.u32 [%o], {%r2, %r6};)",
                                                      8);
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(out[2 * i], in[i ^ 16] * (i < 16 ? 3 : 5));
    EXPECT_EQ(out[2 * i + 1], 0xffffu);
  }
}

/// Lanes that leave a loop at different times meet again at the next instruction between lanes.
TEST(WarpSync, TripCounts) {
  std::vector<uint32_t> out = outputOf(R"(
  mov.u32 %r2, 0;
  mov.u32 %r3, 0;
loop:
  add.u32 %r3, %r3, %r2;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p1, %r2, %t;
  @%p1 bra loop;
  activemask.b32 %r4;
  redux.sync.add.u32 %r5, %r3, -1;
  st.global.v2.u32 [%o], {%r4, %r5};)",
                                       8);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 32; ++i)
    sum += i * (i + 1) / 2;
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(out[2 * i], ~0u);
    EXPECT_EQ(out[2 * i + 1], sum);
  }
}

TEST(WarpSync, WrongMasks) {
  KernelCase kernel;
  kernel.block.x = 32;
  kernel.arguments = {buffer(inputs()), output(128)};
  kernel.ptx = kernelOf("  bar.warp.sync 1;");
  EXPECT_NE(run(kernel).error.getMessage().find("the thread is not in its own member mask 0x00000001"),
            std::string::npos);
  kernel.ptx = kernelOf("  setp.eq.u32 %p1, %t, 0;\n  selp.u32 %r2, 3, -1, %p1;\n  bar.warp.sync %r2;");
  EXPECT_NE(run(kernel).error.getMessage().find("another thread of it has 0x"), std::string::npos);
}

TEST(WarpSync, Refusals) {
  auto refused = [](const std::string &body, const std::string &what) {
    std::string message = refusal(kernelOf(body));
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  refused("  shfl.up.b32 %r2, %r1, 1, 0;", "expected .sync");
  refused("  vote.ballot.b32 %r2, %p1;", "expected .sync");
  refused("  redux.sync.min.f32 %r2, %r1, -1;", "requires sm_100a");
  refused("  redux.sync.and.u32 %r2, %r1, -1;", "expected a type (.b32), got .u32");
  refused("  elect.sync %p1, -1;", "expected a pair d|p");
}
