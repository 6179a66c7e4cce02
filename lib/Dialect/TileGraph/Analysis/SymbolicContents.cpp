// Symbolic evaluation of shape arithmetic. An element is an affine (or semi-affine) expression of symbols that are at
// least 0; what cannot be said for all of them is not said. Rounding of division: tg.div rounds toward zero,
// AffineExpr's floordiv down; they agree where the numerator has a known sign.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::tg;

using Contents = std::optional<Dims>;

//===--- Signs ---===//

namespace {

/// Least and largest value of an expression; none: not known.
struct Interval {
  std::optional<int64_t> low, high;
};

using Bound = std::optional<int64_t>;

Bound combineBounds(Bound x, Bound y, bool (*overflows)(int64_t, int64_t, int64_t *)) {
  int64_t result;
  return !x || !y || overflows(*x, *y, &result) ? Bound() : Bound(result);
}

Bound plus(Bound x, Bound y) {
  return combineBounds(x, y, [](int64_t a, int64_t b, int64_t *r) { return __builtin_add_overflow(a, b, r); });
}

Bound times(Bound x, Bound y) {
  return combineBounds(x, y, [](int64_t a, int64_t b, int64_t *r) { return __builtin_mul_overflow(a, b, r); });
}

bool isAtLeast(Bound x, int64_t least) { return x && *x >= least; }

Interval intervalOf(AffineExpr expr) {
  if (auto constant = getConstant(expr))
    return {constant, constant};
  if (isa<AffineSymbolExpr>(expr))
    return {0, std::nullopt};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  Interval x = intervalOf(binary.getLHS()), y = intervalOf(binary.getRHS());
  std::optional<int64_t> by = getConstant(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return {plus(x.low, y.low), plus(x.high, y.high)};
  case AffineExprKind::Mul:
    if (by)
      return *by >= 0 ? Interval{times(x.low, by), times(x.high, by)} : Interval{times(x.high, by), times(x.low, by)};
    return isAtLeast(x.low, 0) && isAtLeast(y.low, 0) ? Interval{times(x.low, y.low), times(x.high, y.high)}
                                                      : Interval{};
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv: {
    bool isFloor = binary.getKind() == AffineExprKind::FloorDiv;
    auto divided = [&](Bound bound) -> Bound {
      if (!bound || !by || *by < 1)
        return std::nullopt;
      return isFloor ? llvm::divideFloorSigned(*bound, *by) : llvm::divideCeilSigned(*bound, *by);
    };
    Interval result{divided(x.low), divided(x.high)};
    if (!result.low && isAtLeast(x.low, 0) && isAtLeast(y.low, 0))
      result.low = 0;
    return result;
  }
  case AffineExprKind::Mod:
    return {0, by && *by > 0 ? Bound(*by - 1) : std::nullopt};
  default:
    return {};
  }
}

} // namespace

bool tg::isNonNegative(AffineExpr expr) { return isAtLeast(intervalOf(expr).low, 0); }

std::optional<int> tg::compareExprs(AffineExpr a, AffineExpr b) {
  AffineExpr difference = simplify(a - b);
  if (auto constant = getConstant(difference))
    return *constant < 0 ? -1 : *constant > 0 ? 1 : 0;
  if (isNonNegative(simplify(difference - 1)))
    return 1;
  if (isNonNegative(simplify(-difference - 1)))
    return -1;
  return std::nullopt;
}

//===--- Scalar arithmetic ---===//

namespace {

using Element = std::optional<AffineExpr>;

Element constantElement(MLIRContext *context, int64_t value) { return getAffineConstantExpr(value, context); }

Element divide(AffineExpr a, AffineExpr b) {
  auto x = getConstant(a), y = getConstant(b);
  if (x && y)
    return *y == 0 ? constantElement(a.getContext(), 0)
                   : constantElement(a.getContext(),
                                     *y == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(*x)) : *x / *y);
  if (isEqual(a, b) && isNonNegative(simplify(b - 1)))
    return constantElement(a.getContext(), 1);
  if (!y || *y <= 0)
    return std::nullopt;
  if (isNonNegative(a))
    return simplify(a.floorDiv(b));
  AffineExpr negated = simplify(-a);
  if (isNonNegative(negated))
    return simplify(-negated.floorDiv(b));
  return std::nullopt;
}

/// Both remainders agree where both operands are not negative; that with the divisor's sign is AffineExpr's.
Element remainder(AffineExpr a, AffineExpr b, bool signOfDivisor) {
  auto x = getConstant(a), y = getConstant(b);
  if (x && y) {
    if (*y == 0 || *y == -1)
      return constantElement(a.getContext(), 0);
    int64_t rest = *x % *y;
    if (signOfDivisor && rest != 0 && (rest < 0) != (*y < 0))
      rest += *y;
    return constantElement(a.getContext(), rest);
  }
  if (y && *y > 0 && (signOfDivisor || isNonNegative(a)))
    return simplify(a % b);
  return std::nullopt;
}

Element product(AffineExpr a, AffineExpr b) {
  auto x = getConstant(a), y = getConstant(b);
  int64_t exact;
  if (x && y && __builtin_mul_overflow(*x, *y, &exact))
    return std::nullopt;
  return simplify(a * b);
}

Element sum(AffineExpr a, AffineExpr b) {
  auto x = getConstant(a), y = getConstant(b);
  int64_t exact;
  if (x && y && __builtin_add_overflow(*x, *y, &exact))
    return std::nullopt;
  return simplify(a + b);
}

Element extreme(AffineExpr a, AffineExpr b, bool wantMax) {
  std::optional<int> order = compareExprs(a, b);
  if (order)
    return (*order > 0) == wantMax ? a : b;
  // a - b >= 0 may be known where a > b is not.
  if (isNonNegative(simplify(a - b)))
    return wantMax ? a : b;
  if (isNonNegative(simplify(b - a)))
    return wantMax ? b : a;
  return std::nullopt;
}

Element compare(CmpPredicate predicate, AffineExpr a, AffineExpr b) {
  auto boolean = [&](bool value) { return constantElement(a.getContext(), value); };
  if (std::optional<int> order = compareExprs(a, b)) {
    switch (predicate) {
    case CmpPredicate::Eq:
      return boolean(*order == 0);
    case CmpPredicate::Ne:
      return boolean(*order != 0);
    case CmpPredicate::Lt:
      return boolean(*order < 0);
    case CmpPredicate::Le:
      return boolean(*order <= 0);
    case CmpPredicate::Gt:
      return boolean(*order > 0);
    case CmpPredicate::Ge:
      return boolean(*order >= 0);
    }
  }
  bool atLeast = isNonNegative(simplify(a - b)), atMost = isNonNegative(simplify(b - a));
  if (predicate == CmpPredicate::Ge && atLeast)
    return boolean(true);
  if (predicate == CmpPredicate::Lt && atLeast)
    return boolean(false);
  if (predicate == CmpPredicate::Le && atMost)
    return boolean(true);
  if (predicate == CmpPredicate::Gt && atMost)
    return boolean(false);
  return std::nullopt;
}

Element logic(Operation *op, AffineExpr a, AffineExpr b) {
  auto x = getConstant(a), y = getConstant(b);
  if (!x || !y)
    return std::nullopt;
  int64_t value = isa<AndOp>(op) ? *x & *y : isa<OrOp>(op) ? *x | *y : *x ^ *y;
  return constantElement(a.getContext(), value);
}

Element combine(Monoid kind, AffineExpr a, AffineExpr b) {
  switch (kind) {
  case Monoid::Add:
    return sum(a, b);
  case Monoid::Mul:
    return product(a, b);
  case Monoid::Max:
    return extreme(a, b, true);
  case Monoid::Min:
    return extreme(a, b, false);
  default:
    return std::nullopt;
  }
}

std::optional<int64_t> identityOf(Monoid kind) {
  if (kind == Monoid::Add)
    return 0;
  if (kind == Monoid::Mul)
    return 1;
  return std::nullopt;
}

//===--- Index spaces ---===//

/// Floats are followed where they hold integers: models cast extents to compute anchors and ratios. f32 holds those
/// below 2^24 exactly, which is more than an extent that becomes an index on an axis has.
bool isFollowed(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && (isa<IntegerType, Float32Type, Float64Type>(type.getElementType())) &&
         type.getNumElements() <= SymbolicContents::maxElements;
}

bool isReal(Type type) { return isa<FloatType>(cast<RankedTensorType>(type).getElementType()); }

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

int64_t linearize(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t linear = 0;
  for (auto [i, extent] : llvm::zip_equal(index, shape))
    linear = linear * extent + i;
  return linear;
}

SmallVector<int64_t> delinearize(int64_t linear, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = linear % shape[d];
    linear /= shape[d];
  }
  return index;
}

/// Fills the elements of `result` one by one from `element(index)`; none if one of them is none.
Contents forEachElement(Value result, llvm::function_ref<Element(ArrayRef<int64_t>)> element) {
  ArrayRef<int64_t> shape = shapeOf(result);
  int64_t size = ShapedType::getNumElements(shape);
  Dims contents;
  for (int64_t i = 0; i < size; ++i) {
    Element value = element(delinearize(i, shape));
    if (!value)
      return std::nullopt;
    contents.push_back(*value);
  }
  return contents;
}

/// Element of an operand with `shape` and `contents` that broadcasts to element `index` of the result.
AffineExpr broadcastElement(ArrayRef<int64_t> index, ArrayRef<int64_t> shape, const Dims &contents) {
  SmallVector<int64_t> own(index.take_back(shape.size()));
  for (auto [i, extent] : llvm::zip_equal(own, shape))
    i = extent == 1 ? 0 : i;
  return contents[linearize(own, shape)];
}

/// Contents of a float constant if all elements are integers that f32 holds.
Contents integralContents(DenseFPElementsAttr elements, MLIRContext *context) {
  constexpr double most = 1 << 24;
  Dims contents;
  for (const APFloat &value : elements.getValues<APFloat>()) {
    double number = value.convertToDouble();
    if (!(std::abs(number) <= most) || number != std::trunc(number))
      return std::nullopt;
    contents.push_back(getAffineConstantExpr(int64_t(number), context));
  }
  return contents;
}

Contents constantContents(ElementsAttr elements, MLIRContext *context) {
  if (auto reals = dyn_cast<DenseFPElementsAttr>(elements))
    return integralContents(reals, context);
  auto dense = dyn_cast<DenseIntElementsAttr>(elements);
  if (!dense)
    return std::nullopt;
  bool isUnsigned = dense.getElementType().isUnsignedInteger() || dense.getElementType().isInteger(1);
  Dims contents;
  for (const APInt &value : dense.getValues<APInt>()) {
    if (isUnsigned && value.getActiveBits() > 63)
      return std::nullopt;
    contents.push_back(getAffineConstantExpr(isUnsigned ? value.getZExtValue() : value.getSExtValue(), context));
  }
  return contents;
}

//===--- Ops ---===//

using Operands = ArrayRef<Dims>;

Element pointwiseElement(Operation *op, ArrayRef<AffineExpr> x) {
  return TypeSwitch<Operation *, Element>(op)
      .Case<AddOp>([&](auto) { return sum(x[0], x[1]); })
      .Case<SubOp>([&](auto) { return sum(x[0], -x[1]); })
      .Case<MulOp>([&](auto) { return product(x[0], x[1]); })
      .Case<DivOp>([&](DivOp div) -> Element {
        Element quotient = divide(x[0], x[1]);
        bool isExact =
            !isReal(div.getType()) || (quotient && getConstant(x[1]) != 0 && isEqual(*quotient * x[1], x[0]));
        return isExact ? quotient : std::nullopt;
      })
      .Case<FloorOp, CeilOp, RoundOp>([&](auto) { return Element(x[0]); })
      .Case<ModOp>([&](auto) { return remainder(x[0], x[1], true); })
      .Case<FModOp>([&](auto) { return remainder(x[0], x[1], false); })
      .Case<MaxOp>([&](auto) { return extreme(x[0], x[1], true); })
      .Case<MinOp>([&](auto) { return extreme(x[0], x[1], false); })
      .Case<NegOp>([&](auto) { return Element(simplify(-x[0])); })
      .Case<AbsOp>([&](auto) {
        return isNonNegative(x[0]) ? Element(x[0]) : isNonNegative(-x[0]) ? Element(simplify(-x[0])) : std::nullopt;
      })
      .Case<CmpOp>([&](CmpOp cmp) { return compare(cmp.getPredicate(), x[0], x[1]); })
      .Case<AndOp, OrOp, XorOp>([&](auto) { return logic(op, x[0], x[1]); })
      .Case<NotOp>([&](NotOp notOp) -> Element {
        auto value = getConstant(x[0]);
        if (!value || !cast<RankedTensorType>(notOp.getType()).getElementType().isInteger(1))
          return std::nullopt;
        return constantElement(x[0].getContext(), !*value);
      })
      .Case<SelectOp>([&](auto) -> Element {
        if (auto condition = getConstant(x[0]))
          return *condition ? x[1] : x[2];
        return isEqual(x[1], x[2]) ? Element(x[1]) : std::nullopt;
      })
      .Default([](Operation *) -> Element { return std::nullopt; });
}

/// Casts between integers keep a value that fits for certain: i64, or a constant in range. Anything else but i64 could
/// wrap.
Element castElement(CastOp op, AffineExpr x) {
  Type to = cast<RankedTensorType>(op.getType()).getElementType();
  auto value = getConstant(x);
  if (to.isInteger(1)) {
    if (value)
      return constantElement(x.getContext(), *value != 0);
    return isNonNegative(simplify(x - 1)) ? constantElement(x.getContext(), 1) : std::nullopt;
  }
  unsigned width = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(to))
    return width >= 32 ? Element(x) : std::nullopt;
  if (!value)
    return width >= 32 ? Element(x) : std::nullopt;
  bool fits = width == 64              ? *value >= 0 || !to.isUnsignedInteger()
              : to.isUnsignedInteger() ? llvm::isUIntN(width, *value)
                                       : llvm::isIntN(width, *value);
  return fits ? Element(x) : std::nullopt;
}

Contents sliceContents(SliceOp op, const Dims &input) {
  return forEachElement(op.getResult(), [&](ArrayRef<int64_t> index) -> Element {
    SmallVector<int64_t> source;
    for (auto [i, offset, stride] : llvm::zip_equal(index, op.getOffsets(), op.getStrides()))
      source.push_back(offset + i * stride);
    return input[linearize(source, shapeOf(op.getInput()))];
  });
}

Contents concatContents(ConcatOp op, Operands inputs) {
  int64_t axis = op.getAxis();
  return forEachElement(op.getResult(), [&](ArrayRef<int64_t> index) -> Element {
    SmallVector<int64_t> place(index);
    for (auto [input, contents] : llvm::zip_equal(op.getInputs(), inputs)) {
      if (place[axis] < shapeOf(input)[axis])
        return contents[linearize(place, shapeOf(input))];
      place[axis] -= shapeOf(input)[axis];
    }
    return std::nullopt;
  });
}

Contents padContents(PadOp op, Operands inputs) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  return forEachElement(op.getResult(), [&](ArrayRef<int64_t> index) -> Element {
    SmallVector<int64_t> source;
    for (auto [d, i] : llvm::enumerate(index)) {
      int64_t place = i - op.getLow()[d], step = op.getInterior()[d] + 1;
      if (place < 0 || place % step != 0 || place / step >= shape[d])
        return inputs[1][0];
      source.push_back(place / step);
    }
    return inputs[0][linearize(source, shape)];
  });
}

Contents transposeContents(TransposeOp op, const Dims &input) {
  return forEachElement(op.getResult(), [&](ArrayRef<int64_t> index) -> Element {
    SmallVector<int64_t> source(index.size());
    for (auto [d, from] : llvm::enumerate(op.getPermutation()))
      source[from] = index[d];
    return input[linearize(source, shapeOf(op.getInput()))];
  });
}

/// `map` has dimensions for the index and symbols for indices, which must be constant.
Contents gatherContents(GatherOp op, Operands inputs) {
  ArrayRef<int64_t> shape = shapeOf(op.getData());
  MLIRContext *context = op.getContext();
  AffineMap dataMap = op.getDataMap();
  return forEachElement(op.getResult(), [&](ArrayRef<int64_t> index) -> Element {
    SmallVector<AffineExpr> dims, symbols;
    for (int64_t i : index)
      dims.push_back(getAffineConstantExpr(i, context));
    auto evaluate = [&](AffineExpr expr) { return getConstant(expr.replaceDimsAndSymbols(dims, symbols)); };
    for (unsigned j = 0; j < op.getIndexMaps().size(); ++j) {
      SmallVector<int64_t> place;
      for (AffineExpr expr : op.getIndexMap(j).getResults())
        place.push_back(evaluate(expr).value_or(0));
      symbols.push_back(inputs[1][linearize(place, shapeOf(op.getIndices()))]);
    }
    SmallVector<int64_t> source;
    for (auto [d, expr] : llvm::enumerate(dataMap.getResults())) {
      std::optional<int64_t> place = evaluate(expr);
      if (!place || shape[d] == 0)
        return std::nullopt;
      if (*place < 0)
        *place += shape[d];
      source.push_back(std::clamp<int64_t>(*place, 0, shape[d] - 1));
    }
    return inputs[0][linearize(source, shape)];
  });
}

Contents reduceContents(ReduceOp op, const Dims &input) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  int64_t resultSize = ShapedType::getNumElements(shapeOf(op.getResult()));
  SmallVector<Element> sums(resultSize);
  if (input.empty() && !identityOf(op.getKind()))
    return std::nullopt;
  SmallVector<int64_t> kept;
  for (auto [d, extent] : llvm::enumerate(shape))
    kept.push_back(llvm::is_contained(op.getAxes(), static_cast<int64_t>(d)) ? 1 : extent);
  SmallVector<bool> seen(resultSize);
  for (auto [i, value] : llvm::enumerate(input)) {
    SmallVector<int64_t> place = delinearize(i, shape);
    for (int64_t axis : op.getAxes())
      place[axis] = 0;
    int64_t at = linearize(place, kept);
    if (!seen[at])
      sums[at] = value;
    else if (sums[at])
      sums[at] = combine(op.getKind(), *sums[at], value);
    seen[at] = true;
  }
  Dims contents;
  for (auto [i, value] : llvm::enumerate(sums)) {
    if (!seen[i])
      value = constantElement(op.getContext(), identityOf(op.getKind()).value_or(0));
    if (!value)
      return std::nullopt;
    contents.push_back(*value);
  }
  return contents;
}

Contents evaluateOp(Operation *op, Operands inputs) {
  Value result = op->getResult(0);
  return TypeSwitch<Operation *, Contents>(op)
      .Case<CastOp>([&](CastOp cast) {
        size_t i = 0;
        return forEachElement(result, [&](ArrayRef<int64_t>) { return castElement(cast, inputs[0][i++]); });
      })
      .Case<PointwiseOpInterface>([&](auto) {
        return forEachElement(result, [&](ArrayRef<int64_t> index) {
          SmallVector<AffineExpr> scalars;
          for (auto [operand, contents] : llvm::zip_equal(op->getOperands(), inputs))
            scalars.push_back(broadcastElement(index, shapeOf(operand), contents));
          return pointwiseElement(op, scalars);
        });
      })
      .Case<ReshapeOp>([&](auto) -> Contents { return inputs[0]; })
      .Case<BroadcastOp>([&](BroadcastOp broadcast) {
        return forEachElement(result, [&](ArrayRef<int64_t> index) -> Element {
          return broadcastElement(index, shapeOf(broadcast.getInput()), inputs[0]);
        });
      })
      .Case<SliceOp>([&](SliceOp slice) { return sliceContents(slice, inputs[0]); })
      .Case<ConcatOp>([&](ConcatOp concat) { return concatContents(concat, inputs); })
      .Case<PadOp>([&](PadOp pad) { return padContents(pad, inputs); })
      .Case<TransposeOp>([&](TransposeOp transpose) { return transposeContents(transpose, inputs[0]); })
      .Case<GatherOp>([&](GatherOp gather) { return gatherContents(gather, inputs); })
      .Case<ReduceOp>([&](ReduceOp reduce) { return reduceContents(reduce, inputs[0]); })
      .Default([](Operation *) -> Contents { return std::nullopt; });
}

} // namespace

Contents SymbolicContents::get(Value value) {
  if (!value || !isFollowed(value))
    return std::nullopt;
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  if (depth >= maxDepth)
    return std::nullopt;
  ++depth;
  Contents contents = compute(value);
  --depth;
  known[value] = contents;
  return contents;
}

/// floor(a / b) and ceil(a / b) of floats that hold integers below 2^24: the quotient, rounded, lies on the same side
/// of each integer.
Contents SymbolicContents::roundedQuotient(Operation *op) {
  auto quotient = isa<FloorOp, CeilOp>(op) ? op->getOperand(0).getDefiningOp<DivOp>() : DivOp();
  Contents a = quotient ? get(quotient.getLhs()) : std::nullopt, b = quotient ? get(quotient.getRhs()) : std::nullopt;
  if (!a || !b)
    return std::nullopt;
  return forEachElement(op->getResult(0), [&](ArrayRef<int64_t> index) -> Element {
    AffineExpr x = broadcastElement(index, shapeOf(quotient.getLhs()), *a),
               y = broadcastElement(index, shapeOf(quotient.getRhs()), *b);
    std::optional<int64_t> by = getConstant(y);
    if (!by || *by <= 0)
      return std::nullopt;
    return simplify(isa<FloorOp>(op) ? x.floorDiv(*by) : x.ceilDiv(*by));
  });
}

Contents SymbolicContents::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (Contents rounded = roundedQuotient(op))
    return rounded;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return constantContents(constant.getValue(), op->getContext());
  if (auto extents = dyn_cast<ExtentsOp>(op))
    return Dims(extents.getMap().getResults());
  if (auto iota = dyn_cast<IotaOp>(op)) {
    auto axis = iota.getAxis();
    return forEachElement(value,
                          [&](ArrayRef<int64_t> index) { return constantElement(op->getContext(), index[axis]); });
  }
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return std::nullopt;
  SmallVector<Dims> inputs;
  for (Value operand : op->getOperands()) {
    Contents contents = get(operand);
    if (!contents)
      return std::nullopt;
    inputs.push_back(std::move(*contents));
  }
  return evaluateOp(op, inputs);
}
