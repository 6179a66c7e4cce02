// The compiler's threads: every task runs, and no wait needs a worker that is free.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/ThreadPool.h"
#include <atomic>
#include <future>
#include <gtest/gtest.h>

using namespace weft;
using Tasks = llvm::ThreadPoolTaskGroup;

// LLVM's pool waits here forever: so it does when the signal that should have woken a worker was lost.
TEST(CompilerThreadPool, WaitsWithoutAFreeWorker) {
  std::promise<void> started, let;
  ThreadPool pool(2);
  pool.async([&] {
    started.set_value();
    let.get_future().wait();
  });
  started.get_future().wait();
  int done = 0; // By this thread alone.
  {
    Tasks group(pool);
    for (int i = 0; i < 10; ++i)
      group.async([&] { ++done; });
    group.wait();
  }
  EXPECT_EQ(done, 10);
  let.set_value();
}

// A thread that waits takes no task of another group: one that needs what the waiter's callers hold would never end.
TEST(CompilerThreadPool, AWaiterTakesItsOwnTasksAlone) {
  std::promise<void> started, let;
  std::thread::id other;
  ThreadPool pool(2);
  pool.async([&] {
    started.set_value();
    let.get_future().wait();
  });
  started.get_future().wait();
  pool.async([&] { other = std::this_thread::get_id(); });
  {
    Tasks group(pool);
    group.async([] {});
  }
  EXPECT_EQ(other, std::thread::id());
  let.set_value();
  pool.wait();
  EXPECT_NE(other, std::thread::id());
}

TEST(CompilerThreadPool, NestedGroups) {
  for (unsigned threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::atomic<int> done = 0;
    Tasks outer(pool);
    for (int i = 0; i < 20; ++i)
      outer.async([&] {
        Tasks inner(pool);
        for (int j = 0; j < 20; ++j)
          inner.async([&] { ++done; });
        inner.wait();
      });
    outer.wait();
    EXPECT_EQ(done, 400) << threads;
  }
}

TEST(CompilerThreadPool, NoMoreThreadsThanAskedFor) {
  ThreadPool pool(3);
  std::atomic<int> now = 0, most = 0;
  Tasks group(pool);
  for (int i = 0; i < 200; ++i)
    group.async([&] {
      int running = ++now, seen = most;
      while (running > seen && !most.compare_exchange_weak(seen, running))
        ;
      std::this_thread::yield();
      --now;
    });
  group.wait();
  EXPECT_LE(most, 3);
}

TEST(CompilerThreadPool, EndsWhatIsLeft) {
  std::atomic<int> done = 0;
  {
    ThreadPool pool(4);
    for (int i = 0; i < 50; ++i)
      pool.async([&] { ++done; });
  }
  EXPECT_EQ(done, 50);
}
