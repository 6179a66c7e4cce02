// Products whose last tiles several CTAs share (stream-K of the last rounds).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GemmTiles.h"

namespace weft::plan {

std::optional<GemmChoice> shareTail(const GemmProblem &problem, GemmTile tile, const GemmCost &whole,
                                    const Device &device) {
  constexpr int64_t mostParts = 8, leastSteps = 4, mostBytes = 32 << 20, mostTailRounds = 8, lineBytes = 128;
  int64_t slots = device.sms / tile.multicast, clusters = llvm::divideCeil(whole.tiles, tile.multicast);
  int64_t rounds = clusters / slots, steps = llvm::divideCeil(problem.k, tile.k) * problem.taps;
  if (!problem.allowTail || problem.isBeside || tile.engine != tg::Engine::Wgmma || tile.split > 1 ||
      whole.ctasPerSm != 1 || rounds > mostTailRounds || clusters % slots == 0)
    return std::nullopt;
  // Without whole rounds all results leave in pieces: of narrow tiles these are shorter than lines.
  if (rounds == 0 && isNarrow(tile) && tile.n * problem.resultBytes % lineBytes != 0)
    return std::nullopt;
  tile.whole = rounds * slots;
  // One part each: who has two waits for others with the second still to do.
  int64_t tail = clusters - tile.whole, bytes = tail * tile.multicast * tile.m * tile.n * 4;
  int64_t most = std::min({mostParts, steps / leastSteps, slots / tail, mostBytes / bytes});
  std::optional<GemmChoice> best;
  for (tile.parts = 2; tile.parts <= most; ++tile.parts)
    if (GemmCost cost = estimateGemm(problem, tile, device); !best || cost.seconds < best->cost.seconds)
      best = {tile, cost};
  return best;
}

} // namespace weft::plan
