// Reductions over axes, indices of extremes, the largest elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction is: a function of each element, a monoid over the axes, a function of the result. With no axes to reduce
// (a scalar, or `noop_with_empty_axes`) the two functions still apply. Composed reductions of f16 and bf16 compute in
// f32 and round once.
#include "Shared/Compose.h"
#include "Shared/NarrowSums.h"
#include "Shared/RuntimeShapes.h"

using namespace mlir;

namespace weft::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// What to reduce, of which value.
struct Reduction {
  Value value;
  SmallVector<int64_t> axes; ///< Sorted, distinct, not negative; empty: nothing to reduce.
  bool keepDims = true;
  std::optional<tg::Dims> result; ///< Extents of the result, where the axes are data and `value` was rearranged.
};

/// Axes as written: from input 1 or from the attribute; none or an empty list counts as not given.
FailureOr<SmallVector<int64_t>> writtenAxes(NodeContext &n, bool fromInput) {
  if (!fromInput)
    return n.intsAttr("axes", SmallVector<int64_t>());
  Value axes = n.input(1);
  // Axes of static extent 0 need no contents.
  if (!axes || (n.rank(axes) == 1 && n.staticDim(axes, 0) == 0))
    return SmallVector<int64_t>();
  return n.requiredInts(1, "axes");
}

/// Reads input, axes and flags. `axesInput` is the first opset whose axes are an input.
FailureOr<Reduction> readReduction(NodeContext &n, int64_t axesInput) {
  bool fromInput = n.opset >= axesInput;
  if (failed(n.checkNumInputs(1, fromInput ? 2 : 1)))
    return failure();
  Reduction reduction;
  reduction.value = n.required(0);
  FailureOr<bool> keepDims = n.boolAttr("keepdims", true), noop = n.boolAttr("noop_with_empty_axes", false);
  Value given = fromInput ? n.input(1) : Value();
  if (reduction.value && given && succeeded(keepDims) && n.staticDim(given, 0) != 0 && !n.constantInts(given)) {
    FailureOr<SplitByAxes> split = splitByAxes(n, reduction.value, given, *keepDims);
    if (failed(split))
      return failure();
    return Reduction{split->matrix, {1}, false, split->result};
  }
  FailureOr<SmallVector<int64_t>> axes = writtenAxes(n, fromInput);
  if (!reduction.value || failed(keepDims) || failed(noop) || failed(axes))
    return failure();
  reduction.keepDims = *keepDims;
  int64_t rank = n.rank(reduction.value);
  if (axes->empty()) {
    if (!*noop)
      reduction.axes = allAxes(rank);
    return reduction;
  }
  FailureOr<SmallVector<int64_t>> normalized = n.normalizeAxes(*axes, rank);
  if (failed(normalized))
    return failure();
  reduction.axes = *normalized;
  llvm::sort(reduction.axes);
  return reduction;
}

Value apply(NodeContext &n, const Reduction &r, tg::Monoid kind, Value value) {
  return r.axes.empty() ? value : n.reduce(kind, value, r.axes, r.keepDims);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value reduceSum(NodeContext &n, const Reduction &r, Value x) { return apply(n, r, tg::Monoid::Add, x); }
Value reduceProd(NodeContext &n, const Reduction &r, Value x) { return apply(n, r, tg::Monoid::Mul, x); }
Value reduceMax(NodeContext &n, const Reduction &r, Value x) {
  return apply(n, r, n.elementType(x).isInteger(1) ? tg::Monoid::Or : tg::Monoid::Max, x);
}
Value reduceMin(NodeContext &n, const Reduction &r, Value x) {
  return apply(n, r, n.elementType(x).isInteger(1) ? tg::Monoid::And : tg::Monoid::Min, x);
}
Value reduceMean(NodeContext &n, const Reduction &r, Value x) {
  Value sum = apply(n, r, tg::Monoid::Add, x);
  return r.axes.empty() || !sum ? sum : n.make<tg::DivOp>(sum, n.count(x, r.axes, n.elementType(sum)));
}
Value reduceL1(NodeContext &n, const Reduction &r, Value x) {
  return apply(n, r, tg::Monoid::Add, n.make<tg::AbsOp>(x));
}
Value reduceSumSquare(NodeContext &n, const Reduction &r, Value x) {
  return apply(n, r, tg::Monoid::Add, n.make<tg::MulOp>(x, x));
}
Value reduceL2(NodeContext &n, const Reduction &r, Value x) { return n.make<tg::SqrtOp>(reduceSumSquare(n, r, x)); }
Value reduceLogSum(NodeContext &n, const Reduction &r, Value x) { return n.make<tg::LogOp>(reduceSum(n, r, x)); }

/// ln sum e^x = m + ln sum e^(x - m) with m = max x, or 0 where that is infinite (an empty set, or elements of +inf).
Value reduceLogSumExp(NodeContext &n, const Reduction &r, Value x) {
  if (r.axes.empty())
    return x;
  Value highest = n.reduce(tg::Monoid::Max, x, r.axes, true);
  Value infinite = n.make<tg::IsInfOp>(highest, n.b.getBoolAttr(true), n.b.getBoolAttr(true));
  Value shift = n.make<tg::SelectOp>(infinite, scalarLike(n, 0, x), highest);
  Value sum = n.reduce(tg::Monoid::Add, n.make<tg::ExpOp>(n.make<tg::SubOp>(x, shift)), r.axes, true);
  Value result = n.make<tg::AddOp>(n.make<tg::LogOp>(sum), shift);
  return r.keepDims || !result ? result : n.squeeze(result, r.axes);
}

/// How the element types of a reduction are treated.
enum class Types {
  Direct,   ///< One tg op, whose own accumulation is right for the element type.
  Composed, ///< f16 and bf16 in f32.
  Real,     ///< As Composed; integers in f64, for functions that are real-valued.
};

template <Value (*body)(NodeContext &, const Reduction &, Value), Types types, int64_t axesInput = 18>
LogicalResult reduction(NodeContext &n) {
  FailureOr<Reduction> r = readReduction(n, axesInput);
  if (failed(r))
    return failure();
  Type result = n.elementType(r->value);
  Value x = r->value;
  constexpr bool isSum = body == reduceSum || body == reduceMean;
  if (Value squares = isSum ? unroundedSquares(n, x) : Value())
    x = squares;
  else if (types != Types::Direct)
    x = n.toCompute(x);
  if (types == Types::Real && isInteger(n, r->value))
    x = n.cast(x, n.b.getF64Type());
  Value y = x ? n.cast(body(n, *r, x), result) : Value();
  return y ? deliver(n, r->result ? n.reshape(y, *r->result) : y) : failure();
}

//===----------------------------------------------------------------------===//
// Order statistics
//===----------------------------------------------------------------------===//

template <tg::Monoid kind> LogicalResult argReduce(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  Value x = n.required(0);
  FailureOr<int64_t> axis = n.intAttr("axis", 0);
  FailureOr<bool> keepDims = n.boolAttr("keepdims", true), last = n.boolAttr("select_last_index", false);
  if (!x || failed(axis) || failed(keepDims) || failed(last))
    return failure();
  FailureOr<int64_t> normalized = n.normalizeAxis(*axis, n.rank(x));
  if (failed(normalized))
    return failure();
  if (n.staticDim(x, *normalized) == 0)
    return n.error("expected a non-empty dimension " + Twine(*normalized) + ", got extent 0");
  auto flag = [&](bool set) { return set ? n.b.getUnitAttr() : UnitAttr(); };
  return deliver(n, n.make<tg::ArgReduceOp>(tg::MonoidAttr::get(n.b.getContext(), kind), x,
                                            n.b.getI64IntegerAttr(*normalized), flag(*keepDims), flag(*last)));
}

LogicalResult topK(NodeContext &n) {
  bool isAttribute = n.opset < 10;
  if (failed(n.checkNumInputs(isAttribute ? 1 : 2, isAttribute ? 1 : 2)))
    return failure();
  Value x = n.required(0);
  FailureOr<int64_t> axis = n.intAttr("axis", -1);
  // The order of results is free without `sorted`; sorted is one.
  FailureOr<bool> largest = n.boolAttr("largest", true), sorted = n.boolAttr("sorted", true);
  if (!x || failed(axis) || failed(largest) || failed(sorted))
    return failure();
  FailureOr<int64_t> given = isAttribute ? n.intAttr("k") : FailureOr<int64_t>(0);
  if (failed(given))
    return failure();
  FailureOr<tg::Dims> k = isAttribute ? n.constDims(*given) : n.requiredDims(1, "k");
  FailureOr<int64_t> normalized = n.normalizeAxis(*axis, n.rank(x));
  if (failed(k) || failed(normalized))
    return failure();
  std::optional<int64_t> known = k->size() == 1 ? tg::getConstant(k->front()) : std::nullopt;
  if (k->size() != 1 || known.value_or(0) < 0)
    return n.error("expected k to be one number that is not negative");
  AffineExpr extent = n.dim(x, *normalized);
  std::optional<int64_t> most = tg::getConstant(extent);
  if (known && most && *known > *most)
    return n.error("expected k of at most " + Twine(*most) + ", the extent of dimension " + Twine(*normalized) +
                   ", got " + Twine(*known));
  if (failed(n.assumeAtMost(k->front(), extent, "k")))
    return failure();
  if (!known) { // As many of all in order.
    Value places = n.slice(sortedPlaces(n, x, *normalized, *largest), *normalized, 0, k->front());
    n.output(0, takeElements(n, x, places, *normalized));
    n.output(1, places);
    return success();
  }
  auto op = n.create<tg::TopKOp>(x, n.b.getI64IntegerAttr(*normalized), n.b.getI64IntegerAttr(*known),
                                 *largest ? n.b.getUnitAttr() : UnitAttr());
  if (!op)
    return failure();
  n.output(0, op.getValues());
  n.output(1, op.getIndices());
  return success();
}

} // namespace

ArrayRef<OpEntry> getReduceOps() {
  static const OpEntry table[] = {
      {"", "ReduceSum", 1, newestOpset, reduction<reduceSum, Types::Direct, 13>, ""},
      {"", "ReduceProd", 1, newestOpset, reduction<reduceProd, Types::Direct>, ""},
      {"", "ReduceMax", 1, newestOpset, reduction<reduceMax, Types::Direct>, ""},
      {"", "ReduceMin", 1, newestOpset, reduction<reduceMin, Types::Direct>, ""},
      {"", "ReduceMean", 1, newestOpset, reduction<reduceMean, Types::Composed>, ""},
      {"", "ReduceL1", 1, newestOpset, reduction<reduceL1, Types::Composed>, ""},
      {"", "ReduceL2", 1, newestOpset, reduction<reduceL2, Types::Real>, ""},
      {"", "ReduceSumSquare", 1, newestOpset, reduction<reduceSumSquare, Types::Composed>, ""},
      {"", "ReduceLogSum", 1, newestOpset, reduction<reduceLogSum, Types::Real>, ""},
      {"", "ReduceLogSumExp", 1, newestOpset, reduction<reduceLogSumExp, Types::Real>, ""},
      {"", "ArgMax", 1, newestOpset, argReduce<tg::Monoid::Max>, ""},
      {"", "ArgMin", 1, newestOpset, argReduce<tg::Monoid::Min>, ""},
      {"", "TopK", 1, newestOpset, topK, ""},
  };
  return table;
}

} // namespace weft::onnx
