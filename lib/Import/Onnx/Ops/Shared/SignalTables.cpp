// Angles are reduced modulo the period in integers first, so that long transforms stay exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SignalTables.h"
#include "Compose.h"
#include "Extents.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {

static constexpr double pi = 3.14159265358979323846;

static Expr scalarOf(NodeContext &c, AffineExpr extent, Type element) { return {c, extentScalar(c, extent, element)}; }

/// 0, 1, ... as a column.
static Expr column(NodeContext &c, AffineExpr extent) {
  return Expr(c, iota(c, extent)).reshape({extent, c.constExpr(1)});
}

Expr makeFourier(NodeContext &c, const FourierMatrix &matrix) {
  Type f64 = c.b.getF64Type(), i64 = c.b.getI64Type();
  // One turn of the circle, from which the matrix takes its entries.
  Expr angle = Expr(c, iota(c, matrix.length)).cast(f64) * (2 * pi) / scalarOf(c, matrix.length, f64);
  Expr sample = column(c, matrix.samples), output(c, iota(c, matrix.outputs));
  Value place = (sample * output).binary<tg::ModOp>(scalarOf(c, matrix.length, i64));
  Expr cosine(c, takeAlong(c, angle.unary<tg::CosOp>(), place, 0)),
      sine(c, takeAlong(c, angle.unary<tg::SinOp>(), place, 0));
  if (!matrix.inverse)
    sine = sine * -1.0;
  if (matrix.inverse) {
    // A frequency and its conjugate add up to twice the real part; the first and the middle one have no partner.
    Expr weight = sample.like(1).cast(f64) / scalarOf(c, matrix.length, f64);
    if (matrix.onesided) {
      Expr isAlone = sample.compare(tg::CmpPredicate::Eq, 0.0) |
                     (sample * 2.0).compare(tg::CmpPredicate::Eq, scalarOf(c, matrix.length, i64));
      weight = isAlone.select(weight, weight * 2.0);
    }
    cosine = cosine * weight;
    sine = sine * weight;
  }
  std::optional<int64_t> used = tg::getConstant(matrix.used()), samples = tg::getConstant(matrix.samples);
  if (matrix.samples != matrix.used() && !(used && samples && *samples <= *used)) {
    Expr takesPart = sample.compare(tg::CmpPredicate::Lt, scalarOf(c, matrix.used(), i64));
    cosine = takesPart.select(cosine, 0.0);
    sine = takesPart.select(sine, 0.0);
  }
  // (re + i im) (cos + i sin): re -> (cos, sin), im -> (-sin, cos).
  bool isReal = matrix.inverse && matrix.onesided;
  auto parts = [&](Expr real, Expr imaginary) {
    Value first = c.unsqueeze(real, {1, 3});
    return isReal ? first : c.concat({first, c.unsqueeze(imaginary, {1, 3})}, 3);
  };
  Value fromReal = parts(cosine, sine);
  return {c, matrix.inputParts == 1 ? fromReal : c.concat({fromReal, parts(sine * -1.0, cosine)}, 1)};
}

Expr makeWindow(NodeContext &c, WindowKind kind, AffineExpr size, bool periodic) {
  Type f64 = c.b.getF64Type();
  Expr period = scalarOf(c, periodic ? size : tg::simplify(size - 1), f64);
  // A symmetric window of one element is its middle.
  Expr phase = Expr(c, iota(c, size)).cast(f64) * (2 * pi) / period.max(1.0);
  phase = period.compare(tg::CmpPredicate::Gt, 0.0).select(phase, phase.like(pi));
  Expr first = phase.unary<tg::CosOp>();
  switch (kind) {
  case WindowKind::Hann:
    return 0.5 - first * 0.5;
  case WindowKind::Hamming:
    return 25.0 / 46.0 - first * (21.0 / 46.0);
  case WindowKind::Blackman:
    return 0.42 - first * 0.5 + (phase * 2.0).unary<tg::CosOp>() * 0.08;
  }
  return first;
}

Expr melEdges(NodeContext &c, const MelSpec &spec) {
  Type f64 = c.b.getF64Type();
  auto toMel = [&](Value hertz) { return (Expr(c, hertz) / 700.0).unary<tg::Log1pOp>() * (2595 / std::log(10.0)); };
  Expr low = toMel(spec.lowHertz), count = scalarOf(c, tg::simplify(spec.bins + 2), f64);
  Expr step = (toMel(spec.highHertz) - low) / count;
  Expr mel = Expr(c, iota(c, tg::simplify(spec.bins + 2))).cast(f64) * step + low;
  Expr hertz = (mel * (std::log(10.0) / 2595)).unary<tg::Expm1Op>() * 700.0;
  Expr place = hertz * scalarOf(c, tg::simplify(spec.fourierLength + 1), f64) / scalarOf(c, spec.sampleRate, f64);
  return place.unary<tg::FloorOp>();
}

Expr makeMelWeights(NodeContext &c, const MelSpec &spec, Expr edges) {
  Type f64 = c.b.getF64Type();
  auto edge = [&](int64_t first) { return Expr(c, c.slice(edges, 0, first, spec.bins)); };
  Expr left = edge(0), center = edge(1), right = edge(2), place = column(c, spec.spectrum);
  // Up from `left` to `center`, down to `right`. The top is there even where both slopes have no width.
  auto share = [&](Expr part, Expr whole) { return part.cast(f64) / whole.max(1.0).cast(f64); };
  Expr up = share(place - left, center - left), down = share(right - place, right - center);
  auto atLeast = [](Expr x, Expr y) { return x.compare(tg::CmpPredicate::Ge, y); };
  Expr top = place.compare(tg::CmpPredicate::Eq, center).select(up.like(1), 0.0);
  Expr falling = atLeast(place, center).select(atLeast(place, right).select(top, down), top);
  return (atLeast(place, left) & place.compare(tg::CmpPredicate::Lt, center)).select(up, falling);
}

} // namespace weft::onnx
