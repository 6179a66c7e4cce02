// tg.scan and tg.top_k: along an axis that lies whole in the tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exclusive scan is the inclusive scan of the operand moved by one element, with the identity at the start. A scan
// whose axis is in no tile (or is read through a view) is computed as what it says: each element combines the elements
// before it.
#include "Order.h"
#include "Kernelizer.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::kernelize {

std::optional<unsigned> Kernelizer::wholeLane(AffineExpr place, AffineExpr extent) {
  auto symbol = dyn_cast<AffineSymbolExpr>(place);
  std::optional<int64_t> places = tg::getConstant(extent);
  if (!symbol || !places)
    return std::nullopt;
  const Atom &atom = space.atom(place);
  if (atom.kind != Atom::Kind::Axis || tg::getConstant(atom.base) != 0 || atom.divisor != 1 || atom.tile < *places ||
      space.lane(atom.lanes.front()).extent != atom.tile)
    return std::nullopt;
  return atom.lanes.front();
}

Tile Kernelizer::scanTile(tg::ScanOp op, ArrayRef<AffineExpr> at, unsigned lane) {
  Type element = op.getType().getElementType(), accumulator = getAccumulator(element);
  int64_t axis = op.getAxis();
  AffineExpr extent = tg::getDim(op.getType(), axis);
  Exprs places(at);
  Constraints mask;
  if (op.getExclusive()) {
    places[axis] = space.simplify(at[axis] + (op.getReverse() ? 1 : -1));
    mask.push_back({op.getReverse() ? space.simplify(extent - 1 - places[axis]) : places[axis]});
  } else if (op.getReverse()) {
    mask = space.ragged(at[axis]);
  }
  Tile input = masked(op.getInput(), places, mask, getIdentity(op.getKind(), element));
  input = toAccumulator(input, element, accumulator);
  input = broadcast(input, space.unite(input.lanes, lane));
  int64_t dim = llvm::find(input.lanes, lane) - input.lanes.begin();
  auto scanned = tk::ScanOp::create(builder, input.value.getType(), input.value, dim, op.getReverse());
  Block &block = scanned.getCombiner().emplaceBlock();
  block.addArguments({accumulator, accumulator}, {op.getLoc(), op.getLoc()});
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value sum = tg::buildCombine(inner, op.getLoc(), op.getKind(), block.getArgument(0), block.getArgument(1), element);
  tk::YieldOp::create(inner, op.getLoc(), sum);
  return fromAccumulator({scanned, input.lanes}, element);
}

Tile Kernelizer::scanByLoop(tg::ScanOp op, ArrayRef<AffineExpr> at) {
  Type element = op.getType().getElementType(), accumulator = getAccumulator(element);
  int64_t axis = op.getAxis();
  constexpr int64_t longest = int64_t(1) << 20; // Work grows by the square.
  if (std::optional<int64_t> extent = tg::getConstant(tg::getDim(op.getType(), axis)); extent && *extent > longest)
    return fail(op, op, "expected an axis of at most " + Twine(longest) + " elements, got " + Twine(*extent));
  SmallVector<unsigned> lanes = space.lanesOf(at);
  TypedAttr identity = getIdentity(op.getKind(), element);
  Tile start = toAccumulator(constant(identity, lanes), element, accumulator);
  Scalars sums =
      stream(Streamed{tg::getDim(op.getType(), axis), 1}, broadcast(start, lanes).value,
             [&](ArrayRef<AffineExpr> steps, const Constraints &, ValueRange state) {
               Exprs places(at);
               places[axis] = steps[0];
               AffineExpr distance = op.getReverse() ? steps[0] - at[axis] : at[axis] - steps[0];
               Constraints mask{{space.simplify(distance - (op.getExclusive() ? 1 : 0))}};
               Tile part = toAccumulator(masked(op.getInput(), places, mask, identity), element, accumulator);
               return Scalars{map({{state[0], lanes}, broadcast(part, lanes)}, accumulator,
                                  [&](OpBuilder &inner, Location loc, ValueRange args) {
                                    return tg::buildCombine(inner, loc, op.getKind(), args[0], args[1], element);
                                  })
                                  .value};
             });
  return fromAccumulator({sums[0], lanes}, element);
}

Tile Kernelizer::scan(tg::ScanOp op, ArrayRef<AffineExpr> at) {
  int64_t axis = op.getAxis();
  if (!getIdentity(op.getKind(), op.getType().getElementType()))
    return fail(op, op, "the monoid is not defined on the element type");
  std::optional<unsigned> lane = wholeLane(at[axis], tg::getDim(op.getType(), axis));
  Exprs others(at);
  others.erase(others.begin() + axis);
  if (lane && !llvm::is_contained(space.lanesOf(others), *lane))
    return scanTile(op, at, *lane);
  return scanByLoop(op, at);
}

SmallVector<Tile> Kernelizer::sorted(tg::TopKOp op, ArrayRef<AffineExpr> at, const Order &order) {
  int64_t axis = op.getAxis();
  AffineExpr extent = tg::getDim(op.getInput().getType(), axis);
  unsigned lane = space.atom(at[axis]).lanes.front();
  Type accumulator = getAccumulator(order.element), indexType = getIndexType(extent);
  // The same lane, along the operand's longer axis.
  Exprs places(at);
  places[axis] = space.getAxis(extent, space.constant(0), space.lane(lane).extent, lane, 1, &root);
  Tile values = masked(op.getInput(), places, space.ragged(places[axis]), order.last());
  values = toAccumulator(values, order.element, accumulator);
  SmallVector<unsigned> lanes = space.unite(values.lanes, lane);
  Value inputs[] = {broadcast(values, lanes).value, broadcast(affine(places[axis], indexType), lanes).value};
  int64_t dim = llvm::find(lanes, lane) - lanes.begin();
  auto sort = tk::SortOp::create(builder, TypeRange(ValueRange(inputs)), inputs, dim);
  Block &block = sort.getBefore().emplaceBlock();
  for (int side = 0; side < 2; ++side)
    block.addArguments({accumulator, indexType}, {op.getLoc(), op.getLoc()});
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  Value before = order.precedes(inner, op.getLoc(), block.getArgument(0), block.getArgument(1), block.getArgument(2),
                                block.getArgument(3));
  tk::YieldOp::create(inner, op.getLoc(), before);
  return {{sort.getResult(0), lanes}, {sort.getResult(1), lanes}};
}

Tile Kernelizer::topK(tg::TopKOp op, unsigned result, ArrayRef<AffineExpr> at) {
  int64_t axis = op.getAxis();
  Type element = op.getInput().getType().getElementType();
  // NaN is the largest element.
  Order order{element, op.getLargest(), /*nanIsFirst=*/op.getLargest()};
  AffineExpr extent = tg::getDim(op.getInput().getType(), axis);
  std::optional<unsigned> lane = wholeLane(at[axis], extent);
  bool isFirst = tg::getConstant(at[axis]) == 0;
  if (!lane && !isFirst)
    return fail(op, op.getResult(result), "expected a tile that holds the whole axis of the operand");
  Key key = keyOf(op.getOperation(), at);
  auto partOf = [&](unsigned part) {
    Key each = key;
    each.push_back(reinterpret_cast<const void *>(uintptr_t(1) + part));
    return each;
  };
  Scope *scope = scopeFor(op.getResult(result), at);
  if (!scope->tiles.count(partOf(0))) {
    Exprs kept(at);
    kept.erase(kept.begin() + axis);
    SmallVector<Tile> both = isFirst ? findFirst(op, axis, kept, order) : sorted(op, at, order);
    scope->tiles[partOf(0)] = both[0];
    scope->tiles[partOf(1)] = both[1];
  }
  Tile part = scope->tiles[partOf(result)];
  return result == 0 ? fromAccumulator(part, element) : toAccumulator(part, builder.getI64Type(), builder.getI64Type());
}

} // namespace weft::kernelize
