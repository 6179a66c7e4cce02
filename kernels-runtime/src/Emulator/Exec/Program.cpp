// Storage of executable functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arena of payloads and the pool of constants.
#include "Emulator/Exec/Program.h"

#include <algorithm>
#include <cstring>

using namespace weft;
using namespace weft::emu;

void *Arena::allocate(size_t bytes, size_t alignment) {
  size_t skip = (alignment - reinterpret_cast<uintptr_t>(next) % alignment) % alignment;
  if (!next || skip + bytes > left) {
    size_t chunk = std::max<size_t>(4096, bytes + alignment);
    chunks.emplace_back(new std::byte[chunk]);
    next = chunks.back().get();
    left = chunk;
    skip = (alignment - reinterpret_cast<uintptr_t>(next) % alignment) % alignment;
  }
  void *place = next + skip;
  next += skip + bytes;
  left -= skip + bytes;
  return place;
}

ConstantPool::ConstantPool() = default;

Slot ConstantPool::place(uint64_t value, unsigned bytes, unsigned laneCount) {
  // Predicates and words have keys of their own: `laneCount` tells them apart.
  auto key = std::make_pair(value, bytes * 64 + laneCount);
  if (auto place = known.find(key); place != known.end())
    return place->second;
  size_t size = (size_t(bytes) * laneCount + 63) / 64 * 64;
  if (!lanes || used + size > storage.size() - 64) {
    std::vector<std::byte> grown(std::max<size_t>(1024, storage.size() * 2) + size + 64);
    std::byte *first = grown.data() + (64 - reinterpret_cast<uintptr_t>(grown.data()) % 64) % 64;
    if (used)
      std::memcpy(first, lanes, used);
    storage.swap(grown);
    lanes = first;
  }
  for (unsigned lane = 0; lane < laneCount; ++lane) {
    std::byte *target = lanes + used + size_t(lane) * bytes;
    std::memset(target, 0, bytes);
    std::memcpy(target, &value, std::min(bytes, 8u));
  }
  Slot slot = kConstantSlot | Slot(used);
  used += size;
  known.emplace(key, slot);
  return slot;
}

Slot ConstantPool::add(uint64_t value, unsigned bytes) {
  return place(bytes >= 8 ? value : value & ((uint64_t(1) << bytes * 8) - 1), bytes, 32);
}

Slot ConstantPool::addPredicate(bool value) { return place(value ? kAllLanes : 0, 4, 1); }
