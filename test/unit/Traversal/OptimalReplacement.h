// The best replacement of panels of one size, to hold the models against.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_TRAVERSAL_OPTIMALREPLACEMENT_H
#define WEFT_TEST_UNIT_TRAVERSAL_OPTIMALREPLACEMENT_H

#include "weft/Plan/Cost/PanelModel.h"
#include <limits>
#include <set>

namespace weft::plan {

/// Panel loads of an order with the best possible replacement (farthest next use; the tile's own two panels stay).
/// `capacity` is at least 2.
inline int64_t computeOptimalReplacement(const TileOrder &order, int64_t capacity) {
  std::vector<int32_t> uses = listPanelUses(order);
  int64_t panels = order.getGrids()[0].rows + order.getGrids()[0].cols;
  std::vector<int64_t> next(uses.size()), upcoming(panels, std::numeric_limits<int64_t>::max());
  for (size_t time = uses.size(); time-- > 0;) {
    next[time] = upcoming[uses[time]];
    upcoming[uses[time]] = int64_t(time);
  }
  std::set<std::pair<int64_t, int32_t>> cached; // By next use.
  std::vector<int64_t> key(panels, -1);
  int64_t loads = 0;
  for (size_t time = 0; time < uses.size(); time += 2) {
    for (size_t k = time; k < time + 2; ++k) // Both panels of the tile leave the candidates first.
      if (key[uses[k]] >= 0)
        cached.erase({key[uses[k]], uses[k]});
      else
        ++loads;
    while (!cached.empty() && int64_t(cached.size()) > capacity - 2) {
      key[cached.rbegin()->second] = -1;
      cached.erase(std::prev(cached.end()));
    }
    for (size_t k = time; k < time + 2; ++k) {
      key[uses[k]] = next[k];
      cached.insert({next[k], uses[k]});
    }
  }
  return loads;
}

} // namespace weft::plan

#endif // WEFT_TEST_UNIT_TRAVERSAL_OPTIMALREPLACEMENT_H
