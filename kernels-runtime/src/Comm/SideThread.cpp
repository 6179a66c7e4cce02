// Work beside the thread that runs a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header.
#include "SideThread.h"

using namespace weft;
using namespace weft::bundle;

SideThread::~SideThread() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnding = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void SideThread::start(Job job) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    jobs.push_back(std::move(job));
  }
  if (!thread.joinable())
    thread = std::thread([this] { work(); });
  changed.notify_all();
}

Error SideThread::await(size_t left) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return jobs.size() <= left || failure; });
  return failure;
}

void SideThread::settle() {
  std::unique_lock<std::mutex> lock(mutex);
  if (isRunning)
    jobs.resize(1);
  else
    jobs.clear();
  changed.wait(lock, [&] { return !isRunning; });
}

void SideThread::work() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return isEnding || (!jobs.empty() && !failure); });
    if (isEnding)
      return;
    isRunning = true;
    Job &job = jobs.front(); // Stays where it is when others come behind it.
    lock.unlock();
    Error error = job();
    lock.lock();
    isRunning = false;
    failure = std::move(error);
    jobs.pop_front();
    changed.notify_all();
  }
}
