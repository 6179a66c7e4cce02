// What one warp-wide access costs in memory units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes mostly touch the sector of the lane before them, so the search for a known sector begins at the newest.

#include "Emulator/Counters/WarpAccess.h"

using namespace weft::emu;

/// The sum over sectors of the number of lanes at the sector's most popular address.
static unsigned countPasses(const TouchedSectors &touched, const uint64_t *addresses, uint32_t mask) {
  unsigned passes = 0;
  for (unsigned i = 0; i < touched.count; ++i) {
    unsigned most = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      uint64_t address = addresses[__builtin_ctz(rest)];
      if (address / 32 != touched.sector[i].number)
        continue;
      unsigned same = 0;
      for (uint32_t others = rest; others != 0; others &= others - 1)
        same += addresses[__builtin_ctz(others)] == address;
      most = same > most ? same : most;
    }
    passes += most;
  }
  return passes;
}

TouchedSectors weft::emu::touchedSectors(const uint64_t *addresses, uint32_t mask, unsigned bytes) {
  TouchedSectors touched;
  uint32_t laneBytes = bytes >= 32 ? ~0u : (1u << bytes) - 1;
  bool isEachLaneAlone = true;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    uint64_t address = addresses[__builtin_ctz(rest)];
    uint64_t number = address / 32;
    uint32_t covered = laneBytes << (address % 32);
    unsigned i = touched.count;
    bool isLineKnown = false;
    while (i > 0 && touched.sector[i - 1].number != number) {
      isLineKnown |= touched.sector[i - 1].number / 4 == number / 4;
      --i;
    }
    if (i > 0) {
      isEachLaneAlone &= (touched.sector[i - 1].bytes & covered) == 0;
      touched.sector[i - 1].bytes |= covered;
      continue;
    }
    touched.sector[touched.count++] = {number, covered};
    touched.lines += !isLineKnown;
  }
  touched.passes = isEachLaneAlone ? touched.count : countPasses(touched, addresses, mask);
  return touched;
}

/// Wavefronts of one pass: the largest number of different words (atomics: of lanes) in a bank.
static unsigned wavefrontsOfPass(SharedAccess kind, const uint64_t *addresses, uint32_t mask, unsigned words) {
  uint32_t seen[32][32]; // Words of each bank; at most one per lane, since a lane has at most one word in a bank.
  uint8_t count[32] = {};
  unsigned most = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    uint32_t first = uint32_t(addresses[__builtin_ctz(rest)] / 4);
    for (uint32_t word = first; word != first + words; ++word) {
      unsigned bank = word % 32;
      unsigned i = kind == SharedAccess::Atomic ? 0 : count[bank];
      while (i > 0 && seen[bank][i - 1] != word)
        --i;
      if (i > 0)
        continue;
      seen[bank][count[bank]++] = word;
      most = count[bank] > most ? count[bank] : most;
    }
  }
  return most;
}

/// True if the active lanes in `mask` pair up with equal addresses at distance `distance`.
static bool isPaired(const uint64_t *addresses, uint32_t mask, unsigned distance) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    unsigned other = lane ^ distance;
    if ((mask >> other & 1) != 0 && addresses[other] != addresses[lane])
      return false;
  }
  return true;
}

SharedCost weft::emu::sharedCost(SharedAccess kind, const uint64_t *addresses, uint32_t mask, unsigned bytes) {
  unsigned lanesPerPass = bytes <= 4 ? 32 : 128 / bytes;
  unsigned words = bytes <= 4 ? 1 : bytes / 4;
  bool mayMerge = kind == SharedAccess::Load && bytes > 4;
  unsigned step = mayMerge ? lanesPerPass * 2 : lanesPerPass;
  uint32_t stepMask = step == 32 ? ~0u : (1u << step) - 1;
  unsigned passes = 0;
  SharedCost cost;
  auto pass = [&](uint32_t lanes) {
    if (lanes == 0)
      return;
    ++passes;
    cost.wavefronts += wavefrontsOfPass(kind, addresses, lanes, words);
  };
  for (unsigned lane = 0; lane < 32; lane += step) {
    uint32_t lanes = mask & stepMask << lane;
    uint32_t firstHalf = lanes & ((1u << (lane + lanesPerPass - 1) << 1) - 1);
    if (!mayMerge || isPaired(addresses, lanes, 1) || isPaired(addresses, lanes, 2)) {
      pass(lanes);
      continue;
    }
    pass(firstHalf);
    pass(lanes & ~firstHalf);
  }
  cost.conflicts = cost.wavefronts - passes;
  return cost;
}
