// Taps of ONNX Resize as tensors; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ResampleTensors.h"
#include "Extents.h"

using namespace mlir;

namespace weft::onnx {

/// 0, 1, ... as f64.
static Expr count(NodeContext &c, AffineExpr extent) { return Expr(c, iota(c, extent)).cast(c.b.getF64Type()); }

/// Number of taps of each output: a constant, but for filters that widen with a scale that is data.
static AffineExpr countTaps(NodeContext &c, const ResampleSpec &spec, Expr first) {
  if (!spec.antialias)
    return c.constExpr(static_cast<int64_t>(2 - 2 * resample::firstTap(spec, 1.0)));
  FailureOr<tg::Dims> taps = c.runtimeDims((2.0 - first * 2.0).cast(c.b.getI64Type()), "filter taps");
  return failed(taps) ? AffineExpr() : taps->front();
}

static void fillTaps(NodeContext &c, const ResampleSpec &spec, const RuntimeAxis &axis, Expr x, ResampleTaps &result) {
  Expr filterScale = spec.antialias ? axis.numbers.scale.min(1.0) : axis.numbers.scale.like(1);
  Expr first = resample::firstTap(spec, filterScale);
  AffineExpr taps = countTaps(c, spec, first), one = c.constExpr(1);
  if (!taps)
    return;
  x = x.reshape({axis.output, one});
  Expr place = resample::floorOf(x) + first + count(c, taps).reshape({one, taps});
  Expr weight = resample::kernelWeight(spec, (place - x) * filterScale);
  if (spec.excludeOutside) {
    Expr inside = place.compare(tg::CmpPredicate::Ge, 0.0) & place.compare(tg::CmpPredicate::Lt, axis.numbers.input);
    weight = inside.select(weight, 0.0);
  }
  // The kernels sum to 1 only at their own scale and with all taps inside.
  if (spec.excludeOutside || spec.antialias) {
    Expr sum(c, c.reduce(tg::Monoid::Add, weight, {1}, /*keepDims=*/true));
    weight = weight / resample::isEqual(sum, 0.0).select(sum.like(1), sum);
  }
  result.weight = weight;
  result.index = place.min(axis.numbers.input - 1.0).max(0.0).cast(c.b.getI64Type());
}

ResampleTaps makeResampleTaps(NodeContext &c, const ResampleSpec &spec, const RuntimeAxis &axis) {
  ResampleTaps result;
  Expr x = resample::sourceCoordinate(spec.coordinates, axis.numbers, count(c, axis.output));
  Expr last = axis.numbers.input - 1.0;
  if (!x || !last)
    return result;
  if (spec.coordinates == CoordinateMode::TfCropAndResize)
    result.outside = resample::isLess(x, 0.0) | resample::isLess(last, x);
  if (spec.mode == ResampleMode::Nearest)
    result.index = resample::roundNearest(spec.nearest, x).min(last).max(0.0).cast(c.b.getI64Type());
  else
    fillTaps(c, spec, axis, x, result);
  return result;
}

} // namespace weft::onnx
