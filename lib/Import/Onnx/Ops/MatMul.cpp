// GEMMs: MatMul, Gemm and the integer product with zero points.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Compose.h"
#include "Shared/Contraction.h"

using namespace mlir;

namespace weft::onnx {

namespace {

LogicalResult matMul(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value lhs = n.required(0), rhs = n.required(1);
  if (!lhs || !rhs || failed(checkSameElement(n, lhs, rhs)))
    return failure();
  return deliver(n, matmul(n, lhs, rhs, n.elementType(lhs)));
}

LogicalResult gemmHandler(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 3)))
    return failure();
  FailureOr<double> alpha = n.floatAttr("alpha", 1.0), beta = n.floatAttr("beta", 1.0);
  FailureOr<bool> transA = n.boolAttr("transA", false), transB = n.boolAttr("transB", false);
  Value a = n.required(0), b = n.required(1), c = n.input(2);
  if (failed(alpha) || failed(beta) || failed(transA) || failed(transB) || !a || !b ||
      failed(checkSameElement(n, a, {b, c})) || failed(n.checkRank(a, 2, 2, "A")) ||
      failed(n.checkRank(b, 2, 2, "B")) || (c && failed(n.checkRank(c, 0, 2, "C"))))
    return failure();
  return deliver(n, n.cast(gemm(n, {a, b, c, *alpha, *beta, *transA, *transB}), n.elementType(a)));
}

/// `x` as i32 less its zero point. A vector of zero points belongs to the rows (`axis` = rank-2) or columns (rank-1).
Value withoutZeroPoint(NodeContext &n, Value x, Value zeroPoint, bool rows) {
  if (!x || !zeroPoint)
    return x;
  Type i32 = n.b.getI32Type();
  if (failed(checkSameElement(n, x, zeroPoint)))
    return {};
  int64_t rank = n.rank(zeroPoint);
  if (tg::getConstant(product(n, n.dims(zeroPoint))) == 1)
    zeroPoint = n.reshape(zeroPoint, ArrayRef<AffineExpr>());
  else if (rank == 1 && rows)
    zeroPoint = n.unsqueeze(zeroPoint, {1});
  Value difference = n.make<tg::SubOp>(n.cast(x, i32), n.cast(zeroPoint, i32));
  if (difference && n.rank(difference) != n.rank(x)) {
    (void)n.error("expected zero points of rank at most " + Twine(n.rank(x)) + ", got " + Twine(rank));
    return {};
  }
  return difference;
}

LogicalResult matMulInteger(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 4)))
    return failure();
  Value a = n.required(0), b = n.required(1);
  if (!a || !b)
    return failure();
  if (!isInteger(n, a) || !isInteger(n, b))
    return n.error("expected operands of 8-bit integers");
  a = withoutZeroPoint(n, a, n.input(2), /*rows=*/true);
  b = withoutZeroPoint(n, b, n.input(3), /*rows=*/false);
  return deliver(n, matmul(n, a, b, n.b.getI32Type()));
}

} // namespace

ArrayRef<OpEntry> getMatMulOps() {
  static const OpEntry table[] = {
      {"", "MatMul", 1, newestOpset, matMul, ""},
      {"", "Gemm", 1, newestOpset, gemmHandler, ""},
      {"", "MatMulInteger", 10, newestOpset, matMulInteger, ""},
  };
  return table;
}

} // namespace weft::onnx
