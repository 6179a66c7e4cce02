// --weft-tk-split-steps: the steps of a tile's product shared among the CTAs of a cluster, each of which then has the
// sums of some of the rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/SplitSteps.h"
#include "DotLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/IntegerSet.h"
#include "weft/Schedule/Passes.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft::schedule {
#define GEN_PASS_DEF_TKSPLITSTEPS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft::schedule

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

//===-- What comes behind the sum ---------------------------------------------------------------------------------===//

namespace {

/// Ops on whole tiles, again for a CTA's share of the rows.
class Shares {
public:
  Shares(tk::ForTilesOp tiles, scf::ForOp loop, int64_t parts) : tiles(tiles), loop(loop), parts(parts) {}

  /// Whether all that is stored can be computed row by row from the loop's sums and what is known before the loop.
  bool canShare();
  /// `sums`: of the CTA's rows.
  void share(Value rank, ValueRange sums);

private:
  using Rows = std::pair<Value, int64_t>; ///< A tile, and which of its dimensions has the rows.

  bool canShare(Rows rows);
  bool canMove(tk::LoadOp load);
  Value share(Rows rows);
  Value makeShare(OpBuilder &builder, Rows rows, Operation *op);
  tk::TileType typeOf(Rows rows) const;
  /// `expr` at the share's indices; the rank is one symbol more.
  AffineMap move(AffineMap map, Rows rows) const;
  IntegerSetAttr move(IntegerSetAttr guard, Rows rows) const;
  SmallVector<AffineExpr> getPlaces(MLIRContext *context, unsigned dims, unsigned symbols, Rows rows) const;
  SmallVector<Value> withRank(ValueRange symbols) const;

  tk::ForTilesOp tiles;
  scf::ForOp loop;
  int64_t parts;
  Value rank;
  DenseMap<Rows, bool> known;
  DenseMap<Rows, Value> shares;
};

} // namespace

static tk::TileType tileType(Value value) { return cast<tk::TileType>(value.getType()); }

/// The dimension of the operand that becomes dimension `dim`; nothing if it is new or stretched there.
static std::optional<int64_t> getSource(tk::BroadcastOp op, int64_t dim) {
  for (auto [i, to] : llvm::enumerate(op.getDims()))
    if (to == dim && tileType(op.getInput()).getShape()[i] != 1)
      return int64_t(i);
  return std::nullopt;
}

/// Whether all that the load needs is known ahead of the loop, and nobody writes what it reads.
bool Shares::canMove(tk::LoadOp load) {
  bool isWritten = llvm::any_of(load.getSource().getUsers(), llvm::IsaPred<tk::StoreOp>);
  return !isWritten && llvm::all_of(load->getOperands(), [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    return !op || op->getBlock() != loop->getBlock() || op->isBeforeInBlock(loop);
  });
}

bool Shares::canShare(Rows rows) {
  auto [it, isNew] = known.try_emplace(rows, false);
  if (!isNew)
    return it->second;
  auto [value, dim] = rows;
  Operation *op = value.getDefiningOp();
  bool can = false;
  if (op == loop.getOperation())
    can = dim == 0;
  else if (!op || op->getBlock() != loop->getBlock() || tileType(value).getShape()[dim] % parts)
    can = false;
  else if (isa<tk::ConstantOp, tk::SplatOp>(op))
    can = true;
  else if (auto map = dyn_cast<tk::MapOp>(op))
    can = llvm::all_of(map.getInputs(), [&, dim = dim](Value input) { return canShare({input, dim}); });
  else if (auto broadcast = dyn_cast<tk::BroadcastOp>(op)) {
    std::optional<int64_t> source = getSource(broadcast, dim);
    can = source ? canShare({broadcast.getInput(), *source}) : true;
  } else if (auto load = dyn_cast<tk::LoadOp>(op))
    can = load.getIndices().empty() && !load.getMask() && canMove(load);
  else if (auto guard = dyn_cast<tk::GuardOp>(op))
    can = guard.getIndices().empty();
  else if (auto affine = dyn_cast<tk::AffineOp>(op))
    can = affine.getIndices().empty();
  known[rows] = can;
  return can;
}

bool Shares::canShare() {
  auto stores = tiles.getOps<tk::StoreOp>();
  int64_t all = 0;
  tiles.walk([&](tk::StoreOp) { ++all; });
  return all == std::distance(stores.begin(), stores.end()) && llvm::all_of(stores, [&](tk::StoreOp store) {
           tk::TileType type = store.getValue().getType();
           return type.getRank() == 2 && store.getIndices().empty() && !store.getMask() && !store.getCombine() &&
                  canShare({store.getValue(), 0});
         });
}

tk::TileType Shares::typeOf(Rows rows) const {
  tk::TileType type = tileType(rows.first);
  SmallVector<int64_t> shape(type.getShape());
  shape[rows.second] /= parts;
  return tk::TileType::get(shape, type.getElementType());
}

SmallVector<AffineExpr> Shares::getPlaces(MLIRContext *context, unsigned dims, unsigned symbols, Rows rows) const {
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < dims; ++i)
    places.push_back(getAffineDimExpr(i, context));
  int64_t extent = tileType(rows.first).getShape()[rows.second] / parts;
  places[rows.second] = places[rows.second] + getAffineSymbolExpr(symbols, context) * extent;
  return places;
}

AffineMap Shares::move(AffineMap map, Rows rows) const {
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < map.getNumSymbols(); ++i)
    symbols.push_back(getAffineSymbolExpr(i, map.getContext()));
  return map.replaceDimsAndSymbols(getPlaces(map.getContext(), map.getNumDims(), map.getNumSymbols(), rows), symbols,
                                   map.getNumDims(), map.getNumSymbols() + 1);
}

IntegerSetAttr Shares::move(IntegerSetAttr guard, Rows rows) const {
  if (!guard)
    return guard;
  IntegerSet set = guard.getValue();
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < set.getNumSymbols(); ++i)
    symbols.push_back(getAffineSymbolExpr(i, set.getContext()));
  return IntegerSetAttr::get(
      set.replaceDimsAndSymbols(getPlaces(set.getContext(), set.getNumDims(), set.getNumSymbols(), rows), symbols,
                                set.getNumDims(), set.getNumSymbols() + 1));
}

SmallVector<Value> Shares::withRank(ValueRange symbols) const {
  SmallVector<Value> all(symbols);
  all.push_back(rank);
  return all;
}

/// `op` makes `rows`.
Value Shares::makeShare(OpBuilder &builder, Rows rows, Operation *op) {
  Location loc = op->getLoc();
  tk::TileType type = typeOf(rows);
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](tk::ConstantOp constant) { return tk::ConstantOp::create(builder, loc, type, constant.getValue()); })
      .Case([&](tk::SplatOp splat) { return tk::SplatOp::create(builder, loc, type, splat.getScalar()); })
      .Case([&](tk::LoadOp load) {
        builder.setInsertionPoint(op->isBeforeInBlock(loop) ? op : loop.getOperation());
        return tk::LoadOp::create(builder, loc, type, load.getSource(), withRank(load.getSymbols()), ValueRange(),
                                  Value(), AffineMapAttr::get(move(load.getMap(), rows)),
                                  move(load.getGuardAttr(), rows), load.getFillAttr());
      })
      .Case([&](tk::GuardOp guard) {
        return tk::GuardOp::create(builder, loc, type, move(guard.getGuardAttr(), rows).getValue(),
                                   withRank(guard.getSymbols()), ValueRange());
      })
      .Case([&](tk::AffineOp affine) {
        return tk::AffineOp::create(builder, loc, type, move(affine.getMap(), rows), withRank(affine.getSymbols()),
                                    ValueRange());
      })
      .Case([&](tk::BroadcastOp broadcast) {
        std::optional<int64_t> source = getSource(broadcast, rows.second);
        Value input = source ? share({broadcast.getInput(), *source}) : Value(broadcast.getInput());
        builder.setInsertionPoint(op);
        return tk::BroadcastOp::create(builder, loc, type, input, broadcast.getDims());
      })
      .Case([&](tk::MapOp map) {
        SmallVector<Value> inputs =
            llvm::map_to_vector(map.getInputs(), [&](Value input) { return share({input, rows.second}); });
        SmallVector<Type> types =
            llvm::map_to_vector(map.getResults(), [&](Value result) -> Type { return typeOf({result, rows.second}); });
        builder.setInsertionPoint(op);
        auto fewer = tk::MapOp::create(builder, loc, types, inputs);
        IRMapping same;
        map.getBodyRegion().cloneInto(&fewer.getBody(), same);
        for (auto [whole, part] : llvm::zip_equal(map.getResults(), fewer.getResults()))
          shares[{whole, rows.second}] = part;
        return fewer.getResult(cast<OpResult>(rows.first).getResultNumber());
      });
}

Value Shares::share(Rows rows) {
  if (Value found = shares.lookup(rows))
    return found;
  Operation *op = rows.first.getDefiningOp();
  OpBuilder builder(op);
  Value made = makeShare(builder, rows, op);
  shares[rows] = made;
  return made;
}

void Shares::share(Value number, ValueRange sums) {
  rank = number;
  for (auto [whole, part] : llvm::zip_equal(loop.getResults(), sums))
    shares[{whole, 0}] = part;
  for (auto store : llvm::make_early_inc_range(tiles.getOps<tk::StoreOp>())) {
    Rows rows{store.getValue(), 0};
    Value part = share(rows);
    OpBuilder builder(store);
    tk::StoreOp::create(builder, store.getLoc(), part, store.getTarget(), withRank(store.getSymbols()), ValueRange(),
                        Value(), AffineMapAttr::get(move(store.getMap(), rows)), move(store.getGuardAttr(), rows),
                        tg::MonoidAttr());
    store.erase();
  }
  for (auto load : llvm::make_early_inc_range(tiles.getOps<tk::LoadOp>()))
    if (loop->isBeforeInBlock(load) && canMove(load))
      load->moveBefore(loop);
}

//===-- The pass --------------------------------------------------------------------------------------------------===//

/// Of a launch, where no symbol says how many.
static std::optional<int64_t> countTiles(tk::ForTilesOp tiles) {
  int64_t count = 1;
  for (AffineExpr extent : tiles.getExtents().getResults()) {
    auto constant = dyn_cast<AffineConstantExpr>(extent);
    if (!constant || llvm::MulOverflow(count, constant.getValue(), count))
      return std::nullopt;
  }
  return count;
}

/// The sum of what CTAs have sent, in their order: slots of `buffer` from `first` on.
static Value addReceived(OpBuilder &builder, Location loc, Value buffer, int64_t first, int64_t parts) {
  auto rooms = cast<tk::SharedType>(buffer.getType());
  Type element = rooms.getElementType();
  SmallVector<Value> received;
  auto part = tk::TileType::get(rooms.getShape(), element);
  for (int64_t cta = 0; cta < parts; ++cta) {
    Value slot = tk::SlotOp::create(builder, loc, tk::SharedType::get(1, rooms.getShape(), element), buffer,
                                    arith::ConstantIndexOp::create(builder, loc, first + cta));
    received.push_back(tk::LocalLoadOp::create(builder, loc, part, slot, DenseI64ArrayAttr()));
  }
  auto sum = tk::MapOp::create(builder, loc, TypeRange(part), received);
  Block &body = sum.getBody().emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Value total;
  for (size_t i = 0; i < received.size(); ++i) {
    Value next = body.addArgument(element, loc);
    total = total ? Value(arith::AddFOp::create(inner, loc, total, next)) : next;
  }
  tk::YieldOp::create(inner, loc, total);
  return sum.getResult(0);
}

/// Behind the loop: each CTA's sums to those that add them, and there their sums.
static SmallVector<Value> exchangeSums(tk::ForTilesOp tiles, scf::ForOp loop, int64_t parts, bool hasClusters) {
  Location loc = loop.getLoc();
  tk::TileType type = tileType(loop.getResult(0));
  SmallVector<int64_t> shape{type.getShape()[0] / parts, type.getShape()[1]};
  OpBuilder allocs(tiles), after(loop->getBlock(), std::next(Block::iterator(loop)));
  auto rooms = tk::SharedType::get(parts * int64_t(loop.getNumResults()), shape, type.getElementType());
  Value buffer = tk::AllocOp::create(allocs, loc, rooms, IntegerAttr()).getResult();
  int64_t bytes = hasClusters ? rooms.getSlots() * rooms.getSlotBytes() : 0;
  Value channel = openExchange(allocs, loc, buffer, /*consumers=*/1, bytes);
  auto send = tk::ClusterSendOp::create(after, loc, loop.getResults(), buffer, channel);
  if (std::optional<int64_t> count = countTiles(tiles))
    send->setAttr(weft::gpu::tilesAttr, after.getI64IntegerAttr(*count));
  SmallVector<Value> sums;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    sums.push_back(addReceived(after, loc, buffer, i * parts, parts));
  return sums;
}

/// What nothing uses any more of the ops on whole tiles.
static void eraseDead(tk::ForTilesOp tiles) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(tiles.getBody().front())))
    if (isa<tk::LoadOp, tk::MapOp, tk::BroadcastOp, tk::ConstantOp, tk::SplatOp, tk::GuardOp, tk::AffineOp>(op) &&
        op.use_empty())
      op.erase();
}

/// Whether the parts of all tiles, f32, make a variable of bounded size.
static bool canMeetInMemory(tk::ForTilesOp tiles, int64_t sums, int64_t parts) {
  constexpr int64_t bytes = 4;
  std::optional<int64_t> count = countTiles(tiles);
  return count && *count <= weft::gpu::mostBytesOfParts / (sums * parts * bytes);
}

/// Whether all that the loop carries are sums of its dots, in tiles of one type.
static bool carriesSums(scf::ForOp loop) {
  return llvm::all_equal(loop.getResultTypes()) &&
         llvm::all_of(llvm::enumerate(loop.getYieldedValues()), [&](const auto &state) {
           auto dot = state.value().template getDefiningOp<tk::DotOp>();
           return dot && dot.getAcc() == loop.getRegionIterArg(state.index());
         });
}

static void splitSteps(func::FuncOp kernel, tk::ForTilesOp tiles, int64_t parts, bool hasClusters) {
  scf::ForOp loop = findDotLoop(tiles, /*byWarpgroups=*/false);
  std::optional<int64_t> steps = loop ? countSteps(loop) : std::nullopt;
  if (!steps || *steps < 2 || 2 * *steps <= parts || tiles.getPersistent() || !carriesSums(loop))
    return;
  tk::TileType type = tileType(loop.getResult(0));
  if (!hasClusters && !canMeetInMemory(tiles, type.getNumElements() * int64_t(loop.getNumResults()), parts))
    return;
  if (type.getShape()[0] % parts)
    return;
  Shares shares(tiles, loop, parts);
  if (!shares.canShare())
    return;
  OpBuilder before = OpBuilder::atBlockBegin(&tiles.getBody().front());
  Value rank = tk::ClusterRankOp::create(before, loop.getLoc());
  takeSteps(loop, rank, parts, *steps);
  shares.share(rank, exchangeSums(tiles, loop, parts, hasClusters));
  eraseDead(tiles);
  kernel->setAttr(weft::gpu::clusterAttr, before.getI64IntegerAttr(parts));
}

namespace {
struct TkSplitStepsPass : schedule::impl::TkSplitStepsBase<TkSplitStepsPass> {
  void runOnOperation() override {
    auto schedule = getOperation()->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
    auto target = getOperation()->getAttrOfType<StringAttr>(tk::targetAttr);
    const Device *device = target ? findDevice(target.getValue()) : nullptr;
    if (!schedule || schedule.getSplit() < 2 || schedule.getEngine() == tg::Engine::Wgmma)
      return;
    bool hasClusters = device && device->maxCluster > 1;
    if (int64_t most = hasClusters ? device->maxCluster : 8;
        schedule.getSplit() > most || !llvm::isPowerOf2_64(schedule.getSplit())) {
      getOperation()->emitError("expected a schedule with split of 1, 2, 4 or 8, got ") << schedule.getSplit();
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      SmallVector<tk::ForTilesOp> tiles(kernel.getOps<tk::ForTilesOp>());
      if (tiles.size() == 1)
        splitSteps(kernel, tiles.front(), schedule.getSplit(), hasClusters);
    }
  }
};
} // namespace
