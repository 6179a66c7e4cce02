// Bulk copies, clusters, st.async and edited tensor maps in kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async.bulk in every direction, cp.reduce.async.bulk on every type, multicast, remote completion,
// tensormap.replace.
#include "TensorMapArgument.h"

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

std::vector<uint8_t> pattern(size_t bytes, uint32_t seed = 1) {
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i)
    data[i] = uint8_t(i * 59 + i / 256 * 7 + seed);
  return data;
}

/// One thread in front: %rd1 = in, %rd2 = out (global), %r1 smem, %r2 mbarrier (at 8192, one arrival), 1024 bytes of
/// interest.
const char *kStart = R"(
    mov.u32 %r1, smem;
    mov.u32 %r3, %tid.x;
    add.u32 %r2, %r1, 8192;
    ld.param.u64 %rd1, [in];
    cvta.to.global.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out];
    cvta.to.global.u64 %rd2, %rd2;
    setp.ne.u32 %p1, %r3, 0;
    @!%p1 mbarrier.init.shared.b64 [%r2], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async;
)";
/// in -> shared memory at 0.
const char *kLoad = R"(
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;
    @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 1024, [%r2];
W0:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
    @!%p2 bra W0;
)";

KernelCase bulkCase(const std::string &body, const std::vector<uint8_t> &in, const std::vector<uint8_t> &out,
                    const std::string &version = "8.0", uint32_t cluster = 1) {
  KernelCase kernel;
  kernel.ptx = kernelText(".param .u64 in, .param .u64 out", std::string(kStart) + body, version);
  kernel.block = {32, 1, 1};
  kernel.grid = kernel.cluster = {cluster, 1, 1};
  kernel.dynamicShared = 8192 + 64;
  kernel.arguments = {buffer(in), buffer(out)};
  return kernel;
}

const std::string kEnd = "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";

TEST(BulkCopy, GlobalToSharedAndBack) {
  const char *loads[] = {
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 1024, [%r2];",
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 1024, [%r2];",
      "createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0;\n@!%p1 "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r1], [%rd1], "
      "1024, [%r2], %rd9;"};
  const char *stores[] = {"cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 1024;",
                          "createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0;\n@!%p1 "
                          "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd2], [%r1], 1024, %rd9;"};
  for (const char *load : loads)
    for (const char *store : stores) {
      std::string body =
          R"(
    @!%p1 cp.async.bulk.prefetch.L2.global [%rd1], 1024;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;
    @!%p1 )" +
          std::string(load) + R"(
W0:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
    @!%p2 bra W0;
    @!%p1 )" +
          std::string(store) +
          "\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\ncp.async.bulk.wait_group 0;\n";
      std::vector<uint8_t> in = pattern(1024);
      EXPECT_EQ(runAllWays(bulkCase(body, in, std::vector<uint8_t>(1024), "8.6")).buffers[1], in) << load << store;
    }
}

TEST(BulkCopy, LateStoresComeWithTheirGroup) {
  // Two groups; wait_group 1 leaves the second behind, which comes when the CTA ends.
  std::string body = std::string(kLoad) + R"(
    @%p1 bra DONE;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r1], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 1;
    ld.global.u32 %r10, [%rd2];
    ld.global.u32 %r11, [%rd2+16];
    st.global.v2.u32 [%rd2+32], {%r10, %r11};
DONE:)";
  std::vector<uint8_t> in = pattern(1024), out(48, 9);
  KernelCase kernel = bulkCase(body, in, out);
  kernel.isDumped = false;
  kernel.options.timing = AsyncTiming::Late;
  std::vector<uint8_t> found = run(kernel).buffers[1];
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + 16, found.begin()));
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + 16, found.begin() + 16));
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + 4, found.begin() + 32));
  EXPECT_EQ(std::vector<uint8_t>(found.begin() + 36, found.begin() + 40), std::vector<uint8_t>(4, 9));
}

template <typename T, typename Apply> void expectReduction(const std::string &words, T scale, Apply apply) {
  std::vector<T> a(1024 / sizeof(T)), b(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = T(T(i * 37 % 101) * scale), b[i] = T(T(i * 53 % 97) * scale);
  }
  std::string body = std::string(kLoad) + "@!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group." + words +
                     " [%rd2], [%r1], 1024;\n" + kEnd;
  std::vector<T> found = fromBytes<T>(runAllWays(bulkCase(body, toBytes(a), toBytes(b))).buffers[1]);
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(found[i], apply(b[i], a[i])) << words << " element " << i;
}

TEST(BulkCopy, ReductionsInGlobalMemory) {
  auto add = [](auto x, auto y) { return decltype(x)(x + y); };
  auto least = [](auto x, auto y) { return std::min(x, y); };
  auto most = [](auto x, auto y) { return std::max(x, y); };
  expectReduction<uint32_t>("add.u32", 0x3000001, add);
  expectReduction<int32_t>("add.s32", -7, add);
  expectReduction<uint64_t>("add.u64", 0x300000100000001, add);
  expectReduction<float>("add.f32", 0.25f, add);
  expectReduction<double>("add.f64", 0.1, add);
  expectReduction<int32_t>("min.s32", -1, least);
  expectReduction<uint32_t>("min.u32", 3, least);
  expectReduction<int64_t>("min.s64", -5, least);
  expectReduction<uint64_t>("max.u64", 5, most);
  expectReduction<int64_t>("max.s64", -5, most);
  expectReduction<uint32_t>("max.u32", 5, most);
  expectReduction<int32_t>("max.s32", -3, most);
  expectReduction<uint64_t>("min.u64", 3, least);
  expectReduction<uint32_t>("inc.u32", 1, [](uint32_t x, uint32_t y) { return x >= y ? 0 : x + 1; });
  expectReduction<uint32_t>("dec.u32", 1, [](uint32_t x, uint32_t y) { return x == 0 || x > y ? y : x - 1; });
  expectReduction<uint32_t>("and.b32", 0x1234567, [](uint32_t x, uint32_t y) { return x & y; });
  expectReduction<uint64_t>("or.b64", 0x123456789, [](uint64_t x, uint64_t y) { return x | y; });
  expectReduction<uint32_t>("xor.b32", 0x1234567, [](uint32_t x, uint32_t y) { return x ^ y; });
  expectReduction<uint64_t>("and.b64", 0x1234567, [](uint64_t x, uint64_t y) { return x & y; });
  expectReduction<uint32_t>("or.b32", 0x1234567, [](uint32_t x, uint32_t y) { return x | y; });
  expectReduction<uint64_t>("xor.b64", 0x1234567, [](uint64_t x, uint64_t y) { return x ^ y; });
}

TEST(BulkCopy, ReductionsOfHalves) {
  // 1.0 + 2.0 and 1.0 with 2.0, in f16 and bf16.
  struct Case {
    const char *words;
    uint16_t a, b, result;
  };
  const Case cases[] = {{"add.noftz.f16", 0x3c00, 0x4000, 0x4200}, {"min.f16", 0x3c00, 0xc000, 0xc000},
                        {"max.f16", 0x3c00, 0x4000, 0x4000},       {"add.noftz.bf16", 0x3f80, 0x4000, 0x4040},
                        {"min.bf16", 0x3f80, 0x4000, 0x3f80},      {"max.bf16", 0xbf80, 0x4000, 0x4000},
                        {"add.noftz.f16", 0x0001, 0x0003, 0x0004}};
  for (const Case &test : cases) {
    std::string body = std::string(kLoad) + "@!%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group." + test.words +
                       " [%rd2], [%r1], 1024;\n" + kEnd;
    std::vector<uint16_t> a(512, test.a), b(512, test.b);
    EXPECT_EQ(runClean(bulkCase(body, toBytes(a), toBytes(b))).get<uint16_t>(1),
              std::vector<uint16_t>(512, test.result))
        << test.words;
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Clusters
//===--------------------------------------------------------------------------------------------------------------===//

const char *kClusterStart = R"(
    mov.u32 %r4, %cluster_ctarank;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    xor.b32 %r5, %r4, 1;
    mapa.shared::cluster.u32 %r6, %r1, %r5;
    mapa.shared::cluster.u32 %r7, %r2, %r5;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;
)";
/// Waits, stores 1024 bytes of shared memory at 2048 to out + 1024 * rank.
const char *kClusterEnd = R"(
W9:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0;
    @!%p2 bra W9;
    shl.b32 %r8, %r4, 10;
    cvt.u64.u32 %rd3, %r8;
    add.u64 %rd2, %rd2, %rd3;
    shl.b32 %r9, %r3, 4;
    cvt.u64.u32 %rd4, %r9;
    add.u64 %rd2, %rd2, %rd4;
    add.u32 %r9, %r9, %r1;
    ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r9+2048];
    st.global.v4.b32 [%rd2], {%r20, %r21, %r22, %r23};
    ld.shared.v4.b32 {%r20, %r21, %r22, %r23}, [%r9+2560];
    st.global.v4.b32 [%rd2+512], {%r20, %r21, %r22, %r23};
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
)";

TEST(BulkCopy, MulticastToTheCluster) {
  // Each CTA brings half of 1024 bytes for both.
  std::string body = std::string(kClusterStart) + R"(
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    shl.b32 %r8, %r4, 9;
    cvt.u64.u32 %rd3, %r8;
    add.u64 %rd1, %rd1, %rd3;
    add.u32 %r9, %r8, %r1;
    mov.b16 %h1, 3;
    @!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r9+2048], [%rd1], 512, [%r2], %h1;
)" + kClusterEnd;
  std::vector<uint8_t> in = pattern(1024), expected = in;
  expected.insert(expected.end(), in.begin(), in.end());
  EXPECT_EQ(runAllWays(bulkCase(body, in, std::vector<uint8_t>(2048), "8.0", 2)).buffers[1], expected);
}

TEST(BulkCopy, SharedToSharedOfTheCluster) {
  // Each CTA loads its half of `in`, and gives it to the other; then adds it once more there.
  std::string load = R"(
    shl.b32 %r8, %r4, 10;
    cvt.u64.u32 %rd3, %r8;
    add.u64 %rd1, %rd1, %rd3;
    shl.b32 %r9, %r3, 5;
    cvt.u64.u32 %rd4, %r9;
    add.u64 %rd1, %rd1, %rd4;
    add.u32 %r9, %r9, %r1;
    ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd1];
    st.shared.v4.b32 [%r9], {%r20, %r21, %r22, %r23};
    ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd1+16];
    st.shared.v4.b32 [%r9+16], {%r20, %r21, %r22, %r23};
    fence.proxy.async.shared::cta;
    bar.sync 0;
)";
  std::vector<uint32_t> in(512);
  for (uint32_t i = 0; i < 512; ++i)
    in[i] = i * 2654435761u;
  std::string copy =
      "@!%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6+2048], [%r1], 1024, [%r7];\n";
  std::vector<uint32_t> expected(in.begin() + 256, in.end());
  expected.insert(expected.end(), in.begin(), in.begin() + 256);
  KernelCase kernel = bulkCase(std::string(kClusterStart) + load + copy + kClusterEnd, toBytes(in),
                               std::vector<uint8_t>(2048), "8.0", 2);
  EXPECT_EQ(runAllWays(kernel).get<uint32_t>(1), expected);
  // Reductions: the destination is set to the same values first.
  std::string preset = "st.shared.v4.b32 [%r9+2048], {%r20, %r21, %r22, %r23};\n";
  for (const char *words :
       {"add.u32", "xor.b32", "max.u32", "min.s32", "inc.u32", "add.u64", "and.b32", "or.b32", "add.s32", "dec.u32"}) {
    std::string init = R"(
    mov.b32 %r30, 5;
    mov.b32 %r31, 0;
    st.shared.v4.b32 [%r9+2048], {%r30, %r31, %r30, %r31};
    st.shared.v4.b32 [%r9+2064], {%r30, %r31, %r30, %r31};
    fence.proxy.async.shared::cta;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
)";
    std::string reduce = "@!%p1 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." +
                         std::string(words) + " [%r6+2048], [%r1], 1024, [%r7];\n";
    kernel = bulkCase(std::string(kClusterStart) + load + init + reduce + kClusterEnd, toBytes(in),
                      std::vector<uint8_t>(2048), "8.0", 2);
    std::vector<uint32_t> found = runAllWays(kernel).get<uint32_t>(1), want;
    std::string name = words;
    for (uint32_t i = 0; i < 512; ++i) {
      uint32_t old = i % 2 ? 0 : 5, value = expected[i];
      uint64_t wide = 5 + (uint64_t(expected[i | 1]) << 32 | expected[i & ~1u]);
      want.push_back(name == "xor.b32"   ? old ^ value
                     : name == "max.u32" ? std::max(old, value)
                     : name == "min.s32" ? uint32_t(std::min(int32_t(old), int32_t(value)))
                     : name == "inc.u32" ? (old >= value ? 0 : old + 1)
                     : name == "dec.u32" ? (old == 0 || old > value ? value : old - 1)
                     : name == "and.b32" ? (old & value)
                     : name == "or.b32"  ? (old | value)
                     : name == "add.u64" ? uint32_t(wide >> (i % 2 * 32))
                                         : old + value);
    }
    EXPECT_EQ(found, want) << words;
  }
}

TEST(BulkCopy, StoresAndReductionsOfThreads) {
  struct Case {
    const char *text;
    std::function<uint32_t(uint32_t)>
        word; ///< Word number i of the neighbour's 256, from what lies there (7) and thread i / 8.
  };
  auto thread = [](uint32_t i) { return i / 8; };
  const Case cases[] = {
      {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r12], {%r3, %r3, %r3, %r3}, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r12+16], {%r3, %r3}, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [%r12+24], %rd10, [%r7];",
       [&](uint32_t i) { return i % 8 == 7 ? 0 : thread(i); }},
      {"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%r12], {%rd10, %rd10}, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%r12+16], %r3, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%r12+20], %r3, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.s64 [%r12+24], %rd10, [%r7];",
       [&](uint32_t i) { return i % 8 == 1 || i % 8 == 3 || i % 8 == 7 ? 0 : thread(i); }},
      {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r12], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u32 [%r12+4], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%r12+8], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [%r12+12], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.dec.u32 [%r12+16], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32 [%r12+20], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [%r12+24], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%r12+28], %r3, [%r7];",
       [&](uint32_t i) {
         uint32_t t = thread(i);
         const uint32_t results[] = {7 + t,           std::min(7u, t), std::max(7u, t), 7u >= t ? 0u : 8u,
                                     7u > t ? t : 6u, 7 & t,           7 | t,           7 ^ t};
         return results[i % 8];
       }},
      {"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r12], %rd10, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%r12+8], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%r12+12], %r3, [%r7];\n"
       "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r12+16], %r3, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r12+20], %r3, [%r7];\n"
       "st.async.shared::cluster.mbarrier::complete_tx::bytes.f64 [%r12+24], %rd10, [%r7];",
       [&](uint32_t i) {
         uint32_t t = thread(i);
         const uint32_t results[] = {7 + t, 7, 7 + t, std::max(7u, t), std::min(7u, t), t, t, 0};
         return results[i % 8];
       }},
  };
  for (const Case &test : cases) {
    std::string body = std::string(kClusterStart) + R"(
    shl.b32 %r9, %r3, 5;
    add.u32 %r9, %r9, %r1;
    mov.b32 %r30, 7;
    st.shared.v4.b32 [%r9+2048], {%r30, %r30, %r30, %r30};
    st.shared.v4.b32 [%r9+2064], {%r30, %r30, %r30, %r30};
    fence.proxy.async;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    shl.b32 %r12, %r3, 5;
    add.u32 %r12, %r12, %r6;
    add.u32 %r12, %r12, 2048;
    cvt.u64.u32 %rd10, %r3;
)" + test.text + kClusterEnd;
    std::vector<uint32_t> expected;
    for (uint32_t i = 0; i < 512; ++i)
      expected.push_back(test.word(i % 256));
    EXPECT_EQ(runAllWays(bulkCase(body, pattern(16), std::vector<uint8_t>(2048), "8.1", 2)).get<uint32_t>(1), expected)
        << test.text;
  }
}

TEST(BulkCopy, Faults) {
  auto fault = [](const std::string &body) {
    KernelCase kernel = bulkCase(body, pattern(1024), pattern(1024));
    kernel.isDumped = false;
    return run(kernel).error.getMessage();
  };
  std::string copy = "@!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  EXPECT_NE(fault("mov.b32 %r9, 24;\n" + copy + "[%r1], [%rd1], %r9, [%r2];").find("multiples of 16"),
            std::string::npos);
  EXPECT_NE(fault(copy + "[%r1+8], [%rd1], 16, [%r2];").find("multiples of 16"), std::string::npos);
  std::string wait = "\nW: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;\n@!%p2 bra W;";
  EXPECT_NE(fault(copy + "[%r1], [%rd1+1008], 32, [%r2];" + wait).find("out of bounds"), std::string::npos);
  EXPECT_NE(fault(copy + "[%r1], [%rd1], 16, [%r2+16];" + wait).find("no initialised mbarrier"), std::string::npos);
  auto refused = [](const std::string &body) { return refusal(kernelText("", body)); };
  EXPECT_NE(
      refused("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd2], [%r1], 16;").find("expected .noftz"),
      std::string::npos);
  EXPECT_NE(
      refused("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f32 [%rd2], [%r1], 16;").find("no .min of .f32"),
      std::string::npos);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Tensor maps that the kernel edits
//===--------------------------------------------------------------------------------------------------------------===//

TEST(TensorMapEdit, ReplacedFieldsAreUsed) {
  // A map of rank 1 over u8 becomes one of rank 2 over f16 with another address, in shared memory; it is copied out and
  // used.
  TensorMapSpec first;
  first.type = TensorMapType::UInt8;
  first.rank = 1;
  first.globalDim[0] = 16;
  first.boxDim[0] = 16;
  KernelCase kernel;
  kernel.ptx = kernelText(".param .align 64 .b8 map[128], .param .u64 in, .param .u64 out, .param .u64 scratch", R"(
    mov.u32 %r1, smem;
    mov.u32 %r3, %tid.x;
    add.u32 %r2, %r1, 8192;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u64 %rd3, [scratch];
    cvta.to.global.u64 %rd2, %rd2;
    cvta.to.global.u64 %rd8, %rd3;
    setp.ne.u32 %p1, %r3, 0;
    @!%p1 mbarrier.init.shared.b64 [%r2], 1;
    shl.b32 %r4, %r3, 2;
    cvt.u64.u32 %rd4, %r4;
    mov.b64 %rd5, map;
    cvta.param.u64 %rd5, %rd5;
    add.u64 %rd6, %rd5, %rd4;
    ld.u32 %r5, [%rd6];
    add.u32 %r6, %r4, %r1;
    st.shared.u32 [%r6+4096], %r5;
    fence.proxy.async;
    bar.sync 0;
    @%p1 bra JOIN;
    add.u32 %r7, %r1, 4096;
    tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r7], %rd1;
    tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r7], 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r7], 6;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r7], 0, 16;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r7], 1, 5;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r7], 0, 32;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r7], 0, 16;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r7], 1, 8;
    tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r7], 1, 2;
    tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r7], 0;
    tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r7], 1;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r7], 1;
JOIN:
    bar.warp.sync -1;
    add.u32 %r7, %r1, 4096;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd8], [%r7], 128;
    fence.proxy.tensormap::generic.release.gpu;
    fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
    mov.b32 %r10, 0;
    mov.b32 %r11, 0;
    @!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 128;
    @!%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd3, {%r10, %r11}], [%r2];
W:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
    @!%p2 bra W;
    add.u64 %rd7, %rd2, %rd4;
    ld.shared.u32 %r12, [%r6];
    st.global.u32 [%rd7], %r12;
)",
                          "8.3");
  kernel.block = {32, 1, 1};
  kernel.dynamicShared = 8192 + 64;
  std::vector<uint8_t> in = pattern(5 * 32);
  kernel.arguments = {tensorMap(first, 1), buffer(in), output(128), buffer(std::vector<uint8_t>(128))};
  kernel.arguments[3].isCompared = false; // The bytes of a map differ between the emulator and a GPU.
  kernel.isDumped = false;                // As the first buffer's address is in it.
  std::vector<uint8_t> expected(128);
  for (uint32_t i = 0; i < 128;
       ++i) { // Rows 0, 2, 4 and one outside, of 32 bytes; swizzle 32B exchanges chunks from line 1 on.
    uint32_t row = i / 32 * 2, where = i ^ (i / 128 & 1) << 4;
    expected[where] = row < 5 ? in[row * 32 + i % 32] : i % 2 ? 0x7f : 0xf7;
  }
  EXPECT_EQ(runClean(kernel).buffers[2], expected);
}

TEST(TensorMapEdit, Refused) {
  auto refused = [](const std::string &body) { return refusal(kernelText("", body, "8.3")); };
  EXPECT_NE(refused("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r7], 4;").find("from 0 to 3"),
            std::string::npos);
  EXPECT_NE(refused("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r7], 4, 32;").find("from 0 to 3"),
            std::string::npos);
}

} // namespace
