// weft-bound-masks: where a mask of a fold keeps anything, computed from the data that it compares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask keeps position j of row i where x[i] ~ y[j], ~ one of =, <=, <, >=, > of integers: document ids, segment
// ids, positions that are data. Let a block be G rows, lo and hi the least and greatest x in it. Then nothing of the
// block is kept unless y[j] >= lo and y[j] <= hi (or the one of both that ~ asks for). With first and last the least
// and greatest such j, "first <= j <= last" is implied by the mask, whatever the ids are; where documents follow each
// other it is exactly the rows' documents. `first` and `last` are small tensors, computed before the fold at run
// time. The mask is and-ed with the implied condition (`tg.implied`), from which kernels take the bounds of
// their loops.
#include "FoldTerms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Implied.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include <cmath>

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_BOUNDMASKS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// The rows that share bounds, at most.
constexpr int64_t mostRows = 64, leastRows = 8;
/// Behind all positions of a fold whose number is symbolic: more than any kernel goes through.
constexpr int64_t manyPlaces = int64_t(1) << 30;

bool isNegInf(Value value) {
  std::optional<double> number = getSplatFloat(value);
  return number && std::isinf(*number) && *number < 0;
}

/// `y ~ x`: y changes along the stream, x does not.
struct Comparison {
  Value x, y;
  CmpPredicate predicate;
};

/// The extent of dimension `axis` < 0, counted from the last; 1 if there is none.
AffineExpr extentAt(Value value, int64_t axis) {
  int64_t rank = GraphBuilder::rankOf(value);
  return rank + axis < 0 ? getAffineConstantExpr(1, value.getContext()) : getDim(value.getType(), rank + axis);
}
bool isOneAt(Value value, int64_t axis) { return getConstant(extentAt(value, axis)) == 1; }

CmpPredicate mirrored(CmpPredicate predicate) {
  switch (predicate) {
  case CmpPredicate::Lt:
    return CmpPredicate::Gt;
  case CmpPredicate::Le:
    return CmpPredicate::Ge;
  case CmpPredicate::Gt:
    return CmpPredicate::Lt;
  case CmpPredicate::Ge:
    return CmpPredicate::Le;
  default:
    return predicate;
  }
}

CmpPredicate negated(CmpPredicate predicate) {
  switch (predicate) {
  case CmpPredicate::Eq:
    return CmpPredicate::Ne;
  case CmpPredicate::Ne:
    return CmpPredicate::Eq;
  case CmpPredicate::Lt:
    return CmpPredicate::Ge;
  case CmpPredicate::Le:
    return CmpPredicate::Gt;
  case CmpPredicate::Gt:
    return CmpPredicate::Le;
  default:
    return CmpPredicate::Lt;
  }
}

/// Whether the op shows its operand as it is, and the dimensions from `axis` on where they were: broadcasting, or a
/// reshape of an operand that has no others (the bounds are made of dimensions counted from the last).
bool keepsDimsFrom(Operation *op, int64_t axis) {
  if (!isa_and_nonnull<BroadcastOp, ReshapeOp>(op))
    return false;
  Value from = op->getOperand(0);
  bool isBroadcast = isa<BroadcastOp>(op);
  for (int64_t d = axis; d < 0; ++d)
    if (!isEqual(extentAt(from, d), extentAt(op->getResult(0), d)) && !(isBroadcast && isOneAt(from, d)))
      return false;
  for (int64_t d = -GraphBuilder::rankOf(from); d < axis; ++d)
    if (!isBroadcast && !isOneAt(from, d))
      return false;
  return true;
}

/// Whether an integer is made of positions and extents alone: the analysis of affine masks sees it.
bool isIndex(Value value, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<IotaOp, ExtentsOp, ConstantOp>(op))
    return true;
  return isa<CastOp, AddOp, SubOp, MulOp, ReshapeOp, BroadcastOp, TransposeOp, SliceOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isIndex(operand, depth - 1); });
}

/// Whether `value` is the stream's position (dimension `axis` from the last), moved by positions, extents and numbers
/// from memory of which all rows have one: kernels read those.
bool isMovedPlace(Value value, int64_t axis, unsigned depth = 8) {
  Operation *op = value.getDefiningOp();
  return isIndex(value) ||
         (depth > 0 && isa_and_nonnull<AddOp, SubOp>(op) && llvm::all_of(op->getOperands(), [&](Value part) {
            return (isOneAt(part, axis) && isOneAt(part, axis - 1)) || isMovedPlace(part, axis, depth - 1);
          }));
}

/// `value` before the fold; null if it is made of states, or by more than arithmetic.
Value hoist(OpBuilder &builder, FoldOp fold, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (op ? !fold->isProperAncestor(op) : cast<BlockArgument>(value).getOwner()->getParentOp() != fold)
    return value;
  if (!op || !(isa<PointwiseOpInterface, BroadcastOp, ReshapeOp, TransposeOp>(op) || op->getNumOperands() == 0))
    return {};
  for (Value operand : op->getOperands()) {
    Value stand = hoist(builder, fold, operand, mapping);
    if (!stand)
      return {};
    mapping.map(operand, stand);
  }
  return builder.clone(*op, mapping)->getResult(0);
}

class MaskBounds {
public:
  MaskBounds(SelectOp select, int64_t axis, bool isKeptWhereTrue)
      : select(select), axis(axis), isKeptWhereTrue(isKeptWhereTrue) {
    collect(select.getCondition(), !isKeptWhereTrue);
  }

  bool hasData() const { return !comparisons.empty(); }
  /// Puts the bounds into the mask; the reason if that is not possible.
  std::string build(FoldOp fold);
  std::string describeBlocks() const {
    return blocks ? formatDims(blocks, getSymbolNames(select->getParentOfType<ModuleOp>())) : "1";
  }
  AffineExpr blocks; ///< Null: no rows, or one.
  int64_t rows = 1;

private:
  void collect(Value condition, bool isNegated);
  void collectComparison(CmpOp cmp, bool isNegated);
  bool hasRows(const Comparison &comparison) const;
  std::string findRows();
  Value cutIntoBlocks(GraphBuilder &b, Value x, Monoid kind);
  SmallVector<Comparison> findLimits(GraphBuilder &b);
  Value ofRows(GraphBuilder &b, Value table);

  SelectOp select;
  int64_t axis; ///< The stream, from the last dimension.
  bool isKeptWhereTrue;
  SmallVector<Comparison> comparisons;
  std::optional<int64_t> rowAxis;
  AffineExpr extent; ///< Of the rows.
};

/// Comparisons of data that hold wherever `condition` does (does not, if `isNegated`). Masks share parts: each is
/// looked at once.
void MaskBounds::collect(Value condition, bool isNegated) {
  SmallVector<std::pair<Value, bool>> todo{{condition, isNegated}};
  llvm::DenseSet<std::pair<Operation *, unsigned>> seen;
  while (!todo.empty()) {
    auto [value, isLeftOut] = todo.pop_back_val();
    Operation *op = value.getDefiningOp();
    while (keepsDimsFrom(op, axis - 1))
      op = op->getOperand(0).getDefiningOp();
    if (!op || !seen.insert({op, isLeftOut}).second)
      continue;
    if (isa<NotOp>(op))
      todo.push_back({op->getOperand(0), !isLeftOut});
    else if (isLeftOut ? isa<OrOp>(op) : isa<AndOp>(op))
      todo.append({{op->getOperand(1), isLeftOut}, {op->getOperand(0), isLeftOut}});
    else if (auto cmp = dyn_cast<CmpOp>(op))
      collectComparison(cmp, isLeftOut);
  }
}

void MaskBounds::collectComparison(CmpOp cmp, bool isNegated) {
  if (!isa<IntegerType>(GraphBuilder::elementOf(cmp.getLhs())))
    return;
  CmpPredicate predicate = isNegated ? negated(cmp.getPredicate()) : cmp.getPredicate();
  Value lhs = cmp.getLhs(), rhs = cmp.getRhs();
  if (predicate == CmpPredicate::Ne || isOneAt(lhs, axis) == isOneAt(rhs, axis) || (isIndex(lhs) && isIndex(rhs)))
    return;
  Comparison found{lhs, rhs, mirrored(predicate)};
  if (isOneAt(rhs, axis))
    found = {rhs, lhs, predicate};
  if (isIndex(found.x) && isMovedPlace(found.y, axis))
    return;
  if (!isIndex(found.y) || hasRows(found)) // Kernels read numbers of no rows themselves.
    comparisons.push_back(found);
}

/// Whether the x change along a dimension that the y lack.
bool MaskBounds::hasRows(const Comparison &comparison) const {
  for (int64_t d = -GraphBuilder::rankOf(comparison.x); d < 0; ++d)
    if (d != axis && !isOneAt(comparison.x, d) && isOneAt(comparison.y, d))
      return true;
  return false;
}

/// The dimension that `x` changes along and `y` does not, the last one.
static std::optional<int64_t> findRowAxis(Value x, Value y, int64_t axis) {
  for (int64_t d = -1; d >= -GraphBuilder::rankOf(x); --d)
    if (d != axis && !isOneAt(x, d) && isOneAt(y, d))
      return d;
  return std::nullopt;
}

/// The dimension of the rows, and how many share bounds. Their number may be symbolic if they are the outermost
/// dimension of what is compared: kernels find an entry of a table of bounds by the extents of the others.
std::string MaskBounds::findRows() {
  for (const Comparison &comparison : comparisons) {
    std::optional<int64_t> own = findRowAxis(comparison.x, comparison.y, axis);
    bool isOutermost = true;
    for (int64_t d = -std::max(GraphBuilder::rankOf(comparison.x), GraphBuilder::rankOf(comparison.y)); d < 0; ++d) {
      if ((!getConstant(extentAt(comparison.x, d)) && !(d == own && isOutermost)) ||
          (!getConstant(extentAt(comparison.y, d)) && d != axis))
        return "the extents of what the mask compares are not constant";
      isOutermost &= isOneAt(comparison.x, d);
    }
    if (own && rowAxis && own != rowAxis)
      return "the mask compares rows of several dimensions";
    rowAxis = own ? own : rowAxis;
  }
  for (const Comparison &comparison : comparisons)
    if (rowAxis && !isOneAt(comparison.x, *rowAxis))
      extent = extentAt(comparison.x, *rowAxis);
  if (!extent)
    return "";
  std::optional<int64_t> number = getConstant(extent);
  for (rows = mostRows; number && *number % rows != 0 && rows > leastRows;)
    rows /= 2;
  if (number && *number % rows != 0) // The last block is not full.
    rows = mostRows;
  blocks = simplify((extent + (rows - 1)).floorDiv(rows));
  return "";
}

/// The least or greatest x of each block of rows, which stay with the number of blocks as extent. A last block that is
/// not full has the last row again.
Value MaskBounds::cutIntoBlocks(GraphBuilder &b, Value x, Monoid kind) {
  if (!rowAxis || isOneAt(x, *rowAxis))
    return x;
  Dims dims = getDims(x.getType());
  int64_t place = int64_t(dims.size()) + *rowAxis;
  AffineExpr whole = simplify(blocks * rows);
  if (!isEqual(whole, extent)) {
    dims[place] = whole;
    MLIRContext *context = b.builder.getContext();
    SmallVector<AffineExpr> at;
    for (unsigned d = 0; d < dims.size(); ++d)
      at.push_back(int64_t(d) == place ? getAffineSymbolExpr(0, context) : getAffineDimExpr(d, context));
    Value line = b.op<IotaOp>(getTensorType(ArrayRef(whole), b.builder.getI64Type()), uint64_t(0));
    x = GatherOp::create(
        b.builder, b.loc, getTensorType(dims, GraphBuilder::elementOf(x)), x, line,
        AffineMap::get(dims.size(), 1, at, context),
        b.builder.getAffineMapArrayAttr(AffineMap::get(dims.size(), 0, getAffineDimExpr(unsigned(place), context))));
  }
  dims[place] = blocks;
  dims.insert(dims.begin() + place + 1, b.builder.getAffineConstantExpr(rows));
  Value cut = b.reshape(x, dims);
  return ReduceOp::create(b.builder, b.loc, kind, cut, ArrayRef<int64_t>{place + 1}, /*keepDims=*/false);
}

/// An entry of the table for each row.
Value MaskBounds::ofRows(GraphBuilder &b, Value table) {
  if (!rowAxis || isOneAt(table, *rowAxis))
    return table;
  Dims dims = getDims(table.getType()), whole = dims;
  int64_t place = int64_t(dims.size()) + *rowAxis;
  dims.insert(dims.begin() + place + 1, b.builder.getAffineConstantExpr(1));
  Value repeated = b.reshape(table, dims);
  dims[place + 1] = b.builder.getAffineConstantExpr(rows);
  whole[place] = simplify(blocks * rows);
  Type element = GraphBuilder::elementOf(table);
  repeated = b.reshape(b.op<BroadcastOp>(getTensorType(dims, element), repeated), whole);
  if (isEqual(whole[place], extent))
    return repeated;
  whole[place] = extent;
  SmallVector<int64_t> offsets(whole.size(), 0), strides(whole.size(), 1);
  return b.op<SliceOp>(getTensorType(whole, element), repeated, offsets, strides);
}

/// What y must be to the extremes of x in a block, for any of its rows to keep the position.
SmallVector<Comparison> MaskBounds::findLimits(GraphBuilder &b) {
  SmallVector<Comparison> limits;
  for (const Comparison &comparison : comparisons) {
    CmpPredicate predicate = comparison.predicate;
    bool isEqual = predicate == CmpPredicate::Eq;
    if (isEqual || predicate == CmpPredicate::Ge || predicate == CmpPredicate::Gt)
      limits.push_back(
          {cutIntoBlocks(b, comparison.x, Monoid::Min), comparison.y, isEqual ? CmpPredicate::Ge : predicate});
    if (isEqual || predicate == CmpPredicate::Le || predicate == CmpPredicate::Lt)
      limits.push_back(
          {cutIntoBlocks(b, comparison.x, Monoid::Max), comparison.y, isEqual ? CmpPredicate::Le : predicate});
  }
  return limits;
}

std::string MaskBounds::build(FoldOp fold) {
  if (std::string reason = findRows(); !reason.empty())
    return reason;
  IRMapping outside;
  for (Comparison &comparison : comparisons)
    for (Value *side : {&comparison.x, &comparison.y}) {
      OpBuilder before(fold);
      *side = hoist(before, fold, *side, outside);
      if (!*side)
        return "what the mask compares depends on the fold";
    }
  AffineExpr places = extentAt(comparisons.front().y, axis);
  OpBuilder builder(fold);
  GraphBuilder b{builder, select.getLoc()};
  SmallVector<Comparison> limits = findLimits(b);
  Type index = builder.getI64Type();
  auto number = [&](int64_t value) {
    return b.op<ConstantOp>(
        DenseElementsAttr::get(RankedTensorType::get({}, index), builder.getI64IntegerAttr(value).getValue()));
  };
  auto makePlaces = [&](int64_t rank) {
    Dims line(rank, builder.getAffineConstantExpr(1));
    line[rank + axis] = places;
    return b.op<IotaOp>(getTensorType(line, index), uint64_t(rank + axis));
  };
  // Each reduction gets conditions of its own: what both read would be a tensor in memory.
  int64_t rank = 0;
  auto reduce = [&](Monoid kind, int64_t otherwise) {
    Value within;
    for (const Comparison &limit : limits) {
      Value holds = b.op<CmpOp>(limit.predicate, limit.y, limit.x);
      within = within ? b.op<AndOp>(within, holds) : holds;
    }
    rank = GraphBuilder::rankOf(within);
    return b.reduce(kind, b.op<SelectOp>(within, makePlaces(rank), number(otherwise)), rank + axis);
  };
  Value first = reduce(Monoid::Min, getConstant(places).value_or(manyPlaces)), last = reduce(Monoid::Max, -1);
  builder.setInsertionPoint(select);
  Value place = makePlaces(rank);
  Value implied = b.op<AndOp>(b.op<CmpOp>(CmpPredicate::Ge, place, ofRows(b, first)),
                              b.op<CmpOp>(CmpPredicate::Le, place, ofRows(b, last)));
  Value condition = isKeptWhereTrue ? b.op<AndOp>(select.getCondition(), implied)
                                    : b.op<OrOp>(select.getCondition(), b.op<NotOp>(implied));
  condition.getDefiningOp()->setAttr(impliedAttr, builder.getUnitAttr());
  select.getConditionMutable().assign(condition);
  return "";
}

struct BoundMasks : impl::BoundMasksBase<BoundMasks> {
  using Base::Base;

  /// The masks behind the reductions of the stream, and its dimension in them from the last.
  static void findMasks(FoldOp fold, Value value, int64_t axis, llvm::SetVector<std::pair<Operation *, int64_t>> &found,
                        llvm::SmallPtrSetImpl<Operation *> &seen) {
    Operation *op = value.getDefiningOp();
    if (!op || !fold->isProperAncestor(op) || isOneAt(value, axis) || !isa<PointwiseOpInterface>(op) ||
        !seen.insert(op).second)
      return;
    if (isa<SelectOp>(op))
      found.insert({op, axis});
    for (Value operand : op->getOperands())
      findMasks(fold, operand, axis, found, seen);
  }

  void bound(FoldOp fold) {
    llvm::SetVector<std::pair<Operation *, int64_t>> masks;
    llvm::SmallPtrSet<Operation *, 16> seen;
    for (auto reduce : fold.getUpdate().front().getOps<ReduceOp>())
      if (isStreamed(reduce) && reduce.getAxes().size() == 1)
        findMasks(fold, reduce.getInput(), reduce.getAxes().front() - GraphBuilder::rankOf(reduce.getInput()), masks,
                  seen);
    for (auto [op, axis] : masks) {
      auto select = cast<SelectOp>(op);
      bool isKeptWhereTrue = isNegInf(select.getOnFalse());
      if (!isKeptWhereTrue && !isNegInf(select.getOnTrue()))
        continue;
      MaskBounds bounds(select, axis, isKeptWhereTrue);
      if (!bounds.hasData())
        continue;
      auto options = [](StringRef name) { return remark::RemarkOpts::name(name).category("fold"); };
      std::optional<int64_t> places = getConstant(fold.getExtent().getResult(0));
      std::string reason = places && *places < leastPlaces ? "fewer than " + std::to_string(leastPlaces) + " elements"
                                                           : bounds.build(fold);
      if (!reason.empty()) {
        remark::missed(select.getLoc(), options("no-bounds")) << remark::add("{0}", reason);
        continue;
      }
      ++numMasks;
      remark::passed(select.getLoc(), options("mask-bounds")) << remark::add(
          "the mask depends on data: the first and last element that it may keep are computed for each of "
          "{0} blocks of {1} rows",
          bounds.describeBlocks(), bounds.rows);
    }
  }

  void runOnOperation() override {
    SmallVector<FoldOp> folds;
    getOperation()->walk([&](FoldOp fold) { folds.push_back(fold); });
    for (FoldOp fold : folds)
      bound(fold);
  }
};

} // namespace
} // namespace weft::tg
