// Who touched which bytes of global memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of every word of global memory that CTAs of a launch touch: who wrote it last, and two of those who have read it
// since. Two accesses of different clusters race if one is a plain write, or one of them is plain and the other a
// write, and the later one does not know of the earlier. Within a cluster nothing is looked for.
#ifndef WEFT_EMULATOR_SANITIZER_GLOBALSHADOW_H
#define WEFT_EMULATOR_SANITIZER_GLOBALSHADOW_H

#include "Emulator/Sanitizer/VectorClock.h"

#include <array>
#include <unordered_map>

namespace weft::emu {

/// An access of global memory by an agent of a cluster.
struct GlobalParty {
  uint32_t cluster = 0; ///< From 1 on, in the order in which clusters began; 0: nobody.
  uint32_t clock = 0, site = 0;
  uint32_t cta = 0; ///< Its number in the launch.
  uint16_t agent = 0;
  uint8_t lane = 0;
  bool isStrong = false;
  uint8_t bytes = 0; ///< Of the word, one bit each.
};

class GlobalShadow {
public:
  struct Conflict {
    GlobalParty other;
    uint64_t address = 0;
    bool isOtherWrite = false;
  };
  /// An access of `bytes` bytes; the first conflict, if there is one: rather with a reader. `self.bytes` is set here.
  bool access(uint64_t address, uint32_t bytes, bool isWrite, GlobalParty self, const Knowledge &knows,
              Conflict &conflict);

private:
  struct Word {
    GlobalParty writer, readers[2];
  };
  static constexpr unsigned kPageBits = 12;
  using Page = std::array<Word, (1u << kPageBits) / 4>;
  Word &find(uint64_t address);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = ~uint64_t(0);
  Page *last = nullptr;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_SANITIZER_GLOBALSHADOW_H
