// The device of a session, and the outputs it gave away.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SessionMemory.h"

#include <utility>

using namespace weft;
using namespace weft::bundle;

DeviceMemory SessionMemory::findSpare(size_t output, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto rank = [&](const Spare &item) { return std::make_pair(item.output != output, item.memory.getCapacity()); };
  Spare *best = nullptr;
  for (Spare &item : spare)
    if (item.memory.getCapacity() >= bytes && (!best || rank(item) < rank(*best)))
      best = &item;
  if (!best)
    return {};
  DeviceMemory found = std::move(best->memory);
  if (best != &spare.back())
    *best = std::move(spare.back());
  spare.pop_back();
  return found;
}

Error SessionMemory::reserveOutput(size_t output, DeviceMemory &memory, uint64_t bytes) {
  if (memory.get() && memory.getCapacity() >= bytes)
    return {};
  if (DeviceMemory found = findSpare(output, bytes); found.get()) {
    memory = std::move(found);
    return {};
  }
  Error error = memory.reserve(*device, budget, bytes, "an output");
  if (error.getCode() != ErrorCode::Resource)
    return error;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (spare.empty())
      return error;
    spare.clear(); // All of it is too small.
  }
  return memory.reserve(*device, budget, bytes, "an output");
}

void SessionMemory::giveBack(size_t output, DeviceMemory &&memory) {
  std::lock_guard<std::mutex> lock(mutex);
  spare.push_back({output, std::move(memory)});
}
