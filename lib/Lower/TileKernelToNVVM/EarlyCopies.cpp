// Copies ahead of the wait.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TMA: all slots of a channel are free when a CTA begins. So the first iterations' slots are acquired and filled with
// the steady operands ahead of the wait,
//
//   if (cursor == 0) for (i = 0; i < min(slots, iterations of the loop); ++i) { acquire(i); copy steady(i) }
//   wait
//   for (...) { if (cursor != 0 || iteration >= slots) { acquire; copy steady }; copy transient }
//
// where `cursor` counts the iterations of the tiles before: a persistent CTA does it in the first tile that has any. An
// acquired slot announces the bytes of all its copies, so its barrier completes when the transient ones have come, too.
//
// cp.async: copies of the loop's prologue move up. They become part of the first group that is committed behind them,
// which only makes a wait for that group longer.
#include "EarlyCopies.h"
#include "Tma.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

namespace {

/// Pure ops that an op needs and that do not stand ahead of a position, in order.
class Slice {
public:
  /// `known`: values that the copies get in another way.
  Slice(Operation *place, ArrayRef<Value> known) : place(place), known(known.begin(), known.end()) {}

  bool add(Operation *op) {
    for (Value operand : op->getOperands())
      if (!add(operand))
        return false;
    ops.insert(op);
    return true;
  }
  bool add(Value value) {
    if (known.contains(value) || isAhead(value))
      return true;
    Operation *source = value.getDefiningOp();
    return source && (ops.contains(source) || (isPure(source) && !source->getNumRegions() && add(source)));
  }
  SmallVector<Operation *> clone(OpBuilder &builder, IRMapping &mapping) const {
    return llvm::map_to_vector(ops, [&](Operation *op) { return builder.clone(*op, mapping); });
  }

private:
  bool isAhead(Value value) const {
    Block *block = value.getParentBlock();
    Operation *here = block->findAncestorOpInBlock(*place), *source = value.getDefiningOp();
    return here && (!source || source->isBeforeInBlock(here));
  }

  Operation *place;
  llvm::SmallPtrSet<Value, 2> known;
  llvm::SetVector<Operation *> ops;
};

/// A channel of TMA with steady operands: its ops lie in the body of the tiles' loop, or of a loop there.
struct EarlyChannel {
  tk::AcquireOp acquire;
  SmallVector<tk::CopyOp> copies;
  scf::ForOp loop; ///< Null: one iteration a tile.
};

class EarlyCopier {
public:
  EarlyCopier(tk::ForTilesOp tiles, Operation *wait, const DenseSet<Value> &steady)
      : tiles(tiles), wait(wait), steady(steady) {}

  DenseSet<Value> run() {
    movePrologue();
    for (EarlyChannel &channel : findChannels())
      fillAhead(channel);
    return copied;
  }

private:
  bool isSteady(tk::CopyOp copy) const { return steady.contains(copy.getSource()); }
  void movePrologue();
  void moveAhead(tk::CopyOp copy);
  SmallVector<EarlyChannel> findChannels();
  void fillAhead(EarlyChannel &channel);
  void skipFilled(EarlyChannel &channel, Value isFirst);
  void copyLater(EarlyChannel &channel, Value isFirst, int64_t slots);

  tk::ForTilesOp tiles;
  Operation *wait;
  const DenseSet<Value> &steady;
  DenseSet<Value> copied;
};

} // namespace

void EarlyCopier::moveAhead(tk::CopyOp copy) {
  Slice slice(wait, {});
  if (!slice.add(copy))
    return;
  OpBuilder builder(wait);
  IRMapping mapping;
  slice.clone(builder, mapping);
  copied.insert(copy.getSource());
  copy.erase();
}

/// Over what uses no shared memory but by other copies: nobody may read a slot yet that is filled.
void EarlyCopier::movePrologue() {
  SmallVector<tk::CopyOp> copies;
  for (Operation *op = wait; op; op = op->getNextNode()) {
    auto copy = dyn_cast<tk::CopyOp>(op);
    if (copy && copy.getEngine() == tk::CopyEngine::CpAsync) {
      if (isSteady(copy))
        copies.push_back(copy);
    } else if (!isa<tk::AcquireOp, tk::CommitOp, tk::LoadOp, tk::LoadIndexOp>(op) && !isPure(op)) {
      break;
    }
  }
  for (tk::CopyOp copy : copies)
    if (copy != wait)
      moveAhead(copy);
}

SmallVector<EarlyChannel> EarlyCopier::findChannels() {
  llvm::MapVector<Value, EarlyChannel> found;
  llvm::SmallPtrSet<void *, 4> others; // Channels with several positions.
  Block *body = &tiles.getBody().front();
  tiles.walk([&](tk::AcquireOp acquire) {
    auto loop = dyn_cast<scf::ForOp>(acquire->getParentOp());
    bool isHere = acquire->getBlock() == body || (loop && loop->getBlock() == body);
    bool isBehind = isHere && !(loop ? loop.getOperation() : acquire.getOperation())->isBeforeInBlock(wait);
    if (!isTma(acquire.getChannel()) || !isBehind || found.contains(acquire.getChannel()))
      others.insert(acquire.getChannel().getAsOpaquePointer());
    else
      found[acquire.getChannel()] = {acquire, {}, acquire->getBlock() == body ? scf::ForOp() : loop};
  });
  tiles.walk([&](tk::CopyOp copy) {
    auto channel = found.find(copy.getChannel());
    if (channel == found.end() || !isSteady(copy))
      return;
    if (copy->getBlock() == channel->second.acquire->getBlock())
      channel->second.copies.push_back(copy);
    else
      others.insert(copy.getChannel().getAsOpaquePointer());
  });
  SmallVector<EarlyChannel> channels;
  for (auto &[value, channel] : found)
    if (!channel.copies.empty() && !others.contains(value.getAsOpaquePointer()))
      channels.push_back(channel);
  return channels;
}

/// The smaller one of `slots` and the iterations of `loop`, whose bounds `mapping` has.
static Value countFilled(OpBuilder &builder, scf::ForOp loop, const IRMapping &mapping, int64_t slots) {
  Location loc = loop.getLoc();
  Value lower = mapping.lookupOrDefault(loop.getLowerBound()), step = mapping.lookupOrDefault(loop.getStep()),
        count = mapping.lookupOrDefault(loop.getUpperBound());
  if (getConstantIntValue(lower) != 0)
    count = arith::SubIOp::create(builder, loc, count, lower);
  if (getConstantIntValue(step) != 1)
    count = arith::CeilDivSIOp::create(builder, loc, count, step);
  return arith::MinSIOp::create(builder, loc, count, arith::ConstantIndexOp::create(builder, loc, slots));
}

void EarlyCopier::fillAhead(EarlyChannel &channel) {
  Location loc = channel.acquire.getLoc();
  Value iteration = channel.acquire.getIteration();
  scf::ForOp loop = channel.loop;
  SmallVector<Value> known{iteration};
  if (loop)
    known.push_back(loop.getInductionVar());
  Slice bounds(wait, {}), body(wait, known);
  bool isKnown = body.add(channel.acquire);
  for (tk::CopyOp copy : channel.copies)
    isKnown &= body.add(copy);
  if (!isKnown ||
      (loop && !(bounds.add(loop.getLowerBound()) && bounds.add(loop.getUpperBound()) && bounds.add(loop.getStep()))))
    return;
  OpBuilder builder(wait);
  Value isFirst;
  if (tiles.getPersistent()) {
    Value cursor = tk::CursorOp::create(builder, loc, channel.acquire.getChannel());
    isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, cursor,
                                    arith::ConstantIndexOp::create(builder, loc, 0));
    builder = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false).getThenBodyBuilder();
  }
  IRMapping mapping;
  bounds.clone(builder, mapping);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  if (loop) {
    int64_t slots = channel.acquire.getChannel().getType().getSlots();
    auto filling = scf::ForOp::create(builder, loc, zero, countFilled(builder, loop, mapping, slots),
                                      arith::ConstantIndexOp::create(builder, loc, 1));
    Value number = filling.getInductionVar(), counter = number;
    builder.setInsertionPointToStart(filling.getBody());
    if (getConstantIntValue(loop.getStep()) != 1)
      counter = arith::MulIOp::create(builder, loc, counter, mapping.lookupOrDefault(loop.getStep()));
    if (getConstantIntValue(loop.getLowerBound()) != 0)
      counter = arith::AddIOp::create(builder, loc, mapping.lookupOrDefault(loop.getLowerBound()), counter);
    mapping.map(loop.getInductionVar(), counter);
    mapping.map(iteration, number);
  } else {
    mapping.map(iteration, zero);
  }
  for (Operation *op : body.clone(builder, mapping))
    if (isa<tk::CopyOp>(op))
      op->setAttr(aheadAttr, builder.getUnitAttr());
  skipFilled(channel, isFirst);
}

/// In its own position an iteration whose slot is filled has only the transient operands left.
void EarlyCopier::skipFilled(EarlyChannel &channel, Value isFirst) {
  tk::AcquireOp acquire = channel.acquire;
  int64_t slots = channel.loop ? acquire.getChannel().getType().getSlots() : 1;
  std::optional<APInt> trips = channel.loop ? channel.loop.getStaticTripCount() : APInt(64, 1);
  if (isFirst || !trips || trips->ugt(slots))
    copyLater(channel, isFirst, slots);
  for (tk::CopyOp copy : channel.copies) {
    copied.insert(copy.getSource());
    copy.erase();
  }
  acquire.erase();
}

/// What is left for the iterations that found no slot, or have `isFirst` and belong to a later tile.
void EarlyCopier::copyLater(EarlyChannel &channel, Value isFirst, int64_t slots) {
  tk::AcquireOp acquire = channel.acquire;
  Location loc = acquire.getLoc();
  OpBuilder builder(acquire);
  Value isLeft = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, acquire.getIteration(),
                                       arith::ConstantIndexOp::create(builder, loc, slots));
  if (isFirst) {
    Value isLater = arith::XOrIOp::create(builder, loc, isFirst, arith::ConstantIntOp::create(builder, loc, 1, 1));
    isLeft = arith::OrIOp::create(builder, loc, isLater, isLeft);
  }
  Slice slice(acquire, {});
  for (tk::CopyOp copy : channel.copies)
    slice.add(copy); // Pure all of it, as ahead of the wait.
  OpBuilder then = scf::IfOp::create(builder, loc, isLeft, /*withElseRegion=*/false).getThenBodyBuilder();
  then.clone(*acquire);
  IRMapping mapping;
  slice.clone(then, mapping);
}

DenseSet<Value> weft::gpu::copySteadyAhead(tk::ForTilesOp tiles, Operation *wait, const DenseSet<Value> &steady) {
  return EarlyCopier(tiles, wait, steady).run();
}
