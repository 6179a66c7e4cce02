// Memory of transient buffers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory under a limit, and the cache of memory plans: a plan depends on buffer sizes alone, and a service sees
// the same few shapes again and again.
#ifndef WEFT_SESSION_ARENA_H
#define WEFT_SESSION_ARENA_H

#include "../Device.h"
#include "weft/Bundle/MemoryPlan.h"

#include <vector>

namespace weft {

/// Bytes that a session may allocate.
struct MemoryBudget {
  uint64_t limit = 0;
  uint64_t used = 0;
};

/// Device memory that grows on demand and counts against a budget.
class DeviceMemory {
public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;

  /// Makes room for `bytes`; the content is lost if the memory must grow. `what` is named in the error.
  bundle::Error reserve(Device &device, MemoryBudget &budget, uint64_t bytes, const char *what);
  void *get() const { return address; }
  /// Bytes; 0 if there is no memory.
  uint64_t getCapacity() const { return capacity; }
  void release();

private:
  Device *device = nullptr;
  MemoryBudget *budget = nullptr;
  void *address = nullptr;
  uint64_t capacity = 0;
};

/// Plans for one group of buffers whose intervals are fixed and whose sizes vary.
class PlanCache {
public:
  /// The plan for `requests`; null if the sizes cannot be planned. Valid until the next call.
  const bundle::MemoryPlan *get(const std::vector<bundle::PlanRequest> &requests);
  uint64_t getMade() const { return made; }
  uint64_t getReused() const { return reused; }

private:
  struct Item {
    std::vector<int64_t> sizes;
    bundle::MemoryPlan plan;
    uint64_t lastUse;
  };
  static constexpr size_t capacity = 16;
  std::vector<Item> items;
  uint64_t made = 0, reused = 0;
};

} // namespace weft

#endif // WEFT_SESSION_ARENA_H
