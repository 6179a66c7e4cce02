// Products whose last tiles several CTAs share (stream-K of the last rounds).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GemmTiles.h"

namespace weft::plan {

std::optional<GemmChoice> shareTail(const GemmProblem &problem, GemmTile tile, const GemmCost &whole,
                                    const Device &device) {
  constexpr int64_t mostParts = 8, leastSteps = 4, mostBytes = 32 << 20, mostTailRounds = 8;
  int64_t slots = device.sms / tile.multicast, clusters = llvm::divideCeil(whole.tiles, tile.multicast);
  int64_t rounds = clusters / slots, steps = llvm::divideCeil(problem.k, tile.k) * problem.taps;
  if (!problem.allowTail || problem.isBeside || tile.engine != tg::Engine::Wgmma || tile.split > 1 ||
      whole.ctasPerSm != 1 || rounds > mostTailRounds || clusters % slots == 0)
    return std::nullopt;
  std::optional<GemmChoice> best;
  for (tile.whole = rounds * slots; tile.whole >= std::max<int64_t>(rounds - 1, 0) * slots; tile.whole -= slots) {
    int64_t bytes = (clusters - tile.whole) * tile.multicast * tile.m * tile.n * 4;
    for (tile.parts = 2; tile.parts <= std::min(mostParts, steps / leastSteps) && tile.parts * bytes <= mostBytes;
         ++tile.parts)
      if (GemmCost cost = estimateGemm(problem, tile, device); !best || cost.seconds < best->cost.seconds)
        best = {tile, cost};
  }
  return best;
}

} // namespace weft::plan
