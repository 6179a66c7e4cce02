// Addresses of variables and sums over entries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared memory of several entries, blocks of parameters, and what a built module says of its entries.
#include "Emulator/Program/Layout.h"
#include "Emulator/Program/Build.h"
#include "Emulator/Ptx/Parser.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::emu;

namespace {

ptx::Module parseText(const std::string &text) {
  ptx::Module module;
  Error error = ptx::parse(".version 8.0\n.target sm_90a\n.address_size 64\n" + text, module);
  EXPECT_FALSE(error) << error.getMessage();
  return module;
}

TEST(Layout, EntriesPayForWhatTheyReach) {
  ptx::Module module = parseText(".shared .align 16 .b8 a[100];\n.shared .b32 b;\n.shared .b8 unused[5000];\n"
                                 ".extern .shared .align 128 .b8 dynamic[];\n"
                                 ".func f() { .shared .b64 c; .reg .b32 %r; mov.b32 %r, c; ret; }\n"
                                 ".entry first() { .reg .b32 %r; mov.b32 %r, a; mov.b32 %r, dynamic; call f; ret; }\n"
                                 ".entry second() { .reg .b32 %r; mov.b32 %r, b; call f; ret; }\n"
                                 ".entry third() { .reg .b32 %r; mov.b32 %r, dynamic; ret; }\n");
  std::vector<Placement> globals(module.variables.size());
  ModuleLayout layout;
  ASSERT_FALSE(layOut(module, globals, layout));
  EXPECT_EQ(globals[0].offset, 0u);
  EXPECT_EQ(globals[1].offset, 0u); // no entry has both
  EXPECT_EQ(layout.functions[0].locals[0].offset, 104u);
  EXPECT_EQ(layout.entries[0].staticSharedBytes, 112u);
  EXPECT_EQ(layout.entries[1].staticSharedBytes, 112u);
  EXPECT_EQ(layout.entries[2].staticSharedBytes, 0u);
  EXPECT_EQ(globals[3].offset, 128u); // one address for all
  EXPECT_EQ(layout.entries[0].dynamicSharedOffset, 128u);
  EXPECT_EQ(layout.entries[1].dynamicSharedOffset, 112u);
  EXPECT_EQ(layout.entries[2].dynamicSharedOffset, 128u);
}

TEST(Layout, BlocksOfCallsShareBytes) {
  ptx::Module module = parseText(".func (.param .b32 r) f(.param .b32 a) { ret; }\n"
                                 ".entry k() {\n.local .align 8 .b8 x[12];\n.local .b8 y;\n.param .b32 all;\n"
                                 "{ .param .b32 a; .param .b32 b; call (b), f, (a); }\n"
                                 "{ .param .b32 c; { .param .b64 d; call (c), f, (d); } call (c), f, (c); }\n"
                                 ".param .b32 late;\ncall (all), f, (late);\nret;\n}\n");
  std::vector<Placement> globals;
  ModuleLayout layout;
  ASSERT_FALSE(layOut(module, globals, layout));
  const std::vector<Placement> &places = layout.functions[1].locals;
  ASSERT_EQ(places.size(), 8u);
  EXPECT_EQ(places[0].offset, 0u); // x
  EXPECT_EQ(places[1].offset, 12u);
  EXPECT_EQ(layout.functions[1].localBytes, 16u);
  EXPECT_EQ(places[2].offset, 0u);  // all
  EXPECT_EQ(places[7].offset, 4u);  // late: its block is never closed before it
  EXPECT_EQ(places[3].offset, 8u);  // a
  EXPECT_EQ(places[4].offset, 12u); // b
  EXPECT_EQ(places[5].offset, 8u);  // c
  EXPECT_EQ(places[6].offset, 16u); // d
  EXPECT_EQ(layout.functions[1].parameterBlockBytes, 32u);
  EXPECT_EQ(layout.functions[0].parameters[0].offset, 0u);
  EXPECT_EQ(layout.functions[0].returns[0].offset, 4u);
}

TEST(Layout, TooMuchIsRefused) {
  ptx::Module module = parseText(".entry k() { .local .b8 x[268435457]; ret; }\n");
  std::vector<Placement> globals;
  ModuleLayout layout;
  EXPECT_EQ(layOut(module, globals, layout).getMessage(),
            "4:25: \"x\" does not fit: variables in space .local of more than 268435456 bytes");
}

TEST(Layout, FunctionsInTablesAreReached) {
  ptx::Module module = parseText(".func f() { .shared .b32 c; .reg .b32 %r; mov.b32 %r, c; ret; }\n"
                                 ".global .u64 table[1] = {f};\n.entry k() { ret; }\n");
  std::vector<Placement> globals(1);
  ModuleLayout layout;
  ASSERT_FALSE(layOut(module, globals, layout));
  EXPECT_EQ(layout.entries[0].functions.size(), 2u);
  EXPECT_EQ(layout.entries[0].staticSharedBytes, 4u);
}

Outcome runNothing(Warp &, const Step &, LaneMask) { return Outcome::Next; }

uint32_t registersOf(const std::string &directives) {
  std::string text = ".entry k() " + directives + " {\n.reg .b64 %x<100>;\n";
  for (unsigned i = 0; i < 100; ++i)
    text += "mov.b64 %x" + std::to_string(i) + ", " + std::to_string(i) + ";\n";
  for (unsigned i = 1; i < 100; ++i)
    text += "add.u64 %x0, %x0, %x" + std::to_string(i) + ";\n";
  ptx::Module module = parseText(text + "ret;\n}\n");
  std::vector<Placement> globals;
  ModuleCode code;
  Error error = buildModule(module, globals, {runNothing, runNothing}, code);
  EXPECT_FALSE(error) << error.getMessage();
  return error ? 0 : code.functions[0].registersPerThread;
}

TEST(Build, RegistersAreThoseLiveAtOnceWithinTheLimits) {
  EXPECT_EQ(registersOf(""), 200u);
  EXPECT_EQ(registersOf(".maxnreg 96"), 96u);
  EXPECT_EQ(registersOf(".maxntid 384"), 168u);
  EXPECT_EQ(registersOf(".reqntid 256 .minnctapersm 2"), 128u);
}

} // namespace
