// Builder, reader, shape program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the builder writes is what the reader sees; registers are shared, folded, and put where they can be evaluated;
// arithmetic is checked; files are the same bytes every time.
#include "Repair.h"
#include "TestBundles.h"
#include "weft/Bundle/DType.h"
#include "weft/Bundle/Hash.h"
#include "weft/Bundle/Reader.h"
#include "weft/Bundle/ShapeProgram.h"

#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

TEST(Builder, RoundTrip) {
  std::vector<uint8_t> bytes = buildExample();
  Reader reader;
  Error error = Reader::open(bytes.data(), bytes.size(), /*verifyWeights=*/true, reader);
  ASSERT_FALSE(error) << error.getMessage();
  const Tables &tables = reader.getTables();
  EXPECT_EQ(reader.getProductVersion(), "weft test");
  EXPECT_EQ(reader.getMetadata("model"), "example");
  EXPECT_EQ(reader.getMetadata("other"), "");
  EXPECT_EQ(tables.kernels.size, 5u);
  EXPECT_EQ(tables.getString(tables.origins[1]), "/ReduceSum");
  ASSERT_EQ(tables.weights.size, 1u);
  EXPECT_EQ(tables.weights[0].size, 4000u);
  EXPECT_EQ(reinterpret_cast<const float *>(reader.getEmbeddedWeight(tables.weights[0]))[999], 1.0f);

  EntryView sum = getEntry(tables, 0);
  ASSERT_EQ(sum.commands.size, 3u); // eval, add, add
  EXPECT_EQ(CommandKind(sum.commands[0].kind), CommandKind::Eval);
  ASSERT_EQ(sum.buffers.size, 5u);
  EXPECT_EQ(BufferKind(sum.buffers[4].kind), BufferKind::Transient);
  EXPECT_EQ(sum.buffers[4].firstCommand, 1u);
  EXPECT_EQ(sum.buffers[4].lastCommand, 2u);

  EntryView positions = getEntry(tables, 2);
  ASSERT_EQ(positions.commands.size, 4u); // eval, count, eval, positions
  EXPECT_EQ(CommandKind(positions.commands[2].kind), CommandKind::Eval);
  EXPECT_EQ(positions.buffers[1].lastCommand, 2u) << "the load in the second eval reads the count";
}

TEST(Builder, SameCallsSameBytes) { EXPECT_EQ(buildExample(), buildExample()); }

TEST(Reader, TakesEveryOlderMinor) {
  std::vector<uint8_t> bytes = buildExample();
  for (uint16_t minor = 0; minor <= kFormatMinor; ++minor) {
    reinterpret_cast<FileHeader *>(bytes.data())->formatMinor = minor;
    repairHashes(bytes.data(), bytes.size());
    BundlePtr bundle = open(bytes);
    SessionPtr session = createSession(bundle.get(), "positions", 1);
    Floats x = {{4}, {1, -1, 0, 5}};
    weft_tensor input = x.view(), output = {};
    EXPECT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
    ASSERT_EQ(output.dims[0], 2);
    EXPECT_EQ(static_cast<const int64_t *>(output.data)[1], 3);
  }
}

TEST(Builder, SharesAndFoldsRegisters) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), two = entry.constant(2), three = entry.constant(3);
  EXPECT_EQ(entry.add(n, two), entry.add(two, n));
  EXPECT_NE(entry.sub(n, two), entry.sub(two, n));
  EXPECT_EQ(entry.mul(two, three), entry.constant(6));
  EXPECT_EQ(entry.add(n, entry.constant(0)), n);
  EXPECT_EQ(entry.mul(entry.constant(1), n), n);
  EXPECT_EQ(entry.ceilDiv(n, entry.constant(1)), n);
  EXPECT_EQ(entry.floorDiv(entry.constant(-7), two), entry.constant(-4));
  // What cannot be computed now must fail in the run, not vanish.
  EXPECT_NE(entry.floorDiv(two, entry.constant(0)), entry.constant(0));
}

TEST(Builder, DropsWhatNothingNeeds) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg unbound = entry.symbol(entry.addSymbol("unbound")), n = entry.symbol(entry.addSymbol("n"));
  entry.mul(entry.add(unbound, n), entry.constant(77));
  entry.addInput("x", DType::UI8, {n});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  ASSERT_FALSE(error) << error.getMessage();
  Reader reader;
  ASSERT_FALSE(Reader::open(bytes.data(), bytes.size(), true, reader));
  EXPECT_EQ(reader.getTables().instructions.size, 1u);
  EXPECT_EQ(reader.getTables().symbols.size, 2u);
}

TEST(Builder, ReportsMisuse) {
  struct Case {
    void (*make)(Builder &, EntryBuilder &);
    const char *message;
  };
  const Case cases[] = {
      {[](Builder &, EntryBuilder &entry) { entry.add({}, entry.constant(1)); },
       "bundle builder: shape program: expected a register of this entry"},
      {[](Builder &, EntryBuilder &entry) { entry.symbol({3}); },
       "bundle builder: shape program: expected a symbol of this entry"},
      {[](Builder &, EntryBuilder &entry) { entry.addInput("x", DType(99), {}); },
       "bundle builder: buffer: expected a known dtype and rank at most 32, got code 99 and rank 0"},
      {[](Builder &, EntryBuilder &entry) { entry.dispatch({7}, {entry.constant(1), {}, {}, {}}); },
       "bundle builder: entry \"main\": command 1: kernel 7 does not exist"},
      {[](Builder &, EntryBuilder &entry) {
         entry.addOutput("y", DType::F32, {});
         entry.addOutput("y", DType::F32, {});
       },
       "bundle builder: output \"y\" occurs twice"},
      {[](Builder &builder, EntryBuilder &) { builder.addKernel("\xff", {}); },
       "bundle builder: string 1: not UTF-8: \"\\xff\""},
      {[](Builder &, EntryBuilder &entry) { entry.addOutput("y", DType::F32, {entry.symbol(entry.addSymbol("n"))}); },
       "bundle builder: entry \"main\": symbol \"n\" is the extent of no input dimension, so nothing can bind it"},
  };
  for (const Case &test : cases) {
    Builder builder("weft test");
    test.make(builder, builder.addEntry("main"));
    std::vector<uint8_t> bytes;
    EXPECT_EQ(builder.build(bytes).getMessage(), test.message);
  }
}

TEST(Builder, WritesFilesInOneStep) {
  char folder[] = "/tmp/weft-test-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string path = std::string(folder) + "/m.weft";
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  entry.addOutput("y", DType::F32, {entry.constant(0)});
  uint64_t size = 0;
  ASSERT_FALSE(builder.writeFile(path, &size));
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(uint64_t(status.st_size), size);
  std::vector<uint8_t> bytes;
  ASSERT_FALSE(builder.build(bytes));
  EXPECT_EQ(bytes.size(), size);
  Error error = builder.writeFile(std::string(folder) + "/absent/m.weft");
  EXPECT_NE(error.getMessage().find("No such file or directory"), std::string::npos);
  unlink(path.c_str());
  EXPECT_EQ(rmdir(folder), 0) << "no temporary file is left";
}

TEST(Builder, WritesIntoPipes) { // The superuser may rename a file over /dev/null.
  char folder[] = "/tmp/weft-builder-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string path = std::string(folder) + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  Builder builder("weft test");
  uint64_t size = 0;
  Error error = builder.writeFile(path, &size);
  EXPECT_FALSE(error) << error.getMessage();
  std::vector<uint8_t> read(size + 1), built;
  EXPECT_EQ(::read(reader, read.data(), read.size()), ssize_t(size));
  read.pop_back();
  ASSERT_FALSE(builder.build(built));
  EXPECT_EQ(read, built);
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  close(reader);
  unlink(path.c_str());
  rmdir(folder);
}

TEST(Builder, GivesThePackersRequests) {
  Builder builder("weft test");
  builder.addKernel("k", {});
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), one = entry.constant(1);
  BufferId x = entry.addInput("x", DType::F32, {n});
  BufferId a = entry.addTransient(DType::F32, {n}), b = entry.addTransient(DType::I4, {n});
  entry.dispatch({0}, {one, {{x}}, {{a}}, {}});
  entry.dispatch({0}, {one, {{a}}, {{b}}, {}});
  entry.dispatch({0}, {one, {{b}}, {{a}}, {}});
  std::vector<PlanRequest> requests;
  ASSERT_TRUE(entry.getPlanRequests({7}, requests));
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].size, 28);
  EXPECT_EQ(requests[0].first, 1u);
  EXPECT_EQ(requests[0].last, 3u);
  EXPECT_EQ(requests[1].size, 4);
  EXPECT_EQ(requests[1].first, 2u);
  EXPECT_FALSE(entry.getPlanRequests({}, requests));
}

//===--------------------------------------------------------------------------------------------------------------===//
// Arithmetic
//===--------------------------------------------------------------------------------------------------------------===//

TEST(ShapeProgram, Arithmetic) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max(), min = std::numeric_limits<int64_t>::min();
  struct Case {
    Opcode opcode;
    int64_t a, b;
    bool ok;
    int64_t result;
  };
  const Case cases[] = {
      {Opcode::Add, 2, 3, true, 5},           {Opcode::Add, max, 1, false, 0},
      {Opcode::Sub, min, 1, false, 0},        {Opcode::Mul, 1 << 20, 1 << 20, true, int64_t(1) << 40},
      {Opcode::Mul, max, 2, false, 0},        {Opcode::FloorDiv, 7, 2, true, 3},
      {Opcode::FloorDiv, -7, 2, true, -4},    {Opcode::FloorDiv, min, 1, true, min},
      {Opcode::FloorDiv, 7, 0, false, 0},     {Opcode::FloorDiv, 7, -2, false, 0},
      {Opcode::CeilDiv, 7, 2, true, 4},       {Opcode::CeilDiv, -7, 2, true, -3},
      {Opcode::CeilDiv, max, max, true, 1},   {Opcode::Mod, 7, 3, true, 1},
      {Opcode::Mod, -7, 3, true, 2},          {Opcode::Mod, -1, max, true, max - 1},
      {Opcode::Mod, min, max, true, max - 1}, {Opcode::Mod, 3, 0, false, 0},
      {Opcode::Min, -1, 4, true, -1},         {Opcode::Max, -1, 4, true, 4},
  };
  for (const Case &test : cases) {
    int64_t result = 0;
    EXPECT_EQ(evaluateArithmetic(test.opcode, test.a, test.b, result), test.ok)
        << int(test.opcode) << " " << test.a << " " << test.b;
    if (test.ok)
      EXPECT_EQ(result, test.result) << int(test.opcode) << " " << test.a << " " << test.b;
  }
}

/// A session on an entry that computes `make(n)` as the extent of an output.
static std::string runProgram(Reg (*make)(EntryBuilder &, Reg), int64_t n) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg symbol = entry.symbol(entry.addSymbol("n"));
  entry.addInput("x", DType::UI8, {symbol});
  entry.addOutput("y", DType::UI8, {make(entry, symbol)});
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  std::vector<uint8_t> data(size_t(n) + 1);
  weft_tensor input = {WEFT_UI8, 1, &n, data.data(), uint64_t(n), 0, 0}, output = {};
  std::string message = take(weft_session_run(session.get(), &input, 1, &output, 1));
  return message.empty() ? std::to_string(output.dims[0]) : message;
}

TEST(ShapeProgram, RunsAndFails) {
  EXPECT_EQ(runProgram([](EntryBuilder &e, Reg n) { return e.ceilDiv(e.mul(n, e.constant(3)), e.constant(4)); }, 7),
            "6");
  EXPECT_EQ(runProgram([](EntryBuilder &e, Reg n) { return e.floorDiv(e.constant(1), n); }, 0),
            "shape program: divisor is not positive in register 2: floordiv(1, 0)");
  EXPECT_EQ(runProgram([](EntryBuilder &e, Reg n) { return e.mul(n, e.mul(n, e.constant(int64_t(1) << 60))); }, 9),
            "shape program: result leaves 64 bits in register 2: mul(9, 1152921504606846976)");
  EXPECT_EQ(runProgram([](EntryBuilder &e, Reg n) { return e.sub(n, e.constant(5)); }, 2),
            "expected extents of at least 0, got -3 in register 2");
  EXPECT_EQ(runProgram(
                [](EntryBuilder &e, Reg n) {
                  e.assertEqual(e.mod(n, e.constant(2)), e.constant(0), "expected n to be even");
                  return n;
                },
                3),
            "expected n to be even: 1 is not 0");
  EXPECT_EQ(runProgram(
                [](EntryBuilder &e, Reg n) {
                  e.assertRange(n, e.constant(4), e.constant(8), "expected n to be medium");
                  return n;
                },
                3),
            "expected n to be medium: 3 is not in [4, 8]");
}

TEST(ShapeProgram, ChecksDerivedInputExtents) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  entry.addInput("a", DType::UI8, {n});
  entry.addInput("b", DType::UI8, {entry.add(entry.mul(entry.constant(2), n), entry.constant(1))});
  std::vector<uint8_t> bytes, data(64);
  ASSERT_FALSE(builder.build(bytes));
  BundlePtr bundle = open(bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1);
  int64_t four = 4, nine = 9;
  weft_tensor right[] = {{WEFT_UI8, 1, &four, data.data(), 4, 0, 0}, {WEFT_UI8, 1, &nine, data.data(), 9, 0, 0}};
  EXPECT_EQ(take(weft_session_run(session.get(), right, 2, nullptr, 0)), "");
  weft_tensor wrong[] = {right[0], right[0]};
  EXPECT_EQ(take(weft_session_run(session.get(), wrong, 2, nullptr, 0)),
            "input \"b\" dimension 0: expected 9 (\"n*2 + 1\"), got 4");
}

//===--------------------------------------------------------------------------------------------------------------===//
// Small parts
//===--------------------------------------------------------------------------------------------------------------===//

TEST(DType, Sizes) {
  int64_t bytes = 0;
  EXPECT_TRUE(getByteSize(DType::I4, 5, bytes));
  EXPECT_EQ(bytes, 3);
  EXPECT_TRUE(getByteSize(DType::I2, 5, bytes));
  EXPECT_EQ(bytes, 2);
  EXPECT_TRUE(getByteSize(DType::BF16, 5, bytes));
  EXPECT_EQ(bytes, 10);
  EXPECT_FALSE(getByteSize(DType::F64, int64_t(1) << 60, bytes));
  EXPECT_FALSE(getByteSize(DType::F64, -1, bytes));
  DType dtype;
  EXPECT_TRUE(parseDType("f8e4m3fn", dtype));
  EXPECT_EQ(dtype, DType::F8E4M3FN);
  EXPECT_FALSE(parseDType("float", dtype));
}

TEST(Error, EscapesText) {
  EXPECT_EQ(quote("a\"b\\"), "\"a\\\"b\\\\\"");
  EXPECT_EQ(quote("\x1b[31m\n"), "\"\\x1b[31m\\x0a\"");
  EXPECT_EQ(quote("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(quote("\xe2\x80\xae"), "\"\\xe2\\x80\\xae\"") << "right-to-left override";
  EXPECT_EQ(quote("\xc0\xaf"), "\"\\xc0\\xaf\"") << "overlong";
  EXPECT_EQ(quote(std::string(300, 'x')).size(), 200u + 5);
  EXPECT_TRUE(isUtf8("\xf0\x9f\xa7\xb5"));
  EXPECT_FALSE(isUtf8("\xed\xa0\x80")) << "surrogate";
}

TEST(Hash, PiecesEqualTheWhole) {
  std::vector<uint8_t> data(5000);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = uint8_t(i * 7);
  Hasher hasher;
  hasher.update(data.data(), 1);
  hasher.update(data.data() + 1, 999);
  hasher.update(data.data() + 1000, 4000);
  EXPECT_EQ(hasher.digest(), hashBytes(data.data(), data.size()));
  // The reference value of the empty input, so that the algorithm cannot change unnoticed.
  EXPECT_EQ(hashBytes("", 0).high, 0x99aa06d3014798d8u);
  EXPECT_EQ(hashBytes("", 0).low, 0x6001c324468d497fu);
}
