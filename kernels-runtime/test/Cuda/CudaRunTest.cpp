// Graphs, streams and device pointers over the fake driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens over several runs of a session: recording and replay, the order of work over streams of the caller,
// tensors that lie on the GPU, weights that stay there, and limits of memory.
#include "CudaTest.h"
#include "Session/DlPack.h"

#include <cstring>

using namespace weft;
using namespace weft::test;
using namespace weft::cuda;

namespace {
/// Floats in the "memory of the GPU", which is the host's here.
struct CardFloats {
  alignas(64) float values[300] = {};
  int64_t count;
  explicit CardFloats(int64_t count = 3, float first = 0) : count(count) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = first + float(i);
  }
  weft_tensor view(int32_t card = 0, int64_t skip = 0) {
    return {WEFT_F32, 1, &count, values + skip, uint64_t(count) * sizeof(float), WEFT_MEMORY_CUDA, card};
  }
};

class CudaRunTest : public CudaTest {
protected:
  void open(bool launchesKernels = false, uint64_t memoryLimit = 0) {
    session.reset();
    bundle = test::open(addBundle);
    ASSERT_EQ(create(bundle.get(), "cuda", session, fakeCudaLibrary, launchesKernels, memoryLimit), "");
  }
  void TearDown() override {
    session.reset();
    bundle.reset();
    for (char &stream : streams)
      fake.streams.erase(&stream);
    CudaTest::TearDown();
  }
  /// y = a + 2 b on host tensors of `n` elements; the message.
  std::string runHost(int64_t n = 3) {
    Floats a{{n}, std::vector<float>(size_t(n), 5)}, b{{n}, std::vector<float>(size_t(n), 10)};
    Floats y{{n}, std::vector<float>(size_t(n))};
    weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
    std::string message = take(weft_session_run(session.get(), inputs, 2, &output, 1));
    if (message.empty())
      EXPECT_EQ(y.data, std::vector<float>(size_t(n), 25));
    return message;
  }
  std::string runCard(CardFloats &a, CardFloats &b, CardFloats &y, void *stream = nullptr, bool isOnStream = false) {
    weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
    std::string message = take(isOnStream ? weft_session_run_on(session.get(), stream, inputs, 2, &output, 1)
                                          : weft_session_run(session.get(), inputs, 2, &output, 1));
    if (message.empty())
      for (int64_t i = 0; i < y.count; ++i)
        EXPECT_EQ(y.values[i], a.values[i] + 2 * b.values[i]);
    return message;
  }
  weft_statistics count() {
    weft_statistics statistics = {};
    statistics.struct_size = sizeof statistics;
    weft_session_statistics(session.get(), &statistics);
    return statistics;
  }
  void *addStream() {
    void *stream = &streams[nextStream++];
    fake.streams.insert(stream);
    return stream;
  }

  BundlePtr bundle;
  SessionPtr session;
  char streams[4];
  size_t nextStream = 0;
};
} // namespace

//===--------------------------------------------------------------------------------------------------------------===//
// Graphs
//===--------------------------------------------------------------------------------------------------------------===//

TEST_F(CudaRunTest, RecordsWhatComesAgain) {
  open();
  EXPECT_EQ(runHost(), "");
  EXPECT_EQ(fake.calls["cuStreamBeginCapture"], 0); // Perhaps it does not come again.
  for (int run = 2; run <= 5; ++run) {
    EXPECT_EQ(runHost(), "");
    EXPECT_EQ(fake.calls["cuGraphInstantiate"], 1);
    EXPECT_EQ(fake.calls["cuGraphLaunch"], run - 1);
    EXPECT_EQ(fake.launches.size(), size_t(2 * run));
  }
  EXPECT_EQ(fake.calls["cuLaunchKernelEx"], 4); // The first run, and the recording.
  EXPECT_EQ(fake.graphs.size(), 0u);            // The executable one is enough.
  EXPECT_EQ(count().graphs_made, 1u);
  EXPECT_EQ(count().graphs_run, 4u);
  EXPECT_EQ(count().graphs_refused, 0u);
  EXPECT_EQ(count().dispatches, 10u);
  EXPECT_EQ(count().runs, 5u);
  weft_dispatch dispatch;
  ASSERT_EQ(weft_session_dispatch(session.get(), 1, &dispatch), 0);
  EXPECT_EQ(dispatch.runs, 5u);
  EXPECT_EQ(dispatch.last_grid, 1);
}

TEST_F(CudaRunTest, OneGraphForEachShapeAndAddress) {
  open();
  for (int round = 0; round < 3; ++round)
    for (int64_t n : {200, 3, 150})
      EXPECT_EQ(runHost(n), "");
  EXPECT_EQ(count().graphs_made, 3u);
  EXPECT_EQ(count().graphs_run, 6u);
  CardFloats a(3, 1), b(3, 7), y, z;
  for (CardFloats *output : {&y, &z, &y, &z, &y, &z})
    EXPECT_EQ(runCard(a, b, *output), "");
  EXPECT_EQ(count().graphs_made, 5u);
  EXPECT_EQ(fake.calls["cuGraphExecUpdate"], 0); // There was room for all.
}

TEST_F(CudaRunTest, KeepsFewGraphsAndChangesThem) {
  for (bool refusesUpdates : {false, true}) {
    fake = FakeCuda();
    fake.refusesUpdates = refusesUpdates;
    open();
    std::vector<CardFloats> outputs(12);
    CardFloats a(3, 1), b(3, 7);
    for (CardFloats &y : outputs)
      for (int run = 0; run < 3; ++run)
        EXPECT_EQ(runCard(a, b, y), "");
    EXPECT_EQ(fake.executables.size(), 8u);
    EXPECT_EQ(fake.calls["cuGraphExecUpdate"], 4);
    EXPECT_EQ(fake.calls["cuGraphInstantiate"], refusesUpdates ? 12 : 8);
    EXPECT_EQ(count().graphs_made, 12u);
    session.reset();
    bundle.reset();
    expectNothingAlive();
  }
}

TEST_F(CudaRunTest, NewShapesNeverFillTheGraphs) {
  open();
  EXPECT_EQ(runHost(299), "");
  EXPECT_EQ(runHost(299), "");
  for (int64_t n = 1; n < 60; ++n)
    EXPECT_EQ(runHost(n), "");
  EXPECT_EQ(runHost(299), "");
  EXPECT_EQ(count().graphs_made, 1u);
  EXPECT_EQ(count().graphs_run, 2u);
}

TEST_F(CudaRunTest, AChainIsOneGraph) {
  addBundle = buildChainBundle(64, false);
  open();
  CardFloats a(3, 1), b(3, 7), y;
  weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
  for (int run = 0; run < 3; ++run)
    ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
  EXPECT_EQ(y.values[2], 3 + 64 * 9);
  EXPECT_EQ(fake.calls["cuLaunchKernelEx"], 2 * 64);
  EXPECT_EQ(fake.calls["cuGraphLaunch"], 2);
  EXPECT_EQ(count().dispatches, 3 * 64u);
}

/// All but the first of a run: what the run reads must not change any more once a kernel of it has begun.
TEST_F(CudaRunTest, KernelsThatWaitStartEarly) {
  for (bool isEarly : {false, true}) {
    addBundle = buildChainBundle(3, isEarly);
    open();
    CardFloats a(3, 1), b(3, 7), y;
    weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
    for (int run = 0; run < 4; ++run) { // Launched, recorded, replayed twice.
      fake.launches.clear();
      ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
      EXPECT_EQ(y.values[2], 3 + 3 * 9);
      std::vector<bool> early;
      for (const FakeLaunch &launch : fake.launches)
        early.push_back(launch.isProgrammatic);
      EXPECT_EQ(early, (std::vector<bool>{false, isEarly, isEarly}));
    }
  }
}

TEST_F(CudaRunTest, VariantsHaveGraphsOfTheirOwn) {
  addBundle = buildVariantBundle();
  open();
  for (int round = 0; round < 3; ++round)
    for (int64_t n : {200, 3, 100, 101})
      EXPECT_EQ(runHost(n), "");
  EXPECT_EQ(count().graphs_made, 4u);
  EXPECT_EQ(count().graphs_run, 8u);
  EXPECT_EQ(count().dispatches, 24u); // Two of each run, replayed or not.
  for (size_t i = 0; i < 4; ++i) {
    weft_dispatch dispatch;
    ASSERT_EQ(weft_session_dispatch(session.get(), i, &dispatch), 0);
    EXPECT_EQ(dispatch.runs, 6u);
  }
}

TEST_F(CudaRunTest, RecordsNothingWhenToldSo) {
  open(/*launchesKernels=*/true);
  for (int run = 0; run < 4; ++run)
    EXPECT_EQ(runHost(), "");
  EXPECT_EQ(fake.calls["cuStreamBeginCapture"], 0);
  EXPECT_EQ(count().graphs_made + count().graphs_run, 0u);
}

TEST_F(CudaRunTest, LaunchesWhatCannotBeRecorded) {
  constexpr Result unknown = 999;
  for (const char *call : {"cuStreamBeginCapture", "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphLaunch"}) {
    fake = FakeCuda();
    open();
    fake.failures[call] = unknown;
    for (int run = 0; run < 5; ++run)
      EXPECT_EQ(runHost(), "") << call;
    EXPECT_EQ(fake.calls[call], 1) << "tried once";
    EXPECT_EQ(fake.launches.size(), 10u);
    EXPECT_EQ(count().graphs_refused, 1u);
    EXPECT_EQ(count().graphs_run, 0u);
    EXPECT_EQ(count().dispatches, 10u);
    session.reset();
    bundle.reset();
    expectNothingAlive();
  }
}

TEST_F(CudaRunTest, TellsWhatALaunchSaysWhileRecording) {
  open();
  EXPECT_EQ(runHost(), "");
  fake.failures["cuLaunchKernelEx"] = result::LaunchOutOfResources;
  EXPECT_EQ(runHost(), "kernel \"add\": cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (too many resources "
                       "requested for launch); the kernel needs more registers or shared memory than the GPU has");
  fake.failures.clear();
  EXPECT_EQ(runHost(), "");
}

TEST_F(CudaRunTest, ReplaysTensorMapsOfTheRecording) {
  std::vector<uint8_t> bytes = buildTileBundle();
  bundle = test::open(bytes);
  ASSERT_EQ(create(bundle.get(), "cuda", session), "");
  Floats x{{150, 32}, std::vector<float>(150 * 32)};
  weft_tensor input = x.view();
  for (int run = 0; run < 3; ++run) {
    weft_tensor output = {};
    ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
  }
  EXPECT_EQ(count().graphs_made, 0u); // One kernel gains nothing.
}

TEST_F(CudaRunTest, ProfilesByTheCardsClock) {
  bundle = test::open(addBundle);
  ASSERT_EQ(create(bundle.get(), "cuda", session, fakeCudaLibrary, false, 0, /*isProfiled=*/true), "");
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(runHost(), "");
  EXPECT_EQ(count().graphs_made, 0u);
  weft_dispatch dispatch;
  ASSERT_EQ(weft_session_dispatch(session.get(), 1, &dispatch), 0);
  EXPECT_EQ(dispatch.runs, 3u);
  EXPECT_NEAR(double(dispatch.total_ns), 3 * 0.253e6, 0.02e6); // As the fake driver says.
  fake.failures["cuEventElapsedTime"] = 999;
  EXPECT_EQ(runHost(), "kernel \"add\": cuEventElapsedTime: CUDA_ERROR_UNKNOWN (unknown error)");
}

//===--------------------------------------------------------------------------------------------------------------===//
// Streams and tensors on the GPU
//===--------------------------------------------------------------------------------------------------------------===//

TEST_F(CudaRunTest, UsesTensorsOnTheCardAsTheyAre) {
  open();
  CardFloats a(200, 1), b(200, 7), y(200);
  EXPECT_EQ(runCard(a, b, y), "");
  EXPECT_EQ(count().staged_copies, 0u);
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"] + fake.calls["cuMemcpyDtoHAsync"] + fake.calls["cuMemcpyDtoDAsync"], 0);
  EXPECT_GT(fake.calls["cuStreamSynchronize"], 0);
  // Not aligned: copied on the GPU.
  CardFloats wide(201, 1);
  wide.count = 200;
  weft_tensor inputs[] = {wide.view(0, 1), b.view()}, output = y.view();
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
  EXPECT_EQ(y.values[199], wide.values[200] + 2 * b.values[199]);
  EXPECT_EQ(count().staged_copies, 1u);
  EXPECT_EQ(fake.calls["cuMemcpyDtoDAsync"], 1);
}

TEST_F(CudaRunTest, GivesItsOwnMemoryOnTheCard) {
  open();
  CardFloats a(3, 1), b(3, 7);
  weft_tensor inputs[] = {a.view(), b.view()}, output = {};
  output.memory = WEFT_MEMORY_CUDA;
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
  EXPECT_EQ(fake.calls["cuMemcpyDtoHAsync"], 0);
  EXPECT_TRUE(fake.memory.count(reinterpret_cast<uint64_t>(output.data)));
  EXPECT_EQ(output.memory, WEFT_MEMORY_CUDA);
  float values[3];
  EXPECT_EQ(take(weft_session_copy_to_host(session.get(), values, output.data, sizeof values)), "");
  EXPECT_EQ(values[2], 3 + 2 * 9);
}

TEST_F(CudaRunTest, RefusesMemoryOfOthers) {
  open();
  CardFloats a(3, 1), y;
  weft_tensor inputs[] = {a.view(1), a.view()}, output = y.view();
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)),
            "input \"a\": expected memory of cuda:0 or of the host, got memory of cuda:1");
  inputs[0] = a.view();
  output = y.view(3);
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)),
            "output \"y\": expected memory of cuda:0 or of the host, got memory of cuda:3");
  output.memory = 7;
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "output \"y\": unknown kind of memory 7");
  std::vector<uint8_t> bytes = buildExample();
  BundlePtr example = test::open(bytes);
  SessionPtr onHost = createSession(example.get(), "sum", 1);
  output = {};
  EXPECT_EQ(take(weft_session_run(onHost.get(), inputs, 2, &output, 1)),
            "input \"a\": expected host memory for the device cpu, got memory of cuda:0");
  EXPECT_EQ(take(weft_session_run_on(onHost.get(), nullptr, inputs, 2, &output, 1)),
            "device \"cpu\" has no streams; run without one, or on the device \"cuda\"");
  EXPECT_EQ(take(weft_session_wait(onHost.get(), nullptr)),
            "device \"cpu\" has no streams; run without one, or on the device \"cuda\"");
  EXPECT_EQ(weft_session_stream(onHost.get()), nullptr);
}

TEST_F(CudaRunTest, WorksOnTheCallersStream) {
  open();
  CardFloats a(3, 1), b(3, 7), y;
  for (void *stream : {addStream(), static_cast<void *>(nullptr)})
    for (int run = 0; run < 4; ++run) {
      int waits = fake.calls["cuStreamSynchronize"];
      fake.launches.clear();
      EXPECT_EQ(runCard(a, b, y, stream, /*isOnStream=*/true), "");
      EXPECT_EQ(fake.calls["cuStreamSynchronize"], waits) << "the host waits for nothing";
      ASSERT_EQ(fake.launches.size(), 2u);
      EXPECT_EQ(fake.launches[0].stream, stream);
      EXPECT_EQ(fake.launches[1].stream, stream);
    }
  EXPECT_EQ(count().graphs_made, 1u); // The same for both streams.
  EXPECT_EQ(count().graphs_run, 7u);
}

TEST_F(CudaRunTest, RunsOnSeveralStreamsAreOneSequence) {
  open(/*launchesKernels=*/true);
  CardFloats a(3, 1), b(3, 7), y;
  void *own = weft_session_stream(session.get()), *first = addStream(), *second = addStream();
  using Order = std::vector<std::pair<std::string, void *>>;
  auto run = [&](void *stream, bool isOnStream = true) {
    fake.order.clear();
    EXPECT_EQ(runCard(a, b, y, stream, isOnStream), "");
    return fake.order;
  };
  EXPECT_EQ(run(first),
            (Order{{"record", own}, {"wait", first}, {"kernel", first}, {"kernel", first}, {"record", first}}));
  EXPECT_EQ(run(first), (Order{{"wait", first}, {"kernel", first}, {"kernel", first}, {"record", first}}));
  fake.streams.erase(first); // Destroyed: never touched again.
  EXPECT_EQ(run(second), (Order{{"wait", second}, {"kernel", second}, {"kernel", second}, {"record", second}}));
  fake.order.clear();
  void *third = addStream();
  EXPECT_EQ(take(weft_session_wait(session.get(), third)), "");
  EXPECT_EQ(fake.order, (Order{{"wait", third}}));
  fake.streams.erase(second);
  EXPECT_EQ(run(nullptr, false), (Order{{"wait", own}, {"kernel", own}, {"kernel", own}}));
  fake.order.clear();
  EXPECT_EQ(take(weft_session_wait(session.get(), third)), "");
  EXPECT_EQ(fake.order, (Order{{"record", own}, {"wait", third}}));
  EXPECT_EQ(run(own), (Order{{"kernel", own}, {"kernel", own}})); // By its handle.
}

TEST_F(CudaRunTest, RefusesStreamsThatAreCaptured) {
  open();
  CardFloats a(3, 1), b(3, 7), y;
  void *stream = addStream();
  fake.captures[stream] = {};
  EXPECT_EQ(runCard(a, b, y, stream, /*isOnStream=*/true),
            "the stream is being captured; run on it outside of the capture: runs that come again are recorded as CUDA "
            "graphs here");
  EXPECT_TRUE(fake.captures[stream].nodes.empty());
  fake.captures.clear();
  EXPECT_EQ(runCard(a, b, y, stream, /*isOnStream=*/true), "");
}

TEST_F(CudaRunTest, HostTensorsOnAStreamAreCopied) {
  open();
  Floats a{{3}, {1, 2, 3}}, b{{3}, {10, 20, 30}}, y{{3}, {0, 0, 0}};
  weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
  EXPECT_EQ(take(weft_session_run_on(session.get(), addStream(), inputs, 2, &output, 1)), "");
  EXPECT_EQ(y.data, (std::vector<float>{21, 42, 63}));
  EXPECT_EQ(count().staged_copies, 3u);
}

TEST_F(CudaRunTest, NothingLeaksWhateverFailsOnAStream) {
  constexpr Result unknown = 999;
  CardFloats a(3, 1), b(3, 7), y;
  void *stream = addStream();
  auto runSome = [&](const char *call) {
    fake = FakeCuda();
    fake.streams.insert(stream);
    open();
    if (call)
      fake.failures[call] = unknown;
    std::string messages;
    for (int run = 0; run < 3; ++run)
      messages += runCard(a, b, y, stream, /*isOnStream=*/true);
    messages += runHost(100);
    messages += runCard(a, b, y, stream, /*isOnStream=*/true);
    session.reset();
    bundle.reset();
    fake.streams.erase(stream);
    expectNothingAlive();
    return messages;
  };
  EXPECT_EQ(runSome(nullptr), "");
  for (const auto &[call, calls] : std::map<std::string, int>(fake.calls))
    if (call.find("Free") == call.npos && call.find("Destroy") == call.npos && call != "cuModuleUnload" &&
        call != "cuDevicePrimaryCtxRelease" && call != "cuCtxPopCurrent" && call != "cuCtxPushCurrent")
      (void)runSome(call.c_str());
}

//===--------------------------------------------------------------------------------------------------------------===//
// Memory
//===--------------------------------------------------------------------------------------------------------------===//

TEST_F(CudaRunTest, TellsOfTheLimit) {
  open(false, 4096);
  EXPECT_EQ(runHost(200), ""); // Two inputs, an output and a transient of 800 bytes.
  std::string message = runHost(300);
  EXPECT_NE(message.find("needs 1200 bytes at these shapes, more than the limit of 4096 bytes allows ("), message.npos)
      << message;
  EXPECT_NE(message.find("in use); use smaller shapes or raise the memory limit"), message.npos) << message;
  EXPECT_EQ(runHost(200), "");
}

TEST_F(CudaRunTest, TheLimitIsTheCardsMemory) {
  fake.memoryBytes = 4096;
  open();
  std::string message = runHost(300);
  EXPECT_NE(message.find("more than the limit of 4096 bytes allows ("), message.npos) << message;
  EXPECT_EQ(runHost(200), "");
}

TEST_F(CudaRunTest, WeightsStayOnTheCard) {
  addBundle = buildWeightBundle(1000);
  open();
  SessionPtr second, other;
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"], 1);
  EXPECT_EQ(fake.calls["cuMemAlloc"], 1);
  ASSERT_EQ(create(bundle.get(), "cuda", second), "");
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"], 1);
  ASSERT_EQ(create(bundle.get(), "cuda:1", other), "");
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"], 2);
  session.reset(); // They belong to the bundle, not to the session that came first.
  CardFloats x(3, 1), y;
  weft_tensor input = x.view(), output = y.view();
  EXPECT_EQ(take(weft_session_run(second.get(), &input, 1, &output, 1)), "");
  EXPECT_EQ(y.values[2], 5);
  second.reset();
  ASSERT_EQ(create(bundle.get(), "cuda", second), "");
  EXPECT_EQ(fake.calls["cuMemcpyHtoDAsync"], 2);
}

TEST_F(CudaRunTest, TellsOfWeightsThatDoNotFit) {
  addBundle = buildWeightBundle(1000);
  fake.memoryBytes = 2000;
  bundle = test::open(addBundle);
  EXPECT_EQ(create(bundle.get(), "cuda", session),
            "4096 bytes of weights: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory); use smaller shapes, or free "
            "memory of the GPU (nvidia-smi shows who holds it)");
  fake.memoryBytes = 1 << 20; // Tried again, and not remembered as there.
  fake.failures["cuMemcpyHtoDAsync"] = 999;
  EXPECT_EQ(create(bundle.get(), "cuda", session),
            "4096 bytes of weights: cuMemcpyHtoDAsync: CUDA_ERROR_UNKNOWN (unknown error)");
  EXPECT_EQ(fake.memory.size(), 0u);
  fake.failures = {{"cuStreamSynchronize", 999}}; // Copies that were started, and did not arrive.
  EXPECT_EQ(create(bundle.get(), "cuda", session),
            "4096 bytes of weights: cuStreamSynchronize: CUDA_ERROR_UNKNOWN (unknown error)");
  EXPECT_EQ(fake.memory.size(), 0u);
  fake.failures.clear();
  EXPECT_EQ(create(bundle.get(), "cuda", session), "");
}

//===--------------------------------------------------------------------------------------------------------------===//
// DLPack
//===--------------------------------------------------------------------------------------------------------------===//

TEST_F(CudaRunTest, OutputsOutliveTheSession) {
  open();
  CardFloats a(3, 1), b(3, 7);
  weft_tensor inputs[] = {a.view(), b.view()}, output = {};
  output.memory = WEFT_MEMORY_CUDA;
  ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
  void *managed = nullptr, *again = nullptr, *shared = nullptr;
  ASSERT_EQ(take(weft_session_take_output(session.get(), 0, 1, &managed)), "");
  EXPECT_EQ(take(weft_session_take_output(session.get(), 0, 1, &again)),
            "output \"y\": the session has no memory of it to give (no run yet, memory of the caller, or already "
            "taken)");
  EXPECT_EQ(again, nullptr);
  ASSERT_EQ(take(weft_dlpack_share(managed, 1, 0, &shared)), "");
  weft_tensor second = {};
  second.memory = WEFT_MEMORY_CUDA;
  ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &second, 1)), "");
  EXPECT_NE(second.data, output.data);
  weft_dlpack_release(managed, 1);
  session.reset();
  bundle.reset();
  auto &tensor = static_cast<dlpack::Managed *>(shared)->tensor;
  EXPECT_EQ(tensor.deviceType, dlpack::Cuda);
  EXPECT_EQ(tensor.deviceId, 0);
  EXPECT_EQ(tensor.shape[0], 3);
  EXPECT_EQ(tensor.strides[0], 1);
  EXPECT_EQ(static_cast<float *>(tensor.data)[1], 2 + 2 * 8);
  EXPECT_EQ(fake.memory.size(), 1u);
  weft_dlpack_release(shared, 0);
  expectNothingAlive();
}

TEST_F(CudaRunTest, MemoryThatComesBackIsUsedAgain) {
  open();
  CardFloats a(3, 1), b(3, 7);
  weft_tensor inputs[] = {a.view(), b.view()};
  void *first = nullptr;
  for (int run = 0; run < 6; ++run) {
    weft_tensor output = {};
    output.memory = WEFT_MEMORY_CUDA;
    ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
    first = first ? first : output.data;
    EXPECT_EQ(output.data, first);
    void *managed = nullptr;
    ASSERT_EQ(take(weft_session_take_output(session.get(), 0, run % 2, &managed)), "");
    weft_dlpack_release(managed, run % 2);
  }
  EXPECT_EQ(count().graphs_made, 1u);
  EXPECT_EQ(count().graphs_run, 5u);
}

namespace {
/// Entry "main": three outputs of a + b, each.
std::vector<uint8_t> buildThreeOutputs() {
  using namespace bundle;
  Builder builder("weft test");
  KernelId add = builder.addKernel("add", {});
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), grid = entry.ceilDiv(n, entry.constant(128));
  BufferId a = entry.addInput("a", DType::F32, {n}), b = entry.addInput("b", DType::F32, {n});
  for (const char *name : {"x", "y", "z"})
    entry.dispatch(add, {grid, {{a}, {b}}, {{entry.addOutput(name, DType::F32, {n})}}, {n}, Reg()});
  builder.addPtx("sm_80", makeAddPtx("sm_80"), {{add, 128, 1, 0, 16, {}}});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}
} // namespace

TEST_F(CudaRunTest, OutputsGetTheirOwnMemoryAgain) {
  addBundle = buildThreeOutputs();
  open();
  CardFloats a(3, 1), b(3, 7);
  weft_tensor inputs[] = {a.view(), b.view()};
  const size_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}};
  for (const auto &order : orders) {
    weft_tensor outputs[3] = {};
    void *managed[3] = {};
    for (weft_tensor &output : outputs)
      output.memory = WEFT_MEMORY_CUDA;
    ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, outputs, 3)), "");
    for (size_t i : order)
      ASSERT_EQ(take(weft_session_take_output(session.get(), i, 1, &managed[i])), "");
    for (size_t i : order)
      weft_dlpack_release(managed[i], 1);
  }
  EXPECT_EQ(count().graphs_made, 1u);
  EXPECT_EQ(count().graphs_run, 5u);
}

TEST_F(CudaRunTest, SpareMemoryYieldsToTheLimit) {
  open(false, 4096);
  CardFloats a(200, 1), b(200, 7);
  auto run = [&](void *&managed) {
    weft_tensor inputs[] = {a.view(), b.view()}, output = {};
    output.memory = WEFT_MEMORY_CUDA;
    std::string message = take(weft_session_run(session.get(), inputs, 2, &output, 1));
    return message.empty() ? take(weft_session_take_output(session.get(), 0, 1, &managed)) : message;
  };
  void *held[4] = {};
  for (void *&managed : held)
    ASSERT_EQ(run(managed), ""); // 800 bytes each, and a transient.
  void *more = nullptr;
  EXPECT_NE(run(more).find("an output needs 800 bytes"), std::string::npos);
  for (void *managed : held)
    weft_dlpack_release(managed, 1);
  a.count = b.count = 300;
  EXPECT_EQ(run(more), ""); // Larger than each of what came back, which goes for it.
  weft_dlpack_release(more, 1);
}
