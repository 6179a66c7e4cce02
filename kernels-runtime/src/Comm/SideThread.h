// Work beside the thread that runs a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a second stream is on a GPU: jobs run one after the other on a thread of their own. Once one has failed, those
// behind it are not run.
#ifndef WEFT_COMM_SIDETHREAD_H
#define WEFT_COMM_SIDETHREAD_H

#include "weft/Bundle/Error.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weft {

/// Calls come from one thread at a time.
class SideThread {
public:
  using Job = std::function<bundle::Error()>;

  SideThread() = default;
  /// Waits for the job that runs; those behind it are not run.
  ~SideThread();
  SideThread(const SideThread &) = delete;
  SideThread &operator=(const SideThread &) = delete;

  /// Runs the job when those before it are done.
  void start(Job job);
  /// Waits until all but the last `left` jobs are done, or one has failed: its error.
  bundle::Error await(size_t left);
  /// Waits for the job that runs, and forgets those behind it.
  void settle();

private:
  void work();

  std::mutex mutex; ///< Of what follows.
  std::condition_variable changed;
  std::deque<Job> jobs; ///< The first one runs.
  bundle::Error failure;
  bool isRunning = false, isEnding = false;
  std::thread thread; ///< Begins with the first job.
};

} // namespace weft

#endif // WEFT_COMM_SIDETHREAD_H
