// A sectored cache with eviction priorities.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table from lines to slots makes a hit one look-up. In a set the victim is searched; over the whole cache a list in
// the order of use for each priority gives it at once.
#include "weft/Plan/Cost/CacheModel.h"

#include <algorithm>
#include <tuple>

using namespace weft::plan;

static bool isPower(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

bool weft::plan::checkCache(const CacheConfig &config, std::string &error) {
  error.clear();
  if (!isPower(config.lineBytes) || !isPower(config.sectorBytes) || config.sectorBytes > config.lineBytes ||
      config.lineBytes / config.sectorBytes > 32)
    error = "expected lines and sectors of a power of two and at most 32 sectors to a line, got lines of " +
            std::to_string(config.lineBytes) + " and sectors of " + std::to_string(config.sectorBytes) + " bytes";
  else if (config.partitions != 1 && config.partitions != 2)
    error = "expected a cache of 1 or 2 partitions, got " + std::to_string(config.partitions);
  else if (config.ways < 0 || config.ways > 1024)
    error = "expected 0 (fully associative) to 1024 ways, got " + std::to_string(config.ways);
  else if (config.bytes < config.partitions * config.lineBytes || config.bytes > int64_t(1) << 36)
    error = "expected a cache of one line for each partition to 64 GiB, got " + std::to_string(config.bytes) + " bytes";
  return error.empty();
}

uint32_t weft::plan::mixBits(uint32_t value) {
  value = (value ^ value >> 16) * 0x85ebca6bU;
  value = (value ^ value >> 13) * 0xc2b2ae35U;
  return value ^ value >> 16;
}

CacheBank::CacheBank(int64_t lines, int64_t ways, int64_t universe)
    : ways(ways), sets(ways ? uint32_t(std::max<int64_t>(lines / ways, 1)) : 1) {
  slots.resize(ways ? int64_t(sets) * ways : std::max<int64_t>(lines, 1));
  places.assign(universe, -1);
}

void CacheBank::unlink(int32_t slot) {
  Line &line = slots[slot];
  int list = int(line.hint);
  (line.before >= 0 ? slots[line.before].after : first[list]) = line.after;
  (line.after >= 0 ? slots[line.after].before : last[list]) = line.before;
}

void CacheBank::append(int32_t slot) {
  Line &line = slots[slot];
  int list = int(line.hint);
  line.before = last[list];
  line.after = -1;
  (last[list] >= 0 ? slots[last[list]].after : first[list]) = slot;
  last[list] = slot;
}

int32_t CacheBank::chooseVictim(int32_t line) {
  if (!ways) {
    if (unused < int32_t(slots.size()))
      return unused++;
    for (int32_t slot : first)
      if (slot >= 0) {
        unlink(slot);
        return slot;
      }
  }
  // Neighbouring lines go to neighbouring sets, each run of `sets` lines rotated by a hash.
  uint32_t run = uint32_t(line) / sets, set = (uint32_t(line) % sets + mixBits(run) % sets) % sets;
  int32_t start = int32_t(set) * int32_t(ways), victim = start;
  auto rank = [&](int32_t slot) {
    const Line &candidate = slots[slot];
    return std::make_tuple(candidate.number >= 0, candidate.hint, candidate.stamp);
  };
  for (int32_t slot = start + 1; slot < start + ways; ++slot)
    if (rank(slot) < rank(victim))
      victim = slot;
  return victim;
}

CacheBank::Outcome CacheBank::access(int32_t line, uint32_t sectors, CacheHint hint, bool isWrite) {
  Outcome outcome;
  int32_t slot = places[line];
  if (slot >= 0) {
    if (!ways)
      unlink(slot);
  } else {
    slot = chooseVictim(line);
    Line &old = slots[slot];
    if (old.number >= 0)
      places[old.number] = -1;
    outcome.evicted = uint32_t(__builtin_popcount(old.dirty));
    old.number = line;
    old.valid = old.dirty = 0;
    places[line] = slot;
  }
  Line &now = slots[slot];
  outcome.missing = sectors & ~now.valid;
  now.valid |= sectors;
  if (isWrite)
    now.dirty |= sectors;
  now.hint = hint;
  now.stamp = ++clock;
  if (!ways)
    append(slot);
  return outcome;
}

void CacheBank::drop(int32_t line) {
  int32_t slot = places[line];
  if (slot >= 0)
    slots[slot].valid = slots[slot].dirty = 0;
}

int64_t CacheBank::countDirtySectors() const {
  int64_t count = 0;
  for (const Line &line : slots)
    count += __builtin_popcount(line.dirty);
  return count;
}
