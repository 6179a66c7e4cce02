// The fewest panel loads of any order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Breadth-first search, a load a step. A state is (visited tiles, cached panels) with every tile whose two panels are
// cached visited, which costs nothing; a step loads one panel, in place of any other when the cache is full. So order
// and replacement are searched together: 2^(mn) x C(m+n, <=c) states at most instead of (mn)! orders.
#include "weft/Plan/Cost/PanelModel.h"

#include <algorithm>

using namespace weft::plan;

namespace {
class Search {
public:
  Search(TileGrid grid, int64_t capacity) : grid(grid), capacity(capacity), panels(int(grid.rows + grid.cols)) {
    rowTiles.resize(panels);
    for (int64_t i = 0; i < grid.rows; ++i)
      for (int64_t j = 0; j < grid.cols; ++j) {
        rowTiles[i] |= uint32_t(1) << (i * grid.cols + j);
        rowTiles[grid.rows + j] |= uint32_t(1) << (i * grid.cols + j);
      }
  }

  void run(OptimalOrder &result);

private:
  /// Calls function(state) for all states one load away.
  template <typename Function> void expand(uint32_t state, Function function) const;
  uint32_t close(uint32_t visited, uint32_t cached) const;
  void listTiles(const std::vector<uint32_t> &path, OptimalOrder &result) const;

  TileGrid grid;
  int64_t capacity;
  int panels;
  std::vector<uint32_t> rowTiles; ///< The tiles that need a panel, as bits.
};
} // namespace

/// The state in which all tiles of the cached panels are visited.
uint32_t Search::close(uint32_t visited, uint32_t cached) const {
  uint32_t byRow = 0, byCol = 0;
  for (int panel = 0; panel < panels; ++panel)
    if (cached >> panel & 1)
      (panel < grid.rows ? byRow : byCol) |= rowTiles[panel];
  return (visited | (byRow & byCol)) << panels | cached;
}

template <typename Function> void Search::expand(uint32_t state, Function function) const {
  uint32_t cached = state & ((uint32_t(1) << panels) - 1), visited = state >> panels;
  bool isFull = __builtin_popcount(cached) >= capacity;
  for (int load = 0; load < panels; ++load) {
    if (cached >> load & 1 || (rowTiles[load] & ~visited) == 0) // Cached, or no tile needs it any more.
      continue;
    uint32_t with = cached | uint32_t(1) << load;
    if (!isFull) {
      function(close(visited, with));
      continue;
    }
    for (int evict = 0; evict < panels; ++evict)
      if (cached >> evict & 1)
        function(close(visited, with & ~(uint32_t(1) << evict)));
  }
}

void Search::listTiles(const std::vector<uint32_t> &path, OptimalOrder &result) const {
  uint32_t before = 0;
  for (uint32_t state : path) {
    uint32_t visited = state >> panels;
    for (int64_t tile = 0; tile < grid.rows * grid.cols; ++tile)
      if ((visited & ~before) >> tile & 1)
        result.table.push_back(tile);
    before = visited;
  }
}

void Search::run(OptimalOrder &result) {
  uint32_t all = uint32_t((uint64_t(1) << (grid.rows * grid.cols)) - 1);
  std::vector<uint64_t> seen((uint64_t(1) << (grid.rows * grid.cols + panels)) / 64 + 1);
  std::vector<std::vector<uint32_t>> layers = {{0}};
  uint32_t goal = 0;
  while (goal >> panels != all) {
    std::vector<uint32_t> layer;
    for (uint32_t state : layers.back())
      expand(state, [&](uint32_t next) {
        uint64_t &word = seen[next / 64], bit = uint64_t(1) << next % 64;
        if (word & bit)
          return;
        word |= bit;
        layer.push_back(next);
        if (next >> panels == all)
          goal = next;
      });
    layers.push_back(std::move(layer));
  }
  // Back through the layers: any state of the layer before that leads here.
  std::vector<uint32_t> path = {goal};
  for (size_t i = layers.size() - 1; i-- > 0;) {
    bool isFound = false;
    for (size_t k = 0; k < layers[i].size() && !isFound; ++k) {
      expand(layers[i][k], [&](uint32_t next) { isFound |= next == path.back(); });
      if (isFound)
        path.push_back(layers[i][k]);
    }
  }
  std::reverse(path.begin(), path.end());
  result.loads = int64_t(layers.size()) - 1;
  listTiles(path, result);
}

bool weft::plan::findOptimalOrder(TileGrid grid, int64_t capacity, OptimalOrder &result, std::string &error) {
  result = OptimalOrder();
  if (capacity < 2) {
    error = "expected a cache of at least 2 panels, got " + std::to_string(capacity);
    return false;
  }
  bool isSmall = grid.rows >= 1 && grid.cols >= 1 && grid.rows < maxSearchBits && grid.cols < maxSearchBits &&
                 grid.rows * grid.cols + grid.rows + grid.cols <= maxSearchBits;
  if (!isSmall) {
    error = "expected a grid with at most " + std::to_string(maxSearchBits) + " tiles and panels, got " +
            std::to_string(grid.rows) + "x" + std::to_string(grid.cols) + "; the exact search is for small grids";
    return false;
  }
  Search(grid, capacity).run(result);
  return true;
}
