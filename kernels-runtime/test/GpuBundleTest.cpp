// Bundles with GPU code, on the emulator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way of PTX from the bundle to a launch: choice of the module, parameters, staging of tensors, counters, and the
// errors of each.
#include "Gpu/GpuCode.h"
#include "TestBundles.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

static std::string createError(const std::vector<uint8_t> &bytes, const char *device) {
  BundlePtr bundle = open(bytes);
  weft_session *session = nullptr;
  std::string message = take(weft_session_create(bundle.get(), device, nullptr, &session));
  weft_session_release(session);
  return message;
}

/// y for a = 0, 1, ...; b = 10.
static std::string run(weft_session *session, int64_t n, std::vector<float> &result) {
  Floats a{{n}, {}}, b{{n}, std::vector<float>(size_t(n), 10)};
  for (int64_t i = 0; i < n; ++i)
    a.data.push_back(float(i));
  weft_tensor inputs[] = {a.view(), b.view()}, output = {};
  std::string message = take(weft_session_run(session, inputs, 2, &output, 1));
  if (message.empty())
    result.assign(static_cast<float *>(output.data), static_cast<float *>(output.data) + n);
  return message;
}

static SessionPtr createOn(weft_bundle *bundle, const char *device) {
  weft_session *session = nullptr;
  EXPECT_EQ(take(weft_session_create(bundle, device, nullptr, &session)), "");
  return SessionPtr(session);
}

TEST(GpuBundle, RunsOnEveryCard) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}});
  BundlePtr bundle = open(bytes);
  for (const char *card : {"emu:sm_80", "emu:sm_86", "emu:sm_89", "emu:sm_90a", "emu:H200,seed=7,timing=late"}) {
    SessionPtr session = createOn(bundle.get(), card);
    EXPECT_STREQ(weft_session_code(session.get()), "sm_80");
    for (int64_t n : {1, 128, 1000, 300}) {
      std::vector<float> y;
      ASSERT_EQ(run(session.get(), n, y), "") << card;
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(y[size_t(i)], float(i) + 20) << card;
    }
    EXPECT_STREQ(weft_session_counters(session.get(), 1), "");
  }
}

TEST(GpuBundle, WritesToTheCallersMemory) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}});
  BundlePtr bundle = open(bytes);
  SessionPtr session = createOn(bundle.get(), "emu:sm_80");
  Floats a{{3}, {1, 2, 3}}, b{{3}, {1, 1, 1}}, y{{3}, {0, 0, 0}};
  weft_tensor inputs[] = {a.view(), b.view()}, output = y.view();
  ASSERT_EQ(take(weft_session_run(session.get(), inputs, 2, &output, 1)), "");
  EXPECT_EQ(y.data, (std::vector<float>{3, 4, 5}));
  EXPECT_EQ(output.data, y.data.data());
}

TEST(GpuBundle, TakesTheBestModule) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")},
                                               {"sm_90a", makeAddPtx("sm_90a", "0f3F800000")},
                                               {"sm_86", makeAddPtx("sm_86", "0f40000000")},
                                               {"sm_100a", makeAddPtx("sm_80")}});
  BundlePtr bundle = open(bytes);
  const std::pair<const char *, float> expected[] = {
      {"emu:sm_80", 0}, {"emu:sm_86", 4}, {"emu:sm_89", 4}, {"emu:sm_90a", 2}};
  for (auto [card, extra] : expected) {
    SessionPtr session = createOn(bundle.get(), card);
    std::vector<float> y;
    ASSERT_EQ(run(session.get(), 5, y), "");
    EXPECT_EQ(y[0], 20 + extra) << card;
  }
}

/// `main` copies, `main@sm_80` and `main@sm_90a` give 2 x + 1.
static std::vector<uint8_t> buildEntries(const std::vector<const char *> &targets) {
  Builder builder("weft test");
  for (const char *target : targets) {
    EntryBuilder &entry = builder.addEntry(std::string("main") + (*target ? "@" : "") + target);
    Reg n = entry.symbol(entry.addSymbol("n"));
    BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
    if (!*target) {
      entry.copy({x}, {y}, entry.getSize(y));
      continue;
    }
    KernelId kernel = builder.addKernel(target, {});
    entry.dispatch(kernel, {entry.ceilDiv(n, entry.constant(128)), {{x}, {x}}, {{y}}, {n}});
    std::string name = "k" + std::to_string(kernel.value), ptx = makeAddPtx(target, "0f3F800000");
    ptx.replace(ptx.find("k0"), 2, name);
    builder.addPtx(target, ptx, {{kernel, 128, 1, 0, 16, {}}});
  }
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

static std::string runEntry(const std::vector<uint8_t> &bytes, const char *device, const char *entry) {
  BundlePtr bundle = open(bytes);
  weft_session_options options = {};
  options.struct_size = sizeof options;
  options.entry = entry;
  weft_session *raw = nullptr;
  std::string message = take(weft_session_create(bundle.get(), device, &options, &raw));
  if (!raw)
    return message;
  SessionPtr session(raw);
  Floats x{{1}, {5}}, y{{1}, {0}};
  weft_tensor input = x.view(), output = y.view();
  message = take(weft_session_run(raw, &input, 1, &output, 1));
  return message.empty() ? std::to_string(int(y.data[0])) + " " + weft_session_code(raw) : message;
}

TEST(GpuBundle, TakesTheEntryThatFitsTheDevice) {
  std::vector<uint8_t> all = buildEntries({"", "sm_80", "sm_90a"});
  EXPECT_EQ(runEntry(all, "cpu", nullptr), "5 ");
  EXPECT_EQ(runEntry(all, "emu:sm_86", nullptr), "11 sm_80");
  EXPECT_EQ(runEntry(all, "emu:sm_90a", "main"), "11 sm_90a");
  EXPECT_EQ(runEntry(all, "emu:sm_90a", "main@sm_80"), "11 sm_80");
  EXPECT_EQ(runEntry(all, "emu:sm_80", "main@sm_90a"),
            "expected code for sm_80, the bundle has sm_80, sm_90a; compile the model with --target=sm_80");
  EXPECT_EQ(runEntry(all, "emu:sm_80", "main@sm_70"),
            "the bundle has no entry \"main@sm_70\"; it has: \"main\", \"main@sm_80\", \"main@sm_90a\"");
  std::vector<uint8_t> hopper = buildEntries({"", "sm_90a"}), gpuOnly = buildEntries({"sm_90a"});
  EXPECT_EQ(runEntry(hopper, "emu:sm_80", nullptr),
            "expected code for sm_80, the bundle has sm_90a; compile the model with --target=sm_80");
  EXPECT_EQ(runEntry(gpuOnly, "cpu", nullptr),
            "expected code for cpu, the bundle has sm_90a; compile the model with --target=cpu");
}

TEST(GpuBundle, CountsOnDemand) {
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}});
  BundlePtr bundle = open(bytes);
  SessionPtr session = createOn(bundle.get(), "emu:A100,counters=on");
  std::vector<float> y;
  for (int i = 0; i < 2; ++i) // Counters are those of the last run.
    ASSERT_EQ(run(session.get(), 1024, y), "");
  std::string json = weft_session_counters(session.get(), 1);
  // Two dispatches; each loads 2 x 32 warps of 4 sectors.
  EXPECT_EQ(json.find("[{\"kernel\": \"add\", \"counters\": {"), 0u) << json;
  const std::string sectors = "\"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum\": 256";
  size_t first = json.find(sectors), second = json.find(sectors, first + 1);
  EXPECT_NE(second, json.npos) << json;
  EXPECT_EQ(json.find(sectors, second + 1), json.npos) << json;
  std::string text = weft_session_counters(session.get(), 0);
  EXPECT_EQ(text.find("kernel \"add\"\n"), 0u) << text;
}

TEST(GpuBundle, RefusesWhatDoesNotFit) {
  std::vector<uint8_t> sm90 = buildGpuBundle({{"sm_90a", makeAddPtx("sm_90a")}});
  EXPECT_EQ(createError(sm90, "emu:sm_80"),
            "expected code for sm_80, the bundle has sm_90a; compile the model with --target=sm_80");
  EXPECT_EQ(createError(buildGpuBundle({}), "emu:sm_80"),
            "expected code for sm_80, the bundle has none; compile the model with --target=sm_80");
  EXPECT_EQ(createError(sm90, "emu:V100").find("the emulator has no GPU \"V100\"; it has: A100 (sm_80), "), 0u);
  EXPECT_EQ(createError(sm90, "emu:sm_90a,timing=soon"),
            "emulator: expected seed=N, timing=early|random|late, order=random|depth-first|reverse, "
            "ctas=numbers|reverse|random, sanitizer=on|off, "
            "counters=on|off or limit=N, got \"timing=soon\"");
  EXPECT_NE(createError(sm90, "cpu").find("the bundle holds no native code"), std::string::npos);
  std::string broken = createError(buildGpuBundle({{"sm_80", ".version 8.0\n.target sm_80\nnonsense"}}), "emu:sm_80");
  EXPECT_EQ(broken.find("sm_80:3:1: "), 0u) << broken;
}

TEST(GpuBundle, RefusesLaunchesThatCannotBe) {
  std::vector<float> y;
  std::vector<uint8_t> clustered = buildGpuBundle({{"sm_90a", makeAddPtx("sm_90a")}}, 2);
  BundlePtr bundle = open(clustered);
  SessionPtr session = createOn(bundle.get(), "emu:sm_90a");
  EXPECT_EQ(run(session.get(), 300, y),
            "kernel \"add\": expected a grid that is a multiple of the cluster of 2, got 3");
  EXPECT_EQ(run(session.get(), 256, y), "");
  std::vector<uint8_t> scratch = buildGpuBundle({{"sm_80", makeAddPtx("sm_80")}}, 1, true);
  BundlePtr other = open(scratch);
  session = createOn(other.get(), "emu:sm_80");
  EXPECT_EQ(run(session.get(), 300, y), "kernel \"add\": GPU kernels have no scratch, got 64 bytes");
}

TEST(GpuBundle, FindingsAreErrors) {
  // Reads one element beyond its inputs: n is compared too late.
  std::string text = makeAddPtx("sm_80");
  text.replace(text.find("setp.ge.s64"), 11, "setp.gt.s64");
  std::vector<uint8_t> bytes = buildGpuBundle({{"sm_80", text}});
  BundlePtr bundle = open(bytes);
  SessionPtr session = createOn(bundle.get(), "emu:sm_80");
  std::vector<float> y;
  std::string message = run(session.get(), 64, y);
  EXPECT_EQ(message.find("kernel \"add\": "), 0u) << message;
  EXPECT_NE(message.find("0x"), std::string::npos) << message;
}

TEST(GpuArchitecture, NamesAndOrder) {
  GpuArchitecture own, code;
  for (const char *bad : {"", "sm_", "sm_9", "sm_90b", "sm_90ab", "90", "sm_99999", "compute_90"})
    EXPECT_FALSE(GpuArchitecture::parse(bad, code)) << bad;
  ASSERT_TRUE(GpuArchitecture::parse("sm_90a", own));
  const std::pair<const char *, bool> expected[] = {{"sm_80", true},   {"sm_90", true},    {"sm_90a", true},
                                                    {"sm_100", false}, {"sm_100a", false}, {"sm_89", true}};
  for (auto [name, runs] : expected) {
    ASSERT_TRUE(GpuArchitecture::parse(name, code));
    EXPECT_EQ(own.runs(code), runs) << name;
  }
}
