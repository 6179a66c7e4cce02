// Whole GEMMs through the asynchronous units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GEMM kernels of test/Emulator/Kernels, and (where WEFT_SAMPLES names their folder) the sample kernels of the
// project, against products in double. The faulty sample has to be caught.
#include "AsyncTestCard.h"
#include "Emulator/Numerics/FloatFormat.h"
#include "TestPaths.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>

using namespace weft;
using namespace weft::emu;
using namespace weft::emu::test;

namespace {

std::vector<uint16_t> randomHalves(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint16_t> halves(count);
  for (uint16_t &half : halves)
    half = uint16_t(encode(kF16, double(int(random() % 257) - 128) / 64, Rounding::NearestEven));
  return halves;
}

std::vector<double> decoded(const std::vector<uint16_t> &halves) {
  std::vector<double> values;
  for (uint16_t half : halves)
    values.push_back(decode(kF16, half));
  return values;
}

/// C [m, n] = A [m, k] B, with B [n, k] or, if `isRowMajorB`, [k, n].
std::vector<double> product(const std::vector<uint16_t> &a, const std::vector<uint16_t> &b, size_t m, size_t n,
                            size_t k, bool isRowMajorB) {
  std::vector<double> x = decoded(a), y = decoded(b), c(m * n);
  for (size_t i = 0; i < m; ++i)
    for (size_t l = 0; l < k; ++l)
      for (size_t j = 0; j < n; ++j)
        c[i * n + j] += x[i * k + l] * (isRowMajorB ? y[l * n + j] : y[j * k + l]);
  return c;
}

TensorMapSpec halfMap(uint64_t address, uint64_t inner, uint64_t outer, uint32_t boxOuter) {
  TensorMapSpec spec;
  spec.rank = 2;
  spec.globalAddress = address;
  spec.globalDim[0] = inner;
  spec.globalDim[1] = outer;
  spec.globalStrides[0] = inner * 2;
  spec.boxDim[0] = 64;
  spec.boxDim[1] = boxOuter;
  spec.swizzle = TensorMapSwizzle::Bytes128;
  spec.l2Promotion = TensorMapL2Promotion::Bytes128;
  return spec;
}

/// Elements of `c` that are further from `expected` than a sum of k products in f32 (and a rounding to f16 if `isHalf`)
/// explains.
size_t wrongElements(const std::vector<double> &expected, const std::vector<double> &c, size_t k, bool isHalf) {
  size_t wrong = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    double tolerance = std::fabs(expected[i]) * (isHalf ? 1.0 / 1024 : 1e-6) + 1e-5 * double(k);
    wrong += !(std::fabs(c[i] - expected[i]) <= tolerance);
  }
  return wrong;
}

std::string kernelFile(const std::string &name) {
  return readText(std::string(weft::test::kernelsPtx) + "/" + name + ".ptx");
}

TEST(GemmKernels, TensorCopiesAndWgmma) {
  AsyncTestCard card;
  std::string ptx = kernelFile("gemm_tma_wgmma");
  for (uint32_t k : {64u, 128u, 320u}) {
    std::vector<uint16_t> a = randomHalves(64 * k, 1), b = randomHalves(64 * k, 2);
    uint64_t aAt = card.upload(a), bAt = card.upload(b), cAt = card.allocate(64 * 64 * 4);
    std::vector<double> expected = product(a, b, 64, 64, k, false);
    everyTiming([&](const LaunchOptions &options, const std::string &what) {
      Arguments arguments;
      arguments.add(halfMap(aAt, k, 64, 64)).add(halfMap(bAt, k, 64, 64)).add(cAt).add(k);
      expectClean(card, ptx, "gemm_tma_wgmma", {{1, 1, 1}, {160, 1, 1}, {1, 1, 1}, 32800}, arguments, options, what);
      std::vector<float> c = card.download<float>(cAt, 64 * 64);
      EXPECT_EQ(wrongElements(expected, {c.begin(), c.end()}, k, false), 0u) << what << " k " << k;
    });
  }
}

TEST(GemmKernels, CopyAsyncAndMma) {
  AsyncTestCard card;
  std::string ptx = kernelFile("gemm_cp_async_mma");
  for (uint32_t k : {32u, 64u, 160u}) {
    std::vector<uint16_t> a = randomHalves(64 * k, 1), b = randomHalves(64 * k, 2);
    uint64_t aAt = card.upload(a), bAt = card.upload(b), cAt = card.allocate(64 * 64 * 4);
    std::vector<double> expected = product(a, b, 64, 64, k, false);
    everyTiming([&](const LaunchOptions &options, const std::string &what) {
      Arguments arguments;
      arguments.add(aAt).add(bAt).add(cAt).add(k);
      expectClean(card, ptx, "gemm_cp_async_mma", {{1, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0}, arguments, options, what);
      std::vector<float> c = card.download<float>(cAt, 64 * 64);
      EXPECT_EQ(wrongElements(expected, {c.begin(), c.end()}, k, false), 0u) << what << " k " << k;
    });
  }
}

/// A text edit that makes a fault; the text must be there.
std::string edited(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Runs the two-stage kernel after an edit, late. Returns whether the product is right.
bool isRightAfter(AsyncTestCard &card, const std::string &from, const std::string &to) {
  const uint32_t k = 320;
  std::vector<uint16_t> a = randomHalves(64 * k, 1), b = randomHalves(64 * k, 2);
  uint64_t cAt = card.allocate(64 * 64 * 4);
  Arguments arguments;
  arguments.add(halfMap(card.upload(a), k, 64, 64)).add(halfMap(card.upload(b), k, 64, 64)).add(cAt).add(k);
  LaunchOptions options;
  options.timing = AsyncTiming::Late;
  card.launch(edited(kernelFile("gemm_tma_wgmma"), from, to), "gemm_tma_wgmma",
              {{1, 1, 1}, {160, 1, 1}, {1, 1, 1}, 32800}, arguments, options);
  EXPECT_FALSE(card.error) << card.error.getMessage();
  std::vector<float> c = card.download<float>(cAt, 64 * 64);
  return wrongElements(product(a, b, 64, 64, k, false), {c.begin(), c.end()}, k, false) == 0;
}

TEST(GemmKernels, MissingWaitsAreWrongAndFound) {
  AsyncTestCard card;
  // The accumulators are stored before the last wgmma has happened, and stages are released too early.
  EXPECT_FALSE(isRightAfter(card, "wgmma.wait_group.sync.aligned 0;", ""));
  EXPECT_TRUE(card.hasFinding("wgmma-unfinished")) << card.findings();
  // Without wgmma.fence the product happens to be right here; it is a finding all the same.
  isRightAfter(card, "wgmma.fence.sync.aligned;", "");
  EXPECT_TRUE(card.hasFinding("wgmma-fence")) << card.findings();
  // Nobody waits for the tiles.
  EXPECT_FALSE(isRightAfter(card, "mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r9+32768], %r7;",
                            "setp.eq.u32 %p5, %r1, %r1;"));
}

//===--------------------------------------------------------------------------------------------------------------===//
// The project's sample kernels
//===--------------------------------------------------------------------------------------------------------------===//

std::string sampleFile(const std::string &name) {
  const char *folder = std::getenv("WEFT_SAMPLES");
  return folder ? readText(std::string(folder) + "/" + name + ".ptx") : "";
}

struct SampleRun {
  size_t wrong = 0;
  double seconds = 0;
};

/// Runs a sm_90 sample on [m, k] x [n, k]; `grid` CTAs.
SampleRun runSample90(AsyncTestCard &card, const std::string &ptx, const std::string &name, size_t m, size_t n,
                      size_t k, uint32_t cluster, const LaunchOptions &options) {
  std::vector<uint16_t> a = randomHalves(m * k, 3), b = randomHalves(n * k, 4);
  uint64_t cAt = card.allocate(m * n * 2);
  uint32_t grid = std::min<uint32_t>(132, uint32_t(m / 128 * (n / 256)));
  Arguments arguments;
  arguments.add(halfMap(card.upload(a), k, m, 128))
      .add(halfMap(card.upload(b), k, n, 256 / cluster))
      .add(halfMap(cAt, n, m, 64))
      .add(int32_t(m))
      .add(int32_t(n))
      .add(int32_t(k));
  auto start = std::chrono::steady_clock::now();
  card.launch(ptx, name, {{grid - grid % cluster, 1, 1}, {384, 1, 1}, {cluster, 1, 1}, 229440}, arguments, options);
  SampleRun run;
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.wrong = wrongElements(product(a, b, m, n, k, false), decoded(card.download<uint16_t>(cAt, m * n)), k, true);
  return run;
}

class Samples90 : public testing::TestWithParam<const char *> {};

TEST_P(Samples90, AreRight) {
  std::string name = GetParam(), ptx = sampleFile(name);
  if (ptx.empty())
    GTEST_SKIP() << "WEFT_SAMPLES names no folder with " << name << ".ptx";
  uint32_t cluster = name == "gemm_sm90_c1" ? 1 : 2;
  AsyncTestCard card;
  const size_t shapes[][3] = {{256, 256, 64}, {256, 256, 128}, {256, 512, 320}};
  for (const size_t *shape : {shapes[0], shapes[1], shapes[2]})
    for (AsyncTiming timing : {AsyncTiming::Late, AsyncTiming::Random, AsyncTiming::Early}) {
      LaunchOptions options;
      options.timing = timing;
      SampleRun run = runSample90(card, ptx, name, shape[0], shape[1], shape[2], cluster, options);
      EXPECT_FALSE(card.error) << card.error.getMessage();
      EXPECT_EQ(run.wrong, 0u) << shape[0] << "x" << shape[1] << "x" << shape[2] << " timing " << unsigned(timing);
      EXPECT_TRUE(card.result.findings.empty()) << card.findings();
    }
}

INSTANTIATE_TEST_SUITE_P(All, Samples90, testing::Values("gemm_sm90_c1", "gemm_sm90_c2", "gemm_sm90_c2_rts"));

TEST(Samples, LargeProductIsFast) {
  std::string ptx = sampleFile("gemm_sm90_c1");
  if (ptx.empty())
    GTEST_SKIP() << "WEFT_SAMPLES names no folder with gemm_sm90_c1.ptx";
  AsyncTestCard card;
  SampleRun run = runSample90(card, ptx, "gemm_sm90_c1", 512, 768, 1024, 1, LaunchOptions());
  EXPECT_FALSE(card.error) << card.error.getMessage();
  EXPECT_EQ(run.wrong, 0u);
  EXPECT_TRUE(card.result.findings.empty()) << card.findings();
  RecordProperty("seconds", std::to_string(run.seconds));
  EXPECT_LT(run.seconds, 15.0);
}

TEST(Samples, FaultyOneIsCaught) {
  std::string ptx = sampleFile("gemm_sm90_c1_rs");
  if (ptx.empty())
    GTEST_SKIP() << "WEFT_SAMPLES names no folder with gemm_sm90_c1_rs.ptx";
  AsyncTestCard card;
  bool isWrong = false, isFound = false;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    LaunchOptions options;
    options.seed = seed;
    isWrong |= runSample90(card, ptx, "gemm_sm90_c1_rs", 256, 512, 640, 1, options).wrong != 0;
    isFound |= card.hasFinding("async-overlap");
  }
  EXPECT_TRUE(isFound) << card.findings();
  EXPECT_TRUE(isWrong);
}

TEST(Samples, Sm80IsRight) {
  std::string ptx = sampleFile("gemm_sm80");
  if (ptx.empty())
    GTEST_SKIP() << "WEFT_SAMPLES names no folder with gemm_sm80.ptx";
  AsyncTestCard card;
  for (size_t k : {64u, 160u})
    for (AsyncTiming timing : {AsyncTiming::Late, AsyncTiming::Random}) {
      const size_t m = 256, n = 128;
      std::vector<uint16_t> a = randomHalves(m * k, 3), b = randomHalves(n * k, 4);
      uint64_t cAt = card.allocate(m * n * 2);
      Arguments arguments;
      arguments.add(card.upload(a)).add(card.upload(b)).add(cAt).add(int64_t(m)).add(int64_t(n)).add(int64_t(k));
      LaunchOptions options;
      options.timing = timing;
      card.launch(ptx, "gemm_sm80", {{uint32_t(n / 128), uint32_t(m / 128), 1}, {128, 1, 1}, {1, 1, 1}, 0}, arguments,
                  options);
      EXPECT_FALSE(card.error) << card.error.getMessage();
      EXPECT_TRUE(card.result.findings.empty()) << card.findings();
      EXPECT_EQ(wrongElements(product(a, b, m, n, k, true), decoded(card.download<uint16_t>(cAt, m * n)), k, true), 0u);
    }
}

} // namespace
