// Memory of transient buffers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Growing device memory and the plan cache (least recently used of 16 leaves).
#include "Arena.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

using namespace weft;
using namespace weft::bundle;

DeviceMemory::~DeviceMemory() { release(); }

DeviceMemory::DeviceMemory(DeviceMemory &&other) noexcept
    : device(other.device), budget(other.budget), address(std::exchange(other.address, nullptr)),
      capacity(std::exchange(other.capacity, 0)) {}

DeviceMemory &DeviceMemory::operator=(DeviceMemory &&other) noexcept {
  std::swap(device, other.device);
  std::swap(budget, other.budget);
  std::swap(address, other.address);
  std::swap(capacity, other.capacity);
  return *this;
}

void DeviceMemory::release() {
  if (!address)
    return;
  device->free(address);
  budget->used -= capacity;
  address = nullptr;
  capacity = 0;
}

Error DeviceMemory::reserve(Device &newDevice, MemoryBudget &newBudget, uint64_t bytes, const char *what) {
  if (address && bytes <= capacity)
    return {};
  release();
  device = &newDevice;
  budget = &newBudget;
  if (bytes > budget->limit - std::min(budget->used, budget->limit))
    return makeError(ErrorCode::Resource,
                     "%s needs %" PRIu64 " bytes at these shapes, more than the limit of %" PRIu64
                     " bytes allows (%" PRIu64 " in use); use smaller shapes or raise the memory limit",
                     what, bytes, budget->limit, budget->used);
  if (Error error = device->allocate(bytes, address))
    return std::move(error).within(std::to_string(bytes) + " bytes of " + what);
  capacity = bytes;
  budget->used += capacity;
  return {};
}

const MemoryPlan *PlanCache::get(const std::vector<PlanRequest> &requests) {
  auto matches = [&](const Item &item) {
    return std::equal(item.sizes.begin(), item.sizes.end(), requests.begin(), requests.end(),
                      [](int64_t size, const PlanRequest &request) { return size == request.size; });
  };
  uint64_t now = made + reused + 1;
  auto found = std::find_if(items.begin(), items.end(), matches);
  if (found != items.end()) {
    ++reused;
    found->lastUse = now;
    return &found->plan;
  }
  Item item{{}, {}, now};
  if (!planMemory(requests, item.plan))
    return nullptr;
  ++made;
  for (const PlanRequest &request : requests)
    item.sizes.push_back(request.size);
  if (items.size() < capacity) {
    items.push_back(std::move(item));
    return &items.back().plan;
  }
  auto oldest =
      std::min_element(items.begin(), items.end(), [](const Item &a, const Item &b) { return a.lastUse < b.lastUse; });
  *oldest = std::move(item);
  return &oldest->plan;
}
