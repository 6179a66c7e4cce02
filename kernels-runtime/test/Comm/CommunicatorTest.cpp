// Programs of several ranks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are threads here, each with a communicator and a session of its own; they meet over the same sockets as
// processes do. Every collective against its definition, and every way in which a rank can fail the others.
#include "Comm/Communicator.h"
#include "../Repair.h"
#include "../TestBundles.h"
#include "Comm/SideThread.h"
#include "Comm/Sockets.h"
#include "Memory/LoadedBundle.h"
#include "Session/Session.h"

#include <atomic>
#include <cstring>
#include <future>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {

/// An address where nobody listens.
std::string findAddress() {
  SocketAddress address;
  EXPECT_FALSE(resolve("127.0.0.1:1", address));
  setPort(address, 0);
  int listener = -1;
  EXPECT_FALSE(listenAt(address, listener));
  ::close(listener);
  return "127.0.0.1:" + std::to_string(getPort(address));
}

CommunicatorOptions makeOptions(uint32_t rank, uint32_t ranks, const std::string &address, int64_t timeoutMs = 20000) {
  CommunicatorOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.address = address;
  options.timeoutMs = timeoutMs;
  return options;
}

/// What `work` returns on each of `ranks` ranks.
using Work = std::function<std::string(uint32_t rank, const std::string &address)>;
std::vector<std::string> runRanks(uint32_t ranks, const Work &work) {
  std::string address = findAddress();
  std::vector<std::string> results(ranks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] { results[rank] = work(rank, address); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

/// Runs entry "main" of `bytes` as one rank: y, as text, or the error.
std::string runRank(const std::vector<uint8_t> &bytes, const CommunicatorOptions &options,
                    const std::vector<float> &values, const char *device = "cpu") {
  std::shared_ptr<Communicator> communicator;
  if (Error error = Communicator::create(options, communicator))
    return "create: " + error.getMessage();
  std::shared_ptr<LoadedBundle> bundle;
  if (Error error = LoadedBundle::openMemory(bytes.data(), bytes.size(), {}, bundle))
    return "open: " + error.getMessage();
  SessionOptions sessionOptions;
  sessionOptions.threads = 1;
  sessionOptions.communicator = std::move(communicator);
  std::unique_ptr<Session> session;
  if (Error error = Session::create(bundle, device, sessionOptions, session))
    return "session: " + error.getMessage();
  Floats x{{int64_t(values.size())}, values};
  weft_tensor input = x.view(), output = {};
  if (Error error = session->run(&input, 1, &output, 1))
    return error.getMessage();
  std::string text;
  for (uint64_t i = 0; i < output.bytes / sizeof(float); ++i)
    text += (i ? " " : "") + std::to_string(int(static_cast<const float *>(output.data)[i]));
  return text;
}

/// Entry "main": y = collective of x[n].
std::vector<uint8_t> buildCollective(CollectiveKind kind, Reduction reduction, uint32_t ranks) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n")), many = entry.constant(ranks);
  BufferId x = entry.addInput("x", DType::F32, {n});
  Reg results = kind == CollectiveKind::AllGather       ? entry.mul(n, many)
                : kind == CollectiveKind::ReduceScatter ? entry.floorDiv(n, many)
                                                        : n;
  BufferId y = entry.addOutput("y", DType::F32, {results});
  entry.collective(kind, reduction, x, entry.getSize(x), y, ranks, "/block/mlp");
  std::vector<uint8_t> bytes;
  Error error = builder.build(bytes);
  EXPECT_FALSE(error) << error.getMessage();
  return bytes;
}

/// Entry "main": y = the sums over the ranks of x[n] and of x[n] twice; the two collectives are under way beside
/// copies. The run fails behind the start of both where n is above `most`.
std::vector<uint8_t> buildBeside(uint32_t ranks, int64_t most = 1 << 20) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId x = entry.addInput("x", DType::F32, {n}),
           y = entry.addOutput("y", DType::F32, {entry.mul(n, entry.constant(3))});
  BufferId pair = entry.addTransient(DType::F32, {entry.add(n, n)}), all = entry.addTransient(DType::F32, {n});
  Reg bytes = entry.getSize(x);
  entry.collectiveBeside(CollectiveKind::AllReduce, Reduction::Add, x, bytes, {all}, ranks, "/first");
  entry.copy({x}, {pair}, bytes);
  entry.copy({x}, {pair, bytes}, bytes);
  entry.collectiveBeside(CollectiveKind::AllReduce, Reduction::Add, pair, entry.getSize(pair), {y, bytes}, ranks,
                         "/second");
  BufferId limit = entry.addTransient(DType::F32, {entry.constant(most)});
  entry.copy({x}, {limit}, bytes);
  entry.await(1);
  BufferId copied = entry.addTransient(DType::F32, {n});
  entry.copy({all}, {copied}, bytes);
  entry.await(0);
  entry.copy({copied}, {y}, bytes);
  std::vector<uint8_t> result;
  Error error = builder.build(result);
  EXPECT_FALSE(error) << error.getMessage();
  return result;
}

/// Rank r's x: r * 100, r * 100 + 1, ...
std::vector<float> makeValues(uint32_t rank, size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), float(rank * 100));
  return values;
}

std::vector<std::string> runCollective(CollectiveKind kind, Reduction reduction, uint32_t ranks, size_t count,
                                       const char *device = "cpu") {
  std::vector<uint8_t> bytes = buildCollective(kind, reduction, ranks);
  return runRanks(ranks, [&](uint32_t rank, const std::string &address) {
    return runRank(bytes, makeOptions(rank, ranks, address), makeValues(rank, count), device);
  });
}

using Texts = std::vector<std::string>;

TEST(Communicator, Reduces) {
  EXPECT_EQ(runCollective(CollectiveKind::AllReduce, Reduction::Add, 3, 5), Texts(3, "300 303 306 309 312"));
  EXPECT_EQ(runCollective(CollectiveKind::AllReduce, Reduction::Max, 2, 3), Texts(2, "100 101 102"));
  EXPECT_EQ(runCollective(CollectiveKind::AllReduce, Reduction::Min, 2, 3), Texts(2, "0 1 2"));
  EXPECT_EQ(runCollective(CollectiveKind::AllReduce, Reduction::Mul, 2, 2), Texts(2, "0 101"));
  // Fewer elements than ranks: some have nothing to combine.
  EXPECT_EQ(runCollective(CollectiveKind::AllReduce, Reduction::Add, 4, 1), Texts(4, "600"));
}

TEST(Communicator, MovesParts) {
  EXPECT_EQ(runCollective(CollectiveKind::AllGather, Reduction::None, 3, 2), Texts(3, "0 1 100 101 200 201"));
  EXPECT_EQ(runCollective(CollectiveKind::ReduceScatter, Reduction::Add, 2, 4), (Texts{"100 102", "104 106"}));
  EXPECT_EQ(runCollective(CollectiveKind::AllToAll, Reduction::None, 2, 4), (Texts{"0 1 100 101", "2 3 102 103"}));
}

TEST(Communicator, MovesMoreThanSocketsBuffer) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  Texts sums = runRanks(2, [&](uint32_t rank, const std::string &address) {
    return runRank(bytes, makeOptions(rank, 2, address), std::vector<float>(1000003, float(rank + 1))).substr(0, 5);
  });
  EXPECT_EQ(sums, Texts(2, "3 3 3"));
}

/// A GPU's memory goes through the host's.
TEST(Communicator, TakesMemoryOfDevices) {
  EXPECT_EQ(runCollective(CollectiveKind::AllReduce, Reduction::Add, 2, 3, "emu:sm_80"), Texts(2, "100 102 104"));
}

TEST(Communicator, RunsBesideTheProgram) {
  std::vector<uint8_t> bytes = buildBeside(3);
  for (const char *device : {"cpu", "emu:sm_80"})
    EXPECT_EQ(runRanks(3,
                       [&](uint32_t rank, const std::string &address) {
                         return runRank(bytes, makeOptions(rank, 3, address), makeValues(rank, 2), device);
                       }),
              Texts(3, "300 303 300 303 300 303"))
        << device;
}

TEST(Communicator, DisagreesWhileSeveralAreUnderWay) {
  std::vector<uint8_t> bytes = buildBeside(2);
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) {
    return runRank(bytes, makeOptions(rank, 2, address), makeValues(rank, rank ? 6 : 4));
  });
  for (const std::string &error : errors)
    EXPECT_NE(error.find("all_reduce \"/first\": rank "), std::string::npos) << error;
}

/// The thread of the collectives waits for the other rank, which comes late: this rank ends at once all the same.
TEST(Communicator, GivesUpWhileACollectiveWaits) {
  std::vector<uint8_t> fails = buildBeside(2, /*most=*/3), bytes = buildBeside(2);
  std::atomic<bool> hasFailed = false, wasLate = false;
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) {
    std::shared_ptr<Communicator> communicator;
    EXPECT_FALSE(Communicator::create(makeOptions(rank, 2, address), communicator));
    std::shared_ptr<LoadedBundle> bundle;
    const std::vector<uint8_t> &own = rank ? bytes : fails;
    EXPECT_FALSE(LoadedBundle::openMemory(own.data(), own.size(), {}, bundle));
    SessionOptions options;
    options.threads = 1;
    options.communicator = std::move(communicator);
    std::unique_ptr<Session> session;
    EXPECT_FALSE(Session::create(bundle, "cpu", options, session));
    for (int i = 0; rank == 1 && i < 10000 && !hasFailed; ++i)
      ::usleep(1000);
    wasLate = wasLate || (rank == 1 && !hasFailed);
    Floats x{{4}, {1, 2, 3, 4}};
    weft_tensor input = x.view(), output = {};
    std::string text = session->run(&input, 1, &output, 1).getMessage();
    hasFailed = true;
    return text;
  });
  EXPECT_FALSE(wasLate);
  EXPECT_NE(errors[0].find("leave buffer"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("rank 0 gave up: rank 0: "), std::string::npos) << errors[1];
}

TEST(SideThread, RunsBesideItsCaller) {
  std::promise<void> mayEnd;
  std::string order;
  SideThread thread;
  thread.start([&] {
    mayEnd.get_future().wait();
    order += "a";
    return Error();
  });
  thread.start([&] {
    order += "b";
    return Error(ErrorCode::Device, "no");
  });
  thread.start([&] {
    order += "c";
    return Error();
  });
  EXPECT_FALSE(thread.await(3));
  mayEnd.set_value();
  EXPECT_EQ(thread.await(0).getMessage(), "no");
  thread.settle();
  EXPECT_EQ(order, "ab");
}

TEST(Communicator, NamesTheRankThatDisagrees) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) {
    return runRank(bytes, makeOptions(rank, 2, address), makeValues(rank, rank ? 6 : 4));
  });
  // Who finds it first tells the other.
  EXPECT_TRUE((errors[0] + errors[1]).find("step 1048576, all_reduce add of 24 bytes of f32") != std::string::npos)
      << errors[0] << "\n"
      << errors[1];
  EXPECT_NE(errors[0].find("rank 0 of 2: all_reduce \"/block/mlp\": rank 1"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("rank 1 of 2: all_reduce \"/block/mlp\": rank 0"), std::string::npos) << errors[1];
}

TEST(Communicator, NamesTheRankThatHasEnded) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 3);
  Texts errors = runRanks(3, [&](uint32_t rank, const std::string &address) {
    if (rank != 2)
      return runRank(bytes, makeOptions(rank, 3, address), makeValues(rank, 4));
    std::shared_ptr<Communicator> communicator; // Joins, and goes.
    Error error = Communicator::create(makeOptions(rank, 3, address), communicator);
    return error.getMessage();
  });
  EXPECT_NE(errors[0].find("rank 0 of 3: session on cpu: rank 2 has ended"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("rank 1 of 3: session on cpu: rank "), std::string::npos) << errors[1];
}

TEST(Communicator, NamesTheRunBeforeWhichARankHasEnded) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  Texts results = runRanks(2, [&](uint32_t rank, const std::string &address) {
    std::shared_ptr<LoadedBundle> bundle;
    EXPECT_FALSE(LoadedBundle::openMemory(bytes.data(), bytes.size(), {}, bundle));
    SessionOptions options;
    options.threads = 1;
    EXPECT_FALSE(Communicator::create(makeOptions(rank, 2, address), options.communicator));
    std::unique_ptr<Session> session;
    EXPECT_FALSE(Session::create(bundle, "cpu", options, session));
    options.communicator.reset();
    std::string text;
    for (uint32_t run = 0; run < 2 + rank; ++run) { // One more on rank 1.
      Floats x{{1}, {float(rank + 1)}};
      weft_tensor input = x.view(), output = {};
      Error error = session->run(&input, 1, &output, 1);
      text += error ? error.getMessage() : std::to_string(int(*static_cast<const float *>(output.data)));
    }
    return text;
  });
  EXPECT_EQ(results, (Texts{"33", "33rank 1 of 2: all_reduce \"/block/mlp\": rank 0 has ended after run 2"}));
}

TEST(Communicator, EndsAllRanksWhenARunFails) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::ReduceScatter, Reduction::Add, 2);
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) { // 5 elements are no 2 parts.
    return runRank(bytes, makeOptions(rank, 2, address), makeValues(rank, rank ? 5 : 4));
  });
  EXPECT_EQ(errors[1], "collective \"/block/mlp\": expected 2 equal parts of whole elements, got 20 bytes");
  EXPECT_EQ(errors[0], "rank 0 of 2: reduce_scatter \"/block/mlp\": rank 1 gave up: rank 1: " + errors[1]);
}

TEST(Communicator, DoesNotWaitForEver) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) {
    if (rank == 0)
      return runRank(bytes, makeOptions(0, 2, address, 300), makeValues(0, 4));
    std::shared_ptr<Communicator> communicator;
    Error error = Communicator::create(makeOptions(1, 2, address), communicator);
    ::usleep(800000); // Late.
    return error.getMessage();
  });
  EXPECT_EQ(errors[0], "session: rank 0 of 2: session on cpu: expected rank 1 to go on within 300 ms, nothing came");
  std::shared_ptr<Communicator> communicator;
  std::string address = findAddress();
  EXPECT_EQ(Communicator::create(makeOptions(0, 3, address, 100), communicator).getMessage(),
            "rank 0 of 3 at \"" + address + "\": expected ranks 1, 2 to join within 100 ms, none did");
  EXPECT_EQ(Communicator::create(makeOptions(2, 3, address, 100), communicator).getMessage(),
            "rank 2 of 3 at \"" + address + "\": rank 0: nobody listens there");
}

TEST(Communicator, RefusesRanksThatDoNotFit) {
  std::shared_ptr<Communicator> communicator;
  EXPECT_EQ(Communicator::create(makeOptions(2, 2, ""), communicator).getMessage(),
            "expected a rank below the number of ranks, of 1 to 1024, got rank 2 of 2");
  EXPECT_EQ(Communicator::create(makeOptions(0, 2, "here"), communicator).getMessage(),
            "rank 0 of 2 at \"here\": expected an address HOST:PORT where rank 0 listens, got \"here\"");
  CommunicatorOptions options = makeOptions(0, 1, "");
  options.transport = "pigeons";
  EXPECT_EQ(Communicator::create(options, communicator).getMessage(),
            "expected the transport host or nccl, got \"pigeons\"");
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) {
    std::shared_ptr<Communicator> created;
    return Communicator::create(makeOptions(rank, rank + 2, address), created).getMessage();
  });
  EXPECT_NE(errors[0].find("expected 2 ranks of different numbers, got rank 1 of 3"), std::string::npos) << errors[0];
  EXPECT_NE(errors[1].find("rank 0: expected 2 ranks of different numbers, got rank 1 of 3"), std::string::npos)
      << errors[1];
}

TEST(Communicator, ServesSeveralSessionsOfOneDevice) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  Texts results = runRanks(2, [&](uint32_t rank, const std::string &address) {
    std::shared_ptr<LoadedBundle> bundle;
    EXPECT_FALSE(LoadedBundle::openMemory(bytes.data(), bytes.size(), {}, bundle));
    SessionOptions options;
    options.threads = 1;
    EXPECT_FALSE(Communicator::create(makeOptions(rank, 2, address), options.communicator));
    auto sum = [&](Session &session) {
      Floats x{{1}, {float(rank + 1)}};
      weft_tensor input = x.view(), output = {};
      Error error = session.run(&input, 1, &output, 1);
      return error ? error.getMessage() : std::to_string(int(*static_cast<const float *>(output.data)));
    };
    std::string text;
    for (int turn = 0; turn < 2; ++turn) { // The transport of the first turn has gone.
      std::unique_ptr<Session> first, second;
      EXPECT_FALSE(Session::create(bundle, "cpu", options, first));
      EXPECT_FALSE(Session::create(bundle, "cpu", options, second));
      text += sum(*second) + sum(*first);
    }
    std::unique_ptr<Session> first, other;
    EXPECT_FALSE(Session::create(bundle, "cpu", options, first));
    return text + " " + Session::create(bundle, "emu:sm_80", options, other).getMessage();
  });
  EXPECT_EQ(results, Texts(2, "3333 expected the sessions of a communicator on one device, \"cpu\", got one on "
                              "\"emu:sm_80\""));
}

TEST(Communicator, HasTheRanksOfTheProgram) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  EXPECT_EQ(runRank(bytes, makeOptions(0, 1, ""), {1}), "session: expected a communicator of 2 ranks, for which the "
                                                        "model was compiled (--mesh), got one of 1");
  BundlePtr bundle = open(bytes);
  weft_session *session = nullptr;
  EXPECT_EQ(take(weft_session_create(bundle.get(), "cpu", nullptr, &session)),
            "expected a communicator of 2 ranks, for which the model was compiled (--mesh), got none");
}

TEST(Communicator, LoadsNcclWhenItIsAskedFor) {
  std::vector<uint8_t> bytes = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  Texts errors = runRanks(2, [&](uint32_t rank, const std::string &address) {
    CommunicatorOptions options = makeOptions(rank, 2, address);
    options.transport = "nccl";
    options.ncclLibrary = "libno-such-nccl.so";
    return runRank(bytes, options, {1});
  });
  for (const std::string &error : errors)
    EXPECT_EQ(error.find("session: cannot load NCCL: libno-such-nccl.so"), 0u) << error;
  Texts mixed = runRanks(2, [&](uint32_t rank, const std::string &address) {
    CommunicatorOptions options = makeOptions(rank, 2, address);
    options.transport = rank ? "nccl" : "host";
    return runRank(bytes, options, {1});
  });
  EXPECT_EQ(mixed[0], "session: rank 0: expected sessions of all ranks on GPUs with NCCL, or of all without, got "
                      "another one of rank 1");
}

/// Each rank sees its columns of w[2][4], and the rows of another order of them.
TEST(Communicator, GivesRanksTheirPartsOfWeights) {
  const float stored[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  auto build = [&](bool isOrdered, uint64_t outer) {
    Builder builder("weft test");
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n"));
    (void)entry.addInput("x", DType::F32, {n});
    BufferId y = entry.addOutput("y", DType::F32, {entry.constant(4)});
    WeightId weight = builder.addEmbeddedWeight("w", stored, sizeof stored);
    builder.setWeightParts(weight, 2, outer, sizeof stored / 2 / outer);
    if (isOrdered)
      builder.setWeightOrder(weight, 4, {2, 2}, {1, 0});
    BufferId w = entry.addWeight(weight, DType::F32, {4});
    entry.copy({w}, {y}, entry.getSize(w));
    std::vector<uint8_t> bytes;
    Error error = builder.build(bytes);
    EXPECT_FALSE(error) << error.getMessage();
    return bytes;
  };
  auto run = [&](const std::vector<uint8_t> &bytes, const char *device) {
    return runRanks(2, [&](uint32_t rank, const std::string &address) {
      return runRank(bytes, makeOptions(rank, 2, address), {1}, device);
    });
  };
  for (const char *device : {"cpu", "emu:sm_80"}) {
    EXPECT_EQ(run(build(false, 2), device), (Texts{"0 1 4 5", "2 3 6 7"})) << device;
    EXPECT_EQ(run(build(false, 1), device), (Texts{"0 1 2 3", "4 5 6 7"})) << device;
    EXPECT_EQ(run(build(true, 2), device), (Texts{"0 4 1 5", "2 6 3 7"})) << device;
    EXPECT_EQ(run(build(true, 1), device), (Texts{"0 2 1 3", "4 6 5 7"})) << device;
  }
}

TEST(Communicator, RanksAreValuesOfShapePrograms) {
  Builder builder("weft test");
  EntryBuilder &entry = builder.addEntry("main");
  Reg n = entry.symbol(entry.addSymbol("n"));
  BufferId x = entry.addInput("x", DType::F32, {n});
  BufferId all = entry.addTransient(DType::F32, {n}), y = entry.addOutput("y", DType::F32, {entry.constant(1)});
  entry.collective(CollectiveKind::AllReduce, Reduction::Add, x, entry.getSize(x), all, 2, "sum");
  entry.copy({all, entry.mul(entry.rank(), entry.constant(4))}, {y}, entry.constant(4));
  std::vector<uint8_t> bytes;
  ASSERT_FALSE(builder.build(bytes));
  Texts results = runRanks(2, [&](uint32_t rank, const std::string &address) {
    return runRank(bytes, makeOptions(rank, 2, address), makeValues(rank, 2));
  });
  EXPECT_EQ(results, (Texts{"100", "102"}));
}

/// The error of opening `good` with its first command of kind `kind` damaged.
std::string openDamaged(std::vector<uint8_t> bytes, CommandKind kind, void (*damage)(CommandRecord &)) {
  auto *section = reinterpret_cast<const SectionEntry *>(bytes.data() + sizeof(FileHeader));
  while (section->kind != uint32_t(SectionKind::Commands))
    ++section;
  auto *command = reinterpret_cast<CommandRecord *>(bytes.data() + section->offset);
  while (CommandKind(command->kind) != kind)
    ++command;
  damage(*command);
  repairHashes(bytes.data(), bytes.size());
  weft_bundle *bundle = nullptr;
  std::string error = take(weft_bundle_open_memory(bytes.data(), bytes.size(), nullptr, &bundle));
  weft_bundle_release(bundle);
  return error;
}

TEST(Communicator, RecordsAreChecked) {
  std::vector<uint8_t> good = buildCollective(CollectiveKind::AllReduce, Reduction::Add, 2);
  auto has = [&](void (*damage)(CommandRecord &), const char *text) {
    std::string error = openDamaged(good, CommandKind::Collective, damage);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  has([](CommandRecord &c) { c.inputs = 9; }, "unknown collective 9");
  has([](CommandRecord &c) { c.f = 1; }, "expected 2 to 1024 ranks, got 1");
  has([](CommandRecord &c) { c.d = 0; }, "expected a reduction of those that combine, got 0");
  has([](CommandRecord &c) { c.d = 7; }, "expected a reduction of those that combine, got 7");
  has([](CommandRecord &c) { c.g = 1; }, "unused operands are set");
  has([](CommandRecord &c) { c.e = 999; }, "string 999 does not exist");
  has([](CommandRecord &c) { c.b = 999; }, "register 999 is not defined");
  has([](CommandRecord &c) { c.c = c.a; }, "is read-only and is written");
}

TEST(Communicator, RecordsOfThoseUnderWayAreChecked) {
  std::vector<uint8_t> good = buildBeside(2);
  auto has = [&](CommandKind kind, void (*damage)(CommandRecord &), const char *text) {
    std::string error = openDamaged(good, kind, damage);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  has(CommandKind::CollectiveBeside, [](CommandRecord &c) { c.g = 999; }, "register 999 is not defined");
  has(CommandKind::CollectiveBeside, [](CommandRecord &c) { c.inputs = 0; }, "unknown collective 0");
  has(CommandKind::Await, [](CommandRecord &c) { c.b = 1; }, "unused operands are set");
  has(
      CommandKind::Await, [](CommandRecord &c) { c.a = 2; },
      "expected fewer than the 2 collectives under way to be left, got 2");
  has(
      CommandKind::Await, [](CommandRecord &c) { c.a = 0; },
      "expected fewer than the 0 collectives under way to be left, got 0");
}

TEST(Communicator, WhatIsUnderWayIsAwaited) {
  enum Fault { ReadsEarly, WritesSource, InFrontOfALoop, InFrontOfACollective, Never, InALoop, TooMany };
  auto build = [](Fault fault) {
    Builder builder("weft test");
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n"));
    BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
    BufferId own = entry.addTransient(DType::F32, {n}), sums = entry.addTransient(DType::F32, {n});
    auto begin = [&] {
      entry.collectiveBeside(CollectiveKind::AllReduce, Reduction::Add, own, entry.getSize(x), {sums}, 2, "sum");
    };
    entry.copy({x}, {own}, entry.getSize(x));
    if (fault == InALoop)
      entry.beginLoop(entry.constant(1));
    for (uint32_t i = 0; i < (fault == TooMany ? kMaxBeside + 1 : 1); ++i)
      begin();
    if (fault == InALoop) {
      entry.endLoop();
      entry.copy({x}, {y}, entry.getSize(x));
    }
    if (fault == InFrontOfALoop)
      entry.beginLoop(entry.constant(1));
    if (fault == ReadsEarly || fault == InFrontOfALoop)
      entry.copy({fault == ReadsEarly ? sums : x}, {y}, entry.getSize(x));
    if (fault == InFrontOfALoop)
      entry.endLoop();
    if (fault == WritesSource)
      entry.copy({x}, {own}, entry.getSize(x));
    if (fault == InFrontOfACollective)
      entry.collective(CollectiveKind::AllReduce, Reduction::Add, x, entry.getSize(x), y, 2, "sum");
    if (fault != Never && fault != InALoop)
      entry.await(0);
    std::vector<uint8_t> bytes;
    return builder.build(bytes).getMessage(); // Which reads what it has built.
  };
  for (auto [fault, text] : {std::pair<Fault, const char *>{ReadsEarly, "is used before the collective beside it"},
                             {WritesSource, "is used before the collective beside it"},
                             {InFrontOfALoop, "expected no collective under way at a loop, got 1"},
                             {InFrontOfACollective, "expected no collective under way at a collective, got 1"},
                             {InALoop, "expected no collective under way at the end of a loop, got 1"},
                             {Never, "expected no collective under way at the end of the program, got 1"},
                             {TooMany, "expected at most 64 collectives under way"}}) {
    std::string error = build(fault);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  }
}

} // namespace
