// Canonicalisation patterns of updates: what is moved around them is what their maps say. Exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters write x[:, :, p] = u as an N-dimensional update between transpositions of all of x, and an update along an
// axis with an index for each element. Neither is a movement of x.
#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/Canonicalize.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::tg {

static ScatterOp replaceMaps(PatternRewriter &rewriter, ScatterOp op, Value data, Value indices, Value updates,
                             AffineMap dataMap, ArrayRef<AffineMap> indexMaps) {
  auto made =
      ScatterOp::create(rewriter, op.getLoc(), data.getType(), data, indices, updates, AffineMapAttr::get(dataMap),
                        rewriter.getAffineMapArrayAttr(indexMaps), op.getKindAttr());
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return made;
}

static SmallVector<AffineMap> indexMapsOf(ScatterOp op) {
  return llvm::map_to_vector(op.getIndexMaps().getAsValueRange<AffineMapAttr>(), [](AffineMap map) { return map; });
}

LogicalResult moveScatterBeforeTranspose(TransposeOp op, PatternRewriter &rewriter) {
  auto scatter = op.getInput().getDefiningOp<ScatterOp>();
  auto inner = scatter && scatter->hasOneUse() ? scatter.getData().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!inner)
    return rewriter.notifyMatchFailure(op, "operand is not an update of a transpose that nothing else reads");
  ArrayRef<int64_t> back = op.getPermutation(), there = inner.getPermutation();
  SmallVector<AffineExpr> places(there.size());
  for (auto [d, from] : llvm::enumerate(there)) {
    if (there[back[d]] != int64_t(d))
      return rewriter.notifyMatchFailure(op, "the transposes are not inverse to each other");
    places[from] = scatter.getDataMap().getResult(d);
  }
  AffineMap map = scatter.getDataMap();
  rewriter.setInsertionPoint(scatter);
  ScatterOp moved = replaceMaps(rewriter, scatter, inner.getInput(), scatter.getIndices(), scatter.getUpdates(),
                                AffineMap::get(map.getNumDims(), map.getNumSymbols(), places, map.getContext()),
                                indexMapsOf(scatter));
  rewriter.replaceOp(op, moved.getResult());
  rewriter.eraseOp(scatter); // Whoever looks next who reads x sees the update alone.
  if (inner->use_empty())
    rewriter.eraseOp(inner);
  return success();
}

/// Updates that are transposed. Of updates that meet in one element the last one counts, or all in order: that order is
/// that of the dimensions which are no dimension of the data, and stays so if it is but one.
static LogicalResult readTransposedUpdates(ScatterOp op, PatternRewriter &rewriter) {
  auto transpose = op.getUpdates().getDefiningOp<TransposeOp>();
  if (!transpose)
    return rewriter.notifyMatchFailure(op, "updates are not a transpose");
  unsigned rank = op.getDataMap().getNumDims(), others = 0;
  for (unsigned d = 0; d < rank; ++d)
    others += !llvm::is_contained(op.getDataMap().getResults(), rewriter.getAffineDimExpr(d));
  if (others > 1)
    return rewriter.notifyMatchFailure(op, "the order of updates of one element would be another");
  SmallVector<AffineExpr> dims;
  for (int64_t from : transpose.getPermutation())
    dims.push_back(rewriter.getAffineDimExpr(unsigned(from)));
  auto permute = [&](AffineMap map) { return map.replaceDimsAndSymbols(dims, {}, rank, map.getNumSymbols()); };
  SmallVector<AffineExpr> symbols;
  for (unsigned s = 0; s < op.getDataMap().getNumSymbols(); ++s)
    symbols.push_back(rewriter.getAffineSymbolExpr(s));
  AffineMap dataMap = op.getDataMap().replaceDimsAndSymbols(dims, symbols, rank, symbols.size());
  SmallVector<AffineMap> indexMaps = llvm::map_to_vector(indexMapsOf(op), permute);
  ScatterOp made = replaceMaps(rewriter, op, op.getData(), op.getIndices(), transpose.getInput(), dataMap, indexMaps);
  rewriter.replaceOp(op, made.getResult());
  return success();
}

/// Positions in `from` of each dimension of `op`'s result, by the extents alone; none where elements are moved
/// otherwise.
static std::optional<SmallVector<int64_t>> findSources(Operation *op) {
  Value from = op->getOperand(0), to = op->getResult(0);
  Dims have = getDims(from.getType()), want = getDims(to.getType());
  SmallVector<int64_t> sources; // For each dimension of `from`: that of `to`, or -1 where it is of extent 1.
  if (isa<BroadcastOp>(op)) {
    for (auto [d, extent] : llvm::enumerate(have))
      sources.push_back(getConstant(extent) == 1 ? -1 : int64_t(d + want.size() - have.size()));
    return sources;
  }
  if (!isa<ReshapeOp>(op))
    return std::nullopt;
  size_t next = 0; // A reshape that adds or removes dimensions of extent 1.
  for (AffineExpr extent : have) {
    while (next < want.size() && getConstant(want[next]) == 1)
      ++next;
    if (getConstant(extent) == 1) {
      sources.push_back(-1);
      continue;
    }
    if (next == want.size() || !isEqual(want[next], extent))
      return std::nullopt;
    sources.push_back(int64_t(next++));
  }
  bool hasMore = llvm::any_of(llvm::drop_begin(want, next), [](AffineExpr extent) { return getConstant(extent) != 1; });
  return hasMore ? std::nullopt : std::optional(sources);
}

/// Indices that are the same along dimensions, written out.
static LogicalResult readSmallIndices(ScatterOp op, PatternRewriter &rewriter) {
  Operation *made = op.getIndices().getDefiningOp();
  std::optional<SmallVector<int64_t>> sources =
      isa_and_nonnull<BroadcastOp, ReshapeOp>(made) ? findSources(made) : std::nullopt;
  if (!sources)
    return rewriter.notifyMatchFailure(op, "indices are not those of fewer dimensions");
  SmallVector<AffineMap> maps;
  for (AffineMap map : indexMapsOf(op)) {
    SmallVector<AffineExpr> places;
    for (int64_t source : *sources)
      places.push_back(source < 0 ? rewriter.getAffineConstantExpr(0) : map.getResult(unsigned(source)));
    maps.push_back(AffineMap::get(map.getNumDims(), 0, places, op.getContext()));
  }
  ScatterOp small =
      replaceMaps(rewriter, op, op.getData(), made->getOperand(0), op.getUpdates(), op.getDataMap(), maps);
  rewriter.replaceOp(op, small.getResult());
  return success();
}

void populateScatterPatterns(RewritePatternSet &patterns) {
  patterns.add(readTransposedUpdates);
  patterns.add(readSmallIndices);
  patterns.add(moveScatterBeforeTranspose);
}

} // namespace weft::tg
