// The cheapest tile of a GEMM.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GemmTiles.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>

namespace weft::plan {

/// Of a launch whose CTAs are all there at once, steps under way in what shared memory is left: under load DRAM answers
/// later. Of 179 pairs of tiles of 16 to 197 rows on an H100, six stages take 0.96 times as long as
/// three in the median, 0.64 to 1.11; where they keep CTAs waiting, 1.21 times. Seven and eight take 0.98 to 1.12 times
/// six (ten products).
static void addStages(const GemmProblem &problem, const Device &device, GemmChoice &choice) {
  constexpr int64_t most = 6;
  if (choice.tile.engine == tg::Engine::Simt)
    return;
  GemmTile tile = choice.tile;
  int64_t steps = llvm::divideCeil(llvm::divideCeil(problem.k, tile.k) * problem.taps, tile.split);
  for (++tile.stages; tile.stages <= std::min(most, steps); ++tile.stages) {
    GemmCost cost = estimateGemm(problem, tile, device);
    if (cost.fits && cost.seconds <= choice.cost.seconds &&
        cost.tiles * tile.split <= cost.ctasPerSm * countSms(tile, device))
      choice = {tile, cost};
  }
}

GemmChoice chooseGemmTile(const GemmProblem &problem, const Device &device) {
  // What estimates tell apart: for less no CTAs wait for each other, but where they then compute less, and no tile has
  // elements that it does not use.
  double resolved = problem.lhsWork + problem.rhsWork > 0 ? 0.999 : 0.98;
  GemmChoice best, narrow, split, only, tail;
  forEachTile(problem, device, [&](const GemmTile &tile) {
    GemmCost cost = estimateGemm(problem, tile, device);
    GemmChoice &alike = tile.split > 1 ? split : isNarrow(tile) ? narrow : best;
    if (cost.fits && (!alike.cost.fits || cost.seconds < alike.cost.seconds * 0.999))
      alike = {tile, cost};
    if (cost.fits && problem.only == tile)
      only = {tile, cost};
    if (std::optional<GemmChoice> shared = cost.fits ? shareTail(problem, tile, cost, device) : std::nullopt;
        shared && shared->cost.fits && (!tail.cost.fits || shared->cost.seconds < tail.cost.seconds * 0.999))
      tail = *shared;
  });
  if (narrow.cost.fits && (!best.cost.fits || narrow.cost.seconds < best.cost.seconds * resolved))
    best = narrow;
  if (split.cost.fits && (!best.cost.fits || split.cost.seconds < best.cost.seconds * resolved))
    best = split;
  if (only.cost.fits)
    return only;
  if (tail.cost.fits && tail.cost.seconds < best.cost.seconds * gainOfTail)
    return tail;
  addStages(problem, device, best);
  return best;
}

} // namespace weft::plan
