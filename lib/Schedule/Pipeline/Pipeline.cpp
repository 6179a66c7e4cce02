// weft-tk-pipeline: copies by cp.async run ahead of the iteration that needs them. A schedule says for each op of a
// channel its latency, stage and cluster; the expansion moves producers by whole iterations: a prologue before the
// loop, and in the loop, behind the wait whose barrier frees their slot, the copies of a later iteration.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Streams.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Passes.h"

namespace weft::schedule {
#define GEN_PASS_DEF_TKPIPELINE
#include "weft/Schedule/Passes.h.inc"
} // namespace weft::schedule

using namespace mlir;
using namespace weft;

namespace {

/// A channel of cp.async that a loop's body fills and reads once an iteration.
struct LoopChannel {
  mutable tk::MakeChannelOp channel; ///< Accessors of ops are not const.
  tk::AcquireOp acquire;
  SmallVector<tk::CopyOp> copies;
  tk::CommitOp commit;
  tk::WaitOp wait;
  bool isAhead = false; ///< All iterations have slots of their own, which are filled before the loop.
  /// The channel of the wait whose barrier frees a slot, and whether that wait is one of the same iteration.
  unsigned freeing = 0;
  bool isFreedInside = false;
  int64_t getSlots() const { return tk::ChannelType(channel.getResult().getType()).getSlots(); }
  /// From the iteration whose freeing wait is passed to the one that is copied there.
  int64_t distance() const { return getSlots() - (isAhead || isFreedInside ? 0 : 1); }
  SmallVector<Operation *> producers() const {
    SmallVector<Operation *> ops{acquire};
    for (tk::CopyOp copy : copies)
      ops.push_back(copy);
    ops.push_back(commit);
    return ops;
  }
};

class LoopPipeliner {
public:
  explicit LoopPipeliner(scf::ForOp loop) : loop(loop) {}

  /// Whether there is something to move.
  bool analyse();
  /// Latency in iterations, stage and position within the iteration (cluster) of each op.
  void annotate();
  void expand();

private:
  bool canMove(const LoopChannel &channel);
  void findFreeing(unsigned number);
  int64_t getPending(unsigned channel) const;
  void emitProducers(OpBuilder &builder, const LoopChannel &channel, Value counter, bool isAlwaysInside);
  void dropWaitsAhead();
  std::optional<int64_t> getTrips() {
    std::optional<APInt> trips = loop.getStaticTripCount();
    return trips ? std::optional<int64_t>(trips->getZExtValue()) : std::nullopt;
  }

  scf::ForOp loop;
  SmallVector<LoopChannel> channels; ///< In the order of their waits.
};

} // namespace

bool LoopPipeliner::analyse() {
  llvm::MapVector<Value, LoopChannel> found;
  auto at = [&](Value channel) -> LoopChannel * {
    auto made = channel ? channel.getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
    if (!made || made.getEngine() != tk::CopyEngine::CpAsync)
      return nullptr;
    found[channel].channel = made;
    return &found[channel];
  };
  for (Operation &op : *loop.getBody()) {
    if (auto acquire = dyn_cast<tk::AcquireOp>(op))
      if (LoopChannel *channel = at(acquire.getChannel()))
        channel->acquire = acquire;
    if (auto copy = dyn_cast<tk::CopyOp>(op))
      if (LoopChannel *channel = at(copy.getChannel()))
        channel->copies.push_back(copy);
    if (auto commit = dyn_cast<tk::CommitOp>(op))
      if (LoopChannel *channel = at(commit.getChannel()))
        channel->commit = commit;
    if (auto wait = dyn_cast<tk::WaitOp>(op))
      if (LoopChannel *channel = at(wait.getChannel()))
        channel->wait = wait;
  }
  std::optional<int64_t> trips = getTrips();
  for (auto &[value, channel] : found) {
    channel.isAhead = trips && *trips == channel.getSlots();
    if (canMove(channel))
      channels.push_back(channel);
  }
  llvm::sort(channels, [](const LoopChannel &a, const LoopChannel &b) {
    return a.wait->isBeforeInBlock(const_cast<tk::WaitOp &>(b.wait));
  });
  for (unsigned number = 0; number < channels.size(); ++number)
    findFreeing(number);
  // A slot is filled ahead of the wait for it. Groups are counted for all channels of the loop together.
  bool canFill = llvm::all_of(llvm::enumerate(channels), [](const auto &channel) {
    return channel.value().distance() > 0 || channel.value().freeing < channel.index();
  });
  if (!channels.empty() && channels.size() == found.size() && canFill)
    return true;
  for (auto &[value, channel] : found)
    if (channel.acquire && channel.getSlots() == 1 && trips != 1) { // Nobody may read it any more.
      OpBuilder builder(channel.acquire);
      tk::BarrierOp::create(builder, channel.acquire.getLoc());
    }
  return false;
}

/// Calls `visit` with all that use a buffer or its slots.
static void forEachUser(Value buffer, function_ref<void(Operation *)> visit) {
  for (Operation *user : buffer.getUsers())
    if (auto slot = dyn_cast<tk::SlotOp>(user))
      forEachUser(slot.getResult(), visit);
    else
      visit(user);
}

static Value getBuffer(Value shared) {
  while (auto slot = shared.getDefiningOp<tk::SlotOp>())
    shared = slot.getBuffer();
  return shared;
}

/// The channel's own wait in the next iteration; of one slot the first wait behind its last read: a fold's keys have
/// been read when it waits for its values, and these when it waits for the next keys.
void LoopPipeliner::findFreeing(unsigned number) {
  LoopChannel &channel = channels[number];
  Operation *last = channel.wait;
  bool isHere = channel.getSlots() == 1;
  for (tk::CopyOp copy : channel.copies)
    forEachUser(getBuffer(copy.getTarget()), [&](Operation *user) {
      Operation *op = loop.getBody()->findAncestorOpInBlock(*user);
      isHere &= op != nullptr;
      if (op && !isa<tk::CopyOp>(user) && last->isBeforeInBlock(op))
        last = op;
    });
  channel.freeing = isHere ? 0 : number;
  for (unsigned i = channels.size(); isHere && i-- > number + 1;)
    if (last->isBeforeInBlock(channels[i].wait)) {
      channel.freeing = i;
      channel.isFreedInside = true;
    }
}

/// Ops of the body that `op` needs: index arithmetic and slots. False if there are others.
static bool collectSlice(Operation *op, Block *body, llvm::SetVector<Operation *> &slice) {
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!source) {
      if (cast<BlockArgument>(operand).getOwner() == body &&
          operand != cast<scf::ForOp>(body->getParentOp()).getInductionVar())
        return false; // Carried from iteration to iteration.
      continue;
    }
    if (source->getBlock() != body || slice.contains(source))
      continue;
    if (!isPure(source) || source->getNumRegions() || !collectSlice(source, body, slice))
      return false;
  }
  slice.insert(op);
  return true;
}

bool LoopPipeliner::canMove(const LoopChannel &channel) {
  if (!channel.acquire || channel.copies.empty() || !channel.commit || !channel.wait)
    return false;
  llvm::SetVector<Operation *> slice;
  return llvm::all_of(channel.producers(), [&](Operation *op) { return collectSlice(op, loop.getBody(), slice); });
}

/// Groups that may be under way at the wait of a channel: those committed after the one waited for, at least. The order
/// of commits is played through: the prologue iteration by iteration, then each iteration's waits, each followed by the
/// commit of a later iteration.
int64_t LoopPipeliner::getPending(unsigned waiting) const {
  int64_t last = 0, iterations = 0, least = std::numeric_limits<int64_t>::max();
  DenseMap<std::pair<unsigned, int64_t>, int64_t> commits;
  for (const LoopChannel &channel : channels)
    iterations = std::max(iterations, channel.distance());
  for (int64_t i = 0; i < iterations; ++i)
    for (auto [c, channel] : llvm::enumerate(channels))
      if (i < channel.distance())
        commits[{c, i}] = ++last;
  for (int64_t i = 0; i < 2 * iterations + 2; ++i)
    for (unsigned passed = 0; passed < channels.size(); ++passed) {
      if (passed == waiting)
        least = std::min(least, last - commits[{passed, i}]);
      for (auto [c, channel] : llvm::enumerate(channels))
        if (channel.freeing == passed)
          commits[{c, i + channel.distance()}] = ++last;
    }
  return least;
}

void LoopPipeliner::annotate() {
  Builder builder(loop.getContext());
  auto note = [&](Operation *op, int64_t latency, int64_t stage, int64_t cluster) {
    op->setAttr("tk.schedule", builder.getDictionaryAttr({
                                   builder.getNamedAttr("latency", builder.getI64IntegerAttr(latency)),
                                   builder.getNamedAttr("stage", builder.getI64IntegerAttr(stage)),
                                   builder.getNamedAttr("cluster", builder.getI64IntegerAttr(cluster)),
                               }));
  };
  int64_t cluster = 0;
  for (auto [number, channel] : llvm::enumerate(channels)) {
    note(channel.wait, 0, channel.distance(), cluster++);
    for (const LoopChannel &freed : channels)
      for (Operation *op : freed.producers())
        if (freed.freeing == number)
          note(op, freed.distance(), 0, cluster);
    ++cluster;
    for (Operation &op : *loop.getBody())
      if (isa<tk::DotOp>(op) && channel.wait->isBeforeInBlock(&op))
        note(&op, 0, channel.distance(), cluster);
  }
}

/// Copies the producers of a channel for the loop counter's value `counter`. Copies beyond the loop's end fetch
/// nothing.
void LoopPipeliner::emitProducers(OpBuilder &builder, const LoopChannel &channel, Value counter, bool isAlwaysInside) {
  llvm::SetVector<Operation *> slice;
  for (Operation *op : channel.producers())
    collectSlice(op, loop.getBody(), slice);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), counter);
  MLIRContext *context = builder.getContext();
  for (Operation *op : slice) {
    auto copy = dyn_cast<tk::CopyOp>(builder.clone(*op, mapping));
    if (!copy || isAlwaysInside)
      continue;
    unsigned dims = copy.getMap().getNumDims(), symbols = copy.getMap().getNumSymbols();
    AffineMap map = copy.getMap();
    copy.setMap(AffineMap::get(dims, symbols + 2, map.getResults(), context));
    SmallVector<AffineExpr> constraints;
    SmallVector<bool> equalities;
    if (IntegerSetAttr guard = copy.getGuardAttr()) {
      llvm::append_range(constraints, guard.getValue().getConstraints());
      llvm::append_range(equalities, guard.getValue().getEqFlags());
    }
    constraints.push_back(getAffineSymbolExpr(symbols + 1, context) - getAffineSymbolExpr(symbols, context) - 1);
    equalities.push_back(false);
    copy.setGuardAttr(IntegerSetAttr::get(IntegerSet::get(dims, symbols + 2, constraints, equalities)));
    copy.getSymbolsMutable().append({counter, loop.getUpperBound()});
  }
}

/// Whether the loop's body reads no shared memory ahead of its first wait.
static bool waitsFirst(scf::ForOp loop, tk::WaitOp wait) {
  return llvm::all_of(llvm::make_range(loop.getBody()->begin(), wait->getIterator()), [](Operation &op) {
    bool isShared = llvm::any_of(op.getOperandTypes(), llvm::IsaPred<tk::SharedType>);
    return op.getNumRegions() == 0 && (!isShared || isa<tk::SlotOp, tk::CopyOp>(op));
  });
}

/// What came ahead of the loop, for the loop alone (an attention's queries), needs no wait of its own: the first one of
/// the loop waits for copies that were asked for later. So those of the loop are under way beside it.
void LoopPipeliner::dropWaitsAhead() {
  if (!waitsFirst(loop, channels.front().wait))
    return;
  Operation *behind = loop->getPrevNode();
  while (behind && (isPure(behind) || isa<tk::WaitOp>(behind))) {
    auto wait = dyn_cast<tk::WaitOp>(behind);
    behind = behind->getPrevNode();
    auto channel = wait ? wait.getChannel().getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
    if (!wait)
      continue;
    if (!channel || channel.getEngine() != tk::CopyEngine::CpAsync)
      return;
    wait.erase();
  }
}

void LoopPipeliner::expand() {
  Location loc = loop.getLoc();
  std::optional<int64_t> trips = getTrips();
  dropWaitsAhead();
  OpBuilder before(loop);
  auto getCounter = [&](OpBuilder &builder, Value from, int64_t iterations) -> Value {
    Value distance = arith::ConstantIndexOp::create(builder, loc, iterations);
    if (!matchPattern(loop.getStep(), m_One()))
      distance = arith::MulIOp::create(builder, loc, distance, loop.getStep());
    return matchPattern(from, m_Zero()) ? distance : arith::AddIOp::create(builder, loc, from, distance).getResult();
  };
  int64_t iterations = 0;
  for (const LoopChannel &channel : channels)
    iterations = std::max(iterations, channel.distance());
  for (int64_t i = 0; i < iterations; ++i)
    for (const LoopChannel &channel : channels)
      if (i < channel.distance())
        emitProducers(before, channel, getCounter(before, loop.getLowerBound(), i), trips && i < *trips);
  for (auto [number, passed] : llvm::enumerate(channels)) {
    passed.wait.setPending(getPending(number));
    OpBuilder builder(passed.wait->getContext());
    builder.setInsertionPointAfter(passed.wait);
    for (const LoopChannel &channel : channels) {
      if (channel.freeing != number)
        continue;
      Value counter = loop.getInductionVar();
      if (channel.distance())
        counter = getCounter(builder, counter, channel.distance());
      if (channel.isAhead) // An empty group: so many are behind it in every iteration.
        tk::CommitOp::create(builder, loc, channel.channel.getResult(), counter);
      else
        emitProducers(builder, channel, counter, false);
    }
  }
  // What is under way at the end writes zeros: nobody may use the slots before it is over.
  OpBuilder after(loop->getContext());
  after.setInsertionPointAfter(loop);
  LoopChannel &last = channels.back();
  tk::WaitOp::create(after, loc, last.channel.getResult(), arith::ConstantIndexOp::create(after, loc, 0), 0);
  for (const LoopChannel &channel : channels) {
    auto producers = channel.producers();
    for (Operation *op : llvm::reverse(producers))
      op->erase();
  }
}

/// Words of a thread that are under way, of all iterations: of operands that threads store, and of packed ones.
static constexpr int64_t mostCarriedWords = 64, mostPackedWords = 80;

static int64_t getThreads(scf::ForOp loop) {
  auto warps = loop->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(tk::warpsAttr);
  return warps ? warps.getInt() * 32 : 0;
}

/// Has several steps' loads under way in a loop without channels.
static bool deepen(scf::ForOp loop, tg::ScheduleAttr tiling) {
  if (schedule::unpacksBesideCopies(loop))
    return schedule::carryPacked(loop) > 0;
  if (schedule::storesOperands(loop))
    return schedule::carryOperands(loop, getThreads(loop), mostCarriedWords) > 0;
  if (!schedule::multipliesRegisters(loop))
    return tiling.getEngine() == tg::Engine::Simt && schedule::unrollStream(loop, tiling.getStages());
  int64_t threads = getThreads(loop);
  return tiling.getStages() > 1 && threads && schedule::isStream(loop) &&
         schedule::streamUnpacked(loop, threads, mostPackedWords, tiling.getStages()) > 0;
}

namespace {
struct TkPipelinePass : schedule::impl::TkPipelineBase<TkPipelinePass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    auto tiling = getOperation()->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
    for (scf::ForOp loop : loops) {
      LoopPipeliner pipeliner(loop);
      if (!pipeliner.analyse()) {
        if (expand)
          numHoisted += schedule::hoistLoads(loop);
        if (expand && tiling)
          numStreams += deepen(loop, tiling);
        continue;
      }
      pipeliner.annotate();
      if (expand) {
        pipeliner.expand();
        ++numLoops;
      }
    }
  }
};
} // namespace
