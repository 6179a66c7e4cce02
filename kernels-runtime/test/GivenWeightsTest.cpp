// External weights in the caller's memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cuda/CudaTest.h"
#include "weft/Bundle/Builder.h"

#include <numeric>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {
constexpr int64_t kBytes = 12;
using Bytes = std::vector<uint8_t>;

class GivenWeightsTest : public CudaTest {
protected:
  void SetUp() override {
    CudaTest::SetUp();
    std::iota(file, file + sizeof file, uint8_t(0));
  }
  void TearDown() override {
    bundle.reset();
    CudaTest::TearDown();
  }
  weft_weights give(int32_t memory, int32_t card = 0) { return {"given/w", file, sizeof file, memory, card}; }
  /// The message of opening a bundle whose weights begin at `offset`.
  std::string open(std::vector<weft_weights> weights, uint64_t offset = 64, bool verify = false) {
    bytes = buildOrdersBundle(
        [&](Builder &builder) { return builder.addExternalWeight("w", "given/w", offset, kBytes, {}); });
    weft_bundle_options options = {sizeof options, verify, "/nowhere", weights.data(), weights.size()};
    weft_bundle *opened = nullptr;
    std::string message = take(weft_bundle_open_memory(bytes.data(), bytes.size(), &options, &opened));
    bundle.reset(opened);
    return message;
  }
  /// What an entry gives on a device; the message instead, as text in bytes, if there is no session.
  Bytes run(const char *entry, const char *device) {
    weft_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.entry = entry;
    options.cuda_driver = fakeCudaLibrary;
    weft_session *created = nullptr;
    message = take(weft_session_create(bundle.get(), device, &options, &created));
    SessionPtr session(created);
    if (!session)
      return {};
    weft_tensor output = {};
    message = take(weft_session_run(session.get(), nullptr, 0, &output, 1));
    const auto *data = static_cast<const uint8_t *>(output.data);
    return data ? Bytes(data, data + kBytes) : Bytes();
  }

  alignas(64) uint8_t file[128];
  Bytes bytes;
  BundlePtr bundle;
  std::string message;
  const Bytes stored = {64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75},
              seen = {64, 70, 65, 71, 66, 72, 67, 73, 68, 74, 69, 75};
};
} // namespace

TEST_F(GivenWeightsTest, OfTheHostServeAllDevices) {
  ASSERT_EQ(open({give(WEFT_MEMORY_HOST)}), "");
  for (const char *device : {"cpu", "cuda", "emu:sm_80"}) {
    EXPECT_EQ(run("stored", device), stored) << device << message;
    EXPECT_EQ(run("seen", device), seen) << device << message;
  }
}

TEST_F(GivenWeightsTest, OfACardStayWhereTheyAre) {
  ASSERT_EQ(open({give(WEFT_MEMORY_CUDA)}), "");
  EXPECT_EQ(run("stored", "cuda"), stored) << message;
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"] + fake.calls["cuMemcpyDtoDAsync"], 1) << "the entry's own copy";
  file[64] = 0; // Nothing else holds it.
  EXPECT_EQ(run("stored", "cuda").front(), 0) << message;
}

TEST_F(GivenWeightsTest, OfACardAreOrderedThere) {
  ASSERT_EQ(open({give(WEFT_MEMORY_CUDA)}), "");
  EXPECT_EQ(run("seen", "cuda"), seen) << message;
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"], 0);
  for (const char *call : {"cuLaunchKernelEx", "cuModuleGetFunction"}) {
    fake.failures = {{call, 999}};
    ASSERT_EQ(open({give(WEFT_MEMORY_CUDA)}), "");
    EXPECT_EQ(run("seen", "cuda"), Bytes());
    EXPECT_NE(message.find(std::string(call) + ": CUDA_ERROR_UNKNOWN (unknown error)"), std::string::npos) << message;
    EXPECT_EQ(fake.memory.size(), 0u);
  }
}

TEST_F(GivenWeightsTest, OfACardAtOddPlacesAreCopied) {
  ASSERT_EQ(open({give(WEFT_MEMORY_CUDA)}, 65), "");
  EXPECT_EQ(run("stored", "cuda").front(), 65) << message;
  file[65] = 0; // The bundle's copy is what counts now.
  EXPECT_EQ(run("stored", "cuda").front(), 65) << message;
}

TEST_F(GivenWeightsTest, OfACardAreForItsSessions) {
  ASSERT_EQ(open({give(WEFT_MEMORY_CUDA, 0)}), "");
  for (const char *device : {"cpu", "cuda:1", "emu:sm_80"}) {
    EXPECT_EQ(run("stored", device), Bytes());
    EXPECT_EQ(message.find("weight \"w\": expected memory of the host or of the session's device " +
                           std::string(device).substr(0, 3)),
              0u)
        << message;
  }
  EXPECT_EQ(open({give(WEFT_MEMORY_CUDA)}, 64, true),
            "weight \"w\": expected weights of the host's memory to verify, got those of GPU 0");
}

TEST_F(GivenWeightsTest, AreChecked) {
  EXPECT_EQ(open({give(WEFT_MEMORY_HOST)}, 120),
            "weight \"w\": expected bytes [120, +12) in file \"given/w\", got a file of 128 bytes");
  EXPECT_EQ(open({give(WEFT_MEMORY_HOST)}, 64, true),
            "weight \"w\": hash mismatch: file \"given/w\" is not the one this model was compiled with");
  EXPECT_EQ(open({give(WEFT_MEMORY_HOST), give(WEFT_MEMORY_HOST)}),
            "weights in memory: expected each location once, got \"given/w\" twice");
  EXPECT_EQ(open({give(7)}), "weights in memory: expected memory of the host or of a GPU");
  EXPECT_EQ(open({give(WEFT_MEMORY_CUDA, -1)}), "weights in memory: expected memory of the host or of a GPU");
  EXPECT_EQ(open({{"given/w", nullptr, 1, WEFT_MEMORY_HOST, 0}}),
            "weights in memory: the location or the data is null");
  EXPECT_EQ(open({{nullptr, file, 1, WEFT_MEMORY_HOST, 0}}), "weights in memory: the location or the data is null");
  EXPECT_NE(open({{"given/v", file, 1, WEFT_MEMORY_HOST, 0}}).find("\"given/w\" in folder \"/nowhere\""),
            std::string::npos);
  weft_bundle_options options = {sizeof options, 0, nullptr, nullptr, 1};
  weft_bundle *opened = nullptr;
  EXPECT_EQ(take(weft_bundle_open_memory(bytes.data(), bytes.size(), &options, &opened)),
            "the list of weights is null");
}
