// Launches that overlap.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// griddepcontrol.wait: a launch runs up to it while the grid in front has not begun, and goes on when that has ended.
// What a thread touches ahead of its own wait must be steady.
#include "AsyncTestCard.h"

#include <gmock/gmock.h>

using namespace weft::emu;
using namespace weft::emu::test;
using testing::HasSubstr;

namespace {

constexpr const char *kHead = R"(.version 8.0
.target sm_90a
.address_size 64
)";

/// out[t] = 2 w[t], without a wait.
constexpr const char *kWriter = R"(
.visible .entry writer(.param .u64 w, .param .u64 out) .reqntid 64 {
  .reg .u64 %w, %o, %d;
  .reg .u32 %t, %v;
  ld.param.u64 %w, [w];
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 4;
  add.u64 %w, %w, %d;
  add.u64 %o, %o, %d;
  ld.global.u32 %v, [%w];
  add.u32 %v, %v, %v;
  st.global.u32 [%o], %v;
  ret;
}
)";

/// out[t] = w[t] + x[t]; `early` and `late` stand ahead of the wait and behind it. W1 and X1 are the loads.
std::string makeReader(const std::string &early, const std::string &late) {
  return std::string(kHead) + kWriter + R"(
.visible .entry reader(.param .u64 w, .param .u64 x, .param .u64 out) .reqntid 64 {
  .reg .u64 %w, %x, %o, %d;
  .reg .u32 %t, %a, %b, %s;
  .reg .pred %p;
  .shared .align 16 .b32 staged[64];
  ld.param.u64 %w, [w];
  ld.param.u64 %x, [x];
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d, %t, 4;
  add.u64 %w, %w, %d;
  add.u64 %x, %x, %d;
  add.u64 %o, %o, %d;
  mov.u32 %s, staged;
  mad.lo.u32 %s, %t, 4, %s;
)" + early +
         "\n  griddepcontrol.wait;\n" + late + R"(
  add.u32 %a, %a, %b;
  st.global.u32 [%o], %a;
  ret;
}
)";
}

/// A program of `writer` and `reader`, which starts while the writer has not begun.
class EarlyLaunchTest : public testing::Test {
protected:
  EarlyLaunchTest() {
    for (uint32_t i = 0; i < 64; ++i)
      weights.push_back(100 + i);
    w = card.upload(weights);
    x = card.upload(std::vector<uint32_t>(64, 7)); // What a read that comes too early sees.
    out = card.allocate(256);
  }

  LaunchSpec makeSpec(uint32_t module, const char *entry, const Arguments &arguments) const {
    LaunchSpec spec;
    spec.module = module;
    spec.entry = entry;
    spec.block = {64, 1, 1};
    spec.parameters = arguments.get().data();
    spec.parameterBytes = arguments.get().size();
    return spec;
  }

  /// Runs both, the reader's early part first.
  void run(const std::string &ptx) {
    uint32_t module = 0;
    weft::bundle::Error error = card.emulator->load(ptx, "test.ptx", module);
    ASSERT_FALSE(error) << error.getMessage();
    Arguments ofWriter, ofReader;
    ofWriter.add(w).add(x);
    ofReader.add(w).add(x).add(out);
    LaunchSpec spec = makeSpec(module, "reader", ofReader);
    spec.steady = {{w, 256}};
    std::unique_ptr<EarlyLaunch> reader;
    ASSERT_FALSE(card.emulator->prepare(spec, reader));
    error = reader->begin();
    ASSERT_FALSE(error) << error.getMessage();
    LaunchResult written;
    ASSERT_FALSE(card.emulator->launch(makeSpec(module, "writer", ofWriter), written));
    error = reader->finish();
    ASSERT_FALSE(error) << error.getMessage();
    card.result = std::move(reader->result);
  }

  AsyncTestCard card;
  std::vector<uint32_t> weights;
  uint64_t w = 0, x = 0, out = 0;
};

TEST_F(EarlyLaunchTest, SteadyAheadTransientsBehind) {
  run(makeReader("  ld.global.nc.u32 %a, [%w];", "  ld.global.u32 %b, [%x];"));
  EXPECT_EQ(card.findings(), "");
  std::vector<uint32_t> got = card.download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], 3 * weights[i]) << i;
}

/// The read is found, and sees what was there before.
TEST_F(EarlyLaunchTest, TransientReadAhead) {
  run(makeReader("  ld.global.u32 %b, [%x];", "  ld.global.u32 %a, [%w];"));
  EXPECT_TRUE(card.hasFinding("early-access")) << card.findings();
  EXPECT_THAT(card.findings(), HasSubstr("reads global memory"));
  EXPECT_EQ(card.download<uint32_t>(out, 64)[0], 107u);
}

TEST_F(EarlyLaunchTest, TransientWrittenAhead) {
  run(makeReader("  st.global.u32 [%o], %t;\n  ld.global.u32 %a, [%w];", "  ld.global.u32 %b, [%x];"));
  EXPECT_TRUE(card.hasFinding("early-access")) << card.findings();
  EXPECT_THAT(card.findings(), HasSubstr("writes global memory"));
}

/// A copy counts for the thread that issued it, when it issued it.
TEST_F(EarlyLaunchTest, CopyIssuedAhead) {
  const char *behind = R"(
  cp.async.wait_all;
  ld.shared.u32 %b, [%s];
  ld.global.u32 %a, [%w];)";
  run(makeReader("  cp.async.ca.shared.global [%s], [%x], 4;", behind));
  EXPECT_TRUE(card.hasFinding("early-access")) << card.findings();
  EXPECT_THAT(card.findings(), HasSubstr("the asynchronous operation reads"));
  run(makeReader("  cp.async.ca.shared.global [%s], [%w], 4;",
                 "  cp.async.wait_all;\n  ld.shared.u32 %a, [%s];\n  ld.global.u32 %b, [%x];"));
  EXPECT_EQ(card.findings(), "");
}

/// Each thread waits for itself: a barrier behind another one's wait is not enough.
TEST_F(EarlyLaunchTest, EachThreadWaits) {
  std::string ptx = makeReader("  setp.ge.u32 %p, %t, 32;\n  @%p bra behind;",
                               "behind:\n  bar.sync 0;\n"
                               "  ld.global.u32 %a, [%w];\n  ld.global.u32 %b, [%x];");
  run(ptx);
  ASSERT_TRUE(card.hasFinding("early-access")) << card.findings();
  EXPECT_EQ(card.result.findings[0].thread.x, 32u);
}

/// Without knowledge of what is steady nothing is looked for.
TEST_F(EarlyLaunchTest, UnknownIsNotLookedFor) {
  std::string ptx = makeReader("  ld.global.u32 %b, [%x];", "  ld.global.u32 %a, [%w];");
  Arguments arguments;
  arguments.add(w).add(x).add(out);
  card.launch(ptx, "reader", {{1, 1, 1}, {64, 1, 1}}, arguments, {});
  EXPECT_FALSE(card.error) << card.error.getMessage();
  EXPECT_EQ(card.findings(), "");
}

} // namespace
