// What is added up behind the dots (the parts of a row's sum that another kernel left) is asked for ahead of their
// loop: its loads come while the dots run, instead of one trip to the L2 with nothing to multiply in each tile. Only
// the loads move: they hold registers meanwhile, so they are few.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"
#include "weft/Schedule/DerivedLayouts.h"

using namespace mlir;
using namespace weft;

static bool hasDots(Operation &op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop && !loop.getBody()->getOps<tk::DotOp>().empty();
}

/// Whether reductions alone read the load, or maps that make it wider.
static bool isAddedUp(tk::LoadOp load) {
  return !load->use_empty() && llvm::all_of(load->getUsers(), [](Operation *user) {
    bool isMap = isa<tk::MapOp>(user) && llvm::all_of(user->getUsers(), llvm::IsaPred<tk::ReduceOp>);
    return isMap || isa<tk::ReduceOp>(user);
  });
}

void schedule::hoistLoads(tk::ForTilesOp tiles, int64_t warps) {
  constexpr int64_t mostRegisters = 16; // Of a thread.
  Block &body = tiles.getBody().front();
  auto loop = llvm::find_if(body, hasDots);
  if (loop == body.end())
    return;
  for (auto load : llvm::make_early_inc_range(body.getOps<tk::LoadOp>())) {
    tk::TileType type = load.getResult().getType();
    int64_t bits = tk::getElementBits(type.getElementType());
    for (int64_t extent : type.getShape())
      bits *= extent;
    bool isKnown = llvm::all_of(load->getOperands(), [&](Value operand) {
      Operation *op = operand.getDefiningOp();
      return !op || op->getBlock() != &body || op->isBeforeInBlock(&*loop);
    });
    if (!isKnown || !loop->isBeforeInBlock(load) || !isAddedUp(load) || bits > mostRegisters * 32 * warps * 32)
      continue;
    load->moveBefore(&*loop);
    load->setAttr(schedule::earlyAttr, UnitAttr::get(load.getContext()));
  }
}
