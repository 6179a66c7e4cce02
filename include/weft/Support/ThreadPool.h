// The compiler's threads: a pool in which no signal can be lost for good.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's pool sleeps on condition variables without a limit. The glibc of Debian 12, and others before 2.41, can lose
// the signal of one when a waiter is preempted for long (glibc's bug 25847): on a busy machine a compilation then
// sleeps forever with work in its queue. Here whoever waits for a group runs the group's tasks, so a compilation goes
// on even if no worker wakes up, and no sleep is longer than a tenth of a second, after which the queue is looked at
// again.
#ifndef WEFT_SUPPORT_THREADPOOL_H
#define WEFT_SUPPORT_THREADPOOL_H

#include "llvm/Support/ThreadPool.h"

namespace weft {

class ThreadPool final : public llvm::ThreadPoolInterface {
public:
  /// Tasks run in at most `threads` threads: workers, which start as tasks come, and the thread that waits.
  explicit ThreadPool(unsigned threads) : threads(threads) {}
  /// Waits for all tasks.
  ~ThreadPool() override;

  void wait() override;
  /// Runs what the group has in the queue, then waits for those of its tasks that other threads run. Tasks may call it,
  /// for groups of their own.
  void wait(llvm::ThreadPoolTaskGroup &group) override;
  unsigned getMaxConcurrency() const override { return threads; }

private:
  using Group = llvm::ThreadPoolTaskGroup *;
  struct Task {
    llvm::unique_function<void()> run;
    Group group; ///< Null: of none.
  };

  void asyncEnqueue(llvm::unique_function<void()> run, Group group) override;
  void work();
  void run(std::unique_lock<std::mutex> &lock, std::deque<Task>::iterator position);

  const unsigned threads;
  std::mutex mutex; ///< Of all that follows.
  std::condition_variable added, ended;
  std::deque<Task> queue;
  llvm::DenseMap<Group, unsigned> open; ///< Tasks of a group that have not ended; no entry without one.
  std::vector<std::thread> workers;
  unsigned idle = 0; ///< Workers.
  bool closing = false;
};

} // namespace weft

#endif // WEFT_SUPPORT_THREADPOOL_H
