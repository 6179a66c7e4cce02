// Barriers, clusters, deadlocks and divergence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelHarness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace weft::emu;
using namespace weft::emu::test;
using testing::HasSubstr;

static std::string kernelOf(const std::string &body, const std::string &directives = "",
                            const std::string &target = "sm_90a") {
  return module(R"(
.shared .align 16 .b8 s[8192];
.visible .entry k(.param .u64 out) )" +
                    directives + R"(
{
  .reg .pred %p<8>;
  .reg .b32 %r<32>;
  .reg .b64 %d<8>;
  .reg .b64 %o;
  .reg .b32 %t, %w, %c;
  ld.param.u64 %o, [out];
  mov.u32 %t, %tid.x;
  shr.u32 %w, %t, 5;
  mov.u32 %c, %ctaid.x;
  mov.u32 %r30, %ntid.x;
  mad.lo.u32 %r30, %c, %r30, %t;
  mad.wide.u32 %o, %r30, 4, %o;
)" + body + "\n  ret;\n}\n",
                "8.0", target);
}

static KernelCase caseOf(const std::string &body, uint32_t threads, uint32_t ctas = 1,
                         const std::string &directives = "") {
  KernelCase kernel;
  kernel.ptx = kernelOf(body, directives);
  kernel.grid.x = ctas;
  kernel.block.x = threads;
  kernel.arguments = {output(size_t(threads) * ctas * 4)};
  return kernel;
}

TEST(Barrier, ExchangeThroughShared) {
  // Every thread gives its number to the thread at the mirrored index, in both directions, in 20 rounds.
  KernelCase kernel = caseOf(R"(
  mov.u32 %r1, %t;
  mov.u32 %r2, s;
  mad.lo.u32 %r3, %t, 4, %r2;
  mov.u32 %r4, %ntid.x;
  sub.u32 %r5, %r4, %t;
  sub.u32 %r5, %r5, 1;
  mad.lo.u32 %r5, %r5, 4, %r2;
  mov.u32 %r6, 0;
round:
  st.shared.u32 [%r3], %r1;
  bar.sync 0;
  ld.shared.u32 %r1, [%r5];
  barrier.sync 1;
  add.u32 %r1, %r1, %r6;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 20;
  @%p1 bra round;
  st.global.u32 [%o], %r1;)",
                             200);
  std::vector<uint32_t> out = runAllWays(kernel).get<uint32_t>(0);
  for (uint32_t i = 0; i < 200; ++i)
    EXPECT_EQ(out[i], i + 190);
}

TEST(Barrier, NamedProducerConsumer) {
  // Warp 0 produces, warps 1 and 2 consume; the barriers count 96 threads, and arrive does not wait.
  KernelCase kernel = caseOf(R"(
  setp.eq.u32 %p1, %w, 0;
  mov.u32 %r1, 0;
  mov.u32 %r2, 0;
  @%p1 bra producer;
consumer:
  bar.sync 1, 96;
  ld.shared.u32 %r3, [s];
  add.u32 %r2, %r2, %r3;
  barrier.cta.arrive.aligned 2, 96;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 10;
  @%p2 bra consumer;
  bra done;
producer:
  mul.lo.u32 %r3, %r1, %r1;
  st.shared.u32 [s], %r3;
  bar.arrive 1, 96;
  barrier.cta.sync.aligned 2, 96;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 10;
  @%p2 bra producer;
done:
  st.global.u32 [%o], %r2;)",
                             96);
  kernel.options.isSanitized = false; // All lanes of the producer store one value.
  std::vector<uint32_t> out = runAllWays(kernel).get<uint32_t>(0);
  for (uint32_t i = 0; i < 96; ++i)
    EXPECT_EQ(out[i], i < 32 ? 0u : 285u);
}

TEST(Barrier, Reductions) {
  KernelCase kernel = caseOf(R"(
  setp.lt.u32 %p1, %t, 37;
  bar.red.popc.u32 %r1, 0, %p1;
  barrier.cta.red.popc.aligned.u32 %r2, 1, 64, !%p1;
  barrier.red.and.pred %p2, 2, %p1;
  bar.cta.red.or.pred %p3, 3, %p1;
  setp.lt.u32 %p4, %t, 99;
  bar.red.and.pred %p5, 0, %p4;
  bar.red.or.pred %p6, 1, 64, !%p4;
  selp.u32 %r3, 10000, 0, %p2;
  selp.u32 %r4, 20000, 0, %p3;
  selp.u32 %r5, 40000, 0, %p5;
  selp.u32 %r6, 80000, 0, %p6;
  mad.lo.u32 %r1, %r1, 100, %r2;
  add.u32 %r1, %r1, %r3;
  add.u32 %r1, %r1, %r4;
  add.u32 %r1, %r1, %r5;
  add.u32 %r1, %r1, %r6;
  st.global.u32 [%o], %r1;)",
                             64);
  for (uint32_t value : runAllWays(kernel).get<uint32_t>(0))
    EXPECT_EQ(value, 3700u + 27 + 60000);
}

/// Warps that have ended are not waited for; the last warp is not full.
TEST(Barrier, EarlyExit) {
  KernelCase kernel = caseOf(R"(
  st.global.u32 [%o], 1;
  setp.eq.u32 %p1, %w, 1;
  @%p1 exit;
  bar.sync 0;
  st.global.u32 [%o], 2;
  setp.eq.u32 %p2, %t, 5;
  @%p2 exit;
  bar.sync 0;
  st.global.u32 [%o], 3;)",
                             80);
  std::vector<uint32_t> out = runAllWays(kernel).get<uint32_t>(0);
  for (uint32_t i = 0; i < 80; ++i)
    EXPECT_EQ(out[i], i / 32 == 1 ? 1u : i == 5 ? 2u : 3u);
}

TEST(Barrier, Fences) {
  KernelCase kernel = caseOf(R"(
  membar.cta;
  membar.gl;
  membar.sys;
  fence.sc.gpu;
  fence.acq_rel.cta;
  fence.acq_rel.cluster;
  fence.sys;
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
  st.global.u32 [%o], %t;)",
                             32);
  EXPECT_EQ(runClean(kernel).get<uint32_t>(0)[31], 31u);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Between CTAs
//===--------------------------------------------------------------------------------------------------------------===//

TEST(Barrier, ClusterExchange) {
  // Each CTA writes into the shared memory of the next of its cluster, through a mapped address and a generic one.
  KernelCase kernel = caseOf(R"(
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, %cluster_nctarank;
  add.u32 %r3, %r1, 1;
  rem.u32 %r3, %r3, %r2;
  mov.u32 %r4, s;
  mapa.shared::cluster.u32 %r5, %r4, %r3;
  mad.lo.u32 %r5, %t, 8, %r5;
  mad.lo.u32 %r6, %c, 1000, %t;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  st.shared::cluster.u32 [%r5], %r6;
  mov.u64 %d1, s;
  cvta.shared.u64 %d1, %d1;
  mapa.u64 %d2, %d1, %r3;
  mad.wide.u32 %d2, %t, 8, %d2;
  st.u32 [%d2+4], %r6;
  getctarank.shared::cluster.u32 %r7, %r5;
  getctarank.u64 %r8, %d2;
  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
  mad.lo.u32 %r9, %t, 8, %r4;
  ld.shared::cta.u32 %r10, [%r9];
  ld.shared::cluster.u32 %r11, [%r9+4];
  setp.ne.u32 %p1, %r10, %r11;
  @%p1 trap;
  setp.ne.u32 %p1, %r7, %r3;
  @%p1 trap;
  setp.ne.u32 %p1, %r8, %r3;
  @%p1 trap;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.global.u32 [%o], %r10;)",
                             64, 8);
  kernel.cluster.x = 4;
  std::vector<uint32_t> out = runAllWays(kernel).get<uint32_t>(0);
  for (uint32_t cta = 0; cta < 8; ++cta)
    for (uint32_t i = 0; i < 64; ++i)
      EXPECT_EQ(out[64 * cta + i], (cta / 4 * 4 + (cta + 3) % 4) * 1000 + i);
}

/// Every thread of a cluster adds to a counter of rank 0: remotely, and through generic addresses of its own memory.
TEST(Barrier, ClusterAtomics) {
  KernelCase kernel = caseOf(R"(
  mov.u32 %r4, s;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra ready;
  st.shared.u32 [%r4], 0;
  st.shared.u32 [%r4+4], 0;
ready:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mapa.shared::cluster.u32 %r5, %r4, 0;
  red.relaxed.cluster.shared::cluster.add.u32 [%r5], %t;
  mov.u64 %d1, s;
  cvta.shared.u64 %d1, %d1;
  atom.relaxed.cta.add.u32 %r7, [%d1+4], 1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  ld.shared::cluster.u32 %r6, [%r5];
  ld.shared.u32 %r7, [%r4+4];
  mad.lo.u32 %r6, %r6, 1000, %r7;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.global.u32 [%o], %r6;)",
                             40, 4);
  kernel.cluster.x = 4;
  for (uint32_t value : runAllWays(kernel).get<uint32_t>(0))
    EXPECT_EQ(value, 4u * 780 * 1000 + 40);
}

/// Threads that arrive and end count once: the barrier still waits for the others.
TEST(Barrier, ClusterArriveAndExit) {
  KernelCase kernel = caseOf(R"(
  st.global.u32 [%o], 0;
  setp.eq.u32 %p1, %w, 0;
  @!%p1 bra others;
  barrier.cluster.arrive;
  exit;
others:
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r4, s;
  mapa.shared::cluster.u32 %r5, %r4, 1;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra arrive;
  mov.u32 %r6, 0;
delay:
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p3, %r6, 500;
  @%p3 bra delay;
  mad.lo.u32 %r7, %t, 4, %r5;
  st.shared::cluster.u32 [%r7], %t;
arrive:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  @!%p2 bra done;
  mad.lo.u32 %r7, %t, 4, %r4;
  ld.shared.u32 %r8, [%r7];
  st.global.u32 [%o], %r8;
done:)",
                             64, 2);
  kernel.cluster.x = 2;
  std::vector<uint32_t> out = runAllWays(kernel).get<uint32_t>(0);
  for (uint32_t i = 0; i < 128; ++i)
    EXPECT_EQ(out[i], i >= 96 ? i - 64 : 0u);
}

/// A chain of semaphores: CTA n waits for n - 1, which the scheduler must have made resident and let run.
TEST(Barrier, SemaphoresBetweenCtas) {
  KernelCase kernel;
  kernel.ptx = module(R"(
.visible .entry k(.param .u64 flags)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [flags];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra join;
wait:
  ld.acquire.gpu.global.u32 %r3, [%d1];
  setp.ne.u32 %p2, %r3, %r1;
  @%p2 bra wait;
join:
  bar.sync 0;
  @%p1 bra done;
  nanosleep.u32 20;
  add.u32 %r4, %r1, 1;
  st.release.gpu.global.u32 [%d1], %r4;
done:
  ret;
}
)");
  kernel.grid.x = 60;
  kernel.block.x = 64;
  kernel.arguments = {buffer(std::vector<uint32_t>(1))};
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(0)[0], 60u);
}

/// More CTAs than fit: those that wait for later ones hold the SMs. On an emulated RTX 3050 16 CTAs of 64 threads fit
/// on each of the 20 SMs.
TEST(Barrier, ResidencyDeadlock) {
  auto kernelFor = [](uint32_t ctas) {
    KernelCase kernel;
    kernel.ptx = module(R"(
.visible .entry k(.param .u64 count)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<4>;
  ld.param.u64 %d1, [count];
  mov.u32 %r1, %nctaid.x;
  red.relaxed.gpu.global.add.u32 [%d1], 1;
wait:
  ld.acquire.gpu.global.u32 %r3, [%d1];
  setp.lt.u32 %p2, %r3, %r1;
  @%p2 bra wait;
  ret;
}
)",
                        "7.4", "sm_86");
    kernel.card = "RTX3050";
    kernel.grid.x = ctas;
    kernel.block.x = 1;
    kernel.arguments = {buffer(std::vector<uint32_t>(1))};
    kernel.isDumped = false;
    return kernel;
  };
  EXPECT_EQ(runClean(kernelFor(320)).get<uint32_t>(0)[0], 320u);
  KernelResult result = run(kernelFor(321));
  EXPECT_THAT(result.error.getMessage(), HasSubstr("livelock: no warp can ever go on"));
  EXPECT_THAT(result.error.getMessage(), HasSubstr("1 of 321 ctas have not started"));
  EXPECT_TRUE(result.found("livelock"));
}

/// A persistent kernel: CTAs draw tiles from a counter until none is left.
TEST(Barrier, PersistentTiles) {
  KernelCase kernel;
  kernel.ptx = module(R"(
.shared .align 4 .b8 tile[4];
.visible .entry k(.param .u64 counter, .param .u64 out, .param .u32 tiles)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [counter];
  ld.param.u64 %d2, [out];
  ld.param.u32 %r1, [tiles];
  mov.u32 %r2, %tid.x;
  setp.ne.u32 %p1, %r2, 0;
next:
  @%p1 bra drawn;
  atom.relaxed.gpu.global.add.u32 %r3, [%d1], 1;
  st.shared.u32 [tile], %r3;
drawn:
  bar.sync 0;
  ld.shared.u32 %r4, [tile];
  bar.sync 0;
  setp.ge.u32 %p2, %r4, %r1;
  @%p2 bra done;
  mov.u32 %r5, %ntid.x;
  mad.lo.u32 %r6, %r4, %r5, %r2;
  mad.wide.u32 %d3, %r6, 4, %d2;
  mul.lo.u32 %r7, %r6, 3;
  st.global.u32 [%d3], %r7;
  bra next;
done:
  ret;
}
)");
  kernel.grid.x = 7;
  kernel.block.x = 96;
  kernel.arguments = {buffer(std::vector<uint32_t>(1)), output(100 * 96 * 4), value(uint32_t(100))};
  std::vector<uint32_t> want(9600);
  for (uint32_t i = 0; i < 9600; ++i)
    want[i] = 3 * i;
  KernelResult result = runAllWays(kernel);
  EXPECT_EQ(result.get<uint32_t>(1), want);
  EXPECT_EQ(result.get<uint32_t>(0)[0], 107u);
}

TEST(Barrier, RegistersMoveBetweenWarps) {
  KernelCase kernel = caseOf(R"(
  setp.lt.u32 %p1, %t, 128;
  @%p1 bra small;
  setmaxnreg.inc.sync.aligned.u32 240;
  bra done;
small:
  setmaxnreg.dec.sync.aligned.u32 24;
done:
  st.global.u32 [%o], %t;)",
                             384, 1, ".maxntid 384, 1, 1");
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(0)[383], 383u);
  kernel = caseOf("  setmaxnreg.inc.sync.aligned.u32 240;\n  st.global.u32 [%o], %t;", 384, 1, ".maxntid 384, 1, 1");
  EXPECT_THAT(run(kernel).error.getMessage(), HasSubstr("deadlock"));
  kernel = caseOf("  setmaxnreg.dec.sync.aligned.u32 240;", 384, 1, ".maxntid 384, 1, 1");
  EXPECT_THAT(run(kernel).error.getMessage(), HasSubstr("the warp has 168 registers per thread: .dec to 240"));
}

//===--------------------------------------------------------------------------------------------------------------===//
// What goes wrong
//===--------------------------------------------------------------------------------------------------------------===//

TEST(Barrier, DeadlockPicture) {
  KernelCase kernel = caseOf(R"(
  setp.eq.u32 %p1, %w, 2;
  @%p1 bra other;
  bar.sync 3, 128;
  bra done;
other:
  bar.sync 4, 64;
done:
  st.global.u32 [%o], %t;)",
                             128);
  KernelResult result = run(kernel);
  std::string message = result.error.getMessage();
  EXPECT_THAT(message, HasSubstr("deadlock: no warp can ever go on"));
  EXPECT_THAT(message, HasSubstr("cta (0,0,0) warp 0-1,3 at k:23:3 bar.sync: waits at barrier 3: 96 of 128 threads"));
  EXPECT_THAT(message, HasSubstr("warp 2 at k:26:3 bar.sync: waits at barrier 4: 32 of 64 threads have arrived"));
  EXPECT_TRUE(result.found("deadlock"));
}

TEST(Barrier, Divergence) {
  KernelCase kernel = caseOf(R"(
  setp.lt.u32 %p1, %t, 16;
  @%p1 bra low;
  bar.sync 0;
  bra done;
low:
  bar.sync 0;
done:
  st.global.u32 [%o], %t;)",
                             32);
  KernelResult result = run(kernel);
  EXPECT_THAT(result.error.getMessage(), HasSubstr("barrier divergence: other lanes of the warp wait at"));
  EXPECT_TRUE(result.found("barrier-divergence"));
  kernel = caseOf("  setp.lt.u32 %p1, %t, 16;\n  @%p1 bar.sync 0;\n  st.global.u32 [%o], %t;", 32);
  result = run(kernel);
  EXPECT_THAT(result.error.getMessage(), HasSubstr("the guard holds for lanes 0x0000ffff of 0xffffffff only"));
  // Without .aligned the same is legal.
  kernel = caseOf(R"(
  setp.lt.u32 %p1, %t, 16;
  @%p1 bra low;
  barrier.sync 0;
  bra done;
low:
  barrier.sync 0;
done:
  st.global.u32 [%o], %t;)",
                  32);
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(0)[31], 31u);
}

TEST(Barrier, WrongUse) {
  auto faultOf = [](const std::string &body) { return run(caseOf(body, 64)).error.getMessage(); };
  EXPECT_THAT(faultOf("  mov.u32 %r1, 17;\n  bar.sync %r1;"), HasSubstr("expected a barrier from 0 to 15, got 17"));
  EXPECT_THAT(faultOf("  mov.u32 %r1, 33;\n  bar.sync 0, %r1;"), HasSubstr("multiple of 32 and not 0, got 33"));
  EXPECT_THAT(faultOf("  setp.eq.u32 %p1, %w, 0;\n  selp.u32 %r1, 64, 96, %p1;\n  bar.sync 0, %r1;"),
              HasSubstr("in use for another number of threads"));
  EXPECT_THAT(faultOf("  barrier.cluster.wait;"), HasSubstr("without having arrived"));
  EXPECT_THAT(faultOf("  barrier.cluster.arrive;\n  barrier.cluster.arrive;"), HasSubstr("arrives twice"));
  EXPECT_THAT(faultOf("  mov.u32 %r1, s;\n  mapa.shared::cluster.u32 %r2, %r1, 1;"),
              HasSubstr("the cluster has 1 ctas, none of rank 1"));
  EXPECT_THAT(refusal(kernelOf("  bar.sync 16;")), HasSubstr("expected a constant from 0 to 15, got 16"));
  EXPECT_THAT(refusal(kernelOf("  setmaxnreg.inc.sync.aligned.u32 100;")), HasSubstr("multiple of 8"));
  EXPECT_THAT(refusal(kernelOf("  barrier.cluster.arrive;", "", "sm_80")), HasSubstr("requires .target sm_90"));
}

TEST(Barrier, RemoteSharedAfterExit) {
  KernelCase kernel = caseOf(R"(
  mov.u32 %r1, %cluster_ctarank;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra early;
  mov.u32 %r4, s;
  mov.u32 %r6, 0;
wait:
  add.u32 %r6, %r6, 1;
  nanosleep.u32 100;
  setp.lt.u32 %p2, %r6, 1000;
  @%p2 bra wait;
  mapa.shared::cluster.u32 %r5, %r4, 0;
  st.shared::cluster.u32 [%r5], %r1;
early:
  st.global.u32 [%o], %t;)",
                             32, 2);
  kernel.cluster.x = 2;
  EXPECT_THAT(run(kernel).error.getMessage(), HasSubstr("in the shared memory of the cta of rank 0, which has ended"));
}
