// GPU code on a real GPU, and on the emulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same bundles on the emulated and on the real machine: WEFT_TEST_DEVICE=cuda:0 runs every test on that device as
// well.
#include "Cuda/CubinCache.h"
#include "TestBundles.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {
class GpuDevice : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (GetParam())
      device = GetParam();
    else if (const char *named = std::getenv("WEFT_TEST_DEVICE"))
      device = named;
    else
      GTEST_SKIP() << "WEFT_TEST_DEVICE names no device";
    char name[] = "/tmp/weft-cubin-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override {
    if (!folder.empty())
      std::filesystem::remove_all(folder);
  }
  std::string create(weft_bundle *bundle, SessionPtr &session, const std::string &cache) {
    weft_session_options options = {sizeof options, 0, 0, nullptr, 0, nullptr, cache.c_str(), 0, 0};
    weft_session *created = nullptr;
    std::string message = take(weft_session_create(bundle, device.c_str(), &options, &created));
    session.reset(created);
    return message;
  }
  std::string device, folder;
};
} // namespace

TEST_P(GpuDevice, AddsWithAndWithoutTheCache) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}});
  for (const std::string &cache : {std::string(), folder, folder}) {
    BundlePtr bundle = open(bytes);
    SessionPtr session;
    ASSERT_EQ(create(bundle.get(), session, cache), "");
    EXPECT_STREQ(weft_session_code(session.get()), "sm_80");
    for (int64_t n : {1, 128, 100000, 300}) {
      Floats a{{n}, std::vector<float>(size_t(n))}, b{{n}, std::vector<float>(size_t(n), 10)};
      for (int64_t i = 0; i < n; ++i)
        a.data[size_t(i)] = float(i);
      weft_tensor inputs[] = {a.view(), b.view()}, output = {};
      ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(static_cast<float *>(output.data)[i], float(i) + 20) << n;
    }
  }
}

TEST_P(GpuDevice, LoadsTilesInClusters) {
  std::vector<uint8_t> bytes = buildTileBundle();
  for (const std::string &cache : {std::string(), folder, folder}) {
    BundlePtr bundle = open(bytes);
    SessionPtr session;
    ASSERT_EQ(create(bundle.get(), session, cache), "");
    constexpr int64_t rows = 150, columns = 32;
    Floats x{{rows, columns}, {}}, y{{rows, columns}, std::vector<float>(size_t(rows * columns))};
    for (int64_t i = 0; i < rows * columns; ++i)
      x.data.push_back(float(i));
    weft_tensor input = x.view(), output = y.view();
    ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
    for (int64_t i = 0; i < rows * columns; ++i)
      ASSERT_EQ(y.data[size_t(i)], float(i) + 2) << i;
  }
}

TEST_P(GpuDevice, RefusesBrokenCode) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", ".version 8.0\n.target sm_80\n.address_size 64\nnonsense"}});
  for (const std::string &cache : {std::string(), folder}) {
    BundlePtr bundle = open(bytes);
    SessionPtr session;
    std::string message = create(bundle.get(), session, cache);
    RecordProperty("message", message);
    EXPECT_NE(message.find("sm_80"), message.npos) << message;
    EXPECT_NE(message.find("4"), message.npos) << "the line: " << message;
  }
}

TEST_P(GpuDevice, RunsAgainAndAgain) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}});
  BundlePtr bundle = open(bytes);
  SessionPtr session;
  ASSERT_EQ(create(bundle.get(), session, folder), "");
  bool isCard = device.substr(0, 4) == "cuda";
  // Shapes that come again, host tensors; and on a GPU outputs there that the next run takes, on its default stream.
  std::vector<void *> taken;
  for (int round = 0; round < 5; ++round)
    for (int64_t n : {1000, 77}) {
      Floats a{{n}, std::vector<float>(size_t(n), float(round))}, b{{n}, std::vector<float>(size_t(n), 10)};
      weft_tensor inputs[] = {a.view(), b.view()}, output = {};
      ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
      EXPECT_EQ(static_cast<float *>(output.data)[n - 1], float(round) + 20);
      if (!isCard)
        continue;
      weft_tensor onCard = {};
      onCard.memory = WEFT_MEMORY_CUDA;
      ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &onCard, 1)), "");
      taken.push_back(nullptr);
      ASSERT_EQ(take(weft_session_take_output(session.get(), 0, 1, &taken.back())), "");
      inputs[0] = onCard;
      inputs[0].dims = &n;
      weft_tensor second = {};
      second.memory = WEFT_MEMORY_CUDA;
      ASSERT_EQ(take(weft_session_run_on(session.get(), nullptr, inputs, 2, &second, 1)), "");
      std::vector<float> values(static_cast<size_t>(n));
      ASSERT_EQ(take(weft_session_copy_to_host(session.get(), values.data(), second.data, second.bytes)), "");
      for (float value : values)
        ASSERT_EQ(value, float(round) + 40);
    }
  for (void *managed : taken)
    weft_dlpack_release(managed, 1);
  weft_statistics statistics = {};
  statistics.struct_size = sizeof statistics;
  weft_session_statistics(session.get(), &statistics);
  EXPECT_EQ(statistics.graphs_refused, 0u);
  EXPECT_EQ(statistics.graphs_run > 0, isCard);
  RecordProperty("graphs",
                 std::to_string(statistics.graphs_made) + " made, " + std::to_string(statistics.graphs_run) + " run");
}

TEST_P(GpuDevice, ChainsAreInOrder) {
  for (bool isEarly : {false, true}) {
    std::vector<uint8_t> bytes = buildChainBundle(64, isEarly);
    BundlePtr bundle = open(bytes);
    SessionPtr session;
    ASSERT_EQ(create(bundle.get(), session, folder), "");
    constexpr int64_t n = 3000;
    for (int run = 0; run < 4; ++run) {
      Floats a{{n}, std::vector<float>(n, float(run))}, b{{n}, std::vector<float>(n, 1)};
      weft_tensor inputs[] = {a.view(), b.view()}, output = {};
      ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(static_cast<float *>(output.data)[i], float(run) + 64) << isEarly << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, GpuDevice, testing::Values("emu:sm_90a"));
INSTANTIATE_TEST_SUITE_P(Named, GpuDevice, testing::Values(nullptr));
