// A thread that waits until work has taken long.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Progress.h"

#include <cstdio>
#include <unistd.h>

namespace weft::tools {

static constexpr std::chrono::seconds longTime(2);

Progress::Mode Progress::whereWatched() { return isatty(STDERR_FILENO) ? Long : Off; }

Progress::Progress(const char *tool, Mode mode) : tool(tool), mode(mode) {
  if (mode == Long)
    waiter = std::thread([this] { wait(); });
}

Progress::~Progress() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  ended.notify_all();
  if (waiter.joinable())
    waiter.join();
}

void Progress::begin(const std::string &activity) {
  std::lock_guard<std::mutex> lock(mutex);
  current = activity;
  if (mode == All || (mode == Long && std::chrono::steady_clock::now() - start >= longTime))
    print();
}

void Progress::print() {
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "%s: %.0f s: %s\n", tool, passed.count(), current.c_str());
}

void Progress::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  if (!ended.wait_until(lock, start + longTime, [this] { return isOver; }) && !current.empty())
    print();
}

} // namespace weft::tools
