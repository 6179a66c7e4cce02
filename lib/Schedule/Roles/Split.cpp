// A tile's loop of dots divided among the CTAs of a cluster, where there are too few tiles for all SMs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../DotLoop.h"
#include "Roles.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// The largest buffer that the loop's copies fill; null if it has fewer than `bytes`.
static Value findBuffer(ArrayRef<ChannelUse> uses, int64_t bytes) {
  Value best;
  auto sizeOf = [](Value buffer) {
    auto type = cast<tk::SharedType>(buffer.getType());
    return type.getSlots() * type.getSlotBytes();
  };
  for (const ChannelUse &use : uses)
    for (Value buffer : use.buffers)
      if (!best || sizeOf(buffer) > sizeOf(best))
        best = buffer;
  return best && sizeOf(best) >= bytes ? best : Value();
}

/// Whether each of `parts` CTAs can store its share of every thread's registers: whole blocks of 64 rows and a line.
static bool canStoreShare(tk::StoreOp store, int64_t warps, int64_t parts) {
  tk::TileType type = store.getValue().getType();
  int64_t registers = type.getNumElements() / (warps * 32), block = 512 / tk::getElementBits(type.getElementType());
  return canStoreBox(store, warps) && registers % (parts * block) == 0;
}

bool schedule::splitLoop(tk::ForTilesOp tiles, ArrayRef<ChannelUse> uses, int64_t warps, int64_t parts) {
  scf::ForOp loop = findDotLoop(tiles, /*byWarpgroups=*/true);
  std::optional<int64_t> steps = loop ? countSteps(loop) : std::nullopt;
  if (!steps || *steps < parts || loop.getNumResults() != 1 || tiles.getPersistent())
    return false;
  auto stores = tiles.getOps<tk::StoreOp>();
  int64_t all = 0;
  tiles.walk([&](tk::StoreOp) { ++all; });
  if (all != std::distance(stores.begin(), stores.end()) ||
      !llvm::all_of(stores, [&](tk::StoreOp store) { return canStoreShare(store, warps, parts); }))
    return false;
  auto type = cast<tk::TileType>(loop.getResult(0).getType());
  int64_t tileBytes = type.getNumElements() * tk::getElementBits(type.getElementType()) / 8;
  Value buffer = findBuffer(uses, tileBytes / parts * (parts - 1));
  if (!buffer)
    return false;

  Location loc = loop.getLoc();
  OpBuilder before(loop), after(loop->getBlock(), std::next(Block::iterator(loop)));
  // The channels' iterations, numbered later, count what this CTA does.
  takeSteps(loop, tk::ClusterRankOp::create(before, loc), parts, *steps);
  OpBuilder opening(tiles);
  Value channel = openExchange(opening, loc, buffer, /*consumers=*/warps * parts, tileBytes / parts * (parts - 1));
  auto sum = tk::ClusterSumOp::create(after, loc, type, loop.getResult(0), buffer, channel);
  loop.getResult(0).replaceAllUsesExcept(sum, sum);
  return true;
}
