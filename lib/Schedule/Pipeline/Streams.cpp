// Loops that stream global memory through registers. A thread has as many loads under way as its assembler finds ahead
// of what waits for them, so the bodies of several steps stand one behind the other. That costs fewer registers than
// one step as long: an accumulator has the elements of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Streams.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"

using namespace mlir;
using namespace weft;

bool schedule::isStream(scf::ForOp loop) {
  bool loads = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    loads |= isa<tk::LoadOp>(op);
    if (isa<scf::ForOp, scf::IfOp, tk::DotOp>(op) || !(isa<tk::LoadOp>(op) || isMemoryEffectFree(&op)))
      return false;
  }
  return loads;
}

bool schedule::unrollStream(scf::ForOp loop, int64_t steps) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || !isStream(loop))
    return false;
  int64_t factor = int64_t(trips->getLimitedValue(uint64_t(std::max<int64_t>(steps, 1))));
  return factor > 1 && succeeded(loopUnrollByFactor(loop, uint64_t(factor)));
}
