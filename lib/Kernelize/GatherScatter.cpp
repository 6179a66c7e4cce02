// tg.gather: index tiles become coordinates. tg.scatter: each element of the result looks for the updates that hit it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scatter's result at p is data[p], then for all updates d in row-major order with data_map(d)[indices] = p the
// update. Dimensions of d that the map passes through are known from p; a loop goes over the others. That keeps the
// order of updates, needs no second pass over memory, and lets the result be used at any coordinates.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"

using namespace mlir;

namespace weft::kernelize {

Tile Kernelizer::wrapped(Value indices, ArrayRef<AffineExpr> at, AffineExpr extent, bool clamps) {
  Exprs places = canonical(indices, at);
  Key key = keyOf(indices.getAsOpaquePointer(), places);
  key.push_back(extent.getAsOpaquePointer());
  key.push_back(reinterpret_cast<const void *>(uintptr_t(1) + clamps));
  return memoised(std::move(key), scopeFor(indices, places), indices.getLoc(), [&] {
    Tile raw = tile(indices, places);
    Type wide = raw.element(), type = clamps ? getIndexType(extent) : wide;
    return map({raw, affine(extent, wide)}, type, [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
      Value zero = arith::ConstantOp::create(inner, loc, inner.getIntegerAttr(wide, 0));
      Value isNegative = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt, args[0], zero);
      Value fromEnd = arith::AddIOp::create(inner, loc, args[0], args[1]);
      Value index = arith::SelectOp::create(inner, loc, isNegative, fromEnd, args[0]);
      if (!clamps)
        return index;
      Value one = arith::ConstantOp::create(inner, loc, inner.getIntegerAttr(wide, 1));
      index = arith::MinSIOp::create(inner, loc, index, arith::SubIOp::create(inner, loc, args[1], one));
      index = arith::MaxSIOp::create(inner, loc, index, zero);
      if (type.getIntOrFloatBitWidth() < wide.getIntOrFloatBitWidth())
        return arith::TruncIOp::create(inner, loc, type, index);
      return type == wide ? index : arith::ExtSIOp::create(inner, loc, type, index).getResult();
    });
  });
}

Tile Kernelizer::gather(tg::GatherOp op, ArrayRef<AffineExpr> at) {
  tg::Dims extents = tg::getDims(op.getData().getType());
  Exprs places;
  for (auto [expr, extent] : llvm::zip_equal(op.getDataMap().getResults(), extents)) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expr);
    if (!symbol) {
      places.push_back(space.simplify(expr.replaceDims(at)));
      continue;
    }
    Exprs entry = composed(op.getIndexMap(symbol.getPosition()), at);
    Tile index = wrapped(op.getIndices(), entry, extent, /*clamps=*/true);
    if (tg::getConstant(extent) == 1)
      places.push_back(space.constant(0));
    else
      places.push_back(space.getIndex(index.value, index.lanes, extent,
                                      scopeFor(op.getIndices(), canonical(op.getIndices(), entry))));
  }
  return tile(op.getData(), places);
}

Tile Kernelizer::applyUpdate(tg::ScatterOp op, ArrayRef<AffineExpr> at, ArrayRef<AffineExpr> place,
                             const Constraints &bounds, const Tile &before) {
  tg::Dims extents = tg::getDims(op.getType());
  SmallVector<Tile> hits;
  if (!bounds.empty())
    hits.push_back(guard(bounds));
  for (auto [r, expr] : llvm::enumerate(op.getDataMap().getResults())) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expr);
    if (!symbol)
      continue;
    Tile index = wrapped(op.getIndices(), composed(op.getIndexMap(symbol.getPosition()), place), extents[r], false);
    hits.push_back(map({index, affine(at[r], index.element())}, builder.getI1Type(),
                       [](OpBuilder &inner, Location loc, ValueRange args) -> Value {
                         return arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::eq, args[0], args[1]);
                       }));
  }
  Type element = op.getType().getElementType();
  FloatType compute = tg::getComputeType(element);
  SmallVector<Tile> inputs{before, tile(op.getUpdates(), place)};
  inputs.append(hits);
  return map(inputs, before.element(), [&](OpBuilder &inner, Location loc, ValueRange args) -> Value {
    Value next = args[1];
    if (std::optional<tg::Monoid> kind = op.getKind()) {
      Value lhs = loadScalar(inner, loc, args[0], element, compute),
            rhs = loadScalar(inner, loc, args[1], element, compute);
      next = storeScalar(inner, loc, tg::buildCombine(inner, loc, *kind, lhs, rhs, element), element);
    }
    Value hit;
    for (Value condition : args.drop_front(2))
      hit = hit ? arith::AndIOp::create(inner, loc, hit, condition).getResult() : condition;
    return hit ? arith::SelectOp::create(inner, loc, hit, next, args[0]).getResult() : next;
  });
}

Tile Kernelizer::scatter(tg::ScatterOp op, ArrayRef<AffineExpr> at) {
  tg::Dims extents = tg::getDims(op.getUpdates().getType());
  AffineMap dataMap = op.getDataMap();
  Exprs place(extents.size());
  Constraints bounds;
  for (auto [expr, coordinate] : llvm::zip_equal(dataMap.getResults(), at))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && !place[dim.getPosition()]) {
      place[dim.getPosition()] = coordinate;
      AffineExpr slack = space.simplify(extents[dim.getPosition()] - 1 - coordinate);
      if (!space.isNonNegative(slack))
        bounds.push_back({slack});
    }
  SmallVector<Streamed> dims;
  SmallVector<unsigned> looped;
  for (unsigned d = 0; d < extents.size(); ++d)
    if (!place[d]) {
      looped.push_back(d);
      dims.push_back({extents[d], 1});
    }
  SmallVector<unsigned> lanes = space.lanesOf(at);
  Value before = broadcast(tile(op.getData(), at), lanes).value;
  Scalars after = stream(dims, before, [&](ArrayRef<AffineExpr> places, const Constraints &, ValueRange state) {
    Exprs update = place;
    for (auto [d, counter] : llvm::zip_equal(looped, places))
      update[d] = counter;
    // Results of the map that are functions of the domain must give the index.
    Constraints conditions = bounds;
    for (auto [expr, coordinate] : llvm::zip_equal(dataMap.getResults(), at))
      if (!isa<AffineSymbolExpr>(expr))
        if (AffineExpr difference = space.simplify(expr.replaceDims(update) - coordinate);
            tg::getConstant(difference) != 0)
          conditions.push_back({difference, /*isEquality=*/true});
    Tile next = applyUpdate(op, at, update, conditions, {state[0], lanes});
    return Scalars{broadcast(next, lanes).value};
  });
  return {after[0], lanes};
}

} // namespace weft::kernelize
