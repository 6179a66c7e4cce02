// The signatures in a PTX text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of parameters, in the forms that compilers write and in texts that are none.
#include "Gpu/PtxEntries.h"
#include "TestBundles.h"

#include <gtest/gtest.h>

using namespace weft;
using Counts = std::map<std::string_view, unsigned>;

static Counts countParameters(std::string_view ptx) {
  Counts counts;
  for (const auto &[name, entry] : scanPtxEntries(ptx))
    counts[name] = entry.parameters;
  return counts;
}

TEST(PtxEntries, CountsParameters) {
  EXPECT_EQ(countParameters(test::makeAddPtx("sm_80")), (Counts{{"k0", 4}}));
  EXPECT_EQ(countParameters(R"(.version 8.0
.visible .entry k12(
	.param .u64 .ptr .align 1 k12_param_0, // .param .u64 old,
	.param .u64 k12_param_1, /* ) .param
  */
	.param .align 64 .b8 k12_param_2[128]
)
.maxntid 128, 1, 1
{
	ld.param.u64 %rd1, [k12_param_0];
	{ .param .b64 p0; call (r), f, (p0); }
}
.entry k3() { ret; }
.visible .entry k4 { ret; }
.visible .func f(.param .b32 x) { ret; }
// .entry k5(.param .u64 x)
)"),
            (Counts{{"k12", 3}, {"k3", 0}, {"k4", 0}}));
}

TEST(PtxEntries, SaysNothingOfWhatIsBroken) {
  for (const char *text : {"", ".entry", ".entry k0", ".entry k0(", ".entry k0(.param .u64 x", "/* .entry k0()", "//",
                           "/", ".entryk0(.param)"})
    EXPECT_EQ(countParameters(text), Counts()) << text;
}

TEST(PtxEntries, FindsTheWait) {
  auto entries = scanPtxEntries(R"(
.entry k0() { griddepcontrol.launch_dependents; griddepcontrol.wait; ret; }
.entry k1() { griddepcontrol.launch_dependents; ret; } // griddepcontrol.wait
.func f() { griddepcontrol.wait; ret; }
.entry k2(.param .u64 x) { call f; ret; })");
  EXPECT_EQ(entries.size(), 3u);
  EXPECT_TRUE(entries["k0"].waitsForGrids);
  EXPECT_FALSE(entries["k1"].waitsForGrids);
  EXPECT_FALSE(entries["k2"].waitsForGrids);
  EXPECT_EQ(entries["k2"].parameters, 1u);
}

TEST(PtxEntries, TellsTheVersion) {
  EXPECT_EQ(getPtxVersion("//\n// Generated\n//\n\n.version 8.6\n.target sm_90a"), "8.6");
  EXPECT_EQ(getPtxVersion(".target sm_90a"), "");
  EXPECT_EQ(getPtxVersion(""), "");
}

TEST(PtxEntries, FindsVariables) {
  EXPECT_TRUE(hasGlobalVariables(".version 8.0\n.global .align 128 .b8 k0_counters[256];\n.entry k0() { ret; }"));
  EXPECT_TRUE(hasGlobalVariables(".visible .global .u32 x;"));
  EXPECT_FALSE(
      hasGlobalVariables(".const .u32 x = 1; // .global .u32 y;\n.entry k0(.param .u64 .ptr .global .align 1 a) "
                         "{ ld.global.u32 r1, [d1]; cp.async.ca.shared.global [r2], [d3], 4; }"));
  EXPECT_FALSE(hasGlobalVariables(""));
}
