// A tile's loop of dots divided among the CTAs of a cluster, where there are too few tiles for all SMs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "mlir/IR/Matchers.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// The one loop of the tile that holds dots; null if there are others, or dots outside it.
static scf::ForOp findDotLoop(tk::ForTilesOp tiles) {
  scf::ForOp found;
  bool isOne = true;
  tiles.walk([&](tk::DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    isOne &= loop && loop->getParentOp() == tiles.getOperation() && isWgmma(dot) && (!found || found == loop);
    found = loop;
  });
  return isOne ? found : scf::ForOp();
}

/// The steps of a loop from 0 by 1 whose only result is a sum that starts from zero.
static std::optional<int64_t> countSteps(scf::ForOp loop) {
  std::optional<int64_t> end = getConstantIntValue(loop.getUpperBound());
  if (loop.getNumResults() != 1 || !end || getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1)
    return std::nullopt;
  auto zero = loop.getInitArgs().front().getDefiningOp<tk::ConstantOp>();
  auto number = zero ? dyn_cast<FloatAttr>(zero.getValue()) : FloatAttr();
  return number && number.getValue().isPosZero() ? end : std::nullopt;
}

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
  scf::ForOp loop = findDotLoop(tiles);
  std::optional<int64_t> steps = loop ? countSteps(loop) : std::nullopt;
  if (!steps || *steps % parts || tiles.getPersistent())
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
  Value count = arith::ConstantIndexOp::create(before, loc, *steps / parts);
  Value rank = tk::ClusterRankOp::create(before, loc);
  // Neighbouring steps at the same time, for the sake of DRAM's pages. The channels' iterations, numbered later, count
  // what this CTA does.
  OpBuilder inside(loop.getBody(), loop.getBody()->begin());
  auto round =
      arith::MulIOp::create(inside, loc, loop.getInductionVar(), arith::ConstantIndexOp::create(before, loc, parts));
  auto step = arith::AddIOp::create(inside, loc, round, rank);
  loop.getInductionVar().replaceAllUsesExcept(step, round);
  loop.setUpperBound(count);
  auto sum = tk::ClusterSumOp::create(after, loc, type, loop.getResult(0), buffer);
  loop.getResult(0).replaceAllUsesExcept(sum, sum);
  return true;
}
