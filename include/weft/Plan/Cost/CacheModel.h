// A sectored cache with eviction priorities.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state machine of one L2 (or one half of it): lines of up to 32 sectors that are filled sector by sector, LRU
// within a set or over the whole cache, PTX's eviction priorities, write-back. Lines are numbered densely by whoever
// uses it. Plain C++17, which the explorer's page runs as WebAssembly.
#ifndef WEFT_PLAN_COST_CACHEMODEL_H
#define WEFT_PLAN_COST_CACHEMODEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace weft::plan {

/// How long a line is to stay: among the lines of a set the first to go is the least recently used of the lowest
/// priority that is there. A line has the priority of its last use.
enum class CacheHint : uint8_t { EvictFirst, Normal, EvictLast };

/// Sizes in bytes. Real caches: 128, 32, 16 ways; A100 and H100 have two partitions.
struct CacheConfig {
  int64_t bytes = int64_t(50) << 20; ///< Of all partitions together.
  int64_t lineBytes = 128;           ///< A power of two.
  int64_t sectorBytes = 32;          ///< A power of two that divides lineBytes, at most 32 to a line.
  int64_t ways = 16;                 ///< Lines of a set; 0: every line may lie everywhere.
  /// 1, or 2: every line has a home half, an SM asks the half on its side, which keeps a copy of what it fetches from
  /// the other.
  int64_t partitions = 1;
};

/// False and a reason in `error` if the fields are not as above says.
bool checkCache(const CacheConfig &config, std::string &error);

/// A fixed mixing of 32 bits (full avalanche): the sets of lines, their halves, the start of blocks.
uint32_t mixBits(uint32_t value);

/// One half, or the whole, of a cache.
class CacheBank {
public:
  /// `lines` of capacity, `universe` different lines. At least one line is kept.
  CacheBank(int64_t lines, int64_t ways, int64_t universe);

  struct Outcome {
    uint32_t missing = 0; ///< Sectors asked for that were not there.
    uint32_t evicted = 0; ///< Sectors with new values that the line's predecessor took to memory.
  };
  /// Asks for the sectors of a mask, which are there afterwards. Written sectors are not fetched.
  Outcome access(int32_t line, uint32_t sectors, CacheHint hint, bool isWrite);

  /// Forgets a line and what was written to it.
  void drop(int32_t line);

  /// Sectors with new values that are still here.
  int64_t countDirtySectors() const;

private:
  struct Line {
    int32_t number = -1;
    uint32_t valid = 0, dirty = 0;
    uint32_t stamp = 0; ///< Of the last use (sets).
    CacheHint hint = CacheHint::Normal;
    int32_t before = -1, after = -1; ///< Neighbours in the order of use (whole cache).
  };

  int32_t chooseVictim(int32_t line);
  void unlink(int32_t slot);
  void append(int32_t slot);

  int64_t ways;
  uint32_t sets, clock = 0;
  std::vector<Line> slots;
  std::vector<int32_t> places; ///< The slot of every line, or -1.
  // Whole cache: the order of use of each priority, and slots never used.
  int32_t first[3] = {-1, -1, -1}, last[3] = {-1, -1, -1};
  int32_t unused = 0;
};

} // namespace weft::plan

#endif // WEFT_PLAN_COST_CACHEMODEL_H
