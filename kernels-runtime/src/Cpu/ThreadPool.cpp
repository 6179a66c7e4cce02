// Runs the grid of a CPU kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header for the protocol. Both sleeps are of the form "announce, then sleep only if nothing has changed", and
// both wakers "change, then look for an announcement", all sequentially consistent: no wake-up is lost.
#include "ThreadPool.h"

#include <algorithm>
#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace weft;

static constexpr uint64_t openBit = uint64_t(1) << 31;
static constexpr uint64_t joinedMask = openBit - 1;
/// Looks at a variable before sleeping on it: with 20 to 60 ns for each look, some 50 us, about the price of a sleep
/// and a wake-up.
static constexpr int spinCount = 1500;
/// Chunks for each worker: enough to even out unequal grid points, few enough to keep the calls cheap.
static constexpr int64_t chunksPerWorker = 8;
/// Kernels keep their tiles on the stack.
static constexpr size_t stackBytes = size_t(8) << 20;

static void relaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Sleeps while `word` holds `value`; may return early.
static void futexWait(std::atomic<uint32_t> &word, uint32_t value) {
  static_assert(sizeof(std::atomic<uint32_t>) == 4);
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void futexWakeAll(std::atomic<uint32_t> &word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

ThreadPool::ThreadPool(unsigned workers) {
  threads.reserve(workers); // the threads hold pointers to the elements
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes);
  for (unsigned i = 1; i < workers; ++i) {
    threads.push_back({this, i, {}});
    if (pthread_create(&threads.back().thread, &attributes, start, &threads.back()) != 0) {
      threads.pop_back();
      break;
    }
  }
  pthread_attr_destroy(&attributes);
}

ThreadPool::~ThreadPool() {
  stopping = true;
  ++epoch;
  futexWakeAll(epoch);
  for (Worker &worker : threads)
    pthread_join(worker.thread, nullptr);
}

void *ThreadPool::start(void *argument) {
  auto *worker = static_cast<Worker *>(argument);
  worker->pool->work(worker->index);
  return nullptr;
}

uint32_t ThreadPool::waitForEpoch(uint32_t seen) {
  for (int i = 0; i < spinCount; ++i) {
    if (uint32_t now = epoch.load(std::memory_order_acquire); now != seen)
      return now;
    relaxCpu();
  }
  ++sleepers;
  uint32_t now;
  while ((now = epoch.load()) == seen)
    futexWait(epoch, seen);
  --sleepers;
  return now;
}

bool ThreadPool::tryJoin() {
  uint64_t current = ticket.load(std::memory_order_relaxed);
  while (current & openBit)
    if (ticket.compare_exchange_weak(current, current + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void ThreadPool::work(unsigned index) {
  uint32_t seen = 0;
  while (true) {
    seen = waitForEpoch(seen);
    if (stopping)
      return;
    if (!tryJoin())
      continue;
    runChunks(index);
    ++finished;
    if (callerSleeps)
      futexWakeAll(finished);
  }
}

void ThreadPool::runChunks(unsigned index) {
  while (true) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= job.grid)
      return;
    job.kernel(job.buffers, job.scalars, begin, std::min(begin + chunk, job.grid), job.scratch[index]);
  }
}

void ThreadPool::waitForWorkers(uint32_t joined) {
  for (int i = 0; i < spinCount; ++i) {
    if (finished.load(std::memory_order_acquire) == joined)
      return;
    relaxCpu();
  }
  callerSleeps = true;
  uint32_t now;
  while ((now = finished.load()) != joined)
    futexWait(finished, now);
  callerSleeps = false;
}

void ThreadPool::run(const Job &newJob) {
  if (threads.empty() || newJob.grid == 1) {
    newJob.kernel(newJob.buffers, newJob.scalars, 0, newJob.grid, newJob.scratch[0]);
    return;
  }
  job = newJob;
  chunk = std::max<int64_t>(1, job.grid / (int64_t(getWorkers()) * chunksPerWorker));
  next.store(0, std::memory_order_relaxed);
  finished.store(0, std::memory_order_relaxed);
  uint32_t newEpoch = epoch.load(std::memory_order_relaxed) + 1;
  ticket.store(uint64_t(newEpoch) << 32 | openBit, std::memory_order_release);
  epoch = newEpoch;
  if (sleepers)
    futexWakeAll(epoch);
  runChunks(0);
  uint64_t closed = ticket.fetch_and(~openBit, std::memory_order_acq_rel);
  waitForWorkers(uint32_t(closed & joinedMask));
}
