// Pad in all modes. Constant padding is tg.pad (and tg.slice for negative amounts); the others read the operand again
// at indices that depend only on the axis: a constant table, or index arithmetic where the extent is symbolic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"
#include "Shared/Window.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// Whether amounts and the value are inputs; before opset 11 they were attributes.
bool hasInputs(const NodeContext &c) { return c.opset >= 11 || !c.domain().empty(); }

enum class PadMode : unsigned { Constant, Reflect, Edge, Wrap };

/// Padding of each dimension; negative amounts crop.
struct Amounts {
  SmallVector<int64_t> low, high;
};

FailureOr<Amounts> readAmounts(NodeContext &c, int64_t rank) {
  FailureOr<SmallVector<int64_t>> pads = hasInputs(c) ? c.requiredInts(1, "pads") : c.intsAttr("pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (c.opset >= 18 && c.input(3)) {
    FailureOr<SmallVector<int64_t>> given = c.requiredInts(3, "axes");
    if (failed(given))
      return failure();
    FailureOr<SmallVector<int64_t>> normal = c.normalizeAxes(*given, rank);
    if (failed(normal))
      return failure();
    axes = *normal;
  }
  if (pads->size() != 2 * axes.size())
    return c.error("expected " + Twine(2 * axes.size()) + " values in `pads`, got " + Twine(pads->size()));
  Amounts amounts{SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 0)};
  for (auto [i, axis] : llvm::enumerate(axes)) {
    amounts.low[axis] = (*pads)[i];
    amounts.high[axis] = (*pads)[axes.size() + i];
  }
  for (int64_t amount : *pads)
    if (amount < -maxWindowParameter || amount > maxWindowParameter)
      return c.error("expected values of `pads` within " + Twine(maxWindowParameter) + " of 0, got " + Twine(amount));
  return amounts;
}

/// Index in an operand of `extent` elements (at least 1) that padded index `i` (0 the operand's first) repeats.
int64_t sourcePlace(PadMode mode, int64_t i, int64_t extent) {
  if (mode == PadMode::Edge || extent == 1)
    return std::clamp<int64_t>(i, 0, extent - 1);
  int64_t period = mode == PadMode::Wrap ? extent : 2 * (extent - 1);
  int64_t place = ((i % period) + period) % period;
  return mode == PadMode::Reflect ? std::min(place, period - place) : place;
}

/// The same as index arithmetic over a symbolic extent, from indices that count from the operand's first.
Value sourcePlaces(NodeContext &c, PadMode mode, AffineExpr extent, Expr place) {
  Expr count(c, c.extents({extent}));
  if (mode == PadMode::Wrap)
    return place.binary<tg::ModOp>(count);
  Expr last = count - 1.0;
  if (mode == PadMode::Edge)
    return place.max(0.0).min(last);
  Expr period = last * 2.0; // 0 for a single element, where mod gives 0.
  Expr inPeriod = place.binary<tg::ModOp>(period);
  return inPeriod.min(period - inPeriod);
}

Value padByIndex(NodeContext &c, Value x, int64_t axis, int64_t low, int64_t high, PadMode mode) {
  AffineExpr extent = c.dim(x, axis), output = tg::simplify(extent + (low + high));
  std::optional<int64_t> have = tg::getConstant(extent), want = tg::getConstant(output);
  if (!have)
    return take(c, x, sourcePlaces(c, mode, extent, Expr(c, iota(c, output)) - static_cast<double>(low)), axis);
  if (*want < 0 || (*have == 0 && *want > 0)) {
    (void)c.error("expected dimension " + Twine(axis) + " of " + Twine(*have) + " elements to allow padding by " +
                  Twine(low) + " and " + Twine(high));
    return {};
  }
  if (*want > maxTableEntries) {
    (void)c.limit("expected a padded extent of at most " + Twine(maxTableEntries) + ", got " + Twine(*want));
    return {};
  }
  SmallVector<int64_t> table;
  for (int64_t o = 0; o < *want; ++o)
    table.push_back(sourcePlace(mode, o - low, *have));
  return takeTable(c, x, axis, ArrayRef<int64_t>(table));
}

/// The padding value: an input from opset 11 on, before that an attribute.
FailureOr<Value> readPadValue(NodeContext &c, Value x) {
  Type element = c.elementType(x);
  if (!hasInputs(c)) {
    FailureOr<double> value = c.floatAttr("value", 0.0);
    return failed(value) ? FailureOr<Value>(failure()) : FailureOr<Value>(c.scalar(*value, element));
  }
  Value value = c.input(2);
  if (!value)
    return isa<FloatType>(element) ? c.scalar(0, element) : c.scalarInt(0, element);
  if (c.elementType(value) != element)
    return c.error("expected `constant_value` of element type " + typeName(element) + ", got " +
                   typeName(c.elementType(value)));
  if (tg::getConstant(tg::getNumElements(value.getType())) != 1)
    return c.error("expected `constant_value` of one element, got " + typeName(value.getType()));
  return c.reshape(value, ArrayRef<AffineExpr>());
}

/// Padding (or cropping) by amounts that are data: indices are counted from the operand's first, and what lies outside
/// is the value. `pads` and `axes` (may be null) are 1-D.
LogicalResult padAtRuntime(NodeContext &c, Value x, Value pads, Value axes, PadMode mode) {
  int64_t rank = c.rank(x);
  std::optional<int64_t> count = c.rank(pads) == 1 ? c.staticDim(pads, 0) : std::nullopt;
  if (!count || *count % 2 != 0)
    return c.error("expected `pads` to be a vector of two amounts for each axis, got type " + typeName(pads.getType()));
  AffineExpr half = c.constExpr(*count / 2);
  Expr low(c, spreadOverAxes(c, c.slice(pads, 0, 0, half), axes, rank, 0)),
      high(c, spreadOverAxes(c, c.slice(pads, 0, *count / 2, half), axes, rank, 0));
  FailureOr<tg::Dims> bound = c.runtimeDims(low + Expr(c, c.extents(c.dims(x))) + high, "padded extents");
  FailureOr<Value> value = mode == PadMode::Constant ? readPadValue(c, x) : FailureOr<Value>(Value());
  if (failed(bound) || failed(value))
    return failure();
  for (int64_t d = 0; d < rank && x; ++d) {
    Expr before = elementAt(c, low, d);
    Expr place = Expr(c, iota(c, (*bound)[d])) - before;
    x = mode == PadMode::Constant ? shiftAlong(c, x, d, before, (*bound)[d], *value)
                                  : takeAlong(c, x, sourcePlaces(c, mode, c.dim(x, d), place), d);
  }
  return deliver(c, x);
}

LogicalResult importPad(NodeContext &c) {
  Value x = c.required(0);
  if (!x || failed(c.checkNumInputs(1, 4)))
    return failure();
  FailureOr<unsigned> modeNumber = c.choiceAttr("mode", {"constant", "reflect", "edge", "wrap"}, "constant");
  if (failed(modeNumber))
    return failure();
  auto mode = static_cast<PadMode>(*modeNumber);
  Value pads = hasInputs(c) ? c.required(1) : Value(), axes = c.opset >= 18 ? c.input(3) : Value();
  if (hasInputs(c) && !pads)
    return failure();
  if (pads && (!c.constantInts(pads) || (axes && !c.constantInts(axes))))
    return padAtRuntime(c, x, pads, axes, mode);
  FailureOr<Amounts> amounts = readAmounts(c, c.rank(x));
  if (failed(amounts))
    return failure();
  if (mode == PadMode::Constant) {
    FailureOr<Value> value = readPadValue(c, x);
    return failed(value) ? failure() : deliver(c, padOrCrop(c, x, *value, amounts->low, amounts->high));
  }
  for (int64_t axis = 0; axis < static_cast<int64_t>(amounts->low.size()) && x; ++axis)
    if (amounts->low[axis] != 0 || amounts->high[axis] != 0)
      x = padByIndex(c, x, axis, amounts->low[axis], amounts->high[axis], mode);
  return deliver(c, x);
}

} // namespace

ArrayRef<OpEntry> getPadOps() {
  static const OpEntry ops[] = {
      {"", "Pad", 2, newestOpset, importPad, ""},
      {"com.microsoft", "Pad", 1, anyOpset, importPad, ""},
  };
  return ops;
}

} // namespace weft::onnx
