// Reads activations by name from a table of their parameters' defaults, and builds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RecurrentActivation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace weft::onnx {
namespace {

struct ActivationInfo {
  StringRef name;
  ActivationKind kind;
  std::optional<double> alpha, beta;
};

const ActivationInfo table[] = {
    {"Relu", ActivationKind::Relu, {}, {}},
    {"Tanh", ActivationKind::Tanh, {}, {}},
    {"Sigmoid", ActivationKind::Sigmoid, {}, {}},
    {"Softsign", ActivationKind::Softsign, {}, {}},
    {"Softplus", ActivationKind::Softplus, {}, {}},
    {"Affine", ActivationKind::Affine, 1.0, 0.0},
    {"LeakyRelu", ActivationKind::LeakyRelu, 0.01, {}},
    {"ThresholdedRelu", ActivationKind::ThresholdedRelu, 1.0, {}},
    {"ScaledTanh", ActivationKind::ScaledTanh, 1.0, 1.0},
    {"HardSigmoid", ActivationKind::HardSigmoid, 0.2, 0.5},
    {"Elu", ActivationKind::Elu, 1.0, {}},
};

FailureOr<SmallVector<double>> optionalFloats(NodeContext &c, StringRef name) {
  return c.floatsAttr(name, SmallVector<double>());
}

} // namespace

FailureOr<SmallVector<RecurrentActivation>> readRecurrentActivations(NodeContext &c, ArrayRef<StringRef> defaults,
                                                                     int64_t directions) {
  SmallVector<StringRef> names;
  for (int64_t d = 0; d < directions; ++d)
    names.append(defaults.begin(), defaults.end());
  if (c.hasAttr("activations")) {
    FailureOr<SmallVector<StringRef>> given = c.stringsAttr("activations");
    if (failed(given))
      return failure();
    if (given->size() != names.size())
      return c.error("expected " + Twine(names.size()) + " names in attribute `activations`, got " +
                     Twine(given->size()));
    names = *given;
  }
  FailureOr<SmallVector<double>> alphas = optionalFloats(c, "activation_alpha"),
                                 betas = optionalFloats(c, "activation_beta");
  if (failed(alphas) || failed(betas))
    return failure();
  size_t nextAlpha = 0, nextBeta = 0;
  SmallVector<RecurrentActivation> result;
  for (StringRef name : names) {
    const ActivationInfo *info =
        llvm::find_if(table, [&](const ActivationInfo &entry) { return entry.name.equals_insensitive(name); });
    if (info == std::end(table))
      return c.unsupported("the activation `" + name + "` is not supported");
    RecurrentActivation activation{info->kind, info->alpha.value_or(0), info->beta.value_or(0)};
    if (info->alpha && nextAlpha < alphas->size())
      activation.alpha = (*alphas)[nextAlpha++];
    if (info->beta && nextBeta < betas->size())
      activation.beta = (*betas)[nextBeta++];
    result.push_back(activation);
  }
  return result;
}

Expr applyActivation(const RecurrentActivation &activation, Expr x) {
  double alpha = activation.alpha, beta = activation.beta;
  switch (activation.kind) {
  case ActivationKind::Relu:
    return x.max(0.0);
  case ActivationKind::Tanh:
    return x.unary<tg::TanhOp>();
  case ActivationKind::Sigmoid:
    return x.unary<tg::SigmoidOp>();
  case ActivationKind::Softsign:
    return x / (x.unary<tg::AbsOp>() + 1.0);
  case ActivationKind::Softplus:
    return {x.ctx(), softplus(x.ctx(), x)};
  case ActivationKind::Affine:
    return x * alpha + beta;
  case ActivationKind::LeakyRelu:
    return x.compare(tg::CmpPredicate::Ge, 0.0).select(x, x * alpha);
  case ActivationKind::ThresholdedRelu:
    return x.compare(tg::CmpPredicate::Ge, alpha).select(x, 0.0);
  case ActivationKind::ScaledTanh:
    return (x * beta).unary<tg::TanhOp>() * alpha;
  case ActivationKind::HardSigmoid:
    return (x * alpha + beta).clamp(0, 1);
  case ActivationKind::Elu:
    return x.compare(tg::CmpPredicate::Ge, 0.0).select(x, x.unary<tg::Expm1Op>() * alpha);
  }
  return x;
}

} // namespace weft::onnx
