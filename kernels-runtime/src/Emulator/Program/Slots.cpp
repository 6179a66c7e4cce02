// Where registers lie in a warp's register file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear scan over the hulls, which is optimal for intervals: each class uses as many slots as hulls of it overlap.
#include "Emulator/Program/Slots.h"

#include <algorithm>
#include <queue>

namespace weft::emu {

/// Classes of slots: 16, 8, 4, 2 and 1 bytes a lane, predicates. In this order each is aligned to its size.
constexpr unsigned kClasses = 6;

static unsigned classOf(unsigned width) {
  return width == 16 ? 0 : width == 8 ? 1 : width == 4 ? 2 : width == 2 ? 3 : width == 1 ? 4 : 5;
}

static uint64_t slotBytes(unsigned kind) {
  static constexpr uint64_t bytes[kClasses] = {512, 256, 128, 64, 32, 4};
  return bytes[kind];
}

namespace {

using MinHeap = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<uint32_t>>;
using EndHeap = std::priority_queue<std::pair<uint32_t, uint32_t>, std::vector<std::pair<uint32_t, uint32_t>>,
                                    std::greater<std::pair<uint32_t, uint32_t>>>;

/// The slots of one class.
struct Pool {
  MinHeap free;   ///< The least number first, so that the file stays compact.
  EndHeap active; ///< Last position, slot.
  uint32_t count = 0;

  uint32_t take(const LiveHull &hull) {
    while (!active.empty() && active.top().first < hull.first) {
      free.push(active.top().second);
      active.pop();
    }
    uint32_t slot = count;
    if (free.empty()) {
      ++count;
    } else {
      slot = free.top();
      free.pop();
    }
    active.push({hull.last, slot});
    return slot;
  }
};

} // namespace

SlotMap assignSlots(const std::vector<uint8_t> &widths, const Liveness &liveness) {
  SlotMap result;
  uint32_t count = uint32_t(widths.size());
  std::vector<uint32_t> numbers(count, 0), sorted;
  Pool pools[kClasses];
  for (uint32_t reg = 0; reg < count; ++reg)
    if (!liveness.hulls[reg].isEmpty())
      sorted.push_back(reg);
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
    uint32_t firstA = liveness.hulls[a].first, firstB = liveness.hulls[b].first;
    return firstA != firstB ? firstA < firstB : a < b;
  });
  for (uint32_t reg : sorted)
    numbers[reg] = pools[classOf(widths[reg])].take(liveness.hulls[reg]);
  for (uint8_t width : widths) // registers without a hull are never used, but have a slot
    pools[classOf(width)].count = std::max(pools[classOf(width)].count, 1u);
  uint64_t bases[kClasses], end = 0;
  for (unsigned i = 0; i < kClasses; ++i) {
    bases[i] = end;
    end += pools[i].count * slotBytes(i);
  }
  result.slots.resize(count);
  for (uint32_t reg = 0; reg < count; ++reg) {
    unsigned kind = classOf(widths[reg]);
    result.slots[reg] = Slot(bases[kind] + numbers[reg] * slotBytes(kind));
  }
  result.bytes = uint32_t((end + 63) / 64 * 64);
  return result;
}

} // namespace weft::emu
