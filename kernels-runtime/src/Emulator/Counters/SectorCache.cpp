// A set-associative cache of sectored lines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookup is a scan of one set's ways. A set's order of use is kept as the tick of the last access; when the tick
// wraps (after 2^32 accesses) the order is wrong once, which a model may be.

#include "Emulator/Counters/SectorCache.h"

using namespace weft::emu;

SectorCache::SectorCache(uint64_t bytes, unsigned ways, bool fetchesPairs)
    : ways(ways), fetchesPairs(fetchesPairs), sets(bytes / kLineBytes / ways), table(size_t(sets) * ways) {}

/// `missing`, with absent neighbours if pairs are fetched.
unsigned SectorCache::toFetch(const Way *way, unsigned missing) const {
  if (!fetchesPairs)
    return missing;
  unsigned pairs = missing | (missing & 0x5) << 1 | (missing & 0xa) >> 1;
  return way ? pairs & ~unsigned(way->valid) : pairs;
}

/// The first way of the line's set, nullptr when there are no sets. The multiplier is 2^64 / golden ratio; the upper
/// half of the product of the hash and the number of sets is the set.
SectorCache::Way *SectorCache::set(uint64_t line) {
  if (sets == 0)
    return nullptr;
  uint64_t hash = (line * 0x9e3779b97f4a7c15u) >> 32;
  return table.data() + ((hash * sets) >> 32) * ways;
}

SectorCache::Way *SectorCache::find(Way *first, uint64_t line) {
  for (Way *way = first, *end = first + ways; way != end; ++way)
    if (way->tag == uint32_t(line) && way->valid != 0)
      return way;
  return nullptr;
}

/// A way without valid sectors: a free one, or the least recently used of the first class to go, written back.
SectorCache::Way &SectorCache::replace(Way *first, SectorTraffic &traffic) {
  Way *victim = first;
  for (Way *way = first, *end = first + ways; way != end; ++way) {
    if (way->valid == 0) {
      victim = way;
      break;
    }
    if (way->eviction != victim->eviction ? way->eviction < victim->eviction
                                          : int32_t(way->lastUse - victim->lastUse) < 0)
      victim = way;
  }
  traffic.writeBacks += unsigned(__builtin_popcount(victim->dirty));
  *victim = Way();
  return *victim;
}

void SectorCache::touch(Way &way, EvictionClass eviction) {
  if (eviction == EvictionClass::NoAllocate)
    return;
  way.lastUse = ++tick;
  way.eviction = eviction;
}

SectorTraffic SectorCache::read(uint64_t line, unsigned mask, EvictionClass eviction) {
  SectorTraffic traffic;
  Way *first = set(line);
  Way *way = first ? find(first, line) : nullptr;
  unsigned missing = way ? mask & ~unsigned(way->valid) : mask;
  traffic.misses = unsigned(__builtin_popcount(missing));
  traffic.hits = unsigned(__builtin_popcount(mask)) - traffic.misses;
  traffic.fetched = toFetch(way, missing);
  if (!way) {
    if (!first || eviction == EvictionClass::NoAllocate)
      return traffic;
    way = &replace(first, traffic);
    way->tag = uint32_t(line);
  }
  way->valid |= uint8_t(traffic.fetched);
  touch(*way, eviction);
  return traffic;
}

SectorTraffic SectorCache::write(uint64_t line, unsigned mask, unsigned partial, EvictionClass eviction) {
  SectorTraffic traffic;
  Way *first = set(line);
  Way *way = first ? find(first, line) : nullptr;
  unsigned missing = partial & mask & (way ? ~unsigned(way->valid) : ~0u);
  traffic.fetched = missing;
  traffic.misses = unsigned(__builtin_popcount(missing));
  traffic.hits = unsigned(__builtin_popcount(mask)) - traffic.misses;
  if (!way) {
    if (!first || eviction == EvictionClass::NoAllocate) {
      traffic.writeBacks += unsigned(__builtin_popcount(mask));
      return traffic;
    }
    way = &replace(first, traffic);
    way->tag = uint32_t(line);
  }
  way->valid |= uint8_t(mask);
  way->dirty |= uint8_t(mask);
  touch(*way, eviction);
  return traffic;
}

void SectorCache::drop(uint64_t line, unsigned mask) {
  Way *first = set(line);
  if (Way *way = first ? find(first, line) : nullptr) {
    way->valid &= uint8_t(~mask);
    way->dirty &= way->valid;
  }
}

uint64_t SectorCache::flush() {
  uint64_t written = 0;
  for (Way &way : table) {
    written += unsigned(__builtin_popcount(way.dirty));
    way = Way();
  }
  return written;
}
