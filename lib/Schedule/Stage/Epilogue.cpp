// Tensors that an epilogue reads at the positions of an accumulator (a residual, a gate): boxes that the producer
// fetches while the dots run, read by each thread in its accumulator's layout. Direct loads would be 4 bytes a thread,
// begun when the dots are over.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"
#include "weft/Schedule/Access.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// Whether every copy of the kernel is TMA's, and there is one: else no role of its own would issue these.
static bool copiesByTma(tk::ForTilesOp tiles) {
  bool any = false, all = true;
  tiles.walk([&](tk::CopyOp copy) {
    any = true;
    all &= copy.getEngine() == tk::CopyEngine::Tma;
  });
  return any && all;
}

/// Whether the value is the result of a dot or of a loop with dots, or computed from one element by element.
static bool isAccumulated(Value value) {
  if (value.getDefiningOp<tk::DotOp>())
    return true;
  auto loop = value.getDefiningOp<scf::ForOp>();
  if (loop)
    return loop.getBody()
        ->getTerminator()
        ->getOperand(cast<OpResult>(value).getResultNumber())
        .getDefiningOp<tk::DotOp>();
  auto map = value.getDefiningOp<tk::MapOp>();
  return map && llvm::any_of(map->getOperands(), isAccumulated);
}

/// The first op that reads the load, if all that do are maps together with an accumulator; else null.
static Operation *findFirstUser(tk::LoadOp load) {
  Operation *first = nullptr;
  for (Operation *user : load->getUsers()) {
    if (!isa<tk::MapOp>(user) || user->getBlock() != load->getBlock() ||
        !llvm::any_of(user->getOperands(), isAccumulated))
      return nullptr;
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  return first;
}

/// Whether the load is a box with lines along the tile's second dimension, of elements that an accumulator's layout
/// reads in words.
static bool canStage(tk::LoadOp load) {
  tk::TileType type = load.getResult().getType();
  unsigned bits = tk::getElementBits(type.getElementType());
  if (load.getMask() || !load.getIndices().empty() || load.getFillAttr() || type.getRank() != 2 || bits != 16 ||
      type.getShape()[0] < 64 || type.getShape()[1] * bits < 1024)
    return false;
  Access access = getAccess(load);
  return isBox(access) && access.map.getResults().back().isFunctionOfDim(1);
}

static void stage(tk::ForTilesOp tiles, tk::LoadOp load, Operation *user) {
  OpBuilder allocs(tiles), builder(user);
  Location loc = load.getLoc();
  tk::TileType type = load.getResult().getType();
  auto shared = tk::SharedType::get(1, type.getShape(), type.getElementType());
  Value buffer = tk::AllocOp::create(allocs, loc, shared, IntegerAttr());
  Value channel = tk::MakeChannelOp::create(allocs, loc, tk::ChannelType::get(load.getContext(), 1),
                                            tk::CopyEngine::Tma, 1, shared.getSlotBytes(), IntegerAttr());
  Access access = getAccess(load);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  tk::AcquireOp::create(builder, loc, channel, zero);
  // All of the tile: its threads read it all, and of a box the guard says no more than where the tensor ends.
  tk::CopyOp::create(builder, loc, load.getSource(), load.getSymbols(), buffer, channel, zero, access.map,
                     IntegerSetAttr(), tk::CopyEngine::Tma, DenseI64ArrayAttr());
  tk::CommitOp::create(builder, loc, channel, zero);
  tk::WaitOp::create(builder, loc, channel, zero);
  Value tile = tk::LocalLoadOp::create(builder, loc, type, buffer, DenseI64ArrayAttr());
  tk::ReleaseOp::create(builder, loc, channel, zero);
  load.getResult().replaceAllUsesWith(tile);
  load.erase();
}

void schedule::stageEpilogue(tk::ForTilesOp tiles) {
  if (!copiesByTma(tiles))
    return;
  for (auto load : llvm::make_early_inc_range(tiles.getBody().front().getOps<tk::LoadOp>()))
    if (Operation *user = canStage(load) ? findFirstUser(load) : nullptr)
      stage(tiles, load, user);
}
