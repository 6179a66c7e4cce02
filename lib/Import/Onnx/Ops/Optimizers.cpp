// Steps of training from gradients that are given: Adagrad, Adam and Momentum of ai.onnx.preview.training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Expr.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// What the operators share: the rate, the number of the step, and groups of tensors, one group for each tensor that is
/// trained.
struct Step {
  Value rate, count;
  unsigned tensors = 0;
};

/// Inputs are rate, count, then `perTensor` lists of tensors of one length.
FailureOr<Step> readStep(NodeContext &n, unsigned perTensor) {
  Step step{n.required(0), n.required(1)};
  if (!step.rate || !step.count)
    return failure();
  if (n.numInputs() < 2 + perTensor || (n.numInputs() - 2) % perTensor != 0)
    return n.error("expected a rate, a count and " + Twine(perTensor) + " tensors for each that is trained, got " +
                   Twine(n.numInputs()) + " inputs");
  step.tensors = (n.numInputs() - 2) / perTensor;
  for (unsigned i = 2; i < n.numInputs(); ++i)
    if (Value x = n.required(i); failed(checkFloat(n, x, "a tensor")) || failed(checkSameElement(n, n.input(2), x)))
      return failure();
  if (tg::getConstant(tg::getNumElements(step.rate.getType())) != 1 ||
      tg::getConstant(tg::getNumElements(step.count.getType())) != 1)
    return n.error("expected a rate and a count of one element");
  Type element = n.elementType(n.input(2));
  step.rate = n.cast(n.reshape(step.rate, ArrayRef<int64_t>()), element);
  step.count = n.cast(n.reshape(step.count, ArrayRef<int64_t>()), element);
  return step;
}

Expr square(Expr x) { return x * x; }

/// y where this is the first step, else x.
Expr unlessFirst(Expr count, Expr x, Expr y) { return count.compare(tg::CmpPredicate::Gt, 0.0).select(x, y); }

LogicalResult adagrad(NodeContext &n) {
  FailureOr<Step> step = readStep(n, 3);
  FailureOr<double> norm = n.floatAttr("norm_coefficient", 0.0), decay = n.floatAttr("decay_factor", 0.0),
                    epsilon = n.floatAttr("epsilon", 1e-6);
  if (failed(step) || failed(norm) || failed(decay) || failed(epsilon))
    return failure();
  Expr rate = Expr(n, step->rate) / (Expr(n, step->count) * *decay + 1.0);
  for (unsigned i = 0, count = step->tensors; i < count; ++i) {
    Expr x(n, n.input(2 + i)), h(n, n.input(2 + 2 * count + i));
    Expr gradient = x * *norm + Expr(n, n.input(2 + count + i));
    h = h + square(gradient);
    n.output(i, x - rate * gradient / (h.unary<tg::SqrtOp>() + *epsilon));
    n.output(count + i, h);
  }
  return success(!n.failedAlready());
}

LogicalResult adam(NodeContext &n) {
  FailureOr<Step> step = readStep(n, 4);
  FailureOr<double> norm = n.floatAttr("norm_coefficient", 0.0), after = n.floatAttr("norm_coefficient_post", 0.0),
                    alpha = n.floatAttr("alpha", 0.9), beta = n.floatAttr("beta", 0.999),
                    epsilon = n.floatAttr("epsilon", 1e-6);
  if (failed(step) || failed(norm) || failed(after) || failed(alpha) || failed(beta) || failed(epsilon))
    return failure();
  Expr turn(n, step->count), given(n, step->rate);
  auto rest = [&](double base) { return 1.0 - turn.like(base).binary<tg::PowOp>(turn); };
  Expr rate = unlessFirst(turn, given * rest(*beta).unary<tg::SqrtOp>() / rest(*alpha), given);
  for (unsigned i = 0, count = step->tensors; i < count; ++i) {
    Expr x(n, n.input(2 + i)), v(n, n.input(2 + 2 * count + i)), h(n, n.input(2 + 3 * count + i));
    Expr gradient = x * *norm + Expr(n, n.input(2 + count + i));
    v = v * *alpha + gradient * (1 - *alpha);
    h = h * *beta + square(gradient) * (1 - *beta);
    n.output(i, (x - rate * (v / (h.unary<tg::SqrtOp>() + *epsilon))) * (1 - *after));
    n.output(count + i, v);
    n.output(2 * count + i, h);
  }
  return success(!n.failedAlready());
}

LogicalResult momentum(NodeContext &n) {
  FailureOr<Step> step = readStep(n, 3);
  FailureOr<double> norm = n.floatAttr("norm_coefficient"), alpha = n.floatAttr("alpha"), beta = n.floatAttr("beta");
  FailureOr<unsigned> mode = n.choiceAttr("mode", {"standard", "nesterov"}, "");
  if (failed(step) || failed(norm) || failed(alpha) || failed(beta) || failed(mode))
    return failure();
  Expr rate(n, step->rate), turn(n, step->count), share = unlessFirst(turn, turn.like(*beta), turn.like(1));
  for (unsigned i = 0, count = step->tensors; i < count; ++i) {
    Expr x(n, n.input(2 + i)), v(n, n.input(2 + 2 * count + i));
    Expr gradient = x * *norm + Expr(n, n.input(2 + count + i));
    v = v * *alpha + share * gradient;
    n.output(i, x - rate * (*mode == 0 ? v : gradient + v * *alpha));
    n.output(count + i, v);
  }
  return success(!n.failedAlready());
}

} // namespace

ArrayRef<OpEntry> getOptimizersOps() {
  constexpr StringLiteral domain = "ai.onnx.preview.training";
  static const OpEntry table[] = {
      {domain, "Adagrad", 1, anyOpset, adagrad, ""},
      {domain, "Adam", 1, anyOpset, adam, ""},
      {domain, "Momentum", 1, anyOpset, momentum, ""},
  };
  return table;
}

} // namespace weft::onnx
