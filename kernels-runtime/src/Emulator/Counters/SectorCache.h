// A set-associative cache of sectored lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model of L2 and of L1: lines of 128 bytes with four sectors of 32 bytes that are filled and written back one by
// one, least recently used replacement within eviction classes, write-back with a dirty bit per sector. It holds tags
// only. Which set a line falls into is a hash of its number, as in hardware (whose hash is not published): strided
// walks do not pile up in few sets.
#ifndef WEFT_EMULATOR_COUNTERS_SECTORCACHE_H
#define WEFT_EMULATOR_COUNTERS_SECTORCACHE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::emu {

constexpr unsigned kSectorBytes = 32;
constexpr unsigned kLineBytes = 128;

/// In which order lines are given up; a later access that is not `NoAllocate` gives the line its class.
enum class EvictionClass : uint8_t {
  First, ///< Before all others.
  Normal,
  Last,       ///< After all others.
  NoAllocate, ///< A miss leaves no line behind; a hit changes nothing.
};

/// What one access of one line did, in sectors.
struct SectorTraffic {
  unsigned hits = 0;
  unsigned misses = 0;
  unsigned fetched = 0;    ///< Mask of the sectors to be read from the level below.
  unsigned writeBacks = 0; ///< Written to the level below, by replacement or because nothing was allocated.
};

class SectorCache {
public:
  /// `bytes` is rounded down to whole sets of `ways` lines; below one set nothing hits. With `fetchesPairs` a missing
  /// sector brings its neighbour of the same 64 bytes along, as L2 does.
  SectorCache(uint64_t bytes, unsigned ways, bool fetchesPairs);

  /// Reads the sectors in `mask` (bit i: bytes 32i to 32i+31) of line `line` (address / 128; lines are told apart by
  /// their low 32 bits, which is 512 GB).
  SectorTraffic read(uint64_t line, unsigned mask, EvictionClass eviction);
  /// Writes sectors. A sector in `partial` is not wholly written: if it is absent, it is fetched first. Every write
  /// counts as a hit when nothing needs to be fetched.
  SectorTraffic write(uint64_t line, unsigned mask, unsigned partial, EvictionClass eviction);
  /// Drops sectors without writing them back (L1: a write of another SM's data, or of one's own past it).
  void drop(uint64_t line, unsigned mask);
  /// Everything becomes absent; returns the number of sectors that had to be written back.
  uint64_t flush();

private:
  struct Way {
    uint32_t tag = 0;
    uint32_t lastUse = 0; ///< Tick of the set.
    uint8_t valid = 0;    ///< A bit per sector; 0: the way is free.
    uint8_t dirty = 0;    ///< Subset of `valid`.
    EvictionClass eviction = EvictionClass::Normal;
  };

  Way *set(uint64_t line);
  Way *find(Way *first, uint64_t line);
  Way &replace(Way *first, SectorTraffic &traffic);
  void touch(Way &way, EvictionClass eviction);

  unsigned toFetch(const Way *way, unsigned missing) const;

  unsigned ways;
  bool fetchesPairs;
  uint64_t sets;
  uint32_t tick = 0;
  std::vector<Way> table; ///< ways of set 0, of set 1, ...
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_COUNTERS_SECTORCACHE_H
