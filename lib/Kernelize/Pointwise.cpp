// Elementwise ops, and values that are made of indices and constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileGraph/IR/Implied.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::kernelize {

Tile Kernelizer::apply(tg::PointwiseOpInterface op, ArrayRef<Tile> operands) {
  FloatType compute = tg::getComputeType(op.getOperation());
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return map(operands, getHeldType(element), [&](OpBuilder &inner, Location loc, ValueRange args) {
    Scalars scalars;
    for (auto [operand, arg] : llvm::zip_equal(op->getOperands(), args))
      scalars.push_back(
          loadScalar(inner, loc, arg, cast<RankedTensorType>(operand.getType()).getElementType(), compute));
    return storeScalar(inner, loc, op.buildScalar(inner, loc, scalars, compute), element);
  });
}

Tile Kernelizer::pointwise(tg::PointwiseOpInterface op, ArrayRef<AffineExpr> at) {
  if (op->hasAttr(tg::impliedAttr))
    return tile(op->getOperand(0), composed(tg::detail::broadcastMap(op, 0), at));
  if (std::optional<Tile> sum = addToContraction(op, at))
    return *sum;
  if (std::optional<Tile> power = foldExp(op, at))
    return *power;
  if (auto cmp = dyn_cast<tg::CmpOp>(op.getOperation())) // Of indices: one comparison in index arithmetic.
    if (Constraints known = indexCondition(cmp, at); !known.empty())
      return guard(known);
  SmallVector<Tile> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(tile(operand, composed(tg::detail::broadcastMap(op, i), at)));
  return apply(op, operands);
}

/// An integer of indices as an element.
static Value convertIndex(OpBuilder &builder, Location loc, Value index, Type element) {
  if (isa<FloatType>(element)) {
    FloatType compute = tg::getComputeType(element);
    return storeScalar(builder, loc, arith::SIToFPOp::create(builder, loc, compute, index), element);
  }
  Type held = getHeldType(element);
  unsigned from = index.getType().getIntOrFloatBitWidth(), to = held.getIntOrFloatBitWidth();
  if (from == to)
    return index;
  if (from > to)
    return arith::TruncIOp::create(builder, loc, held, index);
  return arith::ExtSIOp::create(builder, loc, held, index);
}

Tile Kernelizer::iota(tg::IotaOp op, ArrayRef<AffineExpr> at) {
  Type element = op.getType().getElementType();
  Tile index = affine(at[op.getAxis()], getIndexType(tg::getDim(op.getType(), op.getAxis())));
  if (index.element() == getHeldType(element))
    return index;
  return map({index}, getHeldType(element), [&](OpBuilder &inner, Location loc, ValueRange args) {
    return convertIndex(inner, loc, args[0], element);
  });
}

/// entries[index]; the last one beyond.
Tile Kernelizer::choose(AffineExpr place, ArrayRef<Tile> entries) {
  if (auto constant = tg::getConstant(place); constant && *constant >= 0 && *constant < int64_t(entries.size()))
    return entries[*constant];
  Tile result = entries.back();
  for (size_t i = entries.size() - 1; i-- > 0;)
    result = select(guard({{place - int64_t(i), /*isEquality=*/true}}), entries[i], result);
  return result;
}

Tile Kernelizer::extents(tg::ExtentsOp op, ArrayRef<AffineExpr> at) {
  if (op.getMap().getNumResults() == 0)
    return constant(builder.getI64IntegerAttr(0));
  SmallVector<Tile> entries;
  for (AffineExpr extent : op.getMap().getResults())
    entries.push_back(affine(extent, builder.getI64Type()));
  return choose(at[0], entries);
}

Tile Kernelizer::contents(tg::ConstantOp op, ArrayRef<AffineExpr> at) {
  constexpr int64_t limit = 64; // One select for each element.
  Type element = op.getType().getElementType();
  if (TypedAttr splat = getSplat(op))
    return constant(splat);
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || elements.getNumElements() > limit)
    return fail(op, op, "expected a constant of one value or of at most 64 elements");
  if (elements.getNumElements() == 0)
    return constant(getZero(getHeldType(element)));
  SmallVector<Tile> entries;
  for (Attribute value : elements.getValues<Attribute>())
    entries.push_back(constant(getHeldAttr(value, element)));
  AffineExpr place = space.constant(0);
  for (auto [coordinate, extent] : llvm::zip_equal(at, tg::getDims(op.getType())))
    place = place * extent + coordinate;
  return choose(space.simplify(place), entries);
}

} // namespace weft::kernelize
