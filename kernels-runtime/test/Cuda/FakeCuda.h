// Control of the fake driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeCuda.cpp is a shared object with the driver's entry points, for a machine in host memory. A test gets its state
// by the symbol `weftFakeCuda`, sets what the machine is and which calls fail, and reads what happened.
#ifndef WEFT_TEST_FAKECUDA_H
#define WEFT_TEST_FAKECUDA_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft::test {

struct FakeLaunch {
  std::string function;
  unsigned grid, block, sharedBytes, cluster; ///< `cluster` 0: no attribute.
  std::vector<std::vector<uint8_t>> parameters;
  bool isAligned; ///< All tensor maps among them.
  void *stream;
  bool isProgrammatic; ///< It may begin before the end of the kernel in front of it.
};

/// A captured stream and those that it has forked: what they were given, and what is to be done when the graph is
/// launched.
struct FakeGraph {
  std::vector<std::string> nodes; ///< Functions, and "copy"; of a forked stream with "beside " in front.
  std::vector<std::function<void(void *stream)>> work;
  std::map<void *, size_t> forked; ///< Forked streams: nodes when each was given its last one; 0: it has joined.
};

struct FakeTensorMap {
  int type, swizzle, interleave, promotion, fill;
  uint64_t address;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box;
  bool isAligned; ///< The memory that the driver writes to.
};

struct FakeCuda {
  int version = 12040, devices = 2, major = 9, minor = 0, pools = 1;
  std::map<std::string, int> failures; ///< What a call returns instead of doing something.
  std::string log;                     ///< What the compiler says when it fails.
  bool refusesCubins = false;          ///< As a driver that was replaced by another of the same version.

  bool refusesUpdates = false;    ///< Of graphs.
  uint64_t memoryBytes = 1 << 30; ///< Of a GPU; cuMemAlloc* gives no more.

  std::map<std::string, int> calls;
  std::vector<std::pair<std::string, void *>> order; ///< Of "record", "wait", "graph", "kernel", "copy" on streams.
  std::vector<FakeLaunch> launches;
  std::vector<FakeTensorMap> maps;
  std::map<std::string, std::map<int, int>> attributes; ///< Of functions by name.
  unsigned compilations = 0;

  std::function<bool()> isBusy; ///< Whether streams have work of another library.
  /// What was started meanwhile, on whichever stream: it is done in this order, by those that wait.
  std::deque<std::function<void()>> pending;
  std::map<void *, std::pair<void *, void *>> marks; ///< Events of captures: stream that is captured, stream.

  /// Does `work` now, or when what was started before is done.
  void startWork(const std::function<void()> &work) {
    if (pending.empty() && !(isBusy && isBusy()))
      work();
    else
      pending.push_back(work);
  }
  /// Does what waits, as far as the work in front of it is done; whether that was all.
  bool finishPending() {
    while (!pending.empty() && !(isBusy && isBusy())) {
      std::function<void()> work = std::move(pending.front());
      pending.pop_front();
      work();
    }
    return pending.empty() && !(isBusy && isBusy());
  }
  /// The captured stream whose graph `stream` adds to; null: none.
  void *findCapture(void *stream) {
    if (captures.count(stream))
      return stream;
    for (auto &[origin, graph] : captures)
      if (graph.forked.count(stream))
        return origin;
    return nullptr;
  }
  /// A stream waits for an event: false if that is of no capture. Else the stream is forked from it, or joins.
  bool joinCapture(void *stream, void *event) {
    auto mark = marks.find(event);
    if (mark == marks.end() || !captures.count(mark->second.first))
      return false;
    auto [origin, from] = mark->second;
    FakeGraph &graph = captures[origin];
    if (stream != origin)
      graph.forked.emplace(stream, 0);
    else if (from != stream)
      graph.forked[from] = 0;
    return true;
  }
  /// Adds a node to its graph, or starts it.
  void add(void *stream, const std::string &node, const std::function<void(void *)> &work) {
    void *origin = findCapture(stream);
    if (!origin)
      return startWork([=] { work(stream); });
    FakeGraph &graph = captures[origin];
    graph.nodes.push_back((origin == stream ? "" : "beside ") + node);
    graph.work.push_back(work);
    if (origin != stream)
      graph.forked[stream] = graph.nodes.size();
  }

  // What is alive now.
  int contexts = 0;
  std::vector<void *> contextStack;
  std::set<void *> streams, modules, linkers, events, graphs, executables;
  std::map<void *, FakeGraph> captures;                           ///< By stream.
  std::map<void *, std::vector<std::function<void()>>> downloads; ///< By stream: what reaches the host when it waits.
  std::map<uint64_t, std::string> memory;                         ///< Address to the call that made it.
  std::map<uint64_t, uint64_t> sizes;                             ///< Bytes by address.
  unsigned misuses = 0;                                           ///< Calls without a context or with a dead handle.
};

} // namespace weft::test

#endif // WEFT_TEST_FAKECUDA_H
