// Bundles that run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole way through the C ABI: open, create a session, run with changing shapes, outputs of the caller and of the
// session, extents that depend on data, many sessions at once, and the messages for inputs that do not fit.
#include "TestBundles.h"

#include <cmath>
#include <cstddef>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {
class SessionTest : public ::testing::Test {
protected:
  static void SetUpTestSuite() { bytes = new std::vector<uint8_t>(buildExample()); }
  static void TearDownTestSuite() { delete bytes; }
  BundlePtr bundle = open(*bytes);

private:
  static std::vector<uint8_t> *bytes;
};
std::vector<uint8_t> *SessionTest::bytes;
} // namespace

static Floats iota(int64_t n, float start) {
  Floats result{{n}, std::vector<float>(size_t(n))};
  std::iota(result.data.begin(), result.data.end(), start);
  return result;
}

TEST_F(SessionTest, DescribesTheEntry) {
  EXPECT_STREQ(weft_bundle_product_version(bundle.get()), "weft test");
  EXPECT_STREQ(weft_bundle_metadata(bundle.get(), "model"), "example");
  EXPECT_EQ(weft_bundle_metadata(bundle.get(), "absent"), nullptr);
  ASSERT_EQ(weft_bundle_entry_count(bundle.get()), 3u + 23u);
  EXPECT_STREQ(weft_bundle_entry_name(bundle.get(), 1), "rows");
  SessionPtr session = createSession(bundle.get(), "rows", 1);
  weft_port port;
  ASSERT_EQ(weft_session_input(session.get(), 0, &port), 0);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.dtype, WEFT_F32);
  ASSERT_EQ(port.rank, 2);
  EXPECT_EQ(port.dims[1], -1);
  EXPECT_STREQ(port.dim_texts[1], "cols");
  EXPECT_EQ(weft_session_input(session.get(), 1, &port), -1);
  weft_symbol symbol;
  ASSERT_EQ(weft_session_symbol(session.get(), 0, &symbol), 0);
  EXPECT_STREQ(symbol.name, "rows");
  weft_dispatch dispatch;
  ASSERT_EQ(weft_session_dispatch(session.get(), 0, &dispatch), 0);
  EXPECT_STREQ(dispatch.kernel, "row_exp_sum");
  ASSERT_EQ(dispatch.origin_count, 2u);
  EXPECT_STREQ(dispatch.origins[1], "/Exp");
  EXPECT_STREQ(dispatch.device, "cpu");
}

TEST_F(SessionTest, RunsWithChangingShapes) {
  for (int threads : {1, 2, 5}) {
    SessionPtr session = createSession(bundle.get(), "sum", threads);
    for (int64_t n : {1, 63, 64, 65, 1000, 0, 65}) {
      Floats a = iota(n, 1), b = iota(n, 100);
      weft_tensor inputs[] = {a.view(), b.view()}, output = {};
      ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
      ASSERT_EQ(output.rank, 1);
      ASSERT_EQ(output.dims[0], n);
      ASSERT_EQ(output.bytes, size_t(n) * 4);
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(static_cast<float *>(output.data)[i], float(2 * i + 102)) << "n " << n << " i " << i;
    }
    weft_statistics statistics = {};
    statistics.struct_size = sizeof statistics;
    weft_session_statistics(session.get(), &statistics);
    EXPECT_EQ(statistics.runs, 7u);
    EXPECT_EQ(statistics.plans_made, 6u);
    EXPECT_EQ(statistics.plans_reused, 1u);
    EXPECT_EQ(statistics.dispatches, 12u);
    EXPECT_EQ(statistics.arena_bytes, 320u);
  }
}

TEST_F(SessionTest, WritesIntoTheCallersMemory) {
  SessionPtr session = createSession(bundle.get(), "sum", 2);
  Floats a = iota(8, 0), b = iota(8, 0);
  weft_tensor inputs[] = {a.view(), b.view()};
  std::vector<float> storage(8 + 32, -1.0f);
  // Aligned or not, the result must be the same.
  for (size_t offset = 0; offset < 17; ++offset) {
    weft_tensor output = {0, 0, nullptr, storage.data() + offset, 8 * sizeof(float), 0, 0};
    ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
    EXPECT_EQ(output.data, storage.data() + offset);
    EXPECT_EQ(storage[offset + 7], 15.0f);
    EXPECT_EQ(storage[offset + 8], -1.0f);
    storage.assign(storage.size(), -1.0f);
  }
  weft_tensor small = {0, 0, nullptr, storage.data(), 31, 0, 0};
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &small, 1)),
            "output \"y\": expected memory for 32 bytes, got 31");
}

TEST_F(SessionTest, GivesScratchToEachWorker) {
  SessionPtr session = createSession(bundle.get(), "rows", 4);
  Floats x{{300, 7}, std::vector<float>(2100)};
  for (size_t i = 0; i < x.data.size(); ++i)
    x.data[i] = float(i % 11) * 0.01f;
  weft_tensor input = x.view(), output = {};
  ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
  for (size_t row = 0; row < 300; ++row) {
    float sum = 0;
    for (size_t j = 0; j < 7; ++j)
      sum += x.data[row * 7 + j];
    ASSERT_EQ(static_cast<float *>(output.data)[row], std::exp(sum));
  }
}

TEST_F(SessionTest, SizesOutputsFromData) {
  SessionPtr session = createSession(bundle.get(), "positions", 2);
  for (std::vector<float> values : {std::vector<float>{1, -1, 2, 0, 3}, {-1, -2}, {}, {5}}) {
    Floats x{{int64_t(values.size())}, values};
    weft_tensor input = x.view(), output = {};
    ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
    std::vector<int64_t> expected;
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i] > 0)
        expected.push_back(int64_t(i));
    ASSERT_EQ(output.dims[0], int64_t(expected.size()));
    EXPECT_EQ(std::vector<int64_t>(static_cast<int64_t *>(output.data),
                                   static_cast<int64_t *>(output.data) + expected.size()),
              expected);
  }
}

TEST_F(SessionTest, RunsManySessionsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&, t] {
      SessionPtr session = createSession(bundle.get(), "sum", 1 + t % 3);
      for (int run = 0; run < 200; ++run) {
        Floats a = iota(1 + (run * 37 + t) % 900, float(t)), b = iota(a.dims[0], 0);
        weft_tensor inputs[] = {a.view(), b.view()}, output = {};
        if (!take(weft_session_run(session.get(), inputs, 2, &output, 1)).empty())
          ++wrong;
        for (int64_t i = 0; i < a.dims[0]; ++i)
          wrong += static_cast<float *>(output.data)[i] != float(2 * i + t + 1);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, SerialisesRunsOfOneSession) {
  SessionPtr session = createSession(bundle.get(), "sum", 2);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> y(500);
      for (int run = 0; run < 100; ++run) {
        Floats a = iota(500, float(t)), b = iota(500, 0);
        weft_tensor inputs[] = {a.view(), b.view()}, output = {0, 0, nullptr, y.data(), y.size() * 4};
        wrong += !take(weft_session_run(session.get(), inputs, 2, &output, 1)).empty();
        wrong += y[499] != float(998 + t + 1);
        weft_statistics statistics = {}; // Read while others run.
        statistics.struct_size = sizeof statistics;
        weft_session_statistics(session.get(), &statistics);
        wrong += statistics.runs < uint64_t(run) + 1;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionTest, SaysWhatDoesNotFit) {
  SessionPtr session = createSession(bundle.get(), "sum", 1);
  auto message = [&](std::vector<weft_tensor> inputs) {
    weft_tensor output = {};
    return take(weft_session_run(session.get(), inputs.data(), inputs.size(), &output, 1));
  };
  Floats a = iota(4, 0), b = iota(5, 0), big = iota(1001, 0);
  EXPECT_EQ(message({a.view()}), "expected 2 inputs and 1 outputs, got 1 and 1");
  EXPECT_EQ(message({a.view(), b.view()}),
            "input \"b\" dimension 0: expected 4 (symbol \"n\", set by input \"a\" dimension 0), got 5");
  EXPECT_EQ(message({big.view(), big.view()}), "input \"a\" dimension 0: expected symbol \"n\" in [0, 1000], got 1001");
  weft_tensor wrong = a.view();
  wrong.dtype = WEFT_F16;
  EXPECT_EQ(message({wrong, a.view()}), "input \"a\": expected element type f32, got f16");
  wrong = a.view();
  wrong.rank = 0;
  EXPECT_EQ(message({wrong, a.view()}), "input \"a\": expected rank 1, got 0");
  wrong = a.view();
  wrong.bytes = 15;
  EXPECT_EQ(message({wrong, a.view()}), "input \"a\": expected 16 bytes for 4xf32, got 15");
  int64_t negative[] = {-4};
  wrong = a.view();
  wrong.dims = negative;
  EXPECT_EQ(message({wrong, a.view()}), "input \"a\": dimension 0 is -4: negative, or the tensor is too large");
  wrong = a.view();
  wrong.data = nullptr;
  EXPECT_EQ(message({wrong, a.view()}), "input \"a\": data is null");
}

TEST_F(SessionTest, InfersExtentsFromSymbols) {
  SessionPtr rows = createSession(bundle.get(), "rows", 1), positions = createSession(bundle.get(), "positions", 1);
  int64_t symbols[] = {5, 7}, dims[2] = {0, 0};
  EXPECT_EQ(take(weft_session_input_dims(rows.get(), 0, symbols, dims)), "");
  EXPECT_EQ(dims[0], 5);
  EXPECT_EQ(dims[1], 7);
  EXPECT_EQ(take(weft_session_output_dims(positions.get(), 0, symbols, dims)), "");
  EXPECT_EQ(dims[0], -1);
  EXPECT_EQ(take(weft_session_input_dims(rows.get(), 1, symbols, dims)), "expected an index below 1, got 1");
  symbols[1] = -1;
  EXPECT_EQ(take(weft_session_input_dims(rows.get(), 0, symbols, dims)),
            "expected symbol \"cols\" in [0, 9223372036854775807], got -1");
}

TEST_F(SessionTest, KeepsToTheMemoryLimit) {
  SessionPtr session = createSession(bundle.get(), "sum", 1, 1000);
  Floats a = iota(500, 0);
  weft_tensor inputs[] = {a.view(), a.view()}, output = {};
  weft_error *error = weft_session_run(session.get(), inputs, 2, &output, 1);
  EXPECT_EQ(weft_error_code(error), WEFT_ERROR_RESOURCE);
  EXPECT_NE(take(error).find("more than the limit of 1000 bytes"), std::string::npos);
  // The session still works for shapes that fit.
  Floats small = iota(10, 0);
  weft_tensor smallInputs[] = {small.view(), small.view()}, smallOutput = {};
  EXPECT_EQ(take(weft_session_run(session.get(), smallInputs, 2, &smallOutput, 1)), "");
}

TEST_F(SessionTest, ReadsNoMoreOptionsThanTheCallerHas) {
  weft_session_options options = {
      offsetof(weft_session_options, memory_limit), 1, 0, "sum", /*memory_limit=*/1, nullptr, nullptr, 0, 0};
  weft_session *older = nullptr;
  ASSERT_EQ(take(weft_session_create(bundle.get(), "cpu", &options, &older)), "");
  SessionPtr session(older);
  Floats a = iota(100, 0), b = iota(100, 0);
  weft_tensor inputs[] = {a.view(), b.view()}, output = {};
  EXPECT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
}

TEST_F(SessionTest, RefusesWhatItDoesNotHave) {
  weft_session *session = nullptr;
  weft_error *error = weft_session_create(bundle.get(), "vulkan", nullptr, &session);
  EXPECT_EQ(weft_error_code(error), WEFT_ERROR_DEVICE);
  EXPECT_EQ(take(error), "unknown device \"vulkan\"; this runtime has: cpu, cuda[:N], emu:<GPU>");
  weft_session_options options = {sizeof options, 1, 0, "main", 0, nullptr, nullptr, 0, 0};
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", &options, &session)),
            "the bundle has no entry \"main\"; it has: \"sum\", \"rows\", \"positions\", \"copy_f64\", \"copy_f32\", "
            "\"copy_f16\", "
            "\"copy_bf16\", \"copy_f8e4m3fn\"");
  options = {};
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", &options, &session)),
            "expected options.struct_size to be the size of the struct");
}

TEST_F(SessionTest, TakesOptionsOfOlderAndNewerCallers) {
  struct {
    weft_session_options known;
    uint64_t later;
  } newer = {};
  newer.known.struct_size = sizeof newer;
  newer.known.entry = "sum";
  newer.known.threads = 1;
  weft_session *session = nullptr;
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", &newer.known, &session)), "");
  EXPECT_EQ(weft_session_input_count(session), 2u);
  weft_session_release(session);
  newer.later = 1;
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", &newer.known, &session)),
            "options: have fields that this version of the runtime does not know");
  // What an older caller's struct does not have is not read.
  weft_session_options older = {
      offsetof(weft_session_options, entry), 1, 0, reinterpret_cast<const char *>(8), 0, nullptr, nullptr, 0, 0};
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", &older, &session)), "");
  weft_statistics all = {}, some = {};
  all.struct_size = sizeof all;
  weft_session_statistics(session, &all);
  some.struct_size = offsetof(weft_statistics, last_run_ns);
  some.last_run_ns = 77;
  weft_session_statistics(session, &some);
  EXPECT_EQ(some.last_run_ns, 77u);
  EXPECT_EQ(all.threads, 1u);
  weft_session_release(session);
}

TEST(CpuCode, RefusesCodeForAnotherMachine) {
  Builder builder("weft test");
  addKernels(builder, {"avx512f", "not-a-feature"});
  addRowEntry(builder);
  builder.addNativeCode("riscv64-unknown-linux-gnu", {}, readKernels());
  std::vector<uint8_t> bytes;
  ASSERT_FALSE(builder.build(bytes));
  BundlePtr bundle = open(bytes);
  weft_session *session = nullptr;
  weft_error *error = weft_session_create(bundle.get(), "cpu", nullptr, &session);
  EXPECT_EQ(weft_error_code(error), WEFT_ERROR_DEVICE);
  std::string message = take(error);
  EXPECT_NE(message.find("no code in the bundle runs on this CPU: variant 0 needs CPU feature "), std::string::npos)
      << message;
  EXPECT_NE(message.find("\"not-a-feature\""), std::string::npos) << message;
  EXPECT_NE(message.find("variant 1 needs target \"riscv64-unknown-linux-gnu\""), std::string::npos) << message;
}

TEST(CpuCode, RefusesBrokenCode) {
  for (bool isElf : {false, true}) {
    Builder builder("weft test");
    builder.addKernel("a", {});
    EntryBuilder &entry = builder.addEntry("main");
    BufferId y = entry.addOutput("y", DType::UI8, {entry.constant(4)});
    for (int i = 0; i < 9; ++i)
      builder.addKernel("missing", {});
    entry.dispatch({9}, {entry.constant(4), {}, {{y}}, {}});
    builder.addNativeCode(getTarget(), {}, isElf ? readKernels() : std::vector<uint8_t>(1000, 7));
    std::vector<uint8_t> bytes;
    ASSERT_FALSE(builder.build(bytes));
    BundlePtr bundle = open(bytes);
    weft_session *session = nullptr;
    EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", nullptr, &session)),
              isElf ? "code variant 0: symbol k5 of kernel \"missing\" does not exist"
                    : "code variant 0: expected an ELF shared object for this machine");
  }
}

TEST(ThreadPool, RunsEveryGridPointOnce) {
  Builder builder("weft test");
  addKernels(builder);
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId x = entry.addInput("x", DType::UI8, {n}), y = entry.addOutput("y", DType::UI8, {n});
  entry.copy({x}, {y}, n);
  for (int i = 0; i < 20; ++i)
    entry.dispatch({4}, {n, {}, {{y}}, {}});
  std::vector<uint8_t> bytes;
  ASSERT_FALSE(builder.build(bytes));
  BundlePtr bundle = open(bytes);
  for (int threads : {1, 2, 3, 8}) {
    SessionPtr session = createSession(bundle.get(), "main", threads);
    for (int64_t n : {0, 1, 2, 7, 8, 100, 12345}) {
      std::vector<uint8_t> data(size_t(n), 3);
      weft_tensor input = {WEFT_UI8, 1, &n, data.data(), uint64_t(n), 0, 0}, output = {};
      ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(static_cast<uint8_t *>(output.data)[i], 23) << "threads " << threads << " n " << n << " i " << i;
    }
  }
}
