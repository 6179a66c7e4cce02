// Hints about tensor maps and aliases.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// They change nothing: the kernel's result is that of the stores beside them.
#include "TensorMapArgument.h"

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

TEST(Hint, TensorMaps) {
  TensorMapSpec spec;
  spec.rank = 2;
  spec.globalDim[0] = spec.globalDim[1] = 16;
  spec.globalStrides[0] = 32;
  spec.boxDim[0] = spec.boxDim[1] = 8;
  KernelCase kernel;
  kernel.ptx = module(R"(
.const .align 64 .b8 fixed[128];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 data)
{
  .reg .b32 %r<4>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [out];
  mov.b64 %d2, map;
  cvta.param.u64 %d3, %d2;
  mov.b64 %d4, fixed;
  prefetch.tensormap [%d3];
  prefetch.param.tensormap [%d2];
  prefetch.const.tensormap [%d4];
  mov.u32 %r1, 0;
  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d3, {%r1, %r1}];
  fence.proxy.alias;
  st.global.u32 [%d1], 42;
  ret;
}
)");
  kernel.arguments = {tensorMap(spec, 2), output(4), buffer(std::vector<uint16_t>(256))};
  EXPECT_EQ(runClean(kernel).get<uint32_t>(1)[0], 42u);
}
