// What work that takes long is doing, for whoever waits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_COMMON_PROGRESS_H
#define WEFT_TOOLS_COMMON_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace weft::tools {

/// Lines "weft-compile: 7 s: lower sm_90a" on stderr.
class Progress {
public:
  enum Mode {
    Off,
    Long, ///< What is going on after 2 s, and what begins from then on.
    All
  };
  /// Long where somebody watches stderr, else Off.
  static Mode whereWatched();
  Progress(const char *tool, Mode mode);
  ~Progress();
  /// From any thread.
  void begin(const std::string &activity);

private:
  void print();
  void wait();

  const char *const tool;
  const Mode mode;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable ended;
  std::string current; ///< Under the mutex, as `isOver`.
  bool isOver = false;
  std::thread waiter; ///< Last: it uses the others.
};

} // namespace weft::tools

#endif // WEFT_TOOLS_COMMON_PROGRESS_H
