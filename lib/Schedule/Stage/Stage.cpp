// weft-tk-stage: operands of tk.dot through shared memory. Plain loads become asynchronous copies through channels,
// computed operands are stored from registers. What is decided here is where an operand lives; layouts, prefetch
// distance and positions come later.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"
#include "SharedRows.h"
#include "Unpacked.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Wgmma.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/TileSlots.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace weft::schedule {
#define GEN_PASS_DEF_TKSTAGE
#include "weft/Schedule/Passes.h.inc"
} // namespace weft::schedule

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

//===-- What an operand is ----------------------------------------------------------------------------------------===//

namespace {
/// A tile that can be copied: a load, seen over the dimensions of the operand.
struct CopySource {
  tk::LoadOp load;
  tk::TileType tile;
  Access access;
  tk::CopyEngine engine = tk::CopyEngine::CpAsync;
};
} // namespace

/// Whether elements outside the guard are zero, as a copy makes them.
static bool fillsWithZero(tk::LoadOp load) {
  TypedAttr fill = load.getFillAttr();
  if (auto number = dyn_cast_or_null<FloatAttr>(fill))
    return number.getValue().isPosZero();
  if (auto number = dyn_cast_or_null<IntegerAttr>(fill))
    return number.getValue().isZero();
  return !fill;
}

/// `access` seen through a broadcast: over the dimensions of its result.
static void moveDims(Access &access, tk::BroadcastOp broadcast) {
  MLIRContext *context = broadcast.getContext();
  ArrayRef<int64_t> shape = broadcast.getResult().getType().getShape();
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    dims.push_back(access.shape[i] == 1 ? getAffineConstantExpr(0, context) : getAffineDimExpr(dim, context));
  for (unsigned i = 0; i < access.map.getNumSymbols(); ++i)
    symbols.push_back(getAffineSymbolExpr(i, context));
  access.map = access.map.replaceDimsAndSymbols(dims, symbols, shape.size(), symbols.size());
  if (access.guard)
    access.guard = access.guard->replaceDimsAndSymbols(dims, symbols, shape.size(), symbols.size());
  access.shape.assign(shape.begin(), shape.end());
}

/// The load behind an operand of a dot, if its tile can be copied to shared memory asynchronously.
static std::optional<CopySource> getCopySource(Value operand, bool mayUseTma) {
  SmallVector<tk::BroadcastOp> broadcasts; // From the operand to the load.
  Value value = operand;
  while (auto broadcast = value.getDefiningOp<tk::BroadcastOp>()) {
    broadcasts.push_back(broadcast);
    value = broadcast.getInput();
  }
  auto load = value.getDefiningOp<tk::LoadOp>();
  if (!load || load.getMask() || !load.getIndices().empty() || !fillsWithZero(load))
    return std::nullopt;
  CopySource source{load, cast<tk::TileType>(operand.getType()), getAccess(load)};
  for (tk::BroadcastOp broadcast : llvm::reverse(broadcasts))
    moveDims(source.access, broadcast);
  if (mayUseTma && isBox(source.access)) {
    source.engine = tk::CopyEngine::Tma;
    return source;
  }
  int64_t bits = tk::getElementBits(source.tile.getElementType());
  if (getContiguity(source.access, 128 / bits).elements * bits < 32) // cp.async moves at least 4 bytes.
    return std::nullopt;
  return source;
}

/// How much `index` grows with symbol `number`; it is linear in symbols.
static int64_t getFactor(AffineExpr index, unsigned dims, unsigned symbols, unsigned number) {
  MLIRContext *context = index.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  auto at = [&](int64_t value) {
    SmallVector<AffineExpr> zeros(dims, zero), places(symbols, zero);
    places[number] = getAffineConstantExpr(value, context);
    auto place = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(index.replaceDimsAndSymbols(zeros, places), 0, 0));
    return place ? place.getValue() : 0;
  };
  return at(1) - at(0);
}

/// Whether steps read overlapping boxes (a convolution's window slides): a value that the loop changes moves an index
/// by less than the tile has of it.
static bool slides(const CopySource &source) {
  tk::LoadOp load = source.load; // Accessors of ops are not const.
  const AffineMap &map = source.access.map;
  std::optional<SmallVector<BoxPart>> parts = getBoxParts(map, source.access.shape);
  for (auto [i, index] : llvm::enumerate(map.getResults()))
    for (auto [j, symbol] : llvm::enumerate(load.getSymbols()))
      if (parts && (*parts)[i].dim >= 0 && index.isFunctionOfSymbol(j) && symbol.getParentBlock() == load->getBlock() &&
          std::abs(getFactor(index, map.getNumDims(), map.getNumSymbols(), j)) < (*parts)[i].extent)
        return true;
  return false;
}

/// Whether `value` is computed, element by element, from the result of a dot in `block`.
static bool comesFromDot(Value value, Block *block) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != block)
    return false;
  if (isa<tk::DotOp>(op))
    return true;
  return isa<tk::MapOp>(op) && llvm::any_of(op->getOperands(), [&](Value input) { return comesFromDot(input, block); });
}

//===-- Loops -----------------------------------------------------------------------------------------------------===//

/// The number of the iteration that `block` runs in: of its loop, from 0.
static Value getIteration(OpBuilder &builder, Location loc, Block *block) {
  auto loop = dyn_cast<scf::ForOp>(block->getParentOp());
  if (!loop)
    return arith::ConstantIndexOp::create(builder, loc, 0);
  Value number = loop.getInductionVar();
  if (!matchPattern(loop.getLowerBound(), m_Zero()))
    number = arith::SubIOp::create(builder, loc, number, loop.getLowerBound());
  if (!matchPattern(loop.getStep(), m_One()))
    number = arith::DivUIOp::create(builder, loc, number, loop.getStep());
  return number;
}

/// One slot of a buffer; the buffer itself if it has one only.
static Value sliceSlot(OpBuilder &builder, Location loc, Value buffer, Value slot) {
  auto type = cast<tk::SharedType>(buffer.getType());
  if (type.getSlots() == 1)
    return buffer;
  return tk::SlotOp::create(builder, loc, type.withSlots(1), buffer, slot);
}

/// Rows of one slot that make a tile of `shape`.
static Value sliceRows(OpBuilder &builder, Location loc, Value buffer, Value slot, const Fetch &fetch, int64_t from,
                       ArrayRef<int64_t> shape) {
  if (fetch.rows == 1)
    return sliceSlot(builder, loc, buffer, slot);
  Type element = cast<tk::SharedType>(buffer.getType()).getElementType();
  return tk::SlotOp::create(builder, loc, tk::SharedType::get(1, shape, element), buffer, slot, fetch.rows, from);
}

/// Slots of a buffer that is filled once an iteration of the loop around `block`: one where that is once only.
static int64_t getSlots(Block *block, int64_t wanted) {
  auto loop = dyn_cast<scf::ForOp>(block->getParentOp());
  if (!loop)
    return 1;
  std::optional<APInt> trips = loop.getStaticTripCount();
  return trips && trips->ult(wanted) ? std::max<int64_t>(1, trips->getZExtValue()) : wanted;
}

/// Whether the code around `op` (a loop, or what fills a buffer outside one) runs several times in one CTA.
static bool isRepeated(Operation *op) {
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (auto tiles = dyn_cast<tk::ForTilesOp>(parent))
      return tiles.getPersistent();
    if (isa<LoopLikeOpInterface>(parent))
      return true;
  }
  return false;
}

//===-- The pass --------------------------------------------------------------------------------------------------===//

namespace {
/// One operand that is copied.
struct Copied {
  tk::DotOp dot;
  unsigned operand;
  CopySource source;
};
} // namespace

/// Ends a box behind the first `count` indices of a tile dimension, if it is a box then.
static void cut(Access &access, unsigned dim, int64_t count) {
  if (count >= getLiveShape(access)[dim])
    return;
  Access shorter = access;
  if (shorter.live.empty())
    shorter.live = shorter.shape;
  shorter.live[dim] = count;
  if (isBox(shorter))
    access = shorter;
}

/// What all of them read, of one tile.
static Access unite(ArrayRef<Copied *> users) {
  Access access = users.front()->source.access;
  for (const Copied *user : users.drop_front()) {
    const Access &other = user->source.access;
    if (!other.guard) // It reads what the guard leaves out.
      access.guard.reset();
    if (other.live.empty())
      access.live.clear();
    for (auto [own, more] : llvm::zip(access.live, other.live))
      own = std::max(own, more);
  }
  return access;
}

namespace {
class Stager {
public:
  Stager(tk::ForTilesOp tiles, tg::Engine engine, int64_t warps, int64_t stages, bool hasTma)
      : tiles(tiles), engine(engine), warps(warps), stages(std::max<int64_t>(1, stages)), hasTma(hasTma),
        allocs(tiles) {}

  void run() {
    SmallVector<tk::DotOp> dots;
    tiles.walk([&](tk::DotOp dot) {
      if (engine == tg::Engine::Mma && keepUnpacked(dot, warps))
        return;
      dots.push_back(dot);
      if (isWgmma(dot) && isUnpacked(dot.getLhs(), /*dim=*/1))
        dropMasks(dot);
    });
    findCopies(dots, engine == tg::Engine::Wgmma || (engine == tg::Engine::Mma && hasTma));
    if (engine == tg::Engine::Mma && hasTma && !slideByTma(dots))
      findCopies(dots, /*mayUseTma=*/false);
    SmallVector<SmallVector<Copied *>> groups = groupCopies();
    for (auto &group : groups) {
      // One slot is filled while the others' are read.
      Block *block = group.front()->source.load->getBlock();
      int64_t beside = llvm::count_if(groups, [&](ArrayRef<Copied *> other) {
        return other.front()->source.load->getBlock() == block &&
               other.front()->source.engine == tk::CopyEngine::CpAsync;
      });
      bool isFilledBeside = beside > 1 && group.front()->source.engine == tk::CopyEngine::CpAsync;
      makeChannel(group, std::max<int64_t>(stages, isFilledBeside ? 1 : 2));
    }
    for (tk::DotOp dot : dots)
      storeOperands(dot);
  }

private:
  void findCopies(ArrayRef<tk::DotOp> dots, bool mayUseTma) {
    copies.clear();
    for (tk::DotOp dot : dots)
      for (unsigned operand : {0u, 1u})
        if (isa<tk::TileType>(dot->getOperand(operand).getType()))
          if (std::optional<CopySource> source = getCopySource(dot->getOperand(operand), mayUseTma)) {
            if (source->engine == tk::CopyEngine::Tma && readsDeadPlaces(dot, operand, source->access))
              source->access.guard.reset(); // Which says no more of a box than where it ends.
            else if (source->engine == tk::CopyEngine::Tma)
              cutToRead(source->access, dot, operand);
            copies.push_back({dot, operand, *source});
          }
  }

  /// Whether instructions read what a cut box leaves out. Those of wgmma stop at the right operand's live columns, but
  /// for warpgroups that share the columns out; warps read several columns at once. All rows of the left operand are
  /// read: a tile of 192 is one of 256 rows.
  bool readsDeadPlaces(tk::DotOp dot, unsigned operand, const Access &access) const {
    SmallVector<int64_t> live = getLiveShape(access);
    if (live == access.shape)
      return false;
    ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
    std::optional<WgmmaTiling> tiling = isWgmma(dot) ? getWgmmaTiling(shape[0], shape[1], warps) : std::nullopt;
    return !tiling || tiling->columnGroups > 1 || (operand == 0 && live[0] != access.shape[0]);
  }

  /// Leaves out of a box what no instruction reads: columns and depths from the live ones on (a head of 192 in a tile
  /// of 256 is three panels of four).
  void cutToRead(Access &access, tk::DotOp dot, unsigned operand) const {
    ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
    std::optional<WgmmaTiling> tiling = isWgmma(dot) ? getWgmmaTiling(shape[0], shape[1], warps) : std::nullopt;
    if (!tiling || access.shape.size() != 2)
      return;
    constexpr int64_t depthBits = 256, columnUnit = 8; ///< Of an instruction.
    int64_t depthUnit = depthBits / tk::getElementBits(access.tensor.getElementType());
    cut(access, /*dim=*/operand == 0 ? 1 : 0, int64_t(llvm::alignTo(dot.countLiveDepth(), depthUnit)));
    if (operand == 1 && tiling->columnGroups == 1)
      cut(access, /*dim=*/1, int64_t(llvm::alignTo(dot.countLiveColumns(), columnUnit)));
  }

  bool slideByTma(ArrayRef<tk::DotOp> dots) const;
  /// Whether everything that the dot of `later` waits for can be copied before the dot of `earlier`.
  bool canWaitWith(const Copied &later, tk::DotOp earlier) const {
    return llvm::all_of(copies, [&](const Copied &copy) {
      tk::LoadOp load = copy.source.load; // Accessors of ops are not const.
      return copy.dot != later.dot || llvm::all_of(load->getOperands(), [&](Value value) {
               Operation *source = value.getDefiningOp();
               return !source || source->getBlock() != load->getBlock() ||
                      source->isBeforeInBlock(load->getBlock()->findAncestorOpInBlock(*earlier));
             });
    });
  }

  /// Whether the dot of `b` adds to that of `a`, both of what TMA brings: taps of a window in one step.
  bool isNext(const Copied &a, const Copied &b) const {
    tk::DotOp first = a.dot, second = b.dot;
    return a.source.engine == tk::CopyEngine::Tma && second.getAcc() == first.getResult() && canWaitWith(b, first);
  }

  /// Copies that wait together: those of one block and engine that are connected by dots.
  SmallVector<SmallVector<Copied *>> groupCopies() {
    llvm::EquivalenceClasses<Copied *> classes;
    for (Copied &copy : copies)
      classes.insert(&copy);
    for (Copied &a : copies)
      for (Copied &b : copies)
        if (a.source.load->getBlock() == b.source.load->getBlock() && a.source.engine == b.source.engine &&
            (a.dot == b.dot || isNext(a, b) ||
             (a.source.load == b.source.load && canWaitWith(b, a.dot) && canWaitWith(a, b.dot))))
          classes.unionSets(&a, &b);
    llvm::MapVector<Copied *, SmallVector<Copied *>> groups;
    for (Copied &copy : copies)
      groups[classes.getLeaderValue(&copy)].push_back(&copy);
    return llvm::map_to_vector(groups, [](auto &entry) { return entry.second; });
  }

  void makeChannel(ArrayRef<Copied *> group, int64_t stages);
  void storeOperands(tk::DotOp dot);
  void storeOperand(tk::DotOp dot, unsigned operand, Operation *place);
  bool staysInRegisters(tk::DotOp dot, unsigned operand) const;
  void separateRuns(Block *block);

  tk::ForTilesOp tiles;
  tg::Engine engine;
  int64_t warps, stages;
  bool hasTma;
  OpBuilder allocs; ///< Before the loop over tiles.
  SmallVector<Copied, 0> copies;
  DenseSet<Operation *> separated;
  DenseMap<std::pair<Block *, Value>, Value> stored;
};
} // namespace

/// Whether operands of mma.sync come by TMA: where all of them are boxes of 16-bit elements (ldmatrix reads what TMA
/// swizzles), windows slide over one, and a step has bytes enough for the thread that asks for them to be ahead of
/// those that multiply. cp.async has a thread compute for each 16 bytes which image, row and column they are of, and
/// whether there is such an element; TMA does so beside the threads. Of matrices a copy costs a thread an addition, and
/// TMA's longer way and the barriers take more than that saves (docs/notes/small-tma.md has both).
bool Stager::slideByTma(ArrayRef<tk::DotOp> dots) const {
  constexpr int64_t leastBytes = 6 << 10; ///< Of a step.
  bool isBoxes = llvm::all_of(copies, [](const Copied &copy) {
    return copy.source.engine == tk::CopyEngine::Tma && tk::getElementBits(copy.source.tile.getElementType()) == 16;
  });
  bool isLarge = llvm::all_of(dots, [&](tk::DotOp dot) {
    int64_t bytes = 0;
    for (const Copied &copy : copies)
      if (copy.dot == dot)
        bytes += copy.source.tile.getNumElements() * 2;
    return bytes >= leastBytes;
  });
  return isBoxes && isLarge && copies.size() == 2 * dots.size() &&
         llvm::any_of(copies, [](const Copied &copy) { return slides(copy.source); });
}

/// Where generic accesses alone order the use of a buffer: a barrier before a loop that runs again, so that nobody
/// still reads what the next run overwrites.
void Stager::separateRuns(Block *block) {
  Operation *loop = block->getParentOp();
  Operation *first = isa<scf::ForOp>(loop) ? loop : &block->front();
  if (!isRepeated(first) || !separated.insert(loop).second)
    return;
  OpBuilder builder(first);
  tk::BarrierOp::create(builder, first->getLoc());
}

/// The first or last op of `block` that holds a user of the group.
static Operation *findUser(ArrayRef<Copied *> group, Block *block, bool isFirst) {
  Operation *found = nullptr;
  for (Copied *copy : group) {
    Operation *user = block->findAncestorOpInBlock(*copy->dot);
    if (!found || user->isBeforeInBlock(found) == isFirst)
      found = user;
  }
  return found;
}

void Stager::makeChannel(ArrayRef<Copied *> group, int64_t stages) {
  Block *block = group.front()->source.load->getBlock();
  tk::CopyEngine copyEngine = group.front()->source.engine;
  Location loc = group.front()->source.load.getLoc();
  bool outlivesTile = copyEngine == tk::CopyEngine::Tma && tiles.getPersistent(); // The next tile's copies come early.
  int64_t bytes = 0;
  // Equal tiles of one load are copied once, and so are the rows that several have in common.
  llvm::MapVector<std::pair<Operation *, Attribute>, SmallVector<Copied *>> tilesOfLoads;
  for (Copied *copy : group)
    tilesOfLoads[{copy->source.load, AffineMapAttr::get(copy->source.access.map)}].push_back(copy);
  SmallVector<TileToFetch> tilesToFetch;
  for (auto &[key, users] : tilesOfLoads)
    tilesToFetch.push_back({users.front()->source.load, unite(users)});
  std::vector<Fetch> fetches = shareRows(tilesToFetch, copyEngine);
  auto typeOf = [=](const Fetch &fetch, int64_t slots) {
    tk::LoadOp load = fetch.load; // Accessors of ops are not const.
    return tk::SharedType::get(slots * fetch.rows, fetch.rowShape, load.getResult().getType().getElementType(), {},
                               copyEngine == tk::CopyEngine::Tma && fetch.rows == 1 ? getSlotPitch(fetch.access) : 0);
  };
  int64_t room = 0;
  for (const Fetch &fetch : fetches) {
    int64_t whole = fetch.rows * typeOf(fetch, 1).getSlotBytes();
    room += whole;
    bytes += copyEngine == tk::CopyEngine::Tma && fetch.rows == 1 ? countBoxBytes(fetch.access) : whole;
  }
  bool isOnce = !isa<scf::ForOp>(block->getParentOp());
  int64_t slots = !outlivesTile ? getSlots(block, stages) : isOnce ? countTileSlots(stages, room) : stages;
  SmallVector<Value> buffers;
  for (const Fetch &fetch : fetches)
    buffers.push_back(tk::AllocOp::create(allocs, loc, typeOf(fetch, slots), IntegerAttr()));
  auto channelType = tk::ChannelType::get(allocs.getContext(), slots);
  Value channel = tk::MakeChannelOp::create(allocs, loc, channelType, copyEngine, 1, bytes, IntegerAttr());
  if (copyEngine == tk::CopyEngine::CpAsync)
    separateRuns(block);

  // Copies where the last of the loads was, the wait before the first dot.
  Operation *last = group.front()->source.load, *user = findUser(group, block, /*isFirst=*/true);
  for (Copied *copy : group) {
    if (user->isBeforeInBlock(copy->source.load))
      copy->source.load->moveBefore(user);
    if (last->isBeforeInBlock(copy->source.load))
      last = copy->source.load;
  }
  OpBuilder builder(last);
  Value iteration = getIteration(builder, loc, block);
  Value slot = iteration;
  if (slots > 1)
    slot = arith::RemUIOp::create(builder, loc, iteration, arith::ConstantIndexOp::create(builder, loc, slots));
  tk::AcquireOp::create(builder, loc, channel, iteration);
  for (auto [buffer, fetch] : llvm::zip(buffers, fetches))
    for (const Fetch::Copy &copy : fetch.copies) {
      tk::LoadOp load = fetch.load; // Accessors of ops are not const.
      tk::CopyOp::create(builder, load.getLoc(), load.getSource(), load.getSymbols(),
                         sliceRows(builder, loc, buffer, slot, fetch, copy.from, copy.shape), channel, iteration,
                         copy.map, copy.guard ? IntegerSetAttr::get(*copy.guard) : IntegerSetAttr(), copyEngine,
                         fetch.rows > 1 || fetch.access.live.empty() ? DenseI64ArrayAttr()
                                                                     : builder.getDenseI64ArrayAttr(fetch.access.live));
    }
  tk::CommitOp::create(builder, loc, channel, iteration);
  builder.setInsertionPoint(user);
  tk::WaitOp::create(builder, loc, channel, iteration);
  for (auto [buffer, fetch] : llvm::zip(buffers, fetches))
    for (auto [tile, from] : fetch.tiles) {
      Value view = sliceRows(builder, loc, buffer, slot, fetch, from, fetch.access.shape);
      for (Copied *copy : (tilesOfLoads.begin() + tile)->second)
        copy->dot->setOperand(copy->operand, view);
    }
  builder.setInsertionPointAfter(findUser(group, block, /*isFirst=*/false));
  tk::ReleaseOp::create(builder, loc, channel, iteration);
}

/// A left operand that is computed from another dot's result has the layout of an accumulator, or nearly: the rows of
/// each warp stay with it.
bool Stager::staysInRegisters(tk::DotOp dot, unsigned operand) const {
  int64_t rows = dot.getAcc().getType().getShape()[0], rowsPerWarp = 16;
  if (operand == 0 && isWgmma(dot) && isUnpacked(dot.getLhs(), /*dim=*/1))
    return true;
  return operand == 0 && engine != tg::Engine::Simt && rows >= rowsPerWarp * warps &&
         comesFromDot(dot.getLhs(), dot->getBlock());
}

/// Where operands of `dot` are stored: before the waits for its other operands, if these pass a barrier.
static Operation *getStorePlace(tk::DotOp dot, bool &hasBarrier) {
  Operation *place = dot;
  for (Operation *op = dot->getPrevNode(); isa_and_nonnull<tk::SlotOp, tk::WaitOp>(op); op = op->getPrevNode()) {
    auto wait = dyn_cast<tk::WaitOp>(op);
    auto channel = wait ? wait.getChannel().getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
    if (!channel || channel.getEngine() != tk::CopyEngine::CpAsync)
      continue;
    place = op;
    hasBarrier = true;
  }
  return place;
}

void Stager::storeOperands(tk::DotOp dot) {
  bool hasBarrier = false, stores = false;
  Operation *place = getStorePlace(dot, hasBarrier);
  for (unsigned operand : {0u, 1u})
    if (isa<tk::TileType>(dot->getOperand(operand).getType()) && !staysInRegisters(dot, operand)) {
      storeOperand(dot, operand, place);
      stores = true;
    }
  if (!stores)
    return;
  OpBuilder builder(place);
  if (engine == tg::Engine::Wgmma)
    tk::FenceAsyncOp::create(builder, dot.getLoc());
  if (!hasBarrier)
    tk::BarrierOp::create(builder, dot.getLoc());
}

/// One barrier an iteration is enough with two slots: who writes a slot has passed the barrier of the iteration before,
/// which comes after all reads of the iteration before that.
void Stager::storeOperand(tk::DotOp dot, unsigned operand, Operation *place) {
  Value value = dot->getOperand(operand);
  Location loc = dot.getLoc();
  auto tile = cast<tk::TileType>(value.getType());
  Block *block = dot->getBlock();
  Value &known = stored[{block, value}];
  if (!known) {
    int64_t slots = getSlots(block, 2);
    auto type = tk::SharedType::get(slots, tile.getShape(), tile.getElementType());
    Value buffer = tk::AllocOp::create(allocs, loc, type, IntegerAttr());
    separateRuns(block);
    OpBuilder builder(place);
    Value slot;
    if (slots > 1)
      slot = arith::RemUIOp::create(builder, loc, getIteration(builder, loc, block),
                                    arith::ConstantIndexOp::create(builder, loc, slots));
    known = sliceSlot(builder, loc, buffer, slot);
    tk::LocalStoreOp::create(builder, loc, value, known);
  }
  dot->setOperand(operand, known);
}

/// Loads and transpositions that nothing uses any more.
static void eraseDead(tk::ForTilesOp tiles) {
  SmallVector<Operation *> ops;
  tiles.walk([&](Operation *op) {
    if (isa<tk::LoadOp, tk::BroadcastOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

namespace {
struct TkStagePass : schedule::impl::TkStageBase<TkStagePass> {
  void runOnOperation() override {
    auto schedule = getOperation()->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
    auto target = getOperation()->getAttrOfType<StringAttr>(tk::targetAttr);
    const Device *device = target ? findDevice(target.getValue()) : nullptr;
    getOperation()->walk([&](tk::ForTilesOp tiles) {
      if (!schedule)
        return;
      auto warps = tiles->getParentOfType<func::FuncOp>()->getAttrOfType<IntegerAttr>(tk::warpsAttr);
      int64_t numWarps = warps ? warps.getInt() : schedule.getWarps();
      Stager(tiles, schedule.getEngine(), numWarps, schedule.getStages(), device && device->can.tma).run();
      eraseDead(tiles);
      hoistLoads(tiles, numWarps);
      if (schedule.getEngine() == tg::Engine::Wgmma)
        stageEpilogue(tiles);
    });
  }
};
} // namespace
