// Loops that stream global memory through registers. A thread has as many loads under way as its assembler finds ahead
// of what waits for them, so the bodies of several steps stand one behind the other. That costs fewer registers than
// one step as long: an accumulator has the elements of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Streams.h"
#include "../Stage/Unpacked.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;

bool schedule::isStream(scf::ForOp loop) {
  bool loads = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    loads |= isa<tk::LoadOp>(op);
    if (auto dot = dyn_cast<tk::DotOp>(op); dot && dot.getDepthOrder()) // Of registers.
      continue;
    if (isa<scf::ForOp, scf::IfOp, tk::DotOp>(op) || !(isa<tk::LoadOp>(op) || isMemoryEffectFree(&op)))
      return false;
  }
  return loads;
}

bool schedule::multipliesRegisters(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tk::DotOp>(),
                      [](tk::DotOp dot) { return dot.getDepthOrder().has_value(); });
}

bool schedule::unpacksBesideCopies(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tk::DotOp>(),
                      [](tk::DotOp dot) { return isWgmma(dot) && isUnpacked(dot.getLhs(), /*dim=*/1); });
}

bool schedule::unrollStream(scf::ForOp loop, int64_t steps) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || !isStream(loop))
    return false;
  int64_t factor = int64_t(trips->getLimitedValue(uint64_t(std::max<int64_t>(steps, 1))));
  return factor > 1 && succeeded(loopUnrollByFactor(loop, uint64_t(factor)));
}

/// The last of the ops in `block` that make what `op` uses; null if none does.
static Operation *findLastMaker(Operation *op, Block *block) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == block)
      if (!last || last->isBeforeInBlock(maker))
        last = maker;
  return last;
}

int64_t schedule::hoistLoads(scf::ForOp loop) {
  bool isStill = true; // Nothing writes.
  loop.getBody()->walk([&](Operation *op) {
    isStill &= !isa<scf::ForOp, tk::DotOp>(op) && (isa<tk::LoadOp, scf::IfOp>(op) || isMemoryEffectFree(op));
  });
  Operation *reduction = nullptr;
  int64_t count = 0;
  if (!isStill)
    return 0;
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
    reduction = !reduction && isa<tk::ReduceOp>(op) ? &op : reduction;
    Operation *maker = isa<tk::LoadOp>(op) ? findLastMaker(&op, loop.getBody()) : nullptr;
    if (!reduction || !isa<tk::LoadOp>(op) || (maker && !maker->isBeforeInBlock(reduction)))
      continue;
    op.moveBefore(reduction);
    ++count;
  }
  return count;
}
