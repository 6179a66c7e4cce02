// Affine views compose coordinates; pad and concat choose.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace weft::kernelize {

Exprs Kernelizer::composed(AffineMap map, ArrayRef<AffineExpr> at) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) { return space.simplify(expr.replaceDims(at)); });
}

std::optional<Exprs> Kernelizer::throughView(Operation *op, ArrayRef<AffineExpr> at) {
  if (auto reshape = dyn_cast<tg::ReshapeOp>(op))
    return reshaped(reshape.getInput().getType(), reshape.getType(), at);
  if (!isa<tg::TransposeOp, tg::BroadcastOp, tg::SliceOp, tg::WindowOp>(op))
    return std::nullopt;
  return composed(*cast<tg::TileOpInterface>(op).getOperandMap(0), at);
}

Exprs Kernelizer::reshaped(Type fromType, Type toType, ArrayRef<AffineExpr> at) {
  tg::Dims from = tg::getDims(fromType), to = tg::getDims(toType);
  Exprs result(from.size(), space.constant(0));
  for (const tg::ReshapeSegment &segment : tg::splitReshape(from, to)) {
    AffineExpr place = space.constant(0);
    for (size_t d = segment.toBegin; d < segment.toEnd; ++d)
      place = place * to[d] + at[d];
    place = space.simplify(place);
    for (size_t d = segment.fromEnd; d-- > segment.fromBegin;) {
      if (d == segment.fromBegin) {
        result[d] = place;
        break;
      }
      result[d] = space.simplify(place % from[d]);
      place = space.simplify(place.floorDiv(from[d]));
    }
  }
  return result;
}

Tile Kernelizer::bitcastTile(tg::BitcastOp op, const Tile &input) {
  Type to = getHeldType(op.getType().getElementType());
  if (input.element() == to)
    return input;
  return map({input}, to, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    return arith::BitcastOp::create(inner, loc, to, args[0]);
  });
}

Tile Kernelizer::bitcast(tg::BitcastOp op, ArrayRef<AffineExpr> at) { return bitcastTile(op, tile(op.getInput(), at)); }

std::pair<Exprs, Constraints> Kernelizer::throughPad(tg::PadOp op, ArrayRef<AffineExpr> at) {
  Exprs places;
  Constraints constraints;
  tg::Dims dims = tg::getDims(op.getInput().getType());
  for (auto [d, place] : llvm::enumerate(at)) {
    AffineExpr inner = space.simplify(place - op.getLow()[d]);
    int64_t step = op.getInterior()[d] + 1;
    if (step != 1) {
      constraints.push_back({space.simplify(inner % step), /*isEquality=*/true});
      inner = space.simplify(inner.floorDiv(step));
    }
    if (!space.isNonNegative(inner))
      constraints.push_back({inner});
    if (AffineExpr slack = space.simplify(dims[d] - 1 - inner); !space.isNonNegative(slack))
      constraints.push_back({slack});
    places.push_back(inner);
  }
  return {places, constraints};
}

Tile Kernelizer::pad(tg::PadOp op, ArrayRef<AffineExpr> at) {
  auto [places, constraints] = throughPad(op, at);
  if (TypedAttr fill = getSplat(op.getValue()))
    return masked(op.getInput(), places, constraints, fill);
  if (constraints.empty())
    return tile(op.getInput(), places);
  Tile inner = tile(op.getInput(), places), value = tile(op.getValue(), {}), inside = guard(constraints);
  return select(inside, inner, value);
}

Tile Kernelizer::concat(tg::ConcatOp op, ArrayRef<AffineExpr> at) {
  size_t axis = op.getAxis();
  AffineExpr end = space.constant(0);
  SmallVector<std::pair<Tile, AffineExpr>> parts; // With the elements left before the part's end.
  for (Value input : op.getInputs()) {
    AffineExpr begin = end, extent = tg::getDim(input.getType(), axis);
    end = space.simplify(end + extent);
    if (tg::getConstant(extent) == 0)
      continue;
    Exprs places(at);
    // One position wherever it is asked for: it is computed once, not for each coordinate.
    places[axis] = tg::getConstant(extent) == 1 ? space.constant(0) : space.simplify(at[axis] - begin);
    // Parts that these coordinates cannot reach.
    if (space.isNonNegative(begin - 1 - at[axis]) || space.isNonNegative(at[axis] - end))
      continue;
    parts.push_back({tile(input, places), space.simplify(end - 1 - at[axis])});
  }
  if (parts.empty())
    return constant(getZero(getHeldType(op.getType().getElementType())));
  Tile result = parts.back().first;
  for (auto &[part, slack] : llvm::reverse(ArrayRef(parts).drop_back()))
    result = select(guard({{slack}}), part, result);
  return result;
}

} // namespace weft::kernelize
