// Constants, shape queries, and views of the same elements: reshape, squeeze, transpose, expand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Extents.h"
#include "Shared/RandomTable.h"
#include "Shared/RuntimeShapes.h"

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::AffineExpr;
using mlir::failure;
using mlir::FailureOr;
using mlir::success;
using mlir::Value;

static llvm::LogicalResult importIdentity(NodeContext &ctx) {
  Value x = ctx.required(0);
  ctx.output(0, x);
  return success(static_cast<bool>(x));
}

//===--- Constants ---===//

/// Scalar and 1-D values of the short forms `value_int` and so on.
static FailureOr<Value> shortConstant(NodeContext &ctx) {
  auto tensor = [&](mlir::ArrayRef<mlir::Attribute> values, mlir::Type element, bool isScalar) {
    SmallVector<int64_t> shape;
    if (!isScalar)
      shape.push_back(static_cast<int64_t>(values.size()));
    return ctx.constantValue(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, element), values));
  };
  SmallVector<mlir::Attribute> values;
  mlir::Builder &b = ctx.b;
  if (ctx.hasAttr("value_float") || ctx.hasAttr("value_floats")) {
    bool isScalar = ctx.hasAttr("value_float");
    SmallVector<double> floats;
    if (isScalar) {
      FailureOr<double> value = ctx.floatAttr("value_float");
      if (failed(value))
        return failure();
      floats.push_back(*value);
    } else {
      FailureOr<SmallVector<double>> list = ctx.floatsAttr("value_floats");
      if (failed(list))
        return failure();
      floats = *list;
    }
    for (double value : floats)
      values.push_back(b.getF32FloatAttr(static_cast<float>(value)));
    return tensor(values, b.getF32Type(), isScalar);
  }
  if (ctx.hasAttr("value_int")) {
    FailureOr<int64_t> value = ctx.intAttr("value_int");
    if (failed(value))
      return failure();
    values.push_back(b.getI64IntegerAttr(*value));
    return tensor(values, b.getI64Type(), true);
  }
  if (ctx.hasAttr("value_ints")) {
    FailureOr<SmallVector<int64_t>> list = ctx.intsAttr("value_ints");
    if (failed(list))
      return failure();
    for (int64_t value : *list)
      values.push_back(b.getI64IntegerAttr(value));
    return tensor(values, b.getI64Type(), false);
  }
  return ctx.unsupported("constants of strings and sparse tensors are not supported");
}

static llvm::LogicalResult importConstant(NodeContext &ctx) {
  FailureOr<Value> value = ctx.hasAttr("value") ? ctx.tensorAttr("value") : shortConstant(ctx);
  if (failed(value))
    return failure();
  ctx.output(0, *value);
  return success();
}

//===--- Shape queries ---===//

static llvm::LogicalResult importShape(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  int64_t rank = ctx.rank(x);
  FailureOr<int64_t> start = ctx.intAttr("start", 0), end = ctx.intAttr("end", rank);
  if (failed(start) || failed(end))
    return failure();
  auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  int64_t first = clamp(*start), last = clamp(*end);
  tg::Dims dims = ctx.dims(x);
  ctx.output(
      0, ctx.extents(first < last ? llvm::ArrayRef(dims).slice(first, last - first) : llvm::ArrayRef<AffineExpr>()));
  return success();
}

static llvm::LogicalResult importSize(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  ctx.output(0, ctx.reshape(ctx.extents(tg::getNumElements(x.getType())), llvm::ArrayRef<int64_t>()));
  return success();
}

//===--- Reshape and its kin ---===//

static llvm::LogicalResult importReshape(NodeContext &ctx) {
  Value x = ctx.required(0), shape;
  if (ctx.opset < 5) {
    FailureOr<SmallVector<int64_t>> given = ctx.intsAttr("shape");
    shape = failed(given) ? Value() : ctx.intsConstant(*given);
  } else {
    shape = ctx.required(1);
  }
  FailureOr<bool> allowZero = ctx.boolAttr("allowzero", false);
  if (!x || !shape || failed(allowZero))
    return failure();
  std::optional<tg::Dims> wanted = ctx.shapeContents(shape);
  if (!wanted) {
    FailureOr<tg::Dims> dims = runtimeReshapeDims(ctx, x, shape, *allowZero);
    if (failed(dims))
      return failure();
    ctx.output(0, ctx.reshape(x, *dims));
    return success();
  }
  tg::Dims dims, own = ctx.dims(x), others;
  std::optional<size_t> inferred;
  for (auto [i, expr] : llvm::enumerate(*wanted)) {
    std::optional<int64_t> extent = tg::getConstant(expr);
    if (extent && *extent < -1)
      return ctx.error("shape entry " + llvm::Twine(*extent) + " is negative");
    if (extent && *extent == 0 && !*allowZero) {
      if (i >= own.size())
        return ctx.error("shape entry 0 at index " + llvm::Twine(i) + " copies a dimension that the operand lacks");
      expr = own[i];
    }
    if (extent && *extent == -1) {
      if (inferred)
        return ctx.error("shape has more than one -1");
      inferred = i;
    } else {
      others.push_back(expr);
    }
    dims.push_back(expr);
  }
  if (inferred) {
    AffineExpr rest = productOf(ctx, others);
    if (tg::getConstant(rest) == 0)
      return ctx.error("shape has a -1 beside a zero extent, so the -1 is not determined");
    dims[*inferred] = divideProducts(ctx, own, others);
  }
  ctx.output(0, ctx.reshape(x, dims));
  return success();
}

/// Axes from input 1 (opset 13) or the attribute; none if neither is there.
static FailureOr<std::optional<SmallVector<int64_t>>> axesOperand(NodeContext &ctx) {
  if (ctx.opset < 13) {
    if (!ctx.hasAttr("axes"))
      return std::optional<SmallVector<int64_t>>();
    FailureOr<SmallVector<int64_t>> axes = ctx.intsAttr("axes");
    return failed(axes) ? FailureOr<std::optional<SmallVector<int64_t>>>(failure()) : std::optional(*axes);
  }
  if (!ctx.input(1))
    return std::optional<SmallVector<int64_t>>();
  FailureOr<SmallVector<int64_t>> axes = ctx.requiredInts(1, "axes");
  return failed(axes) ? FailureOr<std::optional<SmallVector<int64_t>>>(failure()) : std::optional(*axes);
}

/// Whether the axes are an input of known length whose contents are data.
static bool hasRuntimeAxes(NodeContext &ctx) {
  Value axes = ctx.opset < 13 ? Value() : ctx.input(1);
  return axes && ctx.rank(axes) == 1 && ctx.staticDim(axes, 0) && !ctx.constantInts(axes);
}

/// Whether the result's declared rank is what remains when all extents that are not known are squeezed.
static bool areOpenSqueezed(NodeContext &ctx, Value x) {
  int64_t kept = llvm::count_if(ctx.dims(x), [&](AffineExpr extent) {
    std::optional<int64_t> known = ctx.assumedConstant(extent);
    return known && *known != 1;
  });
  return ctx.declaredRank(0) == kept;
}

static llvm::LogicalResult importSqueeze(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (x && hasRuntimeAxes(ctx)) {
    FailureOr<tg::Dims> dims = runtimeSqueezeDims(ctx, x, ctx.input(1));
    return failed(dims) ? failure() : (ctx.output(0, ctx.reshape(x, *dims)), success());
  }
  auto given = axesOperand(ctx);
  if (!x || failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    FailureOr<SmallVector<int64_t>> normal = ctx.normalizeAxes(**given, ctx.rank(x));
    if (failed(normal))
      return failure();
    axes = *normal;
  } else {
    for (auto [d, extent] : llvm::enumerate(ctx.dims(x))) {
      std::optional<int64_t> known = ctx.assumedConstant(extent);
      // The declared rank of the result says which extents are 1; else one that is open is one that varies. Both are
      // checked when the model runs.
      if (!known && areOpenSqueezed(ctx, x)) {
        axes.push_back(static_cast<int64_t>(d));
        continue;
      }
      if (!known &&
          failed(ctx.assumeAtMost(ctx.constExpr(2), extent, "dimension " + llvm::Twine(d) + ", which is not squeezed")))
        return failure();
      if (known == 1)
        axes.push_back(static_cast<int64_t>(d));
    }
  }
  ctx.output(0, ctx.squeeze(x, axes));
  return success();
}

static llvm::LogicalResult importUnsqueeze(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (x && hasRuntimeAxes(ctx)) {
    FailureOr<tg::Dims> dims = runtimeUnsqueezeDims(ctx, x, ctx.input(1));
    return failed(dims) ? failure() : (ctx.output(0, ctx.reshape(x, *dims)), success());
  }
  auto given = axesOperand(ctx);
  if (!x || failed(given))
    return failure();
  if (!*given)
    return ctx.error("axes are missing");
  FailureOr<SmallVector<int64_t>> axes =
      ctx.normalizeAxes(**given, ctx.rank(x) + static_cast<int64_t>((*given)->size()));
  if (failed(axes))
    return failure();
  llvm::sort(*axes);
  ctx.output(0, ctx.unsqueeze(x, *axes));
  return success();
}

static llvm::LogicalResult importFlatten(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<int64_t> axis = ctx.intAttr("axis", 1);
  if (!x || failed(axis))
    return failure();
  int64_t rank = ctx.rank(x);
  if (*axis < -rank || *axis > rank)
    return ctx.error("axis " + llvm::Twine(*axis) + " is out of range for rank " + llvm::Twine(rank));
  tg::Dims dims = ctx.dims(x);
  size_t split = *axis < 0 ? *axis + rank : *axis;
  AffineExpr before = productOf(ctx, llvm::ArrayRef(dims).take_front(split)),
             after = productOf(ctx, llvm::ArrayRef(dims).drop_front(split));
  ctx.output(0, ctx.reshape(x, tg::Dims{before, after}));
  return success();
}

static llvm::LogicalResult importTranspose(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  SmallVector<int64_t> reversed;
  for (int64_t d = ctx.rank(x); d-- > 0;)
    reversed.push_back(d);
  FailureOr<SmallVector<int64_t>> permutation = ctx.intsAttr("perm", reversed);
  if (failed(permutation))
    return failure();
  if (permutation->size() != reversed.size())
    return ctx.error("expected " + llvm::Twine(reversed.size()) + " entries of attribute `perm`, got " +
                     llvm::Twine(permutation->size()));
  permutation = ctx.normalizeAxes(*permutation, ctx.rank(x));
  if (failed(permutation))
    return failure();
  ctx.output(0, ctx.transpose(x, *permutation));
  return success();
}

//===--- Repeating ---===//

static llvm::LogicalResult checkExtents(NodeContext &ctx, llvm::ArrayRef<AffineExpr> dims) {
  for (AffineExpr dim : dims)
    if (auto extent = tg::getConstant(dim); extent && *extent < 0)
      return ctx.error("extent " + llvm::Twine(*extent) + " is negative");
  return success();
}

static llvm::LogicalResult importExpand(NodeContext &ctx) {
  Value x = ctx.required(0), shape = ctx.required(1);
  if (!x || !shape)
    return failure();
  std::optional<tg::Dims> wanted = ctx.shapeContents(shape);
  if (!wanted) {
    ctx.output(0, runtimeExpand(ctx, x, shape));
    return success();
  }
  if (failed(checkExtents(ctx, *wanted)))
    return failure();
  SmallVector<std::pair<AffineExpr, AffineExpr>> assumed;
  std::optional<tg::Dims> dims = tg::broadcastDims({ctx.dims(x), *wanted}, &assumed);
  if (!dims)
    return ctx.error("the operand does not broadcast to [" + ctx.extentsText(*wanted) + "]");
  for (auto [a, b] : assumed)
    if (failed(ctx.assumeEqual(a, b, "`Expand` dimension")))
      return failure();
  ctx.output(0, ctx.broadcastTo(x, *dims));
  return success();
}

/// [a, b] repeated (r, s) times is [r, a, s, b] broadcast from [1, a, 1, b], reshaped to [r a, s b].
static llvm::LogicalResult importTile(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<tg::Dims> repeats = ctx.requiredDims(1, "repeats");
  if (!x || failed(repeats) || failed(checkExtents(ctx, *repeats)))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != ctx.rank(x))
    return ctx.error("expected " + llvm::Twine(ctx.rank(x)) + " repeats, got " + llvm::Twine(repeats->size()));
  tg::Dims split, repeated, result;
  for (auto [extent, repeat] : llvm::zip_equal(ctx.dims(x), *repeats)) {
    if (tg::getConstant(repeat) != 1) {
      split.push_back(ctx.constExpr(1));
      repeated.push_back(repeat);
    }
    split.push_back(extent);
    repeated.push_back(extent);
    result.push_back(tg::simplify(extent * repeat));
  }
  ctx.output(0, ctx.reshape(ctx.broadcastTo(ctx.reshape(x, split), repeated), result));
  return success();
}

static llvm::LogicalResult importConstantOfShape(NodeContext &ctx) {
  FailureOr<tg::Dims> dims = ctx.requiredDims(0, "shape");
  if (failed(dims) || failed(checkExtents(ctx, *dims)))
    return failure();
  Value element = ctx.hasAttr("value") ? Value() : ctx.scalar(0, ctx.b.getF32Type());
  if (ctx.hasAttr("value")) {
    FailureOr<Value> value = ctx.tensorAttr("value");
    if (failed(value))
      return failure();
    if (tg::getConstant(tg::getNumElements((*value).getType())) != 1)
      return ctx.error("attribute `value`: expected one element");
    element = ctx.reshape(*value, llvm::ArrayRef<int64_t>());
  }
  ctx.output(0, ctx.broadcastTo(element, *dims));
  return success();
}

/// Training mode: elements are dropped where the table is below the ratio, the others scaled. `isTraining` selects
/// where it is data.
static llvm::LogicalResult dropElements(NodeContext &ctx, Value x, Value isTraining) {
  Value table = uniformTable(ctx, ctx.dims(x));
  if (!table)
    return failure();
  Expr ratio(ctx, ctx.input(1) ? ctx.cast(ctx.input(1), ctx.b.getF64Type()) : ctx.scalar(0.5, ctx.b.getF64Type()));
  Expr training(ctx, isTraining), whole(ctx, x);
  Expr kept = Expr(ctx, table).compare(tg::CmpPredicate::Ge, ratio);
  Expr scaled = whole / (1.0 - ratio).cast(ctx.elementType(x));
  ctx.output(0, training.select(kept.select(scaled, 0.0), whole));
  ctx.output(1, kept | training.unary<tg::NotOp>());
  return success();
}

static llvm::LogicalResult importDropout(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  if (failed(checkIsTest(ctx)))
    return failure();
  if (Value training = ctx.input(2)) {
    bool isInference = ctx.constantInt(training) == 0, isWhole = ctx.input(1) && ctx.constantFloat(ctx.input(1)) == 0.0;
    if (!isInference && !isWhole)
      return dropElements(ctx, x, training);
  }
  ctx.output(0, x);
  if (ctx.outputUsed(1))
    ctx.output(1, ctx.broadcastTo(ctx.scalarInt(1, ctx.b.getI1Type()), ctx.dims(x)));
  return success();
}

namespace weft::onnx {

llvm::ArrayRef<OpEntry> getShapeOps() {
  static const OpEntry ops[] = {
      {"", "Constant", 1, newestOpset, importConstant, "no strings, no sparse tensors"},
      {"", "ConstantOfShape", 9, newestOpset, importConstantOfShape, ""},
      {"", "Dropout", 1, newestOpset, importDropout, "training mode: with a seed, of static extents"},
      {"", "Expand", 8, newestOpset, importExpand, ""},
      {"", "Flatten", 1, newestOpset, importFlatten, ""},
      {"", "Identity", 1, newestOpset, importIdentity, "", true},
      {"", "Reshape", 1, newestOpset, importReshape, ""},
      {"", "Shape", 1, newestOpset, importShape, ""},
      {"", "Size", 1, newestOpset, importSize, ""},
      {"", "Squeeze", 1, newestOpset, importSqueeze, ""},
      {"", "Tile", 6, newestOpset, importTile, ""},
      {"", "Transpose", 1, newestOpset, importTranspose, ""},
      {"", "Unsqueeze", 1, newestOpset, importUnsqueeze, ""},
  };
  return ops;
}

} // namespace weft::onnx
