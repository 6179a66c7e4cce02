// Joining and cutting along axes: Concat, Split, Slice; and tensors generated from indices: Range, EyeLike, Trilu.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include <array>
#include <cmath>

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::failure;
using mlir::FailureOr;
using mlir::success;
using mlir::Value;

static llvm::LogicalResult importConcat(NodeContext &ctx) {
  SmallVector<Value> values;
  for (unsigned i = 0; i < ctx.numInputs(); ++i) {
    Value value = ctx.required(i);
    if (!value)
      return failure();
    values.push_back(value);
  }
  if (values.empty())
    return ctx.error("expected at least one input");
  FailureOr<int64_t> axis = ctx.opset < 4 ? ctx.intAttr("axis", 1) : ctx.intAttr("axis");
  if (failed(axis) || failed(axis = ctx.normalizeAxis(*axis, ctx.rank(values.front()))))
    return failure();
  ctx.output(0, ctx.concat(values, *axis));
  return success();
}

/// Sizes of the pieces from input 1 (opset 13), attribute `split`, or as equal as `num_outputs` (or the outputs) allow.
static FailureOr<tg::Dims> splitSizes(NodeContext &ctx, AffineExpr extent) {
  if (ctx.opset >= 13 && ctx.input(1))
    return ctx.requiredDims(1, "sizes");
  if (ctx.opset < 13 && ctx.hasAttr("split")) {
    FailureOr<SmallVector<int64_t>> sizes = ctx.intsAttr("split");
    return failed(sizes) ? FailureOr<tg::Dims>(failure()) : FailureOr<tg::Dims>(ctx.constDims(*sizes));
  }
  FailureOr<int64_t> count = ctx.intAttr("num_outputs", ctx.numOutputs());
  if (failed(count))
    return failure();
  if (*count < 1 || *count > 65536)
    return ctx.error("expected 1 to 65536 outputs, got " + llvm::Twine(*count));
  // The last piece may be smaller (opset 18); before that the extent must divide.
  AffineExpr piece = tg::simplify(ctx.opset < 18 ? extent.floorDiv(*count) : extent.ceilDiv(*count));
  std::optional<int64_t> total = tg::getConstant(extent);
  if (ctx.opset < 18 && total && *total % *count != 0)
    return ctx.error("extent " + llvm::Twine(*total) + " does not split into " + llvm::Twine(*count) + " equal pieces");
  tg::Dims sizes;
  AffineExpr rest = extent;
  for (int64_t i = 0; i < *count; ++i) {
    bool isLast = i + 1 == *count && ctx.opset >= 18;
    sizes.push_back(isLast ? tg::simplify(rest) : piece);
    if (total) // Pieces behind the end are empty.
      sizes.back() = ctx.constExpr(std::min(*tg::getConstant(piece), *tg::getConstant(tg::simplify(rest))));
    rest = rest - sizes.back();
  }
  return sizes;
}

static llvm::LogicalResult importSplit(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<int64_t> axis = ctx.intAttr("axis", 0);
  if (!x || failed(axis) || failed(axis = ctx.normalizeAxis(*axis, ctx.rank(x))))
    return failure();
  FailureOr<tg::Dims> sizes = splitSizes(ctx, ctx.dim(x, *axis));
  if (failed(sizes))
    return failure();
  if (sizes->size() != ctx.numOutputs())
    return ctx.error("expected " + llvm::Twine(ctx.numOutputs()) + " sizes, got " + llvm::Twine(sizes->size()));
  AffineExpr offset = ctx.constExpr(0);
  for (AffineExpr size : *sizes) {
    if (std::optional<int64_t> known = tg::getConstant(size); known && (*known < 0 || *known > (int64_t(1) << 40)))
      return ctx.error("size " + llvm::Twine(*known) + " is out of range");
    offset = offset + size;
  }
  if (failed(ctx.assumeEqual(ctx.dim(x, *axis), tg::simplify(offset), "`Split` sum of sizes")))
    return failure();
  offset = ctx.constExpr(0);
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    if (ctx.outputUsed(i))
      ctx.output(i, takeRange(ctx, x, *axis, tg::simplify(offset), size, 1));
    offset = offset + size;
  }
  return success();
}

//===--- Slice ---===//

namespace {

/// One axis of a slice: indices offset + i * step, `size` of them.
struct AxisSlice {
  AffineExpr offset, size;
  int64_t step;
};

/// What a node says of one axis.
struct AxisBounds {
  int64_t axis;
  AffineExpr start, end;
  int64_t step;
};

} // namespace

/// A constant bound of at least this lies behind the end of a symbolic extent, smaller ones lie inside; both are
/// checked when the model runs.
static constexpr int64_t leastEnd = int64_t(1) << 24;

/// Whether a bound counts from the start or from the end; only the data of a run tell for others.
static bool hasKnownSign(AffineExpr bound, AffineExpr extent) {
  if (tg::getConstant(bound) || tg::isNonNegative(bound))
    return true;
  return tg::isNonNegative(tg::simplify(-bound - 1)) && tg::isNonNegative(tg::simplify(extent + bound));
}

/// A slice bound as an index in [0, extent]: negative ones count from the end, what is beyond is clamped. A symbolic
/// bound is taken to lie inside, which is checked when the model runs.
static FailureOr<AffineExpr> clampBound(NodeContext &ctx, AffineExpr bound, AffineExpr extent,
                                        const llvm::Twine &what) {
  std::optional<int64_t> constant = tg::getConstant(bound), total = tg::getConstant(extent);
  if (constant && total)
    return ctx.constExpr(
        std::clamp<int64_t>(*constant < 0 ? std::max(*constant, -*total) + *total : *constant, 0, *total));
  if (constant && *constant < 0) {
    if (*constant <= -leastEnd)
      return ctx.constExpr(0);
    // -n of a dynamic extent: extent - n, or 0 if there are fewer than n.
    if (failed(ctx.assumeAtMost(ctx.constExpr(-*constant), extent, what)))
      return failure();
    return tg::simplify(extent + *constant);
  }
  // Large numbers stand for "to the end": 2^63 - 1 of PyTorch, 2^31 - 1 of Keras, 10^9 of tf2onnx.
  if (constant && *constant >= leastEnd) {
    constexpr int64_t mostElements = int64_t(1) << 40;
    if (*constant < mostElements && failed(ctx.assumeAtMost(extent, bound, what)))
      return failure();
    return extent;
  }
  if (!tg::isNonNegative(bound))
    return tg::simplify(extent + bound); // See hasKnownSign.
  if (failed(ctx.assumeAtMost(bound, extent, what)))
    return failure();
  return bound;
}

static FailureOr<AxisSlice> forwardSlice(NodeContext &ctx, AffineExpr start, AffineExpr end, int64_t step,
                                         AffineExpr extent) {
  FailureOr<AffineExpr> first = clampBound(ctx, start, extent, "slice start"),
                        last = clampBound(ctx, end, extent, "slice end");
  if (failed(first) || failed(last))
    return failure();
  std::optional<int64_t> a = tg::getConstant(*first), b = tg::getConstant(*last);
  if (a && b && *a >= *b)
    return AxisSlice{ctx.constExpr(0), ctx.constExpr(0), 1};
  if (!(a && b) && failed(ctx.assumeAtMost(*first, *last, "slice start")))
    return failure();
  AffineExpr length = tg::simplify(*last - *first);
  AffineExpr size = step == 1 ? length : tg::simplify((length + (step - 1)).floorDiv(step));
  return AxisSlice{*first, size, step};
}

/// A bound of a slice with step < 0 as an index in [-1, extent - 1]. As with `clampBound`, what is not known to lie
/// inside is taken to, which is checked when the model runs.
static FailureOr<AffineExpr> clampPlace(NodeContext &ctx, AffineExpr bound, AffineExpr extent,
                                        const llvm::Twine &what) {
  std::optional<int64_t> constant = tg::getConstant(bound), total = tg::getConstant(extent);
  if (constant && total)
    return ctx.constExpr(
        std::clamp<int64_t>(*constant < 0 ? std::max(*constant, -*total - 1) + *total : *constant, -1, *total - 1));
  if (constant && *constant <= -leastEnd)
    return ctx.constExpr(-1);
  if ((constant && (*constant >= leastEnd || *constant == -1)) || tg::isNonNegative(tg::simplify(bound - extent)))
    return tg::simplify(extent - 1);
  // The index behind it lies in [0, extent].
  FailureOr<AffineExpr> behind = clampBound(ctx, tg::simplify(bound + 1), extent, what);
  return failed(behind) ? behind : FailureOr<AffineExpr>(tg::simplify(*behind - 1));
}

/// step < 0: from the index of `start` down to above that of `end`.
static FailureOr<AxisSlice> backwardSlice(NodeContext &ctx, AffineExpr start, AffineExpr end, int64_t step,
                                          AffineExpr extent) {
  FailureOr<AffineExpr> first = clampPlace(ctx, start, extent, "slice start"),
                        last = clampPlace(ctx, end, extent, "slice end");
  if (failed(first) || failed(last))
    return failure();
  AffineExpr length = tg::simplify(*first - *last);
  std::optional<int64_t> known = tg::getConstant(length);
  if (known && *known <= 0)
    return AxisSlice{ctx.constExpr(0), ctx.constExpr(0), 1};
  if (!tg::isNonNegative(length) &&
      failed(ctx.assumeAtMost(tg::simplify(*last + 1), tg::simplify(*first + 1), "slice end")))
    return failure();
  return AxisSlice{*first, tg::simplify((length + (-step - 1)).floorDiv(-step)), step};
}

static FailureOr<SmallVector<AxisBounds>> readBounds(NodeContext &ctx, Value x, const tg::Dims &starts,
                                                     const tg::Dims &ends,
                                                     const std::optional<SmallVector<int64_t>> &givenAxes,
                                                     const std::optional<SmallVector<int64_t>> &steps) {
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < starts.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  FailureOr<SmallVector<int64_t>> normal = ctx.normalizeAxes(givenAxes.value_or(axes), ctx.rank(x));
  if (failed(normal))
    return failure();
  if (ends.size() != starts.size() || normal->size() != starts.size() || (steps && steps->size() != starts.size()))
    return FailureOr<SmallVector<AxisBounds>>(
        ctx.error("expected as many ends, axes and steps as starts (" + llvm::Twine(starts.size()) + ")"));
  constexpr int64_t mostStep = int64_t(1) << 40;
  SmallVector<AxisBounds> bounds;
  for (auto [i, axis] : llvm::enumerate(*normal)) {
    int64_t step = steps ? (*steps)[i] : 1;
    if (step == 0)
      return FailureOr<SmallVector<AxisBounds>>(ctx.error("step 0"));
    bounds.push_back({axis, starts[i], ends[i], std::clamp(step, -mostStep, mostStep)});
  }
  return bounds;
}

static Value sliceAxes(NodeContext &ctx, Value x, llvm::ArrayRef<AxisBounds> bounds) {
  for (const AxisBounds &each : bounds) {
    AffineExpr extent = ctx.dim(x, each.axis);
    FailureOr<AxisSlice> slice = each.step > 0 ? forwardSlice(ctx, each.start, each.end, each.step, extent)
                                               : backwardSlice(ctx, each.start, each.end, each.step, extent);
    if (failed(slice))
      return {};
    // At most one index: the step is never taken.
    if (tg::getConstant(slice->size) && *tg::getConstant(slice->size) <= 1)
      slice->step = 1;
    x = takeRange(ctx, x, each.axis, slice->offset, slice->size, slice->step);
    if (!x)
      return {};
  }
  return x;
}

/// Whether a constant bound may lie outside of an extent that is data: the first ten of the boxes that there are.
/// Extents of inputs are taken to hold what is written (see clampBound): what is cut then has a constant extent.
static bool mayLieOutside(NodeContext &ctx, AffineExpr bound, AffineExpr extent, int64_t step) {
  std::optional<int64_t> constant = tg::getConstant(bound);
  if (!constant || *constant == 0 || *constant >= leastEnd || *constant <= -leastEnd || !ctx.isData(extent))
    return false;
  return step > 0 || *constant != -1; // A backward slice from -1 begins behind the last element, if there is one.
}

/// Whether `sliceAxes` can take these bounds of an axis of this extent.
static bool canSlice(NodeContext &ctx, const AxisBounds &bounds, AffineExpr extent) {
  return llvm::all_of(std::array{bounds.start, bounds.end}, [&](AffineExpr bound) {
    return hasKnownSign(bound, extent) && !mayLieOutside(ctx, bound, extent, bounds.step);
  });
}

/// Axes whose bounds only the data of a run tell get extents of their own.
static Value sliceKnown(NodeContext &ctx, Value x, llvm::ArrayRef<AxisBounds> bounds) {
  SmallVector<AxisBounds> now;
  tg::Dims starts, ends;
  SmallVector<int64_t> axes, steps;
  for (const AxisBounds &each : bounds) {
    if (canSlice(ctx, each, ctx.dim(x, each.axis))) {
      now.push_back(each);
      continue;
    }
    starts.push_back(each.start);
    ends.push_back(each.end);
    axes.push_back(each.axis);
    steps.push_back(each.step);
  }
  x = sliceAxes(ctx, x, now);
  return !x || axes.empty() ? x
                            : runtimeSlice(ctx, x, ctx.extents(starts), ctx.extents(ends), ctx.intsConstant(axes),
                                           ctx.intsConstant(steps));
}

static llvm::LogicalResult importSlice(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  std::optional<tg::Dims> starts, ends;
  std::optional<SmallVector<int64_t>> axes, steps;
  bool isKnown = true;
  if (ctx.opset < 10) {
    FailureOr<SmallVector<int64_t>> first = ctx.intsAttr("starts"), last = ctx.intsAttr("ends");
    if (failed(first) || failed(last))
      return failure();
    starts = ctx.constDims(*first);
    ends = ctx.constDims(*last);
    if (ctx.hasAttr("axes")) {
      FailureOr<SmallVector<int64_t>> given = ctx.intsAttr("axes");
      if (failed(given))
        return failure();
      axes = *given;
    }
  } else {
    Value first = ctx.required(1), last = ctx.required(2);
    if (!first || !last)
      return failure();
    starts = ctx.shapeContents(first);
    ends = ctx.shapeContents(last);
    isKnown = starts && ends;
    for (auto [i, list] : {std::pair{3, &axes}, std::pair{4, &steps}})
      if (ctx.input(i))
        isKnown &= (*list = ctx.constantInts(ctx.input(i))).has_value();
  }
  Value result;
  if (isKnown) {
    FailureOr<SmallVector<AxisBounds>> bounds = readBounds(ctx, x, *starts, *ends, axes, steps);
    result = failed(bounds) ? Value() : sliceKnown(ctx, x, *bounds);
  } else {
    result = runtimeSlice(ctx, x, ctx.input(1), ctx.input(2), ctx.input(3), ctx.input(4));
  }
  ctx.output(0, result);
  return success(bool(result));
}

//===--- Tensors of indices ---===//

/// Number of elements of start, start + delta, ... before limit, for constant floats.
static std::optional<int64_t> countSteps(double start, double limit, double delta) {
  double count = std::ceil((limit - start) / delta);
  if (!(count < 1e12))
    return std::nullopt;
  return std::max<int64_t>(0, static_cast<int64_t>(count));
}

/// Elements of a Range: known, symbolic (of constant steps, towards the limit), or data.
static FailureOr<AffineExpr> rangeSize(NodeContext &ctx, Value start, Value limit, Value delta) {
  std::optional<double> first = ctx.constantFloat(start), last = ctx.constantFloat(limit),
                        by = ctx.constantFloat(delta);
  if (by == 0.0 && llvm::isa<mlir::IntegerType>(ctx.elementType(start)))
    return ctx.error("delta is 0 or out of range");
  if (by == 0.0)
    return ctx.error("the range is not finite");
  if (first && last && by && !llvm::isa<mlir::IntegerType>(ctx.elementType(start))) {
    std::optional<int64_t> count = countSteps(*first, *last, *by);
    if (!count)
      return ctx.error("the range is not finite");
    return ctx.constExpr(*count);
  }
  std::optional<tg::Dims> from = ctx.shapeContents(start), to = ctx.shapeContents(limit),
                          step = ctx.shapeContents(delta);
  std::optional<int64_t> whole = step ? tg::getConstant(step->front()) : std::nullopt;
  if (!from || !to || !whole || *whole == INT64_MIN) {
    FailureOr<tg::Dims> bound = ctx.runtimeDims(rangeLength(ctx, start, limit, delta), "length");
    return failed(bound) ? FailureOr<AffineExpr>(failure()) : FailureOr<AffineExpr>(bound->front());
  }
  AffineExpr low = *whole > 0 ? from->front() : to->front(), high = *whole > 0 ? to->front() : from->front();
  AffineExpr length = tg::simplify(high - low);
  AffineExpr size = tg::simplify((length + (std::abs(*whole) - 1)).floorDiv(std::abs(*whole)));
  if (std::optional<int64_t> constant = tg::getConstant(size))
    return ctx.constExpr(std::max<int64_t>(0, *constant));
  if (failed(ctx.assumeAtMost(low, high, "range")))
    return failure();
  return size;
}

static llvm::LogicalResult importRange(NodeContext &ctx) {
  Value start = ctx.required(0), limit = ctx.required(1), delta = ctx.required(2);
  if (!start || !limit || !delta)
    return failure();
  for (Value value : {start, limit, delta})
    if (tg::getConstant(tg::getNumElements(value.getType())) != 1)
      return ctx.error("expected scalars");
  mlir::Type element = ctx.elementType(start);
  FailureOr<AffineExpr> size = rangeSize(ctx, start, limit, delta);
  if (failed(size))
    return failure();
  auto scalar = [&](Value value) { return ctx.reshape(value, llvm::ArrayRef<int64_t>()); };
  Value places = ctx.cast(iota(ctx, *size), element);
  ctx.output(0, ctx.make<tg::AddOp>(ctx.make<tg::MulOp>(places, scalar(delta)), scalar(start)));
  return success();
}

/// Row and column numbers of the last two dimensions of `dims`, as [rows, 1] and [1, columns] of i64.
static std::pair<Value, Value> rowsAndColumns(NodeContext &ctx, llvm::ArrayRef<AffineExpr> dims) {
  AffineExpr rows = dims[dims.size() - 2], columns = dims.back();
  return {ctx.reshape(iota(ctx, rows), {rows, ctx.constExpr(1)}),
          ctx.reshape(iota(ctx, columns), {ctx.constExpr(1), columns})};
}

static llvm::LogicalResult importEyeLike(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<int64_t> k = ctx.intAttr("k", 0);
  if (!x || failed(k) || failed(ctx.checkRank(x, 2, 2, "input 0")))
    return failure();
  FailureOr<mlir::Type> element = ctx.typeAttr("dtype", ctx.elementType(x));
  if (failed(element))
    return failure();
  auto [rows, columns] = rowsAndColumns(ctx, ctx.dims(x));
  Value diagonal = ctx.make<tg::AddOp>(rows, ctx.scalarInt(*k, ctx.b.getI64Type()));
  ctx.output(0, ctx.cast(ctx.make<tg::CmpOp>(tg::CmpPredicate::Eq, diagonal, columns), *element));
  return success();
}

static llvm::LogicalResult importTrilu(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<bool> upper = ctx.boolAttr("upper", true);
  if (!x || failed(upper) || failed(ctx.checkRank(x, 2, 32, "input 0")))
    return failure();
  Value k = ctx.input(1) ? ctx.reshape(ctx.cast(ctx.input(1), ctx.b.getI64Type()), llvm::ArrayRef<int64_t>())
                         : ctx.scalarInt(0, ctx.b.getI64Type());
  auto [rows, columns] = rowsAndColumns(ctx, ctx.dims(x));
  Value diagonal = ctx.make<tg::AddOp>(rows, k);
  Value kept = ctx.make<tg::CmpOp>(*upper ? tg::CmpPredicate::Ge : tg::CmpPredicate::Le, columns, diagonal);
  ctx.output(0, ctx.make<tg::SelectOp>(kept, x, ctx.scalarInt(0, x.getType())));
  return success();
}

namespace weft::onnx {

llvm::ArrayRef<OpEntry> getSliceOps() {
  static const OpEntry ops[] = {
      {"", "Concat", 1, newestOpset, importConcat, ""},
      {"", "EyeLike", 9, newestOpset, importEyeLike, ""},
      {"", "Range", 11, newestOpset, importRange, "symbolic lengths are at least 0"},
      {"com.microsoft", "Range", 1, anyOpset, importRange, "symbolic lengths are at least 0"},
      {"", "Slice", 1, newestOpset, importSlice, "symbolic bounds lie inside the tensor"},
      {"", "Split", 2, newestOpset, importSplit, ""},
      {"", "Trilu", 14, newestOpset, importTrilu, ""},
      {"com.microsoft", "Trilu", 1, anyOpset, importTrilu, ""},
  };
  return ops;
}

} // namespace weft::onnx
