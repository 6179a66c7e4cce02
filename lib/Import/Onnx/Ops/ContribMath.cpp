// com.microsoft operators of small use: distances, windows as views, tests, products of 16-bit integers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Contraction.h"
#include "Shared/Expr.h"
#include "Shared/Extents.h"

using namespace mlir;

namespace weft::onnx {
namespace {

constexpr StringLiteral microsoft = "com.microsoft";

/// Distances between the rows of two matrices, from differences: what a product would cancel stays.
LogicalResult distances(NodeContext &n) {
  Value a = n.required(0), b = n.required(1);
  FailureOr<unsigned> metric = n.choiceAttr("metric", {"sqeuclidean", "euclidean"}, "sqeuclidean");
  if (failed(n.checkNumInputs(2, 2)) || failed(metric) || failed(checkFloat(n, a, "A")) ||
      failed(checkSameElement(n, a, b)) || !b || failed(n.checkRank(a, 2, 2, "A")) || failed(n.checkRank(b, 2, 2, "B")))
    return failure();
  Expr difference = Expr(n, n.unsqueeze(n.toCompute(a), {1})) - Expr(n, n.unsqueeze(n.toCompute(b), {0}));
  Expr sum(n, n.reduce(tg::Monoid::Add, difference * difference, {2}, /*keepDims=*/false));
  return deliver(n, (*metric == 1 ? sum.unary<tg::SqrtOp>() : sum).cast(n.elementType(a)));
}

/// A new dimension of extent 1 at the position that input 1 says.
LogicalResult expandDims(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<SmallVector<int64_t>> axis = n.requiredInts(1, "axis");
  if (failed(n.checkNumInputs(2, 2)) || !x || failed(axis))
    return failure();
  if (axis->size() != 1)
    return n.error("expected one axis, got " + Twine(axis->size()));
  FailureOr<int64_t> place = n.normalizeAxis(axis->front(), n.rank(x) + 1);
  return failed(place) ? failure() : deliver(n, n.unsqueeze(x, {*place}));
}

/// Windows of `size` elements, `step` apart, along `dim`: their elements become the last dimension.
LogicalResult unfold(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<int64_t> dim = n.intAttr("dim", -1), size = n.intAttr("size"), step = n.intAttr("step", 1);
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(dim) || failed(size) || failed(step))
    return failure();
  FailureOr<int64_t> axis = n.normalizeAxis(*dim, n.rank(x));
  if (failed(axis))
    return failure();
  constexpr int64_t most = (int64_t(1) << 31) - 1;
  if (*size < 1 || *step < 1 || *size > most || *step > most)
    return n.error("expected attributes `size` and `step` in [1, 2^31), got " + Twine(*size) + " and " + Twine(*step));
  if (failed(n.assumeAtMost(n.constExpr(*size), n.dim(x, *axis), "size of a window")))
    return failure();
  return deliver(n, n.make<tg::WindowOp>(x, ArrayRef<int64_t>{*axis}, ArrayRef<int64_t>{*size},
                                         ArrayRef<int64_t>{*step}, ArrayRef<int64_t>{1}));
}

/// Whether no element of any input is infinite or NaN, or one of both.
LogicalResult allFinite(NodeContext &n) {
  FailureOr<bool> onlyInf = n.boolAttr("isinf_only", false), onlyNan = n.boolAttr("isnan_only", false);
  if (failed(onlyInf) || failed(onlyNan))
    return failure();
  if (*onlyInf && *onlyNan)
    return n.error("expected at most one of the attributes `isinf_only` and `isnan_only`");
  Expr good(n, n.scalarInt(1, n.b.getI1Type()));
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    Value x = n.required(i);
    if (failed(checkFloat(n, x, "an input")))
      return failure();
    Expr bad(n, n.scalarInt(0, n.b.getI1Type()));
    if (!*onlyInf)
      bad = bad | Expr(n, n.make<tg::IsNanOp>(x));
    if (!*onlyNan)
      bad = bad | Expr(n, n.make<tg::IsInfOp>(x, n.b.getBoolAttr(true), n.b.getBoolAttr(true)));
    good = good & Expr(n, n.reduce(tg::Monoid::And, bad.unary<tg::NotOp>(), allAxes(n.rank(x)), /*keepDims=*/false));
  }
  return deliver(n, good);
}

/// Products of 16-bit integers, summed in i32.
LogicalResult integerMatMul(NodeContext &n) {
  Value a = n.required(0), b = n.required(1);
  Type i32 = n.b.getI32Type();
  if (failed(n.checkNumInputs(2, 2)) || !a || !b)
    return failure();
  if (!isInteger(n, a) || !isInteger(n, b))
    return n.error("expected integers, got " + typeName(n.elementType(a)) + " and " + typeName(n.elementType(b)));
  return deliver(n, matmul(n, n.cast(a, i32), n.cast(b, i32), i32));
}

} // namespace

ArrayRef<OpEntry> getContribMathOps() {
  static const OpEntry table[] = {
      {microsoft, "CDist", 1, anyOpset, distances, ""},
      {microsoft, "ExpandDims", 1, anyOpset, expandDims, ""},
      {microsoft, "IsAllFinite", 1, anyOpset, allFinite, ""},
      {microsoft, "MatMulInteger16", 1, anyOpset, integerMatMul, ""},
      {microsoft, "UnfoldTensor", 1, anyOpset, unfold, ""},
  };
  return table;
}

} // namespace weft::onnx
