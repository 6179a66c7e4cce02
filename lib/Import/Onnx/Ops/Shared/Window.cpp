// Reads and checks the attributes that Conv and the poolings share, and resolves auto_pad and ceil_mode to explicit
// padding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Window.h"
#include "Extents.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::onnx {

FailureOr<SmallVector<int64_t>> readWindowInts(NodeContext &c, StringRef name, size_t count, int64_t min, int64_t def) {
  FailureOr<SmallVector<int64_t>> values = c.intsAttr(name, SmallVector<int64_t>(count, def));
  if (failed(values))
    return failure();
  if (values->empty())
    values->assign(count, def);
  if (values->size() != count)
    return c.error("expected " + Twine(count) + " values in attribute `" + name + "`, got " + Twine(values->size()));
  for (int64_t value : *values)
    if (value < min || value > maxWindowParameter)
      return c.error("expected values of attribute `" + name + "` in [" + Twine(min) + ", " +
                     Twine(maxWindowParameter) + "], got " + Twine(value));
  return values;
}

FailureOr<SmallVector<int64_t>> readKernelShape(NodeContext &c, Value x) {
  if (!c.hasAttr("kernel_shape"))
    return c.error("attribute `kernel_shape` is missing");
  return readWindowInts(c, "kernel_shape", c.rank(x) - 2, 1, 1);
}

LogicalResult checkSpatialExtents(NodeContext &c, Value x) {
  for (int64_t d = 2; d < c.rank(x); ++d)
    if (std::optional<int64_t> extent = c.staticDim(x, d); extent && *extent > maxWindowParameter)
      return c.limit("expected spatial extents of at most " + Twine(maxWindowParameter) + ", got " + Twine(*extent));
  return success();
}

namespace {

enum AutoPad : unsigned { NotSet, SameUpper, SameLower, Valid };

/// The padding in all depends on n mod stride, and lies between reach - stride and reach - 1. The operand gets the most
/// of it on both sides, and the first window starts where the least of it would.
LogicalResult resolveSymbolicSame(NodeContext &c, AffineExpr extent, bool upper, WindowDim &window) {
  int64_t reach = window.reach(), most = reach - 1;
  if (reach > 1 && reach < window.stride)
    return c.unsupported("`auto_pad` SAME with a window of " + Twine(reach) + " elements and stride " +
                             Twine(window.stride) + " over a symbolic extent is not supported",
                         "fix the extent with --dim, or export with explicit pads");
  window.output = tg::simplify((extent - 1).floorDiv(window.stride) + 1);
  window.low = upper ? most / 2 : most - most / 2;
  window.high = most - window.low;
  AffineExpr padding = tg::simplify((window.output - 1) * window.stride + reach - extent);
  int64_t least = std::max<int64_t>(reach - window.stride, 0);
  if (window.low != (upper ? least / 2 : least - least / 2))
    window.first = tg::simplify(window.low - (upper ? padding : padding + 1).floorDiv(2));
  return c.assumeAtMost(c.constExpr(1), extent, "spatial extent");
}

/// Splits the padding that keeps ceil(n / stride) positions; the odd element goes after (SAME_UPPER) or before.
LogicalResult resolveSame(NodeContext &c, AffineExpr extent, bool upper, WindowDim &window) {
  int64_t total;
  if (std::optional<int64_t> n = tg::getConstant(extent)) {
    int64_t positions = (*n + window.stride - 1) / window.stride;
    if (positions < 1)
      return c.error("expected spatial extents of at least 1, got " + Twine(*n));
    total = std::max<int64_t>((positions - 1) * window.stride + window.reach() - *n, 0);
    window.output = c.constExpr(positions);
  } else if (window.stride == 1) {
    total = window.reach() - 1;
    window.output = extent;
  } else {
    return resolveSymbolicSame(c, extent, upper, window);
  }
  window.low = upper ? total / 2 : total - total / 2;
  window.high = total - window.low;
  return success();
}

/// Output extent for explicit padding.
LogicalResult resolveExplicit(NodeContext &c, AffineExpr extent, int64_t d, bool ceil, WindowDim &window) {
  int64_t padding = window.low + window.high;
  std::optional<int64_t> n = tg::getConstant(extent);
  if (!n) {
    // With ceil_mode, stride - 1 elements more let a last window overhang that is not whole; but it has to start inside
    // the operand or its left padding, which has its own bound on what the windows need behind the operand.
    if (ceil)
      window.overhang = std::max<int64_t>(std::min(window.stride, window.reach() - window.high) - 1, 0);
    int64_t room = padding + window.overhang;
    window.output = tg::simplify((extent + (room - window.reach())).floorDiv(window.stride) + 1);
    return c.assumeAtMost(c.constExpr(window.reach()), tg::simplify(extent + room),
                          "window along spatial dimension " + Twine(d));
  }
  int64_t room = *n + padding - window.reach();
  int64_t positions = llvm::divideFloorSigned(room, window.stride) + 1;
  // With ceil_mode, a last window may overhang, but has to start inside the operand or its left padding.
  if (ceil && positions >= 0 && room != (positions - 1) * window.stride &&
      positions * window.stride < *n + window.low) {
    window.overhang = positions * window.stride + window.reach() - (*n + padding);
    ++positions;
  }
  if (positions < 1)
    return c.error("expected spatial dimension " + Twine(d) + " with padding to hold the window, got " + Twine(*n) +
                   " + " + Twine(padding) + " elements for a window of " + Twine(window.reach()));
  window.output = c.constExpr(positions);
  return success();
}

} // namespace

FailureOr<Windows> readWindows(NodeContext &c, Value x, ArrayRef<int64_t> kernel, bool mayCeil) {
  size_t count = kernel.size();
  FailureOr<SmallVector<int64_t>> strides = readWindowInts(c, "strides", count, 1, 1);
  FailureOr<SmallVector<int64_t>> dilations = readWindowInts(c, "dilations", count, 1, 1);
  FailureOr<SmallVector<int64_t>> pads = readWindowInts(c, "pads", 2 * count, 0, 0);
  FailureOr<unsigned> autoPad = c.choiceAttr("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}, "NOTSET");
  FailureOr<bool> ceil = mayCeil ? c.boolAttr("ceil_mode", false) : FailureOr<bool>(false);
  if (failed(strides) || failed(dilations) || failed(pads) || failed(autoPad) || failed(ceil))
    return failure();

  if (failed(checkSpatialExtents(c, x)))
    return failure();
  Windows windows(count);
  for (size_t i = 0; i < count; ++i) {
    WindowDim &window = windows[i];
    window.size = kernel[i];
    window.stride = (*strides)[i];
    window.dilation = (*dilations)[i];
    if (window.reach() > maxWindowParameter)
      return c.error("expected a window of at most " + Twine(maxWindowParameter) + " elements, got " +
                     Twine(window.reach()));
    AffineExpr extent = c.dim(x, 2 + i);
    if (*autoPad == SameUpper || *autoPad == SameLower) {
      if (failed(resolveSame(c, extent, *autoPad == SameUpper, window)))
        return failure();
      continue;
    }
    if (*autoPad == NotSet) {
      window.low = (*pads)[i];
      window.high = (*pads)[count + i];
    }
    if (failed(resolveExplicit(c, extent, i, *ceil, window)))
      return failure();
  }
  return windows;
}

Value padOrCrop(NodeContext &c, Value x, Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                ArrayRef<int64_t> interior) {
  if (!x || !value)
    return {};
  SmallVector<int64_t> zeros(low.size(), 0), padLow, padHigh;
  if (interior.empty())
    interior = zeros;
  for (auto [before, after] : llvm::zip_equal(low, high)) {
    padLow.push_back(std::max<int64_t>(before, 0));
    padHigh.push_back(std::max<int64_t>(after, 0));
  }
  if (padLow != zeros || padHigh != zeros || interior != ArrayRef(zeros))
    x = c.make<tg::PadOp>(x, value, padLow, padHigh, interior);
  for (size_t d = 0; d < low.size() && x; ++d) {
    int64_t cropLow = std::max<int64_t>(-low[d], 0), cropHigh = std::max<int64_t>(-high[d], 0);
    if (cropLow == 0 && cropHigh == 0)
      continue;
    AffineExpr size = tg::simplify(c.dim(x, d) - cropLow - cropHigh);
    if (std::optional<int64_t> extent = tg::getConstant(size); extent && *extent < 0) {
      (void)c.error("expected at most " + Twine(*c.staticDim(x, d)) + " elements to be cropped from dimension " +
                    Twine(d) + ", got " + Twine(cropLow) + " + " + Twine(cropHigh));
      return {};
    }
    x = c.slice(x, d, cropLow, size);
  }
  return x;
}

Value padForWindows(NodeContext &c, Value x, Value value, ArrayRef<WindowDim> windows, int64_t from) {
  if (!x)
    return {};
  SmallVector<int64_t> low(from, 0), high(from, 0);
  for (const WindowDim &window : windows) {
    low.push_back(window.low);
    high.push_back(window.high + window.overhang);
  }
  x = padOrCrop(c, x, value, low, high);
  for (auto [i, window] : llvm::enumerate(windows))
    if (window.first)
      x = takeRange(c, x, from + i, window.first, tg::simplify((window.output - 1) * window.stride + window.reach()),
                    1);
  return x;
}

Value takeWindows(NodeContext &c, Value x, ArrayRef<WindowDim> windows) {
  SmallVector<int64_t> dims, sizes, strides, dilations;
  for (auto [i, window] : llvm::enumerate(windows)) {
    dims.push_back(2 + i);
    sizes.push_back(window.size);
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
  }
  return c.make<tg::WindowOp>(x, dims, sizes, strides, dilations);
}

} // namespace weft::onnx
