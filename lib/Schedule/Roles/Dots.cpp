// Waiting for wgmma: once for each loop that only accumulates, else after every dot.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

static bool isZero(Value tile) {
  auto constant = tile.getDefiningOp<tk::ConstantOp>();
  if (!constant)
    return false;
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(constant.getValue());
  return number && number.getValue().isZero();
}

/// A tile that nobody reads.
static Value makeUndefined(OpBuilder &builder, Location loc, tk::TileType type) {
  Value scalar = LLVM::PoisonOp::create(builder, loc, type.getElementType());
  return tk::SplatOp::create(builder, loc, type, scalar);
}

namespace {
/// The dots of a loop that accumulate into one of its arguments, first to last.
struct Chain {
  unsigned argument;
  SmallVector<tk::DotOp> dots;
};
} // namespace

/// Whether the operand lies in a slot that comes back through a channel. Registers, and buffers that the loop itself
/// fills, would be overwritten under the dot by the next iteration.
static bool isFromChannel(Value operand, ArrayRef<ChannelUse> uses) {
  auto slot = operand.getDefiningOp<tk::SlotOp>();
  Value buffer = slot ? slot.getBuffer() : operand;
  return llvm::any_of(uses, [&](const ChannelUse &use) { return use.buffers.contains(buffer); });
}

/// The chains of all dots of the loop's body; nothing if an accumulator is used otherwise, or an operand comes from
/// elsewhere than a channel.
static std::optional<SmallVector<Chain>> findChains(scf::ForOp loop, ArrayRef<ChannelUse> uses) {
  SmallVector<Chain> chains;
  llvm::SmallPtrSet<Operation *, 8> seen;
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    Chain chain{unsigned(i), {}};
    Value value = argument;
    while (value.hasOneUse()) {
      auto dot = dyn_cast<tk::DotOp>(*value.user_begin());
      if (!dot || dot.getAcc() != value || dot->getBlock() != loop.getBody() || !isWgmma(dot) ||
          !isFromChannel(dot.getLhs(), uses) || !isFromChannel(dot.getRhs(), uses))
        break;
      chain.dots.push_back(dot);
      seen.insert(dot);
      value = dot.getResult();
    }
    if (chain.dots.empty())
      continue;
    if (!value.hasOneUse() || *value.user_begin() != yield || yield->getOperand(i) != value)
      return std::nullopt;
    chains.push_back(chain);
  }
  bool isAll = !chains.empty();
  loop.getBody()->walk([&](tk::DotOp dot) { isAll &= !isWgmma(dot) || seen.contains(dot); });
  return isAll ? std::optional(chains) : std::nullopt;
}

/// `accumulate` is false in the first iteration, so that the accumulator's registers are written by dots alone.
static void startFromZero(scf::ForOp loop, const Chain &chain) {
  OpOperand &init = loop.getInitArgsMutable()[chain.argument];
  if (!isZero(init.get()) || !runsAtLeastOnce(loop))
    return;
  OpBuilder before(loop);
  init.set(makeUndefined(before, loop.getLoc(), cast<tk::TileType>(init.get().getType())));
  tk::DotOp dot = chain.dots.front();
  OpBuilder inside(dot);
  Value isLater = arith::CmpIOp::create(inside, loop.getLoc(), arith::CmpIPredicate::ne, loop.getInductionVar(),
                                        loop.getLowerBound());
  dot.getAccumulateMutable().assign(isLater);
}

/// Releases the iteration before the one that `iteration` is.
static void releasePrevious(OpBuilder &builder, tk::ReleaseOp release) {
  Location loc = release.getLoc();
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value previous = arith::SubIOp::create(builder, loc, release.getIteration(), one);
  tk::ReleaseOp::create(builder, loc, release.getChannel(), previous);
}

/// Where the cursor moves behind the loop.
static Operation *findAdvance(scf::ForOp loop, Value channel) {
  Operation *advance = nullptr;
  for (Operation *user : channel.getUsers())
    if (isa<tk::AdvanceOp>(user) && user->getBlock() == loop->getBlock() && loop->isBeforeInBlock(user) &&
        (!advance || user->isBeforeInBlock(advance)))
      advance = user;
  return advance;
}

/// In the loop at most one iteration's dots are under way at its end, and its slots come back then; the last after the
/// loop.
static void overlapIterations(scf::ForOp loop, ArrayRef<Chain> chains) {
  Location loc = loop.getLoc();
  Operation *yield = loop.getBody()->getTerminator();
  SmallVector<tk::ReleaseOp> releases(loop.getBody()->getOps<tk::ReleaseOp>());
  int64_t groups = 0;
  for (const Chain &chain : chains) {
    startFromZero(loop, chain);
    groups += chain.dots.size();
  }
  OpBuilder end(yield);
  SmallVector<Value> sums =
      llvm::map_to_vector(chains, [&](const Chain &chain) { return yield->getOperand(chain.argument); });
  auto wait = tk::DotWaitOp::create(end, loc, sums, groups);
  for (auto [chain, sum] : llvm::zip(chains, wait.getResults()))
    yield->setOperand(chain.argument, sum);
  if (!releases.empty()) {
    Value isLater =
        arith::CmpIOp::create(end, loc, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
    auto branch = scf::IfOp::create(end, loc, isLater, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    for (tk::ReleaseOp release : releases)
      releasePrevious(then, release);
  }

  OpBuilder after(loop->getBlock(), std::next(Block::iterator(loop)));
  SmallVector<Value> results =
      llvm::map_to_vector(chains, [&](const Chain &chain) -> Value { return loop.getResult(chain.argument); });
  auto last = tk::DotWaitOp::create(after, loc, results, 0);
  for (auto [from, to] : llvm::zip(results, last.getResults()))
    from.replaceAllUsesExcept(to, last);
  for (tk::ReleaseOp release : releases) { // The cursor stands behind the loop's last iteration once it is advanced.
    Operation *advance = findAdvance(loop, release.getChannel());
    OpBuilder place(advance->getBlock(), std::next(Block::iterator(advance)));
    Value one = arith::ConstantIndexOp::create(place, loc, 1);
    auto emit = [&](OpBuilder &builder) {
      Value cursor = tk::CursorOp::create(builder, loc, release.getChannel());
      tk::ReleaseOp::create(builder, loc, release.getChannel(), arith::SubIOp::create(builder, loc, cursor, one));
    };
    if (runsAtLeastOnce(loop)) {
      emit(place);
    } else {
      Value isRun =
          arith::CmpIOp::create(place, loc, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
      auto branch = scf::IfOp::create(place, loc, isRun, /*withElseRegion=*/false);
      OpBuilder then = branch.getThenBodyBuilder();
      emit(then);
    }
    release.erase();
  }
}

/// Waits right after a dot that nothing waits for; a zero accumulator is not even made.
static void waitAtOnce(tk::DotOp dot) {
  if (llvm::none_of(dot->getUsers(), llvm::IsaPred<tk::DotWaitOp>)) {
    OpBuilder after(dot->getBlock(), std::next(Block::iterator(dot)));
    auto wait = tk::DotWaitOp::create(after, dot.getLoc(), ValueRange(dot.getResult()), 0);
    dot.getResult().replaceAllUsesExcept(wait.getResult(0), wait);
  }
  if (!isZero(dot.getAcc()) || dot.getAccumulate())
    return;
  OpBuilder before(dot);
  dot.getAccumulateMutable().assign(arith::ConstantIntOp::create(before, dot.getLoc(), 0, 1));
  dot.getAccMutable().assign(makeUndefined(before, dot.getLoc(), dot.getAcc().getType()));
}

bool schedule::isOfDots(Value sums) {
  Operation *op = sums.getDefiningOp();
  if (auto splat = dyn_cast_or_null<tk::SplatOp>(op))
    return bool(splat.getScalar().getDefiningOp<LLVM::PoisonOp>());
  return isa_and_nonnull<tk::DotOp, tk::DotWaitOp>(op);
}

/// A loop in which dots alone write an accumulator has no fence for other writes to its registers; but what it starts
/// from, a constant above all, may be moved there when the loop has few iterations, behind the fence. It is tied
/// before.
static void tieStart(tk::DotOp dot) {
  auto argument = dyn_cast<BlockArgument>(dot.getAcc());
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
  if (!init || isOfDots(init->get()) || !isOfDots(loop.getTiedLoopYieldedValue(argument)->get()))
    return;
  OpBuilder before(loop);
  init->set(tk::DotWaitOp::create(before, loop.getLoc(), ValueRange(init->get()), 0).getResult(0));
}

void schedule::waitForDots(tk::ForTilesOp tiles, ArrayRef<ChannelUse> uses) {
  SmallVector<scf::ForOp> loops;
  tiles->walk([&](scf::ForOp loop) { loops.push_back(loop); });
  llvm::SmallPtrSet<Operation *, 8> done;
  for (scf::ForOp loop : loops) {
    bool isFed = llvm::any_of(uses, [&](const ChannelUse &use) { return findBlock(tiles, use) == loop.getBody(); });
    std::optional<SmallVector<Chain>> chains = isFed ? findChains(loop, uses) : std::nullopt;
    if (!chains)
      continue;
    overlapIterations(loop, *chains);
    for (const Chain &chain : *chains)
      done.insert(chain.dots.begin(), chain.dots.end());
  }
  SmallVector<tk::DotOp> dots;
  tiles->walk([&](tk::DotOp dot) {
    if (isWgmma(dot))
      dots.push_back(dot);
  });
  for (tk::DotOp dot : dots)
    if (!done.contains(dot))
      waitAtOnce(dot);
  for (tk::DotOp dot : dots)
    tieStart(dot);
}
