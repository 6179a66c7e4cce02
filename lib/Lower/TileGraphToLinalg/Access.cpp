// Composition of views into the indexing maps of the ops that read them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only views whose composition keeps maps that later stages handle well take part: permutations, broadcasts, unit
// dimensions and windows. A slice with positive strides is a tensor.extract_slice instead, which keeps the readers'
// maps projected permutations.
#include "Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

static AffineMap withResults(AffineMap map, ArrayRef<AffineExpr> results) {
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results, map.getContext());
}

static AffineMap throughTranspose(tg::TransposeOp op, AffineMap map) {
  SmallVector<AffineExpr> results(map.getNumResults());
  for (auto [d, source] : llvm::enumerate(op.getPermutation()))
    results[source] = map.getResult(d);
  return withResults(map, results);
}

static AffineMap throughBroadcast(tg::BroadcastOp op, AffineMap map) {
  SmallVector<AffineExpr> results;
  auto type = op.getInput().getType();
  unsigned leading = map.getNumResults() - type.getRank();
  for (auto [d, extent] : llvm::enumerate(type.getShape())) {
    bool stretched = extent == 1 && op.getType().getDimSize(leading + d) != 1;
    results.push_back(stretched ? getAffineConstantExpr(0, op.getContext()) : map.getResult(leading + d));
  }
  return withResults(map, results);
}

static AffineMap throughWindow(tg::WindowOp op, AffineMap map) {
  unsigned rank = op.getInput().getType().getRank();
  SmallVector<AffineExpr> results(map.getResults().take_front(rank));
  for (auto [j, d] : llvm::enumerate(op.getDims()))
    results[d] = results[d] * op.getStrides()[j] + map.getResult(rank + j) * op.getDilations()[j];
  return withResults(map, results);
}

/// The result of `expand` that holds its group's elements; none if the group splits a dimension in earnest.
static std::optional<int64_t> soleDim(tensor::ExpandShapeOp expand, ArrayRef<int64_t> group) {
  std::optional<int64_t> sole;
  for (int64_t d : group) {
    if (expand.getResultType().getDimSize(d) == 1)
      continue;
    if (sole)
      return std::nullopt;
    sole = d;
  }
  return sole ? sole : std::optional<int64_t>(group.front());
}

/// Whether every dimension that stands alone in `before` still does in `after`.
static bool keepsDims(AffineMap before, AffineMap after) {
  return llvm::all_of(before.getResults(), [&](AffineExpr expr) {
    return !isa<AffineDimExpr>(expr) || llvm::is_contained(after.getResults(), expr);
  });
}

/// Reads under a tensor.expand_shape that only adds extents of 1.
static Access throughUnitDims(Access access) {
  while (auto expand = access.tensor.getDefiningOp<tensor::ExpandShapeOp>()) {
    SmallVector<AffineExpr> results;
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      std::optional<int64_t> dim = soleDim(expand, group);
      if (!dim)
        return access;
      results.push_back(access.map.getResult(*dim));
    }
    AffineMap map = withResults(access.map, results);
    if (!keepsDims(access.map, map))
      return access;
    access = {expand.getSrc(), map};
  }
  return access;
}

Access resolveAccess(ConversionPatternRewriter &rewriter, Value value, AffineMap map) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto transpose = dyn_cast<tg::TransposeOp>(op))
      map = throughTranspose(transpose, map);
    else if (auto broadcast = dyn_cast<tg::BroadcastOp>(op))
      map = throughBroadcast(broadcast, map);
    else if (auto window = dyn_cast<tg::WindowOp>(op))
      map = throughWindow(window, map);
    else
      break;
    value = op->getOperand(0);
  }
  return throughUnitDims({rewriter.getRemappedValue(value), map});
}

} // namespace weft::lower
