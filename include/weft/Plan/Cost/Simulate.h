// A launch through the L2, step by step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fine model: SMs hold a number of blocks each, blocks walk their steps side by side, every box is cut into lines
// and sectors and goes through a sectored cache. One step of a block takes one tick. One of `sampling` rows of every
// array is simulated in a cache of 1/sampling the size, which leaves rates as they are.
#ifndef WEFT_PLAN_COST_SIMULATE_H
#define WEFT_PLAN_COST_SIMULATE_H

#include "weft/Plan/Cost/LaunchModel.h"

namespace weft::plan {

struct MachineModel {
  int64_t sms = 132, blocksPerSm = 1;
  CacheConfig cache;
  /// Blocks start up to that many ticks late, by a fixed hash of their position: real blocks drift apart.
  int64_t skew = 0;
  /// Blocks behind the first wave start up to that many ticks late, those of one port together: tiles end at different
  /// times.
  int64_t drift = 0;
  /// Neighbouring SMs with one way to the L2: a line that several of them read in one tick is asked for once. They are
  /// on the same side of an L2 of two halves.
  int64_t smsPerPort = 1;
  int64_t sampling = 0; ///< A power of two; 0: the largest that every box has rows for, at most 64.
};

/// Sectors unless named otherwise; samples are scaled up.
struct SimulationResult {
  int64_t readSectors = 0, writtenSectors = 0; ///< Asked for by SMs.
  int64_t merged = 0;                          ///< Of readSectors, those that a neighbour had asked for.
  /// As a GPU counts: with two halves, what goes to the other half is looked up in both. Writes hit.
  int64_t lookups = 0, hits = 0;
  int64_t writeLookups = 0; ///< Of lookups.
  int64_t dramReads = 0, dramWrites = 0;
  int64_t dirty = 0;  ///< With new values, in the cache at the end.
  int64_t fabric = 0; ///< From half to half.
  int64_t ticks = 0, blocks = 0, resident = 0;
  std::vector<int64_t> dramReadsByArray;
  int64_t sampling = 1;

  double getHitRate() const { return lookups ? double(hits) / double(lookups) : 0; }
  /// Blocks over resident blocks, the last wave as part of one.
  double getWaves() const { return double(blocks) / double(resident); }
};

/// Simulates; the cache is empty before. Fails (false, `error`) for a machine or launch out of range, more than 2^26
/// lines or 2^32 accesses, and an order in which blocks that wait fill every position.
bool simulate(const LaunchModel &launch, const TileOrder &order, const MachineModel &machine, SimulationResult &result,
              std::string &error);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_SIMULATE_H
