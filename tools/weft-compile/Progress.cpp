// A thread that waits until a compilation has taken long.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Progress.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::tools {

static constexpr std::chrono::seconds longTime(5);

Progress::Progress(Mode mode) : mode(mode) {
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

void Progress::begin(const llvm::Twine &activity) {
  std::lock_guard<std::mutex> lock(mutex);
  current = activity.str();
  if (mode == All || (mode == Long && std::chrono::steady_clock::now() - start >= longTime))
    print();
}

void Progress::print() {
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  llvm::errs() << "weft-compile: " << llvm::format("%.0f s: ", passed.count()) << current << '\n';
}

void Progress::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  if (!ended.wait_until(lock, start + longTime, [this] { return isOver; }) && !current.empty())
    print();
}

} // namespace weft::tools
