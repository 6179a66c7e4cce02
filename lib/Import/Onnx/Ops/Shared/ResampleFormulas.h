// The formulas of ONNX Resize along one axis, once for numbers at import (double) and for tensors in the model (Expr,
// f64).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLEFORMULAS_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLEFORMULAS_H

#include "Expr.h"
#include "ResampleTable.h"
#include <cmath>

namespace weft::onnx::resample {

//===--- Functions that both kinds of numbers have ---===//

inline double floorOf(double x) { return std::floor(x); }
inline double ceilOf(double x) { return std::ceil(x); }
inline double magnitude(double x) { return std::fabs(x); }
inline bool isAtMost(double x, double y) { return x <= y; }
inline bool isLess(double x, double y) { return x < y; }
inline bool isEqual(double x, double y) { return x == y; }
inline double choose(bool condition, double x, double y) { return condition ? x : y; }

inline Expr floorOf(Expr x) { return x.unary<tg::FloorOp>(); }
inline Expr ceilOf(Expr x) { return x.unary<tg::CeilOp>(); }
inline Expr magnitude(Expr x) { return x.unary<tg::AbsOp>(); }
inline Expr isAtMost(Expr x, double y) { return x.compare(tg::CmpPredicate::Le, y); }
inline Expr isLess(Expr x, double y) { return x.compare(tg::CmpPredicate::Lt, y); }
inline Expr isLess(Expr x, Expr y) { return x.compare(tg::CmpPredicate::Lt, y); }
inline Expr isEqual(Expr x, double y) { return x.compare(tg::CmpPredicate::Eq, y); }
inline Expr choose(Expr condition, Expr x, Expr y) { return condition.select(x, y); }
inline Expr choose(Expr condition, Expr x, double y) { return condition.select(x, y); }

//===--- Formulas ---===//

/// One axis: extents, output over input extent as the model states it, and the normalised crop box.
template <typename Number> struct Axis {
  Number input, output, scale, roiStart, roiEnd;
};

/// Source coordinate of output `o`, of the axis of `mode` (ONNX Resize, coordinate_transformation_mode).
template <typename Number> Number sourceCoordinate(CoordinateMode mode, const Axis<Number> &axis, Number o) {
  Number resized = axis.scale * axis.input; // The length that the formulas of ONNX use; may have a fraction.
  auto isOne = [&] { return isEqual(resized, 1.0); };
  switch (mode) {
  case CoordinateMode::AlignCorners:
    return choose(isOne(), o * 0.0, o * (axis.input - 1.0) / (resized - 1.0));
  case CoordinateMode::Asymmetric:
    return o / axis.scale;
  case CoordinateMode::TfCropAndResize: {
    Number start = axis.roiStart * (axis.input - 1.0), extent = (axis.roiEnd - axis.roiStart) * (axis.input - 1.0);
    return choose(isOne(), o * 0.0 + start + extent / 2.0, start + o * extent / (resized - 1.0));
  }
  case CoordinateMode::PytorchHalfPixel:
    return choose(isOne(), o * 0.0 - 0.5, (o + 0.5) / axis.scale - 0.5);
  case CoordinateMode::HalfPixelSymmetric:
    return axis.input / 2.0 * (1.0 - axis.output / resized) + (o + 0.5) / axis.scale - 0.5;
  case CoordinateMode::HalfPixel:
    break;
  }
  return (o + 0.5) / axis.scale - 0.5;
}

template <typename Number> Number roundNearest(NearestMode mode, Number x) {
  switch (mode) {
  case NearestMode::RoundPreferFloor:
    return ceilOf(x - 0.5);
  case NearestMode::RoundPreferCeil:
    return floorOf(x + 0.5);
  case NearestMode::Floor:
    return floorOf(x);
  case NearestMode::Ceil:
    break;
  }
  return ceilOf(x);
}

/// The interpolation kernel at distance `d` from its centre: the triangle, or Keys' cubic with coefficient `a`.
template <typename Number> Number kernelWeight(const ResampleSpec &spec, Number d) {
  d = magnitude(d);
  if (spec.mode == ResampleMode::Linear)
    return choose(isLess(d, 1.0), 1.0 - d, 0.0);
  double a = spec.cubicCoefficient;
  Number inner = (d * (a + 2) - (a + 3)) * d * d + 1.0, outer = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  return choose(isAtMost(d, 1.0), inner, choose(isLess(d, 2.0), outer, 0.0));
}

/// Half of the filter's width at its own scale.
inline double radius(const ResampleSpec &spec) { return spec.mode == ResampleMode::Cubic ? 2 : 1; }

/// Position of the first tap relative to the floor of the coordinate; the last one is 1 - that.
template <typename Number> Number firstTap(const ResampleSpec &spec, Number filterScale) {
  return floorOf(-radius(spec) / filterScale) + 1.0;
}

} // namespace weft::onnx::resample

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLEFORMULAS_H
