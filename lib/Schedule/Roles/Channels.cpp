// Channels of TMA copies: which there are, how their iterations are numbered, and the loop that feeds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// The channel of an op on one, null for others.
static Value getChannel(Operation *op) {
  if (isa<tk::AcquireOp, tk::CommitOp, tk::WaitOp, tk::ReleaseOp>(op))
    return op->getOperand(0);
  auto copy = dyn_cast<tk::CopyOp>(op);
  return copy ? copy.getChannel() : Value();
}

static void setIteration(Operation *op, Value iteration) {
  if (auto copy = dyn_cast<tk::CopyOp>(op))
    copy.getIterationMutable().assign(iteration);
  else
    op->setOperand(1, iteration);
}

Block *schedule::findBlock(tk::ForTilesOp tiles, const ChannelUse &use) {
  Block *block = nullptr;
  bool isOne = true;
  tk::MakeChannelOp channel = use.channel; // Accessors of ops are not const.
  tiles->walk([&](Operation *op) {
    if (getChannel(op) != channel.getResult())
      return;
    isOne &= !block || block == op->getBlock();
    block = op->getBlock();
  });
  return isOne ? block : nullptr;
}

std::optional<SmallVector<ChannelUse>> schedule::findTmaChannels(tk::ForTilesOp tiles) {
  llvm::MapVector<Value, ChannelUse> uses;
  llvm::DenseMap<Value, Value> owners; // Buffer -> channel.
  WalkResult result = tiles->walk([&](tk::CopyOp copy) {
    auto channel = copy.getChannel() ? copy.getChannel().getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
    if (copy.getEngine() != tk::CopyEngine::Tma || !channel || channel.getEngine() != tk::CopyEngine::Tma)
      return WalkResult::interrupt();
    auto slot = copy.getTarget().getDefiningOp<tk::SlotOp>();
    Value buffer = slot ? slot.getBuffer() : copy.getTarget();
    Value &owner = owners.try_emplace(buffer, channel.getResult()).first->second;
    if (owner != channel.getResult() || (!slot && channel.getResult().getType().getSlots() != 1))
      return WalkResult::interrupt();
    ChannelUse &use = uses[channel.getResult()];
    use.channel = channel;
    use.buffers.insert(buffer);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return std::nullopt;
  SmallVector<ChannelUse> list;
  for (auto &[channel, use] : uses) {
    Block *block = findBlock(tiles, use);
    if (!block || !isa<scf::ForOp, tk::ForTilesOp>(block->getParentOp()))
      return std::nullopt;
    list.push_back(use);
  }
  return list;
}

//===-- Iterations ------------------------------------------------------------------------------------------------===//

/// What an index is at least; the least number if nothing is known. Index arithmetic does not overflow.
static int64_t findLeast(Value value, unsigned depth = 0) {
  constexpr int64_t unknown = std::numeric_limits<int64_t>::min();
  constexpr unsigned deepest = 16;
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return *number;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<tk::ForTilesOp>(argument.getOwner()->getParentOp()) ? 0 : unknown;
  Operation *op = value.getDefiningOp();
  if (depth == deepest || op->getNumOperands() != 2)
    return unknown;
  int64_t a = findLeast(op->getOperand(0), depth + 1);
  if (isa<arith::SubIOp>(op)) { // From a number that no tile's exceeds.
    auto argument = dyn_cast<BlockArgument>(op->getOperand(1));
    auto tiles = argument ? dyn_cast<tk::ForTilesOp>(argument.getOwner()->getParentOp()) : tk::ForTilesOp();
    auto extent = tiles ? dyn_cast<AffineConstantExpr>(tiles.getExtents().getResult(argument.getArgNumber()))
                        : AffineConstantExpr();
    return extent && a != unknown ? a - (extent.getValue() - 1) : unknown;
  }
  int64_t b = findLeast(op->getOperand(1), depth + 1);
  if (isa<arith::MaxSIOp>(op))
    return std::max(a, b);
  if (a == unknown || b == unknown)
    return unknown;
  if (isa<arith::MinSIOp>(op))
    return std::min(a, b);
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::MulIOp>(op) && a >= 0 && b >= 0)
    return a * b;
  std::optional<int64_t> divisor = getConstantIntValue(op->getOperand(1));
  return isa<arith::DivUIOp, arith::DivSIOp>(op) && a >= 0 && divisor && b > 0 ? a / b : unknown;
}

bool schedule::runsAtLeastOnce(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return isa<tk::ForTilesOp>(op); // Once a tile.
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  return lower && *lower < findLeast(loop.getUpperBound());
}

/// Iterations of `loop` before the current one, and in all.
static std::pair<Value, Value> countIterations(OpBuilder &inside, OpBuilder &after, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), step = loop.getStep(), ordinal = loop.getInductionVar(),
        count = loop.getUpperBound();
  bool fromZero = getConstantIntValue(lower) == 0, byOne = getConstantIntValue(step) == 1;
  if (!fromZero) {
    ordinal = arith::SubIOp::create(inside, loc, ordinal, lower);
    count = arith::SubIOp::create(after, loc, count, lower);
  }
  if (!byOne) {
    ordinal = arith::DivUIOp::create(inside, loc, ordinal, step);
    count = arith::CeilDivSIOp::create(after, loc, count, step);
  }
  if (!runsAtLeastOnce(loop))
    count = arith::MaxSIOp::create(after, loc, count, arith::ConstantIndexOp::create(after, loc, 0));
  return {ordinal, count};
}

/// iteration mod slots, in 32 bits.
static Value makeSlot(OpBuilder &builder, Location loc, Value iteration, int64_t slots) {
  Value narrow = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), iteration);
  Value count = arith::ConstantIntOp::create(builder, loc, slots, 32);
  Value slot = arith::RemUIOp::create(builder, loc, narrow, count);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), slot);
}

void schedule::numberIterations(tk::ForTilesOp tiles, ArrayRef<ChannelUse> uses) {
  for (const ChannelUse &use : uses) {
    Block *block = findBlock(tiles, use);
    if (!block)
      continue;
    tk::MakeChannelOp maker = use.channel;
    Location loc = maker.getLoc();
    Value channel = maker.getResult(), iteration;
    OpBuilder inside(block, block->begin());
    if (auto loop = dyn_cast<scf::ForOp>(block->getParentOp())) {
      OpBuilder before(loop), after(loop->getBlock(), std::next(Block::iterator(loop)));
      Value cursor = tk::CursorOp::create(before, loc, channel);
      auto [ordinal, count] = countIterations(inside, after, loop);
      iteration = arith::AddIOp::create(inside, loc, cursor, ordinal);
      tk::AdvanceOp::create(after, loc, channel, count);
    } else {
      iteration = tk::CursorOp::create(inside, loc, channel);
      OpBuilder after(block->getTerminator());
      tk::AdvanceOp::create(after, loc, channel, arith::ConstantIndexOp::create(after, loc, 1));
    }
    Value slot = makeSlot(inside, loc, iteration, maker.getResult().getType().getSlots());
    block->walk([&](Operation *op) {
      if (getChannel(op) == channel)
        setIteration(op, iteration);
      if (auto part = dyn_cast<tk::SlotOp>(op); part && use.buffers.contains(part.getBuffer()))
        part.getSlotMutable().assign(slot);
    });
  }
}

//===-- Producer --------------------------------------------------------------------------------------------------===//

namespace {
/// Clones what the copies need. Tiles are left out, and with them everything that hangs on one.
class ProducerBuilder {
public:
  /// False if control flow around a copy, or its position, hangs on a tile.
  bool clone(OpBuilder &builder, Block &from) {
    for (Operation &op : from.without_terminator())
      if (!clone(builder, op))
        return false;
    return true;
  }

  IRMapping mapping;

private:
  static bool isProducing(Operation &op) { return isa<tk::AcquireOp, tk::CommitOp, tk::CopyOp>(op); }

  static bool holdsCopies(Operation &op) {
    return op
        .walk([](Operation *inner) { return isProducing(*inner) ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  }

  /// A value from outside counts as mapped.
  bool isKnown(Value value) const { return mapping.contains(value) || !isa<tk::ForTilesOp>(findScope(value)); }
  bool areKnown(ValueRange values) const {
    return llvm::all_of(values, [&](Value value) { return isKnown(value); });
  }
  /// The enclosing tk.for_tiles or, for a value from outside, another op.
  static Operation *findScope(Value value) {
    Operation *parent = value.getParentBlock()->getParentOp();
    while (!isa<tk::ForTilesOp>(parent) && parent->getParentOp())
      parent = parent->getParentOp();
    return parent;
  }

  bool clone(OpBuilder &builder, Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && holdsCopies(op))
      return cloneLoop(builder, loop);
    if (auto branch = dyn_cast<scf::IfOp>(op); branch && holdsCopies(op))
      return cloneBranch(builder, branch);
    bool isNeeded = isProducing(op);
    bool isScalar = (isMemoryEffectFree(&op) || isa<tk::LoadIndexOp>(op)) && op.getNumRegions() == 0 &&
                    llvm::none_of(op.getResultTypes(), llvm::IsaPred<tk::TileType>);
    if (!isNeeded && (!isScalar || !areKnown(op.getOperands())))
      return true;
    if (isNeeded && !areKnown(op.getOperands()))
      return false;
    builder.clone(op, mapping);
    return true;
  }

  bool cloneLoop(OpBuilder &builder, scf::ForOp loop) {
    SmallVector<Value> inits, yields;
    SmallVector<unsigned> kept;
    for (auto [i, init] : llvm::enumerate(loop.getInitArgs()))
      if (!isa<tk::TileType>(init.getType()) && isKnown(init)) {
        kept.push_back(i);
        inits.push_back(mapping.lookupOrDefault(init));
      }
    if (!areKnown({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}))
      return false;
    auto copy = scf::ForOp::create(builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                                   mapping.lookupOrDefault(loop.getUpperBound()),
                                   mapping.lookupOrDefault(loop.getStep()), inits);
    mapping.map(loop.getInductionVar(), copy.getInductionVar());
    for (auto [to, from] : llvm::enumerate(kept)) {
      mapping.map(loop.getRegionIterArg(from), copy.getRegionIterArg(to));
      mapping.map(loop.getResult(from), copy.getResult(to));
    }
    OpBuilder inside(copy.getBody(), copy.getBody()->end());
    if (!kept.empty() || copy.getBody()->empty()) {
      if (!clone(inside, *loop.getBody()))
        return false;
      for (unsigned from : kept) {
        Value yielded = loop.getBody()->getTerminator()->getOperand(from);
        if (!isKnown(yielded))
          return false;
        yields.push_back(mapping.lookupOrDefault(yielded));
      }
      scf::YieldOp::create(inside, loop.getLoc(), yields);
      return true;
    }
    inside.setInsertionPoint(copy.getBody()->getTerminator());
    return clone(inside, *loop.getBody());
  }

  bool cloneBranch(OpBuilder &builder, scf::IfOp branch) {
    if (!isKnown(branch.getCondition()))
      return false;
    auto copy = scf::IfOp::create(builder, branch.getLoc(), mapping.lookupOrDefault(branch.getCondition()),
                                  /*withElseRegion=*/!branch.getElseRegion().empty());
    OpBuilder then = copy.getThenBodyBuilder();
    if (!clone(then, *branch.thenBlock()))
      return false;
    if (branch.getElseRegion().empty())
      return true;
    OpBuilder otherwise = copy.getElseBodyBuilder();
    return clone(otherwise, *branch.elseBlock());
  }
};
} // namespace

tk::ForTilesOp schedule::buildProducer(OpBuilder &builder, tk::ForTilesOp tiles) {
  auto producer = tk::ForTilesOp::create(builder, tiles.getLoc(), tiles.getExtents());
  producer->setAttrs(tiles->getAttrs());
  ProducerBuilder cloner;
  cloner.mapping.map(tiles.getBody().getArguments(), producer.getBody().getArguments());
  OpBuilder inside(&producer.getBody().front(), producer.getBody().front().end());
  bool isDone = cloner.clone(inside, tiles.getBody().front());
  tk::YieldOp::create(inside, tiles.getLoc());
  if (isDone)
    return producer;
  producer->erase();
  return {};
}
