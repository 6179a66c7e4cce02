// Hand-over between the workers of a pool.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of plain memory on the pool itself, without a bundle. The kernels of bundles are compiled code that
// ThreadSanitizer does not see into; these it does see, so its build (`./dev build tsan`) shows that what one job
// writes happens before what the next one reads, whichever worker runs it.
#include "Cpu/ThreadPool.h"

#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace weft;

/// y[i] = x[(i + 1) mod n] + 1, n in scalars[0]; counts its grid points in the worker's scratch. A worker reads what
/// another one has written in the job before.
static void shiftKernel(void *const *buffers, const int64_t *scalars, int64_t begin, int64_t end, void *scratch) {
  const auto *x = static_cast<const int64_t *>(buffers[0]);
  auto *y = static_cast<int64_t *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[(i + 1) % scalars[0]] + 1;
  *static_cast<int64_t *>(scratch) += end - begin;
}

/// Runs `jobs` of shiftKernel over `n` elements one after the other and checks every element and every grid point.
static void chainJobs(ThreadPool &pool, int64_t n, int jobs, unsigned pauseMicroseconds) {
  std::vector<int64_t> x(size_t(n), 0), y(size_t(n), 0), counts(pool.getWorkers(), 0);
  std::vector<void *> scratch;
  for (int64_t &count : counts)
    scratch.push_back(&count);
  for (int job = 0; job < jobs; ++job) {
    ++y[0]; // The caller writes between jobs, as a session's copies do; the job overwrites it.
    void *buffers[] = {x.data(), y.data()};
    pool.run({shiftKernel, buffers, &n, n, scratch.data()});
    std::swap(x, y);
    if (pauseMicroseconds)
      ::usleep(pauseMicroseconds);
  }
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(x[size_t(i)], jobs) << "element " << i;
  int64_t points = 0;
  for (int64_t count : counts)
    points += count;
  EXPECT_EQ(points, n * jobs);
}

TEST(ThreadPool, JobsSeeWhatEarlierJobsWrote) {
  for (unsigned workers : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(workers);
    for (int64_t n : {1, 2, 7, 64, 1000})
      chainJobs(pool, n, 300, 0);
  }
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  // Pauses beyond the time that idle workers spin, so that both kinds of sleep and wake-up happen.
  ThreadPool pool(4);
  chainJobs(pool, 4096, 100, 500);
}

TEST(ThreadPool, PoolsDoNotShare) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([] {
      for (int round = 0; round < 10; ++round) {
        ThreadPool pool(3); // starting and stopping is part of the protocol
        chainJobs(pool, 100, 20, 0);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}
