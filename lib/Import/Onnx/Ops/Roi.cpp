// Regions of interest: RoiAlign as bilinear samples and one contraction, and NonMaxSuppression.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/NonMaxSuppression.h"
#include "Shared/Sampling.h"
#include "Shared/Window.h"

using namespace mlir;

namespace weft::onnx {
namespace {

struct RoiSpec {
  bool maximum = false;
  bool halfPixel = true;
  int64_t outputs[2] = {1, 1}; ///< Bins along height and width.
  int64_t samples = 1;         ///< Sample points along each dimension of a bin; 0: one for each element it spans.
  double scale = 1;
};

FailureOr<RoiSpec> readRoiSpec(NodeContext &c) {
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"avg", "max"}, "avg");
  FailureOr<unsigned> transform =
      c.opset >= 16 ? c.choiceAttr("coordinate_transformation_mode", {"half_pixel", "output_half_pixel"}, "half_pixel")
                    : FailureOr<unsigned>(1u);
  FailureOr<int64_t> height = c.intAttr("output_height", 1), width = c.intAttr("output_width", 1),
                     ratio = c.intAttr("sampling_ratio", 0);
  FailureOr<double> scale = c.floatAttr("spatial_scale", 1.0);
  if (failed(mode) || failed(transform) || failed(height) || failed(width) || failed(ratio) || failed(scale))
    return failure();
  constexpr int64_t most = 1 << 12;
  if (*height < 1 || *width < 1 || *height > most || *width > most || *ratio < 0 || *ratio > most)
    return c.error(
        "expected attributes `output_height`, `output_width` in [1, 4096] and `sampling_ratio` in [0, 4096]");
  return RoiSpec{*mode == 1, *transform == 0, {*height, *width}, *ratio, *scale};
}

/// The sample points along one dimension.
struct RoiSamples {
  Expr place; ///< Rois x bins x samples.
  Expr valid; ///< Which there are, rois x 1 x samples; null: all.
  Expr count; ///< How many each bin has: rois, or of rank 0.
};

/// The sample points along dimension d, 0 is height. `rois` is R x 4 as (x1, y1, x2, y2).
FailureOr<RoiSamples> samplePoints(NodeContext &c, Value rois, unsigned d, const RoiSpec &spec) {
  if (!rois)
    return failure();
  Type element = c.elementType(rois);
  AffineExpr rows = c.dim(rois, 0), one = c.constExpr(1), most = c.constExpr(spec.samples);
  auto corner = [&](int64_t column) {
    Expr value(c, c.reshape(c.slice(rois, 1, column, one), {rows, one, one}));
    return value * spec.scale - (spec.halfPixel ? 0.5 : 0.0);
  };
  Expr begin = corner(d == 0 ? 1 : 0), extent = corner(d == 0 ? 3 : 2) - begin, valid(c, {});
  if (!spec.halfPixel)
    extent = extent.max(1.0);
  auto bins = static_cast<double>(spec.outputs[d]);
  Expr count(c, c.scalar(static_cast<double>(spec.samples), element));
  if (spec.samples == 0) {
    count = (extent / bins).unary<tg::CeilOp>().max(0.0);
    Expr largest(c, c.reduce(tg::Monoid::Max, count, {0, 1, 2}, /*keepDims=*/false));
    FailureOr<tg::Dims> bound = c.runtimeDims(largest.max(1.0).cast(c.b.getI64Type()), "most samples of a bin");
    if (failed(bound))
      return failure();
    most = bound->front();
  }
  // Sample s of bin b lies at begin + (b + (s + 1/2) / count) * extent / bins.
  Expr sample(c, c.reshape(c.cast(iota(c, most), element), {one, one, most}));
  Expr bin(c, c.reshape(c.cast(iota(c, c.constExpr(spec.outputs[d])), element), {c.constExpr(spec.outputs[d]), one}));
  if (spec.samples == 0)
    valid = sample.compare(tg::CmpPredicate::Lt, count);
  Expr fraction(c, foldTable(c, (bin + (sample + 0.5) / count.max(1.0)) / bins));
  if (spec.samples == 0)
    count = count.reshape({rows});
  return RoiSamples{begin + extent * fraction, valid, count};
}

/// Two taps for each position; positions more than one element outside weigh nothing, others are clamped.
AxisTaps roiTaps(NodeContext &c, const RoiSamples &samples, AffineExpr extent) {
  if (!samples.place)
    return {};
  Type element = c.elementType(samples.place);
  Expr n(c, extentScalar(c, extent, element)), last(c, extentScalar(c, tg::simplify(extent - 1), element));
  Expr valid = samples.place.compare(tg::CmpPredicate::Ge, -1.0) & samples.place.compare(tg::CmpPredicate::Le, n);
  AxisTaps taps = linearTaps(samples.place.max(0.0).min(last), last);
  if (!taps.weight)
    return {};
  Expr weight(c, taps.weight);
  Value counted = samples.valid ? withTapDim(c, samples.valid) : Value();
  return {taps.index, Expr(c, withTapDim(c, valid)).select(weight, 0.0), counted};
}

struct RoiBox {
  BoxTaps taps; ///< Rois x bins x samples x bins x samples x 2 x 2, height first.
  Expr count;   ///< Samples of a bin: rois, or of rank 0.
};

FailureOr<RoiBox> roiBox(NodeContext &c, Value rois, const RoiSpec &spec, ArrayRef<AffineExpr> extents) {
  SmallVector<AxisTaps> axes;
  Expr count(c, {});
  for (unsigned d : {0, 1}) {
    FailureOr<RoiSamples> samples = samplePoints(c, rois, d, spec);
    if (failed(samples))
      return failure();
    AxisTaps taps = roiTaps(c, *samples, extents[d]);
    if (!taps.index || !taps.weight)
      return failure();
    auto spread = [&](Value value) {
      SmallVector<int64_t> fresh = d == 0 ? SmallVector<int64_t>{3, 4} : SmallVector<int64_t>{1, 2};
      return value ? c.unsqueeze(value, fresh) : Value();
    };
    axes.push_back({spread(taps.index), spread(taps.weight), spread(taps.inside)});
    count = count ? count * samples->count : samples->count;
  }
  return RoiBox{combineTaps(c, axes, extents), count};
}

/// x[batch[r], c, index[r, ..]]: the images of the rois' batch entries are not copied.
Value gatherRois(NodeContext &c, Value x, Value batch, Value index) {
  MLIRContext *context = c.b.getContext();
  tg::Dims dims = c.dims(index);
  int64_t rank = c.rank(index);
  SmallVector<AffineExpr> ones(rank, c.constExpr(1));
  ones.front() = dims.front();
  Value both = c.concat({c.unsqueeze(c.broadcastTo(c.reshape(batch, ones), dims), {0}), c.unsqueeze(index, {0})}, 0);
  tg::Dims result = dims;
  result.insert(result.begin() + 1, c.dim(x, 1));
  // Result dimensions: roi, channel, the rest of `index`.
  auto pick = [&](int64_t which) {
    SmallVector<AffineExpr> exprs{c.constExpr(which)};
    for (int64_t d = 0; d <= rank; ++d)
      if (d != 1)
        exprs.push_back(getAffineDimExpr(d, context));
    return AffineMap::get(rank + 1, 0, exprs, context);
  };
  AffineMap place = AffineMap::get(
      rank + 1, 2, {getAffineSymbolExpr(0, context), getAffineDimExpr(1, context), getAffineSymbolExpr(1, context)},
      context);
  return c.make<tg::GatherOp>(tg::getTensorType(result, c.elementType(x)), x, both, AffineMapAttr::get(place),
                              c.b.getAffineMapArrayAttr({pick(0), pick(1)}));
}

LogicalResult importRoiAlign(NodeContext &c) {
  Value x = c.required(0), rois = c.required(1), batch = c.required(2);
  if (!x || !rois || !batch || failed(c.checkNumInputs(3, 3)) || failed(c.checkRank(x, 4, 4, "X")) ||
      failed(c.checkRank(rois, 2, 2, "rois")) || failed(c.checkRank(batch, 1, 1, "batch_indices")) ||
      failed(checkSameFloat(c, x, rois, "rois")))
    return failure();
  if (c.staticDim(rois, 1) != 4)
    return c.error("expected 4 coordinates in dimension 1 of `rois`, got type " + typeName(rois.getType()));
  if (!c.elementType(batch).isInteger(64))
    return c.error("expected `batch_indices` of element type i64, got " + typeName(c.elementType(batch)));
  if (failed(c.assumeEqual(c.dim(rois, 0), c.dim(batch, 0), "number of `rois` and `batch_indices`")))
    return failure();
  FailureOr<RoiSpec> spec = readRoiSpec(c);
  FailureOr<tg::Dims> extents = sampledExtents(c, x);
  if (failed(spec) || failed(extents))
    return failure();

  FailureOr<RoiBox> box = roiBox(c, c.toCompute(rois), *spec, *extents);
  if (failed(box) || !box->taps.index || !box->taps.weight)
    return failure();
  const BoxTaps &taps = box->taps;
  tg::Dims plane{c.dim(x, 0), c.dim(x, 1), productOf(c, *extents)};
  Expr gathered(c, c.toCompute(gatherRois(c, c.reshape(x, plane), batch, taps.index)));
  if (!gathered)
    return failure();
  Expr weight(c, taps.weight), counted(c, taps.inside), y(c, {});
  auto perRoi = [&](Expr value, int64_t rank) {
    tg::Dims dims(rank, c.constExpr(1));
    if (c.rank(value) == 0)
      return value;
    dims.front() = c.dim(value, 0);
    return value.reshape(dims);
  };
  if (spec->maximum) {
    // The greatest weighted tap, as ONNX has it, not the greatest sample; 0 for a bin without samples.
    Expr weighted = gathered * Expr(c, c.unsqueeze(weight, {1}));
    if (counted)
      weighted = Expr(c, c.unsqueeze(counted, {1})).select(weighted, -std::numeric_limits<double>::infinity());
    y = Expr(c, c.reduce(tg::Monoid::Max, weighted, {3, 5, 6, 7}, /*keepDims=*/false));
    if (counted)
      y = perRoi(box->count.compare(tg::CmpPredicate::Gt, 0.0), 4).select(y, 0.0);
  } else {
    if (counted)
      weight = counted.select(weight, 0.0);
    weight = weight * perRoi(1.0 / box->count.max(1.0), c.rank(weight));
    y = Expr(c, c.contract(gathered, weight, "rcaibjyx,raibjyx->rcab", c.elementType(gathered)));
  }
  return deliver(c, c.cast(y, c.elementType(x)));
}

//===--- NonMaxSuppression ---===//

/// An input of one element as rank 0 of type `element`; `def` without it.
Value scalarInput(NodeContext &c, unsigned i, StringRef meaning, double def, Type element) {
  Value value = c.input(i);
  if (!value)
    return c.scalar(def, element);
  if (failed(c.assumeEqual(tg::getNumElements(value.getType()), c.constExpr(1),
                           "number of elements of `" + meaning + "`")))
    return {};
  return c.cast(c.reshape(value, ArrayRef<int64_t>()), element);
}

LogicalResult importNonMaxSuppression(NodeContext &c) {
  SuppressionArgs args;
  args.boxes = c.required(0);
  args.scores = c.required(1);
  if (failed(c.checkNumInputs(2, 5)) || failed(checkFloat(c, args.boxes, "boxes")) ||
      failed(checkFloat(c, args.scores, "scores")) || failed(c.checkRank(args.boxes, 3, 3, "boxes")) ||
      failed(c.checkRank(args.scores, 3, 3, "scores")))
    return failure();
  if (failed(c.assumeEqual(c.dim(args.boxes, 2), c.constExpr(4), "numbers of a box")) ||
      failed(c.assumeEqual(c.dim(args.boxes, 0), c.dim(args.scores, 0), "batches of boxes and scores")) ||
      failed(c.assumeEqual(c.dim(args.boxes, 1), c.dim(args.scores, 2), "boxes and their scores")))
    return failure();
  FailureOr<bool> center = c.boolAttr("center_point_box", false);
  if (failed(center))
    return failure();
  Type f32 = c.b.getF32Type();
  args.centerFormat = *center;
  args.maxPerClass = scalarInput(c, 2, "max_output_boxes_per_class", 0, c.b.getI64Type());
  args.iouThreshold = scalarInput(c, 3, "iou_threshold", 0, f32);
  if (c.input(4))
    args.scoreThreshold = scalarInput(c, 4, "score_threshold", 0, f32);
  if (!args.maxPerClass || !args.iouThreshold || (c.input(4) && !args.scoreThreshold))
    return failure();
  return deliver(c, suppressNonMaxima(c, args));
}

} // namespace

ArrayRef<OpEntry> getRoiOps() {
  static const OpEntry ops[] = {
      {"", "RoiAlign", 10, newestOpset, importRoiAlign, ""},
      {"", "NonMaxSuppression", 10, newestOpset, importNonMaxSuppression, ""},
  };
  return ops;
}

} // namespace weft::onnx
