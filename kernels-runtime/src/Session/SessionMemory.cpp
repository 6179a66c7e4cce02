//===- SessionMemory.cpp - The device of a session, and the outputs it gave away ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// See the header.
//
//===--------------------------------------------------------------------------------------------------------------===//
#include "SessionMemory.h"

using namespace weft;
using namespace weft::bundle;

DeviceMemory SessionMemory::findSpare(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  DeviceMemory *best = nullptr;
  for (DeviceMemory &memory : spare)
    if (memory.getCapacity() >= bytes && (!best || memory.getCapacity() < best->getCapacity()))
      best = &memory;
  if (!best)
    return {};
  DeviceMemory found = std::move(*best);
  if (best != &spare.back())
    *best = std::move(spare.back());
  spare.pop_back();
  return found;
}

Error SessionMemory::reserveOutput(DeviceMemory &memory, uint64_t bytes) {
  if (memory.get() && memory.getCapacity() >= bytes)
    return {};
  if (DeviceMemory found = findSpare(bytes); found.get()) {
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

void SessionMemory::giveBack(DeviceMemory &&memory) {
  std::lock_guard<std::mutex> lock(mutex);
  spare.push_back(std::move(memory));
}
