// Post transforms and labels of classes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scores.h"
#include "Common.h"

using namespace mlir;

namespace weft::onnx {

FailureOr<unsigned> readPostTransform(NodeContext &n) {
  return n.choiceAttr("post_transform", {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}, "NONE");
}

Value transformScores(NodeContext &n, unsigned post, Expr scores) {
  if (!scores || post == None)
    return scores;
  if (post == Logistic)
    return scores.unary<tg::SigmoidOp>();
  if (post == Softmax)
    return n.make<tg::SoftmaxOp>(Value(scores), n.b.getI64IntegerAttr(1), UnitAttr());
  if (post == Probit) {
    (void)n.unsupported("the post transform PROBIT is not supported");
    return {};
  }
  // Softmax of what is not 0; that stays 0.
  Expr isZero = scores.compare(tg::CmpPredicate::Eq, 0.0);
  Expr largest(n, n.reduce(tg::Monoid::Max, scores, {1}, /*keepDims=*/true));
  Expr powers = isZero.select(scores.like(0), (scores - largest).unary<tg::ExpOp>());
  Expr sum(n, n.reduce(tg::Monoid::Add, powers, {1}, /*keepDims=*/true));
  return isZero.select(scores.like(0), powers / sum);
}

FailureOr<SmallVector<int64_t>> readLabels(NodeContext &n, StringRef numbers) {
  if (n.hasAttr("classlabels_strings")) {
    FailureOr<SmallVector<StringRef>> strings = n.stringsAttr("classlabels_strings");
    if (failed(strings))
      return failure();
    if (!strings->empty())
      return llvm::to_vector(llvm::seq<int64_t>(0, int64_t(strings->size())));
  }
  return n.intsAttr(numbers, SmallVector<int64_t>());
}

Value labelOfLargest(NodeContext &n, ArrayRef<int64_t> labels, Value scores) {
  if (!scores)
    return {};
  Value place = n.make<tg::ArgReduceOp>(tg::MonoidAttr::get(n.b.getContext(), tg::Monoid::Max), scores,
                                        n.b.getI64IntegerAttr(1), UnitAttr(), UnitAttr());
  return place ? take(n, n.intsConstant(labels), place, 0) : Value();
}

Value labelOfTwo(NodeContext &n, ArrayRef<int64_t> labels, Expr isSecond) {
  Expr condition(n, n.squeeze(isSecond, {1}));
  auto label = [&](int64_t number) { return Expr(n, n.scalarInt(number, n.b.getI64Type())); };
  return condition.select(label(labels[1]), label(labels[0]));
}

} // namespace weft::onnx
