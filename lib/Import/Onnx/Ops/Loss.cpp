// Losses over class scores: negative log likelihood and softmax cross entropy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores are N x C x d1 x ..., targets N x d1 x ... hold classes. Entries whose target is `ignore_index` weigh nothing,
// whatever class they name; f16 and bf16 compute in f32 and round once.
#include "Shared/Compose.h"

using namespace mlir;

namespace weft::onnx {

namespace {

enum Reduction : unsigned { None, Sum, Mean };

struct LossInputs {
  Value scores, target, weight; ///< `weight` may be null.
  std::optional<int64_t> ignored;
  unsigned reduction = Mean;
};

FailureOr<LossInputs> readLoss(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 3)))
    return failure();
  LossInputs in{n.required(0), n.required(1), n.input(2), std::nullopt, Mean};
  FailureOr<unsigned> reduction = n.choiceAttr("reduction", {"none", "sum", "mean"}, "mean");
  if (failed(reduction) || !in.target || failed(checkFloat(n, in.scores, "scores")) ||
      failed(checkSameElement(n, in.scores, in.weight)) || failed(n.checkRank(in.scores, 2, 64, "scores")))
    return failure();
  if (!isInteger(n, in.target))
    return n.error("expected integer targets");
  int64_t rank = n.rank(in.scores);
  if (failed(n.checkRank(in.target, rank - 1, rank - 1, "target")) ||
      (in.weight && failed(n.checkRank(in.weight, 1, 1, "weight"))))
    return failure();
  for (int64_t d = 0; d < rank - 1; ++d)
    if (failed(n.assumeEqual(n.dim(in.scores, d ? d + 1 : 0), n.dim(in.target, d),
                             "dimension " + Twine(d) + " of the target")))
      return failure();
  if (in.weight && failed(n.assumeEqual(n.dim(in.weight, 0), n.dim(in.scores, 1), "the number of classes")))
    return failure();
  if (n.hasAttr("ignore_index")) {
    FailureOr<int64_t> ignored = n.intAttr("ignore_index");
    if (failed(ignored))
      return failure();
    in.ignored = *ignored;
  }
  in.reduction = *reduction;
  return in;
}

/// r[i, d...] = scores[i, target[i, d...], d...]. Classes out of range are clamped.
Value pickClass(NodeContext &n, Value scores, Value target) {
  MLIRContext *context = n.b.getContext();
  int64_t domain = n.rank(target);
  SmallVector<AffineExpr> place{getAffineDimExpr(0, context), getAffineSymbolExpr(0, context)};
  for (int64_t d = 1; d < domain; ++d)
    place.push_back(getAffineDimExpr(d, context));
  return n.make<tg::GatherOp>(tg::getTensorType(n.dims(target), n.elementType(scores)), scores, target,
                              AffineMapAttr::get(AffineMap::get(domain, 1, place, context)),
                              n.b.getAffineMapArrayAttr(AffineMap::getMultiDimIdentityMap(domain, context)));
}

/// The loss from log probabilities in the compute type.
Value negativeLogLikelihood(NodeContext &n, Value logProb, const LossInputs &in) {
  if (!logProb)
    return {};
  Value target = n.elementType(in.target).isInteger(32) ? in.target : n.cast(in.target, n.b.getI64Type());
  Value loss = n.make<tg::NegOp>(pickClass(n, logProb, target)), zero = scalarLike(n, 0, logProb);
  Value weight = in.weight ? take(n, n.toCompute(in.weight), target, 0) : Value();
  if (in.ignored) {
    Value kept = compare(n, tg::CmpPredicate::Ne, target, n.scalarInt(*in.ignored, n.elementType(target)));
    loss = n.make<tg::SelectOp>(kept, loss, zero);
    weight = n.make<tg::SelectOp>(kept, weight ? weight : scalarLike(n, 1, logProb), zero);
  }
  if (in.weight && weight)
    loss = n.make<tg::MulOp>(loss, weight);
  if (in.reduction == None || !loss)
    return loss;
  SmallVector<int64_t> axes = allAxes(n.rank(loss));
  if (in.reduction == Mean && !weight)
    return mean(n, loss, axes, false);
  Value sum = n.reduce(tg::Monoid::Add, loss, axes, false);
  return in.reduction == Sum ? sum : n.make<tg::DivOp>(sum, n.reduce(tg::Monoid::Add, weight, axes, false));
}

LogicalResult nllLoss(NodeContext &n) {
  FailureOr<LossInputs> in = readLoss(n);
  if (failed(in))
    return failure();
  return deliver(n, n.cast(negativeLogLikelihood(n, n.toCompute(in->scores), *in), n.elementType(in->scores)));
}

LogicalResult crossEntropy(NodeContext &n) {
  FailureOr<LossInputs> in = readLoss(n);
  if (failed(in))
    return failure();
  Type result = n.elementType(in->scores);
  Value logProb = n.make<tg::SoftmaxOp>(n.toCompute(in->scores), n.b.getI64IntegerAttr(1), n.b.getUnitAttr());
  n.output(1, n.cast(logProb, result));
  return deliver(n, n.cast(negativeLogLikelihood(n, logProb, *in), result));
}

} // namespace

ArrayRef<OpEntry> getLossOps() {
  static const OpEntry table[] = {
      {"", "NegativeLogLikelihoodLoss", 12, newestOpset, nllLoss, ""},
      {"", "SoftmaxCrossEntropyLoss", 12, newestOpset, crossEntropy, ""},
  };
  return table;
}

} // namespace weft::onnx
