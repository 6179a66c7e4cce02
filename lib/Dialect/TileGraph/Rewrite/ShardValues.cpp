// Values of a rank in the share that somebody wants: parts of weights, and collectives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphBuilder.h"
#include "ShardProgram.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/WeightPart.h"
#include <numeric>

using namespace mlir;

namespace weft::tg {

double estimateBytes(Type type) {
  double bytes = double(getElementBits(cast<RankedTensorType>(type).getElementType())) / 8;
  for (AffineExpr dim : getDims(type))
    bytes *= double(estimateExtent(dim));
  return bytes;
}

void ShardedValues::set(Value value, Value local, Share share, std::optional<Monoid> partial) {
  states[value] = {local, share, partial};
}

Share ShardedValues::getShare(Value value) const { return states.lookup(value).share; }

std::optional<Monoid> ShardedValues::getPartial(Value value) const { return states.lookup(value).partial; }

bool isFree(Value value) {
  auto weight = value.getDefiningOp<WeightOp>();
  if (!(weight && !weight.getOrder()) && !value.getDefiningOp<ConstantOp>())
    return false;
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return getElementBits(element) % 8 == 0 || element.isInteger(1);
}

//===--- Weights and constants ---===//

/// Part p of dimension `dim` on rank p, of the bytes [offset, ...) of `source`.
Value ShardedValues::splitWeight(Value value, StringRef source, int64_t offset, int64_t dim) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<int64_t> shape = type.getShape();
  auto product = [](ArrayRef<int64_t> extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  };
  int64_t bytes = std::max<int64_t>(getElementBits(type.getElementType()) / 8, 1);
  WeightPart part;
  part.source = source.str();
  part.offset = offset;
  part.outer = product(shape.take_front(dim));
  part.parts = ranks;
  part.piece = shape[dim] / ranks * product(shape.drop_front(dim + 1)) * bytes;
  auto data = DataAttr::get(value.getContext(), part.getName(), 0, part.outer * part.piece);
  return WeightOp::create(builder, value.getLoc(), getPartType(type, dim, ranks), data);
}

/// Beside the whole: planning takes weights to be in front of what reads them.
Value ShardedValues::splitFree(Value value, int64_t dim) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  if (auto weight = value.getDefiningOp<WeightOp>())
    return splitWeight(value, weight.getData().getSource(), weight.getData().getOffset(), dim);
  auto constant = value.getDefiningOp<ConstantOp>();
  if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
    return ConstantOp::create(builder, value.getLoc(), splat.resizeSplat(getPartType(value.getType(), dim, ranks)));
  auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!dense)
    return {};
  std::string bytes;
  if (dense.getElementType().isInteger(1))
    for (bool bit : dense.getValues<bool>())
      bytes.push_back(char(bit));
  else
    bytes.assign(dense.getRawData().begin(), dense.getRawData().end());
  auto *dialect = value.getContext()->getLoadedDialect<TileGraphDialect>();
  return splitWeight(value, dialect->getWeightStore().addBuffer(std::move(bytes)), 0, dim);
}

//===--- Views around collectives ---===//

/// Dimension `dim` cut in parts, which come first.
Value ShardedValues::toParts(Value whole, int64_t dim, Location loc) {
  GraphBuilder b{builder, loc};
  Dims dims = getDims(whole.getType());
  AffineExpr part = simplify(dims[dim].floorDiv(ranks));
  dims[dim] = part;
  dims.insert(dims.begin() + dim, builder.getAffineConstantExpr(ranks));
  Value cut = b.reshape(whole, dims);
  SmallVector<int64_t> order = {dim};
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    if (d != dim)
      order.push_back(d);
  return dim == 0 ? cut : b.op<TransposeOp>(cut, order);
}

/// What `toParts` took apart.
Value ShardedValues::fromParts(Value parts, int64_t dim, Location loc) {
  GraphBuilder b{builder, loc};
  SmallVector<int64_t> order;
  for (int64_t d = 1; d < b.rankOf(parts); ++d) {
    if (d == dim + 1)
      order.push_back(0);
    order.push_back(d);
  }
  Value inPlace = dim == 0 ? parts : b.op<TransposeOp>(parts, order);
  Dims dims = getDims(inPlace.getType());
  dims[dim] = simplify(dims[dim] * dims[dim + 1]);
  dims.erase(dims.begin() + dim + 1);
  return b.reshape(inPlace, dims);
}

Value ShardedValues::convert(const State &state, Share share, Location loc) {
  GraphBuilder b{builder, loc};
  Value local = state.local;
  auto dropFirst = [](Value value) {
    return getTensorType(ArrayRef(getDims(value.getType())).drop_front(),
                         cast<RankedTensorType>(value.getType()).getElementType());
  };
  if (state.partial && !share.isSplit())
    return b.op<AllReduceOp>(local.getType(), *state.partial, local, ranks);
  if (state.partial) {
    Value parts = toParts(local, share.dim, loc);
    return b.op<ReduceScatterOp>(dropFirst(parts), *state.partial, parts);
  }
  if (!state.share.isSplit()) {
    Value parts = toParts(local, share.dim, loc);
    return b.op<OwnPartOp>(dropFirst(parts), parts);
  }
  if (!share.isSplit()) {
    Dims dims = getDims(local.getType());
    dims.insert(dims.begin(), builder.getAffineConstantExpr(ranks));
    Value all = b.op<AllGatherOp>(getTensorType(dims, b.elementOf(local)), local);
    return fromParts(all, state.share.dim, loc);
  }
  Value parts = toParts(local, share.dim, loc);
  return fromParts(b.op<AllToAllOp>(parts.getType(), parts), state.share.dim, loc);
}

Value ShardedValues::get(Value value, Share share, Location loc) {
  State state = states.lookup(value);
  if (state.share == share && !state.partial)
    return state.local;
  Value &result = made[{value, share.dim}];
  if (!result && share.isSplit() && !state.share.isSplit() && isFree(value))
    result = splitFree(value, share.dim);
  if (!result)
    result = convert(state, share, loc);
  return result;
}

} // namespace weft::tg
