// The traversal of a contraction's tiles: panels that waves of CTAs bring into the L2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CTAs of a wave run together, so each panel that the wave needs is read once; what an earlier wave read is there again
// if fewer bytes than the L2 came between: the LRU model of Cost/L2 on the sequence of the waves' panels, in units of
// the smaller panel.
#include "weft/Plan/Cost/PanelModel.h"
#include "weft/Plan/GemmModel.h"
#include <algorithm>

namespace weft::plan {

/// Each panel once for each wave, repeated by its size in units.
static std::vector<int32_t> listWaveUses(const TileOrder &order, int64_t wave, int64_t rowUnits, int64_t colUnits) {
  int64_t rows = order.getGrids()[0].rows, cols = order.getGrids()[0].cols;
  std::vector<int64_t> lastRow(rows, -1), lastCol(cols, -1);
  std::vector<int32_t> uses;
  auto use = [&](int64_t first, int64_t units) {
    for (int64_t i = 0; i < units; ++i)
      uses.push_back(int32_t(first + i));
  };
  for (int64_t i = 0; i < order.size(); ++i) {
    int64_t number = i / wave;
    const Tile &tile = order[i];
    if (std::exchange(lastRow[tile.row], number) != number)
      use(tile.row * rowUnits, rowUnits);
    if (std::exchange(lastCol[tile.col], number) != number)
      use(rows * rowUnits + tile.col * colUnits, colUnits);
  }
  return uses;
}

std::string chooseTraversal(int64_t rows, int64_t cols, double rowBytes, double colBytes, int64_t wave,
                            double l2Bytes) {
  constexpr int64_t mostTiles = 1 << 16;
  if (rows * cols <= wave || rows == 1 || cols == 1)
    return "row";
  if (rows * cols > mostTiles) // Too many to simulate at compile time; a wave is nearly square in strips of 8.
    return "grouped<8>";
  double unit = std::min(rowBytes, colBytes);
  auto units = [&](double bytes) { return std::clamp<int64_t>(int64_t(bytes / unit + 0.5), 1, 8); };
  int64_t capacity = std::max<int64_t>(int64_t(0.8 * l2Bytes / unit), 2);
  std::string best = "row";
  int64_t bestLoads = -1;
  for (const char *text : {"row", "grouped<2>", "grouped<4>", "grouped<8>", "grouped<16>"}) {
    Traversal traversal;
    TileOrder order;
    std::string error;
    if (!parseTraversal(text, traversal, error) || !TileOrder::create(traversal, {{rows, cols}}, order, error))
      continue;
    int64_t loads = computeReuse(listWaveUses(order, wave, units(rowBytes), units(colBytes))).getLruLoads(capacity);
    if (bestLoads < 0 || loads < bestLoads) {
      bestLoads = loads;
      best = text;
    }
  }
  return best;
}

} // namespace weft::plan
