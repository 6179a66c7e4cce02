// Joining and cutting along axes: Concat, Split, Slice; and tensors generated from indices: Range, EyeLike, Trilu.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
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
static FailureOr<SmallVector<int64_t>> splitSizes(NodeContext &ctx, AffineExpr extent) {
  if (ctx.opset >= 13 && ctx.input(1))
    return ctx.requiredInts(1, "sizes");
  if (ctx.opset < 13 && ctx.hasAttr("split"))
    return ctx.intsAttr("split");
  FailureOr<int64_t> count = ctx.intAttr("num_outputs", ctx.numOutputs());
  std::optional<int64_t> total = tg::getConstant(extent);
  if (failed(count))
    return failure();
  if (!total)
    return ctx.unsupported("equal pieces of a dynamic extent are not supported", "fix the dimension with --dim");
  if (*count < 1 || *count > 65536)
    return ctx.error("expected 1 to 65536 outputs, got " + llvm::Twine(*count));
  // The last piece may be smaller (opset 18); before that the extent must divide.
  int64_t piece = llvm::divideCeil(*total, *count);
  if (ctx.opset < 18 && *total % *count != 0)
    return ctx.error("extent " + llvm::Twine(*total) + " does not split into " + llvm::Twine(*count) + " equal pieces");
  SmallVector<int64_t> sizes;
  for (int64_t i = 0, at = 0; i < *count; ++i, at += piece)
    sizes.push_back(std::max<int64_t>(0, std::min(piece, *total - at)));
  return sizes;
}

static llvm::LogicalResult importSplit(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<int64_t> axis = ctx.intAttr("axis", 0);
  if (!x || failed(axis) || failed(axis = ctx.normalizeAxis(*axis, ctx.rank(x))))
    return failure();
  FailureOr<SmallVector<int64_t>> sizes = splitSizes(ctx, ctx.dim(x, *axis));
  if (failed(sizes))
    return failure();
  if (sizes->size() != ctx.numOutputs())
    return ctx.error("expected " + llvm::Twine(ctx.numOutputs()) + " sizes, got " + llvm::Twine(sizes->size()));
  int64_t offset = 0;
  for (int64_t size : *sizes)
    if (size < 0 || __builtin_add_overflow(offset, size, &offset))
      return ctx.error("size " + llvm::Twine(size) + " is out of range");
  if (failed(ctx.assumeEqual(ctx.dim(x, *axis), ctx.constExpr(offset), "`Split` sum of sizes")))
    return failure();
  offset = 0;
  for (auto [i, size] : llvm::enumerate(*sizes)) {
    if (ctx.outputUsed(i))
      ctx.output(i, ctx.slice(x, *axis, offset, ctx.constExpr(size)));
    offset += size;
  }
  return success();
}

//===--- Slice ---===//

namespace {

/// One axis of a slice: places offset + i * step, `size` of them.
struct AxisSlice {
  AffineExpr offset, size;
  int64_t step;
};

} // namespace

/// A slice bound as a place in [0, extent]: negative ones count from the end, what is beyond is clamped. A symbolic
/// bound is taken to lie inside, which is checked when the model runs.
static FailureOr<AffineExpr> clampBound(NodeContext &ctx, AffineExpr bound, AffineExpr extent,
                                        const llvm::Twine &what) {
  std::optional<int64_t> constant = tg::getConstant(bound), total = tg::getConstant(extent);
  if (constant && total)
    return ctx.constExpr(
        std::clamp<int64_t>(*constant < 0 ? std::max(*constant, -*total) + *total : *constant, 0, *total));
  if (constant && *constant < 0) {
    if (*constant <= -(int64_t(1) << 31))
      return ctx.constExpr(0);
    // -n of a dynamic extent: extent - n, or 0 if there are fewer than n.
    if (failed(assumeAtMost(ctx, ctx.constExpr(-*constant), extent, what)))
      return failure();
    return tg::simplify(extent + *constant);
  }
  // The largest numbers stand for "to the end".
  if (constant && *constant >= (int64_t(1) << 31) - 1)
    return extent;
  if (!tg::isNonNegative(bound)) {
    AffineExpr fromEnd = tg::simplify(extent + bound);
    bool isNegative = tg::isNonNegative(tg::simplify(-bound - 1));
    if (isNegative && tg::isNonNegative(fromEnd))
      return fromEnd;
    return FailureOr<AffineExpr>(
        ctx.unsupported(what + " `" + ctx.extentsText(bound) + "` has no known sign", "fix dimensions with --dim"));
  }
  if (failed(assumeAtMost(ctx, bound, extent, what)))
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
  if (!(a && b) && failed(assumeAtMost(ctx, *first, *last, "slice start")))
    return failure();
  AffineExpr length = tg::simplify(*last - *first);
  AffineExpr size = step == 1 ? length : tg::simplify((length + (step - 1)).floorDiv(step));
  return AxisSlice{*first, size, step};
}

/// step < 0: from min(start, extent - 1) down to above end.
static FailureOr<AxisSlice> backwardSlice(NodeContext &ctx, AffineExpr start, AffineExpr end, int64_t step,
                                          AffineExpr extent) {
  std::optional<int64_t> a = tg::getConstant(start), b = tg::getConstant(end), total = tg::getConstant(extent);
  if (!a || !b)
    return ctx.unsupported("a symbolic bound with a negative step is not supported", "fix dimensions with --dim");
  bool fromEnd = *a == -1 || *a >= (int64_t(1) << 31) - 1, toStart = *b <= -(int64_t(1) << 31);
  if (!total) {
    if (!fromEnd || !toStart)
      return ctx.unsupported("a part of a dynamic extent with a negative step is not supported",
                             "fix dimensions with --dim");
    return AxisSlice{tg::simplify(extent - 1), tg::simplify((extent + (-step - 1)).floorDiv(-step)), step};
  }
  int64_t first = std::clamp<int64_t>(*a < 0 ? std::max(*a, -*total - 1) + *total : *a, -1, *total - 1);
  int64_t last = std::clamp<int64_t>(*b < 0 ? std::max(*b, -*total - 1) + *total : *b, -1, *total - 1);
  if (first <= last)
    return AxisSlice{ctx.constExpr(0), ctx.constExpr(0), 1};
  return AxisSlice{ctx.constExpr(first), ctx.constExpr(llvm::divideCeil(first - last, -step)), step};
}

static llvm::LogicalResult sliceAxes(NodeContext &ctx, Value x, llvm::ArrayRef<AffineExpr> starts,
                                     llvm::ArrayRef<AffineExpr> ends,
                                     const std::optional<SmallVector<int64_t>> &givenAxes,
                                     std::optional<SmallVector<int64_t>> steps) {
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < starts.size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  FailureOr<SmallVector<int64_t>> normal = ctx.normalizeAxes(givenAxes.value_or(axes), ctx.rank(x));
  if (failed(normal))
    return failure();
  if (ends.size() != starts.size() || normal->size() != starts.size() || (steps && steps->size() != starts.size()))
    return ctx.error("expected as many ends, axes and steps as starts (" + llvm::Twine(starts.size()) + ")");
  for (auto [i, axis] : llvm::enumerate(*normal)) {
    int64_t step = steps ? (*steps)[i] : 1;
    AffineExpr extent = ctx.dim(x, axis);
    if (step == 0)
      return ctx.error("step 0");
    if (step < -(int64_t(1) << 40) || step > (int64_t(1) << 40))
      step = step < 0 ? -(int64_t(1) << 40) : int64_t(1) << 40;
    FailureOr<AxisSlice> slice = step > 0 ? forwardSlice(ctx, starts[i], ends[i], step, extent)
                                          : backwardSlice(ctx, starts[i], ends[i], step, extent);
    if (failed(slice))
      return failure();
    // At most one place: the step is never taken.
    if (tg::getConstant(slice->size) && *tg::getConstant(slice->size) <= 1)
      slice->step = 1;
    x = takeRange(ctx, x, axis, slice->offset, slice->size, slice->step);
    if (!x)
      return failure();
  }
  ctx.output(0, x);
  return success();
}

static llvm::LogicalResult importSlice(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  if (ctx.opset < 10) {
    FailureOr<SmallVector<int64_t>> starts = ctx.intsAttr("starts"), ends = ctx.intsAttr("ends");
    if (failed(starts) || failed(ends))
      return failure();
    std::optional<SmallVector<int64_t>> axes;
    if (ctx.hasAttr("axes")) {
      FailureOr<SmallVector<int64_t>> given = ctx.intsAttr("axes");
      if (failed(given))
        return failure();
      axes = *given;
    }
    return sliceAxes(ctx, x, ctx.constDims(*starts), ctx.constDims(*ends), axes, std::nullopt);
  }
  FailureOr<tg::Dims> starts = ctx.requiredDims(1, "starts"), ends = ctx.requiredDims(2, "ends");
  if (failed(starts) || failed(ends))
    return failure();
  std::optional<SmallVector<int64_t>> axes, steps;
  for (auto [i, list, meaning] : {std::tuple{3, &axes, "axes"}, std::tuple{4, &steps, "steps"}}) {
    if (!ctx.input(i))
      continue;
    FailureOr<SmallVector<int64_t>> given = ctx.requiredInts(i, meaning);
    if (failed(given))
      return failure();
    *list = *given;
  }
  return sliceAxes(ctx, x, *starts, *ends, axes, steps);
}

//===--- Tensors of indices ---===//

/// Number of elements of start, start + delta, ... before limit, for constant floats.
static std::optional<int64_t> countSteps(double start, double limit, double delta) {
  double count = std::ceil((limit - start) / delta);
  if (!(count < 1e12))
    return std::nullopt;
  return std::max<int64_t>(0, static_cast<int64_t>(count));
}

static llvm::LogicalResult importRange(NodeContext &ctx) {
  Value start = ctx.required(0), limit = ctx.required(1), delta = ctx.required(2);
  if (!start || !limit || !delta)
    return failure();
  for (Value value : {start, limit, delta})
    if (tg::getConstant(tg::getNumElements(value.getType())) != 1)
      return ctx.error("expected scalars");
  mlir::Type element = ctx.elementType(start);
  AffineExpr size;
  if (llvm::isa<mlir::IntegerType>(element)) {
    FailureOr<tg::Dims> first = ctx.requiredDims(0, "start"), last = ctx.requiredDims(1, "limit");
    FailureOr<SmallVector<int64_t>> step = ctx.requiredInts(2, "delta");
    if (failed(first) || failed(last) || failed(step))
      return failure();
    int64_t by = step->front();
    if (by == 0 || by == INT64_MIN)
      return ctx.error("delta is 0 or out of range");
    AffineExpr length =
        by > 0 ? tg::simplify(last->front() - first->front()) : tg::simplify(first->front() - last->front());
    size = tg::simplify((length + (std::abs(by) - 1)).floorDiv(std::abs(by)));
    if (auto constant = tg::getConstant(size))
      size = ctx.constExpr(std::max<int64_t>(0, *constant));
    else if (!tg::isNonNegative(length) && failed(assumeAtMost(ctx, by > 0 ? first->front() : last->front(),
                                                               by > 0 ? last->front() : first->front(), "range")))
      return failure();
  } else {
    FailureOr<SmallVector<double>> first = ctx.requiredFloats(0, "start"), last = ctx.requiredFloats(1, "limit"),
                                   step = ctx.requiredFloats(2, "delta");
    if (failed(first) || failed(last) || failed(step))
      return failure();
    std::optional<int64_t> count = countSteps(first->front(), last->front(), step->front());
    if (!count)
      return ctx.error("the range is not finite");
    size = ctx.constExpr(*count);
  }
  auto scalar = [&](Value value) { return ctx.reshape(value, llvm::ArrayRef<int64_t>()); };
  Value places = ctx.cast(iota(ctx, size), element);
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
      {"", "Range", 11, newestOpset, importRange, "length known at compile time, or symbolic"},
      {"", "Slice", 1, newestOpset, importSlice, "bounds known at compile time, or symbolic and inside the tensor"},
      {"", "Split", 2, newestOpset, importSplit, "sizes known at compile time"},
      {"", "Trilu", 14, newestOpset, importTrilu, ""},
  };
  return ops;
}

} // namespace weft::onnx
