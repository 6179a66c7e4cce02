// Ranks on cards.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks are processes here, each with stand-ins for the driver and NCCL.
#include "../Cuda/CudaTest.h"
#include "Comm/Communicator.h"
#include "Comm/Sockets.h"
#include "FakeNccl.h"
#include "Memory/LoadedBundle.h"
#include "Session/Session.h"

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

  /// What `work` returns in each process.
  std::vector<std::string> runRanks(uint32_t ranks, CollectiveKind kind, const Work &work, int64_t timeoutMs = 20000) {
    std::vector<uint8_t> bytes = build(kind, ranks);
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
    bool isAborted = nccl.aborts > 0;
    session.reset();
    return text + (nccl.destroyed + nccl.aborts == 1 ? "" : ", not ended once") + (isAborted ? ", aborted" : "");
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

TEST_F(NcclTransportTest, EndsWhenARankDies) {
  Texts texts = runRanks(2, CollectiveKind::AllReduce, [](uint32_t rank, Session &session, FakeNccl &) {
    if (rank == 1)
      ::_exit(1);
    return runOnce(rank, session, 4);
  });
  EXPECT_EQ(texts[0], "rank 0 of 2: NCCL: rank 1 has ended, aborted");
}

TEST_F(NcclTransportTest, EndsWhenARankIsLate) {
  Texts texts = runRanks(
      2, CollectiveKind::AllReduce,
      [](uint32_t rank, Session &session, FakeNccl &) {
        if (rank == 1)
          ::usleep(900000);
        return runOnce(rank, session, 4);
      },
      300);
  EXPECT_EQ(texts[0],
            "rank 0: expected the other ranks to take part in collectives within 300 ms, some did not, aborted");
  EXPECT_NE(texts[1].find("rank 0 gave up: " + texts[0].substr(0, 40)), std::string::npos) << texts[1];
}

TEST_F(NcclTransportTest, EndsWhenNcclFails) {
  Texts texts = runRanks(2, CollectiveKind::AllReduce, [](uint32_t rank, Session &session, FakeNccl &nccl) {
    if (rank == 0)
      nccl.asyncError = 2;
    ::usleep(rank ? 0 : 300000);
    return runOnce(rank, session, 4);
  });
  EXPECT_EQ(texts[0], "rank 0: all_reduce \"/mlp\": NCCL: unhandled, aborted");
  EXPECT_NE(texts[1].find("rank 0 gave up: "), std::string::npos) << texts[1];
}

TEST_F(NcclTransportTest, EndsWhenARunFails) {
  Texts texts = runRanks(2, CollectiveKind::ReduceScatter, [](uint32_t rank, Session &session, FakeNccl &) {
    return runOnce(rank, session, rank ? 5 : 4); // 5 numbers are no 2 parts.
  });
  EXPECT_NE(texts[0].find("rank 1 gave up: rank 1: collective \"/mlp\": expected 2 equal parts"), std::string::npos)
      << texts[0];
}

} // namespace
