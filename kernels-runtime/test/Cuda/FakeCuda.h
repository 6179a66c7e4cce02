// Control of the fake driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FakeCuda.cpp is a shared object with the driver's entry points, for a machine in host memory. A test gets its state
// by the symbol `weftFakeCuda`, sets what the machine is and which calls fail, and reads what happened.
#ifndef WEFT_TEST_FAKECUDA_H
#define WEFT_TEST_FAKECUDA_H

#include <cstdint>
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

/// A captured stream: what it was given, and what it is to do when the graph is launched.
struct FakeGraph {
  std::vector<std::string> nodes; ///< Functions, and "copy".
  std::vector<std::function<void(void *stream)>> work;
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
