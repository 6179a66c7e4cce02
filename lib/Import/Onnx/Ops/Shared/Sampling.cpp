// Builds index and weight tensors of samples, and one gather and one contraction per sampled tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Sampling.h"

using namespace mlir;

namespace weft::onnx {

Value withTapDim(NodeContext &c, Value value) { return value ? c.unsqueeze(value, {c.rank(value)}) : Value(); }

FailureOr<tg::Dims> sampledExtents(NodeContext &c, Value x) {
  constexpr int64_t most = int64_t(1) << 24;
  tg::Dims extents = llvm::to_vector(ArrayRef<AffineExpr>(c.dims(x)).drop_front(2));
  double plane = 1; // Flat indices stay far below 2^63.
  for (AffineExpr extent : extents) {
    std::optional<int64_t> known = tg::getConstant(extent);
    plane *= static_cast<double>(known.value_or(1));
    if ((known && (*known < 1 || *known > most)) || plane > 1e15)
      return c.error("expected spatial extents of `X` in [1, 2^24] and at most 1e15 elements in all");
    if (!known && (failed(c.assumeAtMost(c.constExpr(1), extent, "spatial extent of `X`")) ||
                   failed(c.assumeAtMost(extent, c.constExpr(most), "spatial extent of `X`"))))
      return failure();
  }
  return extents;
}

AxisTaps linearTaps(Expr coordinate, Expr last) {
  NodeContext &c = coordinate.ctx();
  Expr floor = coordinate.unary<tg::FloorOp>();
  Expr fraction = coordinate - floor;
  Expr weight(c,
              c.concat({withTapDim(c, 1.0 - fraction), withTapDim(c, fraction)}, coordinate ? c.rank(coordinate) : 0));
  Expr place(c, withTapDim(c, floor));
  if (!place || !weight)
    return {};
  place = place + Expr(c, floatTable(c, {0.0, 1.0}, {2}, c.elementType(place)));
  Expr inside = place.compare(tg::CmpPredicate::Ge, 0.0) & place.compare(tg::CmpPredicate::Le, last);
  return {place.max(0.0).min(last).cast(c.b.getI64Type()), weight, inside};
}

/// Moves the tap dimension of `value` (its last) to position `i` of `count` trailing tap dimensions.
static Value placeTapDim(NodeContext &c, Value value, size_t i, size_t count) {
  if (!value)
    return {};
  tg::Dims dims = c.dims(value);
  AffineExpr taps = dims.pop_back_val();
  for (size_t d = 0; d < count; ++d)
    dims.push_back(d == i ? taps : c.constExpr(1));
  return c.reshape(value, dims);
}

BoxTaps combineTaps(NodeContext &c, ArrayRef<AxisTaps> axes, ArrayRef<AffineExpr> extents) {
  size_t count = axes.size();
  BoxTaps box;
  box.spatial = count;
  AffineExpr pitch = c.constExpr(1);
  for (size_t i = count; i-- > 0;) {
    auto place = [&](Value value) { return Expr(c, placeTapDim(c, value, i, count)); };
    if (!axes[i].index)
      return {};
    Expr index = place(axes[i].index);
    if (tg::getConstant(pitch) != 1)
      index = index * Expr(c, extentScalar(c, pitch, c.b.getI64Type()));
    box.index = box.index ? Value(Expr(c, box.index) + index) : Value(index);
    if (axes[i].weight)
      box.weight = box.weight ? Value(Expr(c, box.weight) * place(axes[i].weight)) : Value(place(axes[i].weight));
    if (axes[i].inside)
      box.inside = box.inside ? Value(Expr(c, box.inside) & place(axes[i].inside)) : Value(place(axes[i].inside));
    pitch = tg::simplify(pitch * extents[i]);
  }
  return box;
}

/// Gathers the box around each sample: batch.. x channels x samples.. x taps...
static Value gatherBox(NodeContext &c, Value x, int64_t batchDims, Value index) {
  MLIRContext *context = c.b.getContext();
  unsigned rank = c.rank(index) + 1;
  SmallVector<AffineExpr> places, indices;
  tg::Dims dims, indexDims = c.dims(index);
  for (unsigned d = 0; d < rank; ++d) {
    bool channel = d == batchDims;
    AffineExpr dim = getAffineDimExpr(d, context);
    dims.push_back(channel ? c.dim(x, batchDims) : indexDims[d < batchDims ? d : d - 1]);
    if (d <= batchDims)
      places.push_back(dim);
    if (!channel)
      indices.push_back(dim);
  }
  places.push_back(getAffineSymbolExpr(0, context));
  return c.make<tg::GatherOp>(tg::getTensorType(dims, c.elementType(x)), x, index,
                              AffineMapAttr::get(AffineMap::get(rank, 1, places, context)),
                              c.b.getAffineMapArrayAttr({AffineMap::get(rank, 0, indices, context)}));
}

Value sampleBox(NodeContext &c, Value x, int64_t batchDims, const BoxTaps &taps) {
  if (!x || !taps.index)
    return {};
  Expr box(c, gatherBox(c, x, batchDims, taps.index));
  if (taps.inside && box) {
    // A select, not a product: what lies outside may be infinite.
    Expr inside(c, c.unsqueeze(taps.inside, {batchDims}));
    box = inside.select(box, 0.0);
  }
  if (!box)
    return {};
  if (!taps.weight) {
    SmallVector<AffineExpr> dims = llvm::to_vector(ArrayRef<AffineExpr>(c.dims(box)).drop_back(taps.spatial));
    return box.reshape(dims);
  }
  Type compute = c.elementType(taps.weight);
  std::string letters, weightLetters;
  for (int64_t d = 0; d < c.rank(box); ++d) {
    letters.push_back(static_cast<char>('a' + d));
    if (d != batchDims)
      weightLetters.push_back(letters.back());
  }
  std::string result = letters.substr(0, letters.size() - taps.spatial);
  return c.contract(box.cast(compute), taps.weight, letters + "," + weightLetters + "->" + result, compute);
}

} // namespace weft::onnx
