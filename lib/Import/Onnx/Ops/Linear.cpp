// Linear models and support vectors of ai.onnx.ml.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Loops.h"
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

/// Attributes of SVMClassifier with support vectors: one score for each pair of classes.
struct PairwiseModel {
  SmallVector<double> coefficients, vectors, rho, probA, probB;
  SmallVector<int64_t> perClass;
  int64_t classes = 0, supports = 0;
  int64_t pairs() const { return classes * (classes - 1) / 2; }
};

/// Calls `use` with the number of each pair and its classes, i < j.
void forEachPair(int64_t classes, llvm::function_ref<void(int64_t pair, int64_t i, int64_t j)> use) {
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j)
      use(pair++, i, j);
}

FailureOr<PairwiseModel> readPairwise(NodeContext &n, int64_t classes) {
  auto coefficients = n.floatsAttr("coefficients"), vectors = n.floatsAttr("support_vectors", SmallVector<double>()),
       rho = n.floatsAttr("rho"), probA = n.floatsAttr("prob_a", SmallVector<double>()),
       probB = n.floatsAttr("prob_b", SmallVector<double>());
  FailureOr<SmallVector<int64_t>> perClass = n.intsAttr("vectors_per_class", SmallVector<int64_t>());
  if (failed(coefficients) || failed(vectors) || failed(rho) || failed(probA) || failed(probB) || failed(perClass))
    return failure();
  PairwiseModel model{*coefficients, *vectors, *rho, *probA, *probB, *perClass, classes};
  for (int64_t count : model.perClass) {
    if (count < 0 || count > maxTableEntries)
      return n.error("expected entries of attribute `vectors_per_class` in [0, " + Twine(maxTableEntries) + "], got " +
                     Twine(count));
    model.supports += count;
  }
  if (model.supports == 0) // A linear model.
    return model;
  auto check = [&](StringRef name, size_t got, int64_t wanted) -> LogicalResult {
    return int64_t(got) == wanted
               ? success()
               : n.error("expected " + Twine(wanted) + " entries of attribute `" + name + "`, got " + Twine(got));
  };
  if (failed(check("vectors_per_class", model.perClass.size(), classes)) ||
      failed(check("coefficients", model.coefficients.size(), (classes - 1) * model.supports)) ||
      failed(check("rho", model.rho.size(), model.pairs())) ||
      (!model.probA.empty() && (failed(check("prob_a", model.probA.size(), model.pairs())) ||
                                failed(check("prob_b", model.probB.size(), model.pairs())))))
    return failure();
  return model;
}

/// The score of each pair: kernels of both classes' vectors by the coefficients that each has against the other.
Expr pairScores(NodeContext &n, Expr x, const PairwiseModel &model) {
  Value kernel = kernels(n, x, model.vectors, model.supports);
  SmallVector<int64_t> first{0};
  for (int64_t count : model.perClass)
    first.push_back(first.back() + count);
  if (!kernel || model.pairs() * model.supports > maxTableEntries)
    return {n, kernel ? (void(n.limit("too many support vectors for pairs of classes")), Value()) : Value()};
  SmallVector<double> table(model.pairs() * model.supports, 0.0);
  forEachPair(model.classes, [&](int64_t pair, int64_t i, int64_t j) {
    for (int64_t k = first[i]; k < first[i + 1]; ++k)
      table[pair * model.supports + k] = model.coefficients[(j - 1) * model.supports + k];
    for (int64_t k = first[j]; k < first[j + 1]; ++k)
      table[pair * model.supports + k] = model.coefficients[i * model.supports + k];
  });
  return {n, linearScores(n, kernel, table, model.rho, model.pairs())};
}

/// How many pairs each class wins: the first one those of a positive score.
Expr countVotes(NodeContext &n, Expr scores, const PairwiseModel &model) {
  SmallVector<double> wins(model.classes * model.pairs(), 0.0), base(model.classes, 0.0);
  forEachPair(model.classes, [&](int64_t pair, int64_t i, int64_t j) {
    wins[i * model.pairs() + pair] = 1;
    wins[j * model.pairs() + pair] = -1;
    base[j] += 1;
  });
  Expr isFirst = scores.compare(tg::CmpPredicate::Gt, 0.0).cast(n.b.getF32Type());
  return {n, linearScores(n, isFirst, wins, base, model.classes)};
}

/// One sweep over the classes of Wu, Lin and Weng's iteration for probabilities of classes from those of pairs (their
/// second method, as libsvm has it); rows whose error is small stay as they are. `q` is rows x classes x classes.
Expr sweepProbabilities(NodeContext &n, Expr q, Expr start, int64_t classes) {
  Expr p = start;
  auto sum = [&](Expr x) { return Expr(n, n.reduce(tg::Monoid::Add, x, {1}, /*keepDims=*/true)); };
  auto column = [&](Expr x, int64_t i) { return Expr(n, n.slice(x, 1, i, n.constExpr(1))); };
  Expr products(n, n.contract(q, p, "bij,bj->bi", n.b.getF32Type())), total = sum(p * products);
  Expr error(n, n.reduce(tg::Monoid::Max, (products - total).unary<tg::AbsOp>(), {1}, /*keepDims=*/true));
  for (int64_t i = 0; i < classes; ++i) {
    Expr row(n, n.squeeze(n.slice(q, 1, i, n.constExpr(1)), {1})), own = column(row, i), mine = column(products, i);
    Expr step = (total - mine) / own, scale = step + 1.0;
    SmallVector<double> unit(classes, 0.0);
    unit[i] = 1;
    p = (p + step * Expr(n, floatTable(n, unit, {1, classes}, n.b.getF32Type()))) / scale;
    total = (total + step * (step * own + mine * 2.0)) / scale / scale;
    products = (products + step * row) / scale;
  }
  return error.compare(tg::CmpPredicate::Lt, 0.005 / double(classes)).select(start, p);
}

/// Probabilities of classes from the scores of pairs, each made a probability by its two numbers.
Expr pairProbabilities(NodeContext &n, Expr scores, const PairwiseModel &model) {
  Type f32 = n.b.getF32Type();
  int64_t classes = model.classes, pairs = model.pairs();
  Expr logit =
      scores * Expr(n, floatTable(n, model.probA, {pairs}, f32)) + Expr(n, floatTable(n, model.probB, {pairs}, f32));
  Expr ofFirst = (1.0 - logit.unary<tg::SigmoidOp>()).clamp(1e-7, 1.0 - 1e-7);
  SmallVector<double> place(classes * classes * pairs, 0.0), base(classes * classes, 0.0);
  forEachPair(classes, [&](int64_t pair, int64_t i, int64_t j) {
    place[(i * classes + j) * pairs + pair] = 1;
    place[(j * classes + i) * pairs + pair] = -1;
    base[j * classes + i] = 1;
  });
  AffineExpr rows = n.dim(scores, 0), count = n.constExpr(classes);
  Value flat = linearScores(n, ofFirst, place, base, classes * classes);
  Expr r(n, n.reshape(flat, {rows, count, count}));
  Expr transposed(n, n.transpose(r, {0, 2, 1}));
  SmallVector<double> unit(classes * classes, 0.0);
  for (int64_t i = 0; i < classes; ++i)
    unit[i * classes + i] = 1;
  Expr squares(n, n.reduce(tg::Monoid::Add, r * r, {1}, /*keepDims=*/true));
  Expr q = squares * Expr(n, floatTable(n, unit, {classes, classes}, f32)) - r * transposed;
  Value start = n.broadcastTo(n.scalar(1.0 / double(classes), f32), {rows, count});
  constexpr int64_t mostSweeps = 100;
  auto sweep = [&](ValueRange carried, ValueRange) -> FailureOr<LoopTurn> {
    Expr next = sweepProbabilities(n, q, {n, carried[0]}, classes);
    if (!next)
      return failure();
    return LoopTurn{{next}, {}};
  };
  if (!q || !start)
    return {n, Value()};
  FailureOr<LoopResults> loop = buildCountedLoop(n, "probabilities", n.constExpr(mostSweeps), start, {}, {}, sweep);
  return {n, failed(loop) ? Value() : loop->carried.front()};
}

LogicalResult svmClassifier(NodeContext &n) {
  Expr x = readRows(n);
  FailureOr<SmallVector<int64_t>> labels = readLabels(n, "classlabels_ints");
  FailureOr<unsigned> post = readPostTransform(n);
  if (!x || failed(labels) || failed(post))
    return failure();
  int64_t classes = int64_t(labels->size());
  constexpr int64_t mostClasses = 256;
  if (classes < 2 || classes > mostClasses)
    return n.unsupported("expected labels of 2 to " + Twine(mostClasses) + " classes, got " + Twine(classes));
  FailureOr<PairwiseModel> model = readPairwise(n, classes);
  if (failed(model))
    return failure();
  if (model->supports == 0) {
    if (model->rho.empty())
      return n.error("expected at least 1 entry of attribute `rho`, got 0");
    SmallVector<double> offsets(classes, model->rho.front());
    Expr features(n, kernels(n, x, model->coefficients, classes));
    Expr scores = features ? features + Expr(n, floatTable(n, offsets, {classes}, n.b.getF32Type())) : features;
    n.output(1, scores ? transformScores(n, *post, scores) : Value());
    return scores ? deliver(n, labelOfLargest(n, *labels, scores)) : failure();
  }
  Expr scores = pairScores(n, x, *model);
  if (!scores)
    return failure();
  Expr votes = countVotes(n, scores, *model);
  if (!model->probA.empty())
    scores = pairProbabilities(n, scores, *model);
  else if (classes == 2) // One score: for the second class, and its opposite.
    scores = Expr(n, n.concat({*post == 0 ? scores * -1.0 : 1.0 - scores, scores}, 1));
  if (!scores || !votes)
    return failure();
  n.output(1, classes == 2 && model->probA.empty() ? Value(scores) : transformScores(n, *post, scores));
  return deliver(n, labelOfLargest(n, *labels, votes));
}

} // namespace

ArrayRef<OpEntry> getLinearOps() {
  static const OpEntry table[] = {
      {"ai.onnx.ml", "LinearClassifier", 1, anyOpset, linearClassifier,
       "no post transform PROBIT; labels that are strings as their indices"},
      {"ai.onnx.ml", "LinearRegressor", 1, anyOpset, linearRegressor, "no post transform PROBIT"},
      {"ai.onnx.ml", "SVMClassifier", 1, anyOpset, svmClassifier,
       "no post transform PROBIT; labels that are strings as their indices"},
      {"ai.onnx.ml", "SVMRegressor", 1, anyOpset, svmRegressor, "no post transform PROBIT"},
  };
  return table;
}

} // namespace weft::onnx
