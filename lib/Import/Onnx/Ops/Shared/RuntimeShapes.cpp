// Index arithmetic on tensors for shape operators whose operands are data; see the header. Values are read with
// gathers, which are in bounds by themselves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuntimeShapes.h"
#include "Extents.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace weft::onnx {

static Expr scalarOf(NodeContext &ctx, AffineExpr extent) {
  return {ctx, ctx.reshape(ctx.extents(extent), ArrayRef<int64_t>())};
}

static Expr asI64(NodeContext &ctx, Value value) { return {ctx, ctx.cast(value, ctx.b.getI64Type())}; }

Expr elementAt(NodeContext &ctx, Value values, int64_t i) {
  return {ctx, ctx.reshape(ctx.slice(values, 0, i, ctx.constExpr(1)), ArrayRef<int64_t>())};
}

/// Rank-0 values one behind the other.
static Value joinScalars(NodeContext &ctx, ArrayRef<Value> scalars) {
  SmallVector<Value> parts;
  for (Value scalar : scalars)
    parts.push_back(ctx.reshape(scalar, ArrayRef<int64_t>{1}));
  return ctx.concat(parts, 0);
}

/// The static number of elements of a 1-D shape operand.
static FailureOr<int64_t> countOf(NodeContext &ctx, Value values, StringRef what) {
  if (!values || failed(ctx.checkRank(values, 1, 1, what)))
    return failure();
  std::optional<int64_t> count = ctx.staticDim(values, 0);
  if (!count)
    return ctx.unsupported("the number of `" + what + "` is not known at compile time");
  return *count;
}

LogicalResult assumeNumber(NodeContext &ctx, Value value, int64_t number, const Twine &what) {
  FailureOr<tg::Dims> bound = ctx.runtimeDims(value ? ctx.cast(value, ctx.b.getI64Type()) : value, what);
  if (failed(bound))
    return failure();
  if (bound->size() != 1)
    return ctx.error(what + ": expected one number, got " + Twine(bound->size()));
  std::string text =
      ("node `" + ctx.node.name() + "` (" + ctx.opType() + "): " + what + ": expected " + Twine(number)).str();
  if (std::optional<int64_t> known = tg::getConstant(bound->front()))
    return *known == number ? success() : ctx.error(what + ": expected " + Twine(number) + ", got " + Twine(*known));
  unsigned symbols = 0;
  bound->front().walk([&](AffineExpr expr) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  auto map = AffineMap::get(0, symbols, {bound->front(), ctx.constExpr(number)}, ctx.b.getContext());
  tg::AssumeEqualOp::create(ctx.b, AffineMapAttr::get(map), ctx.b.getStringAttr(text));
  return success();
}

FailureOr<tg::Dims> runtimeReshapeDims(NodeContext &ctx, Value x, Value shape, bool allowZero) {
  FailureOr<int64_t> count = countOf(ctx, shape, "shape");
  if (failed(count))
    return failure();
  Expr wanted = asI64(ctx, shape);
  if (*count == 0)
    return tg::Dims();
  if (!allowZero) {
    tg::Dims own = ctx.dims(x);
    own.resize(*count, ctx.constExpr(0));
    wanted = wanted.compare(tg::CmpPredicate::Eq, 0.0).select(Expr(ctx, ctx.extents(own)), wanted);
  }
  Expr isOpen = wanted.compare(tg::CmpPredicate::Eq, -1.0);
  Expr known = isOpen.select(wanted.like(1), wanted);
  Expr product(ctx, ctx.reduce(tg::Monoid::Mul, known, {0}, /*keepDims=*/true));
  Expr rest = scalarOf(ctx, tg::getNumElements(x.getType())) / product.max(1.0);
  return ctx.runtimeDims(isOpen.select(rest, wanted), "shape");
}

Value runtimeExpand(NodeContext &ctx, Value x, Value shape) {
  FailureOr<int64_t> count = countOf(ctx, shape, "shape");
  if (failed(count))
    return {};
  int64_t rank = std::max(*count, ctx.rank(x));
  tg::Dims own(rank - ctx.rank(x), ctx.constExpr(1));
  llvm::append_range(own, ctx.dims(x));
  Expr wanted = asI64(ctx, shape);
  if (*count < rank)
    wanted = Expr(ctx, ctx.concat({ctx.intsConstant(SmallVector<int64_t>(rank - *count, 1)), wanted}, 0));
  Expr isOne = wanted.compare(tg::CmpPredicate::Eq, 1.0);
  FailureOr<tg::Dims> bound = ctx.runtimeDims(isOne.select(Expr(ctx, ctx.extents(own)), wanted), "shape");
  if (failed(bound))
    return {};
  tg::Dims result = *bound;
  x = ctx.reshape(x, own);
  for (int64_t d = 0; d < rank && x; ++d) {
    std::optional<int64_t> extent = tg::getConstant(own[d]);
    if (extent == 1)
      continue;
    if (extent) {
      if (failed(ctx.assumeEqual(result[d], own[d], "`Expand` dimension " + Twine(d))))
        return {};
      result[d] = own[d];
      continue;
    }
    // 1 or the result's extent: the indices are the same or all 0.
    x = takeAlong(ctx, x, Expr(ctx, iota(ctx, result[d])).min(scalarOf(ctx, own[d]) - 1.0), d);
  }
  return ctx.broadcastTo(x, result);
}

Value rangeLength(NodeContext &ctx, Value start, Value limit, Value delta) {
  auto scalar = [&](Value value) { return Expr(ctx, ctx.reshape(value, ArrayRef<int64_t>())); };
  Expr room = scalar(limit) - scalar(start), step = scalar(delta);
  if (!room || !step)
    return {};
  if (isa<FloatType>(ctx.elementType(start))) {
    Type f64 = ctx.b.getF64Type();
    return (room.cast(f64) / step.cast(f64)).unary<tg::CeilOp>().max(0.0).cast(ctx.b.getI64Type());
  }
  Expr wide = asI64(ctx, room), by = asI64(ctx, step);
  Expr sign = by.compare(tg::CmpPredicate::Gt, 0.0).select(by.like(1), by.like(-1));
  return ((wide + by - sign) / by).max(0.0);
}

Value spreadOverAxes(NodeContext &ctx, Value values, Value axes, int64_t rank, int64_t absent) {
  FailureOr<int64_t> count = countOf(ctx, values, "values");
  if (failed(count))
    return {};
  SmallVector<int64_t> places;
  for (int64_t d = 0; d < rank; ++d)
    places.push_back(d);
  Expr given(ctx, ctx.intsConstant(ArrayRef(places).take_front(std::min(*count, rank))));
  if (axes) {
    given = asI64(ctx, axes);
    given = given.compare(tg::CmpPredicate::Lt, 0.0).select(given + double(rank), given);
  }
  // hits[d, i]: entry i is of dimension d.
  Expr hits =
      given.reshape({ctx.constExpr(1), ctx.constExpr(*count)})
          .compare(tg::CmpPredicate::Eq, Expr(ctx, ctx.reshape(ctx.intsConstant(places), ArrayRef<int64_t>{rank, 1})));
  Expr entries = asI64(ctx, values);
  Value sum = ctx.reduce(tg::Monoid::Add, hits.select(entries, 0.0), {1}, /*keepDims=*/false);
  Value any = ctx.reduce(tg::Monoid::Add, hits.cast(ctx.b.getI64Type()), {1}, /*keepDims=*/false);
  return Expr(ctx, any).compare(tg::CmpPredicate::Gt, 0.0).select(Expr(ctx, sum), double(absent));
}

/// Behind the end of every dimension.
static constexpr int64_t farEnd = int64_t(1) << 40;

/// `value`, of one element, as a sum of another one and a constant.
static std::pair<Value, int64_t> splitConstant(NodeContext &ctx, Value value) {
  uint64_t constant = 0;
  while (Operation *op = value.getDefiningOp()) {
    if (isa<tg::ReshapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    if (!isa<tg::AddOp>(op))
      break;
    std::optional<int64_t> left = ctx.constantInt(op->getOperand(0)), right = ctx.constantInt(op->getOperand(1));
    if (!left && !right)
      break;
    constant += static_cast<uint64_t>(right ? *right : *left);
    value = op->getOperand(right ? 0 : 1);
  }
  return {value, static_cast<int64_t>(constant)};
}

/// Whether bounds of one axis are `i` and `i + 1`, which is how exporters write that they take row i.
static bool isOneRow(NodeContext &ctx, Value starts, Value ends, Value steps) {
  if (ctx.staticDim(starts, 0) != 1 || (steps && ctx.constantInt(steps) != 1))
    return false;
  auto [first, from] = splitConstant(ctx, starts);
  auto [last, to] = splitConstant(ctx, ends);
  return first == last && from < to && to - from == 1;
}

Value runtimeSlice(NodeContext &ctx, Value x, Value starts, Value ends, Value axes, Value steps) {
  int64_t rank = ctx.rank(x);
  std::optional<SmallVector<int64_t>> known = axes ? ctx.constantInts(axes) : std::nullopt;
  // As many as there are axes; else bounds whose number only the run tells are one, as slices of slices are.
  if (failed(ctx.checkRank(starts, 1, 1, "starts")) || failed(ctx.checkRank(ends, 1, 1, "ends")))
    return {};
  int64_t count = ctx.staticDim(starts, 0).value_or(known ? int64_t(known->size()) : 1);
  for (Value *bounds : {&starts, &ends}) {
    if (failed(ctx.assumeEqual(ctx.dim(*bounds, 0), ctx.constExpr(count), "number of bounds")) ||
        !(*bounds = ctx.reshape(*bounds, ArrayRef<int64_t>{count})))
      return {};
  }
  SmallVector<bool> isCut(rank, !known && axes);
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = known ? (*known)[i] + ((*known)[i] < 0 ? rank : 0) : i;
    if (axis >= 0 && axis < rank)
      isCut[axis] = true;
  }
  // Per dimension: the first index, the number of indices and the step.
  Expr first(ctx, spreadOverAxes(ctx, starts, axes, rank, 0));
  Expr last(ctx, spreadOverAxes(ctx, ends, axes, rank, farEnd));
  Expr by(ctx, steps ? spreadOverAxes(ctx, steps, axes, rank, 1) : ctx.intsConstant(SmallVector<int64_t>(rank, 1)));
  Expr extent(ctx, ctx.extents(ctx.dims(x)));
  Expr isForward = by.compare(tg::CmpPredicate::Gt, 0.0);
  // Forward, indices lie in [0, extent]; backward, the first in [0, extent - 1] and the last in [-1, extent - 1].
  Expr low = isForward.select(extent.like(0), extent.like(-1)), high = isForward.select(extent, extent - 1.0);
  auto fromEnd = [&](Expr place) { return place.compare(tg::CmpPredicate::Lt, 0.0).select(place + extent, place); };
  first = fromEnd(first).max(extent.like(0)).min(high);
  last = fromEnd(last).max(low).min(high);
  Expr sign = isForward.select(by.like(1), by.like(-1));
  Expr sizes = ((last - first + by - sign) / by).max(0.0);
  SmallVector<Value> wanted;
  for (int64_t d = 0; d < rank; ++d)
    if (isCut[d])
      wanted.push_back(elementAt(ctx, sizes, d));
  if (wanted.empty())
    return x;
  if (wanted.size() == 1 && isOneRow(ctx, starts, ends, steps)) {
    int64_t d = llvm::find(isCut, true) - isCut.begin();
    return failed(assumeNumber(ctx, wanted.front(), 1, "elements of the slice"))
               ? Value()
               : takeAlong(ctx, x, Expr(ctx, ctx.reshape(elementAt(ctx, first, d), ArrayRef<int64_t>{1})), d);
  }
  FailureOr<tg::Dims> bound = ctx.runtimeDims(joinScalars(ctx, wanted), "slice");
  if (failed(bound))
    return {};
  size_t next = 0;
  for (int64_t d = 0; d < rank && x; ++d)
    if (isCut[d])
      x = takeAlong(ctx, x, Expr(ctx, iota(ctx, (*bound)[next++])) * elementAt(ctx, by, d) + elementAt(ctx, first, d),
                    d);
  return x;
}

//===--- Axes that are data ---===//

/// For each of `rank` dimensions whether `axes` names it, as i1.
static Expr namedAxes(NodeContext &ctx, Value axes, int64_t rank) {
  FailureOr<int64_t> count = countOf(ctx, axes, "axes");
  if (failed(count))
    return {ctx, Value()};
  Value ones = ctx.intsConstant(SmallVector<int64_t>(*count, 1));
  return Expr(ctx, spreadOverAxes(ctx, ones, axes, rank, 0)).compare(tg::CmpPredicate::Gt, 0.0);
}

/// The number of elements of `mask` (1-D) in front of each that are true.
static Expr countBefore(NodeContext &ctx, Expr mask) {
  Value ones = asI64(ctx, mask);
  return {ctx, ctx.make<tg::ScanOp>(tg::Monoid::Add, ones, int64_t(0), /*exclusive=*/true, /*reverse=*/false)};
}

/// The `count` elements of the 1-D `values` for which `mask` holds.
static Value compact(NodeContext &ctx, Expr values, Expr mask, int64_t count) {
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < count; ++i)
    places.push_back(i);
  Expr row(ctx, ctx.reshape(ctx.intsConstant(places), ArrayRef<int64_t>{count, 1}));
  Expr hits = countBefore(ctx, mask).compare(tg::CmpPredicate::Eq, row) & mask;
  return ctx.reduce(tg::Monoid::Add, hits.select(values, 0.0), {1}, /*keepDims=*/false);
}

FailureOr<tg::Dims> runtimeSqueezeDims(NodeContext &ctx, Value x, Value axes) {
  int64_t rank = ctx.rank(x);
  FailureOr<int64_t> count = countOf(ctx, axes, "axes");
  if (failed(count))
    return failure();
  if (*count > rank)
    return ctx.error("expected at most " + Twine(rank) + " axes, got " + Twine(*count));
  if (*count == rank)
    return tg::Dims();
  Expr kept = namedAxes(ctx, axes, rank).unary<tg::NotOp>();
  return ctx.runtimeDims(compact(ctx, Expr(ctx, ctx.extents(ctx.dims(x))), kept, rank - *count), "extents");
}

FailureOr<tg::Dims> runtimeUnsqueezeDims(NodeContext &ctx, Value x, Value axes) {
  FailureOr<int64_t> count = countOf(ctx, axes, "axes");
  if (failed(count))
    return failure();
  Expr isNew = namedAxes(ctx, axes, ctx.rank(x) + *count);
  if (ctx.rank(x) == 0)
    return tg::Dims(*count, ctx.constExpr(1));
  Expr old(ctx, takeAlong(ctx, ctx.extents(ctx.dims(x)), countBefore(ctx, isNew.unary<tg::NotOp>()), 0));
  return ctx.runtimeDims(isNew.select(old.like(1), old), "extents");
}

FailureOr<SplitByAxes> splitByAxes(NodeContext &ctx, Value x, Value axes, bool keepDims) {
  int64_t rank = ctx.rank(x);
  Expr isReduced = namedAxes(ctx, axes, rank), extents(ctx, ctx.extents(ctx.dims(x)));
  if (!isReduced)
    return failure();
  Expr kept = isReduced.select(extents.like(1), extents), reduced = isReduced.select(extents, 1.0);
  auto product = [&](Value values) { return ctx.reduce(tg::Monoid::Mul, values, {0}, /*keepDims=*/true); };
  FailureOr<tg::Dims> shape = ctx.runtimeDims(ctx.concat({product(kept), product(reduced)}, 0), "rows");
  FailureOr<tg::Dims> result = keepDims ? ctx.runtimeDims(kept, "extents") : runtimeSqueezeDims(ctx, x, axes);
  if (failed(shape) || failed(result))
    return failure();
  // Indices in the flat operand, digit by digit from the last dimension.
  AffineExpr one = ctx.constExpr(1), stride = one;
  Expr row(ctx, ctx.reshape(iota(ctx, (*shape)[0]), {(*shape)[0], one})),
      column(ctx, ctx.reshape(iota(ctx, (*shape)[1]), {one, (*shape)[1]}));
  Expr place = row.like(0);
  for (int64_t d = rank; d-- > 0;) {
    Expr extent = scalarOf(ctx, ctx.dim(x, d)), flag = elementAt(ctx, isReduced, d);
    Expr digit = flag.select(column.binary<tg::ModOp>(extent), row.binary<tg::ModOp>(extent));
    place = place + digit * scalarOf(ctx, stride);
    column = flag.select(column / extent, column);
    row = flag.select(row, row / extent);
    stride = tg::simplify(stride * ctx.dim(x, d));
  }
  place = Expr(ctx, ctx.broadcastTo(place, *shape));
  Value flat = ctx.reshape(x, tg::Dims{tg::getNumElements(x.getType())});
  return SplitByAxes{takeAlong(ctx, flat, place, 0), *result};
}

Value shiftAlong(NodeContext &ctx, Value x, int64_t axis, Expr low, AffineExpr extent, Value value) {
  if (!x)
    return {};
  Expr place = Expr(ctx, iota(ctx, extent)) - low;
  tg::Dims line(ctx.rank(x), ctx.constExpr(1));
  line[axis] = extent;
  Expr isInside =
      place.compare(tg::CmpPredicate::Ge, 0.0) & place.compare(tg::CmpPredicate::Lt, scalarOf(ctx, ctx.dim(x, axis)));
  // A negative index would count from the end; one behind it is clamped.
  Expr moved(ctx, takeAlong(ctx, x, place.max(0.0), axis));
  return isInside.reshape(line).select(moved, Expr(ctx, value));
}

//===--- Indices ---===//

/// Index maps of gathers and scatters along one axis by an index for each element.
static std::pair<AffineMap, AffineMap> elementMaps(NodeContext &ctx, int64_t rank, int64_t axis) {
  SmallVector<AffineExpr> exprs;
  for (int64_t d = 0; d < rank; ++d)
    exprs.push_back(d == axis ? ctx.b.getAffineSymbolExpr(0) : ctx.b.getAffineDimExpr(d));
  return {AffineMap::get(rank, 1, exprs, ctx.b.getContext()),
          AffineMap::getMultiDimIdentityMap(rank, ctx.b.getContext())};
}

Value takeElements(NodeContext &ctx, Value data, Value indices, int64_t axis) {
  if (!data || !indices)
    return {};
  auto [dataMap, indexMap] = elementMaps(ctx, ctx.rank(data), axis);
  return ctx.make<tg::GatherOp>(tg::withElement(indices.getType(), ctx.elementType(data)), data, indices, dataMap,
                                ctx.b.getAffineMapArrayAttr(indexMap));
}

/// r[.., indices[.., i, ..], ..] = i along `axis`; indices outside of `extent` are dropped.
static Value placeNumbers(NodeContext &ctx, Value places, int64_t axis, AffineExpr extent) {
  if (!places)
    return {};
  tg::Dims dims = ctx.dims(places), line(ctx.rank(places), ctx.constExpr(1));
  line[axis] = dims[axis];
  Value numbers = ctx.broadcastTo(ctx.reshape(iota(ctx, dims[axis]), line), dims);
  dims[axis] = extent;
  Value zeros = ctx.broadcastTo(ctx.scalarInt(0, ctx.b.getI64Type()), dims);
  auto [dataMap, indexMap] = elementMaps(ctx, ctx.rank(places), axis);
  return ctx.make<tg::ScatterOp>(zeros, places, numbers, AffineMapAttr::get(dataMap),
                                 ctx.b.getAffineMapArrayAttr(indexMap), tg::MonoidAttr());
}

Value placesOfTrue(NodeContext &ctx, Value mask, StringRef what) {
  Expr hits = asI64(ctx, mask);
  Value count = ctx.reduce(tg::Monoid::Add, hits, {0}, /*keepDims=*/true);
  FailureOr<tg::Dims> bound = ctx.runtimeDims(count, what);
  if (failed(bound))
    return {};
  // Each true element goes to the number of those in front of it, the others behind the end.
  Value before = ctx.make<tg::ScanOp>(tg::Monoid::Add, Value(hits), int64_t(0), /*exclusive=*/true, /*reverse=*/false);
  Expr place = Expr(ctx, mask).select(Expr(ctx, before), Expr(ctx, count));
  return placeNumbers(ctx, place, 0, bound->front());
}

/// Whether a stands in front of b; NaN counts as larger than every number.
static Expr isInFront(Expr a, Expr b, bool largest) {
  NodeContext &ctx = a.ctx();
  Expr result = a.compare(largest ? tg::CmpPredicate::Gt : tg::CmpPredicate::Lt, b);
  if (!a || !isa<FloatType>(ctx.elementType(a)))
    return result;
  Expr isNanA = a.compare(tg::CmpPredicate::Ne, a), isNanB = b.compare(tg::CmpPredicate::Ne, b);
  Expr wins = largest ? isNanA : isNanB, loses = largest ? isNanB : isNanA;
  return result | (wins & loses.unary<tg::NotOp>());
}

/// Whether the index along dimension `axis` + 1 is less than that along `axis`, for `rank` dimensions of which these
/// two have the extent `extent` and the others 1.
static Expr isEarlier(NodeContext &ctx, int64_t rank, int64_t axis, AffineExpr extent) {
  tg::Dims rows(rank, ctx.constExpr(1)), columns = rows;
  rows[axis] = columns[axis + 1] = extent;
  Expr places(ctx, iota(ctx, extent));
  return places.reshape(columns).compare(tg::CmpPredicate::Lt, places.reshape(rows));
}

Value sortedPlaces(NodeContext &ctx, Value x, int64_t axis, bool largest) {
  if (!x)
    return {};
  // An element's position is the number of those in front of it: compared with all of its line.
  tg::Dims dims = ctx.dims(x), one = dims, other = dims;
  one.insert(one.begin() + axis + 1, ctx.constExpr(1));
  other.insert(other.begin() + axis, ctx.constExpr(1));
  Expr mine(ctx, ctx.reshape(x, one)), theirs(ctx, ctx.reshape(x, other));
  Expr before = isInFront(theirs, mine, largest);
  Expr isTie = (before | isInFront(mine, theirs, largest)).unary<tg::NotOp>();
  Expr inFront = before | (isTie & isEarlier(ctx, ctx.rank(x) + 1, axis, dims[axis]));
  Value rank = ctx.reduce(tg::Monoid::Add, inFront.cast(ctx.b.getI64Type()), {axis + 1}, /*keepDims=*/false);
  return placeNumbers(ctx, rank, axis, dims[axis]);
}

Value elementOfList(NodeContext &ctx, ArrayRef<Value> elements, Value place) {
  Value first = elements.front();
  bool isEqual = llvm::all_of(elements, [&](Value each) { return each.getType() == first.getType(); });
  SmallVector<Value> parts, shapes;
  SmallVector<AffineExpr> offsets;
  AffineExpr end = ctx.constExpr(0);
  for (Value each : elements) {
    if (ctx.elementType(each) != ctx.elementType(first) || ctx.rank(each) != ctx.rank(first)) {
      (void)ctx.unsupported("a position is data, and the elements of the sequence differ in rank or element type",
                            "if it comes from a graph input, fix that with --bind");
      return {};
    }
    AffineExpr size = tg::getNumElements(each.getType());
    offsets.push_back(end);
    end = tg::simplify(end + size);
    parts.push_back(isEqual ? ctx.unsqueeze(each, {0}) : ctx.reshape(each, tg::Dims{size}));
    if (!isEqual)
      shapes.push_back(ctx.unsqueeze(ctx.extents(ctx.dims(each)), {0}));
  }
  Value all = ctx.concat(parts, 0);
  if (isEqual)
    return takeAlong(ctx, all, place, 0);
  FailureOr<tg::Dims> dims = ctx.runtimeDims(takeAlong(ctx, ctx.concat(shapes, 0), place, 0), "extents of the element");
  if (failed(dims))
    return {};
  AffineExpr size = ctx.constExpr(1);
  for (AffineExpr extent : *dims)
    size = tg::simplify(size * extent);
  Expr start(ctx, takeAlong(ctx, ctx.extents(offsets), place, 0));
  return ctx.reshape(takeAlong(ctx, all, Expr(ctx, iota(ctx, size)) + start, 0), *dims);
}

Value sortedRows(NodeContext &ctx, Value x) {
  if (!x)
    return {};
  AffineExpr rows = ctx.dim(x, 0), columns = ctx.dim(x, 1), one = ctx.constExpr(1);
  Expr mine(ctx, ctx.reshape(x, {rows, one, columns})), theirs(ctx, ctx.reshape(x, {one, rows, columns}));
  // Two rows are in the order of the first column in which they differ.
  Expr column = Expr(ctx, iota(ctx, columns)).reshape({one, one, columns}), none = scalarOf(ctx, columns);
  auto firstColumn = [&](Expr mask) {
    return Expr(ctx, ctx.reduce(tg::Monoid::Min, mask.select(column, none), {2}, /*keepDims=*/false));
  };
  Expr theirsFirst = firstColumn(isInFront(theirs, mine, /*largest=*/false)),
       mineFirst = firstColumn(isInFront(mine, theirs, /*largest=*/false));
  Expr inFront = theirsFirst.compare(tg::CmpPredicate::Lt, mineFirst) |
                 (theirsFirst.compare(tg::CmpPredicate::Eq, mineFirst) & isEarlier(ctx, 2, 0, rows));
  Value rank = ctx.reduce(tg::Monoid::Add, inFront.cast(ctx.b.getI64Type()), {1}, /*keepDims=*/false);
  return placeNumbers(ctx, rank, 0, rows);
}

} // namespace weft::onnx
