// Workers that take tasks in order, and waiters that help.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/ThreadPool.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <chrono>

namespace weft {

static constexpr std::chrono::milliseconds longestSleep(100);

ThreadPool::~ThreadPool() {
  wait();
  {
    std::lock_guard<std::mutex> lock(mutex);
    closing = true;
  }
  added.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::asyncEnqueue(llvm::unique_function<void()> run, Group group) {
  std::lock_guard<std::mutex> lock(mutex);
  queue.push_back({std::move(run), group});
  ++open[group];
  if (queue.size() > idle && workers.size() + 1 < threads)
    workers.emplace_back([this] { work(); });
  added.notify_one();
}

void ThreadPool::work() {
  llvm::set_thread_name("weft-worker");
  std::unique_lock<std::mutex> lock(mutex);
  while (!closing) {
    if (!queue.empty()) {
      run(lock, queue.begin());
      continue;
    }
    ++idle;
    added.wait_for(lock, longestSleep);
    --idle;
  }
}

/// The lock is held before and after, but not while the task runs.
void ThreadPool::run(std::unique_lock<std::mutex> &lock, std::deque<Task>::iterator position) {
  Group group = position->group;
  {
    llvm::unique_function<void()> task = std::move(position->run);
    queue.erase(position);
    lock.unlock();
    task();
  } // What the task owns goes before its group counts as done.
  lock.lock();
  auto count = open.find(group);
  if (--count->second == 0) {
    open.erase(count);
    ended.notify_all();
  }
}

void ThreadPool::wait(llvm::ThreadPoolTaskGroup &group) {
  std::unique_lock<std::mutex> lock(mutex);
  while (open.contains(&group)) {
    auto own = llvm::find_if(queue, [&](const Task &task) { return task.group == &group; });
    if (own != queue.end())
      run(lock, own);
    else
      ended.wait_for(lock, longestSleep);
  }
}

void ThreadPool::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!open.empty()) {
    if (!queue.empty())
      run(lock, queue.begin());
    else
      ended.wait_for(lock, longestSleep);
  }
}

} // namespace weft
