// tg.fold: a loop over the streamed dimension that carries the tiles of its states.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The coordinates at which a result is wanted say at which ones `finish` wants the states, and those at which ones
// `update` wants the states before: found first, by walking maps, since a loop's state must be known before its body.
// Each state is wanted at one set of coordinates, or the fold is refused. Values of `update` belong to the loop, even
// where their coordinates do not mention the step. Its reductions of the streamed dimension see one step's elements.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;

namespace weft::kernelize {

/// The coordinates of the operand of an op with maps; reduced indices are 0, which no state depends on.
static Exprs operandPlaces(tg::TileOpInterface op, unsigned operand, ArrayRef<AffineExpr> at) {
  AffineMap result = *op.getResultMap(0), map = *op.getOperandMap(operand);
  Exprs domain(map.getNumDims(), getAffineConstantExpr(0, op.getContext()));
  for (auto [expr, place] : llvm::zip_equal(result.getResults(), at))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      domain[dim.getPosition()] = place;
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return expr.replaceDims(domain); });
}

bool Kernelizer::findOperandStates(tg::FoldOp op, Operation *user, ArrayRef<AffineExpr> at,
                                   SmallVectorImpl<std::optional<Exprs>> &states, std::set<Key> &seen) {
  if (std::optional<Exprs> through = throughView(user, at))
    return findStates(op, user->getOperand(0), *through, states, seen);
  auto tile = dyn_cast<tg::TileOpInterface>(user);
  for (auto [i, operand] : llvm::enumerate(user->getOperands())) {
    if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
      continue; // From outside: no states.
    if (!tile || user->getNumResults() != 1 || !tile.getResultMap(0) || !tile.getOperandMap(i))
      return false;
    if (!findStates(op, operand, operandPlaces(tile, i, at), states, seen))
      return false;
  }
  return true;
}

bool Kernelizer::findStates(tg::FoldOp op, Value value, ArrayRef<AffineExpr> at,
                            SmallVectorImpl<std::optional<Exprs>> &states, std::set<Key> &seen) {
  Exprs places = canonical(value, at);
  if (!seen.insert(keyOf(value.getAsOpaquePointer(), places)).second)
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return !op->isAncestor(value.getDefiningOp()) || findOperandStates(op, value.getDefiningOp(), places, states, seen);
  if (argument.getOwner()->getParentOp() != op)
    return true;
  std::optional<Exprs> &known = states[argument.getArgNumber()];
  bool agrees = !known || *known == places;
  known = places;
  return agrees;
}

Tile Kernelizer::state(BlockArgument argument, ArrayRef<AffineExpr> at) {
  auto it = states.find(argument);
  if (it == states.end() || ArrayRef(it->second.first) != at)
    return fail(argument.getOwner()->getParentOp(), argument, "a state is read at coordinates that no other use has");
  return it->second.second;
}

/// The streamed dimension's step: the schedule's first, in a lane between those of rows and columns. Fewer elements
/// keep room for a matrix instruction, of which the first ones are live.
Streamed Kernelizer::planFold(tg::FoldOp op) {
  constexpr int64_t defaultStep = 64, instruction = 16;
  AffineExpr extent = op.getExtent().getResult(0);
  int64_t most = schedule.getStream().empty() ? defaultStep : schedule.getStream().front();
  int64_t step = fittingStep(extent, most);
  if (schedule.getEngine() != tg::Engine::Simt)
    step = std::max(step, std::min(most, instruction));
  if (op.getParts()) // Borders of parts are borders of steps.
    step = std::gcd(step, int64_t(*op.getUnit()));
  Streamed dim{extent, step};
  if (step == 1)
    return dim;
  SmallVector<double> keys;
  for (std::optional<unsigned> lane : sinkLanes)
    if (lane && !llvm::is_contained(keys, space.lane(*lane).key))
      keys.push_back(space.lane(*lane).key);
  double key = keys.size() >= 2 ? (keys[keys.size() - 2] + keys.back()) / 2 : 3000;
  dim.lane = reductionLane(step, key, {});
  return dim;
}

std::optional<AffineExpr> Kernelizer::foldStep(Operation *op) const {
  if (!tg::isStreamed(op))
    return std::nullopt;
  auto it = foldPlaces.find(op->getParentOp());
  return it == foldPlaces.end() ? std::nullopt : std::optional(it->second);
}

bool Kernelizer::findAllStates(tg::FoldOp op, unsigned result, ArrayRef<AffineExpr> at, StatePlaces &states) {
  Block &update = op.getUpdate().front();
  std::set<Key> seen;
  if (!findStates(op, op.getFinish().front().getTerminator()->getOperand(result), at, states, seen))
    return false;
  for (int64_t before = -1, now = 0; before != now;) {
    for (auto [i, yielded] : llvm::enumerate(update.getTerminator()->getOperands()))
      if (states[i] && !findStates(op, yielded, Exprs(*states[i]), states, seen))
        return false;
    before = std::exchange(now, llvm::count_if(states, [](const auto &places) { return places.has_value(); }));
  }
  return true;
}

/// The states for `result` at `at`, and for the other results at the same positions, so that one loop serves all of
/// them. Empty if a state would be used at two points.
Kernelizer::StatePlaces Kernelizer::planStates(tg::FoldOp op, unsigned result, ArrayRef<AffineExpr> at) {
  StatePlaces states(op.getUpdate().front().getNumArguments());
  if (!findAllStates(op, result, at, states))
    return {};
  auto dimsOf = [&](unsigned i) {
    return tg::getDims(op.getFinish().front().getTerminator()->getOperand(i).getType());
  };
  tg::Dims dims = dimsOf(result);
  for (OpResult other : op->getResults()) {
    tg::Dims own = dimsOf(other.getResultNumber());
    if (other.getResultNumber() == result || other.use_empty() || own.size() != dims.size())
      continue;
    Exprs places(at);
    bool fits = true;
    for (auto [place, extent, domain] : llvm::zip(places, own, dims)) {
      if (tg::getConstant(extent) == 1)
        place = space.constant(0);
      else
        fits &= extent == domain;
    }
    StatePlaces more = states;
    if (fits && findAllStates(op, other.getResultNumber(), places, more))
      states = std::move(more);
  }
  return states;
}

/// Whether `merge` uses the states of both sides where they are held; else the op has an error.
bool Kernelizer::canMergeParts(tg::FoldOp op, const StatePlaces &places) {
  if (op.getMerge().empty() || op.getParts() || isStoring) {
    fail(op, op.getResult(0), "expected one fold with a merge, of which CTAs share a tile's steps");
    return false;
  }
  StatePlaces both(places);
  both.append(places.begin(), places.end());
  std::set<Key> seen;
  bool fits = true;
  for (auto [i, yielded] : llvm::enumerate(op.getMerge().front().getTerminator()->getOperands()))
    fits &= !places[i] || findStates(op, yielded, *places[i], both, seen);
  for (auto [i, place] : llvm::enumerate(both))
    fits &= place.has_value() == places[i % places.size()].has_value();
  for (auto [i, type] : llvm::enumerate(op.getUpdate().front().getArgumentTypes())) {
    Type held = getHeldType(cast<RankedTensorType>(type).getElementType());
    fits &= !places[i] || held.getIntOrFloatBitWidth() == 32;
  }
  if (!fits)
    fail(op, op.getResult(0), "expected states of 32 bits that merge elementwise");
  return fits;
}

/// What the CTAs of a tile have, `own` of this one, merged by the last of them: in the order of the tile's parts,
/// whoever that is. `merge`: what is merged so far, and a part; for the first one the former is nothing.
Kernelizer::Scalars Kernelizer::gatherParts(ValueRange own, IntegerAttr live, MergePart merge) {
  auto slots = builder.getI64IntegerAttr(partSlots), most = builder.getI64IntegerAttr(partsOfTile);
  auto send = tk::PartSendOp::create(builder, builder.getIndexType(), builder.getI1Type(), own, tilePart.getNumber(),
                                     tilePart.getPart(), tilePart.getParts(), slots, most, live);
  isStoring = send.getStores();
  Value first = arith::SubIOp::create(builder, tilePart.getNumber(), tilePart.getPart());
  StepRange range;
  range.upper = send.getTurns();
  return loop(
      space.constant(partsOfTile), own,
      [&](AffineExpr counter, ValueRange before) {
        Value number = arith::AddIOp::create(builder, first, numberOf(counter));
        return merge(before, number, guard({Constraint{-counter}}));
      },
      range);
}

/// What the CTAs of a tile have of a fold's states.
Kernelizer::Scalars Kernelizer::mergeParts(tg::FoldOp op, const StatePlaces &places, ValueRange own) {
  if (!canMergeParts(op, places))
    return Scalars(own);
  Block &merge = op.getMerge().front();
  unsigned count = merge.getNumArguments() / 2;
  SmallVector<unsigned> used;
  SmallVector<SmallVector<unsigned>> lanes;
  std::optional<int64_t> live;
  for (unsigned i = 0; i < count; ++i) {
    if (!places[i])
      continue;
    used.push_back(i);
    lanes.push_back(space.lanesOf(*places[i]));
    if (lanes.back().size() == 2)
      live = std::max(live, livePlaces(*places[i], lanes.back().back()));
  }
  auto liveColumns = live ? builder.getI64IntegerAttr(*live) : IntegerAttr();
  return gatherParts(own, liveColumns, [&](ValueRange before, Value number, const Tile &isFirst) {
    regionScopes[&merge] = current;
    auto received =
        tk::PartReceiveOp::create(builder, own.getTypes(), number, builder.getI64IntegerAttr(partSlots), liveColumns);
    for (auto [i, left, right, lane] : llvm::zip_equal(used, before, received.getValues(), lanes)) {
      states[merge.getArgument(i)] = {*places[i], Tile{left, lane}};
      states[merge.getArgument(count + i)] = {*places[i], Tile{right, lane}};
    }
    Scalars after;
    for (auto [i, right, lane] : llvm::zip_equal(used, received.getValues(), lanes)) {
      Tile merged = broadcast(tile(merge.getTerminator()->getOperand(i), *places[i]), lane);
      after.push_back(select(isFirst, Tile{right, lane}, merged).value);
    }
    regionScopes.erase(&merge);
    return after;
  });
}

/// Of a tile's CTAs the one with the merged states stores.
void Kernelizer::guardStores() {
  SmallVector<tk::StoreOp> stores;
  tiles->walk([&](tk::StoreOp store) { stores.push_back(store); });
  for (tk::StoreOp store : stores) {
    OpBuilder before(store);
    auto branch = scf::IfOp::create(before, store.getLoc(), isStoring, /*withElseRegion=*/false);
    store->moveBefore(branch.thenBlock()->getTerminator());
  }
}

/// The loop; the last states are what the arguments of `finish` stand for.
void Kernelizer::runFold(tg::FoldOp op, const StatePlaces &places, AffineExpr part) {
  Block &update = op.getUpdate().front(), &finish = op.getFinish().front();
  SmallVector<unsigned> used;
  SmallVector<SmallVector<unsigned>> lanes;
  Scalars init;
  for (auto [i, argument] : llvm::enumerate(update.getArguments())) {
    if (!places[i])
      continue;
    used.push_back(i);
    lanes.push_back(space.lanesOf(*places[i]));
    Type element = cast<RankedTensorType>(argument.getType()).getElementType();
    init.push_back(constant(getHeldAttr(op.getInit()[i], element), lanes.back()).value);
  }
  Streamed dim = planFold(op);
  StepRange range = findSteps(op, places, dim, part);
  Scalars last = stream(
      dim, init,
      [&](ArrayRef<AffineExpr> step, const Constraints &, ValueRange before) {
        regionScopes[&update] = current;
        foldPlaces[op] = step.front();
        for (auto [i, value, own] : llvm::zip_equal(used, before, lanes))
          states[update.getArgument(i)] = {*places[i], Tile{value, own}};
        Scalars after;
        for (auto [i, own] : llvm::zip_equal(used, lanes))
          after.push_back(broadcast(tile(update.getTerminator()->getOperand(i), *places[i]), own).value);
        foldPlaces.erase(op);
        regionScopes.erase(&update);
        return after;
      },
      range);
  if (tilePart)
    last = mergeParts(op, places, last);
  for (auto [i, value, own] : llvm::zip_equal(used, last, lanes))
    states[finish.getArgument(i)] = {*places[i], Tile{value, own}};
  regionScopes[&finish] = current;
  foldsDone[op] = {current, part, places};
}

Tile Kernelizer::fold(tg::FoldOp op, unsigned result, ArrayRef<AffineExpr> at) {
  AffineExpr part = op.getParts() ? at.front() : AffineExpr();
  at = at.drop_front(op.getNumPartDims());
  if (part && !space.lanesOf(part).empty())
    return fail(op, op.getResult(result), "expected a tile of one part");
  StatePlaces places = planStates(op, result, at);
  if (places.empty())
    return fail(op, op.getResult(result), "expected each state to be used at one index of the tile");
  auto done = foldsDone.find(op);
  bool isDone = done != foldsDone.end() && done->second.scope == current && done->second.part == part &&
                llvm::all_of(llvm::zip_equal(places, done->second.places),
                             [](auto pair) { return !std::get<0>(pair) || std::get<0>(pair) == std::get<1>(pair); });
  if (!isDone)
    runFold(op, places, part);
  return tile(op.getFinish().front().getTerminator()->getOperand(result), at);
}

std::optional<Tile> Kernelizer::addToContraction(tg::PointwiseOpInterface op, ArrayRef<AffineExpr> at) {
  if (!isa<tg::AddOp>(op))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto contraction = op->getOperand(i).getDefiningOp<tg::ContractOp>();
    // One rounding less, which a fold's law allows.
    if (!contraction || !foldStep(contraction) || !contraction->hasOneUse() ||
        contraction.getType() != op->getResult(0).getType() ||
        !(contraction.getType().getElementType().isF32() || contraction.getType().getElementType().isF64()))
      continue;
    Value other = op->getOperand(1 - i);
    Tile start = tile(other, composed(tg::detail::broadcastMap(op, 1 - i), at));
    return contract(contraction, canonical(contraction, at),
                    broadcast(start, space.unite(start.lanes, space.lanesOf(at))));
  }
  return std::nullopt;
}

/// Whether the fold's terms enter its contraction in 16 bits: relative errors of 2^-9, beside which those of a power of
/// 2 to 2^-22 are nothing.
static bool hasNarrowTerms(tg::FoldOp op) {
  return llvm::any_of(op.getUpdate().front(), [&](Operation &inner) {
    return isa<tg::ContractOp>(inner) && tg::isStreamed(&inner) &&
           llvm::any_of(inner.getOperands(), [&](Value operand) {
             auto type = dyn_cast<FloatType>(cast<RankedTensorType>(operand.getType()).getElementType());
             return operand.getDefiningOp() && op->isAncestor(operand.getDefiningOp()) && type && type.getWidth() == 16;
           });
  });
}

/// A product with a positive constant: its other operand's number, and the constant.
static std::optional<std::pair<unsigned, double>> findScale(Value value) {
  auto product = value.getDefiningOp<tg::MulOp>();
  for (unsigned i = 0; product && i < 2; ++i)
    if (auto factor = dyn_cast_or_null<FloatAttr>(getSplat(product->getOperand(1 - i))))
      if (double number = factor.getValueAsDouble(); number > 0 && std::isfinite(number))
        return std::pair(i, number);
  return std::nullopt;
}

/// Below, a number times log2(e) overflows f32. Exporters mask by such.
static constexpr double leastLogarithm = -2.3e38;

/// Whether the maximum of a row may be one that low: by a constant, or by what the fold reads beside its GEMMs.
static bool hasFarNumbers(tg::FoldOp op) {
  return llvm::any_of(op.getUpdate().front(), [&](Operation &inner) {
    return !isa<tg::ContractOp>(inner) && llvm::any_of(inner.getOperands(), [&](Value operand) {
      auto type = dyn_cast<FloatType>(cast<RankedTensorType>(operand.getType()).getElementType());
      if (auto number = dyn_cast_or_null<FloatAttr>(getSplat(operand)))
        return std::isfinite(number.getValueAsDouble()) && number.getValueAsDouble() < leastLogarithm;
      Operation *made = operand.getDefiningOp();
      bool isRead = made ? !op->isAncestor(made) : cast<BlockArgument>(operand).getOwner()->getParentOp() != op;
      return isRead && type && (type.isF32() || type.isBF16());
    });
  });
}

std::optional<Tile> Kernelizer::foldExp(tg::PointwiseOpInterface op, ArrayRef<AffineExpr> at) {
  constexpr double log2E = 1.4426950408889634;
  auto owner = dyn_cast<tg::FoldOp>(op->getParentOp());
  auto difference = isa<tg::ExpOp>(op) ? op->getOperand(0).getDefiningOp<tg::SubOp>() : tg::SubOp();
  auto f32 = builder.getF32Type();
  if (!owner || !difference || difference.getType().getElementType() != f32 || !hasNarrowTerms(owner))
    return std::nullopt;
  auto real = [&](OpBuilder &inner, Location loc, double number) -> Value {
    return arith::ConstantOp::create(inner, loc, inner.getF32FloatAttr(float(number)));
  };
  Value term = difference.getLhs();
  Exprs places = composed(tg::detail::broadcastMap(difference, 0), at);
  double scale = log2E;
  if (auto found = findScale(term)) {
    places = composed(tg::detail::broadcastMap(term.getDefiningOp(), found->first), places);
    term = term.getDefiningOp()->getOperand(found->first);
    scale *= found->second;
  }
  // The same number for all terms of a row: what its rounding changes, it changes in the sum as well. Terms of a row
  // whose maximum is masked are that number, or so far below that the base does not matter.
  Tile most = tile(difference.getRhs(), composed(tg::detail::broadcastMap(difference, 1), at));
  bool isFar = hasFarNumbers(owner);
  auto ofRow = [&](double number, bool isShift) {
    return map({most}, f32, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
      auto times = [&](double factor) -> Value {
        return isShift ? arith::MulFOp::create(inner, loc, args[0], real(inner, loc, factor))
                       : real(inner, loc, factor);
      };
      if (!isFar)
        return times(number);
      Value masked =
          arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OLT, args[0], real(inner, loc, leastLogarithm));
      return arith::SelectOp::create(inner, loc, masked, times(number / log2E), times(number));
    });
  };
  SmallVector<Tile> tiles{tile(term, places), ofRow(-log2E, /*isShift=*/true)};
  if (isFar)
    tiles.push_back(ofRow(scale, /*isShift=*/false));
  return map(tiles, f32, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    Value factor = isFar ? args[2] : real(inner, loc, scale);
    Value exponent = math::FmaOp::create(inner, loc, args[0], factor, args[1]);
    return math::Exp2Op::create(inner, loc, exponent, arith::FastMathFlags::afn);
  });
}

} // namespace weft::kernelize
