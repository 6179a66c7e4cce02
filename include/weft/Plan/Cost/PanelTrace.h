// Whole operands of blocks through a cache of bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coarse model of any launch (LaunchModel.h): one block after the other, each using whole panels, what it reads of
// an array over all its steps, or the tile that it writes. Unlike PanelModel.h panels have sizes, results take room,
// and a stage may read what another wrote. This is what the explorer shows tile by tile.
#ifndef WEFT_PLAN_COST_PANELTRACE_H
#define WEFT_PLAN_COST_PANELTRACE_H

#include "weft/Plan/Cost/LaunchModel.h"

namespace weft::plan {

struct PanelUse {
  int32_t panel = 0;
  bool isWrite = false;
};

struct PanelTrace {
  std::vector<std::string> names; ///< "A3", "C0.2": array, and which of its panels by rows and columns.
  std::vector<int64_t> bytes;
  std::vector<int32_t> arrays;             ///< The array of each panel.
  std::vector<std::vector<PanelUse>> uses; ///< By block, in the order of the stage's accesses.
};

/// An array that is written has the written tiles as panels, others what a block reads of them. Fails (false, `error`)
/// if launch and order do not fit or there are more than 2^22 panels or 2^24 uses.
bool listPanels(const LaunchModel &launch, const TileOrder &order, PanelTrace &trace, std::string &error);

enum class Replacement : uint8_t {
  Lru,
  Fifo,
  FarthestUse, ///< Best for panels of one size; a block's own panels stay.
};

/// Bytes, unless named otherwise.
struct PanelTraffic {
  int64_t reads = 0, loads = 0; ///< Loads: how many panels.
  int64_t writes = 0;           ///< Written back when evicted.
  int64_t left = 0;             ///< Written, and still in the cache at the end.
};

/// Runs the blocks through a cache of `capacity` bytes; a panel larger than that stays until the next use.
PanelTraffic runPanels(const PanelTrace &trace, int64_t capacity, Replacement replacement);

/// What one block does: panels found, loaded, written and evicted, what the cache holds after it, the traffic so far.
struct PanelStep {
  std::vector<int32_t> hits, loads, stored, evicted;
  std::vector<int32_t> held; ///< In the order of their last or next use, or of their loads, as the replacement goes.
  PanelTraffic traffic;
};

/// As runPanels, up to a block of the trace. What comes behind it counts for its next uses.
PanelStep watchPanels(const PanelTrace &trace, int64_t capacity, Replacement replacement, size_t block);

/// All uses in order, for computeReuse.
std::vector<int32_t> flattenUses(const PanelTrace &trace);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_PANELTRACE_H
