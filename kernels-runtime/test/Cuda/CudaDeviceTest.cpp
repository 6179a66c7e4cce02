// The CUDA device over the fake driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sessions on `cuda` through the C ABI: results, launches as the driver sees them, every message, the cache of compiled
// code, and that nothing is left alive whatever call fails.
#include "CudaTest.h"

#include <cstring>

using namespace weft;
using namespace weft::test;
using namespace weft::cuda;

namespace {
class CudaDeviceTest : public CudaTest {};
} // namespace

TEST_F(CudaDeviceTest, RunsWithAndWithoutMemoryPools) {
  for (int pools : {0, 1})
    for (const char *device : {"cuda", "cuda:0", "cuda:1"}) {
      fake = FakeCuda();
      fake.pools = pools;
      EXPECT_EQ(run(device), "");
      EXPECT_EQ(fake.calls["cuMemAllocAsync"] > 0, pools == 1);
      EXPECT_EQ(fake.calls["cuMemAlloc"] > 0, pools == 0);
      EXPECT_EQ(fake.launches.size(), 2u);
      expectNothingAlive();
    }
}

TEST_F(CudaDeviceTest, ChoosesCodeForTheCard) {
  std::vector<uint8_t> bytes = buildGpuBundle(
      {{"sm_80", makeAddPtx("sm_80")}, {"sm_86", makeAddPtx("sm_86")}, {"sm_90a", makeAddPtx("sm_90a")}});
  BundlePtr bundle = open(bytes);
  const std::tuple<int, int, const char *> expected[] = {
      {8, 0, "sm_80"}, {8, 9, "sm_86"}, {9, 0, "sm_90a"}, {12, 0, "sm_86"}};
  for (auto [major, minor, code] : expected) {
    fake.major = major;
    fake.minor = minor;
    BundlePtr fresh = open(bytes); // Code is shared by the sessions of a bundle.
    SessionPtr session;
    ASSERT_EQ(create(fresh.get(), "cuda", session), "");
    EXPECT_STREQ(weft_session_code(session.get()), code);
  }
  fake.major = 7, fake.minor = 5;
  SessionPtr session;
  EXPECT_EQ(create(bundle.get(), "cuda", session),
            "expected code for sm_75, the bundle has sm_80, sm_86, sm_90a; compile the model with --target=sm_75");
}

TEST_F(CudaDeviceTest, SharesCodeBetweenSessions) {
  BundlePtr bundle = open(addBundle);
  SessionPtr first, second, other;
  ASSERT_EQ(create(bundle.get(), "cuda", first), "");
  ASSERT_EQ(create(bundle.get(), "cuda:0", second), "");
  EXPECT_EQ(fake.compilations, 1u);
  ASSERT_EQ(create(bundle.get(), "cuda:1", other), "");
  EXPECT_EQ(fake.compilations, 2u);
}

/// What kernels count in it would be mixed up by sessions that run at the same time.
TEST_F(CudaDeviceTest, DoesNotShareCodeWithVariables) {
  std::string ptx = makeAddPtx("sm_80");
  ptx.insert(ptx.find(".visible"), ".global .align 8 .b8 counters[16];\n");
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", ptx}});
  BundlePtr bundle = open(bytes);
  SessionPtr first, second;
  ASSERT_EQ(create(bundle.get(), "cuda", first), "");
  ASSERT_EQ(create(bundle.get(), "cuda", second), "");
  EXPECT_EQ(fake.modules.size(), 2u);
}

TEST_F(CudaDeviceTest, LaunchesAsTheBundleSays) {
  std::vector<uint8_t> bytes = buildTileBundle();
  BundlePtr bundle = open(bytes);
  SessionPtr session;
  ASSERT_EQ(create(bundle.get(), "cuda", session), "");
  Floats x{{150, 32}, std::vector<float>(150 * 32)};
  weft_tensor input = x.view(), output = {};
  ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
  EXPECT_EQ(fake.attributes["k0"], (std::map<int, int>{{MaxDynamicSharedBytes, 98368}}));
  ASSERT_EQ(fake.launches.size(), 1u);
  const FakeLaunch &launch = fake.launches[0];
  EXPECT_EQ(launch.function, "k0");
  EXPECT_EQ(launch.grid, 6u);
  EXPECT_EQ(launch.block, 32u);
  EXPECT_EQ(launch.sharedBytes, 98368u);
  EXPECT_EQ(launch.cluster, 2u);
  ASSERT_EQ(launch.parameters.size(), 6u); // x, y, three scalars, a tensor map.
  uint64_t words[5];
  for (size_t i = 0; i < 5; ++i)
    std::memcpy(&words[i], launch.parameters[i].data(), sizeof words[i]);
  EXPECT_TRUE(fake.memory.count(words[0]) && fake.memory.count(words[1]));
  EXPECT_EQ(std::vector<uint64_t>(words + 2, words + 5), (std::vector<uint64_t>{150, 32, 128}));
  EXPECT_EQ(launch.parameters[5], std::vector<uint8_t>(128, 0xAB));
  EXPECT_TRUE(launch.isAligned);
  ASSERT_EQ(fake.maps.size(), 1u);
  const FakeTensorMap &map = fake.maps[0];
  EXPECT_TRUE(map.isAligned);
  EXPECT_EQ(map.address, words[0]);
  EXPECT_EQ(std::vector<int>({map.type, map.swizzle, map.interleave, map.promotion, map.fill}),
            (std::vector<int>{7, 0, 0, 2, 0}));
  EXPECT_EQ(map.dims, (std::vector<uint64_t>{32, 150}));
  EXPECT_EQ(map.strides, (std::vector<uint64_t>{128}));
  EXPECT_EQ(map.box, (std::vector<uint32_t>{32, 32}));
}

TEST_F(CudaDeviceTest, ChecksTheNumberOfParameters) {
  std::string text = makeAddPtx("sm_80");
  text.replace(text.find(", .param .s64 n"), 0, ", .param .u64 more");
  addBundle = buildGpuBundle({{"sm_80", text}});
  EXPECT_EQ(run(), "kernel \"add\": expected 5 parameters, got 4");
  EXPECT_TRUE(fake.launches.empty());
}

TEST_F(CudaDeviceTest, LargeClustersAreAskedFor) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_90a", makeAddPtx("sm_90a")}}, 16);
  BundlePtr bundle = open(bytes);
  SessionPtr session;
  ASSERT_EQ(create(bundle.get(), "cuda", session), "");
  EXPECT_EQ(fake.attributes["k0"], (std::map<int, int>{{NonPortableClusterAllowed, 1}}));
}

/// The GPU has four SMs, each of which holds two.
TEST_F(CudaDeviceTest, CtasThatWaitForEachOtherMustFit) {
  for (uint32_t ctas : {8, 9}) {
    std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}}, 1, false, ctas);
    BundlePtr bundle = open(bytes);
    SessionPtr session;
    EXPECT_EQ(create(bundle.get(), "cuda", session),
              ctas == 8
                  ? ""
                  : "kernel \"add\": expected a GPU that holds at once the 9 CTAs that wait for each other, got 4 "
                    "SMs with 2 each; compile for this GPU, or with --merge-launches=independent");
  }
}

TEST_F(CudaDeviceTest, NamesOfDevices) {
  for (const char *bad : {"cuda:", "cuda:x", "cudas", "cuda:-1", "cuda:1x", "cuda:99999999999", "cuda0"})
    EXPECT_EQ(run(bad),
              std::string("expected the device cuda or cuda:N with the number of a GPU, got \"") + bad + "\"");
  EXPECT_EQ(run("cuda:2"), "no device cuda:2: the driver shows 2, the last of them cuda:1; nvidia-smi and "
                           "CUDA_VISIBLE_DEVICES show which GPUs there are");
  fake.devices = 0;
  EXPECT_EQ(run(), "cuDeviceGetCount: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected); nvidia-smi and "
                   "CUDA_VISIBLE_DEVICES show which GPUs there are; the device \"cpu\" needs none");
}

TEST_F(CudaDeviceTest, TellsAboutTheLibrary) {
  EXPECT_EQ(
      run("cuda", "/nowhere/libcuda.so.1"),
      "the CUDA driver could not be loaded: /nowhere/libcuda.so.1: cannot open shared object file: No such file or "
      "directory; install the NVIDIA driver, or use the device \"cpu\"");
  EXPECT_EQ(run("cuda", kernelsLibrary),
            "the CUDA driver \"" + std::string(kernelsLibrary) +
                "\" has no cuGetErrorName; update the NVIDIA driver to one of CUDA 12.0 or later");
}

TEST_F(CudaDeviceTest, TellsWhatFailed) {
  EXPECT_EQ(
      runFailing("cuInit", result::NoDevice),
      "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected); nvidia-smi and CUDA_VISIBLE_DEVICES show "
      "which GPUs there are; the device \"cpu\" needs none");
  EXPECT_EQ(runFailing("cuModuleLoadDataEx", result::UnsupportedPtxVersion),
            "GPU code for sm_80, PTX 8.0: cuModuleLoadDataEx: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the provided PTX was "
            "compiled "
            "with an unsupported toolchain.); update the NVIDIA driver, which supports CUDA 12.4");
  EXPECT_EQ(runFailing("cuModuleLoadDataEx", result::JitCompilerNotFound),
            "GPU code for sm_80, PTX 8.0: cuModuleLoadDataEx: CUDA_ERROR_JIT_COMPILER_NOT_FOUND (PTX JIT compiler "
            "library not "
            "found); install libnvidia-ptxjitcompiler of the driver's version");
  EXPECT_EQ(
      runFailing("cuModuleLoadDataEx", result::InvalidPtx,
                 "ptxas application ptx input, line 4; fatal   : Parsing error\n\n  ptxas fatal: \x1b[31maborted\n"),
      "GPU code for sm_80, PTX 8.0: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed): ptxas "
      "application ptx input, line 4; fatal   : Parsing error; ptxas fatal: [31maborted");
  EXPECT_EQ(runFailing("cuModuleGetFunction", result::NotFound),
            "kernel \"add\": cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (named symbol not found)");
  EXPECT_EQ(
      runFailing("cuMemAllocAsync", result::OutOfMemory),
      "12 bytes of an input: cuMemAllocAsync: CUDA_ERROR_OUT_OF_MEMORY (out of memory); use smaller shapes, or free "
      "memory of the GPU (nvidia-smi shows who holds it)");
  EXPECT_EQ(runFailing("cuLaunchKernelEx", result::LaunchOutOfResources),
            "kernel \"add\": cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (too many resources requested for "
            "launch); the kernel needs more registers or shared memory than the GPU has");
  EXPECT_EQ(runFailing("cuStreamSynchronize", result::IllegalAddress),
            "cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered); this process "
            "cannot use the GPU any more; --device=emu:GPU finds the instruction");
  EXPECT_EQ(runFailing("cuStreamCreate", 12345), "cuStreamCreate: error 12345");
  cache = folder;
  EXPECT_EQ(runFailing("cuLinkAddData", result::InvalidPtx, "line 4: nonsense\n"),
            "GPU code for sm_80, PTX 8.0: cuLinkAddData: CUDA_ERROR_INVALID_PTX (a PTX JIT compilation failed): line "
            "4: nonsense");
}

TEST_F(CudaDeviceTest, CodesOfErrors) {
  const std::tuple<const char *, Result, int> expected[] = {
      {"cuMemAllocAsync", result::OutOfMemory, WEFT_ERROR_RESOURCE},
      {"cuModuleLoadDataEx", result::InvalidPtx, WEFT_ERROR_INPUT},
      {"cuInit", result::NoDevice, WEFT_ERROR_DEVICE}};
  for (auto [call, code, exitCode] : expected) {
    fake = FakeCuda();
    fake.failures[call] = code;
    BundlePtr bundle = open(addBundle);
    weft_session_options options = {sizeof options, 0, 0, nullptr, 0, fakeCudaLibrary, "", 0, 0};
    weft_session *session = nullptr;
    weft_error *error = weft_session_create(bundle.get(), "cuda", &options, &session);
    SessionPtr owner(session);
    Floats a{{3}, {1, 2, 3}};
    weft_tensor inputs[] = {a.view(), a.view()}, output = {};
    if (!error)
      error = weft_session_run(session, inputs, 2, &output, 1);
    EXPECT_EQ(weft_error_code(error), exitCode) << call;
    weft_error_free(error);
  }
}

TEST_F(CudaDeviceTest, NothingLeaksWhateverFails) {
  constexpr Result unknown = 999;
  for (int pools : {0, 1})
    for (bool isCached : {false, true}) {
      fake = FakeCuda();
      fake.pools = pools;
      cache = isCached ? folder + "/reference" + std::to_string(pools) : "";
      ASSERT_EQ(run(), "");
      size_t failed = 0;
      for (const auto &[call, count] : std::map<std::string, int>(fake.calls)) {
        // Calls that give something back cannot tell of a failure.
        if (call.find("Free") != call.npos || call.find("Destroy") != call.npos || call == "cuModuleUnload" ||
            call == "cuDevicePrimaryCtxRelease" || call == "cuCtxPopCurrent")
          continue;
        fake = FakeCuda();
        fake.pools = pools;
        fake.failures[call] = unknown;
        cache = isCached ? folder + "/" + call + std::to_string(pools) : "";
        std::string message = run();
        EXPECT_NE(message.find(call + ": CUDA_ERROR_UNKNOWN (unknown error)"), message.npos) << call << ": " << message;
        expectNothingAlive();
        ++failed;
      }
      EXPECT_GE(failed, 14u);
    }
}

TEST_F(CudaDeviceTest, KeepsCompiledCode) {
  cache = folder + "/cubin";
  auto compiles = [&] {
    unsigned before = fake.compilations;
    EXPECT_EQ(run(), "");
    return fake.compilations - before;
  };
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(compiles(), 0u);
  EXPECT_EQ(fake.calls["cuLinkComplete"], 1);
  fake.version = 12050;
  EXPECT_EQ(compiles(), 1u);
  fake.minor = 3; // sm_93a runs the code for sm_80 too.
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(compiles(), 0u);
  addBundle = buildGpuBundle({{"sm_80", makeAddPtx("sm_80") + "// other\n"}});
  EXPECT_EQ(compiles(), 1u);
  // Damaged: compiled anew, and then right again.
  for (const auto &entry : std::filesystem::directory_iterator(cache))
    std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(compiles(), 0u);
  // The folder is not the user's alone: not used.
  std::filesystem::permissions(cache, std::filesystem::perms(0755));
  EXPECT_EQ(compiles(), 1u);
  EXPECT_EQ(compiles(), 1u);
}

// The linker would ignore setmaxnreg and serialise wgmma.
TEST_F(CudaDeviceTest, LoadsCodeForWarpgroupsDirectly) {
  cache = folder + "/cubin";
  for (const char *word : {"// setmaxnreg.inc\n", "// wgmma.fence\n"}) {
    addBundle = buildGpuBundle({{"sm_80", makeAddPtx("sm_80") + word}});
    EXPECT_EQ(run(), "");
  }
  EXPECT_EQ(fake.calls["cuLinkCreate"], 0);
  EXPECT_EQ(fake.compilations, 2u);
}

TEST_F(CudaDeviceTest, CompilesAnewWhatTheDriverRefuses) {
  cache = folder + "/cubin";
  EXPECT_EQ(run(), "");
  fake.refusesCubins = true;
  EXPECT_EQ(
      run(),
      "GPU code for sm_80, PTX 8.0: cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (device kernel image is invalid)");
  EXPECT_EQ(fake.compilations, 2u);
  fake.refusesCubins = false;
  EXPECT_EQ(run(), "");
  EXPECT_EQ(fake.compilations, 3u); // The refused file is gone.
}
