// Bundles for the runtime's tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TestBundles.h"
#include "TestPaths.h"
#include "weft/Bundle/DType.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace weft;
using namespace weft::bundle;

std::vector<uint8_t> test::readKernels() {
  std::ifstream file(kernelsLibrary, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string test::getTarget() {
#if defined(__aarch64__)
  return "aarch64-unknown-linux-gnu";
#else
  return "x86_64-unknown-linux-gnu";
#endif
}

void test::addKernels(Builder &builder, const std::vector<std::string> &features) {
  builder.addKernel("add", {"/Add"});
  builder.addKernel("row_exp_sum", {"/ReduceSum", "/Exp"});
  builder.addKernel("count_positive", {"/NonZero"});
  builder.addKernel("positions", {"/NonZero"});
  builder.addKernel("increment", {});
  builder.addNativeCode(getTarget(), features, readKernels());
}

void test::addSumEntry(Builder &builder, const std::vector<float> &ones) {
  WeightId weight = builder.addEmbeddedWeight("ones", ones.data(), ones.size() * sizeof(float));
  EntryBuilder &entry = builder.addEntry("sum");
  Reg n = entry.symbol(entry.addSymbol("n", 0, int64_t(ones.size())));
  BufferId a = entry.addInput("a", DType::F32, {n}), b = entry.addInput("b", DType::F32, {n});
  BufferId y = entry.addOutput("y", DType::F32, {n});
  BufferId w = entry.addWeight(weight, DType::F32, {int64_t(ones.size())});
  BufferId t = entry.addTransient(DType::F32, {n});
  Reg grid = entry.ceilDiv(n, entry.constant(64));
  entry.dispatch({0}, {grid, {{a}, {b}}, {{t}}, {n}});
  entry.dispatch({0}, {grid, {{t}, {w}}, {{y}}, {n}});
}

void test::addRowEntry(Builder &builder) {
  EntryBuilder &entry = builder.addEntry("rows");
  Reg rows = entry.symbol(entry.addSymbol("rows")), columns = entry.symbol(entry.addSymbol("cols"));
  BufferId x = entry.addInput("x", DType::F32, {rows, columns}), y = entry.addOutput("y", DType::F32, {rows});
  entry.dispatch({1}, {rows, {{x}}, {{y}}, {rows, columns}, entry.mul(columns, entry.constant(4))});
}

void test::addPositionsEntry(Builder &builder) {
  EntryBuilder &entry = builder.addEntry("positions");
  Reg n = entry.symbol(entry.addSymbol("n")), one = entry.constant(1);
  BufferId x = entry.addInput("x", DType::F32, {n}), count = entry.addTransient(DType::I64, {});
  entry.dispatch({2}, {one, {{x}}, {{count}}, {n}});
  Reg positions = entry.load(count, entry.constant(0));
  entry.assertRange(positions, entry.constant(0), n, "expected a count of at most n");
  BufferId y = entry.addOutput("y", DType::I64, {positions});
  entry.dispatch({3}, {one, {{x}}, {{y}}, {n, positions}});
}

void test::addCopyEntries(Builder &builder) {
  for (int code = 0; code < 256; ++code) {
    auto dtype = DType(code);
    if (!getBits(dtype))
      continue;
    EntryBuilder &entry = builder.addEntry(std::string("copy_") + getName(dtype));
    Reg n = entry.symbol(entry.addSymbol("n"));
    BufferId x = entry.addInput("x", dtype, {n}), y = entry.addOutput("y", dtype, {n});
    entry.copy({x}, {y}, entry.getSize(x));
  }
}

std::vector<uint8_t> test::buildExample() {
  static const std::vector<float> ones(1000, 1.0f);
  Builder builder("weft test");
  builder.setMetadata("model", "example");
  addKernels(builder);
  addSumEntry(builder, ones);
  addRowEntry(builder);
  addPositionsEntry(builder);
  addCopyEntries(builder);
  std::vector<uint8_t> bytes;
  if (Error error = builder.build(bytes))
    ADD_FAILURE() << error.getMessage();
  return bytes;
}

std::string test::makeAddPtx(const char *target, const char *step) {
  return std::string(".version 8.0\n.target ") + target + R"(
.address_size 64
.visible .entry k0(.param .u64 a, .param .u64 b, .param .u64 y, .param .s64 n) {
  .reg .pred p;
  .reg .b32 r<4>;
  .reg .f32 f<4>;
  .reg .b64 d<9>;
  ld.param.u64 d1, [a];
  ld.param.u64 d2, [b];
  ld.param.u64 d3, [y];
  ld.param.s64 d4, [n];
  mov.u32 r1, %ctaid.x;
  mov.u32 r2, %tid.x;
  mad.lo.s32 r3, r1, 128, r2;
  cvt.s64.s32 d5, r3;
  setp.ge.s64 p, d5, d4;
  @p bra END;
  shl.b64 d6, d5, 2;
  add.s64 d1, d1, d6;
  add.s64 d2, d2, d6;
  add.s64 d3, d3, d6;
  ld.global.f32 f1, [d1];
  ld.global.f32 f2, [d2];
  add.f32 f3, f1, f2;
  add.f32 f3, f3, )" +
         step + R"(;
  st.global.f32 [d3], f3;
END:
  ret;
}
)";
}

std::vector<uint8_t> test::buildGpuBundle(const std::vector<std::pair<const char *, std::string>> &modules,
                                          uint32_t cluster, bool hasScratch, uint32_t resident) {
  Builder builder("weft test");
  KernelId add = builder.addKernel("add", {"/Add"});
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId a = entry.addInput("a", DType::F32, {n}), b = entry.addInput("b", DType::F32, {n});
  BufferId y = entry.addOutput("y", DType::F32, {n}), t = entry.addTransient(DType::F32, {n});
  Reg grid = entry.ceilDiv(n, entry.constant(128)), scratch = hasScratch ? entry.constant(64) : Reg();
  entry.dispatch(add, {grid, {{a}, {b}}, {{t}}, {n}, scratch});
  entry.dispatch(add, {grid, {{t}, {b}}, {{y}}, {n}, scratch});
  for (const auto &[target, text] : modules)
    builder.addPtx(target, text, {{add, 128, cluster, 0, 16, {}, resident}});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

std::vector<uint8_t> test::buildChainBundle(uint32_t length, bool isEarly) {
  Builder builder("weft test");
  KernelId add = builder.addKernel("add", {"/Add"});
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), grid = entry.ceilDiv(n, entry.constant(128));
  BufferId last = entry.addInput("a", DType::F32, {n}), b = entry.addInput("b", DType::F32, {n});
  BufferId y = entry.addOutput("y", DType::F32, {n});
  for (uint32_t i = 1; i <= length; ++i) {
    BufferId next = i < length ? entry.addTransient(DType::F32, {n}) : y;
    entry.dispatch(add, {grid, {{last}, {b}}, {{next}}, {n}, Reg()});
    last = next;
  }
  const char *target = isEarly ? "sm_90" : "sm_80";
  std::string text = makeAddPtx(target);
  if (isEarly)
    text.replace(text.find("  mov.u32 r1"), 0, "  griddepcontrol.launch_dependents;\n  griddepcontrol.wait;\n");
  builder.addPtx(target, text, {{add, 128, 1, 0, 16, {}}});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

std::vector<uint8_t> test::buildVariantBundle() {
  Builder builder("weft test");
  KernelId add = builder.addKernel("add", {"/Add"});
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), one = entry.constant(1), zero = entry.constant(0);
  BufferId a = entry.addInput("a", DType::F32, {n}), b = entry.addInput("b", DType::F32, {n});
  BufferId y = entry.addOutput("y", DType::F32, {n});
  Reg few = entry.max(zero, entry.min(one, entry.sub(entry.constant(101), n)));
  for (bool isFew : {true, false}) {
    // What does not run takes no memory: its symbol is kept in its interval.
    Reg own = isFew ? entry.min(n, entry.constant(100)) : n;
    Reg grid = entry.ceilDiv(own, entry.constant(128));
    entry.beginLoop(isFew ? few : entry.sub(one, few));
    BufferId t = entry.addTransient(DType::F32, {own});
    entry.dispatch(add, {grid, {{isFew ? a : b}, {b}}, {{t}}, {own}, Reg()});
    entry.dispatch(add, {grid, {{isFew ? t : a}, {isFew ? b : t}}, {{y}}, {own}, Reg()});
    entry.endLoop();
  }
  builder.addPtx("sm_80", makeAddPtx("sm_80"), {{add, 128, 1, 0, 16, {}}});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

std::vector<uint8_t> test::buildOrdersBundle(const std::function<WeightId(Builder &)> &add) {
  constexpr int64_t bytes = 12;
  Builder builder("weft test");
  WeightId plain = add(builder), ordered = add(builder);
  builder.setWeightOrder(ordered, 1, {2, 3, 2}, {1, 2, 0});
  for (auto [name, weight] : {std::pair("stored", plain), std::pair("seen", ordered)}) {
    EntryBuilder &entry = builder.addEntry(name);
    BufferId w = entry.addWeight(weight, DType::UI8, {bytes});
    BufferId y = entry.addOutput("y", DType::UI8, {entry.constant(bytes)});
    entry.copy({w}, {y}, entry.getSize(y));
  }
  std::vector<uint8_t> result;
  Error error = builder.build(result);
  EXPECT_FALSE(error) << error.getMessage();
  return result;
}

std::vector<uint8_t> test::buildWeightBundle(int64_t elements) {
  const std::vector<float> ones(size_t(elements), 1.0f);
  Builder builder("weft test");
  KernelId add = builder.addKernel("add", {"/Add"});
  WeightId weight = builder.addEmbeddedWeight("ones", ones.data(), ones.size() * sizeof(float));
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n", 0, elements)), grid = entry.ceilDiv(n, entry.constant(128));
  BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
  BufferId t = entry.addTransient(DType::F32, {n});
  BufferId v = entry.addWeight(weight, DType::F32, {elements}), w = entry.addWeight(weight, DType::F32, {elements});
  entry.dispatch(add, {grid, {{x}, {v}}, {{t}}, {n}, Reg()});
  entry.dispatch(add, {grid, {{t}, {w}}, {{y}}, {n}, Reg()});
  builder.addPtx("sm_80", makeAddPtx("sm_80"), {{add, 128, 1, 0, 16, {}}});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

/// Each CTA loads 32 rows by the tensor map and stores them by thread.
static const char *kTilePtx = R"(.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 smem[];
.visible .entry k0(.param .u64 x, .param .u64 y, .param .s64 rows, .param .s64 cols, .param .s64 stride,
                   .param .align 64 .b8 map[128]) {
  .reg .pred p<4>;
  .reg .b32 r<10>;
  .reg .f32 f<3>;
  .reg .b64 d<7>;
  mov.u32 r1, smem;
  add.u32 r2, r1, 98304;
  mov.u32 r3, %tid.x;
  mov.u32 r4, %ctaid.x;
  shl.b32 r4, r4, 5;
  setp.ne.u32 p1, r3, 0;
  @p1 bra WAIT;
  mbarrier.init.shared.b64 [r2], 1;
  fence.proxy.async;
  mov.b64 d1, map;
  cvta.param.u64 d1, d1;
  mov.u32 r5, 0;
  mbarrier.arrive.expect_tx.shared.b64 d2, [r2], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r1], [d1, {r5, r4}], [r2];
WAIT:
  bar.sync 0;
TEST:
  mbarrier.try_wait.parity.shared.b64 p2, [r2], 0;
  @!p2 bra TEST;
  add.u32 r6, r4, r3;
  cvt.s64.s32 d3, r6;
  ld.param.s64 d4, [rows];
  setp.ge.s64 p3, d3, d4;
  @p3 bra END;
  ld.param.u64 d5, [y];
  shl.b64 d6, d3, 7;
  add.s64 d5, d5, d6;
  shl.b32 r7, r3, 7;
  add.u32 r7, r7, r1;
  mov.u32 r8, %cluster_nctaid.x;
  cvt.rn.f32.u32 f1, r8;
  mov.u32 r9, 0;
COPY:
  ld.shared.f32 f2, [r7];
  add.f32 f2, f2, f1;
  st.global.f32 [d5], f2;
  add.u32 r7, r7, 4;
  add.s64 d5, d5, 4;
  add.u32 r9, r9, 1;
  setp.lt.u32 p3, r9, 32;
  @p3 bra COPY;
END:
  ret;
}
)";

std::vector<uint8_t> test::buildTileBundle() {
  Builder builder("weft test");
  KernelId tile = builder.addKernel("tile", {"/Add"});
  EntryBuilder &entry = builder.addEntry("main");
  Reg rows = entry.symbol(entry.addSymbol("rows")), columns = entry.constant(32);
  BufferId x = entry.addInput("x", DType::F32, {rows, columns}), y = entry.addOutput("y", DType::F32, {rows, columns});
  Reg grid = entry.mul(entry.ceilDiv(rows, entry.constant(64)), entry.constant(2));
  entry.dispatch(tile, {grid, {{x}}, {{y}}, {rows, columns, entry.constant(128)}});
  TensorMapRecord map = {
      0, uint8_t(DType::F32), 2, 0, 0, {{32, 0}, {32, 0}}, {1, 0, kNone, kNone, kNone}, {2, kNone, kNone, kNone}};
  builder.addPtx("sm_90a", kTilePtx, {{tile, 32, 2, 98368, 40, {map}}});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

std::string test::take(weft_error *error) {
  std::string message = weft_error_message(error);
  weft_error_free(error);
  return message;
}

test::BundlePtr test::open(const std::vector<uint8_t> &bytes) {
  weft_bundle *bundle = nullptr;
  EXPECT_EQ(take(weft_bundle_open_memory(bytes.data(), bytes.size(), nullptr, &bundle)), "");
  return BundlePtr(bundle);
}

test::SessionPtr test::createSession(weft_bundle *bundle, const char *entry, int threads, uint64_t memoryLimit,
                                     uint64_t turnLimit) {
  weft_session_options options = {sizeof options, threads, 0, entry, memoryLimit, nullptr, nullptr, 0, turnLimit};
  weft_session *session = nullptr;
  EXPECT_EQ(take(weft_session_create(bundle, "cpu", &options, &session)), "");
  return SessionPtr(session);
}
