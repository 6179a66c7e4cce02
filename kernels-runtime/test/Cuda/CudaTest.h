// Sessions over the fake driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fixture of the tests that run on FakeCuda.cpp: a fresh machine for each test, and the check that nothing is left
// alive behind it.
#ifndef WEFT_TEST_CUDATEST_H
#define WEFT_TEST_CUDATEST_H

#include "Cuda/DriverApi.h"
#include "FakeCuda.h"
#include "TestBundles.h"
#include "TestPaths.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace weft::test {

class CudaTest : public testing::Test {
protected:
  static FakeCuda &findFake() {
    void *library = ::dlopen(fakeCudaLibrary, RTLD_NOW | RTLD_LOCAL);
    auto get = library ? reinterpret_cast<FakeCuda *(*)()>(::dlsym(library, "weftFakeCuda")) : nullptr;
    if (!get)
      std::abort();
    return *get();
  }
  void SetUp() override {
    fake = FakeCuda();
    char name[] = "/tmp/weft-cuda-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override {
    expectNothingAlive();
    std::filesystem::remove_all(folder);
  }
  void expectNothingAlive() {
    EXPECT_EQ(fake.contexts, 0);
    EXPECT_EQ(fake.contextStack.size(), 0u);
    EXPECT_EQ(fake.streams.size(), 0u);
    EXPECT_EQ(fake.modules.size(), 0u);
    EXPECT_EQ(fake.linkers.size(), 0u);
    EXPECT_EQ(fake.events.size(), 0u);
    EXPECT_EQ(fake.graphs.size(), 0u);
    EXPECT_EQ(fake.executables.size(), 0u);
    EXPECT_EQ(fake.captures.size(), 0u);
    EXPECT_EQ(fake.memory.size(), 0u);
    EXPECT_EQ(fake.misuses, 0u);
  }
  std::string create(weft_bundle *bundle, const char *device, SessionPtr &session, const char *driver = fakeCudaLibrary,
                     bool launchesKernels = false, uint64_t memoryLimit = 0, bool isProfiled = false) {
    weft_session_options options = {sizeof options,  0, isProfiled, nullptr, memoryLimit, driver, cache.c_str(),
                                    launchesKernels, 0};
    weft_session *created = nullptr;
    std::string message = take(weft_session_create(bundle, device, &options, &created));
    session.reset(created);
    return message;
  }
  /// Creates a session on `device`, and runs it.
  std::string run(const char *device = "cuda", const char *driver = fakeCudaLibrary) {
    BundlePtr bundle = open(addBundle);
    SessionPtr session;
    std::string message = create(bundle.get(), device, session, driver);
    Floats a{{3}, {1, 2, 3}}, b{{3}, {10, 20, 30}}, y{{3}, {0, 0, 0}};
    weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
    if (message.empty())
      message = take(weft_session_run(session.get(), inputs, 2, &output, 1));
    if (message.empty())
      EXPECT_EQ(y.data, (std::vector<float>{21, 42, 63}));
    return message;
  }
  /// The message when `call` fails with `code`.
  std::string runFailing(const char *call, cuda::Result code, const char *log = "") {
    fake = FakeCuda();
    fake.failures[call] = code;
    fake.log = log;
    std::string message = run();
    expectNothingAlive();
    return message;
  }

  FakeCuda &fake = findFake();
  std::vector<uint8_t> addBundle = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}});
  std::string folder, cache; ///< `cache` empty: none.
};

} // namespace weft::test

#endif // WEFT_TEST_CUDATEST_H
