// Two dots of one iteration side by side: in a loop whose last dot multiplies what was computed from the first one's
// result, the last dot moves to the next iteration, behind the first dot. There nothing hangs between the two, so the
// matrix unit works on both while the maps between them wait for the first only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for i: s = dot(a, b[i]); p, scale = maps(s); o = dot(p, c[i], o * scale)
// becomes
//   s = dot(a, b[0]); p, scale = maps(s); o = o * scale
//   for i from 1: s = dot(a, b[i]); o = dot(p, c[i - 1], o); wait for s; p, scale = maps(s); wait for o; o = o * scale
//   o = dot(p, c[last], o)
#include "Roles.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

static Value getBuffer(Value operand) {
  auto slot = operand.getDefiningOp<tk::SlotOp>();
  return slot ? slot.getBuffer() : operand;
}

static const ChannelUse *findChannel(Value buffer, ArrayRef<ChannelUse> uses) {
  const auto *found = llvm::find_if(uses, [&](const ChannelUse &use) { return use.buffers.contains(buffer); });
  return found == uses.end() ? nullptr : found;
}

/// Whether the op's one use of `tile` as a value is a narrowing of each element: its result takes no more registers.
static bool isNarrowing(Operation *op) {
  auto map = dyn_cast<tk::MapOp>(op);
  return map && map->getNumOperands() == 1 && llvm::hasSingleElement(map.getBody().front().without_terminator()) &&
         isa<arith::TruncFOp>(map.getBody().front().front());
}

namespace {
class Overlap {
public:
  Overlap(scf::ForOp loop, ArrayRef<ChannelUse> uses) : loop(loop), uses(uses) {}

  /// Whether the loop has such dots.
  bool analyse();
  /// One slot more for the channel of the last dot, which gives slots back an iteration later than others; `bytes` is
  /// what is left of shared memory.
  void addSlot(int64_t &bytes);
  void apply(bool inTurns);

private:
  bool findDots();
  bool collectLate();
  bool isLate(Operation *op) const { return late.contains(op); }
  void cloneSlice(OpBuilder &builder, Operation *op, IRMapping &mapping);
  /// The late dot of iteration `number`; wait and slot before it. Ops that give slots back are left to `release`.
  Value emitLate(OpBuilder &builder, Value number, Value lhs, Value acc, IRMapping &scalars);
  void emitWaits(OpBuilder &builder, Value number, IRMapping &scalars);
  void release(OpBuilder &builder, IRMapping &scalars);
  SmallVector<Value> emitRest(OpBuilder &builder, ArrayRef<Value> inits);
  SmallVector<Value> emitFirst(OpBuilder &builder, ArrayRef<Value> inits);
  void emitBody(scf::ForOp next);
  SmallVector<Value> getYields(const IRMapping &mapping);

  scf::ForOp loop;
  ArrayRef<ChannelUse> uses;
  tk::DotOp first, last;
  const ChannelUse *lateUse = nullptr; ///< The channel of `last`.
  bool takesTurns = false;
  unsigned argument = 0;                     ///< The loop's state that `last` accumulates.
  llvm::SetVector<Operation *> late;         ///< Of the body: `last`, and waits, slots and releases for it alone.
  llvm::SmallPtrSet<Operation *, 16> onLast; ///< Ops of the body that need the sum, or that may replace its operand.
};
} // namespace

/// The first dot of the body, and one whose sum goes to the next iteration only.
bool Overlap::findDots() {
  for (auto dot : loop.getBody()->getOps<tk::DotOp>()) {
    if (!isWgmma(dot))
      return false;
    if (!first)
      first = dot;
    last = dot;
  }
  if (!first || first == last || !isa<tk::TileType>(last.getLhs().getType()) ||
      !isa<tk::SharedType>(last.getRhs().getType()) || !isa<tk::SharedType>(first.getLhs().getType()) ||
      last.getAccumulate() || !last.getResult().hasOneUse())
    return false;
  OpOperand &use = *last.getResult().use_begin();
  argument = use.getOperandNumber();
  return use.getOwner() == loop.getBody()->getTerminator() && last.getLhs().getParentBlock() == loop.getBody() &&
         last.getAcc().getParentBlock() == loop.getBody();
}

/// The right operand comes through a channel of its own, or from outside the loop.
bool Overlap::collectLate() {
  late.insert(last);
  Value buffer = getBuffer(last.getRhs());
  lateUse = findChannel(buffer, uses);
  if (!lateUse)
    return false;
  for (Value filled : lateUse->buffers)
    for (Operation *user : filled.getUsers()) {
      auto slot = dyn_cast<tk::SlotOp>(user);
      if (!slot || slot->getBlock() != loop.getBody())
        continue;
      if (!llvm::all_of(slot->getUsers(), [&](Operation *reader) { return reader == last; }))
        return false;
      late.insert(slot);
    }
  tk::MakeChannelOp channel = lateUse->channel;
  for (Operation *user : channel.getResult().getUsers())
    if (isa<tk::WaitOp, tk::ReleaseOp>(user) && user->getBlock() == loop.getBody())
      late.insert(user);
  return true;
}

bool Overlap::analyse() {
  bool isInnermost = loop.getBody()->getOps<scf::ForOp>().empty();
  if (getConstantIntValue(loop.getStep()) != 1 || !isInnermost || !findDots() || !collectLate())
    return false;
  Value sum = loop.getRegionIterArg(argument);
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isLate(&op))
      continue;
    bool needsSum = op.walk([&](Operation *part) {
                        bool reads = llvm::any_of(part->getOperands(), [&](Value operand) {
                          return operand == sum || onLast.contains(operand.getDefiningOp());
                        });
                        return reads ? WalkResult::interrupt() : WalkResult::advance();
                      }).wasInterrupted();
    if (needsSum && (op.isBeforeInBlock(first) || &op == first || !isMemoryEffectFree(&op)))
      return false;
    if (needsSum)
      onLast.insert(&op);
  }
  // Registers of a pending dot's operand are taken: what makes the next one waits, if that is cheap.
  Operation *source = last.getLhs().getDefiningOp();
  if (source && isNarrowing(source) && source->hasOneUse())
    onLast.insert(source);
  return true;
}

void Overlap::addSlot(int64_t &bytes) {
  tk::MakeChannelOp channel = lateUse->channel;
  int64_t slots = channel.getResult().getType().getSlots();
  int64_t more = 0;
  for (Value buffer : lateUse->buffers)
    more += llvm::alignTo(cast<tk::SharedType>(buffer.getType()).getSlotBytes(), 1024);
  if (slots == 1 || more > bytes)
    return;
  bytes -= more;
  channel.getResult().setType(tk::ChannelType::get(channel.getContext(), slots + 1));
  for (Value buffer : lateUse->buffers)
    buffer.setType(cast<tk::SharedType>(buffer.getType()).withSlots(slots + 1));
}

/// `op` of the body with what it is computed from there.
void Overlap::cloneSlice(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (source && source->getBlock() == loop.getBody() && !mapping.contains(operand))
      cloneSlice(builder, source, mapping);
  }
  builder.clone(*op, mapping);
}

/// The waits for the late dot of iteration `number`, which emitLate then leaves out.
void Overlap::emitWaits(OpBuilder &builder, Value number, IRMapping &scalars) {
  scalars.map(loop.getInductionVar(), number);
  for (Operation *op : late)
    if (isa<tk::WaitOp>(op))
      cloneSlice(builder, op, scalars);
}

Value Overlap::emitLate(OpBuilder &builder, Value number, Value lhs, Value acc, IRMapping &scalars) {
  scalars.map(loop.getInductionVar(), number);
  scalars.map(last.getLhs(), lhs);
  scalars.map(last.getAcc(), acc);
  for (Operation &op : loop.getBody()->without_terminator())
    if (isLate(&op) && !isa<tk::ReleaseOp>(op) && !scalars.contains(&op))
      cloneSlice(builder, &op, scalars);
  return scalars.lookup(last.getResult());
}

void Overlap::release(OpBuilder &builder, IRMapping &scalars) {
  for (Operation *op : late)
    if (isa<tk::ReleaseOp>(op))
      cloneSlice(builder, op, scalars);
}

/// What the next iteration takes over: the states, the sum before the last dot in place of the one behind it, and the
/// dot's left operand.
SmallVector<Value> Overlap::getYields(const IRMapping &mapping) {
  SmallVector<Value> values = llvm::map_to_vector(loop.getYieldedValues(),
                                                  [&](Value value) -> Value { return mapping.lookupOrDefault(value); });
  values[argument] = mapping.lookupOrDefault(last.getAcc());
  values.push_back(mapping.lookupOrDefault(last.getLhs()));
  return values;
}

/// The first iteration, up to the last dot.
SmallVector<Value> Overlap::emitFirst(OpBuilder &builder, ArrayRef<Value> inits) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), loop.getLowerBound());
  mapping.map(ValueRange(loop.getRegionIterArgs()), ValueRange(inits));
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isLate(&op))
      builder.clone(op, mapping);
  return getYields(mapping);
}

void Overlap::emitBody(scf::ForOp next) {
  OpBuilder builder = OpBuilder::atBlockEnd(next.getBody());
  Location loc = loop.getLoc();
  IRMapping mapping, scalars;
  mapping.map(loop.getInductionVar(), next.getInductionVar());
  mapping.map(ValueRange(loop.getRegionIterArgs()), ValueRange(next.getRegionIterArgs().drop_back()));
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value before = arith::SubIOp::create(builder, loc, next.getInductionVar(), one);
  auto op = loop.getBody()->begin();
  for (; &*op != first; ++op)
    if (!isLate(&*op))
      builder.clone(*op, mapping);
  // A loop between the two dots makes ptxas run them one after the other (C7514). The late dot's tile was copied before
  // the first dot's, so that this wait is over when the one before it is.
  emitWaits(builder, before, scalars);
  if (takesTurns) // Behind the waits: who has the turn issues at once.
    tk::TakeTurnOp::create(builder, loc);
  builder.clone(*op++, mapping);
  Value sum = emitLate(builder, before, next.getRegionIterArgs().back(), next.getRegionIterArg(argument), scalars);
  if (takesTurns)
    tk::PassTurnOp::create(builder, loc);
  auto ready = tk::DotWaitOp::create(builder, loc, mapping.lookup(first.getResult()), /*pending=*/1);
  mapping.map(first.getResult(), ready.getResult(0));
  for (auto rest = op, end = loop.getBody()->getTerminator()->getIterator(); rest != end; ++rest)
    if (!isLate(&*rest) && !onLast.contains(&*rest))
      builder.clone(*rest, mapping);
  // The channel is there already, but waiting for it is control flow, across which ptxas moves nothing: without it the
  // wait for the dot would come before the maps that it runs beside.
  for (Operation *op : late)
    if (isa<tk::WaitOp>(op))
      builder.clone(*op, scalars);
  auto over = tk::DotWaitOp::create(builder, loc, sum, /*pending=*/0);
  mapping.map(loop.getRegionIterArg(argument), over.getResult(0));
  release(builder, scalars);
  for (auto rest = op, end = loop.getBody()->getTerminator()->getIterator(); rest != end; ++rest)
    if (onLast.contains(&*rest))
      builder.clone(*rest, mapping);
  scf::YieldOp::create(builder, loc, getYields(mapping));
}

/// All iterations, of which there is one at least; the results of the loop.
SmallVector<Value> Overlap::emitRest(OpBuilder &builder, ArrayRef<Value> inits) {
  Location loc = loop.getLoc();
  SmallVector<Value> states = emitFirst(builder, inits);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value second = arith::AddIOp::create(builder, loc, loop.getLowerBound(), one);
  auto next = scf::ForOp::create(builder, loc, second, loop.getUpperBound(), loop.getStep(), states);
  if (!next.getBody()->empty()) // A terminator that the builder made.
    next.getBody()->getTerminator()->erase();
  emitBody(next);
  IRMapping scalars;
  Value end = arith::SubIOp::create(builder, loc, loop.getUpperBound(), one);
  Value sum = emitLate(builder, end, next.getResults().back(), next.getResult(argument), scalars);
  auto over = tk::DotWaitOp::create(builder, loc, sum, /*pending=*/0);
  release(builder, scalars);
  SmallVector<Value> results(next.getResults().drop_back());
  results[argument] = over.getResult(0);
  return results;
}

void Overlap::apply(bool inTurns) {
  takesTurns = inTurns;
  OpBuilder builder(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  SmallVector<Value> results;
  if (runsAtLeastOnce(loop)) {
    results = emitRest(builder, inits);
  } else {
    Value isRun = arith::CmpIOp::create(builder, loop.getLoc(), arith::CmpIPredicate::slt, loop.getLowerBound(),
                                        loop.getUpperBound());
    auto branch = scf::IfOp::create(builder, loop.getLoc(), loop.getResultTypes(), isRun, /*withElseRegion=*/true);
    OpBuilder then = OpBuilder::atBlockEnd(branch.thenBlock()), otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
    scf::YieldOp::create(then, loop.getLoc(), emitRest(then, inits));
    scf::YieldOp::create(otherwise, loop.getLoc(), inits);
    llvm::append_range(results, branch.getResults());
  }
  loop.replaceAllUsesWith(results);
  loop.erase();
}

static SmallVector<Overlap> findOverlaps(tk::ForTilesOp tiles, ArrayRef<ChannelUse> uses) {
  SmallVector<Overlap> overlaps;
  tiles->walk([&](scf::ForOp loop) {
    if (Overlap overlap(loop, uses); overlap.analyse())
      overlaps.push_back(overlap);
  });
  return overlaps;
}

void schedule::addLateSlots(tk::ForTilesOp tiles, ArrayRef<ChannelUse> uses, int64_t bytes) {
  for (Overlap &overlap : findOverlaps(tiles, uses))
    overlap.addSlot(bytes);
}

bool schedule::overlapDots(tk::ForTilesOp tiles, ArrayRef<ChannelUse> uses, bool inTurns) {
  SmallVector<Overlap> overlaps = findOverlaps(tiles, uses);
  for (Overlap &overlap : overlaps)
    overlap.apply(inTurns);
  return !overlaps.empty();
}
