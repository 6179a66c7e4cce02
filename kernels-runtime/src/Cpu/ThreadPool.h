// Runs the grid of a CPU kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A few threads that share the grid points of one kernel at a time. The calling thread is worker 0. Grid points are
// handed out in chunks by an atomic counter, so a late or slow worker takes less.
//
// Protocol. `ticket` holds (epoch << 32 | open bit | number of workers that joined). The caller fills in the job, opens
// a ticket of a new epoch, and works. A worker joins by a compare-and-swap that only succeeds on an open ticket; the
// caller closes the ticket when no grid points are left and then waits for those that joined: a worker that slept
// through a short kernel is not waited for. Idle workers watch `epoch` for some microseconds and then sleep on it
// (futex), so a run's kernels follow each other without system calls, while an idle session costs nothing.
#ifndef WEFT_CPU_THREADPOOL_H
#define WEFT_CPU_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <vector>

namespace weft {

/// A CPU kernel (docs/architecture.md, "Kernel ABI").
using CpuKernel = void (*)(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end, void *scratch);

class ThreadPool {
public:
  struct Job {
    CpuKernel kernel;
    void *const *buffers;
    const int64_t *scalars;
    int64_t grid;
    void *const *scratch; ///< One address for each worker.
  };

  /// Starts up to `workers` - 1 threads; fewer if the system gives no more.
  explicit ThreadPool(unsigned workers);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned getWorkers() const { return unsigned(threads.size()) + 1; }

  /// Runs all grid points of `job` and returns when they are done. One caller at a time.
  void run(const Job &job);

private:
  struct Worker {
    ThreadPool *pool;
    unsigned index;
    pthread_t thread;
  };
  static void *start(void *worker);
  void work(unsigned index);
  void runChunks(unsigned index);
  uint32_t waitForEpoch(uint32_t seen);
  bool tryJoin();
  void waitForWorkers(uint32_t joined);

  std::vector<Worker> threads;
  Job job = {};
  int64_t chunk = 1;
  // Apart from each other: written by different threads at different times.
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<bool> callerSleeps{false};
};

} // namespace weft

#endif // WEFT_CPU_THREADPOOL_H
