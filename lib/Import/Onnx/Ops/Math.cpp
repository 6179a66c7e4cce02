// Arithmetic, rounding, trigonometry, bit operations, prefix sums and determinants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most operators are one tg op. Those that combine several operands or steps compute f16 and bf16 in f32 and round
// once.
#include "Shared/Common.h"
#include "Shared/Compose.h"
#include "Shared/NarrowSums.h"

using namespace mlir;

namespace weft::onnx {

namespace {

//===----------------------------------------------------------------------===//
// One ONNX operator, one tg op
//===----------------------------------------------------------------------===//

template <typename OpTy> LogicalResult unary(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  return deliver(n, n.make<OpTy>(n.required(0)));
}

LogicalResult squareRoot(NodeContext &n) {
  Value norm = rootOfSum(n, n.input(0));
  return norm ? deliver(n, norm) : unary<tg::SqrtOp>(n);
}

template <typename OpTy> LogicalResult binary(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value lhs = n.required(0), rhs = broadcastInput(n, 1);
  if (!lhs || !rhs || failed(checkSameElement(n, lhs, rhs)))
    return failure();
  constexpr bool divides = std::is_same_v<OpTy, tg::DivOp>;
  if constexpr (divides || std::is_same_v<OpTy, tg::MulOp>)
    for (auto [sum, factor] : {std::pair(lhs, rhs), std::pair(divides ? Value() : rhs, lhs)})
      if (Value mean = meanOfSum(n, sum, factor, divides))
        return deliver(n, mean);
  return deliver(n, n.make<OpTy>(lhs, rhs));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

LogicalResult mod(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  FailureOr<bool> fmod = n.boolAttr("fmod", false);
  Value lhs = n.required(0), rhs = n.required(1);
  if (failed(fmod) || !lhs || !rhs || failed(checkSameElement(n, lhs, rhs)))
    return failure();
  // Until opset 27, fmod = 0 is defined for integers only.
  if (!*fmod && n.opset < 28 && isFloat(n, lhs))
    return n.error("expected attribute `fmod` = 1 for float operands before opset 28, got 0");
  return deliver(n, *fmod ? n.make<tg::FModOp>(lhs, rhs) : n.make<tg::ModOp>(lhs, rhs));
}

/// The element type in which x^y is computed: x's own, widened to a float that holds y's fraction.
Type powType(NodeContext &n, Value base, Value exponent) {
  Type x = n.elementType(base), y = n.elementType(exponent);
  if (isFloat(n, base)) {
    bool wide = x.isF64() || y.isF64();
    return wide ? Type(n.b.getF64Type()) : x == y ? x : Type(n.b.getF32Type());
  }
  return isFloat(n, exponent) ? Type(n.b.getF64Type()) : x;
}

LogicalResult pow(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value base = n.required(0), exponent = broadcastInput(n, 1);
  if (!base || !exponent)
    return failure();
  Type result = n.elementType(base), compute = powType(n, base, exponent);
  Value power = n.make<tg::PowOp>(n.cast(base, compute), n.cast(exponent, compute));
  return deliver(n, n.cast(power, result));
}

/// Max, Min: `OpTy` over all inputs, from the left.
template <typename OpTy> LogicalResult variadic(NodeContext &n) {
  Value result = n.required(0);
  for (unsigned i = 1; result && i < n.numInputs(); ++i) {
    Value next = n.required(i);
    if (!next || failed(checkSameElement(n, result, next)))
      return failure();
    result = n.make<OpTy>(result, next);
  }
  return deliver(n, result);
}

/// Sum of all inputs, or their mean; f16 and bf16 sum up in f32.
template <bool average> LogicalResult sum(NodeContext &n) {
  Value first = n.required(0), total = n.toCompute(first);
  for (unsigned i = 1; total && i < n.numInputs(); ++i) {
    Value next = n.required(i);
    if (!next || failed(checkSameElement(n, first, next)))
      return failure();
    total = n.make<tg::AddOp>(total, n.toCompute(next));
  }
  if (average && total)
    total = n.make<tg::DivOp>(total, scalarLike(n, n.numInputs(), total));
  return deliver(n, total ? n.cast(total, n.elementType(first)) : Value());
}

/// `bound` as a rank-0 tensor; files hold one-element vectors too.
Value clipBound(NodeContext &n, Value bound) {
  if (tg::getConstant(product(n, n.dims(bound))) != 1) {
    (void)n.error("expected a bound of one element, got rank " + Twine(n.rank(bound)));
    return {};
  }
  return n.reshape(bound, ArrayRef<AffineExpr>());
}

LogicalResult clip(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 3)))
    return failure();
  Value value = n.required(0), low = n.input(1), high = n.input(2);
  if (!value || failed(checkSameElement(n, value, {low, high})))
    return failure();
  // The upper bound comes last, so that it wins where low > high.
  if (low)
    value = n.make<tg::MaxOp>(value, clipBound(n, low));
  if (high && value)
    value = n.make<tg::MinOp>(value, clipBound(n, high));
  return deliver(n, value);
}

/// Clip before opset 11 has its bounds in attributes.
LogicalResult clipByAttributes(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  Value value = n.required(0);
  for (bool upper : {false, true}) {
    StringRef name = upper ? "max" : "min";
    if (!value || !n.hasAttr(name))
      continue;
    FailureOr<double> bound = n.floatAttr(name);
    if (failed(bound))
      return failure();
    Value scalar = scalarLike(n, *bound, value);
    value = upper ? n.make<tg::MinOp>(value, scalar) : n.make<tg::MaxOp>(value, scalar);
  }
  return deliver(n, value);
}

//===----------------------------------------------------------------------===//
// Tests and bits
//===----------------------------------------------------------------------===//

/// Narrow floats are storage only; tests look at them as f32.
Value testable(NodeContext &n, Value value) {
  return value && isa<FloatType>(n.elementType(value)) && !isFloat(n, value) ? n.cast(value, n.b.getF32Type()) : value;
}

LogicalResult isNan(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  return deliver(n, n.make<tg::IsNanOp>(testable(n, n.required(0))));
}

LogicalResult isInf(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  FailureOr<bool> negative = n.boolAttr("detect_negative", true), positive = n.boolAttr("detect_positive", true);
  if (failed(negative) || failed(positive))
    return failure();
  return deliver(
      n, n.make<tg::IsInfOp>(testable(n, n.required(0)), n.b.getBoolAttr(*negative), n.b.getBoolAttr(*positive)));
}

LogicalResult bitShift(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  FailureOr<unsigned> direction = n.choiceAttr("direction", {"LEFT", "RIGHT"}, "");
  Value value = n.required(0), amount = n.required(1);
  if (failed(direction) || !value || !amount || failed(checkSameElement(n, value, amount)))
    return failure();
  return deliver(n, *direction == 0 ? n.make<tg::ShlOp>(value, amount) : n.make<tg::ShrOp>(value, amount));
}

//===----------------------------------------------------------------------===//
// Prefix sums and determinants
//===----------------------------------------------------------------------===//

template <tg::Monoid kind> LogicalResult scan(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  FailureOr<bool> exclusive = n.boolAttr("exclusive", false), reverse = n.boolAttr("reverse", false);
  Value value = n.required(0);
  if (failed(exclusive) || failed(reverse) || !value)
    return failure();
  auto along = [&](int64_t axis) {
    return n.make<tg::ScanOp>(tg::MonoidAttr::get(n.b.getContext(), kind), value, n.b.getI64IntegerAttr(axis),
                              *exclusive ? n.b.getUnitAttr() : UnitAttr(), *reverse ? n.b.getUnitAttr() : UnitAttr());
  };
  Value axis = n.required(1);
  if (!axis)
    return failure();
  if (AffineExpr count = tg::getNumElements(axis.getType()); tg::getConstant(count) != 1)
    return n.error("expected one axis, got " + n.extentsText(count));
  int64_t rank = n.rank(value);
  if (std::optional<int64_t> known = n.constantInt(axis)) {
    FailureOr<int64_t> normalized = n.normalizeAxis(*known, rank);
    return failed(normalized) ? failure() : deliver(n, along(*normalized));
  }
  // One of them all: ranks are small.
  Value flat = n.reshape(n.cast(axis, n.b.getI64Type()), ArrayRef<int64_t>());
  Value y = along(0);
  for (int64_t d = 1; d < rank; ++d) {
    Value isIt = compare(n, tg::CmpPredicate::Eq, flat, n.scalarInt(d, flat.getType()));
    Value fromEnd = compare(n, tg::CmpPredicate::Eq, flat, n.scalarInt(d - rank, flat.getType()));
    y = n.make<tg::SelectOp>(n.make<tg::OrOp>(isIt, fromEnd), along(d), y);
  }
  return deliver(n, y);
}

/// Element (row, column) of the trailing matrix dimensions, as a tensor of the leading ones.
Value matrixElement(NodeContext &n, Value matrix, int64_t row, int64_t column) {
  if (!matrix)
    return {};
  int64_t rank = n.rank(matrix);
  Value one = n.slice(n.slice(matrix, rank - 2, row, n.constExpr(1)), rank - 1, column, n.constExpr(1));
  return n.squeeze(one, {rank - 2, rank - 1});
}

/// Determinant of the minor that the given rows and columns form, expanded along its first row.
Value minorDeterminant(NodeContext &n, Value matrix, ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
  if (columns.size() == 1)
    return matrixElement(n, matrix, rows.front(), columns.front());
  Value total;
  for (size_t i = 0; i < columns.size(); ++i) {
    SmallVector<int64_t> rest(columns);
    rest.erase(rest.begin() + i);
    Value term = n.make<tg::MulOp>(matrixElement(n, matrix, rows.front(), columns[i]),
                                   minorDeterminant(n, matrix, rows.drop_front(), rest));
    if (!term)
      return {};
    total = i == 0 ? term : i % 2 ? n.make<tg::SubOp>(total, term) : n.make<tg::AddOp>(total, term);
  }
  return total;
}

/// Rows of the square matrices that the only operand holds: `what` is expanded along them.
FailureOr<int64_t> readSmallMatrix(NodeContext &n, StringRef what) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  constexpr int64_t maxSize = 4; // The expansion has size! terms.
  Value matrix = n.required(0);
  if (!matrix || failed(n.checkRank(matrix, 2, 64, "input")) || failed(checkFloat(n, matrix, "input")))
    return failure();
  int64_t rank = n.rank(matrix);
  std::optional<int64_t> rows = n.staticDim(matrix, rank - 2), columns = n.staticDim(matrix, rank - 1);
  if (!rows || !columns || *rows > maxSize || *rows < 1)
    return n.unsupported(what + " of matrices other than static ones of 1 to " + Twine(maxSize) +
                         " rows is not supported");
  if (*rows != *columns)
    return n.error("expected square matrices, got " + Twine(*rows) + " x " + Twine(*columns));
  return *rows;
}

LogicalResult determinant(NodeContext &n) {
  FailureOr<int64_t> size = readSmallMatrix(n, "determinant");
  if (failed(size))
    return failure();
  Value matrix = n.required(0), result = minorDeterminant(n, n.toCompute(matrix), allAxes(*size), allAxes(*size));
  return deliver(n, n.cast(result, n.elementType(matrix)));
}

/// The transposed cofactors by the determinant, in f64: they cancel where a matrix is nearly singular.
LogicalResult inverse(NodeContext &n) {
  FailureOr<int64_t> size = readSmallMatrix(n, "inverse");
  if (failed(size))
    return failure();
  Value input = n.required(0), matrix = n.cast(input, n.b.getF64Type());
  SmallVector<int64_t> all = allAxes(*size);
  auto without = [&](int64_t place) {
    SmallVector<int64_t> rest(all);
    rest.erase(rest.begin() + place);
    return rest;
  };
  int64_t rank = n.rank(input);
  SmallVector<Value> rows;
  for (int64_t row : all) {
    SmallVector<Value> cofactors;
    for (int64_t column : all) {
      Value minor =
          *size == 1 ? n.scalar(1, n.b.getF64Type()) : minorDeterminant(n, matrix, without(column), without(row));
      if ((row + column) % 2)
        minor = n.make<tg::NegOp>(minor);
      if (!(minor = n.make<tg::DivOp>(minor, minorDeterminant(n, matrix, all, all))))
        return failure();
      cofactors.push_back(n.unsqueeze(minor, {rank - 2, rank - 1}));
    }
    rows.push_back(n.concat(cofactors, rank - 1));
  }
  return deliver(n, n.cast(n.concat(rows, rank - 2), n.elementType(input)));
}

} // namespace

ArrayRef<OpEntry> getMathOps() {
  static const OpEntry table[] = {
      {"", "Abs", 1, newestOpset, unary<tg::AbsOp>, ""},
      {"", "Neg", 1, newestOpset, unary<tg::NegOp>, ""},
      {"", "Sign", 9, newestOpset, unary<tg::SignOp>, ""},
      {"", "Reciprocal", 1, newestOpset, unary<tg::ReciprocalOp>, ""},
      {"", "Add", 1, newestOpset, binary<tg::AddOp>, ""},
      {"", "Sub", 1, newestOpset, binary<tg::SubOp>, ""},
      {"", "Mul", 1, newestOpset, binary<tg::MulOp>, ""},
      {"", "Div", 1, newestOpset, binary<tg::DivOp>, ""},
      {"", "Mod", 10, newestOpset, mod, ""},
      {"", "Pow", 1, newestOpset, pow, ""},
      {"", "Max", 1, newestOpset, variadic<tg::MaxOp>, ""},
      {"", "Min", 1, newestOpset, variadic<tg::MinOp>, ""},
      {"", "Sum", 1, newestOpset, sum<false>, ""},
      {"", "Mean", 1, newestOpset, sum<true>, ""},
      {"", "Clip", 1, 10, clipByAttributes, ""},
      {"", "Clip", 11, newestOpset, clip, ""},
      {"", "Ceil", 1, newestOpset, unary<tg::CeilOp>, ""},
      {"", "Floor", 1, newestOpset, unary<tg::FloorOp>, ""},
      {"", "Round", 11, newestOpset, unary<tg::RoundOp>, ""},
      {"", "Exp", 1, newestOpset, unary<tg::ExpOp>, ""},
      {"", "Log", 1, newestOpset, unary<tg::LogOp>, ""},
      {"", "Sqrt", 1, newestOpset, squareRoot, ""},
      {"", "Erf", 9, newestOpset, unary<tg::ErfOp>, ""},
      {"", "Sin", 7, newestOpset, unary<tg::SinOp>, ""},
      {"", "Cos", 7, newestOpset, unary<tg::CosOp>, ""},
      {"", "Tan", 7, newestOpset, unary<tg::TanOp>, ""},
      {"", "Asin", 7, newestOpset, unary<tg::AsinOp>, ""},
      {"", "Acos", 7, newestOpset, unary<tg::AcosOp>, ""},
      {"", "Atan", 7, newestOpset, unary<tg::AtanOp>, ""},
      {"", "Sinh", 9, newestOpset, unary<tg::SinhOp>, ""},
      {"", "Cosh", 9, newestOpset, unary<tg::CoshOp>, ""},
      {"", "Tanh", 1, newestOpset, unary<tg::TanhOp>, ""},
      {"", "Asinh", 9, newestOpset, unary<tg::AsinhOp>, ""},
      {"", "Acosh", 9, newestOpset, unary<tg::AcoshOp>, ""},
      {"", "Atanh", 9, newestOpset, unary<tg::AtanhOp>, ""},
      {"", "IsNaN", 9, newestOpset, isNan, ""},
      {"", "IsInf", 10, newestOpset, isInf, ""},
      {"", "BitwiseAnd", 18, newestOpset, binary<tg::AndOp>, ""},
      {"", "BitwiseOr", 18, newestOpset, binary<tg::OrOp>, ""},
      {"", "BitwiseXor", 18, newestOpset, binary<tg::XorOp>, ""},
      {"", "BitwiseNot", 18, newestOpset, unary<tg::NotOp>, ""},
      {"", "BitShift", 11, newestOpset, bitShift, ""},
      {"", "CumSum", 11, newestOpset, scan<tg::Monoid::Add>, "the axis must be constant"},
      {"", "CumProd", 26, newestOpset, scan<tg::Monoid::Mul>, "the axis must be constant"},
      {"", "Det", 11, newestOpset, determinant, "static matrices of at most 4 rows"},
      {"com.microsoft", "Inverse", 1, anyOpset, inverse, "static matrices of at most 4 rows"},
  };
  return table;
}

} // namespace weft::onnx
