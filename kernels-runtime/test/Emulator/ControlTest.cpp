//===- ControlTest.cpp - Control flow, splits and calls -----------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//===--------------------------------------------------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <gtest/gtest.h>

using namespace weft::emu;
using namespace weft::emu::test;

static const char *kSquare = R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra done;
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  mul.lo.s32 %r6, %r6, %r6;
  st.global.u32 [%rd5], %r6;
done:
  ret;
}
)";

TEST(Control, Square) {
  std::vector<uint32_t> in(1000), want(1000);
  for (uint32_t i = 0; i < 1000; ++i) {
    in[i] = i * 2654435761u;
    want[i] = in[i] * in[i];
  }
  KernelCase kernel;
  kernel.ptx = module(kSquare);
  kernel.grid.x = 8;
  kernel.block.x = 128;
  kernel.arguments = {buffer(in), output(4000), value(uint32_t(1000))};
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(1), want);
}
