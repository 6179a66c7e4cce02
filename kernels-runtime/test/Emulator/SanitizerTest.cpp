// Every finding, and the twin that has none.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pair of kernels is one text: lines that begin with '-' are in the faulty one only, those with '+' in its twin only,
// and `//!` marks the line that the finding must name. Both run with several seeds, timings and interleavings.
#include "KernelHarness.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace weft::emu;
using namespace weft::emu::test;

namespace {

std::string listFindings(const std::vector<Finding> &findings) {
  std::string text;
  for (const Finding &finding : findings)
    text += finding.kind + ": " + finding.message + "\n";
  return text;
}

struct Pair {
  const char *name;
  const char *kind;
  const char *body;
  int thread = -1;       ///< %tid.x of the finding; -1: not looked at.
  int64_t address = -1;  ///< likewise
  const char *says = ""; ///< What the message has to contain.
  bool isError = false;  ///< The launch fails, too.
  uint32_t threads = 64;
};

void PrintTo(const Pair &pair, std::ostream *stream) { *stream << pair.name; }

/// %r1 is the thread, %r2 four times that, %r3 the address of `s` (at offset 0 of shared memory), %r4 = %r3 + %r2, %rd1
/// and %rd2 the buffers, %rd3 = %rd2 + %r2. What is in %r9 at the end is stored.
const char *kHead = R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<9>;
  .reg .b16 %h<9>;
  .reg .b32 %r<20>;
  .reg .f32 %f<20>;
  .reg .b64 %rd<20>;
  .shared .align 1024 .b8 s[8192];
  .shared .align 8 .b8 bar[64];
  .local .align 16 .b8 l[64];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, s;
  add.u32 %r4, %r3, %r2;
  cvt.u64.u32 %rd4, %r2;
  add.s64 %rd3, %rd2, %rd4;
  mov.u32 %r8, bar;
  mov.u32 %r9, 0;
)";
const char *kTail = R"(
  st.global.u32 [%rd3], %r9;
  ret;
}
)";

/// The text of one of the two kernels; `line` is that of the mark, 0 without one.
std::string textOf(const Pair &pair, bool isFaulty, uint32_t &line) {
  std::string body;
  std::string rest = std::string(kHead) + pair.body + kTail;
  for (size_t begin = 0; begin < rest.size();) {
    size_t end = rest.find('\n', begin);
    std::string one = rest.substr(begin, end - begin);
    begin = end + 1;
    if (!one.empty() && (one[0] == '-' || one[0] == '+')) {
      if ((one[0] == '-') != isFaulty)
        continue;
      one[0] = ' ';
    }
    body += one + "\n";
  }
  std::string text = module(body);
  size_t mark = text.find("//!");
  line = mark == std::string::npos ? 0 : 1 + uint32_t(std::count(text.begin(), text.begin() + long(mark), '\n'));
  return text;
}

KernelCase caseOf(const Pair &pair, bool isFaulty, uint32_t &line) {
  KernelCase kernel;
  kernel.ptx = textOf(pair, isFaulty, line);
  kernel.block.x = pair.threads;
  kernel.arguments = {buffer(std::vector<uint32_t>(2048, 7)), output(pair.threads * 4)};
  return kernel;
}

const Pair kPairs[] = {
    {"ReadWriteRace", "shared-race", R"(
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r1, 40;
  setp.eq.u32 %p3, %r1, 3;
  @%p1 st.shared.u32 [%r3], %r1;
  bar.sync 0;
  @%p2 st.shared.u32 [%r3], %r1;
+  bar.sync 0;
  @%p3 ld.shared.u32 %r9, [%r3]; //!
)",
     3, 0, "by warp 1, lane 8, writes it"},
    {"WriteWriteRace", "shared-race", R"(
  setp.eq.u32 %p2, %r1, 40;
  setp.eq.u32 %p3, %r1, 3;
  @%p2 st.shared.u32 [%r3+64], %r1;
+  bar.sync 0;
  @%p3 st.shared.u32 [%r3+64], %r1; //!
)",
     3, 64, "by warp 1, lane 8, writes it"},
    {"AtomicAndStore", "shared-race", R"(
  setp.eq.u32 %p2, %r1, 40;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.u32 [%r3+8], %r1;
  bar.sync 0;
  red.shared.add.u32 [%r3+8], 1;
-  @%p2 st.shared.u32 [%r3+8], %r1; //!
+  @%p2 red.shared.add.u32 [%r3+8], %r1;
)",
     40, 8, "by warp 0"},
    {"LanesOfAWarp", "shared-race", R"(
  st.shared.u32 [%r4], %r1;
  bar.sync 0;
  and.b32 %r5, %r1, 31;
  setp.lt.u32 %p1, %r5, 16;
  xor.b32 %r6, %r4, 64;
  @%p1 bra LOW;
-  ld.shared.u32 %r9, [%r6]; //!
  bra.uni JOIN;
LOW:
  st.shared.u32 [%r4], %r9;
JOIN:
+  bar.warp.sync 0xffffffff;
+  ld.shared.u32 %r9, [%r6];
)",
     -1, -1, "neither synchronised nor converged"},
    {"HalvesOfAWord", "shared-race", R"(
  shl.b32 %r5, %r1, 1;
  add.u32 %r5, %r5, %r3;
  cvt.u16.u32 %h1, %r1;
  st.shared.u16 [%r5], %h1;
+  bar.sync 0;
  xor.b32 %r6, %r5, 64;
-  st.shared.u16 [%r6], %h1; //!
+  ld.shared.u16 %h2, [%r6];
)",
     -1, -1, "writes it"},
    {"SharedUninitialised", "uninitialised-shared", R"(
+  st.shared.u32 [%r4+256], %r1;
  setp.eq.u32 %p1, %r1, 33;
  @%p1 ld.shared.u32 %r9, [%r4+256]; //!
)",
     33, 256 + 33 * 4, "nothing has written"},
    {"GlobalUninitialised", "uninitialised-global", R"(
+  st.global.u32 [%rd3], %r1;
  setp.eq.u32 %p1, %r1, 34;
  @%p1 ld.global.u32 %r9, [%rd3]; //!
)",
     34, -1, "nothing has written"},
    {"LocalUninitialised", "uninitialised-local", R"(
+  st.local.u32 [l+4], %r1;
  setp.eq.u32 %p1, %r1, 35;
  @%p1 ld.local.u32 %r9, [l+4]; //!
)",
     35, -1, "has not written"},
    {"RegisterUninitialised", "uninitialised-register", R"(
  setp.eq.u32 %p1, %r1, 33;
+  mov.u32 %r12, 5;
  @!%p1 bra DONE;
  add.u32 %r9, %r12, 1; //!
  mov.u32 %r12, 6;
DONE:
  @%p1 mov.u32 %r13, 7;
  add.u32 %r14, %r13, 1;
)",
     33, -1, "nothing has written"},
    {"HalfOfAWordUninitialised", "uninitialised-register", R"(
  cvt.u16.u32 %h1, %r1;
  mov.b32 %r12, {%h1, %h2};
  mov.b32 {%h3, %h4}, %r12;
+  cvt.u32.u16 %r9, %h3;
-  cvt.u32.u16 %r9, %h4; //!
)",
     -1, -1, "nothing has written"},
    {"QuarterOfAWordUninitialised", "uninitialised-register", R"(
  cvt.u16.u32 %h1, %r1;
  mov.b32 %r12, {%h1, %h1};
  mov.b64 %rd5, {%r12, %r13};
  mov.b64 {%h3, %h4, %h5, %h6}, %rd5;
  mov.b32 %r14, {%h4, %h5};
-  mov.u32 %r9, %r14; //!
+  mov.b32 {%h7, _}, %r14;
+  cvt.u32.u16 %r9, %h7;
)",
     -1, -1, "nothing has written"},
    {"WordOfNothingUninitialised", "uninitialised-register", R"(
-  mov.b32 %r12, {%h1, %h2}; //!
+  mov.b32 %r12, {0, %h2};
  mov.b32 {%h3, %h4}, %r12;
  cvt.u32.u16 %r9, %h3;
)",
     -1, -1, "nothing has written"},
    {"ByteOfNothingUninitialised", "uninitialised-register", R"(
+  prmt.b32 %r9, %r1, %r13, 0x1010;
+  prmt.b32 %r9, %r13, %r1, 0x7654;
-  prmt.b32 %r9, %r1, %r13, 0x1014; //!
)",
     -1, -1, "nothing has written"},
    {"GlobalOutOfBounds", "out-of-bounds", R"(
  setp.eq.u32 %p1, %r1, 36;
-  @%p1 ld.global.u32 %r9, [%rd1+8192]; //!
+  @%p1 ld.global.u32 %r9, [%rd1+8188];
)",
     36, -1, "past the end", true},
    {"SharedOutOfBounds", "out-of-bounds", R"(
  setp.eq.u32 %p1, %r1, 36;
-  @%p1 st.shared.u32 [%r3+100000], %r1; //!
+  @%p1 st.shared.u32 [%r3+1000], %r1;
)",
     36, -1, "out of bounds", true},
    {"Misaligned", "misaligned", R"(
  setp.eq.u32 %p1, %r1, 37;
-  @%p1 ld.global.v2.u32 {%r9, %r10}, [%rd1+4]; //!
+  @%p1 ld.global.v2.u32 {%r9, %r10}, [%rd1+8];
)",
     37, -1, "multiple of 8", true},
    {"CopyAsyncNotWaited", "async-overlap", R"(
  shl.b32 %r5, %r1, 4;
  add.u32 %r6, %r3, %r5;
  cvt.u64.u32 %rd5, %r5;
  add.s64 %rd5, %rd1, %rd5;
  st.shared.u32 [%r6], %r1;
  bar.sync 0;
  cp.async.ca.shared.global [%r6], [%rd5], 16;
  cp.async.commit_group;
+  cp.async.wait_group 0;
  ld.shared.u32 %r9, [%r6]; //!
  cp.async.wait_all;
)",
     -1, -1, "the asynchronous operation cp.async"},
    {"CopyAsyncOfAnotherWarp", "async-overlap", R"(
  shl.b32 %r5, %r1, 4;
  add.u32 %r6, %r3, %r5;
  cvt.u64.u32 %rd5, %r5;
  add.s64 %rd5, %rd1, %rd5;
  st.shared.u32 [%r6], %r1;
  bar.sync 0;
  cp.async.ca.shared.global [%r6], [%rd5], 16;
  cp.async.wait_all;
+  bar.sync 0;
  xor.b32 %r7, %r6, 512;
  ld.shared.u32 %r9, [%r7]; //!
)",
     -1, -1, "issued by warp"},
    {"BulkLoadNotWaited", "async-overlap", R"(
  setp.eq.u32 %p1, %r1, 0;
  @!%p1 bra READY;
  st.shared.u32 [%r3], %r1;
  mbarrier.init.shared.b64 [%r8], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r8], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 1024, [%r8];
READY:
  bar.sync 0;
-  setp.eq.u32 %p3, %r1, 40;
-  @%p3 ld.shared.u32 %r9, [%r3]; //!
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r8], 0;
  @!%p2 bra WAIT;
+  ld.shared.u32 %r9, [%r4];
)",
     40, 0, "the asynchronous operation cp.async.bulk"},
    {"BulkStoreWithoutFence", "missing-proxy-fence", R"(
  setp.eq.u32 %p1, %r1, 0;
  st.shared.u32 [%r4], %r1;
+  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p1 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 256; //!
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group.read 0;
DONE:
)",
     0, -1, "no fence.proxy.async"},
    {"BulkStoreSourceOverwritten", "async-overlap", R"(
  setp.eq.u32 %p1, %r1, 0;
  st.shared.u32 [%r4], %r1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @!%p1 bra DONE;
  cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 256;
  cp.async.bulk.commit_group;
+  cp.async.bulk.wait_group.read 0;
  st.shared.u32 [%r3], %r1; //!
  cp.async.bulk.wait_group 0;
DONE:
)",
     0, 0, "reads it"},
    {"MbarrierInitUnordered", "mbarrier-init-order", R"(
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r1, 32;
  @%p1 mbarrier.init.shared.b64 [%r8], 1;
  @%p1 st.volatile.shared.u32 [%r3], 1;
  setp.lt.u32 %p3, %r1, 32;
-  @%p3 bra DONE;
-POLL:
-  atom.relaxed.cta.shared.or.b32 %r5, [%r3], 0;
-  setp.ne.u32 %p4, %r5, 1;
-  @%p4 bra POLL;
+  bar.sync 0;
  @%p2 mbarrier.arrive.shared.b64 %rd5, [%r8]; //!
DONE:
)",
     32, -1, "not ordered before"},
    {"MbarrierInitNotFenced", "mbarrier-init-order", R"(
  setp.eq.u32 %p1, %r1, 0;
  @!%p1 bra READY;
  mbarrier.init.shared.b64 [%r8], 1;
+  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r8], 1024;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 1024, [%r8]; //!
READY:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r8], 0;
  @!%p2 bra WAIT;
)",
     0, -1, "neither fence.mbarrier_init"},
    {"FlagInSharedMemory", "shared-race", R"(
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.u32 [%r3], 0;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra PRODUCE;
POLL:
+  ld.acquire.cta.shared.u32 %r5, [%r3];
-  ld.relaxed.cta.shared.u32 %r5, [%r3];
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra POLL;
  ld.shared.u32 %r9, [%r3+16]; //!
  bra.uni DONE;
PRODUCE:
  @!%p1 bra DONE;
  st.shared.u32 [%r3+16], 5;
  st.release.cta.shared.u32 [%r3], 1;
DONE:
)",
     -1, 16, "by warp 0, lane 0, writes it"},
    {"FenceAndFlag", "shared-race", R"(
  setp.eq.u32 %p1, %r1, 0;
  @%p1 st.shared.u32 [%r3], 0;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra PRODUCE;
POLL:
  ld.volatile.shared.u32 %r5, [%r3];
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra POLL;
  membar.cta;
  ld.shared.u32 %r9, [%r3+16]; //!
  bra.uni DONE;
PRODUCE:
  @!%p1 bra DONE;
  st.shared.u32 [%r3+16], 5;
+  membar.cta;
  st.volatile.shared.u32 [%r3], 1;
DONE:
)",
     -1, 16, "writes it"},
    {"NamedBarrier", "shared-race", R"(
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra PRODUCE;
  bar.sync 1, 64;
+  ld.shared.u32 %r9, [%r4+-128];
  bra.uni DONE;
PRODUCE:
  st.shared.u32 [%r4], %r1;
  bar.arrive 1, 64;
-  st.shared.u32 [%r4], %r2;
DONE:
-  setp.ge.u32 %p3, %r1, 32;
-  @%p3 st.shared.u32 [%r4+-128], %r1; //!
)",
     -1, -1, ""},
    {"MbarrierPipeline", "shared-race", R"(
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared.b64 [%r8], 32;
  bar.sync 0;
  setp.lt.u32 %p2, %r1, 32;
  @%p2 bra PRODUCE;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r8], 0;
  @!%p3 bra WAIT;
  ld.shared.u32 %r9, [%r4+-128]; //!
  bra.uni DONE;
PRODUCE:
+  st.shared.u32 [%r4], %r1;
  mbarrier.arrive.shared.b64 %rd5, [%r8];
-  st.shared.u32 [%r4], %r1;
DONE:
)",
     -1, -1, "writes it"},
    {"BarrierDivergence", "barrier-divergence", R"(
  and.b32 %r5, %r1, 31;
  setp.lt.u32 %p1, %r5, 16;
-  @%p1 bra LOW;
-  barrier.sync.aligned 0;
-  bra.uni JOIN;
-LOW:
-  barrier.sync.aligned 0;
-JOIN:
+  bar.sync 0;
)",
     -1, -1, "", true},
    {"Deadlock", "deadlock", R"(
  setp.lt.u32 %p1, %r1, 32;
-  @%p1 bra DONE;
  bar.sync 0, 64; //!
DONE:
)",
     -1, -1, "no warp can ever go on", true},
};

class SanitizerPairs : public testing::TestWithParam<Pair> {};

TEST_P(SanitizerPairs, FaultIsFound) {
  const Pair &pair = GetParam();
  uint32_t line = 0;
  KernelCase kernel = caseOf(pair, /*isFaulty=*/true, line);
  kernel.isDumped = false;
  for (AsyncTiming timing : {AsyncTiming::Random, AsyncTiming::Early, AsyncTiming::Late})
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      kernel.options.timing = timing;
      kernel.options.seed = seed;
      KernelResult result = run(kernel);
      EXPECT_EQ(bool(result.error), pair.isError) << result.error.getMessage();
      const Finding *found = nullptr;
      for (const Finding &finding : result.launch.findings)
        if (finding.kind == pair.kind && (line == 0 || finding.line == line) && !found)
          found = &finding;
      ASSERT_TRUE(found) << pair.kind << " expected at line " << line << ", seed " << seed << ", timing " << int(timing)
                         << ": " << listFindings(result.launch.findings) << result.error.getMessage();
      EXPECT_NE(found->message.find(pair.says), std::string::npos) << found->message;
      EXPECT_NE(found->message.find("kernel k"), std::string::npos) << found->message;
      if (pair.thread >= 0)
        EXPECT_EQ(found->thread.x, uint32_t(pair.thread)) << found->message;
      if (pair.address >= 0)
        EXPECT_EQ(found->address, uint64_t(pair.address)) << found->message;
      EXPECT_GE(found->count, 1u);
    }
}

TEST_P(SanitizerPairs, TwinIsClean) {
  uint32_t line = 0;
  KernelCase kernel = caseOf(GetParam(), /*isFaulty=*/false, line);
  kernel.arguments[1].isCompared = false;
  runAllWays(kernel);
}

INSTANTIATE_TEST_SUITE_P(All, SanitizerPairs, testing::ValuesIn(kPairs),
                         [](const testing::TestParamInfo<Pair> &info) { return std::string(info.param.name); });

/// The registers of wgmma: two tiles of zeros without a swizzle.
const char *kWgmma = R"(
  st.shared.u32 [%r4], %r9;
  st.shared.u32 [%r4+512], %r9;
  st.shared.u32 [%r4+1024], %r9;
  st.shared.u32 [%r4+1536], %r9;
  st.shared.u32 [%r4+2048], %r9;
  st.shared.u32 [%r4+2560], %r9;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.f32 %f0, 0f00000000;
  mov.f32 %f1, 0f00000000;
  mov.f32 %f2, 0f00000000;
  mov.f32 %f3, 0f00000000;
  shr.u32 %r5, %r3, 4;
  cvt.u64.u32 %rd5, %r5;
  or.b64 %rd5, %rd5, 0x0000000800080000;
  setp.eq.u32 %p1, %r9, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd5, %rd5, %p1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
+  wgmma.wait_group.sync.aligned 0;
-  add.f32 %f5, %f0, %f1; //!
-  wgmma.wait_group.sync.aligned 0;
+  add.f32 %f5, %f0, %f1;
  mov.b32 %r9, %f5;
)";
INSTANTIATE_TEST_SUITE_P(Wgmma, SanitizerPairs,
                         testing::Values(Pair{"AccumulatorReadEarly", "wgmma-registers", kWgmma, -1, -1,
                                              "wgmma.wait_group covers it", false, 128}),
                         [](const testing::TestParamInfo<Pair> &info) { return std::string(info.param.name); });

/// Two CTAs of a cluster: rank 1 writes into the shared memory of rank 0, which reads it.
const char *kCluster = R"(
  mov.u32 %r5, %cluster_ctarank;
  st.shared.u32 [%r4], %r1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.eq.u32 %p1, %r5, 0;
  mapa.shared::cluster.u32 %r6, %r4, 0;
  @!%p1 st.shared::cluster.u32 [%r6], %r5;
+  barrier.cluster.arrive.release.aligned;
-  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p1 ld.shared.u32 %r9, [%r4]; //!
  setp.eq.u32 %p2, %r1, 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
)";

/// Both CTAs make an mbarrier, meet without order, and rank 1 sends to rank 0 by st.async: what arrives is there when
/// rank 0 has waited for its bytes.
const char *kSent = R"(
  mov.u32 %r5, %cluster_ctarank;
  setp.eq.u32 %p1, %r5, 0;
  setp.eq.u32 %p2, %r1, 0;
  @%p2 mbarrier.init.shared.b64 [%r8], 1;
  @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 256;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r6, %r4, 0;
  mapa.shared::cluster.u32 %r7, %r8, 0;
  @!%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6], %r5, [%r7];
  @!%p1 bra DONE;
-  ld.shared.u32 %r9, [%r4]; //!
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r8], 0;
  @!%p3 bra WAIT;
+  ld.shared.u32 %r9, [%r4];
DONE:
)";

/// The same meeting, whose relaxed arrival carries nothing but mbarriers that a fence has published.
const char *kMeeting = R"(
  mov.u32 %r5, %cluster_ctarank;
  setp.eq.u32 %p2, %r1, 0;
  setp.eq.u32 %p1, %r5, 0;
  @%p2 mbarrier.init.shared.b64 [%r8], 2;
+  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %r7, %r8, 0;
  @%p2 mbarrier.arrive.shared::cluster.b64 _, [%r7]; //!
  @!%p1 bra DONE;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r8], 0;
  @!%p3 bra WAIT;
DONE:
)";

class ClusterPairs : public testing::TestWithParam<Pair> {};

TEST_P(ClusterPairs, FindsTheFault) {
  const Pair &pair = GetParam();
  uint32_t line = 0;
  for (bool isFaulty : {true, false}) {
    KernelCase kernel = caseOf(pair, isFaulty, line);
    kernel.grid.x = kernel.cluster.x = 2;
    kernel.arguments[1].isCompared = false; // Both CTAs store their own.
    kernel.isDumped = false;
    if (!isFaulty) {
      runAllWays(kernel);
      continue;
    }
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      kernel.options.seed = seed;
      KernelResult result = run(kernel);
      EXPECT_FALSE(result.error) << result.error.getMessage();
      const std::vector<Finding> &findings = result.launch.findings; // What is not ordered may not be there either.
      EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const Finding &finding) {
        return finding.kind == pair.kind && finding.line == line;
      })) << listFindings(findings);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Cluster, ClusterPairs,
                         testing::Values(Pair{"RelaxedArrival", "shared-race", kCluster},
                                         Pair{"SentAndNotWaitedFor", "async-overlap", kSent},
                                         Pair{"UnpublishedMbarrier", "mbarrier-init-order", kMeeting}),
                         [](const testing::TestParamInfo<Pair> &info) { return std::string(info.param.name); });

TEST(Sanitizer, UseAfterFree) {
  std::unique_ptr<Emulator> emulator;
  ASSERT_FALSE(Emulator::create("H100", emulator));
  LaunchSpec spec;
  uint32_t line = 0;
  Pair pair = {"", "", "  ld.global.u32 %r9, [%rd1]; //!\n"};
  ASSERT_FALSE(emulator->load(textOf(pair, true, line), "free.ptx", spec.module));
  uint64_t addresses[2];
  ASSERT_FALSE(emulator->allocate(256, addresses[0]));
  ASSERT_FALSE(emulator->allocate(256, addresses[1]));
  ASSERT_FALSE(emulator->write(addresses[0], std::vector<char>(256).data(), 256));
  spec.entry = "k";
  spec.block.x = 32;
  spec.parameters = addresses;
  spec.parameterBytes = sizeof(addresses);
  LaunchResult result;
  ASSERT_FALSE(emulator->launch(spec, result));
  EXPECT_TRUE(result.findings.empty());
  ASSERT_FALSE(emulator->free(addresses[0]));
  EXPECT_TRUE(emulator->launch(spec, result));
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].kind, "use-after-free");
  EXPECT_EQ(result.findings[0].line, line);
  EXPECT_EQ(result.findings[0].address, addresses[0]);
}

TEST(Sanitizer, StopsAtTheFirstFinding) {
  uint32_t line = 0;
  KernelCase kernel = caseOf(kPairs[0], true, line);
  kernel.isDumped = false;
  kernel.options.stopsAtFinding = true;
  KernelResult result = run(kernel);
  EXPECT_TRUE(result.error);
  EXPECT_EQ(result.launch.findings.size(), 1u);
  kernel.options.isSanitized = false;
  result = run(kernel);
  EXPECT_FALSE(result.error);
  EXPECT_TRUE(result.launch.findings.empty());
}

} // namespace
