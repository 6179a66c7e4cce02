// cp.async and its groups in kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes, zero fill and ignore-src, groups of warps and of single threads, arrivals on mbarriers; and what late copies
// do to a kernel that does not wait.
#include "TensorMapArgument.h"

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

constexpr uint32_t kThreads = 64;

std::vector<uint8_t> pattern(size_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i)
    data[i] = uint8_t(i * 59 + i / 256 * 7 + 1);
  return data;
}

/// Each thread: %rd1 source and %r3 shared address of its 16 bytes, `body`, then its 16 bytes to out.
KernelCase copyCase(const std::string &body, const std::string &version = "8.0") {
  KernelCase kernel;
  kernel.ptx = kernelText(".param .u64 in, .param .u64 out", R"(
    mov.u32 %r1, smem;
    mov.u32 %r2, %tid.x;
    shl.b32 %r3, %r2, 4;
    cvt.u64.u32 %rd3, %r3;
    add.u32 %r3, %r3, %r1;
    ld.param.u64 %rd1, [in];
    cvta.to.global.u64 %rd1, %rd1;
    add.u64 %rd1, %rd1, %rd3;
    ld.param.u64 %rd2, [out];
    cvta.to.global.u64 %rd2, %rd2;
    add.u64 %rd2, %rd2, %rd3;
    mov.b32 %r4, 0x11111111;
    st.shared.v4.b32 [%r3], {%r4, %r4, %r4, %r4};
    mov.b64 %rd9, 0;
    createpolicy.fractional.L2::evict_last.b64 %rd9, 1.0;
)" + body + R"(
    ld.shared.v4.b32 {%r10, %r11, %r12, %r13}, [%r3];
    st.global.v4.b32 [%rd2], {%r10, %r11, %r12, %r13};
)",
                          version);
  size_t at = kernel.ptx.find("    createpolicy");
  bool hasPolicy = body.find("%rd9") != std::string::npos;
  if (!hasPolicy) // Only for cache hints.
    kernel.ptx.erase(at, kernel.ptx.find('\n', at) + 1 - at);
  // ptxas before 13.4.59 makes illegal instructions of cp.async with a fractional policy (triton-lang/triton#11660),
  // and so did the H100's driver 580.159.
  kernel.isDumped = !hasPolicy;
  kernel.block = {kThreads, 1, 1};
  kernel.dynamicShared = 4096;
  kernel.arguments = {buffer(pattern(kThreads * 16)), output(kThreads * 16)};
  return kernel;
}

const char *kWait = "cp.async.commit_group;\ncp.async.wait_group 0;\n";

/// The first `bytes` of each thread's 16 copied, of which from `source` on zero; the rest stays 0x11.
std::vector<uint8_t> expectedCopy(uint32_t bytes, uint32_t source) {
  std::vector<uint8_t> data = pattern(kThreads * 16);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = i % 16 >= bytes ? 0x11 : i % 16 >= source ? 0 : data[i];
  return data;
}

TEST(CopyAsync, SizesFillsAndHints) {
  struct Case {
    const char *copy;
    uint32_t bytes, source;
  };
  const Case cases[] = {
      {"cp.async.ca.shared.global [%r3], [%rd1], 4;", 4, 4},
      {"cp.async.ca.shared.global [%r3], [%rd1], 8;", 8, 8},
      {"cp.async.ca.shared::cta.global [%r3], [%rd1], 16;", 16, 16},
      {"cp.async.cg.shared.global [%r3], [%rd1], 16;", 16, 16},
      {"cp.async.cg.shared.global.L2::128B [%r3], [%rd1], 16;", 16, 16},
      {"cp.async.ca.shared.global.L2::64B [%r3], [%rd1], 8;", 8, 8},
      {"cp.async.ca.shared.global.L2::256B [%r3], [%rd1], 8;", 8, 8},
      {"cp.async.cg.shared.global.L2::cache_hint [%r3], [%rd1], 16, %rd9;", 16, 16},
      {"cp.async.cg.shared.global.L2::cache_hint.L2::128B [%r3], [%rd1], 16, 7, %rd9;", 16, 7},
      {"cp.async.ca.shared.global [%r3], [%rd1], 4, 3;", 4, 3},
      {"cp.async.ca.shared.global [%r3], [%rd1], 8, 0;", 8, 0},
      {"mov.b32 %r5, 5; cp.async.ca.shared.global [%r3], [%rd1], 16, %r5;", 16, 5},
      {"setp.eq.u32 %p1, %r2, %r2; cp.async.cg.shared.global [%r3], [%rd1], 16, %p1;", 16, 0},
      {"setp.ne.u32 %p1, %r2, %r2; cp.async.cg.shared.global [%r3], [%rd1], 16, %p1;", 16, 16},
  };
  for (const Case &test : cases) {
    EXPECT_EQ(runAllWays(copyCase(std::string(test.copy) + kWait)).buffers[1], expectedCopy(test.bytes, test.source))
        << test.copy;
    EXPECT_EQ(runClean(copyCase(std::string(test.copy) + "cp.async.wait_all;")).buffers[1],
              expectedCopy(test.bytes, test.source))
        << test.copy;
  }
}

TEST(CopyAsync, GroupsAreWaitedForInOrder) {
  // Four groups of 4 bytes; after wait_group 2 the first two have come. Late timing keeps the others back.
  std::string copies;
  for (int i = 0; i < 4; ++i)
    copies += "cp.async.ca.shared.global [%r3+" + std::to_string(4 * i) + "], [%rd1+" + std::to_string(4 * i) +
              "], 4;\ncp.async.commit_group;\n";
  KernelCase kernel = copyCase(copies + "cp.async.wait_group 2;");
  kernel.isDumped = false;
  kernel.options.timing = AsyncTiming::Late;
  EXPECT_EQ(run(kernel).buffers[1], expectedCopy(8, 8));
  kernel.options.timing = AsyncTiming::Early;
  EXPECT_EQ(run(kernel).buffers[1], expectedCopy(16, 16));
  // What is not committed is not waited for by wait_group, but by wait_all.
  kernel.ptx = copyCase("cp.async.ca.shared.global [%r3], [%rd1], 8;\ncp.async.wait_group 0;").ptx;
  kernel.options.timing = AsyncTiming::Late;
  EXPECT_EQ(run(kernel).buffers[1], expectedCopy(0, 0));
}

TEST(CopyAsync, ThreadsHaveTheirOwnGroups) {
  // Odd threads commit once more than even ones, so that wait_group 1 covers different copies.
  KernelCase kernel = copyCase(R"(
    and.b32 %r6, %r2, 1;
    setp.eq.u32 %p2, %r6, 1;
    cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+4], [%rd1+4], 4;
    @%p2 cp.async.commit_group;
    cp.async.ca.shared.global [%r3+8], [%rd1+8], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
)");
  kernel.isDumped = false;
  kernel.options.timing = AsyncTiming::Late;
  std::vector<uint8_t> odd = expectedCopy(8, 8), expected = expectedCopy(4, 4);
  std::vector<uint8_t> found = run(kernel).buffers[1];
  for (size_t t = 1; t < kThreads; t += 2)
    EXPECT_TRUE(std::equal(&odd[t * 16], &odd[t * 16] + 16, &found[t * 16])) << "thread " << t;
  // An even thread's second copy may come with its neighbour's: they are one operation of the warp.
  for (size_t t = 0; t < kThreads; t += 2) {
    EXPECT_TRUE(std::equal(&expected[t * 16], &expected[t * 16] + 4, &found[t * 16])) << "thread " << t;
    EXPECT_TRUE(std::equal(&expected[t * 16] + 8, &expected[t * 16] + 16, &found[t * 16 + 8])) << "thread " << t;
  }
}

TEST(CopyAsync, ArrivesOnAnMbarrier) {
  for (const char *form :
       {"cp.async.mbarrier.arrive.noinc.shared.b64 [%r1+2048];", "cp.async.mbarrier.arrive.shared::cta.b64 [%r1+2048];",
        "cvt.u64.u32 %rd5, %r1; cvta.shared.u64 %rd5, %rd5; cp.async.mbarrier.arrive.noinc.b64 [%rd5+2048];"}) {
    bool isNoInc = std::string(form).find("noinc") != std::string::npos;
    std::string body = R"(
    setp.eq.u32 %p1, %r2, 0;
    @%p1 mbarrier.init.shared.b64 [%r1+2048], 64;
    bar.sync 0;
    cp.async.cg.shared.global [%r3], [%rd1], 16;
    )" + std::string(form) +
                       (isNoInc ? "" : "\nmbarrier.arrive.shared.b64 _, [%r1+2048];") + R"(
W:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r1+2048], 0;
    @!%p2 bra W;
    xor.b32 %r6, %r2, 1;
    shl.b32 %r6, %r6, 4;
    add.u32 %r3, %r6, %r1;
)";
    std::vector<uint8_t> expected = pattern(kThreads * 16);
    for (size_t t = 0; t < kThreads; t += 2)
      std::swap_ranges(&expected[t * 16], &expected[t * 16] + 16, &expected[t * 16 + 16]);
    EXPECT_EQ(runAllWays(copyCase(body)).buffers[1], expected) << form;
  }
}

TEST(CopyAsync, Faults) {
  auto fault = [](const std::string &copy) {
    KernelCase kernel = copyCase(copy);
    kernel.isDumped = false;
    return run(kernel).error.getMessage();
  };
  EXPECT_NE(fault("cp.async.ca.shared.global [%r3+4], [%rd1], 8;").find("multiples of 8"), std::string::npos);
  EXPECT_NE(fault("cp.async.ca.shared.global [%r3], [%rd1+8], 16;").find("multiples of 16"), std::string::npos);
  EXPECT_NE(fault("mov.b32 %r5, 9; cp.async.ca.shared.global [%r3], [%rd1], 8, %r5;").find("src-size of at most 8"),
            std::string::npos);
  EXPECT_NE(fault("cp.async.ca.shared.global [%r3], [%rd1+65536], 16;\ncp.async.wait_all;").find("out of bounds"),
            std::string::npos);
  auto refused = [](const std::string &copy) { return refusal(copyCase(copy).ptx); };
  EXPECT_NE(refused("cp.async.cg.shared.global [%r3], [%rd1], 8;").find("from 16 to 16"), std::string::npos);
  EXPECT_NE(refused("cp.async.ca.shared.global [%r3], [%rd1], 5;").find("4, 8 or 16"), std::string::npos);
}

} // namespace
