// Loads that begin iterations before the one that needs them: their tiles are carried in registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../Stage/Unpacked.h"
#include "Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "weft/Target/PackedSteps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

/// How many neighbouring elements along a dimension share a value of `expr`; 0: all.
static int64_t countSharing(AffineExpr expr, unsigned dim) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  int64_t lhs = countSharing(binary.getLHS(), dim), rhs = countSharing(binary.getRHS(), dim);
  int64_t least = lhs && rhs ? std::min(lhs, rhs) : std::max(lhs, rhs);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool divides = expr.getKind() == AffineExprKind::FloorDiv && by && by.getValue() > 0;
  return divides ? least * by.getValue() : least;
}

/// Words of a thread's registers that a load takes, where threads share no elements.
static int64_t countWords(tk::LoadOp load, int64_t threads) {
  tk::TileType type = load.getResult().getType();
  int64_t bits = tk::getElementBits(type.getElementType());
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    int64_t sharing = 0;
    for (AffineExpr index : load.getMap().getResults())
      if (int64_t own = countSharing(index, unsigned(dim)))
        sharing = sharing ? std::min(sharing, own) : own;
    bits *= sharing ? int64_t(llvm::divideCeil(extent, sharing)) : 1;
  }
  return llvm::divideCeil(bits, 32 * threads);
}

/// Adds what the load needs of the body, if its position is known when an iteration begins: index arithmetic only.
static bool collectPlace(tk::LoadOp load, scf::ForOp loop, llvm::SetVector<Operation *> &place) {
  SmallVector<Value> values(load->getOperands());
  SmallVector<Operation *> found;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op && cast<BlockArgument>(value).getOwner() == loop.getBody() && value != loop.getInductionVar())
      return false;
    if (!op || op->getBlock() != loop.getBody())
      continue;
    if (!isa<arith::ArithDialect>(op->getDialect()) || !isMemoryEffectFree(op))
      return false;
    found.push_back(op);
    llvm::append_range(values, op->getOperands());
  }
  place.insert(found.begin(), found.end());
  return true;
}

/// Tells the maps that read a tile of words which of its indices share one: registers that are carried do not show it.
static void noteFields(tk::LoadOp load) {
  for (unsigned dim = 0; dim < load.getResult().getType().getShape().size(); ++dim) {
    int64_t fields = schedule::countFields(load, dim);
    for (OpOperand &use : load.getResult().getUses())
      if (auto map = dyn_cast<tk::MapOp>(use.getOwner()); map && fields > 1) {
        auto known = map->getAttrOfType<DenseI64ArrayAttr>(schedule::fieldsAttr);
        SmallVector<int64_t> notes(known ? known.asArrayRef() : ArrayRef<int64_t>());
        notes.append({int64_t(use.getOperandNumber()), int64_t(dim), fields});
        map->setAttr(schedule::fieldsAttr, DenseI64ArrayAttr::get(map.getContext(), notes));
      }
  }
}

namespace {
/// Loads of a loop's body that are to begin iterations before.
class Carrier {
public:
  Carrier(scf::ForOp &loop, int64_t threads, int64_t mostWords)
      : loop(loop), outside(loop->getParentOp()), threads(threads), mostWords(mostWords) {}

  /// Takes the load, if its position is known then and a thread has the registers for it.
  void add(tk::LoadOp load);
  size_t size() const { return loads.size(); }
  int64_t getWords() const { return words; }
  /// Where the iteration is that comes `steps` behind the one at `from`. Numbers that are known stand outside of the
  /// tiles' loop, so that loads can move far ahead.
  Value getCounter(OpBuilder &builder, Value from, int64_t steps);
  /// The loads of the iteration at `counter`, at `builder`'s position.
  SmallVector<tk::LoadOp> cloneAt(OpBuilder &builder, Value counter);
  /// Carries the tiles of several iterations, `first` those of the first ones, the nearest first of all. An iteration
  /// begins with `makeNext`, which has the tiles of the last one of them to go by.
  bool carry(ArrayRef<Value> first, llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> makeNext);

private:
  scf::ForOp &loop;
  OpBuilder outside;
  int64_t threads, mostWords, words = 0;
  SmallVector<tk::LoadOp> loads;
  llvm::SetVector<Operation *> moved;
};
} // namespace

void Carrier::add(tk::LoadOp load) {
  int64_t own = countWords(load, threads);
  if (words + own > mostWords || !collectPlace(load, loop, moved))
    return;
  words += own;
  loads.push_back(load);
  moved.insert(load);
}

Value Carrier::getCounter(OpBuilder &builder, Value from, int64_t steps) {
  Location loc = loop.getLoc();
  std::optional<int64_t> first = getConstantIntValue(from), step = getConstantIntValue(loop.getStep());
  if (first && step)
    return arith::ConstantIndexOp::create(outside, loc, *first + steps * *step);
  Value by = arith::ConstantIndexOp::create(outside, loc, steps);
  return arith::AddIOp::create(builder, loc, from, arith::MulIOp::create(builder, loc, loop.getStep(), by));
}

SmallVector<tk::LoadOp> Carrier::cloneAt(OpBuilder &builder, Value counter) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), counter);
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody()))
    if (moved.contains(&op))
      builder.clone(op, mapping);
  return llvm::map_to_vector(
      loads, [&](tk::LoadOp load) { return mapping.lookup(load.getResult()).getDefiningOp<tk::LoadOp>(); });
}

bool Carrier::carry(ArrayRef<Value> first, llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> makeNext) {
  IRRewriter rewriter(loop);
  auto yieldNext = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> tiles(carried), yields(llvm::drop_begin(tiles, loads.size()));
    yields.append(makeNext(builder, ArrayRef(tiles).take_back(loads.size())));
    return yields;
  };
  FailureOr<LoopLikeOpInterface> carried =
      loop.replaceWithAdditionalYields(rewriter, first, /*replaceInitOperandUsesInLoop=*/false, yieldNext);
  if (failed(carried))
    return false;
  loop = cast<scf::ForOp>(carried->getOperation());
  for (auto [load, tile] : llvm::zip_first(loads, loop.getRegionIterArgs().take_back(first.size()))) {
    noteFields(load);
    load.getResult().replaceAllUsesWith(tile);
    load.erase();
  }
  return true;
}

static SmallVector<Value> getTiles(ArrayRef<tk::LoadOp> loads) {
  return llvm::map_to_vector(loads, [](tk::LoadOp load) -> Value { return load.getResult(); });
}

/// The loads of the loop's body that make operands of dots which are unpacked where they are multiplied.
static llvm::SetVector<Operation *> collectPacked(scf::ForOp loop) {
  llvm::SetVector<Operation *> makers;
  for (auto dot : loop.getBody()->getOps<tk::DotOp>())
    for (auto [operand, depth] : {std::pair(dot.getLhs(), 1u), std::pair(dot.getRhs(), 0u)})
      if (Operation *maker = operand.getDefiningOp(); maker && schedule::isUnpacked(operand, depth))
        makers.insert(maker);
  llvm::SetVector<Operation *> loads;
  for (size_t i = 0; i < makers.size(); ++i) {
    if (isa<tk::LoadOp>(makers[i]))
      loads.insert(makers[i]);
    for (Value operand : makers[i]->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == loop.getBody())
        makers.insert(maker);
  }
  return loads;
}

int64_t schedule::streamUnpacked(scf::ForOp loop, int64_t threads, int64_t mostWords, int64_t stages) {
  llvm::SetVector<Operation *> packed = collectPacked(loop);
  int64_t words = 0;
  for (Operation *load : packed)
    words += countWords(cast<tk::LoadOp>(load), threads);
  int64_t distance = std::min(stages - 1, mostWords / std::max<int64_t>(words, 1));
  std::optional<APInt> trips = loop.getStaticTripCount();
  distance = trips ? std::min(distance, int64_t(trips->getLimitedValue(INT64_MAX)) - 1) : 0;
  if (distance < 1)
    return 0;
  int64_t count = carryLoads(loop, threads, mostWords, distance, packed.getArrayRef());
  if (count) // Each body has its own registers: a move of one to the next would wait for the load.
    (void)loopUnrollByFactor(loop, uint64_t(distance) + 1);
  return count;
}

int64_t schedule::carryLoads(scf::ForOp &loop, int64_t threads, int64_t mostWords, int64_t distance,
                             ArrayRef<Operation *> only) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  distance = trips ? std::min(distance, int64_t(trips->getLimitedValue(INT64_MAX)) - 1) : 0;
  if (distance < 1)
    return 0;
  // What comes from farthest first: of the largest tensors.
  auto loads = llvm::to_vector(loop.getBody()->getOps<tk::LoadOp>());
  auto sizeOf = [](tk::LoadOp load) {
    RankedTensorType tensor = load.getSource().getType().getTensor();
    return tensor.hasStaticShape() ? tensor.getNumElements() : 0;
  };
  llvm::stable_sort(loads, [&](tk::LoadOp a, tk::LoadOp b) { return sizeOf(a) > sizeOf(b); });
  Carrier carrier(loop, threads, mostWords / distance);
  for (tk::LoadOp load : loads)
    if (only.empty() || llvm::is_contained(only, load))
      carrier.add(load);
  if (carrier.size() == 0)
    return 0;
  OpBuilder before(loop);
  SmallVector<Value> first; // Of the nearest iteration, then of the next.
  for (int64_t i = 0; i < distance; ++i)
    first.append(getTiles(carrier.cloneAt(before, carrier.getCounter(before, loop.getLowerBound(), i))));
  Value last = carrier.getCounter(before, loop.getLowerBound(), trips->getSExtValue() - 1);
  bool isCarried = carrier.carry(first, [&](OpBuilder &builder, ValueRange) {
    Value next = carrier.getCounter(builder, loop.getInductionVar(), distance);
    return getTiles(carrier.cloneAt(builder, arith::MinSIOp::create(builder, loop.getLoc(), next, last)));
  });
  return isCarried ? int64_t(carrier.size()) : 0;
}

int64_t schedule::carryPacked(scf::ForOp loop) {
  int64_t threads = getWarps(loop) * 32;
  int64_t held = 0;
  for (auto dot : loop.getBody()->getOps<tk::DotOp>())
    if (auto left = dyn_cast<tk::TileType>(dot.getLhs().getType()))
      held += (dot.getAcc().getType().getNumElements() + left.getNumElements() / 2) / threads;
  int64_t words = 0;
  for (auto load : loop.getBody()->getOps<tk::LoadOp>()) { // Halves have a register each.
    int64_t halves = std::max<int64_t>(32 / tk::getElementBits(load.getResult().getType().getElementType()), 1);
    words += countWords(load, threads) * gpu::lanesOfPackedRow * halves;
  }
  int64_t steps = words ? gpu::countPackedSteps(held, words) : 0;
  int64_t count = steps ? carryLoads(loop, threads, INT64_MAX, steps) : 0;
  if (count && steps > 1) // Each body has its own registers for what comes.
    (void)loopUnrollByFactor(loop, uint64_t(steps));
  return count;
}

//===--- Operands that threads store ---===//

bool schedule::storesOperands(scf::ForOp loop) {
  bool hasDots = false, isAlone = isa<tk::ForTilesOp>(loop->getParentOp());
  loop.walk([&](Operation *op) {
    hasDots |= isa<tk::DotOp>(op);
    isAlone &= !isa<tk::CopyOp, tk::StoreOp>(op);
  });
  return hasDots && isAlone && !loop.getBody()->getOps<tk::LocalStoreOp>().empty();
}

/// Whether what is computed from `value` in its block is stored to shared memory, element by element.
static bool isStored(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<tk::LocalStoreOp>(user) || (isa<tk::MapOp, tk::BroadcastOp>(user) && isStored(user->getResult(0)));
  });
}

/// The load reads nothing where `counter` is `end` or more.
static void stopAt(tk::LoadOp load, Value counter, Value end) {
  std::optional<int64_t> at = getConstantIntValue(counter), last = getConstantIntValue(end);
  if (at && last && *at < *last)
    return;
  MLIRContext *context = load.getContext();
  AffineMap map = load.getMap();
  unsigned dims = map.getNumDims(), symbols = map.getNumSymbols();
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  if (IntegerSetAttr guard = load.getGuardAttr()) {
    llvm::append_range(constraints, guard.getValue().getConstraints());
    llvm::append_range(equalities, guard.getValue().getEqFlags());
  }
  constraints.push_back(getAffineSymbolExpr(symbols + 1, context) - getAffineSymbolExpr(symbols, context) - 1);
  equalities.push_back(false);
  load.setMap(AffineMap::get(dims, symbols + 2, map.getResults(), context));
  load.setGuardAttr(IntegerSetAttr::get(IntegerSet::get(dims, symbols + 2, constraints, equalities)));
  load.getSymbolsMutable().append({counter, end});
}

/// Words of a thread that the loop carries from one iteration to the next.
static int64_t countCarried(scf::ForOp loop, int64_t threads) {
  int64_t bits = 0;
  for (Type type : loop.getResultTypes())
    if (auto tile = dyn_cast<tk::TileType>(type))
      bits += tile.getNumElements() * tk::getElementBits(tile.getElementType());
  return llvm::divideCeil(bits, 32 * threads);
}

int64_t schedule::carryOperands(scf::ForOp &loop, int64_t threads, int64_t mostWords) {
  constexpr int64_t mostHeld = 128; // With sums.
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips) // Indices and masks take registers, too.
    mostWords /= 2;
  mostWords = std::min(mostWords, mostHeld - countCarried(loop, threads));
  Carrier carrier(loop, threads, mostWords);
  for (auto load : loop.getBody()->getOps<tk::LoadOp>())
    if (!load.getMask() && load.getIndices().empty() && isStored(load))
      carrier.add(load);
  if (carrier.size() == 0)
    return 0;
  int64_t all = trips ? int64_t(trips->getLimitedValue(INT64_MAX)) : INT64_MAX;
  int64_t distance = std::min(std::max<int64_t>(mostWords / std::max<int64_t>(carrier.getWords(), 1), 1), all);
  auto loadAt = [&](OpBuilder &builder, Value from, int64_t steps) {
    Value counter = carrier.getCounter(builder, from, steps);
    SmallVector<tk::LoadOp> loads = carrier.cloneAt(builder, counter);
    for (tk::LoadOp load : loads)
      stopAt(load, counter, loop.getUpperBound());
    return getTiles(loads);
  };
  OpBuilder before(loop);
  SmallVector<Value> first; // Of the nearest iteration, then of the next.
  for (int64_t i = 0; i < distance; ++i)
    first.append(loadAt(before, loop.getLowerBound(), i));
  bool isCarried = carrier.carry(first, [&](OpBuilder &builder, ValueRange last) {
    return distance < all ? loadAt(builder, loop.getInductionVar(), distance) : SmallVector<Value>(last);
  });
  return isCarried ? int64_t(carrier.size()) : 0;
}
