// Ranks on GPUs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are processes here, each with stand-ins for the driver and NCCL.
#include "../Cuda/CudaTest.h"
#include "Comm/Communicator.h"
#include "Comm/Sockets.h"
#include "FakeNccl.h"
#include "Memory/LoadedBundle.h"
#include "Session/Session.h"

#include <chrono>
#include <csignal>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;
using namespace weft::test;

namespace {

class NcclTransportTest : public CudaTest {
protected:
  using Work = std::function<std::string(uint32_t rank, Session &session, FakeNccl &nccl)>;

  /// Entry "main": y = collective of x[n], f32.
  static std::vector<uint8_t> build(CollectiveKind kind, uint32_t ranks) {
    bool combines = kind == CollectiveKind::AllReduce || kind == CollectiveKind::ReduceScatter;
    Builder builder("weft test");
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n")), many = entry.constant(ranks);
    BufferId x = entry.addInput("x", DType::F32, {n});
    Reg results = kind == CollectiveKind::AllGather       ? entry.mul(n, many)
                  : kind == CollectiveKind::ReduceScatter ? entry.floorDiv(n, many)
                                                          : n;
    BufferId y = entry.addOutput("y", DType::F32, {results});
    BufferId own = entry.addTransient(DType::F32, {n}); // Two commands: a program of one is not recorded.
    entry.copy({x}, {own}, entry.getSize(x));
    entry.collective(kind, combines ? Reduction::Add : Reduction::None, own, entry.getSize(x), y, ranks, "/mlp");
    std::vector<uint8_t> bytes;
    EXPECT_FALSE(builder.build(bytes));
    return bytes;
  }

  /// Entry "main": y = the sums over the ranks of x[n] and of 2 * n others, the two under way beside a copy, and the
  /// copy of the first ones.
  static std::vector<uint8_t> buildBeside(uint32_t ranks) {
    Builder builder("weft test");
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n")), twice = entry.add(n, n), four = entry.mul(twice, entry.constant(2));
    BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {four});
    BufferId sums = entry.addTransient(DType::F32, {n}), pair = entry.addTransient(DType::F32, {twice});
    Reg bytes = entry.getSize(x), offset = entry.mul(bytes, entry.constant(2));
    entry.collectiveBeside(CollectiveKind::AllReduce, Reduction::Add, x, bytes, {sums}, ranks, "/first");
    entry.copy({x}, {pair}, bytes);
    entry.copy({x}, {pair, bytes}, bytes);
    entry.collectiveBeside(CollectiveKind::AllReduce, Reduction::Add, pair, offset, {y, offset}, ranks, "/second");
    entry.await(1);
    BufferId copied = entry.addTransient(DType::F32, {n});
    entry.copy({sums}, {copied}, bytes);
    entry.await(0);
    entry.copy({sums}, {y}, bytes);
    entry.copy({copied}, {y, bytes}, bytes);
    std::vector<uint8_t> result;
    Error error = builder.build(result);
    EXPECT_FALSE(error) << error.getMessage();
    return result;
  }

  std::vector<std::string> runRanks(uint32_t ranks, CollectiveKind kind, const Work &work, int64_t timeoutMs = 60000) {
    return runRanks(ranks, build(kind, ranks), work, timeoutMs);
  }

  /// What `work` returns in each process.
  std::vector<std::string> runRanks(uint32_t ranks, const std::vector<uint8_t> &bytes, const Work &work,
                                    int64_t timeoutMs = 60000) {
    void *memory = ::mmap(nullptr, sizeof(FakeNcclMemory), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    SocketAddress place;
    EXPECT_FALSE(resolve("127.0.0.1:1", place));
    setPort(place, 0);
    int listener = -1;
    EXPECT_FALSE(listenAt(place, listener));
    ::close(listener);
    CommunicatorOptions options;
    options.ranks = ranks;
    options.address = "127.0.0.1:" + std::to_string(getPort(place));
    options.ncclLibrary = fakeNcclLibrary;
    options.timeoutMs = timeoutMs;
    std::vector<std::pair<pid_t, int>> children;
    for (options.rank = 0; options.rank < ranks; ++options.rank) {
      int ends[2];
      EXPECT_EQ(::pipe(ends), 0);
      pid_t child = ::fork();
      if (child == 0) {
        std::string text = runRank(options, bytes, static_cast<FakeNcclMemory *>(memory), work);
        (void)!::write(ends[1], text.data(), text.size());
        ::_exit(0);
      }
      ::close(ends[1]);
      children.emplace_back(child, ends[0]);
    }
    std::vector<std::string> texts;
    for (auto [child, end] : children) {
      char buffer[4096];
      ssize_t got = ::read(end, buffer, sizeof buffer);
      texts.emplace_back(buffer, size_t(std::max<ssize_t>(got, 0)));
      ::close(end);
      ::waitpid(child, nullptr, 0);
    }
    ::munmap(memory, sizeof(FakeNcclMemory));
    return texts;
  }

  std::string runRank(const CommunicatorOptions &options, const std::vector<uint8_t> &bytes, FakeNcclMemory *memory,
                      const Work &work) {
    void *library = ::dlopen(fakeNcclLibrary, RTLD_NOW | RTLD_LOCAL);
    FakeNccl &nccl = *reinterpret_cast<FakeNccl *(*)()>(::dlsym(library, "weftFakeNccl"))();
    nccl.memory = memory;
    nccl.cuda = &fake;
    SessionOptions sessionOptions;
    sessionOptions.device.cudaDriver = fakeCudaLibrary;
    if (Error error = Communicator::create(options, sessionOptions.communicator))
      return error.getMessage();
    std::shared_ptr<LoadedBundle> bundle;
    if (Error error = LoadedBundle::openMemory(bytes.data(), bytes.size(), {}, bundle))
      return error.getMessage();
    std::unique_ptr<Session> session;
    if (Error error = Session::create(bundle, "cuda", sessionOptions, session))
      return error.getMessage();
    sessionOptions.communicator.reset();
    std::string text = work(options.rank, *session, nccl);
    session.reset();
    ++memory->gone;
    return text + (nccl.destroyed + nccl.aborts == 1 ? "" : ", not ended once") + (nccl.aborts ? ", aborted" : "") +
           (nccl.stuck ? ", stuck" : "");
  }

  /// Until the sessions of so many ranks are gone.
  static void awaitEnds(const FakeNccl &nccl, uint32_t ranks) {
    for (int i = 0; i < 20000 && nccl.memory->gone < ranks; ++i)
      ::usleep(1000);
  }

  /// One run on `count` numbers from rank * 10 on.
  static std::string runOnce(uint32_t rank, Session &session, int64_t count) {
    Floats x{{count}, {}};
    for (int64_t i = 0; i < count; ++i)
      x.data.push_back(float(rank * 10 + i));
    weft_tensor input = x.view(), output = {};
    if (Error error = session.run(&input, 1, &output, 1))
      return error.getMessage();
    std::string text;
    for (uint64_t i = 0; i < output.bytes / sizeof(float); ++i)
      text += (i ? " " : "") + std::to_string(int(static_cast<const float *>(output.data)[i]));
    return text;
  }
};

using Texts = std::vector<std::string>;

TEST_F(NcclTransportTest, DoesEachCollective) {
  auto once = [](uint32_t rank, Session &session, FakeNccl &) { return runOnce(rank, session, 4); };
  EXPECT_EQ(runRanks(2, CollectiveKind::AllReduce, once), Texts(2, "10 12 14 16"));
  EXPECT_EQ(runRanks(2, CollectiveKind::AllGather, once), Texts(2, "0 1 2 3 10 11 12 13"));
  EXPECT_EQ(runRanks(2, CollectiveKind::ReduceScatter, once), (Texts{"10 12", "14 16"}));
  EXPECT_EQ(runRanks(2, CollectiveKind::AllToAll, once), (Texts{"0 1 10 11", "2 3 12 13"}));
}

TEST_F(NcclTransportTest, IsRecordedInGraphs) {
  auto often = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    std::string texts;
    for (int i = 0; i < 4; ++i)
      texts += runOnce(rank, session, 2) + "; ";
    weft_statistics statistics = session.getStatistics();
    return texts + std::to_string(statistics.graphs_made) + " made, " + std::to_string(statistics.graphs_run) +
           " run, captured " + std::to_string(nccl.captured);
  };
  EXPECT_EQ(runRanks(3, CollectiveKind::AllReduce, often),
            Texts(3, "30 33; 30 33; 30 33; 30 33; 1 made, 3 run, captured 1"));
}

/// Streams fork and join by events, in graphs too: the first run goes by them, the second one is captured.
TEST_F(NcclTransportTest, RunsBesideTheProgram) {
  auto often = [this](uint32_t rank, Session &session, FakeNccl &nccl) {
    std::string texts, order;
    for (int i = 0; i < 3; ++i) {
      fake.order.clear();
      texts += runOnce(rank, session, 2) + "; ";
      for (const auto &[what, stream] : fake.order)
        order += i == 0 && (what == "record" || what == "wait") ? what.substr(0, 1) : "";
    }
    return texts + order + ", made " + std::to_string(session.getStatistics().graphs_made) + ", captured " +
           std::to_string(nccl.captured) + ", misuses " + std::to_string(fake.misuses);
  };
  std::string sums = "30 33 30 33 30 33 30 33; ";
  EXPECT_EQ(runRanks(3, buildBeside(3), often),
            Texts(3, sums + sums + sums + "rwrrwrww, made 1, captured 2, misuses 0"));
}

/// CTAs that wait for each other do not share the GPU with a collective's: their kernel waits for it.
TEST_F(NcclTransportTest, RunsNothingBesideKernelsThatNeedTheWholeGpu) {
  for (uint32_t resident : {0u, 1u}) {
    Builder builder("weft test");
    KernelId add = builder.addKernel("add", {"/Add"});
    EntryBuilder &entry = builder.addEntry("main");
    Reg n = entry.symbol(entry.addSymbol("n"));
    BufferId x = entry.addInput("x", DType::F32, {n}), y = entry.addOutput("y", DType::F32, {n});
    BufferId sums = entry.addTransient(DType::F32, {n}), twice = entry.addTransient(DType::F32, {n});
    entry.collectiveBeside(CollectiveKind::AllReduce, Reduction::Add, x, entry.getSize(x), {sums}, 2, "/mlp");
    entry.dispatch(add, {entry.constant(1), {{x}, {x}}, {{twice}}, {n}, Reg()});
    entry.await(0);
    entry.dispatch(add, {entry.constant(1), {{sums}, {twice}}, {{y}}, {n}, Reg()});
    builder.addPtx("sm_80", makeAddPtx("sm_80"), {{add, 128, 1, 0, 16, {}, resident}});
    std::vector<uint8_t> bytes;
    ASSERT_FALSE(builder.build(bytes));
    auto work = [this](uint32_t rank, Session &session, FakeNccl &) {
      std::string text = runOnce(rank, session, 2), order;
      for (const auto &[what, stream] : fake.order)
        order += what == "record" || what == "wait" || what == "kernel" ? what.substr(0, 1) : "";
      return text + " " + order;
    };
    const char *order = resident ? "rwrwkk" : "rwrkwk";
    EXPECT_EQ(runRanks(2, bytes, work), (Texts{std::string("10 14 ") + order, std::string("30 34 ") + order}));
  }
}

TEST_F(NcclTransportTest, EndsWhileSeveralAreUnderWay) {
  auto dies = [](uint32_t rank, Session &session, FakeNccl &) {
    std::string first = runOnce(rank, session, 2);
    if (rank == 1)
      ::_exit(1);
    return first + "; " + runOnce(rank, session, 2);
  };
  EXPECT_EQ(runRanks(2, buildBeside(2), dies)[0],
            "10 12 10 12 10 12 10 12; rank 0 of 2: all_reduce \"/first\": rank 1 has ended, aborted");
  auto disagrees = [](uint32_t rank, Session &session, FakeNccl &) { return runOnce(rank, session, 2 + rank); };
  for (const std::string &text : runRanks(2, buildBeside(2), disagrees))
    EXPECT_NE(text.find("inputs of the same shapes"), std::string::npos) << text;
  auto late = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    std::string first = runOnce(rank, session, 2);
    if (rank == 1)
      awaitEnds(nccl, 1);
    return first + "; " + runOnce(rank, session, 2);
  };
  EXPECT_NE(runRanks(2, buildBeside(2), late, 2000)[0].find(
                "all_reduce \"/first\": expected all in run 2 within 2000 ms, is late: rank 1 (run 1), aborted"),
            std::string::npos);
}

/// A collective that does not start while another one is under way, and is being recorded: the capture is given up.
TEST_F(NcclTransportTest, EndsWhenOneBesideDoesNotStart) {
  auto work = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    std::string first = runOnce(rank, session, 2);
    nccl.startError = rank ? 2 : 0;
    return first + "; " + runOnce(rank, session, 2);
  };
  Texts texts = runRanks(2, buildBeside(2), work);
  EXPECT_NE(texts[1].find("rank 1 of 2: all_reduce \"/first\": ncclAllReduce: unhandled, aborted"), std::string::npos)
      << texts[1];
  EXPECT_NE(texts[0].find("rank 1 gave up: "), std::string::npos) << texts[0];
}

TEST_F(NcclTransportTest, EndsWhenARankDies) {
  Texts texts = runRanks(2, CollectiveKind::AllReduce, [](uint32_t rank, Session &session, FakeNccl &) {
    if (rank == 1)
      ::_exit(1);
    return runOnce(rank, session, 4);
  });
  EXPECT_EQ(texts[0], "rank 0 of 2: all_reduce \"/mlp\": rank 1 has ended, aborted");
}

/// A graph holds the communicator: its kernels end at once all the same, and the session is not stuck.
TEST_F(NcclTransportTest, EndsWhenARankDiesBehindRecordedRuns) {
  auto work = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    for (int i = 0; i < 3; ++i)
      runOnce(rank, session, 4);
    if (rank == 1)
      ::_exit(1);
    auto begin = std::chrono::steady_clock::now();
    std::string text = std::to_string(nccl.captured) + " captured; " + runOnce(rank, session, 4);
    return text + (std::chrono::steady_clock::now() - begin < std::chrono::seconds(3) ? "" : ", late");
  };
  EXPECT_EQ(runRanks(2, CollectiveKind::AllReduce, work)[0],
            "1 captured; rank 0 of 2: all_reduce \"/mlp\": rank 1 has ended, aborted");
}

/// The work of a GPU goes on when another rank, which has done its part in it, is gone.
TEST_F(NcclTransportTest, OutlivesRanksThatHaveDoneTheirPart) {
  auto work = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    nccl.awaitedGone = rank;
    return runOnce(rank, session, 4);
  };
  EXPECT_EQ(runRanks(3, CollectiveKind::AllReduce, work), Texts(3, "30 33 36 39"));
}

/// Of the same extents as the run before, which the GPUs begin at once, and of others, which the ranks speak of first.
TEST_F(NcclTransportTest, EndsWhenARunNeedsARankThatHasLeft) {
  for (int64_t count : {4, 6}) {
    auto work = [count](uint32_t rank, Session &session, FakeNccl &nccl) {
      nccl.awaitedGone = rank;
      std::string text = runOnce(rank, session, 4);
      if (rank == 0)
        return text;
      auto begin = std::chrono::steady_clock::now();
      text += "; " + runOnce(rank, session, count);
      bool isPrompt = std::chrono::steady_clock::now() - begin < std::chrono::seconds(10);
      return text + (isPrompt ? "" : ", late");
    };
    EXPECT_EQ(runRanks(2, CollectiveKind::AllReduce, work),
              (Texts{"10 12 14 16", "10 12 14 16; rank 1 of 2: all_reduce \"/mlp\": rank 0 has ended after run 1, "
                                    "aborted"}));
  }
}

TEST_F(NcclTransportTest, EndsWhenARankIsLate) {
  Texts texts = runRanks(
      2, CollectiveKind::AllReduce,
      [](uint32_t rank, Session &session, FakeNccl &nccl) {
        if (rank == 1)
          awaitEnds(nccl, 1);
        return runOnce(rank, session, 4);
      },
      2000);
  EXPECT_EQ(texts[0],
            "rank 0 of 2: all_reduce \"/mlp\": expected rank 1 to go on within 2000 ms, nothing came, aborted");
  EXPECT_NE(texts[1].find("rank 0 gave up: " + texts[0].substr(0, 40)), std::string::npos) << texts[1];
}

TEST_F(NcclTransportTest, NamesTheRankThatIsLateInARunLikeTheOneBefore) {
  auto work = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    std::string first = runOnce(rank, session, 4);
    if (rank == 2)
      awaitEnds(nccl, 2);
    return first.substr(0, 2) + "; " + runOnce(rank, session, 4);
  };
  Texts texts = runRanks(3, CollectiveKind::AllReduce, work, 2000);
  std::string late = "all_reduce \"/mlp\": expected all in run 2 within 2000 ms, is late: rank 2 (run 1)";
  for (const std::string &text : {texts[0], texts[1]}) // Who asks first tells the other.
    EXPECT_NE(text.find(late), std::string::npos) << text;
  EXPECT_NE(texts[2].find("gave up: "), std::string::npos) << texts[2];
}

TEST_F(NcclTransportTest, NamesTheRankThatDoesNotAnswer) {
  auto work = [](uint32_t rank, Session &session, FakeNccl &nccl) {
    std::string first = runOnce(rank, session, 4);
    if (rank == 1) { // Stopped with all its threads, until the other one has ended.
      pid_t self = ::getpid();
      if (::fork() == 0) {
        awaitEnds(nccl, 1);
        ::kill(self, SIGCONT);
        ::_exit(0);
      }
      ::kill(self, SIGSTOP);
    }
    return runOnce(rank, session, 4);
  };
  Texts texts = runRanks(2, CollectiveKind::AllReduce, work, 2000);
  EXPECT_EQ(texts[0],
            "rank 0 of 2: all_reduce \"/mlp\": expected all in run 2 within 2000 ms, does not answer: rank 1, aborted");
}

TEST_F(NcclTransportTest, EndsWhenRanksDisagreeAboutShapes) {
  // From the beginning; both new; and of one alone, which the other one hears of in its run.
  for (uint32_t changes : {0u, 1u, 2u}) {
    auto work = [changes](uint32_t rank, Session &session, FakeNccl &) {
      std::string before = changes ? runOnce(rank, session, 4) : "";
      return before + " " + runOnce(rank, session, rank == 0 ? 6 : changes == 2 ? 4 : 8);
    };
    Texts texts = runRanks(2, CollectiveKind::AllReduce, work);
    for (uint32_t rank : {0u, 1u}) {
      EXPECT_NE(texts[rank].find("rank " + std::to_string(rank) + " of 2: all_reduce \"/mlp\": rank " +
                                 std::to_string(1 - rank)),
                std::string::npos)
          << texts[rank];
      EXPECT_NE(texts[rank].find("inputs of the same shapes"), std::string::npos) << texts[rank];
    }
    if (changes < 2)
      EXPECT_NE(
          texts[0].find("expected what this rank does, all_reduce \"/mlp\", all_reduce add of 24 bytes of f32, got "
                        "all_reduce \"/mlp\", all_reduce add of 32 bytes of f32"),
          std::string::npos)
          << texts[0];
  }
}

TEST_F(NcclTransportTest, EndsWhenNcclFails) {
  Texts texts = runRanks(2, CollectiveKind::AllReduce, [](uint32_t rank, Session &session, FakeNccl &nccl) {
    if (rank == 0)
      nccl.asyncError = 2;
    for (int i = 0; rank == 0 && i < 20000 && nccl.aborts == 0; ++i) // Until the watcher has seen it.
      ::usleep(1000);
    return runOnce(rank, session, 4);
  });
  EXPECT_EQ(texts[0], "rank 0 of 2: before the first run: NCCL: unhandled, aborted");
  EXPECT_NE(texts[1].find("rank 0 gave up: "), std::string::npos) << texts[1];
}

/// A rank that failed does not leave as one that has done its part.
TEST_F(NcclTransportTest, EndsWhenACollectiveDoesNotStart) {
  Texts texts = runRanks(2, CollectiveKind::AllReduce, [](uint32_t rank, Session &session, FakeNccl &nccl) {
    nccl.startError = rank ? 2 : 0;
    return runOnce(rank, session, 4);
  });
  std::string failed = "rank 1 of 2: all_reduce \"/mlp\": ncclAllReduce: unhandled";
  EXPECT_EQ(texts[1], failed + ", aborted");
  EXPECT_EQ(texts[0], "rank 0 of 2: all_reduce \"/mlp\": rank 1 gave up: " + failed + ", aborted");
}

TEST_F(NcclTransportTest, EndsWhenARunFails) {
  Texts texts = runRanks(2, CollectiveKind::ReduceScatter, [](uint32_t rank, Session &session, FakeNccl &) {
    if (rank == 0)
      return runOnce(rank, session, 4);
    Floats x{{2, 2}, {1, 2, 3, 4}}; // Of another rank than the program's input.
    weft_tensor input = x.view(), output = {};
    return session.run(&input, 1, &output, 1).getMessage();
  });
  EXPECT_NE(texts[0].find("reduce_scatter \"/mlp\": rank 1 gave up: rank 1: "), std::string::npos) << texts[0];
}

} // namespace
