// Panel loads of an order of output tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack distances by a Fenwick tree over the times of last uses (n log n).
#include "weft/Plan/Cost/PanelModel.h"

#include <algorithm>

using namespace weft::plan;

std::vector<int32_t> weft::plan::listPanelUses(const TileOrder &order) {
  std::vector<int32_t> uses;
  uses.reserve(2 * order.size());
  for (const Tile &tile : order.getTiles()) {
    if (tile.stage != 0)
      continue;
    uses.push_back(int32_t(tile.row));
    uses.push_back(int32_t(order.getGrids()[0].rows + tile.col));
  }
  return uses;
}

ReuseHistogram weft::plan::computeReuse(const std::vector<int32_t> &uses) {
  ReuseHistogram histogram;
  int32_t panels = uses.empty() ? 0 : *std::max_element(uses.begin(), uses.end()) + 1;
  std::vector<int64_t> last(panels, -1), tree(uses.size() + 1);
  auto change = [&](int64_t at, int64_t by) {
    for (++at; at < int64_t(tree.size()); at += at & -at)
      tree[at] += by;
  };
  auto countUpTo = [&](int64_t at) {
    int64_t sum = 0;
    for (++at; at > 0; at -= at & -at)
      sum += tree[at];
    return sum;
  };
  histogram.counts.resize(panels);
  for (int64_t time = 0; time < int64_t(uses.size()); ++time) {
    int64_t &before = last[uses[time]];
    if (before < 0) {
      ++histogram.cold;
    } else { // Every panel used since has its last use in (before, time).
      ++histogram.counts[countUpTo(time - 1) - countUpTo(before)];
      change(before, -1);
    }
    change(time, 1);
    before = time;
  }
  return histogram;
}

int64_t ReuseHistogram::getLruLoads(int64_t capacity) const {
  int64_t loads = cold;
  for (int64_t distance = std::max<int64_t>(capacity, 0); distance < int64_t(counts.size()); ++distance)
    loads += counts[distance];
  return loads;
}
