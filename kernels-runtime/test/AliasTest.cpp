// Outputs in the memory of inputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One buffer for both, two buffers, buffers that overlap otherwise, and reads that come too late.
#include "TestBundles.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

/// Output `cache` is input `memory` with its first half = a + b; `late`, if it is there, a + memory, which is read
/// behind the update.
static std::vector<uint8_t> buildUpdate(bool readsLate) {
  Builder builder("weft test");
  addKernels(builder);
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId memory = entry.addInput("memory", DType::F32, {n}), a = entry.addInput("a", DType::F32, {n});
  BufferId b = entry.addInput("b", DType::F32, {n}), cache = entry.addOutput("cache", DType::F32, {n});
  Reg half = entry.floorDiv(n, entry.constant(2));
  auto add = [&](BufferId x, BufferId y, BufferId to, Reg count) {
    EntryBuilder::Dispatch dispatch;
    dispatch.grid = entry.ceilDiv(count, entry.constant(64));
    dispatch.inputs = {{x}, {y}};
    dispatch.outputs = {{to}};
    dispatch.scalars = {count};
    entry.dispatch({0}, dispatch);
  };
  entry.copy({memory}, {cache}, entry.getSize(cache));
  add(a, b, cache, half);
  if (readsLate)
    add(a, memory, entry.addOutput("late", DType::F32, {n}), n);
  entry.addAlias(memory, cache);
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

namespace {
/// 64-byte aligned floats, so that kernels use them as they are.
struct Aligned {
  explicit Aligned(std::vector<float> values) : dims{int64_t(values.size())} {
    data = static_cast<float *>(aligned_alloc(64, 4096));
    std::copy(values.begin(), values.end(), data);
  }
  ~Aligned() { ::free(data); }
  Aligned(const Aligned &) = delete;
  weft_tensor view(int64_t skip = 0) const {
    return {WEFT_F32, 1, dims, data + skip, uint64_t(dims[0]) * sizeof(float), WEFT_MEMORY_HOST, 0};
  }
  std::vector<float> values() const { return {data, data + dims[0]}; }
  int64_t dims[1];
  float *data;
};
} // namespace

static const std::vector<float> kOld = {1, 2, 3, 4}, kNew = {30, 30, 3, 4};

TEST(Aliases, AreWrittenInPlaceOrCopied) {
  std::vector<uint8_t> bytes = buildUpdate(false);
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  EXPECT_EQ(weft_session_alias(session.get(), 0), 0);
  EXPECT_EQ(weft_session_alias(session.get(), 1), -1);
  Aligned memory(kOld), a({10, 10, 10, 10}), b({20, 20, 20, 20}), other({0, 0, 0, 0});
  weft_tensor inputs[] = {memory.view(), a.view(), b.view()}, output = other.view();
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 3, &output, 1)), "");
  EXPECT_EQ(other.values(), kNew);
  EXPECT_EQ(memory.values(), kOld);
  output = memory.view();
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 3, &output, 1)), "");
  EXPECT_EQ(memory.values(), kNew);
  EXPECT_EQ(output.data, memory.data);
  weft_statistics statistics = {};
  statistics.struct_size = sizeof statistics;
  weft_session_statistics(session.get(), &statistics);
  EXPECT_EQ(statistics.staged_copies, 0u);
}

TEST(Aliases, StageMemoryThatIsNotAligned) {
  std::vector<uint8_t> bytes = buildUpdate(false);
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  Aligned memory({0, 1, 2, 3, 4}), a({10, 10, 10, 10}), b({20, 20, 20, 20});
  memory.dims[0] = 4;
  weft_tensor inputs[] = {memory.view(1), a.view(), b.view()}, output = memory.view(1);
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 3, &output, 1)), "");
  memory.dims[0] = 5;
  EXPECT_EQ(memory.values(), (std::vector<float>{0, 30, 30, 3, 4}));
}

TEST(Aliases, RefuseMemoryThatOverlapsOtherwise) {
  std::vector<uint8_t> bytes = buildUpdate(false);
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  Aligned memory({1, 2, 3, 4, 5}), a({10, 10, 10, 10}), b({20, 20, 20, 20});
  memory.dims[0] = 4;
  weft_tensor inputs[] = {memory.view(), a.view(), b.view()}, output = memory.view(1);
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 3, &output, 1)),
            "output \"cache\": expected memory apart from input \"memory\", or exactly that, got memory that overlaps "
            "it");
  output = a.view();
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 3, &output, 1)),
            "output \"cache\": expected memory apart from input \"a\", got memory that overlaps it");
}

TEST(Aliases, CatchReadsOfMemoryThatWasWritten) {
  std::vector<uint8_t> bytes = buildUpdate(true);
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  Aligned memory(kOld), a({10, 10, 10, 10}), b({20, 20, 20, 20}), other({0, 0, 0, 0}), late({0, 0, 0, 0});
  weft_tensor inputs[] = {memory.view(), a.view(), b.view()}, outputs[] = {other.view(), late.view()};
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 3, outputs, 2)), "");
  EXPECT_EQ(late.values(), (std::vector<float>{11, 12, 13, 14}));
  outputs[0] = memory.view();
  outputs[1] = late.view();
  EXPECT_NE(take(weft_session_run(session.get(), inputs, 3, outputs, 2))
                .find("expected to read input \"memory\" before its memory is written, got a read behind"),
            std::string::npos);
}

TEST(Aliases, OfOneInputAreRefused) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId x = entry.addInput("x", DType::F32, {n});
  for (const char *name : {"y", "z"}) {
    BufferId y = entry.addOutput(name, DType::F32, {n});
    entry.copy({x}, {y}, entry.getSize(y));
    entry.addAlias(x, y);
  }
  std::vector<uint8_t> bytes;
  EXPECT_NE(builder.build(bytes).getMessage().find("alias 1: input 0 has an alias already"), std::string::npos);
}
