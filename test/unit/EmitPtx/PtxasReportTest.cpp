// Reports of ptxas as several versions print them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Ptxas.h"
#include <gtest/gtest.h>

using namespace weft::emit;

TEST(PtxasReport, ReadsEntriesInOrder) {
  PtxasReport report = parsePtxasReport(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k1' for 'sm_80'
ptxas info    : Function properties for k1
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 236 registers, used 1 barriers, 49152 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 77.522 ms
ptxas info    : Compiling entry function 'k0' for 'sm_80'
ptxas info    : Function properties for k0
    40 bytes stack frame, 32 bytes spill stores, 36 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 40 bytes cumulative stack size, 368 bytes cmem[0]
)");
  ASSERT_EQ(report.entries.size(), 2u);
  EXPECT_EQ(report.entries[0].name, "k1");
  EXPECT_EQ(report.entries[0].registers, 236u);
  EXPECT_EQ(report.entries[0].sharedBytes, 49152u);
  EXPECT_EQ(report.entries[0].barriers, 1u);
  EXPECT_FALSE(report.entries[0].hasProblem());
  EXPECT_EQ(report.entries[1].name, "k0");
  EXPECT_EQ(report.entries[1].registers, 24u);
  EXPECT_EQ(report.entries[1].stack, 40u);
  EXPECT_EQ(report.entries[1].spillStores, 32u);
  EXPECT_EQ(report.entries[1].spillLoads, 36u);
  EXPECT_TRUE(report.entries[1].hasProblem());
}

TEST(PtxasReport, AttributesLosses) {
  PtxasReport report = parsePtxasReport(
      R"(ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ... in the function 'k3'
ptxas info    : Compiling entry function 'k3' for 'sm_90a'
ptxas info    : Function properties for k3
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 16 barriers
)");
  ASSERT_EQ(report.losses.size(), 1u);
  EXPECT_EQ(report.losses[0], "C7508: Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register "
                              "count at entry.");
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].registers, 168u);
  ASSERT_EQ(report.entries[0].losses.size(), 1u);
  EXPECT_EQ(report.entries[0].losses[0].substr(0, 6), "C7515:");
}

TEST(PtxasReport, SkipsWhatItDoesNotKnow) {
  for (const char *text :
       {"", "\n\n", "ptxas info    : Used 12 registers", "    1 bytes stack frame, 2 bytes spill stores",
        "Compiling entry function '", "(C75", "Compiling entry function ''", "garbage\0more"}) {
    PtxasReport report = parsePtxasReport(text);
    EXPECT_TRUE(report.entries.empty()) << text;
  }
  PtxasReport report = parsePtxasReport("Compiling entry function 'k0' for 'sm_80'\nUsed x registers, used\n");
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].registers, 0u);
}
