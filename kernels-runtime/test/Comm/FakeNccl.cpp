// A stand-in for NCCL.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of f32, and bytes; what the tests need of it.
#include "FakeNccl.h"

#include "Comm/NcclApi.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <sched.h>
#include <thread>

using namespace weft::test;
using namespace weft::nccl;

struct weft::nccl::ncclComm {
  unsigned rank, ranks;
  std::atomic<uint32_t> step{0};
  std::atomic<int> running{0};
  std::atomic<bool> isAborted{false};
  std::atomic<int> recorded{0}; ///< Operations in graphs.
};

namespace {
constexpr Result kInvalidArgument = 4;
FakeNccl state;

struct Operation {
  const void *source;
  size_t bytes;
  std::function<void(uint8_t (*slots)[FakeNcclMemory::kBytes])> finish; ///< Of what all ranks gave.
};

/// The parts of a group: what goes to rank i, and comes from it.
struct Group {
  const void *source = nullptr;
  std::vector<void *> destinations;
  size_t count = 0;
} group;
bool isGrouping = false;

void start(Comm comm, const Operation &operation) {
  uint32_t step = comm->step++;
  ++comm->running;
  std::thread([comm, operation, step] {
    FakeNcclMemory &memory = *state.memory;
    std::memcpy(memory.slots[step][comm->rank], operation.source, operation.bytes);
    ++memory.arrived[step];
    while (memory.arrived[step] < comm->ranks && !comm->isAborted)
      ::sched_yield();
    if (uint32_t awaited = state.awaitedGone) {
      while (memory.gone < awaited && !comm->isAborted)
        ::sched_yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    }
    if (!comm->isAborted)
      operation.finish(memory.slots[step]);
    --comm->running;
  }).detach();
}

Result enqueue(Comm comm, void *stream, size_t bytes, const Operation &operation) {
  if (bytes > FakeNcclMemory::kBytes || comm->ranks > FakeNcclMemory::kRanks || state.cuda->contextStack.empty())
    return kInvalidArgument;
  if (int error = state.startError)
    return error;
  std::shared_ptr<void> recorded; // As long as the graph that holds the operation.
  if (state.cuda->findCapture(stream)) {
    ++state.captured;
    ++comm->recorded;
    recorded = {nullptr, [comm](void *) { --comm->recorded; }};
  }
  state.cuda->add(stream, "nccl", [comm, operation, recorded](void *) { start(comm, operation); });
  return kSuccess;
}

/// NCCL would wait without an end.
void awaitGraphs(Comm comm) {
  for (int i = 0; i < 5000 && comm->recorded; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  state.stuck += comm->recorded > 0;
}

void sum(unsigned ranks, size_t first, size_t count, const uint8_t (*slots)[FakeNcclMemory::kBytes], void *to) {
  for (size_t i = 0; i < count; ++i) {
    float total = 0, value;
    for (unsigned r = 0; r < ranks; ++r) {
      std::memcpy(&value, slots[r] + (first + i) * sizeof value, sizeof value);
      total += value;
    }
    std::memcpy(static_cast<char *>(to) + i * sizeof total, &total, sizeof total);
  }
}
} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT FakeNccl *weftFakeNccl() { return &state; }

EXPORT const char *ncclGetErrorString(Result result) { return result == kInvalidArgument ? "bad" : "unhandled"; }

EXPORT Result ncclGetUniqueId(UniqueId *id) {
  std::memset(id->bytes, 7, sizeof id->bytes);
  std::memcpy(state.memory->id, id->bytes, sizeof id->bytes);
  return kSuccess;
}

EXPORT Result ncclCommInitRank(Comm *comm, int ranks, UniqueId id, int rank) {
  if (std::memcmp(id.bytes, state.memory->id, sizeof id.bytes) != 0 || state.cuda->contextStack.empty())
    return kInvalidArgument;
  *comm = new ncclComm{unsigned(rank), unsigned(ranks)};
  state.cuda->isBusy = [comm = *comm] { return comm->running > 0; };
  return kSuccess;
}

EXPORT Result ncclCommAbort(Comm comm) {
  comm->isAborted = true;
  ++state.aborts;
  awaitGraphs(comm);
  return kSuccess;
}

EXPORT Result ncclCommDestroy(Comm comm) {
  ++state.destroyed;
  awaitGraphs(comm);
  return kSuccess;
}

EXPORT Result ncclCommGetAsyncError(Comm, Result *result) {
  *result = state.asyncError;
  return kSuccess;
}

EXPORT Result ncclAllReduce(const void *source, void *to, size_t count, int type, int op, Comm comm, Stream stream) {
  if (type != Float32 || op != Sum)
    return kInvalidArgument;
  auto finish = [=](uint8_t (*slots)[FakeNcclMemory::kBytes]) { sum(comm->ranks, 0, count, slots, to); };
  return enqueue(comm, stream, count * sizeof(float), {source, count * sizeof(float), finish});
}

EXPORT Result ncclReduceScatter(const void *source, void *to, size_t count, int type, int op, Comm comm,
                                Stream stream) {
  if (type != Float32 || op != Sum)
    return kInvalidArgument;
  auto finish = [=](uint8_t (*slots)[FakeNcclMemory::kBytes]) {
    sum(comm->ranks, comm->rank * count, count, slots, to);
  };
  size_t bytes = count * comm->ranks * sizeof(float);
  return enqueue(comm, stream, bytes, {source, bytes, finish});
}

EXPORT Result ncclAllGather(const void *source, void *to, size_t count, int type, Comm comm, Stream stream) {
  if (type != Uint8)
    return kInvalidArgument;
  auto finish = [=](uint8_t (*slots)[FakeNcclMemory::kBytes]) {
    for (unsigned r = 0; r < comm->ranks; ++r)
      std::memcpy(static_cast<char *>(to) + r * count, slots[r], count);
  };
  return enqueue(comm, stream, count, {source, count, finish});
}

EXPORT Result ncclGroupStart() {
  group = {};
  isGrouping = true;
  return kSuccess;
}

EXPORT Result ncclSend(const void *source, size_t count, int type, int peer, Comm, Stream) {
  if (!isGrouping || type != Uint8)
    return kInvalidArgument;
  group.source = peer == 0 ? source : group.source;
  group.count = count;
  return kSuccess;
}

EXPORT Result ncclRecv(void *to, size_t count, int type, int peer, Comm comm, Stream stream) {
  if (!isGrouping || type != Uint8 || group.destinations.size() != size_t(peer))
    return kInvalidArgument;
  group.destinations.push_back(to);
  if (group.destinations.size() < comm->ranks)
    return kSuccess;
  auto finish = [comm, count, all = group.destinations](uint8_t (*slots)[FakeNcclMemory::kBytes]) {
    for (unsigned r = 0; r < comm->ranks; ++r)
      std::memcpy(all[r], slots[r] + comm->rank * count, count);
  };
  return enqueue(comm, stream, count * comm->ranks, {group.source, count * comm->ranks, finish});
}

EXPORT Result ncclGroupEnd() {
  isGrouping = false;
  return kSuccess;
}
