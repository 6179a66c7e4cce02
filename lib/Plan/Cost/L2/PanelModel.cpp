// Panel loads of an order of output tiles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stack distances by a Fenwick tree over the times of last uses (n log n), and replacement by farthest next use.
#include "weft/Plan/Cost/PanelModel.h"

#include <algorithm>
#include <limits>
#include <set>

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

int64_t weft::plan::computeOptimalReplacement(const TileOrder &order, int64_t capacity) {
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

int64_t weft::plan::computeResidentLoads(TileGrid grid, int64_t capacity) {
  int64_t strips = (grid.rows + capacity - 2) / (capacity - 1);
  return grid.rows + strips * grid.cols - (strips - 1);
}

double weft::plan::computeWaveHitRate(double tileRows, double tileCols, double m, double n) {
  return 1 - (tileRows * m + tileCols * n) / (tileRows * tileCols * (m + n));
}
