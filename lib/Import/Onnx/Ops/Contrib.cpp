// com.microsoft operators of transformer files: normalisations with residuals, biased activations, fused products.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semantics are those of onnxruntime's CPU kernels. Sums that feed a normalisation or an activation stay in f32 for f16
// and bf16.
#include "Shared/Compose.h"
#include "Shared/Contraction.h"
#include "Shared/Normalize.h"

using namespace mlir;

namespace weft::onnx {

namespace {

constexpr StringLiteral microsoft = "com.microsoft";

//===----------------------------------------------------------------------===//
// Normalisations
//===----------------------------------------------------------------------===//

/// input + skip + bias in the compute type; skip and bias may have lower rank, bias may be null.
Value residualSum(NodeContext &n, Value input, Value skip, Value bias) {
  Value sum = n.make<tg::AddOp>(n.toCompute(input), n.toCompute(skip));
  if (bias)
    sum = n.make<tg::AddOp>(sum, n.toCompute(bias));
  if (sum && n.rank(sum) != n.rank(input)) {
    (void)n.error("expected skip and bias of rank at most " + Twine(n.rank(input)) + ", got " + Twine(n.rank(sum)));
    return {};
  }
  return sum;
}

/// SkipLayerNormalization and, if `simplified`, its root-mean-square sister, which has no beta.
template <bool simplified> LogicalResult skipLayerNorm(NodeContext &n) {
  if (failed(n.checkNumInputs(3, simplified ? 4 : 5)))
    return failure();
  Value input = n.required(0), skip = n.required(1), gamma = n.required(2);
  Value beta = simplified ? Value() : n.input(3), bias = n.input(simplified ? 3 : 4);
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-12);
  if (failed(epsilon) || failed(checkFloat(n, input, "input")) ||
      failed(checkSameElement(n, input, {skip, gamma, beta, bias})) || failed(n.checkRank(input, 2, 3, "input")))
    return failure();
  Value sum = residualSum(n, input, skip, bias);
  if (!sum)
    return failure();
  Type element = n.elementType(input);
  // The normalisation reads the sum before it is rounded.
  NormAttrs attrs{n.rank(input) - 1, *epsilon, computeType(element)};
  Value wideGamma = n.toCompute(gamma), wideBeta = beta ? n.toCompute(beta) : Value();
  Value result;
  if (simplified) {
    result = rmsNorm(n, sum, wideGamma, attrs);
    if (n.outputUsed(2))
      n.output(2, inverseRms(n, sum, attrs));
    if (n.outputUsed(1))
      return n.unsupported("output `mean` is not supported");
  } else {
    LayerNorm norm = layerNorm(n, sum, wideGamma, wideBeta, attrs);
    result = norm.result;
    n.output(1, norm.mean);
    n.output(2, norm.invStd);
  }
  n.output(3, n.cast(sum, element));
  return deliver(n, n.cast(result, element));
}

/// Sum of the embeddings of words, positions and (optionally) segments.
Value embeddingSum(NodeContext &n) {
  Value ids = n.required(0), segments = n.input(1), words = n.required(2), positions = n.required(3),
        segmentTable = n.input(4);
  Value positionIds = n.input(8);
  if (!ids || !words || !positions || failed(n.checkRank(ids, 2, 2, "input_ids")))
    return {};
  for (Value table : {words, positions, segmentTable})
    if (table &&
        (failed(n.checkRank(table, 2, 2, "an embedding table")) || failed(checkFloat(n, table, "an embedding table"))))
      return {};
  Value sum = n.toCompute(take(n, words, ids, 0));
  Value places = positionIds;
  if (!places)
    places = iota(n, 0, {n.dim(ids, 1)}, n.b.getI64Type());
  sum = n.make<tg::AddOp>(sum, n.toCompute(take(n, positions, places, 0)));
  if (segments && segmentTable)
    sum = n.make<tg::AddOp>(sum, n.toCompute(take(n, segmentTable, segments, 0)));
  return sum;
}

LogicalResult embedLayerNorm(NodeContext &n) {
  if (failed(n.checkNumInputs(7, 9)))
    return failure();
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-12);
  Value gamma = n.required(5), beta = n.required(6), mask = n.input(7), sum = embeddingSum(n);
  if (failed(epsilon) || !gamma || !beta || !sum)
    return failure();
  Type element = n.elementType(n.required(2)), i32 = n.b.getI32Type();
  NormAttrs attrs{n.rank(sum) - 1, *epsilon, computeType(element)};
  LayerNorm norm = layerNorm(n, sum, n.toCompute(gamma), n.toCompute(beta), attrs);
  if (n.outputUsed(1)) {
    // The number of positions that count, for each batch entry.
    Value ids = n.required(0);
    if (mask && failed(n.checkRank(mask, 2, 2, "mask")))
      return failure();
    Value ones = mask ? n.cast(compare(n, tg::CmpPredicate::Eq, mask, scalarLike(n, 1, mask)), i32) : Value();
    n.output(1, mask ? n.reduce(tg::Monoid::Add, ones, {1}, false) : full(n, 0, i32, {n.dim(ids, 0)}));
  }
  n.output(2, n.cast(sum, element));
  return deliver(n, n.cast(norm.result, element));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// gelu(x + bias), rounded once; input 1, if there is one, is the bias.
template <bool tanh> LogicalResult biasGelu(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 2)))
    return failure();
  Value x = n.required(0), bias = n.input(1);
  if (failed(checkFloat(n, x, "input 0")) || failed(checkSameElement(n, x, bias)))
    return failure();
  Value wide = n.toCompute(x);
  if (bias)
    wide = n.make<tg::AddOp>(wide, n.toCompute(bias));
  return deliver(n, n.cast(n.make<tg::GeluOp>(wide, tanh ? n.b.getUnitAttr() : UnitAttr()), n.elementType(x)));
}

LogicalResult quickGelu(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 1)))
    return failure();
  FailureOr<double> alpha = n.floatAttr("alpha", 1.702f);
  Value x = n.required(0);
  if (failed(alpha) || failed(checkFloat(n, x, "input 0")))
    return failure();
  return deliver(n, n.cast(swish(n, n.toCompute(x), *alpha), n.elementType(x)));
}

/// x + bias in two halves along the last dimension: left * gelu(right).
LogicalResult biasSplitGelu(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value x = n.required(0), bias = n.required(1);
  if (failed(checkFloat(n, x, "input 0")) || failed(checkSameElement(n, x, bias)) ||
      failed(n.checkRank(x, 1, 64, "input 0")))
    return failure();
  int64_t last = n.rank(x) - 1;
  std::optional<int64_t> width = n.staticDim(x, last);
  if (!width || *width % 2 != 0)
    return n.unsupported("a last dimension that is not static and even is not supported");
  Value sum = n.make<tg::AddOp>(n.toCompute(x), n.toCompute(bias));
  AffineExpr half = n.constExpr(*width / 2);
  Value gate = n.make<tg::GeluOp>(n.slice(sum, last, *width / 2, half), UnitAttr());
  return deliver(n, n.cast(n.make<tg::MulOp>(n.slice(sum, last, 0, half), gate), n.elementType(x)));
}

/// x + bias + skip.
LogicalResult biasAdd(NodeContext &n) {
  if (failed(n.checkNumInputs(3, 3)))
    return failure();
  Value x = n.required(0), bias = n.required(1), skip = n.required(2);
  if (failed(checkFloat(n, x, "input 0")) || failed(checkSameElement(n, x, {bias, skip})))
    return failure();
  return deliver(n, n.cast(residualSum(n, x, skip, bias), n.elementType(x)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// `x` with its last two dimensions exchanged; a vector stays as it is.
Value transposedMatrix(NodeContext &n, Value x) {
  if (!x || n.rank(x) < 2)
    return x;
  SmallVector<int64_t> permutation = allAxes(n.rank(x));
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return n.transpose(x, permutation);
}

/// `x` with its first dimension behind the batch dimensions.
Value batchesFirst(NodeContext &n, Value x) {
  if (!x || n.rank(x) < 3)
    return x;
  SmallVector<int64_t> permutation = allAxes(n.rank(x));
  std::rotate(permutation.begin(), permutation.begin() + 1, permutation.end() - 1);
  return n.transpose(x, permutation);
}

LogicalResult fusedMatMul(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 2)))
    return failure();
  Value a = n.required(0), b = n.required(1);
  FailureOr<double> alpha = n.floatAttr("alpha", 1.0);
  FailureOr<bool> transA = n.boolAttr("transA", false), transB = n.boolAttr("transB", false);
  FailureOr<bool> batchA = n.boolAttr("transBatchA", false), batchB = n.boolAttr("transBatchB", false);
  if (failed(alpha) || failed(transA) || failed(transB) || failed(batchA) || failed(batchB) ||
      failed(checkFloat(n, a, "A")) || failed(checkSameElement(n, a, b)) || !b)
    return failure();
  if (*batchA)
    a = batchesFirst(n, a);
  if (*batchB)
    b = batchesFirst(n, b);
  if (!a || !b)
    return failure();
  Type element = n.elementType(a);
  Value product = matmul(n, *transA ? transposedMatrix(n, a) : a, *transB ? transposedMatrix(n, b) : b,
                         *alpha == 1.0 ? element : computeType(element));
  if (*alpha != 1.0)
    product = n.make<tg::MulOp>(product, scalarLike(n, *alpha, product));
  return deliver(n, n.cast(product, element));
}

/// The activation that FusedGemm names, in the element type of `x`.
FailureOr<Value> fusedActivation(NodeContext &n, Value x) {
  FailureOr<unsigned> kind = n.choiceAttr("activation", {"", "Relu", "LeakyRelu", "Sigmoid", "Tanh"}, "");
  FailureOr<double> alpha = n.floatAttr("activation_alpha", 0.01f);
  // Parameters of activations that we do not have.
  n.ignoreAttr("activation_beta");
  n.ignoreAttr("activation_gamma");
  if (failed(kind) || failed(alpha) || !x)
    return failure();
  Value zero = scalarLike(n, 0, x);
  switch (*kind) {
  case 1:
    return n.make<tg::MaxOp>(x, zero);
  case 2:
    return n.make<tg::SelectOp>(compare(n, tg::CmpPredicate::Lt, x, zero),
                                n.make<tg::MulOp>(x, scalarLike(n, *alpha, x)), x);
  case 3:
    return n.make<tg::SigmoidOp>(x);
  case 4:
    return n.make<tg::TanhOp>(x);
  default:
    return x;
  }
}

LogicalResult fusedGemm(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 3)))
    return failure();
  FailureOr<double> alpha = n.floatAttr("alpha", 1.0), beta = n.floatAttr("beta", 1.0);
  FailureOr<bool> transA = n.boolAttr("transA", false), transB = n.boolAttr("transB", false);
  Value a = n.required(0), b = n.required(1), c = n.input(2);
  if (failed(alpha) || failed(beta) || failed(transA) || failed(transB) || failed(checkFloat(n, a, "A")) ||
      failed(checkSameElement(n, a, {b, c})) || failed(n.checkRank(a, 2, 2, "A")) || !b ||
      failed(n.checkRank(b, 2, 2, "B")))
    return failure();
  GemmArgs args{a, b, c, *alpha, *beta, *transA, *transB};
  FailureOr<Value> result = fusedActivation(n, gemm(n, args));
  return failed(result) ? failure() : deliver(n, n.cast(*result, n.elementType(a)));
}

} // namespace

ArrayRef<OpEntry> getContribOps() {
  static const OpEntry table[] = {
      {"", "SimplifiedLayerNormalization", 1, newestOpset, importRmsNorm, ""},
      {microsoft, "SkipLayerNormalization", 1, anyOpset, skipLayerNorm<false>, ""},
      {microsoft, "SkipSimplifiedLayerNormalization", 1, anyOpset, skipLayerNorm<true>, "no output mean"},
      {microsoft, "EmbedLayerNormalization", 1, anyOpset, embedLayerNorm, ""},
      {microsoft, "Gelu", 1, anyOpset, biasGelu<false>, ""},
      {microsoft, "BiasGelu", 1, anyOpset, biasGelu<false>, ""},
      {microsoft, "FastGelu", 1, anyOpset, biasGelu<true>, ""},
      {microsoft, "QuickGelu", 1, anyOpset, quickGelu, ""},
      {microsoft, "BiasSplitGelu", 1, anyOpset, biasSplitGelu, "static last dimension"},
      {microsoft, "BiasAdd", 1, anyOpset, biasAdd, ""},
      {microsoft, "FusedMatMul", 1, anyOpset, fusedMatMul, ""},
      {microsoft, "TransposeMatMul", 1, anyOpset, fusedMatMul, ""},
      {microsoft, "FusedGemm", 1, anyOpset, fusedGemm, ""},
  };
  return table;
}

} // namespace weft::onnx
