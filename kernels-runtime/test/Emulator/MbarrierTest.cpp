// The mbarrier instructions in kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every form, alone and between CTAs of a cluster, and what is found when they are misused.
#include "TensorMapArgument.h"

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

const char *kStart = R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %tid.x;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd1, %rd1;
    mul.wide.u32 %rd2, %r2, 4;
    add.u64 %rd1, %rd1, %rd2;
    setp.eq.u32 %p1, %r2, 0;
)";

KernelCase barrierCase(const std::string &body, uint32_t threads = 64, const std::string &version = "8.0") {
  KernelCase kernel;
  kernel.ptx = kernelText(".param .u64 out", kStart + body, version);
  kernel.block = {threads, 1, 1};
  kernel.dynamicShared = 1024;
  kernel.arguments = {output(threads * 4)};
  return kernel;
}

std::vector<uint32_t> everyThread(uint32_t value, uint32_t threads = 64) {
  return std::vector<uint32_t>(threads, value);
}

/// Initialises for `count`, synchronises, runs `body`; %r10 is stored.
std::string withBarrier(const std::string &count, const std::string &body) {
  return "@%p1 mbarrier.init.shared.b64 [%r1], " + count + ";\nbar.sync 0;\n" + body +
         "\nst.global.u32 [%rd1], %r10;\n";
}

TEST(MbarrierKernels, ArriveAndWaitOrderData) {
  // Every thread writes, arrives, waits and reads its neighbour's; three phases.
  const char *arrivals[] = {
      "mbarrier.arrive.shared.b64 %rd5, [%r1];",
      "mbarrier.arrive.shared::cta.b64 _, [%r1];",
      "mbarrier.arrive.release.cta.shared.b64 %rd5, [%r1], 1;",
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1], 1;",
      "mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r1], 0;",
      "cvta.shared.u64 %rd6, %rd9; mbarrier.arrive.b64 %rd5, [%rd6];",
      "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], 0;",
  };
  const char *waits[] = {
      "mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r5;",
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r1], %r5, 1000;",
      "mbarrier.test_wait.parity.shared.b64 %p2, [%r1], %r5;",
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r1], %r5;",
      "mbarrier.test_wait.parity.acquire.cta.shared.b64 %p2, [%r1], %r5;",
  };
  for (const char *arrival : arrivals)
    for (const char *wait : waits) {
      std::string body = withBarrier("64", std::string(R"(
    cvt.u64.u32 %rd9, %r1;
    shl.b32 %r3, %r2, 2;
    add.u32 %r3, %r3, %r1;
    add.u32 %r4, %r2, 1;
    and.b32 %r4, %r4, 63;
    shl.b32 %r4, %r4, 2;
    add.u32 %r4, %r4, %r1;
    mov.b32 %r5, 0;
    mov.b32 %r6, 0;
    mov.b32 %r10, %r2;
PHASE:
    add.u32 %r10, %r10, 1;
    shl.b32 %r7, %r5, 8;
    add.u32 %r8, %r3, %r7;
    st.shared.u32 [%r8+16], %r10;
)") + arrival + "\nWAIT:\n" + wait + R"(
    @!%p2 bra WAIT;
    add.u32 %r8, %r4, %r7;
    ld.shared.u32 %r10, [%r8+16];
    xor.b32 %r5, %r5, 1;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p3, %r6, 3;
    @%p3 bra PHASE;
)");
      std::vector<uint32_t> expected;
      for (uint32_t t = 0; t < 64; ++t)
        expected.push_back((t + 3) % 64 + 3);
      EXPECT_EQ(runAllWays(barrierCase(body)).get<uint32_t>(0), expected) << arrival << " " << wait;
    }
}

TEST(MbarrierKernels, TokensAndPendingCounts) {
  // 32 threads of one warp arrive one after the other; each gets the state before its own arrival or an earlier one's.
  std::string body = withBarrier("40", R"(
    mbarrier.arrive.noComplete.shared.b64 %rd5, [%r1], 1;
    mbarrier.pending_count.b64 %r10, %rd5;
    setp.le.u32 %p4, %r10, 40;
    setp.gt.u32 %p5, %r10, 8;
    selp.u32 %r10, 1, 0, %p4;
    selp.u32 %r11, 1, 0, %p5;
    and.b32 %r10, %r10, %r11;
    bar.sync 0;
    @%p1 mbarrier.arrive.shared.b64 %rd6, [%r1], 8;
WAIT:
    mbarrier.try_wait.shared.b64 %p2, [%r1], %rd5;
    @!%p2 bra WAIT;
    mbarrier.test_wait.shared.b64 %p3, [%r1], %rd5;
    selp.u32 %r12, 2, 0, %p3;
    add.u32 %r10, %r10, %r12;
)");
  EXPECT_EQ(runAllWays(barrierCase(body, 32)).get<uint32_t>(0), everyThread(3, 32));
}

TEST(MbarrierKernels, DropsAndBytes) {
  // Phase 0: 64 arrivals of which warp 1's drop out. Phase 1: 32 arrivals and 48 bytes, completed by hand.
  std::string body = withBarrier("64", R"(
    setp.lt.u32 %p2, %r2, 32;
    @%p2 mbarrier.arrive.shared.b64 %rd5, [%r1];
    @!%p2 mbarrier.arrive_drop.shared.b64 %rd5, [%r1];
W0:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;
    @!%p3 bra W0;
    mov.b32 %r10, 1;
    @!%p2 bra W1;
    @%p1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 48;
    bar.warp.sync -1;
    mbarrier.arrive.shared.b64 %rd5, [%r1];
    mbarrier.test_wait.shared.b64 %p4, [%r1], %rd5;
    selp.u32 %r10, 100, 1, %p4;
    bar.warp.sync -1;
    @%p1 mbarrier.complete_tx.shared::cta.b64 [%r1], 16;
    @%p1 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r1], 32;
W1:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 1;
    @!%p3 bra W1;
    bar.sync 0;
    @%p1 mbarrier.inval.shared.b64 [%r1];
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
)");
  EXPECT_EQ(runAllWays(barrierCase(body)).get<uint32_t>(0), everyThread(1));
  // arrive_drop's other forms.
  body = withBarrier("2", R"(
    @%p1 mbarrier.arrive_drop.noComplete.release.cta.shared.b64 %rd5, [%r1], 1;
    bar.sync 0;
    @%p1 mbarrier.arrive_drop.expect_tx.shared.b64 _, [%r1], 0;
W0:
    mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0;
    @!%p3 bra W0;
    mov.b32 %r10, 5;
)");
  EXPECT_EQ(runAllWays(barrierCase(body)).get<uint32_t>(0), everyThread(5));
}

TEST(MbarrierKernels, RemoteArrivalsInACluster) {
  // Each of four CTAs tells its right neighbour by a remote arrival that it has written there.
  KernelCase kernel;
  kernel.ptx = kernelText(".param .u64 out", R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %cluster_ctarank;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared.b64 [%r1], 32;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    add.u32 %r4, %r3, 1;
    and.b32 %r4, %r4, 3;
    mapa.shared::cluster.u32 %r5, %r1, %r4;
    shl.b32 %r6, %r2, 2;
    add.u32 %r6, %r6, %r5;
    mad.lo.u32 %r7, %r3, 100, %r2;
    st.shared::cluster.u32 [%r6+16], %r7;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];
WAIT:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r1], 0;
    @!%p2 bra WAIT;
    shl.b32 %r8, %r2, 2;
    add.u32 %r9, %r8, %r1;
    ld.shared.u32 %r10, [%r9+16];
    ld.param.u64 %rd1, [out];
    mad.lo.u32 %r11, %r3, 128, %r8;
    cvt.u64.u32 %rd2, %r11;
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r10;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
)");
  kernel.grid = {4, 1, 1};
  kernel.cluster = {4, 1, 1};
  kernel.block = {32, 1, 1};
  kernel.dynamicShared = 1024;
  kernel.arguments = {output(512)};
  std::vector<uint32_t> expected;
  for (uint32_t rank = 0; rank < 4; ++rank)
    for (uint32_t t = 0; t < 32; ++t)
      expected.push_back((rank + 3) % 4 * 100 + t);
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(0), expected);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Misuse
//===--------------------------------------------------------------------------------------------------------------===//

KernelResult runFaulty(const std::string &body, uint32_t threads = 32) {
  KernelCase kernel = barrierCase(body, threads);
  kernel.isDumped = false;
  return run(kernel);
}

TEST(MbarrierKernels, MisuseIsFound) {
  struct Case {
    const char *kind;
    std::string faulty, faultless;
  };
  auto arrive = [](int count) {
    return "@%p1 mbarrier.arrive.shared.b64 %rd5, [%r1], " + std::to_string(count) + ";\nmov.b32 %r10, 0;";
  };
  const Case cases[] = {
      {"mbarrier-arrivals", withBarrier("2", arrive(3)), withBarrier("3", arrive(3))},
      {"mbarrier-uninitialised", "mov.b32 %r10, 0;" + arrive(1) + "st.global.u32 [%rd1], %r10;",
       withBarrier("1", arrive(1))},
      {"mbarrier-reinitialised", withBarrier("1", "@%p1 mbarrier.init.shared.b64 [%r1], 1;\nmov.b32 %r10, 0;"),
       withBarrier("1",
                   "@%p1 mbarrier.inval.shared.b64 [%r1];\n@%p1 mbarrier.init.shared.b64 [%r1], 1;\nmov.b32 %r10, 0;")},
      {"mbarrier-tx-count", withBarrier("1", "@%p1 mbarrier.expect_tx.shared.b64 [%r1], 1048576;\nmov.b32 %r10, 0;"),
       withBarrier("1", "@%p1 mbarrier.expect_tx.shared.b64 [%r1], 1048575;\nmov.b32 %r10, 0;")},
      {"mbarrier-arrivals",
       withBarrier("1", "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd5, [%r1], 1;\nmov.b32 %r10, 0;"),
       withBarrier("2", "@%p1 mbarrier.arrive.noComplete.shared.b64 %rd5, [%r1], 1;\nmov.b32 %r10, 0;")},
      {"mbarrier-overwritten", withBarrier("2", "@%p1 st.shared.u64 [%r1], 0;\nbar.sync 0;\n" + arrive(1)),
       withBarrier("2", "@%p1 st.shared.u64 [%r1+8], 0;\nbar.sync 0;\n" + arrive(1))},
      {"mbarrier-state",
       withBarrier("1", "mov.b64 %rd5, 0;\nmbarrier.test_wait.shared.b64 %p2, [%r1], %rd5;\nmov.b32 %r10, 0;"),
       withBarrier("2", "mbarrier.arrive.shared.b64 %rd5, [%r1+8];\nmov.b32 %r10, 0;")},
  };
  for (const Case &test : cases) {
    EXPECT_TRUE(runFaulty(test.faulty).found(test.kind)) << test.kind << "\n" << test.faulty;
    if (test.kind != std::string("mbarrier-state"))
      EXPECT_FALSE(runFaulty(test.faultless).found(test.kind)) << test.kind << "\n" << test.faultless;
  }
}

TEST(MbarrierKernels, StateOfAnOldPhaseIsFound) {
  auto body = [](int phases) {
    std::string arrivals;
    for (int i = 0; i < phases; ++i)
      arrivals += "@%p1 mbarrier.arrive.shared.b64 %rd6, [%r1];\n";
    return withBarrier("1", "@%p1 mbarrier.arrive.shared.b64 %rd5, [%r1];\n" + arrivals +
                                "@%p1 mbarrier.test_wait.shared.b64 %p2, [%r1], %rd5;\nmov.b32 %r10, 0;");
  };
  EXPECT_TRUE(runFaulty(body(1)).found("mbarrier-state"));
  EXPECT_FALSE(runFaulty(body(0)).found("mbarrier-state"));
}

TEST(MbarrierKernels, WaitWithoutArrivalIsADeadlock) {
  std::string body = withBarrier(
      "2", "mbarrier.arrive.shared.b64 %rd5, [%r1+0];\nW:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;\n"
           "@!%p2 bra W;\nmov.b32 %r10, 0;");
  KernelResult good =
      runFaulty(withBarrier("32", "mbarrier.arrive.shared.b64 %rd5, [%r1];\nW:\nmbarrier.try_wait.parity.shared.b64 "
                                  "%p2, [%r1], 0;\n@!%p2 bra W;\nmov.b32 %r10, 0;"));
  EXPECT_FALSE(good.error) << good.error.getMessage();
  KernelResult stuck =
      runFaulty(withBarrier("33", "mbarrier.arrive.shared.b64 %rd5, [%r1];\nW:\nmbarrier.try_wait.parity.shared.b64 "
                                  "%p2, [%r1], 0;\n@!%p2 bra W;\nmov.b32 %r10, 0;"));
  EXPECT_TRUE(stuck.error);
  EXPECT_NE(stuck.error.getMessage().find("mbarrier"), std::string::npos) << stuck.error.getMessage();
}

TEST(MbarrierKernels, RefusedForms) {
  auto refused = [](const std::string &instruction) { return refusal(kernelText("", instruction)); };
  EXPECT_NE(refused("mbarrier.arrive.shared::cluster.b64 %rd1, [%r1];").find("expected _"), std::string::npos);
  EXPECT_NE(refused("mbarrier.init.shared.b32 [%r1], 1;").find("b64"), std::string::npos);
  EXPECT_NE(refused("mbarrier.arrive.noComplete.shared.b64 %rd1, [%r1];").find("operands"), std::string::npos);
  EXPECT_NE(refused("mbarrier.init.global.b64 [%rd1], 1;").find("b64"), std::string::npos);
}

} // namespace
