// Recognition of contractions among linalg generics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace weft::cpu {

/// The inputs that `scalar` depends on; none if it depends on anything but inputs and values from outside, or has
/// effects.
static std::optional<Factor> traceFactor(linalg::GenericOp op, Value scalar) {
  Factor factor{scalar, {}};
  SmallVector<Value> worklist{scalar};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == op.getBlock()) {
      if (argument.getArgNumber() >= op.getNumDpsInputs())
        return std::nullopt;
      if (!llvm::is_contained(factor.inputs, argument.getArgNumber()))
        factor.inputs.push_back(argument.getArgNumber());
      continue;
    }
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != op.getBlock() || !seen.insert(def).second)
      continue;
    if (!isPure(def) || def->getNumRegions() || isa<linalg::IndexOp>(def))
      return std::nullopt;
    worklist.append(def->operand_begin(), def->operand_end());
  }
  llvm::sort(factor.inputs);
  if (factor.inputs.empty())
    return std::nullopt;
  return factor;
}

/// Loops that the maps of `inputs` mention; none if a map is not a linear function of the loops.
static std::optional<llvm::SmallBitVector> loopsOf(linalg::GenericOp op, ArrayRef<unsigned> inputs) {
  llvm::SmallBitVector loops(op.getNumLoops());
  for (unsigned input : inputs) {
    AffineMap map = op.getIndexingMapsArray()[input];
    for (AffineExpr expr : map.getResults()) {
      bool linear = true;
      expr.walk([&](AffineExpr e) {
        if (auto dim = dyn_cast<AffineDimExpr>(e))
          loops.set(dim.getPosition());
        linear &= !llvm::is_contained(
            {AffineExprKind::Mod, AffineExprKind::FloorDiv, AffineExprKind::CeilDiv, AffineExprKind::SymbolId},
            e.getKind());
      });
      if (!linear)
        return std::nullopt;
    }
  }
  return loops;
}

/// Product of the static extents of `loops`; large where one is dynamic.
static int64_t extentOf(linalg::GenericOp op, ArrayRef<unsigned> loops) {
  int64_t product = 1;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned loop : loops)
    product = std::min<int64_t>(product * (ShapedType::isDynamic(ranges[loop]) ? 512 : ranges[loop]), int64_t(1) << 40);
  return product;
}

/// Whether the result's contiguous dimension belongs to the first factor.
static bool columnsAreLhs(linalg::GenericOp op, const llvm::SmallBitVector &lhs, const llvm::SmallBitVector &rhs,
                          ArrayRef<unsigned> onlyLhs, ArrayRef<unsigned> onlyRhs) {
  if (onlyRhs.empty() || onlyLhs.empty())
    return onlyRhs.empty();
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (AffineExpr expr : llvm::reverse(op.getIndexingMapsArray().back().getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (ranges[loop] == 1 || (lhs[loop] && rhs[loop]))
      continue;
    return lhs[loop];
  }
  return false;
}

/// Whether a factor is a byte, extended; its signedness.
static std::optional<bool> isUnsignedByte(const Factor &factor) {
  Operation *extension = factor.scalar.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtUIOp, arith::ExtSIOp>(extension) || factor.inputs.size() != 1 ||
      !isa<BlockArgument>(extension->getOperand(0)) || !extension->getOperand(0).getType().isInteger(8))
    return std::nullopt;
  return isa<arith::ExtUIOp>(extension);
}

/// Takes the loop of four out of K, if there is one and the factors suit (Contraction::quad).
static void findQuad(linalg::GenericOp op, Contraction &c) {
  std::optional<bool> rows = isUnsignedByte(c.rows), columns = isUnsignedByte(c.columns);
  if (!rows || !columns || *rows == *columns || c.k.size() < 2 ||
      !getElementTypeOrSelf(op.getDpsInits()[0].getType()).isInteger(32))
    return;
  auto isLast = [&](const Factor &factor, unsigned loop) {
    ArrayRef<AffineExpr> results = op.getIndexingMapsArray()[factor.inputs.front()].getResults();
    return !results.empty() && results.back() == getAffineDimExpr(loop, op.getContext()) &&
           llvm::none_of(results.drop_back(), [&](AffineExpr expr) { return expr.isFunctionOfDim(loop); });
  };
  for (unsigned loop : c.k)
    if (op.getStaticLoopRanges()[loop] == 4 && isLast(c.rows, loop) && isLast(c.columns, loop)) {
      c.quad = loop;
      c.rowsUnsigned = *rows;
      llvm::erase(c.k, loop);
      return;
    }
}

/// Whether a loop of `loops` is no dimension of its own in a map of the factor: neighbours of a window or of a stride.
static bool isWindow(linalg::GenericOp op, const Factor &factor, ArrayRef<unsigned> loops) {
  for (unsigned input : factor.inputs)
    for (AffineExpr expr : op.getIndexingMapsArray()[input].getResults())
      if (!isa<AffineDimExpr>(expr) && llvm::any_of(loops, [&](unsigned loop) { return expr.isFunctionOfDim(loop); }))
        return true;
  return false;
}

/// Whether M and N had better change sides, in cycles of a tile of 8 x 32 that takes an element of K in 8: what the
/// tile computes beyond the edges, what packing takes for an element of K and 32 columns (by vectors, element by
/// element for windows, or transposed in registers, as weights are), and what transposing the results takes.
static bool isBetterAcross(linalg::GenericOp op, const Contraction &c) {
  constexpr int64_t tileRows = 8, tileColumns = 32, tileOfGrid = 256;
  constexpr double copied = 3, gathered = 32, transposed = 10, transposedResults = 190;
  auto image = dyn_cast<BlockArgument>(c.columns.scalar);
  Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
  if ((!c.quad && (!image || image.getType() != element)) || c.rows.inputs.size() != 1 || c.m.empty() || c.n.empty())
    return false;
  int64_t m = std::max<int64_t>(extentOf(op, c.m), 1), n = std::max<int64_t>(extentOf(op, c.n), 1);
  double depth = std::max<int64_t>(extentOf(op, c.k), 1);
  auto cycles = [&](int64_t rows, int64_t columns, double packing, double results) {
    double blocks = llvm::divideCeil(rows, tileRows), panels = llvm::divideCeil(columns, tileColumns);
    double height = llvm::divideCeil(rows, llvm::divideCeil(rows, tileRows));
    return panels * (blocks * (height + results / depth) + packing * llvm::divideCeil(rows, tileOfGrid));
  };
  double along = cycles(m, n, isWindow(op, c.columns, c.n) ? gathered : copied, 0);
  return m >= tileColumns / 2 && cycles(n, m, transposed, transposedResults) < along;
}

std::optional<Contraction> matchContraction(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return std::nullopt;
  AffineMap outMap = op.getIndexingMapsArray().back();
  if (!outMap.isProjectedPermutation())
    return std::nullopt;
  Block &body = *op.getBlock();
  Operation *add = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::AddIOp>(add))
    return std::nullopt;
  Value accumulator = body.getArguments().back();
  bool first = add->getOperand(0) == accumulator;
  if ((!first && add->getOperand(1) != accumulator) || !accumulator.hasOneUse())
    return std::nullopt;
  Operation *multiply = add->getOperand(first ? 1 : 0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(multiply) || multiply->getBlock() != &body)
    return std::nullopt;
  std::optional<Factor> lhs = traceFactor(op, multiply->getOperand(0)), rhs = traceFactor(op, multiply->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  for (unsigned input : lhs->inputs)
    if (llvm::is_contained(rhs->inputs, input))
      return std::nullopt;
  auto lhsLoops = loopsOf(op, lhs->inputs), rhsLoops = loopsOf(op, rhs->inputs);
  if (!lhsLoops || !rhsLoops)
    return std::nullopt;

  Contraction result{{}, {}, {}, {}, {}, {}, multiply, add};
  SmallVector<unsigned> onlyLhs, onlyRhs;
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
    bool inLhs = (*lhsLoops)[loop], inRhs = (*rhsLoops)[loop];
    if (!inLhs && !inRhs)
      return std::nullopt;
    if (kind == utils::IteratorType::reduction)
      result.k.push_back(loop);
    else
      (inLhs && inRhs ? result.batch : inLhs ? onlyLhs : onlyRhs).push_back(loop);
  }
  // Where channels are innermost in an image, elements of its window come first, so that K's innermost loop goes along
  // them.
  auto walksChannels = [&](const Factor &factor) {
    return isWindow(op, factor, result.k) && llvm::any_of(factor.inputs, [&](unsigned input) {
             ArrayRef<AffineExpr> places = op.getIndexingMapsArray()[input].getResults();
             auto last = dyn_cast_or_null<AffineDimExpr>(places.empty() ? AffineExpr() : places.back());
             return last && llvm::is_contained(result.k, last.getPosition());
           });
  };
  auto isPlain = [&](unsigned loop) { return !isWindow(op, *lhs, loop) && !isWindow(op, *rhs, loop); };
  if (walksChannels(*lhs) || walksChannels(*rhs))
    llvm::stable_sort(result.k, [&](unsigned x, unsigned y) { return !isPlain(x) && isPlain(y); });
  bool swap = columnsAreLhs(op, *lhsLoops, *rhsLoops, onlyLhs, onlyRhs);
  result.rows = swap ? *rhs : *lhs;
  result.columns = swap ? *lhs : *rhs;
  result.m = swap ? onlyRhs : onlyLhs;
  result.n = swap ? onlyLhs : onlyRhs;
  findQuad(op, result);
  result.adjacentRows = isBetterAcross(op, result);
  if (result.adjacentRows) {
    std::swap(result.rows, result.columns);
    std::swap(result.m, result.n);
    result.rowsUnsigned = result.quad && !result.rowsUnsigned;
  }
  if (extentOf(op, result.n) < 4 || extentOf(op, result.k) < 4)
    return std::nullopt;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  result.fewRows = llvm::none_of(result.m, [&](unsigned loop) { return ShapedType::isDynamic(ranges[loop]); }) &&
                   extentOf(op, result.m) <= maxFewRows;
  return result;
}

} // namespace weft::cpu
