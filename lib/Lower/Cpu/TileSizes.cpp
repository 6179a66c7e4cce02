// Tile sizes from extents alone.
//
// Contractions: a tile of M x N keeps its f32 accumulators within the L2 cache (256 x 512 x 4 bytes = 512 KiB at most)
// and the grid has enough points for the threads to share. Other ops: a tile has about 16 Ki points of the iteration
// domain, so that its temporaries stay in L1/L2. Dimensions along which a fused reduction runs are never cut: each
// piece would repeat the reduction.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileSizes.h"
#include "Contraction.h"

using namespace mlir;

namespace weft::cpu {

namespace {

constexpr int64_t maxRows = 256, maxColumns = 512, minRows = 32, minColumns = 64;
constexpr int64_t minTiles = 8;
/// A tile of a contraction with few rows: multiply-adds, and columns so that what it reads of a row is not too short.
constexpr int64_t streamWork = 256 * 1024, minStreamColumns = 256;
constexpr int64_t tilePoints = 16384;
/// Assumed extent of a dynamic dimension.
constexpr int64_t dynamicExtent = 512;

/// What lies behind the root: a contraction (with the root loop for each of its loops, or -1) and the root loops that
/// must stay whole.
struct Analysis {
  linalg::GenericOp contractionOp;
  std::optional<Contraction> contraction;
  SmallVector<int> contractionLoops;
  llvm::SmallBitVector whole;
};

/// Visits `op`, whose loop i is root loop `loops[i]` (-1: none).
void analyze(linalg::GenericOp op, ArrayRef<int> loops, Analysis &analysis, llvm::SmallPtrSetImpl<Operation *> &seen) {
  if (!seen.insert(op).second)
    return;
  std::optional<Contraction> contraction = matchContraction(op);
  if (contraction && !analysis.contraction) {
    analysis.contraction = contraction;
    analysis.contractionOp = op;
    analysis.contractionLoops.assign(loops.begin(), loops.end());
  }
  if (op.getNumReductionLoops()) {
    llvm::SmallBitVector covered(analysis.whole.size());
    for (int loop : loops)
      if (loop >= 0)
        covered.set(loop);
    analysis.whole |= covered.flip();
  }
  for (OpOperand &operand : op->getOpOperands()) {
    auto producer = operand.get().getDefiningOp<linalg::GenericOp>();
    if (!producer)
      continue;
    AffineMap read = op.getMatchingIndexingMap(&operand);
    AffineMap write = producer.getIndexingMapMatchingResult(cast<OpResult>(operand.get()));
    SmallVector<int> producerLoops(producer.getNumLoops(), -1);
    for (auto [from, to] : llvm::zip(write.getResults(), read.getResults())) {
      auto producerDim = dyn_cast<AffineDimExpr>(from);
      auto consumerDim = dyn_cast<AffineDimExpr>(to);
      if (producerDim && consumerDim)
        producerLoops[producerDim.getPosition()] = loops[consumerDim.getPosition()];
    }
    analyze(producer, producerLoops, analysis, seen);
  }
}

/// Cuts `loops` (outermost first) so that a tile has about `target` points, in pieces of multiples of `unit` in the
/// innermost. Returns the number of tiles.
int64_t cut(ArrayRef<int> loops, ArrayRef<int64_t> extents, int64_t target, int64_t unit,
            SmallVectorImpl<int64_t> &sizes) {
  int64_t left = target, tiles = 1;
  for (int loop : llvm::reverse(loops)) {
    if (loop < 0)
      continue;
    int64_t extent = ShapedType::isDynamic(extents[loop]) ? dynamicExtent : extents[loop];
    bool fits = !ShapedType::isDynamic(extents[loop]) && extent <= left;
    if (fits) {
      sizes[loop] = 0;
      left = std::max<int64_t>(left / std::max<int64_t>(extent, 1), 1);
      continue;
    }
    int64_t size = left == target ? llvm::alignDown(std::max(left, unit), unit) : left;
    // Even pieces: 98 in pieces of 32 is 4 of 25, not 3 of 32 and one of 2.
    int64_t pieces = llvm::divideCeil(extent, size);
    if (!ShapedType::isDynamic(extents[loop]))
      size = std::min<int64_t>(size, llvm::alignTo(llvm::divideCeil(extent, pieces), left == target ? unit : 1));
    sizes[loop] = size;
    tiles *= llvm::divideCeil(extent, size);
    left = 1;
  }
  return tiles;
}

/// Product of the extents of root loops.
int64_t countOf(ArrayRef<int> loops, ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int loop : loops)
    if (loop >= 0)
      count *= ShapedType::isDynamic(extents[loop]) ? dynamicExtent : std::max<int64_t>(extents[loop], 1);
  return count;
}

/// Nothing is shared between the columns of a contraction with few rows, so a tile is any part of batch and N.
void cutStream(const Analysis &analysis, ArrayRef<int64_t> extents, SmallVectorImpl<int64_t> &sizes) {
  const Contraction &contraction = *analysis.contraction;
  linalg::GenericOp op = analysis.contractionOp;
  SmallVector<int> loops; // As they follow each other in memory.
  for (AffineExpr place : op.getIndexingMapsArray().back().getResults())
    if (unsigned loop = cast<AffineDimExpr>(place).getPosition(); !llvm::is_contained(contraction.m, loop))
      loops.push_back(analysis.contractionLoops[loop]);
  int64_t depth = 1;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned loop : contraction.k)
    depth *= ShapedType::isDynamic(ranges[loop]) ? dynamicExtent : std::max<int64_t>(ranges[loop], 1);
  int64_t points = std::max(streamWork / depth, minStreamColumns);
  points = std::max<int64_t>(std::min(points, countOf(loops, extents) / minTiles), 1);
  cut(loops, extents, points, 16, sizes);
}

void cutContraction(const Analysis &analysis, ArrayRef<int64_t> extents, SmallVectorImpl<int64_t> &sizes) {
  auto rootLoops = [&](ArrayRef<unsigned> loops) {
    return llvm::map_to_vector(loops, [&](unsigned loop) { return analysis.contractionLoops[loop]; });
  };
  const Contraction &contraction = *analysis.contraction;
  SmallVector<int> m = rootLoops(contraction.m), n = rootLoops(contraction.n);
  int64_t batches = 1;
  for (int loop : rootLoops(contraction.batch)) {
    if (loop < 0 || extents[loop] == 1)
      continue;
    sizes[loop] = 1;
    batches *= ShapedType::isDynamic(extents[loop]) ? 1 : extents[loop];
  }
  // Rows that are read from anywhere cost nothing to read again for a panel of columns alone.
  int64_t rows = maxRows, columns = maxColumns, leastColumns = contraction.adjacentRows ? minColumns / 2 : minColumns;
  while (true) {
    int64_t tiles = batches * cut(m, extents, rows, 8, sizes) * cut(n, extents, columns, 32, sizes);
    if (tiles >= minTiles || (rows <= minRows && columns <= leastColumns))
      return;
    // Cut columns first: rows of a tile share the packed panel of columns.
    if (columns > leastColumns)
      columns /= 2;
    else
      rows /= 2;
  }
}

} // namespace

SmallVector<int64_t> chooseTileSizes(linalg::LinalgOp root) {
  SmallVector<int64_t> extents = root.getStaticLoopRanges(), sizes(extents.size(), 0);
  Analysis analysis;
  analysis.whole.resize(extents.size());
  SmallVector<int> identity = llvm::to_vector(llvm::seq<int>(0, extents.size()));
  SmallVector<int> parallel;
  int64_t reduced = 1;
  for (auto [i, kind] : llvm::enumerate(root.getIteratorTypesArray())) {
    if (kind == utils::IteratorType::parallel) {
      parallel.push_back(i);
      continue;
    }
    identity[i] = -1;
    reduced *= ShapedType::isDynamic(extents[i]) ? dynamicExtent : extents[i];
  }
  llvm::SmallPtrSet<Operation *, 16> seen;
  if (auto generic = dyn_cast<linalg::GenericOp>(root.getOperation()))
    analyze(generic, identity, analysis, seen);
  for (auto [i, kind] : llvm::enumerate(root.getIteratorTypesArray()))
    if (kind != utils::IteratorType::parallel)
      analysis.whole.reset(i);
  if (analysis.contraction) {
    if (analysis.contraction->fewRows)
      cutStream(analysis, extents, sizes);
    else
      cutContraction(analysis, extents, sizes);
    // Parallel loops of the root that the contraction does not have are cut like rows of an elementwise op.
    return sizes;
  }
  int64_t target = std::max<int64_t>(tilePoints / std::max<int64_t>(reduced, 1), 1);
  SmallVector<int> free;
  for (int loop : parallel) {
    if (!analysis.whole[loop])
      free.push_back(loop);
    else
      target = std::max<int64_t>(
          target / std::max<int64_t>(ShapedType::isDynamic(extents[loop]) ? dynamicExtent : extents[loop], 1), 1);
  }
  cut(free, extents, target, 16, sizes);
  return sizes;
}

} // namespace weft::cpu
