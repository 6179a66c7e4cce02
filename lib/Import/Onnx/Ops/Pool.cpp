// Poolings: padding, tg.window and a reduction over the window dimensions. MaxPool's Indices come from tg.arg_reduce
// over the windows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/Extents.h"
#include "Shared/Pooling.h"
#include "Shared/RuntimeShapes.h"
#include "Shared/Window.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// Dimensions of the windows' sizes in the result of `takeWindows`.
SmallVector<int64_t> windowAxes(size_t spatial) {
  return llvm::to_vector(llvm::seq<int64_t>(2 + spatial, 2 + 2 * spatial));
}

/// The lowest value of a numeric element type: what max ignores.
Value lowest(NodeContext &c, Type element) {
  if (auto type = dyn_cast<FloatType>(element))
    return c.scalar(-std::numeric_limits<double>::infinity(), element);
  unsigned width = element.getIntOrFloatBitWidth();
  return c.scalarInt(element.isUnsignedInteger() ? 0 : llvm::minIntN(width), element);
}

FailureOr<Windows> readPool(NodeContext &c, Value x) {
  if (failed(c.checkRank(x, 3, 5, "X")))
    return failure();
  FailureOr<SmallVector<int64_t>> kernel = readKernelShape(c, x);
  if (failed(kernel))
    return failure();
  return readWindows(c, x, *kernel, /*mayCeil=*/true);
}

//===--- MaxPool ---===//

/// Indices of the chosen elements in the operand, as flat indices over all of N x C x spatial. `choice` (N x C x
/// positions) numbers the taps of each window in row-major order.
Value flatIndices(NodeContext &c, Value x, Value choice, ArrayRef<WindowDim> windows, bool columnMajor) {
  Type i64 = c.b.getI64Type();
  int64_t spatial = windows.size();
  AffineExpr pitch = c.constExpr(1);
  Expr index(c, {}), rest(c, choice);
  SmallVector<Expr> places(spatial, rest);
  for (int64_t d = spatial - 1; d >= 0; --d) {
    const WindowDim &window = windows[d];
    tg::Dims along(spatial, c.constExpr(1));
    along[d] = window.output;
    Expr first = Expr(c, iota(c, window.output)).reshape(along) * double(window.stride) - double(window.low);
    if (window.first)
      first = first + Expr(c, extentScalar(c, window.first, i64));
    places[d] = first + rest.binary<tg::ModOp>(double(window.size)) * double(window.dilation);
    rest = rest / double(window.size);
  }
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t d = columnMajor ? i : spatial - 1 - i;
    Expr part = places[d] * Expr(c, extentScalar(c, pitch, i64));
    index = index ? index + part : part;
    pitch = tg::simplify(pitch * c.dim(x, 2 + d));
  }
  tg::Dims planes{c.dim(x, 0), c.dim(x, 1)};
  Expr number(c, iota(c, tg::simplify(planes[0] * planes[1])));
  planes.append(spatial, c.constExpr(1));
  return index + number.reshape(planes) * Expr(c, extentScalar(c, pitch, i64));
}

LogicalResult importMaxPoolIndices(NodeContext &c, Value x, Value taken, ArrayRef<WindowDim> windows) {
  FailureOr<bool> columnMajor = c.boolAttr("storage_order", false);
  if (failed(columnMajor) || !taken)
    return failure();
  int64_t taps = 1;
  for (const WindowDim &window : windows)
    if (llvm::MulOverflow(taps, window.size, taps) || taps > maxTableEntries)
      return c.limit("a window too large for `Indices`");
  tg::Dims flat = c.dims(taken);
  flat.truncate(2 + windows.size());
  flat.push_back(c.constExpr(taps));
  Value choice =
      c.make<tg::ArgReduceOp>(tg::Monoid::Max, c.reshape(taken, flat), 2 + windows.size(), /*keep_dims=*/false,
                              /*select_last=*/false);
  Value indices = choice ? flatIndices(c, x, choice, windows, *columnMajor) : Value();
  c.output(1, indices);
  return success(static_cast<bool>(indices));
}

/// com.microsoft's pooling of N x .. x C.
LogicalResult importNhwcMaxPool(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(c.checkRank(x, 3, 5, "x")))
    return failure();
  x = moveChannels(c, x, /*toFront=*/true);
  FailureOr<Windows> windows = x ? readPool(c, x) : FailureOr<Windows>(failure());
  if (failed(windows))
    return failure();
  Value taken = takeWindows(c, padForWindows(c, x, lowest(c, c.elementType(x)), *windows), *windows);
  Value y = c.reduce(tg::Monoid::Max, taken, windowAxes(windows->size()), /*keepDims=*/false);
  return deliver(c, moveChannels(c, y, /*toFront=*/false));
}

LogicalResult importMaxPool(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)))
    return failure();
  FailureOr<Windows> windows = readPool(c, x);
  if (failed(windows))
    return failure();
  Value taken = takeWindows(c, padForWindows(c, x, lowest(c, c.elementType(x)), *windows), *windows);
  if (c.outputUsed(1) && failed(importMaxPoolIndices(c, x, taken, *windows)))
    return failure();
  return deliver(c, c.reduce(tg::Monoid::Max, taken, windowAxes(windows->size()), /*keepDims=*/false));
}

//===--- AveragePool ---===//

/// How many elements each window position along one dimension counts: those inside the operand and, with
/// `countPadding`, in the padding but not in the overhang. A vector of the number of positions, or a scalar where all
/// are the same.
Value countAlong(NodeContext &c, Value x, size_t d, const WindowDim &window, bool countPadding, Type element) {
  std::optional<int64_t> extent = c.staticDim(x, 2 + d);
  int64_t begin = countPadding ? -window.low : 0;
  bool padded = window.overhang > 0 || (!countPadding && window.low + window.high > 0);
  if (!padded)
    return c.scalar(window.size, element);
  if (!extent || *tg::getConstant(window.output) > maxTableEntries) {
    // The count is a pooling of ones.
    WindowDim outside = window;
    AffineExpr counted = c.dim(x, 2 + d);
    if (countPadding) {
      counted = tg::simplify(counted + window.low + window.high);
      outside.low = outside.high = 0;
    }
    Value ones = c.broadcastTo(c.scalar(1, element), {counted});
    ones = padForWindows(c, ones, c.scalar(0, element), outside, /*from=*/0);
    Value taken = c.make<tg::WindowOp>(ones, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{window.size},
                                       ArrayRef<int64_t>{window.stride}, ArrayRef<int64_t>{window.dilation});
    return c.reduce(tg::Monoid::Add, taken, {1}, /*keepDims=*/false);
  }
  int64_t end = *extent + (countPadding ? window.high : 0);
  SmallVector<double> counts;
  for (int64_t o = 0; o < *tg::getConstant(window.output); ++o) {
    int64_t first = o * window.stride - window.low;
    // Taps first + k * dilation in [begin, end).
    int64_t from = first >= begin ? 0 : llvm::divideCeilSigned(begin - first, window.dilation);
    int64_t to = end <= first ? 0 : std::min(window.size, llvm::divideCeilSigned(end - first, window.dilation));
    counts.push_back(std::max<int64_t>(to - from, 0));
  }
  if (llvm::all_equal(counts))
    return c.scalar(counts.front(), element);
  return floatTable(c, counts, {static_cast<int64_t>(counts.size())}, element);
}

} // namespace

Value averagePool(NodeContext &c, Value x) {
  FailureOr<Windows> windows = readPool(c, x);
  FailureOr<bool> countPadding = c.boolAttr("count_include_pad", false);
  if (failed(windows) || failed(countPadding))
    return {};
  Value wide = c.toCompute(x);
  Type compute = c.elementType(wide);
  Value taken = takeWindows(c, padForWindows(c, wide, c.scalar(0, compute), *windows), *windows);
  Expr sum(c, c.reduce(tg::Monoid::Add, taken, windowAxes(windows->size()), /*keepDims=*/false));
  std::optional<Expr> divisor;
  for (auto [d, window] : llvm::enumerate(*windows)) {
    Value counts = countAlong(c, x, d, window, *countPadding, compute);
    if (!counts)
      return {};
    if (c.rank(counts) == 1) {
      tg::Dims shape(windows->size(), c.constExpr(1));
      shape[d] = c.dim(counts, 0);
      counts = c.reshape(counts, shape);
    }
    divisor = divisor ? *divisor * Expr(c, counts) : Expr(c, counts);
  }
  return sum / *divisor;
}

namespace {

LogicalResult importAveragePool(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(checkSameFloat(c, x, {}, "X")))
    return failure();
  return deliver(c, c.cast(averagePool(c, x), c.elementType(x)));
}

//===--- LpPool ---===//

/// |x|^p.
Expr absPower(Expr x, int64_t p) {
  Expr magnitude = x.unary<tg::AbsOp>();
  if (p == 1)
    return magnitude;
  return p == 2 ? x * x : magnitude.binary<tg::PowOp>(static_cast<double>(p));
}

/// x^(1/p), x not negative.
Expr root(Expr x, int64_t p) {
  if (p == 1)
    return x;
  return p == 2 ? x.unary<tg::SqrtOp>() : x.binary<tg::PowOp>(1.0 / static_cast<double>(p));
}

FailureOr<int64_t> readExponent(NodeContext &c) {
  FailureOr<int64_t> p = c.intAttr("p", 2);
  if (succeeded(p) && (*p < 1 || *p > maxWindowParameter))
    return c.error("expected attribute `p` to be positive, got " + Twine(*p));
  return p;
}

LogicalResult importLpPool(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(checkSameFloat(c, x, {}, "X")))
    return failure();
  FailureOr<Windows> windows = readPool(c, x);
  FailureOr<int64_t> p = readExponent(c);
  if (failed(windows) || failed(p))
    return failure();
  Expr powers = absPower(Expr(c, c.toCompute(x)), *p);
  Value taken = takeWindows(c, padForWindows(c, powers, powers.like(0), *windows), *windows);
  Expr sum(c, c.reduce(tg::Monoid::Add, taken, windowAxes(windows->size()), /*keepDims=*/false));
  return deliver(c, root(sum, *p).cast(c.elementType(x)));
}

//===--- Global poolings ---===//

/// All spatial dimensions of `x`, or failure with an error if its rank is below 3.
FailureOr<SmallVector<int64_t>> spatialAxes(NodeContext &c, Value x) {
  if (!x || failed(c.checkNumInputs(1, 1)) || failed(checkSameFloat(c, x, {}, "X")) ||
      failed(c.checkRank(x, 3, 8, "X")))
    return failure();
  return llvm::to_vector(llvm::seq<int64_t>(2, c.rank(x)));
}

LogicalResult importGlobalAveragePool(NodeContext &c) {
  Value x = c.required(0);
  FailureOr<SmallVector<int64_t>> axes = spatialAxes(c, x);
  if (failed(axes))
    return failure();
  Value wide = c.toCompute(x);
  Expr sum(c, c.reduce(tg::Monoid::Add, wide, *axes, /*keepDims=*/true));
  return deliver(c, (sum / Expr(c, c.count(x, *axes, c.elementType(wide)))).cast(c.elementType(x)));
}

LogicalResult importGlobalMaxPool(NodeContext &c) {
  Value x = c.required(0);
  FailureOr<SmallVector<int64_t>> axes = spatialAxes(c, x);
  return failed(axes) ? failure() : deliver(c, c.reduce(tg::Monoid::Max, x, *axes, /*keepDims=*/true));
}

LogicalResult importGlobalLpPool(NodeContext &c) {
  Value x = c.required(0);
  FailureOr<SmallVector<int64_t>> axes = spatialAxes(c, x);
  FailureOr<int64_t> p = readExponent(c);
  if (failed(axes) || failed(p))
    return failure();
  Expr sum(c, c.reduce(tg::Monoid::Add, absPower(Expr(c, c.toCompute(x)), *p), *axes, /*keepDims=*/true));
  return deliver(c, root(sum, *p).cast(c.elementType(x)));
}

//===--- MaxUnpool ---===//

/// The shape that the pooling parameters imply for the unpooled tensor.
FailureOr<tg::Dims> impliedShape(NodeContext &c, Value x) {
  FailureOr<SmallVector<int64_t>> kernel = readKernelShape(c, x);
  if (failed(kernel))
    return failure();
  size_t count = kernel->size();
  FailureOr<SmallVector<int64_t>> strides = readWindowInts(c, "strides", count, 1, 1);
  FailureOr<SmallVector<int64_t>> pads = readWindowInts(c, "pads", 2 * count, 0, 0);
  if (failed(strides) || failed(pads))
    return failure();
  tg::Dims shape = c.dims(x);
  for (size_t i = 0; i < count; ++i) {
    AffineExpr &extent = shape[2 + i];
    extent = tg::simplify((extent - 1) * (*strides)[i] + (*kernel)[i] - (*pads)[i] - (*pads)[count + i]);
    std::optional<int64_t> known = tg::getConstant(extent);
    if (known && (*known < 1 || *known > maxWindowParameter))
      return c.error("expected an unpooled extent in [1, " + Twine(maxWindowParameter) + "], got " + Twine(*known));
    if (!known && failed(c.assumeAtMost(c.constExpr(1), extent, "the extents of the pooling")))
      return failure();
  }
  int64_t total = 1;
  for (AffineExpr extent : shape)
    if (llvm::MulOverflow(total, tg::getConstant(extent).value_or(1), total) || total > maxWindowParameter)
      return c.limit("expected an unpooled tensor of at most " + Twine(maxWindowParameter) + " elements");
  return shape;
}

LogicalResult importMaxUnpool(NodeContext &c) {
  Value x = c.required(0), indices = c.required(1);
  if (!x || !indices || failed(c.checkNumInputs(2, 3)) || failed(checkSameFloat(c, x, {}, "X")) ||
      failed(c.checkRank(x, 3, 5, "X")) || failed(checkSpatialExtents(c, x)))
    return failure();
  FailureOr<tg::Dims> shape = impliedShape(c, x);
  if (failed(shape))
    return failure();
  if (indices.getType() != tg::withElement(x.getType(), c.b.getI64Type()))
    return c.error("expected `I` to be an int64 tensor of the shape of `X`, got " + typeName(indices.getType()));
  MLIRContext *context = c.b.getContext();
  AffineExpr count = tg::getNumElements(x.getType()), total = productOf(c, *shape);
  AffineMap place = AffineMap::get(1, 1, getAffineSymbolExpr(0, context)),
            index = AffineMap::getMultiDimIdentityMap(1, context);
  Value zeros = c.broadcastTo(c.scalar(0, c.elementType(x)), {total});
  Value flat = c.make<tg::ScatterOp>(zeros, c.reshape(indices, {count}), c.reshape(x, {count}),
                                     AffineMapAttr::get(place), c.b.getAffineMapArrayAttr({index}), tg::MonoidAttr());
  Value y = c.reshape(flat, *shape);
  if (!c.input(2))
    return deliver(c, y);

  // Indices refer to the implied shape; a larger output shape has zeros after it.
  FailureOr<tg::Dims> wanted = c.requiredDims(2, "output_shape");
  if (failed(wanted))
    return failure();
  if (wanted->size() != shape->size())
    return c.error("expected " + Twine(shape->size()) + " values in `output_shape`, got " + Twine(wanted->size()));
  Value zero = c.scalar(0, c.elementType(x));
  for (auto [d, have, want] : llvm::enumerate(*shape, *wanted)) {
    std::optional<int64_t> known = tg::getConstant(want), least = tg::getConstant(have);
    if (known && (*known < least.value_or(0) || *known > maxWindowParameter))
      return c.error("expected extents of `output_shape` of at least those of the pooling, got " + Twine(*known) +
                     " for " + c.extentsText(have));
    if (tg::isEqual(want, have))
      continue;
    if (failed(c.assumeAtMost(have, want, "the extents of the pooling")))
      return failure();
    y = shiftAlong(c, y, int64_t(d), Expr(c, c.scalarInt(0, c.b.getI64Type())), want, zero);
  }
  return deliver(c, y);
}

} // namespace

ArrayRef<OpEntry> getPoolOps() {
  static const OpEntry ops[] = {
      {"", "MaxPool", 1, newestOpset, importMaxPool, "1 to 3 spatial dimensions"},
      {"com.microsoft", "NhwcMaxPool", 1, anyOpset, importNhwcMaxPool, "1 to 3 spatial dimensions"},
      {"", "AveragePool", 1, newestOpset, importAveragePool, "1 to 3 spatial dimensions"},
      {"", "LpPool", 2, newestOpset, importLpPool, "1 to 3 spatial dimensions"},
      {"", "GlobalAveragePool", 1, newestOpset, importGlobalAveragePool, ""},
      {"", "GlobalMaxPool", 1, newestOpset, importGlobalMaxPool, ""},
      {"", "GlobalLpPool", 2, newestOpset, importGlobalLpPool, ""},
      // Channels in blocks in onnxruntime's memory, see Conv.cpp.
      {"com.microsoft.nchwc", "MaxPool", 1, anyOpset, importMaxPool, ""},
      {"com.microsoft.nchwc", "AveragePool", 1, anyOpset, importAveragePool, ""},
      {"com.microsoft.nchwc", "GlobalAveragePool", 1, anyOpset, importGlobalAveragePool, ""},
      {"com.microsoft.nchwc", "GlobalMaxPool", 1, anyOpset, importGlobalMaxPool, ""},
      {"", "MaxUnpool", 9, newestOpset, importMaxUnpool, ""},
  };
  return ops;
}

} // namespace weft::onnx
