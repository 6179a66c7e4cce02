// Linear models and support vectors of ai.onnx.ml.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Scores.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// The operand as f32 rows; null after an error. A vector is one row.
Expr readRows(NodeContext &n) {
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(n.checkRank(x, 1, 2, "X")))
    return {n, Value()};
  return {n, n.cast(n.rank(x) == 1 ? n.unsqueeze(x, {0}) : x, n.b.getF32Type())};
}

/// x times the transpose of `count` rows of coefficients, plus one intercept a row (or none).
Value linearScores(NodeContext &n, Value x, ArrayRef<double> coefficients, ArrayRef<double> intercepts, int64_t count) {
  int64_t size = int64_t(coefficients.size());
  if (count < 1 || size % count != 0 || size > maxTableEntries) {
    (void)n.error("expected coefficients of " + Twine(count) + " rows, got " + Twine(size));
    return {};
  }
  if (!intercepts.empty() && int64_t(intercepts.size()) != count) {
    (void)n.error("expected " + Twine(count) + " entries of attribute `intercepts`, got " + Twine(intercepts.size()));
    return {};
  }
  if (failed(n.assumeEqual(n.dim(x, 1), n.constExpr(size / count), "columns of X and coefficients")))
    return {};
  Type f32 = n.b.getF32Type();
  Expr y(n, n.contract(x, floatTable(n, coefficients, {count, size / count}, f32), "mk,nk->mn", f32));
  return intercepts.empty() ? y : y + Expr(n, floatTable(n, intercepts, {count}, f32));
}

LogicalResult linearRegressor(NodeContext &n) {
  Expr x = readRows(n);
  FailureOr<SmallVector<double>> coefficients = n.floatsAttr("coefficients"),
                                 intercepts = n.floatsAttr("intercepts", SmallVector<double>());
  FailureOr<int64_t> targets = n.intAttr("targets", 1);
  FailureOr<unsigned> post = readPostTransform(n);
  if (!x || failed(coefficients) || failed(intercepts) || failed(targets) || failed(post))
    return failure();
  return deliver(n, transformScores(n, *post, {n, linearScores(n, x, *coefficients, *intercepts, *targets)}));
}

LogicalResult linearClassifier(NodeContext &n) {
  n.ignoreAttr("multi_class");
  Expr x = readRows(n);
  FailureOr<SmallVector<double>> coefficients = n.floatsAttr("coefficients"),
                                 intercepts = n.floatsAttr("intercepts", SmallVector<double>());
  FailureOr<SmallVector<int64_t>> labels = readLabels(n, "classlabels_ints");
  FailureOr<unsigned> post = readPostTransform(n);
  if (!x || failed(coefficients) || failed(intercepts) || failed(labels) || failed(post))
    return failure();
  int64_t rows = int64_t(intercepts->size()), classes = int64_t(labels->size());
  if (classes < 2 || (rows != classes && !(rows == 1 && classes == 2)))
    return n.error("expected labels of at least 2 classes and one intercept for each, got " + Twine(classes) + " and " +
                   Twine(rows));
  Expr scores(n, linearScores(n, x, *coefficients, *intercepts, rows));
  if (!scores)
    return failure();
  if (rows == classes) {
    n.output(1, transformScores(n, *post, scores));
    return deliver(n, labelOfLargest(n, *labels, scores));
  }
  // The score of the second of two classes; onnxruntime takes it for a probability unless it is made one.
  Expr first = *post == Logistic ? (scores * -1.0).unary<tg::SigmoidOp>() : 1.0 - scores;
  n.output(1, n.concat({first, *post == Logistic ? scores.unary<tg::SigmoidOp>() : scores}, 1));
  return deliver(n, labelOfTwo(n, *labels, scores.compare(tg::CmpPredicate::Gt, 0.0)));
}

//===--- Support vectors ---===//

enum Kernel : unsigned { LinearKernel, Poly, Rbf, Sigmoid };

/// The kernel between each row of `x` and each of `count` support vectors, rows x count.
Value kernels(NodeContext &n, Expr x, ArrayRef<double> vectors, int64_t count) {
  FailureOr<unsigned> kind = n.choiceAttr("kernel_type", {"LINEAR", "POLY", "RBF", "SIGMOID"}, "LINEAR");
  FailureOr<SmallVector<double>> params = n.floatsAttr("kernel_params", SmallVector<double>{0, 0, 0});
  if (failed(kind) || failed(params))
    return {};
  if (params->size() != 3) {
    (void)n.error("expected 3 entries of attribute `kernel_params`, got " + Twine(params->size()));
    return {};
  }
  double gamma = (*params)[0], offset = (*params)[1], degree = (*params)[2];
  if (*kind != Rbf) {
    Expr product(n, linearScores(n, x, vectors, {}, count));
    if (*kind == LinearKernel || !product)
      return product;
    product = product * gamma + offset;
    return *kind == Sigmoid ? product.unary<tg::TanhOp>() : product.binary<tg::PowOp>(degree);
  }
  int64_t size = int64_t(vectors.size());
  if (count < 1 || size % count != 0 || size > maxTableEntries ||
      failed(n.assumeEqual(n.dim(x, 1), n.constExpr(size / count), "columns of X and support vectors")))
    return {};
  Expr difference =
      Expr(n, n.unsqueeze(x, {1})) - Expr(n, floatTable(n, vectors, {count, size / count}, n.b.getF32Type()));
  Expr distance(n, n.reduce(tg::Monoid::Add, difference * difference, {2}, /*keepDims=*/false));
  return (distance * -gamma).unary<tg::ExpOp>();
}

LogicalResult svmRegressor(NodeContext &n) {
  Expr x = readRows(n);
  FailureOr<SmallVector<double>> coefficients = n.floatsAttr("coefficients"),
                                 vectors = n.floatsAttr("support_vectors", SmallVector<double>()),
                                 rho = n.floatsAttr("rho");
  FailureOr<int64_t> supports = n.intAttr("n_supports", 0);
  FailureOr<bool> isOneClass = n.boolAttr("one_class", false);
  FailureOr<unsigned> post = readPostTransform(n);
  if (!x || failed(coefficients) || failed(vectors) || failed(rho) || failed(supports) || failed(isOneClass) ||
      failed(post))
    return failure();
  if (rho->size() != 1)
    return n.error("expected 1 entry of attribute `rho`, got " + Twine(rho->size()));
  Expr features = x;
  if (*supports > 0) {
    if (int64_t(vectors->size()) % *supports != 0 || vectors->empty())
      return n.error("expected attribute `support_vectors` of " + Twine(*supports) + " rows, got " +
                     Twine(vectors->size()) + " numbers");
    features = Expr(n, kernels(n, x, *vectors, *supports));
  }
  Expr y(n, features ? linearScores(n, features, *coefficients, *rho, 1) : Value());
  if (!y)
    return failure();
  if (*isOneClass)
    y = y.compare(tg::CmpPredicate::Gt, 0.0).select(y.like(1), y.like(-1));
  return deliver(n, transformScores(n, *post, y));
}

} // namespace

ArrayRef<OpEntry> getLinearOps() {
  static const OpEntry table[] = {
      {"ai.onnx.ml", "LinearClassifier", 1, anyOpset, linearClassifier,
       "no post transform PROBIT; labels that are strings as their indices"},
      {"ai.onnx.ml", "LinearRegressor", 1, anyOpset, linearRegressor, "no post transform PROBIT"},
      {"ai.onnx.ml", "SVMRegressor", 1, anyOpset, svmRegressor, "no post transform PROBIT"},
  };
  return table;
}

} // namespace weft::onnx
