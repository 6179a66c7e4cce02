// Loops of the launch program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counted, conditional, nested and endless loops, branches that do not run, and what the reader refuses of them.
#include "Repair.h"
#include "TestBundles.h"

#include <functional>
#include <gtest/gtest.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {
/// An entry "main" of x[n] and what `fill` makes of it; y[n] = x[n] + x[n] + ... is the usual result.
struct LoopProgram {
  using Fill = std::function<void(EntryBuilder &entry, BufferId x, BufferId y, Reg n)>;

  explicit LoopProgram(const Fill &fill) {
    Builder builder("weft test");
    addKernels(builder);
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n"));
    BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
    fill(entry, x, y, n);
    Error error = builder.build(bytes);
    EXPECT_FALSE(error) << error.getMessage();
  }

  /// The result for x = `values`, or the error's text.
  std::string run(std::vector<float> values, std::vector<float> &result, uint64_t turnLimit = 0) {
    BundlePtr bundle = open(bytes);
    SessionPtr session = createSession(bundle.get(), "main", 1, 0, turnLimit);
    Floats x{{int64_t(values.size())}, std::move(values)};
    weft_tensor input = x.view(), output = {};
    std::string error = take(weft_session_run(session.get(), &input, 1, &output, 1));
    if (error.empty())
      result.assign(static_cast<float *>(output.data), static_cast<float *>(output.data) + output.dims[0]);
    return error;
  }

  std::vector<uint8_t> bytes;
};

/// to = a + b over n elements (k0).
void add(EntryBuilder &entry, BufferId a, BufferId b, BufferId to, Reg n) {
  EntryBuilder::Dispatch dispatch;
  dispatch.grid = entry.ceilDiv(n, entry.constant(64));
  dispatch.inputs = {{a}, {b}};
  dispatch.outputs = {{to}};
  dispatch.scalars = {n};
  entry.dispatch({0}, dispatch);
}

/// One turn of sum += x, with the copy that loops of the compiler have.
void addTurn(EntryBuilder &entry, BufferId sum, BufferId x, Reg n) {
  BufferId next = entry.addTransient(DType::F32, {n});
  add(entry, sum, x, next, n);
  entry.copy({next}, {sum}, entry.getSize(sum));
}
/// The first loop of a bundle.
CommandRecord *findLoop(std::vector<uint8_t> &bytes) {
  auto *section = reinterpret_cast<SectionEntry *>(bytes.data() + sizeof(FileHeader));
  while (section->kind != uint32_t(SectionKind::Commands))
    ++section;
  auto *command = reinterpret_cast<CommandRecord *>(bytes.data() + section->offset);
  while (CommandKind(command->kind) != CommandKind::Loop)
    ++command;
  return command;
}
} // namespace

TEST(LoopTest, RunsAsOftenAsItsRegisterSays) {
  LoopProgram program([](EntryBuilder &entry, BufferId x, BufferId y, Reg n) {
    entry.copy({x}, {y}, entry.getSize(y));
    entry.beginLoop(entry.sub(n, entry.constant(2)));
    addTurn(entry, y, x, n);
    entry.endLoop();
  });
  for (int64_t n : {0, 1, 2, 3, 70}) { // n - 2 turns; none if that is negative.
    std::vector<float> result;
    ASSERT_EQ(program.run(std::vector<float>(size_t(n), 1.0f), result), "");
    for (float value : result)
      EXPECT_EQ(value, 1.0f + float(std::max<int64_t>(n - 2, 0)));
  }
}

TEST(LoopTest, NestsAndCountsTurns) {
  // y[i] = x[n - 1 - i], one element a turn; then twice that, n times over, with an inner loop of the turn's number.
  LoopProgram program([](EntryBuilder &entry, BufferId x, BufferId y, Reg n) {
    BufferId reversed = entry.addTransient(DType::F32, {n});
    Reg four = entry.constant(4);
    entry.beginLoop(n);
    Reg at = entry.turn();
    entry.copy({x, entry.mul(at, four)}, {reversed, entry.mul(entry.sub(entry.sub(n, entry.constant(1)), at), four)},
               four);
    entry.endLoop();
    entry.copy({reversed}, {y}, entry.getSize(y));
    entry.beginLoop(n);
    Reg outer = entry.turn();
    entry.beginLoop(outer);
    addTurn(entry, y, reversed, n);
    entry.endLoop();
    entry.endLoop();
  });
  std::vector<float> result;
  ASSERT_EQ(program.run({1, 2, 3, 4}, result), "");
  EXPECT_EQ(result, (std::vector<float>{28, 21, 14, 7})); // 1 + 0 + 1 + 2 + 3 of each.
}

TEST(LoopTest, EndsWhereItsConditionDoes) {
  // The condition is element `turn` of i1 data: true, true, false.
  for (const char *endless : {"", "expected an end"}) {
    Builder builder("weft test");
    addKernels(builder);
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n"));
    BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
    const uint8_t table[] = {1, 1, *endless ? uint8_t(1) : uint8_t(0), 1};
    BufferId flags = entry.addConstant(builder.addConstantData(table, sizeof table), DType::I1, {4}),
             goesOn = entry.addTransient(DType::I1, {entry.constant(1)});
    Reg one = entry.constant(1);
    entry.copy({x}, {y}, entry.getSize(y));
    entry.copy({flags}, {goesOn}, one);
    entry.beginLoop(entry.constant(3), goesOn, endless);
    addTurn(entry, y, x, n);
    entry.copy({flags, entry.add(entry.turn(), one)}, {goesOn}, one);
    entry.endLoop();
    std::vector<uint8_t> bytes;
    ASSERT_FALSE(builder.build(bytes));
    BundlePtr bundle = open(bytes);
    SessionPtr session = createSession(bundle.get(), "main", 1);
    Floats values{{1}, {5}};
    weft_tensor input = values.view(), output = {};
    std::string error = take(weft_session_run(session.get(), &input, 1, &output, 1));
    EXPECT_EQ(error, *endless ? "expected an end, got one that goes on after 3 turns" : "");
    if (error.empty())
      EXPECT_EQ(*static_cast<float *>(output.data), 15.0f);
  }
}

TEST(LoopTest, ABranchThatDoesNotRunChecksNothing) {
  auto makeProgram = [](int64_t turns) {
    return LoopProgram([turns](EntryBuilder &entry, BufferId x, BufferId y, Reg n) {
      entry.copy({x}, {y}, entry.getSize(y));
      entry.beginLoop(entry.constant(turns), {}, {}, /*branch=*/true);
      entry.assertEqual(n, entry.constant(7), "expected seven");
      BufferId part = entry.addTransient(DType::F32, {entry.sub(n, entry.constant(7))});
      entry.copy({part}, {y}, entry.getSize(part));
      entry.endLoop();
    });
  };
  std::vector<float> result;
  EXPECT_EQ(makeProgram(0).run({1, 2}, result), "");
  EXPECT_EQ(makeProgram(1).run({1, 2}, result), "expected seven: 2 is not 7");
}

TEST(LoopTest, LimitsTheTurnsOfARun) {
  // n turns of n turns each: n + n * n in all.
  LoopProgram program([](EntryBuilder &entry, BufferId x, BufferId y, Reg n) {
    entry.copy({x}, {y}, entry.getSize(y));
    entry.beginLoop(n);
    entry.beginLoop(n);
    addTurn(entry, y, x, n);
    entry.endLoop();
    entry.endLoop();
  });
  std::vector<float> result, three(3, 1.0f);
  const char *message = "expected at most 11 turns of loops in a run (turn_limit), got more";
  EXPECT_EQ(program.run(three, result, 12), "");
  EXPECT_EQ(result, std::vector<float>(3, 10.0f));
  EXPECT_EQ(program.run(three, result, 11), message);
  // A session that refused a run takes another one, with all its turns.
  BundlePtr bundle = open(program.bytes);
  SessionPtr session = createSession(bundle.get(), "main", 1, 0, 11);
  Floats large{{3}, three}, small{{2}, {1, 1}};
  for (int time = 0; time < 3; ++time) {
    weft_tensor input = large.view(), output = {};
    EXPECT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), message);
    input = small.view();
    ASSERT_EQ(take(weft_session_run(session.get(), &input, 1, &output, 1)), "");
    EXPECT_EQ(*static_cast<float *>(output.data), 5.0f);
  }
  weft_session_options options = {};
  options.struct_size = sizeof options;
  options.turn_limit = UINT64_MAX;
  weft_session *refused = nullptr;
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", &options, &refused)),
            "expected a turn_limit of at most 9223372036854775807, got 18446744073709551615");
}

TEST(LoopTest, RefusesTooManyTurnsAndNegativeExtents) {
  LoopProgram endless([](EntryBuilder &entry, BufferId x, BufferId y, Reg) {
    entry.beginLoop(entry.constant(kMaxTurns + 1));
    entry.copy({x}, {y}, entry.getSize(y));
    entry.endLoop();
  });
  std::vector<float> result;
  EXPECT_EQ(endless.run({1}, result), "expected at most 16777216 turns of loops in a run (turn_limit), got more");
  // Two extents of -1 are one element.
  LoopProgram negative([](EntryBuilder &entry, BufferId x, BufferId y, Reg n) {
    Reg less = entry.sub(n, entry.constant(2));
    BufferId square = entry.addTransient(DType::F32, {less, less});
    entry.copy({x}, {square}, entry.getSize(square));
    entry.copy({square}, {y}, entry.getSize(square));
  });
  EXPECT_NE(negative.run({1}, result).find("expected extents of at least 0, got -1"), std::string::npos);
}

TEST(LoopTest, ReaderRefusesBrokenLoops) {
  LoopProgram program([](EntryBuilder &entry, BufferId x, BufferId y, Reg n) {
    entry.copy({x}, {y}, entry.getSize(y));
    entry.beginLoop(n);
    BufferId row = entry.addTransient(DType::F32, {entry.add(entry.turn(), n)});
    entry.copy({x}, {row}, entry.getSize(x));
    entry.endLoop();
    entry.copy({x}, {y}, entry.getSize(y));
  });
  struct {
    std::function<void(CommandRecord *)> damage;
    const char *message;
  } cases[] = {
      {[](CommandRecord *loop) { loop->c = 0; }, "expected a body of 1 to "},
      {[](CommandRecord *loop) { loop->c = 1000; }, "expected a body of 1 to "},
      {[](CommandRecord *loop) { loop->c = 1; }, "is defined in a loop that has ended"},
      {[](CommandRecord *loop) { loop->a = 1000; }, "trip count register 1000 is not defined"},
      {[](CommandRecord *loop) { loop->b = 0; }, "expected a condition of i1, got buffer 0 of f32"},
      {[](CommandRecord *loop) { loop->d = 1000; }, "message string 1000 does not exist"},
      {[](CommandRecord *loop) { loop->e = 1; }, "unused operands are set"},
      {[](CommandRecord *loop) { loop->kind = uint16_t(CommandKind::Copy); }, ""},
  };
  for (auto &each : cases) {
    std::vector<uint8_t> bytes = program.bytes;
    each.damage(findLoop(bytes));
    repairHashes(bytes.data(), bytes.size());
    weft_bundle_options options = {sizeof(weft_bundle_options), 1, nullptr};
    weft_bundle *bundle = nullptr;
    std::string error = take(weft_bundle_open_memory(bytes.data(), bytes.size(), &options, &bundle));
    weft_bundle_release(bundle);
    EXPECT_NE(error, "");
    EXPECT_NE(error.find(each.message), std::string::npos) << error;
  }
}
