// Global memory of a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Exec/GlobalMemory.h"
#include "Emulator/Exec/Access.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using bundle::Error;
using bundle::ErrorCode;
using bundle::makeError;

/// At least so many bytes between allocations: a small overrun never reaches a neighbour.
static constexpr uint64_t kGap = 64 << 10;
static constexpr std::byte kPoison{0xcb};

/// Addresses are never used twice within the process, whatever GPU they are on.
static uint64_t takeAddresses(uint64_t bytes) {
  static std::atomic<uint64_t> next{kGlobalBase};
  uint64_t whole = (bytes + kGap + kGap - 1) / kGap * kGap;
  return next.fetch_add(whole);
}

GlobalMemory::GlobalMemory(uint64_t capacity) : capacity(capacity) {}

static void releaseBytes(Allocation &allocation) {
  std::free(allocation.bytes);
  std::free(allocation.initialised);
  allocation.bytes = nullptr;
  allocation.initialised = nullptr;
}

GlobalMemory::~GlobalMemory() {
  for (auto &allocation : allocations)
    releaseBytes(*allocation);
}

Error GlobalMemory::allocate(uint64_t bytes, uint64_t alignment, uint64_t &address) {
  if (bytes == 0)
    return makeError(ErrorCode::Usage, "an allocation of no bytes");
  if (bytes > capacity - live || alignment > kGap)
    return makeError(ErrorCode::Resource, "%llu bytes do not fit: %llu of %llu bytes of global memory are free",
                     (unsigned long long)bytes, (unsigned long long)(capacity - live), (unsigned long long)capacity);
  auto made = std::make_unique<Allocation>();
  size_t whole = size_t(bytes + 255) / 256 * 256;
  made->bytes = static_cast<std::byte *>(std::aligned_alloc(256, whole));
  made->initialised = static_cast<uint8_t *>(std::calloc(size_t(bytes), 1));
  if (!made->bytes || !made->initialised) {
    releaseBytes(*made);
    return makeError(ErrorCode::Resource, "the host has no %llu bytes for emulated memory", (unsigned long long)bytes);
  }
  std::memset(made->bytes, int(kPoison), whole);
  made->address = address = takeAddresses(bytes);
  made->size = bytes;
  live += bytes;
  allocations.push_back(std::move(made));
  return {};
}

Error GlobalMemory::free(uint64_t address) {
  Allocation *found = search(address, 0);
  if (!found || found->address != address || found->isFreed)
    return makeError(ErrorCode::Usage, "0x%llx is not the beginning of a live allocation", (unsigned long long)address);
  found->isFreed = true;
  live -= found->size;
  releaseBytes(*found);
  last = nullptr;
  return {};
}

Allocation *GlobalMemory::search(uint64_t address, uint64_t bytes) {
  auto after = std::upper_bound(allocations.begin(), allocations.end(), address,
                                [](uint64_t value, const auto &allocation) { return value < allocation->address; });
  if (after == allocations.begin())
    return nullptr;
  Allocation *found = std::prev(after)->get();
  if (found->isFreed || address - found->address > found->size || bytes > found->size - (address - found->address))
    return nullptr;
  return last = found;
}

std::string GlobalMemory::describe(uint64_t address) const {
  char text[256];
  const Allocation *below = nullptr, *above = nullptr;
  for (const auto &allocation : allocations) {
    if (allocation->address <= address)
      below = allocation.get();
    else if (!above)
      above = allocation.get();
  }
  auto nameOf = [](const Allocation &allocation) {
    return allocation.name.empty() ? std::string("the allocation") : "variable " + bundle::quote(allocation.name);
  };
  if (below && (!above || address - below->address < above->address - address)) {
    uint64_t distance = address - below->address;
    bool isInside = distance < below->size;
    snprintf(text, sizeof text, "%llu bytes %s %s%s of %llu bytes at 0x%llx",
             (unsigned long long)(isInside ? distance : distance - below->size), isInside ? "into" : "past the end of",
             below->isFreed ? "(freed) " : "", nameOf(*below).c_str(), (unsigned long long)below->size,
             (unsigned long long)below->address);
    return text;
  }
  if (!above)
    return "nothing is allocated";
  snprintf(text, sizeof text, "%llu bytes before %s%s of %llu bytes at 0x%llx",
           (unsigned long long)(above->address - address), above->isFreed ? "(freed) " : "", nameOf(*above).c_str(),
           (unsigned long long)above->size, (unsigned long long)above->address);
  return text;
}
