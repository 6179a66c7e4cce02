// Collectives of GPUs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL on the stream of the session, or beside it on a second one, in recorded runs too. Its kernels wait for peers
// without an end, so somebody watches: whoever waits for a run looks at NCCL's own errors, at the links (a rank that
// has ended or given up) and at the clock; between runs a thread looks at the first two. NCCL is aborted then, which
// ends its kernels. ncclCommAbort and ncclCommDestroy return only when no graph with collectives is left (init.cc,
// commDestroySync): the former has a thread of its own, and sessions forget their recorded runs before they detach.
#include "NcclTransport.h"

#include "../Device.h"
#include "NcclApi.h"
#include "weft/Bundle/DType.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <dlfcn.h>
#include <sched.h>
#include <thread>

using namespace weft;
using namespace weft::bundle;

namespace {

struct NcclLibrary {
#define WEFT_NCCL_ENTRY(MEMBER, SYMBOL, RESULT, ...) RESULT (*MEMBER)(__VA_ARGS__) = nullptr;
  WEFT_NCCL_ENTRIES(WEFT_NCCL_ENTRY)
#undef WEFT_NCCL_ENTRY

  /// Stays loaded until the process ends: it has threads of its own.
  Error load(const std::string &path) {
    const char *name = path.empty() ? "libnccl.so.2" : path.c_str();
    void *library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return Error(ErrorCode::Device, "cannot load NCCL: " + std::string(::dlerror()) +
                                          "; install it (pip install nvidia-nccl-cu12) and name the library, or use "
                                          "the transport \"host\"");
    const char *missing = nullptr;
#define WEFT_NCCL_ENTRY(MEMBER, SYMBOL, ...)                                                                           \
  MEMBER = reinterpret_cast<decltype(MEMBER)>(::dlsym(library, #SYMBOL));                                              \
  missing = MEMBER ? missing : #SYMBOL;
    WEFT_NCCL_ENTRIES(WEFT_NCCL_ENTRY)
#undef WEFT_NCCL_ENTRY
    return missing ? Error(ErrorCode::Device, quote(name) + " has no " + missing + "; NCCL 2.7 or later is needed")
                   : Error();
  }

  Error check(nccl::Result result, const char *call) const {
    return result == nccl::kSuccess || result == nccl::kInProgress
               ? Error()
               : Error(ErrorCode::Device, std::string(call) + ": " + getErrorString(result));
  }
};

class NcclTransport : public Transport {
public:
  NcclTransport(const CommunicatorOptions &options, Links &links) : options(options), links(links) {}
  ~NcclTransport() override;
  Error open(Device &device);

  Error run(const Collective &collective, Device &device) override;
  Error runBeside(const Collective &collective, Device &device) override;
  Error await(size_t left, Device &device) override { return device.awaitBeside(left); }
  bool canRecord() const override { return true; }
  Error begin(const std::vector<Collective> *collectives) override;
  Error wait(Device &device) override;
  void abort() override;

private:
  Error start(const Collective &collective, nccl::Stream stream);
  Error startLocked(const Collective &collective, nccl::Stream stream);
  Error allToAll(const Collective &collective, nccl::DataType type, uint64_t count, nccl::Stream stream);
  Error findFailure();
  Error compare(const std::vector<Collective> &list);
  std::string self() const;
  std::string describeStall();
  void watch();
  void abortLocked();

  CommunicatorOptions options;
  Links &links;
  NcclLibrary library;
  std::mutex mutex; ///< Of what follows.
  nccl::Comm comm = nullptr;
  Error failure;
  bool isEnding = false;
  uint64_t number = 0;                        ///< Of the last run that has begun.
  std::string place = "before the first run"; ///< Its first collective.
  std::string agreed; ///< What all ranks said that they do, in the last run that did something new.
  std::condition_variable ending;
  std::thread watcher, aborting;
};

nccl::DataType getType(DType type) {
  switch (type) {
  case DType::F64:
    return nccl::Float64;
  case DType::F32:
    return nccl::Float32;
  case DType::F16:
    return nccl::Float16;
  case DType::BF16:
    return nccl::Bfloat16;
  case DType::I64:
    return nccl::Int64;
  case DType::I32:
    return nccl::Int32;
  case DType::I8:
    return nccl::Int8;
  case DType::UI64:
    return nccl::Uint64;
  case DType::UI32:
    return nccl::Uint32;
  default:
    return nccl::Uint8; // What is only moved goes as bytes.
  }
}

nccl::RedOp getOp(Reduction reduction) {
  switch (reduction) {
  case Reduction::Mul:
    return nccl::Prod;
  case Reduction::Max:
    return nccl::Max;
  case Reduction::Min:
    return nccl::Min;
  default:
    return nccl::Sum;
  }
}

} // namespace

Error NcclTransport::open(Device &device) {
  Error error = library.load(options.ncclLibrary);
  nccl::UniqueId id = {};
  if (!error && options.rank == 0)
    error = library.check(library.getUniqueId(&id), "ncclGetUniqueId");
  if (error) {
    links.abort(error.getMessage());
    return error;
  }
  std::vector<Links::Transfer> transfers(options.ranks);
  for (uint32_t i = 0; i < options.ranks; ++i) {
    uint64_t given = options.rank == 0 ? sizeof id : 0, taken = i == 0 ? sizeof id : 0;
    transfers[i] = {&id, given, &id, taken};
  }
  if ((error = links.exchange({0, 0, 0, 1u << 19, 0}, transfers, "NCCL's id")))
    return error;
  error = device.withStream([&](void *) {
    return library.check(library.commInitRank(&comm, int(options.ranks), id, int(options.rank)), "ncclCommInitRank");
  });
  if (error) {
    links.abort(error.getMessage());
    return error;
  }
  watcher = std::thread([this] { watch(); });
  return {};
}

NcclTransport::~NcclTransport() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  ending.notify_all();
  if (watcher.joinable())
    watcher.join();
  if (aborting.joinable())
    aborting.join();
  if (comm)
    (void)library.commDestroy(comm);
}

/// The mutex is held.
void NcclTransport::abortLocked() {
  if (comm)
    aborting = std::thread([this, aborted = std::exchange(comm, nullptr)] { (void)library.commAbort(aborted); });
}

/// Of NCCL, or of another rank. NCCL is aborted then. The mutex is held.
Error NcclTransport::findFailure() {
  if (failure || !comm)
    return failure;
  nccl::Result state = nccl::kSuccess;
  failure = library.check(library.commGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  if (!failure)
    failure = library.check(state, "NCCL");
  if (failure)
    failure = std::move(failure).within(self() + ": " + place);
  if (failure)
    links.abort(failure.getMessage());
  else
    failure = links.check(place);
  if (failure)
    abortLocked();
  return failure;
}

void NcclTransport::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ending.wait_for(lock, std::chrono::milliseconds(100), [this] { return isEnding; }))
    if (findFailure())
      return;
}

void NcclTransport::abort() {
  std::lock_guard<std::mutex> lock(mutex);
  abortLocked();
}

Error NcclTransport::allToAll(const Collective &collective, nccl::DataType type, uint64_t count, nccl::Stream stream) {
  const auto *source = static_cast<const uint8_t *>(collective.source);
  auto *destination = static_cast<uint8_t *>(collective.destination);
  uint64_t bytes = collective.bytes / options.ranks;
  Error error = library.check(library.groupStart(), "ncclGroupStart");
  for (uint32_t i = 0; i < options.ranks && !error; ++i) {
    error = library.check(library.send(source + i * bytes, count, type, int(i), comm, stream), "ncclSend");
    if (!error)
      error = library.check(library.recv(destination + i * bytes, count, type, int(i), comm, stream), "ncclRecv");
  }
  Error end = library.check(library.groupEnd(), "ncclGroupEnd");
  return error ? std::move(error) : std::move(end);
}

Error NcclTransport::start(const Collective &collective, nccl::Stream stream) {
  bool moves = collective.reduction == Reduction::None;
  nccl::DataType type = moves ? nccl::Uint8 : getType(collective.dtype);
  uint64_t count = moves ? collective.bytes : collective.bytes / (getBits(collective.dtype) / 8);
  nccl::RedOp op = getOp(collective.reduction);
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
    return library.check(library.allReduce(collective.source, collective.destination, count, type, op, comm, stream),
                         "ncclAllReduce");
  case CollectiveKind::AllGather:
    return library.check(library.allGather(collective.source, collective.destination, count, type, comm, stream),
                         "ncclAllGather");
  case CollectiveKind::ReduceScatter:
    return library.check(
        library.reduceScatter(collective.source, collective.destination, count / options.ranks, type, op, comm, stream),
        "ncclReduceScatter");
  case CollectiveKind::AllToAll:
    return allToAll(collective, type, count / options.ranks, stream);
  }
  return Error(ErrorCode::Internal, "unknown collective");
}

Error NcclTransport::startLocked(const Collective &collective, nccl::Stream stream) {
  std::lock_guard<std::mutex> lock(mutex);
  Error error = comm ? start(collective, stream) : Error();
  if (!comm)
    return failure;
  return error ? std::move(error).within(self() + ": " + describe(collective)) : Error();
}

Error NcclTransport::run(const Collective &collective, Device &device) {
  return device.withStream([&](void *stream) { return startLocked(collective, stream); });
}

Error NcclTransport::runBeside(const Collective &collective, Device &device) {
  return device.startBeside([&](void *stream) { return startLocked(collective, stream); });
}

//===--- What ranks are going to do ---===//

std::string NcclTransport::self() const {
  return "rank " + std::to_string(options.rank) + " of " + std::to_string(options.ranks);
}

static std::string getLine(const Collective &collective) {
  return describe(collective) + ", " +
         describe(uint8_t(collective.kind), uint8_t(collective.reduction), uint8_t(collective.dtype), collective.bytes);
}

/// The first line in which they differ.
static std::string findDifference(const std::vector<Collective> &list, const std::string &others,
                                  const std::string &who) {
  size_t begin = 0;
  for (const Collective &each : list) {
    std::string mine = getLine(each);
    begin = std::min(begin, others.size());
    size_t end = std::min(others.find('\n', begin), others.size());
    std::string theirs = others.substr(begin, end - begin);
    if (mine != theirs)
      return describe(each) + ": " + who + ": expected what this rank does, " + mine + ", got " +
             (theirs.empty() ? "no more" : theirs) + "; all ranks run one program with inputs of the same shapes";
    begin = end + 1;
  }
  return who + ": expected no more collectives than this rank's, got others";
}

/// NCCL does not compare what ranks do, and what differs may end as wrong numbers. So before a run that does something
/// else than the one before, all ranks say what.
Error NcclTransport::begin(const std::vector<Collective> *list) {
  std::lock_guard<std::mutex> lock(mutex);
  if (failure || !comm)
    return failure;
  number = links.beginRun(); // Under the mutex: the watcher would take others' plans of this run for other ones.
  place = list && !list->empty() ? describe(list->front()) : "run " + std::to_string(number);
  if (!list)
    return {};
  std::string mine;
  for (const Collective &each : *list)
    mine += getLine(each) + "\n";
  if (mine == agreed)
    return {};
  agreed = std::move(mine);
  failure = compare(*list);
  if (failure)
    abortLocked();
  return failure;
}

Error NcclTransport::compare(const std::vector<Collective> &list) {
  const Step step = {kPlanStep, 0, 0, number, 0};
  uint64_t size = agreed.size();
  std::vector<uint64_t> sizes(options.ranks, size);
  std::vector<Links::Transfer> transfers(options.ranks);
  for (uint32_t i = 0; i < options.ranks; ++i)
    transfers[i] = {&size, sizeof size, &sizes[i], sizeof size};
  if (Error error = links.exchange(step, transfers, place))
    return error;
  constexpr uint64_t most = 1 << 26; // A million collectives.
  std::vector<std::string> texts(options.ranks);
  for (uint32_t i = 0; i < options.ranks; ++i) {
    texts[i].resize(std::min(sizes[i], most));
    transfers[i] = {agreed.data(), agreed.size(), texts[i].data(), texts[i].size()};
  }
  if (Error error = links.exchange(step, transfers, place))
    return error;
  for (uint32_t i = 0; i < options.ranks; ++i)
    if (i != options.rank && texts[i] != agreed) {
      Error error(ErrorCode::Device, self() + ": " + findDifference(list, texts[i], "rank " + std::to_string(i)));
      links.abort(error.getMessage());
      return error;
    }
  return {};
}

/// Of the clock: who has not come, as far as the others say, and to what.
std::string NcclTransport::describeStall() {
  std::vector<std::optional<uint64_t>> begun = links.ask();
  std::string late, silent;
  for (uint32_t i = 0; i < options.ranks; ++i) {
    std::string who = "rank " + std::to_string(i);
    if (i == options.rank)
      continue;
    if (!begun[i])
      silent += (silent.empty() ? "does not answer: " : ", ") + who;
    else if (*begun[i] < number)
      late += (late.empty() ? "is late: " : ", ") + who + " (run " + std::to_string(*begun[i]) + ")";
  }
  bool haveAllCome = late.empty() && silent.empty();
  std::string text = self() + ": " + place + ": expected " + (haveAllCome ? "the collectives of run " : "all in run ") +
                     std::to_string(number) + " within " + std::to_string(options.timeoutMs) + " ms, ";
  if (haveAllCome)
    return text + "which all ranks have begun; the links between the GPUs may have failed";
  return text + late + (late.empty() || silent.empty() ? "" : "; ") + silent;
}

/// Polls the stream: a wait in the driver could not be ended.
Error NcclTransport::wait(Device &device) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now(), checked = begin;
  for (bool isDone = false;;) {
    if (Error error = device.query(isDone))
      return error;
    if (isDone)
      break;
    Clock::time_point now = Clock::now();
    if (now - checked < std::chrono::milliseconds(1)) {
      ::sched_yield();
      continue;
    }
    checked = now;
    std::lock_guard<std::mutex> lock(mutex);
    if (!findFailure() && now - begin > std::chrono::milliseconds(options.timeoutMs)) {
      std::string stall = describeStall();
      failure = links.check(place); // One that gave up meanwhile answers no more, and has said why.
      if (!failure)
        failure = Error(ErrorCode::Device, stall);
      links.abort(failure.getMessage());
      abortLocked();
    }
    if (failure)
      break;
  }
  Error error = device.synchronise();
  std::lock_guard<std::mutex> lock(mutex);
  return failure ? failure : std::move(error);
}

Error weft::createNcclTransport(const CommunicatorOptions &options, Links &links, Device &device,
                                std::unique_ptr<Transport> &transport) {
  auto created = std::make_unique<NcclTransport>(options, links);
  if (Error error = created->open(device))
    return error;
  transport = std::move(created);
  return {};
}
