// GridSample over one to three spatial dimensions, and AffineGrid.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/Sampling.h"

using namespace mlir;

namespace weft::onnx {
namespace {

enum class Interpolation : unsigned { Linear, Nearest, Cubic };
enum class Padding : unsigned { Zeros, Border, Reflection };

struct GridSpec {
  Interpolation mode = Interpolation::Linear;
  Padding padding = Padding::Zeros;
  bool alignCorners = false;
};

FailureOr<GridSpec> readGridSpec(NodeContext &c) {
  // Opset 16 has the 2-D names, 20 the general ones.
  FailureOr<unsigned> mode = c.choiceAttr("mode", {"linear", "nearest", "cubic", "bilinear", "bicubic"}, "linear");
  FailureOr<unsigned> padding = c.choiceAttr("padding_mode", {"zeros", "border", "reflection"}, "zeros");
  FailureOr<bool> align = c.boolAttr("align_corners", false);
  if (failed(mode) || failed(padding) || failed(align))
    return failure();
  unsigned plain = *mode == 3 ? 0 : *mode == 4 ? 2 : *mode;
  return GridSpec{static_cast<Interpolation>(plain), static_cast<Padding>(*padding), *align};
}

/// Triangle wave: `x` reflected at `low` and `low + range` until it lies between them. A range below 1, of a single
/// element, counts as 1.
Expr reflect(Expr x, double low, Expr range) {
  range = range.max(1.0);
  Expr distance = (x - low).unary<tg::AbsOp>();
  Expr turns = (distance / range).unary<tg::FloorOp>();
  Expr rest = distance - turns * range;
  Expr half = turns * 0.5;
  Expr odd = (half - half.unary<tg::FloorOp>()).compare(tg::CmpPredicate::Gt, 0.0);
  return odd.select(range + low - rest, rest + low);
}

/// Taps along a dimension of `extent` elements at normalised coordinates `grid` in [-1, 1].
AxisTaps gridTaps(Expr grid, AffineExpr extent, const GridSpec &spec) {
  NodeContext &c = grid.ctx();
  if (!grid)
    return {};
  Expr n(c, extentScalar(c, extent, c.elementType(grid))), last = n - 1.0;
  double low = spec.alignCorners ? 0 : -0.5;
  Expr range = spec.alignCorners ? last : n;
  Expr x = spec.alignCorners ? (grid + 1.0) * (last / 2) : ((grid + 1.0) * n - 1.0) * 0.5;
  if (spec.mode == Interpolation::Nearest)
    x = x.unary<tg::RoundOp>();
  auto reflected = [&](Expr place) { return reflect(place, low, range); };
  if (spec.padding == Padding::Border)
    x = (x.compare(tg::CmpPredicate::Lt, low) | x.compare(tg::CmpPredicate::Gt, range + low))
            .select(x.max(0.0).min(last), x);
  else if (spec.padding == Padding::Reflection)
    x = reflected(x);

  Expr place = x, weight = x;
  bool weighted = spec.mode != Interpolation::Nearest;
  if (weighted) {
    Expr floor = x.unary<tg::FloorOp>();
    Expr fraction(c, withTapDim(c, x - floor));
    bool cubic = spec.mode == Interpolation::Cubic;
    SmallVector<double> steps = cubic ? SmallVector<double>{-1, 0, 1, 2} : SmallVector<double>{0, 1};
    Type element = c.elementType(grid);
    Expr table(c, floatTable(c, steps, {static_cast<int64_t>(steps.size())}, element));
    place = Expr(c, withTapDim(c, floor)) + table;
    Expr distance = (fraction - table).unary<tg::AbsOp>();
    weight = 1.0 - distance;
    if (cubic) {
      // Keys' kernel with a = -0.75: (a+2) d^3 - (a+3) d^2 + 1 up to distance 1, then a d^3 - 5a d^2 + 8a d - 4a.
      constexpr double a = -0.75;
      Expr nearTap = (distance * (a + 2) - (a + 3)) * distance * distance + 1.0;
      Expr farTap = ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a;
      weight = distance.compare(tg::CmpPredicate::Le, 1.0).select(nearTap, farTap);
    }
  } else {
    place = Expr(c, withTapDim(c, x));
  }
  Value inside;
  if (spec.padding == Padding::Zeros)
    inside = place.compare(tg::CmpPredicate::Ge, 0.0) & place.compare(tg::CmpPredicate::Le, last);
  else if (spec.padding == Padding::Reflection && weighted)
    place = reflected(place);
  return {place.max(0.0).min(last).cast(c.b.getI64Type()), weighted ? Value(weight) : Value(), inside};
}

LogicalResult importGridSample(NodeContext &c) {
  Value x = c.required(0), grid = c.required(1);
  if (!x || !grid || failed(c.checkNumInputs(2, 2)) || failed(c.checkRank(x, 3, 5, "X")) ||
      failed(c.checkRank(grid, c.rank(x), c.rank(x), "grid")) || failed(checkSameFloat(c, grid, {}, "")))
    return failure();
  FailureOr<GridSpec> spec = readGridSpec(c);
  FailureOr<tg::Dims> extents = sampledExtents(c, x);
  if (failed(spec) || failed(extents))
    return failure();
  int64_t spatial = extents->size();
  if (c.staticDim(grid, spatial + 1) != spatial)
    return c.error("expected " + Twine(spatial) + " coordinates in the last dimension of `grid`, got type " +
                   typeName(grid.getType()));
  if (spec->mode != Interpolation::Nearest && failed(checkSameFloat(c, x, {}, "")))
    return failure();
  if (failed(c.assumeEqual(c.dim(x, 0), c.dim(grid, 0), "batch of `X` and `grid`")))
    return failure();

  // Coordinates come innermost dimension first.
  Type compute = c.elementType(x).isF64() ? c.elementType(x) : Type(c.b.getF32Type());
  SmallVector<AxisTaps> axes;
  for (int64_t d = 0; d < spatial; ++d) {
    Value coordinate = c.slice(c.cast(grid, compute), spatial + 1, spatial - 1 - d, c.constExpr(1));
    if (!coordinate)
      return failure();
    axes.push_back(gridTaps(Expr(c, c.squeeze(coordinate, {spatial + 1})), (*extents)[d], *spec));
  }
  tg::Dims flat{c.dim(x, 0), c.dim(x, 1), productOf(c, *extents)};
  BoxTaps taps = combineTaps(c, axes, *extents);
  return deliver(c, c.cast(sampleBox(c, c.reshape(x, flat), /*batchDims=*/1, taps), c.elementType(x)));
}

//===--- AffineGrid ---===//

/// Normalised coordinates of `extent` elements as f64: the corners at -1 and 1, or the elements' borders.
Expr baseGrid(NodeContext &c, AffineExpr extent, bool alignCorners) {
  Type f64 = c.b.getF64Type();
  Expr places = Expr(c, iota(c, extent)).cast(f64), n(c, extentScalar(c, extent, f64));
  if (!alignCorners)
    return (places * 2.0 + 1.0) / n - 1.0;
  // One element lies in the middle.
  return n.compare(tg::CmpPredicate::Eq, 1.0).select(places, places * 2.0 / (n - 1.0) - 1.0);
}

/// grid[n, .., y, x, :] = theta[n, :, 0] * x + theta[n, :, 1] * y + .. + theta[n, :, last].
LogicalResult importAffineGrid(NodeContext &c) {
  Value theta = c.required(0);
  if (!theta || failed(c.checkNumInputs(2, 2)) || failed(c.checkRank(theta, 3, 3, "theta")) ||
      failed(checkSameFloat(c, theta, {}, "")))
    return failure();
  FailureOr<tg::Dims> size = c.requiredDims(1, "size");
  FailureOr<bool> align = c.boolAttr("align_corners", false);
  if (failed(size) || failed(align))
    return failure();
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  if (spatial != 2 && spatial != 3)
    return c.error("expected 4 or 5 values in `size`, got " + Twine(size->size()));
  if (c.staticDim(theta, 1) != spatial || c.staticDim(theta, 2) != spatial + 1)
    return c.error("expected `theta` of " + Twine(spatial) + " x " + Twine(spatial + 1) + " matrices, got type " +
                   typeName(theta.getType()));
  if (failed(c.assumeEqual(c.dim(theta, 0), (*size)[0], "batch of `theta` and `size`")))
    return failure();

  Type element = c.elementType(theta);
  Value wide = c.toCompute(theta);
  auto column = [&](int64_t j) {
    tg::Dims dims(spatial + 2, c.constExpr(1));
    dims.front() = c.dim(theta, 0);
    dims.back() = c.constExpr(spatial);
    return Expr(c, c.reshape(c.slice(wide, 2, j, c.constExpr(1)), dims));
  };
  Expr grid = column(spatial);
  for (int64_t j = 0; j < spatial; ++j) {
    int64_t d = spatial - 1 - j;
    AffineExpr extent = (*size)[2 + d];
    if (tg::getConstant(extent) == 0)
      return c.error("expected extents of `size` of at least 1, got 0");
    tg::Dims line(spatial + 1, c.constExpr(1));
    line[d] = extent;
    grid = column(j) * baseGrid(c, extent, *align).reshape(line).cast(c.elementType(wide)) + grid;
  }
  return deliver(c, grid.cast(element));
}

} // namespace

ArrayRef<OpEntry> getGridSampleOps() {
  static const OpEntry ops[] = {
      {"", "GridSample", 16, newestOpset, importGridSample, "1 to 3 spatial dimensions"},
      {"", "AffineGrid", 20, newestOpset, importAffineGrid, ""},
  };
  return ops;
}

} // namespace weft::onnx
