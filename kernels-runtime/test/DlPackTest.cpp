// Tensors of other libraries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Foreign tensors as views, with every reason to refuse one, and outputs of the CPU as managed tensors.
#include "Session/DlPack.h"
#include "TestBundles.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace weft;
using namespace weft::test;

namespace {
class DlPackTest : public testing::Test {
protected:
  std::string import(bool isVersioned = true) {
    plain.tensor = versioned.tensor = tensor;
    return take(isVersioned ? weft_tensor_from_dlpack(&versioned, 1, &result)
                            : weft_tensor_from_dlpack(&plain, 0, &result));
  }
  float data[64] = {};
  int64_t shape[2] = {4, 3}, strides[2] = {3, 1};
  dlpack::Tensor tensor = {data, dlpack::Cpu, 0, 2, 2, 32, 1, shape, strides, 0};
  dlpack::Managed plain = {};
  dlpack::ManagedVersioned versioned = {1, 1, nullptr, nullptr, 0, {}};
  weft_tensor result = {};
};
} // namespace

TEST_F(DlPackTest, ReadsDenseTensors) {
  for (bool isVersioned : {false, true})
    for (bool hasStrides : {false, true}) {
      tensor.strides = hasStrides ? strides : nullptr;
      tensor.byteOffset = 8;
      ASSERT_EQ(import(isVersioned), "");
      EXPECT_EQ(result.dtype, WEFT_F32);
      EXPECT_EQ(result.rank, 2);
      EXPECT_EQ(result.dims, shape);
      EXPECT_EQ(result.data, data + 2);
      EXPECT_EQ(result.bytes, 48u);
      EXPECT_EQ(result.memory, WEFT_MEMORY_HOST);
    }
  strides[0] = 77; // Means nothing with one row,
  shape[0] = 1;
  EXPECT_EQ(import(), "");
  shape[0] = 0; // or none.
  EXPECT_EQ(import(), "");
  EXPECT_EQ(result.bytes, 0u);
  tensor.rank = 0;
  EXPECT_EQ(import(), "");
  EXPECT_EQ(result.bytes, 4u);
}

TEST_F(DlPackTest, ReadsPlacesAndTypes) {
  const std::tuple<int32_t, int32_t> places[] = {
      {dlpack::Cuda, WEFT_MEMORY_CUDA}, {dlpack::CudaManaged, WEFT_MEMORY_CUDA}, {dlpack::CudaHost, WEFT_MEMORY_HOST}};
  for (auto [type, memory] : places) {
    tensor.deviceType = type;
    tensor.deviceId = 3;
    EXPECT_EQ(import(), "");
    EXPECT_EQ(result.memory, memory);
    EXPECT_EQ(result.card, memory == WEFT_MEMORY_CUDA ? 3 : 0);
  }
  const std::tuple<uint8_t, uint8_t, int32_t, uint64_t> types[] = {{4, 16, WEFT_BF16, 24},
                                                                   {6, 8, WEFT_I1, 12},
                                                                   {0, 64, WEFT_I64, 96},
                                                                   {1, 4, WEFT_UI4, 6},
                                                                   {10, 8, WEFT_F8E4M3FN, 12}};
  for (auto [code, bits, dtype, bytes] : types) {
    tensor.typeCode = code;
    tensor.typeBits = bits;
    EXPECT_EQ(import(), "");
    EXPECT_EQ(result.dtype, dtype);
    EXPECT_EQ(result.bytes, bytes);
  }
}

TEST_F(DlPackTest, RefusesTheRest) {
  auto refuse = [&](auto change) {
    dlpack::Tensor before = tensor;
    int64_t extent = shape[0], stride = strides[0];
    change();
    std::string message = import();
    tensor = before;
    shape[0] = extent;
    strides[0] = stride;
    return message;
  };
  EXPECT_EQ(refuse([&] { strides[0] = 4; }), "expected a dense row-major tensor, got one with strides; copy it first "
                                             "(torch: .contiguous())");
  EXPECT_EQ(refuse([&] { tensor.deviceType = 10; }),
            "a DLPack tensor on a device of kind 10; expected the CPU or CUDA");
  EXPECT_EQ(refuse([&] { tensor.typeCode = 5; }), "a DLPack tensor of type code 5 with 32 bits in 1 lanes");
  EXPECT_EQ(refuse([&] { tensor.typeLanes = 2; }), "a DLPack tensor of type code 2 with 32 bits in 2 lanes");
  EXPECT_EQ(refuse([&] { shape[0] = -1; }), "a DLPack tensor whose dimension 0 is -1");
  EXPECT_EQ(refuse([&] { shape[0] = INT64_MAX; }), "a DLPack tensor whose dimension 0 is 9223372036854775807");
  EXPECT_EQ(refuse([&] { tensor.rank = -1; }), "a DLPack tensor of rank -1 without a shape");
  EXPECT_EQ(refuse([&] { tensor.shape = nullptr; }), "a DLPack tensor of rank 2 without a shape");
  EXPECT_EQ(take(weft_tensor_from_dlpack(nullptr, 1, &result)), "the DLPack tensor is null");
  versioned.major = 2;
  EXPECT_EQ(import(), "a tensor of DLPack 2.1; expected 1.x");
  void *shared = nullptr;
  EXPECT_EQ(take(weft_dlpack_share(&plain, 0, 0, &shared)),
            "expected a managed tensor that weft_session_take_output made");
  weft_dlpack_release(&plain, 0); // Without a deleter: nothing to do.
  weft_dlpack_release(nullptr, 1);
}

TEST_F(DlPackTest, GivesOutputsOfTheCpu) {
  std::vector<uint8_t> bytes = buildExample();
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "sum", 1);
  Floats a{{3}, {1, 2, 3}}, b{{3}, {10, 20, 30}};
  weft_tensor inputs[] = {a.view(), b.view()}, output = {};
  void *managed[2] = {};
  EXPECT_EQ(take(weft_session_take_output(session.get(), 7, 1, &managed[0])), "expected an output below 1, got 7");
  for (int run : {0, 1}) {
    output = {};
    ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
    ASSERT_EQ(take(weft_session_take_output(session.get(), 0, run, &managed[run])), "");
    a.data[0] = 100;
  }
  session.reset();
  bundle.reset();
  const dlpack::Tensor &first = static_cast<dlpack::Managed *>(managed[0])->tensor;
  const auto *second = static_cast<dlpack::ManagedVersioned *>(managed[1]);
  EXPECT_EQ(static_cast<float *>(first.data)[0], 12);
  EXPECT_EQ(static_cast<float *>(second->tensor.data)[0], 111);
  EXPECT_EQ(first.deviceType, dlpack::Cpu);
  EXPECT_EQ(first.typeCode, 2);
  EXPECT_EQ(second->major, 1u);
  weft_tensor view;
  EXPECT_EQ(take(weft_tensor_from_dlpack(managed[1], 1, &view)), "");
  EXPECT_EQ(view.bytes, 12u);
  weft_dlpack_release(managed[0], 0);
  weft_dlpack_release(managed[1], 1);
}

TEST_F(DlPackTest, OutputsComeBackFromOtherThreads) {
  std::vector<uint8_t> bytes = buildExample();
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "sum", 1);
  Floats a{{3}, {1, 2, 3}}, b{{3}, {10, 20, 30}};
  weft_tensor inputs[] = {a.view(), b.view()};
  std::atomic<void *> slot = nullptr;
  std::atomic<bool> isDone = false;
  std::thread other([&] {
    while (!isDone || slot)
      if (void *managed = slot.exchange(nullptr)) {
        EXPECT_EQ(static_cast<float *>(static_cast<dlpack::Managed *>(managed)->tensor.data)[2], 34);
        weft_dlpack_release(managed, 0);
      }
  });
  for (int run = 0; run < 500; ++run) {
    weft_tensor output = {};
    void *managed = nullptr;
    EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
    EXPECT_EQ(take(weft_session_take_output(session.get(), 0, 0, &managed)), "");
    weft_dlpack_release(slot.exchange(managed), 0);
  }
  session.reset(); // The last output goes after it, there.
  isDone = true;
  other.join();
}
