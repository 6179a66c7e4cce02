// Resize and Upsample: one resampling per axis, from constant tables of taps and weights (Shared/ResampleTable.h). An
// axis whose outputs are single elements becomes a view or a gather; else a gather of taps and a contraction with the
// weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/ResampleTable.h"
#include "Shared/Window.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {
namespace {

/// What Resize asks of one axis of its operand.
struct AxisRequest {
  double scale = 1;
  std::optional<int64_t> output; ///< From `sizes`; else floor(extent * scale).
  double roiStart = 0, roiEnd = 1;
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

/// One scale for all axes, the least (not_larger) or the greatest one, and extents rounded from it.
LogicalResult unifyScales(NodeContext &c, Value x, bool least, ArrayRef<int64_t> axes,
                          MutableArrayRef<AxisRequest> request) {
  double common = request[axes.front()].scale;
  for (int64_t axis : axes) {
    if (!c.staticDim(x, axis))
      return c.unsupported("`keep_aspect_ratio_policy` over the symbolic dimension " + Twine(axis) +
                               " is not supported",
                           "fix the extent with --dim");
    common = least ? std::min(common, request[axis].scale) : std::max(common, request[axis].scale);
  }
  for (int64_t axis : axes) {
    request[axis].scale = common;
    double extent = std::round(common * static_cast<double>(*c.staticDim(x, axis)));
    if (!(extent <= static_cast<double>(maxWindowParameter)))
      return c.error("expected resized extents of at most " + Twine(maxWindowParameter));
    request[axis].output = static_cast<int64_t>(extent);
  }
  return success();
}

/// Extents and scales from the input `sizes`, under the aspect ratio policy.
LogicalResult applySizes(NodeContext &c, Value x, unsigned input, ArrayRef<int64_t> axes,
                         MutableArrayRef<AxisRequest> request) {
  std::optional<tg::Dims> sizes = c.shapeContents(c.input(input));
  if (!sizes)
    return c.needsConstant(input, "sizes");
  FailureOr<unsigned> policy =
      c.choiceAttr("keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}, "stretch");
  if (failed(policy))
    return failure();
  if (sizes->size() != axes.size())
    return c.error("expected " + Twine(axes.size()) + " values in `sizes`, got " + Twine(sizes->size()));
  for (auto [axis, expr] : llvm::zip_equal(axes, *sizes)) {
    if (tg::isEqual(expr, c.dim(x, axis)))
      continue;
    std::optional<int64_t> size = tg::getConstant(expr), extent = c.staticDim(x, axis);
    if (!size || !extent)
      return c.unsupported("resizing the symbolic dimension " + Twine(axis) + " is not supported",
                           "fix the extent with --dim, or use `scales`");
    if (*size < 1 || *size > maxWindowParameter || *extent < 1)
      return c.error("expected `sizes` in [1, " + Twine(maxWindowParameter) + "] and extents of at least 1, got " +
                     Twine(*size) + " for " + Twine(*extent));
    request[axis].output = *size;
    request[axis].scale = static_cast<double>(*size) / static_cast<double>(*extent);
  }
  return *policy == 0 || axes.empty() ? success() : unifyScales(c, x, *policy == 1, axes, request);
}

LogicalResult checkScales(NodeContext &c, ArrayRef<double> scales, size_t expected) {
  if (scales.size() != expected)
    return c.error("expected " + Twine(expected) + " values in `scales`, got " + Twine(scales.size()));
  for (double scale : scales)
    if (!(scale > 0) || scale > static_cast<double>(maxWindowParameter))
      return c.error("expected positive finite values in `scales`");
  return success();
}

/// The empty tensor stands for an absent optional input in older models.
bool isPresent(NodeContext &c, Value value) {
  return value && tg::getConstant(tg::getNumElements(value.getType())) != 0;
}

LogicalResult applyRoi(NodeContext &c, unsigned input, ArrayRef<int64_t> axes, MutableArrayRef<AxisRequest> request) {
  FailureOr<SmallVector<double>> roi = c.requiredFloats(input, "roi");
  if (failed(roi))
    return failure();
  if (roi->size() != 2 * axes.size())
    return c.error("expected " + Twine(2 * axes.size()) + " values in `roi`, got " + Twine(roi->size()));
  for (auto [i, axis] : llvm::enumerate(axes)) {
    request[axis].roiStart = (*roi)[i];
    request[axis].roiEnd = (*roi)[axes.size() + i];
    if (!std::isfinite(request[axis].roiStart) || !std::isfinite(request[axis].roiEnd))
      return c.error("expected finite values in `roi`");
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

/// Gathers the taps of each output along `axis` and sums them up by weight.
Value weightedTaps(NodeContext &c, Value x, int64_t axis, const ResampleTable &table) {
  int64_t outputs = table.index.size() / table.taps;
  Value taken = take(c, x, intTable(c, table.index, {outputs, table.taps}), axis);
  Value weights = floatTable(c, table.weight, {outputs, table.taps}, c.elementType(x));
  if (!taken || !weights)
    return {};
  // Domain: the result's dimensions, then the taps.
  MLIRContext *context = c.b.getContext();
  unsigned rank = c.rank(x);
  AffineExpr tap = getAffineDimExpr(rank, context), output = getAffineDimExpr(axis, context);
  SmallVector<AffineExpr> result, places;
  tg::Dims dims = c.dims(x);
  dims[axis] = c.constExpr(outputs);
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

/// Resamples `x` along `axis`. `outside` collects masks of outputs that the extrapolation value replaces.
Value resampleAxis(NodeContext &c, Value x, int64_t axis, const ResizeRequest &request, Value &outside) {
  const AxisRequest &wanted = request.axes[axis];
  bool crops =
      request.spec.coordinates == CoordinateMode::TfCropAndResize && (wanted.roiStart != 0 || wanted.roiEnd != 1);
  std::optional<int64_t> extent = c.staticDim(x, axis);
  if (!extent) {
    auto times = static_cast<int64_t>(wanted.scale);
    if (wanted.scale == 1 && !crops)
      return x;
    if (static_cast<double>(times) == wanted.scale && isRepetition(request.spec, times))
      return repeatAlong(c, x, axis, times);
    (void)c.unsupported("resizing the symbolic dimension " + Twine(axis) + " other than by repetition is not supported",
                        "fix the extent with --dim");
    return {};
  }
  int64_t output = wanted.output.value_or(scaledExtent(*extent, wanted.scale));
  if (*extent < 1 || output < 1) {
    (void)c.error("expected extents of at least 1 in dimension " + Twine(axis) + ", got " + Twine(*extent) +
                  " resized to " + Twine(output));
    return {};
  }
  if (output == *extent && wanted.scale == 1 && !crops)
    return x;
  std::optional<ResampleTable> table =
      makeResampleTable(request.spec, {*extent, output, wanted.scale, wanted.roiStart, wanted.roiEnd}, maxTableEntries);
  if (!table) {
    (void)c.limit("expected at most " + Twine(maxTableEntries) + " filter taps in dimension " + Twine(axis));
    return {};
  }
  if (!table->outside.empty()) {
    SmallVector<int64_t> shape(c.rank(x), 1);
    shape[axis] = output;
    Expr mask(c, boolTable(c, table->outside, shape));
    outside = outside ? Value(Expr(c, outside) | mask) : Value(mask);
  }
  return table->isSelection() ? takeTable(c, x, axis, table->index) : weightedTaps(c, x, axis, *table);
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
    FailureOr<SmallVector<double>> scales = c.requiredFloats(scalesInput, "scales");
    if (failed(scales) || failed(checkScales(c, *scales, axes->size())))
      return failure();
    for (auto [axis, scale] : llvm::zip_equal(*axes, *scales))
      request.axes[axis].scale = scale;
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
  FailureOr<SmallVector<double>> scales = c.opset >= 9 ? c.requiredFloats(1, "scales") : c.floatsAttr("scales");
  if (failed(mode) || failed(scales) || failed(checkScales(c, *scales, c.rank(x))))
    return failure();
  ResizeRequest request;
  request.spec.mode = *mode == 0 ? ResampleMode::Nearest : ResampleMode::Linear;
  request.spec.coordinates = CoordinateMode::Asymmetric;
  request.spec.nearest = NearestMode::Floor;
  for (double scale : *scales)
    request.axes.push_back({scale, std::nullopt});
  return resize(c, x, request);
}

} // namespace

ArrayRef<OpEntry> getResizeOps() {
  static const OpEntry ops[] = {
      {"", "Resize", 10, newestOpset, importResize, "constant scales, sizes and roi"},
      {"", "Upsample", 7, 9, importUpsample, "constant scales"},
  };
  return ops;
}

} // namespace weft::onnx
