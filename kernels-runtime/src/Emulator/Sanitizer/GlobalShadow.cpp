// Who touched which bytes of global memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulator/Sanitizer/GlobalShadow.h"

#include <algorithm>

using namespace weft::emu;

GlobalShadow::Word &GlobalShadow::find(uint64_t address) {
  uint64_t number = address >> kPageBits;
  if (number != lastNumber) {
    std::unique_ptr<Page> &page = pages[number];
    if (!page)
      page = std::make_unique<Page>();
    last = page.get();
    lastNumber = number;
  }
  return (*last)[(address & ((1u << kPageBits) - 1)) / 4];
}

static bool isRace(const GlobalParty &earlier, const GlobalParty &self, const Knowledge &knows) {
  return earlier.cluster && earlier.cluster != self.cluster && (earlier.bytes & self.bytes) &&
         !(earlier.isStrong && self.isStrong) && knows.ofCluster(earlier.cluster, earlier.agent) < earlier.clock;
}

bool GlobalShadow::access(uint64_t address, uint32_t bytes, bool isWrite, GlobalParty self, const Knowledge &knows,
                          Conflict &conflict) {
  bool isFound = false;
  auto note = [&](const GlobalParty &other, uint64_t at, bool isOtherWrite) {
    if (!isFound || (conflict.isOtherWrite && !isOtherWrite))
      conflict = {other, at, isOtherWrite};
    isFound = true;
  };
  for (uint64_t at = address, end = address + bytes; at < end;) {
    uint64_t word = at & ~uint64_t(3), next = std::min(word + 4, end);
    self.bytes = uint8_t(((1u << (next - at)) - 1) << (at - word));
    Word &cell = find(word);
    if (isRace(cell.writer, self, knows))
      note(cell.writer, at, true);
    if (isWrite) {
      for (GlobalParty &reader : cell.readers) {
        if (isRace(reader, self, knows))
          note(reader, at, false);
        reader = GlobalParty();
      }
      cell.writer = self;
    } else if (cell.readers[0].cluster != self.cluster) {
      cell.readers[1] = cell.readers[0];
      cell.readers[0] = self;
    } else {
      cell.readers[0] = self;
    }
    at = next;
  }
  return isFound;
}
