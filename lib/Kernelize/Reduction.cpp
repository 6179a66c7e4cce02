// tg.reduce and tg.arg_reduce: tiles combined along their lanes, and in a loop where a tile does not hold the row.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "Order.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::kernelize {

unsigned Kernelizer::reductionLane(int64_t extent, double key, ArrayRef<unsigned> taken) {
  for (unsigned lane : reductionLanes)
    if (space.lane(lane).extent == extent && space.lane(lane).key == key && !llvm::is_contained(taken, lane))
      return lane;
  reductionLanes.push_back(space.addLane(extent, key, &root));
  return reductionLanes.back();
}

SmallVector<Streamed> Kernelizer::planReduction(Operation *op, ArrayRef<int64_t> axes, ArrayRef<AffineExpr> kept) {
  constexpr int64_t defaultStep = 1024;
  constexpr double afterSinks = 1000;
  tg::Dims dims = tg::getDims(op->getOperand(0).getType());
  SmallVector<unsigned> taken = space.lanesOf(kept);
  SmallVector<Streamed> result;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    // A reduced dimension that the results have goes by their tile, in the same lane: equal elements then are equal
    // tiles.
    std::optional<unsigned> sink = access.findAlong(op, axis);
    int64_t step = sink                              ? schedule.getTile()[*sink]
                   : i < schedule.getStream().size() ? schedule.getStream()[i]
                                                     : defaultStep;
    step = fittingStep(dims[axis], step);
    Streamed dim{dims[axis], step};
    if (step > 1) {
      std::optional<unsigned> lane = sink ? sinkLanes[*sink] : std::nullopt;
      bool fits = lane && space.lane(*lane).extent == step && !llvm::is_contained(taken, *lane);
      dim.lane = fits ? *lane : reductionLane(step, afterSinks + axis, taken);
      taken.push_back(dim.lane);
    }
    result.push_back(dim);
  }
  return result;
}

static SmallVector<unsigned> lanesOf(ArrayRef<Streamed> dims) {
  SmallVector<unsigned> lanes;
  for (const Streamed &dim : dims)
    if (dim.step > 1)
      lanes.push_back(dim.lane);
  return lanes;
}

/// Whether one step goes through all dimensions.
static bool isWhole(ArrayRef<Streamed> dims) {
  return llvm::all_of(dims, [](const Streamed &dim) {
    std::optional<int64_t> extent = tg::getConstant(dim.extent);
    return extent && *extent > 0 && *extent <= dim.step;
  });
}

/// The coordinates with `places` put in at `axes`, which are sorted.
static Exprs withPlaces(ArrayRef<AffineExpr> kept, ArrayRef<int64_t> axes, ArrayRef<AffineExpr> places) {
  Exprs result(kept);
  for (auto [axis, place] : llvm::zip_equal(axes, places))
    result.insert(result.begin() + axis, place);
  return result;
}

/// The coordinates of a reduction's result without those of reduced dimensions.
static Exprs keptPlaces(ArrayRef<AffineExpr> at, ArrayRef<int64_t> axes, bool keepDims) {
  Exprs kept;
  for (auto [d, place] : llvm::enumerate(at))
    if (!keepDims || !llvm::is_contained(axes, int64_t(d)))
      kept.push_back(place);
  return kept;
}

Tile Kernelizer::reduce(tg::ReduceOp op, ArrayRef<AffineExpr> at) {
  Type element = op.getInput().getType().getElementType(), accumulator = getAccumulator(element);
  TypedAttr identity = getIdentity(op.getKind(), element), start = identity;
  if (auto real = dyn_cast_or_null<FloatAttr>(identity); real && real.getType() != accumulator)
    start = FloatAttr::get(accumulator, real.getValueAsDouble());
  if (!identity)
    return fail(op, op, "the monoid is not defined on the element type");
  ArrayRef<int64_t> axes = op.getAxes();
  Exprs kept = keptPlaces(at, axes, op.getKeepDims());
  auto combine = [&](OpBuilder &inner, Location loc, ValueRange args) -> Scalars {
    return {tg::buildCombine(inner, loc, op.getKind(), args[0], args[1], element)};
  };
  if (std::optional<TilePart> part = findTilePart(op); part && canonical(op, part->places) == Exprs(at)) {
    Tile sum = toAccumulator(tile(op.getInput(), withPlaces(kept, axes, part->reduced)), element, accumulator);
    sum = broadcast(sum, space.unite(sum.lanes, part->lane));
    return fromAccumulator(combineLanes(sum, part->lane, combine).front(), element);
  }
  SmallVector<Streamed> dims = planReduction(op, axes, kept);
  SmallVector<unsigned> reduced = lanesOf(dims), lanes = space.unite(space.lanesOf(kept), reduced);
  auto partAt = [&](ArrayRef<AffineExpr> places, const Constraints &mask) {
    Tile part = masked(op.getInput(), withPlaces(kept, axes, places), mask, identity);
    part = toAccumulator(part, element, accumulator);
    return broadcast(part, space.unite(part.lanes, reduced));
  };
  Tile sum;
  if (std::optional<AffineExpr> step = foldStep(op)) {
    if (axes.size() != 1)
      return fail(op, op, "expected one streamed dimension");
    sum = masked(op.getInput(), withPlaces(kept, axes, *step), space.ragged(*step), identity);
    sum = toAccumulator(sum, element, accumulator);
    reduced = space.lanesOf(*step);
    sum = broadcast(sum, space.unite(sum.lanes, reduced));
  } else if (isWhole(dims)) {
    stream(dims, {}, [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange) {
      sum = partAt(places, mask);
      return Scalars();
    });
  } else {
    Scalars sums = stream(dims, constant(start, lanes).value,
                          [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange state) {
                            Tile part = broadcast(partAt(places, mask), lanes);
                            return Scalars{map({{state[0], lanes}, part}, accumulator, combine).front().value};
                          });
    sum = {sums[0], lanes};
  }
  return fromAccumulator(combineLanes(sum, reduced, combine).front(), element);
}

//===-- The first element in an order -----------------------------------------------------------------------------===//

Value Order::better(OpBuilder &builder, Location loc, Value x, Value y) const {
  if (!isa<FloatType>(element)) {
    using P = arith::CmpIPredicate;
    bool isUnsigned = tg::isUnsignedElement(element);
    P greater = isUnsigned ? P::ugt : P::sgt, less = isUnsigned ? P::ult : P::slt;
    return arith::CmpIOp::create(builder, loc, largest ? greater : less, x, y);
  }
  using P = arith::CmpFPredicate;
  Value wins = arith::CmpFOp::create(builder, loc, largest ? P::OGT : P::OLT, x, y);
  Value nan = nanIsFirst ? x : y, number = nanIsFirst ? y : x;
  Value isNan = arith::CmpFOp::create(builder, loc, P::UNO, nan, nan);
  Value isNumber = arith::CmpFOp::create(builder, loc, P::ORD, number, number);
  return arith::OrIOp::create(builder, loc, wins, arith::AndIOp::create(builder, loc, isNan, isNumber));
}

Value Order::precedes(OpBuilder &builder, Location loc, Value x, Value i, Value y, Value j) const {
  auto earlier = lastIndex ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
  Value before = arith::CmpIOp::create(builder, loc, earlier, i, j);
  Value worse = better(builder, loc, y, x);
  Value yes = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  Value notWorse = arith::XOrIOp::create(builder, loc, worse, yes);
  Value tie = arith::AndIOp::create(builder, loc, notWorse, before);
  return arith::OrIOp::create(builder, loc, better(builder, loc, x, y), tie);
}

TypedAttr Order::last() const {
  auto real = dyn_cast<FloatType>(element);
  if (real && !nanIsFirst)
    return FloatAttr::get(real, APFloat::getNaN(real.getFloatSemantics()));
  return getIdentity(largest ? tg::Monoid::Max : tg::Monoid::Min, element);
}

TypedAttr Order::noIndex(Type type) const {
  unsigned bits = type.getIntOrFloatBitWidth();
  return IntegerAttr::get(type, lastIndex ? APInt::getAllOnes(bits) : APInt::getSignedMaxValue(bits));
}

SmallVector<Tile> Kernelizer::findFirst(Operation *op, int64_t axis, ArrayRef<AffineExpr> kept, const Order &order) {
  Value input = op->getOperand(0);
  Type accumulator = getAccumulator(order.element), indexType = getIndexType(tg::getDim(input.getType(), axis));
  SmallVector<Streamed> dims = planReduction(op, axis, kept);
  SmallVector<unsigned> reduced = lanesOf(dims), lanes = space.unite(space.lanesOf(kept), reduced);
  auto combine = [&](OpBuilder &inner, Location loc, ValueRange args) -> Scalars {
    Value takes = order.precedes(inner, loc, args[0], args[1], args[2], args[3]);
    return {arith::SelectOp::create(inner, loc, takes, args[0], args[2]),
            arith::SelectOp::create(inner, loc, takes, args[1], args[3])};
  };
  Type types[] = {accumulator, indexType};
  Tile last = toAccumulator(constant(order.last(), lanes), order.element, accumulator);
  Scalars init{last.value, constant(order.noIndex(indexType), lanes).value};
  Scalars best = stream(dims, init, [&](ArrayRef<AffineExpr> places, const Constraints &mask, ValueRange state) {
    Tile part = masked(input, withPlaces(kept, axis, places), mask, order.last());
    part = broadcast(toAccumulator(part, order.element, accumulator), lanes);
    Tile place = affine(places[0], indexType);
    if (!mask.empty())
      place = select(guard(mask), place, constant(order.noIndex(indexType)));
    place = broadcast(place, lanes);
    if (isWhole(dims))
      return Scalars{part.value, place.value};
    SmallVector<Tile> next = map({{state[0], lanes}, {state[1], lanes}, part, place}, types, combine);
    return Scalars{next[0].value, next[1].value};
  });
  return combineLanes({{best[0], lanes}, {best[1], lanes}}, reduced, combine);
}

Tile Kernelizer::argReduce(tg::ArgReduceOp op, ArrayRef<AffineExpr> at) {
  int64_t axis = op.getAxis();
  Order order{op.getInput().getType().getElementType(), op.getKind() == tg::Monoid::Max, /*nanIsFirst=*/true,
              op.getSelectLast()};
  Tile index = findFirst(op, axis, keptPlaces(at, axis, op.getKeepDims()), order)[1];
  return toAccumulator(index, builder.getI64Type(), builder.getI64Type());
}

} // namespace weft::kernelize
