// What a compilation that takes long is doing, for whoever waits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_COMPILE_PROGRESS_H
#define WEFT_TOOLS_WEFT_COMPILE_PROGRESS_H

#include "llvm/ADT/Twine.h"
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
    Long, ///< What a compilation does after 5 s, and what it begins from then on.
    All
  };
  explicit Progress(Mode mode);
  ~Progress();
  /// From any thread.
  void begin(const llvm::Twine &activity);

private:
  void print();
  void wait();

  const Mode mode;
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable ended;
  std::string current; ///< Under the mutex, as `isOver`.
  bool isOver = false;
  std::thread waiter; ///< Last: it uses the others.
};

} // namespace weft::tools

#endif // WEFT_TOOLS_WEFT_COMPILE_PROGRESS_H
