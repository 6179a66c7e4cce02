// Resize and Upsample: one resampling per axis, from tables of taps and weights: constants (Shared/ResampleTable.h), or
// tensors where extents, scales or crop boxes are symbols or data (Shared/ResampleTensors.h). An axis whose outputs are
// single elements becomes a view or a gather; else a gather of taps and a contraction with the weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/Extents.h"
#include "Shared/ResampleTensors.h"
#include "Shared/RuntimeShapes.h"
#include "Shared/Window.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {
namespace {

/// A number that is known at import, or f64 data of rank 0.
struct Number {
  Number(double known) : known(known) {}
  Number(Value data) : data(data) {}
  bool isKnown() const { return !data; }
  bool is(double number) const { return !data && known == number; }
  Expr expr(NodeContext &c) const { return {c, data ? data : c.scalar(known, c.b.getF64Type())}; }

  double known = 0;
  Value data;
};

/// What Resize asks of one axis of its operand.
struct AxisRequest {
  Number scale = 1.0;
  AffineExpr output; ///< From `sizes`; null: floor(extent * scale).
  Number roiStart = 0.0, roiEnd = 1.0;

  bool isKnown() const { return scale.isKnown() && roiStart.isKnown() && roiEnd.isKnown(); }
};

struct ResizeRequest {
  ResampleSpec spec;
  double extrapolation = 0;
  SmallVector<AxisRequest> axes; ///< One for each dimension of the operand.
};

FailureOr<ResampleSpec> readSpec(NodeContext &c) {
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"nearest", "linear", "cubic"}, "nearest");
  FailureOr<unsigned> nearest =
      c.choiceAttr("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, "round_prefer_floor");
  FailureOr<unsigned> coordinates =
      c.choiceAttr("coordinate_transformation_mode",
                   {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                    "tf_crop_and_resize", "tf_half_pixel_for_nn"},
                   "half_pixel");
  FailureOr<double> cubic = c.floatAttr("cubic_coeff_a", -0.75);
  FailureOr<bool> antialias = c.boolAttr("antialias", false), exclude = c.boolAttr("exclude_outside", false);
  if (failed(mode) || failed(nearest) || failed(coordinates) || failed(cubic) || failed(antialias) || failed(exclude))
    return failure();
  if (*coordinates == 6)
    return c.unsupported("`coordinate_transformation_mode` tf_half_pixel_for_nn is not supported",
                         "export with opset 13 or later");
  ResampleSpec spec;
  spec.mode = static_cast<ResampleMode>(*mode);
  spec.nearest = static_cast<NearestMode>(*nearest);
  spec.coordinates = static_cast<CoordinateMode>(*coordinates);
  spec.cubicCoefficient = *cubic;
  spec.antialias = *antialias && spec.mode != ResampleMode::Nearest;
  spec.excludeOutside = *exclude;
  return spec;
}

/// The operand's dimensions that scales, sizes and roi list, in order.
FailureOr<SmallVector<int64_t>> readAxes(NodeContext &c, int64_t rank) {
  if (!c.hasAttr("axes"))
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  FailureOr<SmallVector<int64_t>> axes = c.intsAttr("axes");
  return failed(axes) ? FailureOr<SmallVector<int64_t>>(failure()) : c.normalizeAxes(*axes, rank);
}

/// The f64 number of an extent.
Number extentNumber(NodeContext &c, AffineExpr extent) {
  if (std::optional<int64_t> known = tg::getConstant(extent))
    return static_cast<double>(*known);
  return extentScalar(c, extent, c.b.getF64Type());
}

/// One scale for all axes, the least (not_larger) or the greatest one, and extents rounded from it.
LogicalResult unifyScales(NodeContext &c, Value x, bool least, ArrayRef<int64_t> axes,
                          MutableArrayRef<AxisRequest> request) {
  Number common = request[axes.front()].scale;
  for (int64_t axis : axes.drop_front()) {
    Number scale = request[axis].scale;
    if (common.isKnown() && scale.isKnown())
      common = least ? std::min(common.known, scale.known) : std::max(common.known, scale.known);
    else
      common = Value(least ? common.expr(c).min(scale.expr(c)) : common.expr(c).max(scale.expr(c)));
  }
  for (int64_t axis : axes) {
    request[axis].scale = common;
    std::optional<int64_t> known = c.staticDim(x, axis);
    if (!known || !common.isKnown()) {
      Expr rounded = resample::floorOf(common.expr(c) * extentNumber(c, c.dim(x, axis)).expr(c) + 0.5);
      FailureOr<tg::Dims> extent = c.runtimeDims(rounded.cast(c.b.getI64Type()), "resized extent");
      if (failed(extent))
        return failure();
      request[axis].output = extent->front();
      continue;
    }
    double extent = std::round(common.known * static_cast<double>(*known));
    if (!(extent <= static_cast<double>(maxWindowParameter)))
      return c.error("expected resized extents of at most " + Twine(maxWindowParameter));
    request[axis].output = c.constExpr(static_cast<int64_t>(extent));
  }
  return success();
}

/// Extents and scales from the input `sizes`, under the aspect ratio policy.
LogicalResult applySizes(NodeContext &c, Value x, unsigned input, ArrayRef<int64_t> axes,
                         MutableArrayRef<AxisRequest> request) {
  FailureOr<tg::Dims> sizes = c.requiredDims(input, "sizes");
  FailureOr<unsigned> policy =
      c.choiceAttr("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}, "stretch");
  if (failed(sizes) || failed(policy))
    return failure();
  if (sizes->size() != axes.size())
    return c.error("expected " + Twine(axes.size()) + " values in `sizes`, got " + Twine(sizes->size()));
  for (auto [axis, expr] : llvm::zip_equal(axes, *sizes)) {
    if (tg::isEqual(expr, c.dim(x, axis)))
      continue;
    request[axis].output = expr;
    std::optional<int64_t> size = tg::getConstant(expr), extent = c.staticDim(x, axis);
    if ((size && (*size < 1 || *size > maxWindowParameter)) || (extent && *extent < 1))
      return c.error("expected `sizes` in [1, " + Twine(maxWindowParameter) + "] and extents of at least 1, got " +
                     c.extentsText(expr) + " for " + c.extentsText(c.dim(x, axis)));
    if (size && extent)
      request[axis].scale = static_cast<double>(*size) / static_cast<double>(*extent);
    else
      request[axis].scale = Value(extentNumber(c, expr).expr(c) / extentNumber(c, c.dim(x, axis)).expr(c));
  }
  return *policy == 0 || axes.empty() ? success() : unifyScales(c, x, *policy == 1, axes, request);
}

/// Scales of the input `input`, or the attribute's.
LogicalResult applyScales(NodeContext &c, ArrayRef<double> scales, ArrayRef<int64_t> axes,
                          MutableArrayRef<AxisRequest> request) {
  if (scales.size() != axes.size())
    return c.error("expected " + Twine(axes.size()) + " values in `scales`, got " + Twine(scales.size()));
  for (auto [axis, scale] : llvm::zip_equal(axes, scales)) {
    if (!(scale > 0) || scale > static_cast<double>(maxWindowParameter))
      return c.error("expected positive finite values in `scales`");
    request[axis].scale = scale;
  }
  return success();
}

/// The numbers of a 1-D float input, one for each of `count`.
FailureOr<SmallVector<Number>> readNumbers(NodeContext &c, unsigned input, size_t count, StringRef what) {
  Value values = c.required(input);
  if (!values || failed(c.checkRank(values, 1, 1, what)) || failed(checkFloat(c, values, what)))
    return failure();
  if (auto elements = c.staticDim(values, 0); elements != static_cast<int64_t>(count))
    return c.error("expected " + Twine(count) + " values in `" + what + "`, got " + c.extentsText(c.dim(values, 0)));
  SmallVector<Number> numbers;
  if (std::optional<SmallVector<double>> known = c.constantFloats(values))
    llvm::append_range(numbers, *known);
  else
    for (size_t i = 0; i < count; ++i)
      numbers.push_back(Value(elementAt(c, values, static_cast<int64_t>(i)).cast(c.b.getF64Type())));
  return numbers;
}

LogicalResult applyScales(NodeContext &c, unsigned input, ArrayRef<int64_t> axes,
                          MutableArrayRef<AxisRequest> request) {
  FailureOr<SmallVector<Number>> scales = readNumbers(c, input, axes.size(), "scales");
  if (failed(scales))
    return failure();
  if (llvm::all_of(*scales, [](const Number &scale) { return scale.isKnown(); }))
    return applyScales(c, llvm::map_to_vector(*scales, [](const Number &scale) { return scale.known; }), axes, request);
  for (auto [axis, scale] : llvm::zip_equal(axes, *scales))
    request[axis].scale = scale;
  return success();
}

/// The empty tensor stands for an absent optional input in older models.
bool isPresent(NodeContext &c, Value value) {
  return value && tg::getConstant(tg::getNumElements(value.getType())) != 0;
}

LogicalResult applyRoi(NodeContext &c, unsigned input, ArrayRef<int64_t> axes, MutableArrayRef<AxisRequest> request) {
  FailureOr<SmallVector<Number>> roi = readNumbers(c, input, 2 * axes.size(), "roi");
  if (failed(roi))
    return failure();
  for (const Number &number : *roi)
    if (number.isKnown() && !std::isfinite(number.known))
      return c.error("expected finite values in `roi`");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    request[axis].roiStart = (*roi)[i];
    request[axis].roiEnd = (*roi)[axes.size() + i];
  }
  return success();
}

/// The output extent that a scale gives. ONNX's shape inference multiplies in f32.
int64_t scaledExtent(int64_t extent, double scale) {
  double product = static_cast<float>(static_cast<float>(extent) * static_cast<float>(scale));
  return product >= static_cast<double>(maxWindowParameter) ? maxWindowParameter + 1 : static_cast<int64_t>(product);
}

/// Whether output o takes input o / times along every extent: nearest-neighbour enlargement, which needs no static
/// extent.
bool isRepetition(const ResampleSpec &spec, int64_t times) {
  if (spec.mode != ResampleMode::Nearest || spec.coordinates == CoordinateMode::AlignCorners ||
      spec.coordinates == CoordinateMode::TfCropAndResize || times > 1024)
    return false;
  std::optional<ResampleTable> table = makeResampleTable(
      spec, {/*input=*/4, /*output=*/4 * times, /*scale=*/static_cast<double>(times)}, maxTableEntries);
  for (int64_t o = 0; table && o < 4 * times; ++o)
    if (table->index[o] != o / times)
      return false;
  return table.has_value();
}

/// Gathers the taps of each output along `axis` by `index` and sums them up by weight, both outputs x taps.
Value weightedTaps(NodeContext &c, Value x, int64_t axis, Value index, Value weights) {
  Value taken = take(c, x, index, axis);
  if (!taken || !weights)
    return {};
  // Domain: the result's dimensions, then the taps.
  MLIRContext *context = c.b.getContext();
  unsigned rank = c.rank(x);
  AffineExpr tap = getAffineDimExpr(rank, context), output = getAffineDimExpr(axis, context);
  SmallVector<AffineExpr> result, places;
  tg::Dims dims = c.dims(x);
  dims[axis] = c.dim(weights, 0);
  for (unsigned d = 0; d < rank; ++d) {
    result.push_back(getAffineDimExpr(d, context));
    places.push_back(result.back());
    if (d == axis)
      places.push_back(tap);
  }
  auto maps = c.b.getAffineMapArrayAttr({AffineMap::get(rank + 1, 0, places, context),
                                         AffineMap::get(rank + 1, 0, {output, tap}, context),
                                         AffineMap::get(rank + 1, 0, result, context)});
  return c.make<tg::ContractOp>(tg::getTensorType(dims, c.elementType(x)), taken, weights, maps);
}

/// Adds outputs along `axis` to the mask of those that the extrapolation value replaces.
void addOutside(NodeContext &c, Value x, int64_t axis, AffineExpr output, Value mask, Value &outside) {
  tg::Dims line(c.rank(x), c.constExpr(1));
  line[axis] = output;
  Expr shaped(c, c.reshape(mask, line));
  outside = outside ? Value(Expr(c, outside) | shaped) : Value(shaped);
}

/// The extent that `scale` gives to `extent`.
FailureOr<AffineExpr> scaledExtent(NodeContext &c, AffineExpr extent, const Number &scale) {
  // n / 2^k is an expression of symbols: exact in f32 as long as n times the extent has at most 24 bits.
  constexpr double denominator = 64, maxNumerator = 1 << 12;
  double numerator = scale.known * denominator;
  if (scale.isKnown() && numerator == std::floor(numerator) && numerator <= maxNumerator)
    return tg::simplify((extent * static_cast<int64_t>(numerator)).floorDiv(static_cast<int64_t>(denominator)));
  Type f32 = c.b.getF32Type(); // As ONNX's shape inference multiplies.
  Expr product = extentNumber(c, extent).expr(c).cast(f32) * scale.expr(c).cast(f32);
  FailureOr<tg::Dims> dims = c.runtimeDims(resample::floorOf(product).cast(c.b.getI64Type()), "resized extent");
  return failed(dims) ? FailureOr<AffineExpr>(failure()) : dims->front();
}

/// How often `output` has `input` in it, if that is known for all values of their symbols.
std::optional<int64_t> knownRatio(AffineExpr output, AffineExpr input) {
  auto product = dyn_cast<AffineBinaryOpExpr>(output);
  auto times = product ? dyn_cast<AffineConstantExpr>(product.getRHS()) : AffineConstantExpr();
  if (!times || product.getKind() != AffineExprKind::Mul || !tg::isEqual(product.getLHS(), input))
    return std::nullopt;
  return times.getValue();
}

/// Resamples along an axis of which something is known only when the model runs.
Value resampleAtRunTime(NodeContext &c, Value x, int64_t axis, const ResizeRequest &request, Value &outside) {
  const AxisRequest &wanted = request.axes[axis];
  RuntimeAxis runtime{c.dim(x, axis),
                      wanted.output,
                      {Expr(c, {}), Expr(c, {}), wanted.scale.expr(c), wanted.roiStart.expr(c), wanted.roiEnd.expr(c)}};
  FailureOr<AffineExpr> scaled = runtime.output ? runtime.output : scaledExtent(c, runtime.input, wanted.scale);
  if (failed(scaled))
    return {};
  runtime.output = *scaled;
  std::optional<int64_t> times = knownRatio(runtime.output, runtime.input);
  if (times && wanted.roiStart.is(0) && wanted.roiEnd.is(1) && isRepetition(request.spec, *times))
    return repeatAlong(c, x, axis, *times);
  AffineExpr one = c.constExpr(1);
  if (failed(c.assumeAtMost(one, runtime.input, "resized dimension " + Twine(axis))) ||
      failed(c.assumeAtMost(one, runtime.output, "result of resizing dimension " + Twine(axis))))
    return {};
  runtime.numbers.input = extentNumber(c, runtime.input).expr(c);
  runtime.numbers.output = extentNumber(c, runtime.output).expr(c);
  ResampleTaps taps = makeResampleTaps(c, request.spec, runtime);
  if (taps.outside)
    addOutside(c, x, axis, runtime.output, taps.outside, outside);
  if (request.spec.mode == ResampleMode::Nearest)
    return take(c, x, taps.index, axis);
  return weightedTaps(c, x, axis, taps.index, c.cast(taps.weight, c.elementType(x)));
}

/// Resamples `x` along `axis`. `outside` collects masks of outputs that the extrapolation value replaces.
Value resampleAxis(NodeContext &c, Value x, int64_t axis, const ResizeRequest &request, Value &outside) {
  const AxisRequest &wanted = request.axes[axis];
  bool crops =
      request.spec.coordinates == CoordinateMode::TfCropAndResize && !(wanted.roiStart.is(0) && wanted.roiEnd.is(1));
  if (wanted.scale.is(1) && !crops && (!wanted.output || tg::isEqual(wanted.output, c.dim(x, axis))))
    return x;
  std::optional<int64_t> extent = c.staticDim(x, axis);
  if (!extent || !wanted.isKnown() || (wanted.output && !tg::getConstant(wanted.output)))
    return resampleAtRunTime(c, x, axis, request, outside);
  int64_t output = wanted.output ? *tg::getConstant(wanted.output) : scaledExtent(*extent, wanted.scale.known);
  if (*extent < 1 || output < 1) {
    (void)c.error("expected extents of at least 1 in dimension " + Twine(axis) + ", got " + Twine(*extent) +
                  " resized to " + Twine(output));
    return {};
  }
  std::optional<ResampleTable> table = makeResampleTable(
      request.spec, {*extent, output, wanted.scale.known, wanted.roiStart.known, wanted.roiEnd.known}, maxTableEntries);
  if (!table) {
    (void)c.limit("expected at most " + Twine(maxTableEntries) + " filter taps in dimension " + Twine(axis));
    return {};
  }
  if (!table->outside.empty())
    addOutside(c, x, axis, c.constExpr(output), boolTable(c, table->outside, {output}), outside);
  if (table->isSelection())
    return takeTable(c, x, axis, table->index);
  return weightedTaps(c, x, axis, intTable(c, table->index, {output, table->taps}),
                      floatTable(c, table->weight, {output, table->taps}, c.elementType(x)));
}

/// Resizes `x` as requested. Interpolates in f32 (f64 for f64) and converts back once, saturating.
LogicalResult resize(NodeContext &c, Value x, const ResizeRequest &request) {
  Type element = c.elementType(x);
  bool wide = element.isF64() || element.isF32() || request.spec.mode == ResampleMode::Nearest;
  Value value = wide ? x : c.cast(x, c.b.getF32Type()), outside;
  for (int64_t axis = 0; axis < c.rank(x) && value; ++axis)
    value = resampleAxis(c, value, axis, request, outside);
  if (value && outside) {
    Expr result(c, value);
    value = Expr(c, outside).select(result.like(request.extrapolation), result);
  }
  return deliver(c, c.cast(value, element));
}

LogicalResult importResize(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(2, 4)) || failed(c.checkRank(x, 1, 8, "X")))
    return failure();
  ResizeRequest request;
  FailureOr<ResampleSpec> spec = readSpec(c);
  FailureOr<double> extrapolation = c.floatAttr("extrapolation_value", 0.0);
  FailureOr<SmallVector<int64_t>> axes = readAxes(c, c.rank(x));
  if (failed(spec) || failed(extrapolation) || failed(axes))
    return failure();
  request.spec = *spec;
  request.extrapolation = *extrapolation;
  request.axes.resize(c.rank(x));
  // Opset 10 has scales as second input and no roi; its nearest mode is asymmetric with floor.
  bool hasRoi = c.opset >= 11;
  if (!hasRoi) {
    request.spec.coordinates = CoordinateMode::Asymmetric;
    request.spec.nearest = NearestMode::Floor;
  }
  unsigned scalesInput = hasRoi ? 2 : 1, sizesInput = 3;
  if (isPresent(c, c.input(sizesInput))) {
    if (isPresent(c, c.input(scalesInput)))
      return c.error("expected one of `scales` and `sizes`, got both");
    if (failed(applySizes(c, x, sizesInput, *axes, request.axes)))
      return failure();
  } else {
    if (failed(applyScales(c, scalesInput, *axes, request.axes)))
      return failure();
  }
  if (request.spec.coordinates == CoordinateMode::TfCropAndResize && failed(applyRoi(c, 1, *axes, request.axes)))
    return failure();
  return resize(c, x, request);
}

/// Upsample is Resize with asymmetric coordinates and floor; its scales are an attribute before opset 9.
LogicalResult importUpsample(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 2)) || failed(c.checkRank(x, 1, 8, "X")))
    return failure();
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"nearest", "linear", "bilinear"}, "nearest");
  if (failed(mode))
    return failure();
  ResizeRequest request;
  request.spec.mode = *mode == 0 ? ResampleMode::Nearest : ResampleMode::Linear;
  request.spec.coordinates = CoordinateMode::Asymmetric;
  request.spec.nearest = NearestMode::Floor;
  request.axes.resize(c.rank(x));
  SmallVector<int64_t> axes = allAxes(c.rank(x));
  if (c.opset >= 9)
    return failed(applyScales(c, 1, axes, request.axes)) ? failure() : resize(c, x, request);
  FailureOr<SmallVector<double>> scales = c.floatsAttr("scales");
  if (failed(scales) || failed(applyScales(c, *scales, axes, request.axes)))
    return failure();
  return resize(c, x, request);
}

/// com.microsoft.nchwc's: integer scales as an attribute, of which those of the batch and the channels are 1.
LogicalResult importBlockedUpsample(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(c.checkRank(x, 4, 4, "X")))
    return failure();
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"nearest", "linear"}, "nearest");
  FailureOr<unsigned> coordinates =
      c.choiceAttr("coordinate_transformation_mode", {"asymmetric", "align_corners", "half_pixel"}, "asymmetric");
  FailureOr<SmallVector<int64_t>> scales = c.intsAttr("scales", SmallVector<int64_t>(4, 1));
  if (failed(mode) || failed(coordinates) || failed(scales))
    return failure();
  constexpr CoordinateMode modes[] = {CoordinateMode::Asymmetric, CoordinateMode::AlignCorners,
                                      CoordinateMode::HalfPixel};
  ResizeRequest request;
  request.spec.mode = *mode == 0 ? ResampleMode::Nearest : ResampleMode::Linear;
  // Nearest elements repeat, whatever the coordinates.
  request.spec.coordinates = *mode == 0 ? CoordinateMode::Asymmetric : modes[*coordinates];
  request.spec.nearest = NearestMode::Floor;
  request.axes.resize(4);
  if (failed(applyScales(c, llvm::to_vector_of<double>(*scales), allAxes(4), request.axes)))
    return failure();
  return resize(c, x, request);
}

} // namespace

ArrayRef<OpEntry> getResizeOps() {
  static const OpEntry ops[] = {
      {"", "Resize", 10, newestOpset, importResize, ""},
      {"", "Upsample", 7, 9, importUpsample, ""},
      {"com.microsoft.nchwc", "Upsample", 1, anyOpset, importBlockedUpsample, ""},
  };
  return ops;
}

} // namespace weft::onnx
