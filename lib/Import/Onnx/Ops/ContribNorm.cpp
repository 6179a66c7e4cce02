// com.microsoft normalisations that onnxruntime's optimiser makes: GroupNorm with its activation and residual, softmax
// with a bias.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Compose.h"
#include "Shared/Expr.h"

using namespace mlir;

namespace weft::onnx {

namespace {

struct GroupNormSpec {
  int64_t groups = 1;
  double epsilon = 1e-5;
  bool hasSilu = false, channelsLast = true;
};

FailureOr<GroupNormSpec> readGroupNorm(NodeContext &n, Value x) {
  FailureOr<int64_t> groups = n.intAttr("groups");
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-5);
  FailureOr<bool> silu = n.boolAttr("activation"), last = n.boolAttr("channels_last", true);
  if (failed(groups) || failed(epsilon) || failed(silu) || failed(last) || failed(checkFloat(n, x, "X")) ||
      failed(n.checkRank(x, 3, 8, "X")))
    return failure();
  std::optional<int64_t> channels = n.staticDim(x, *last ? n.rank(x) - 1 : 1);
  if (!channels)
    return n.unsupported("a symbolic number of channels is not supported", "fix the extent with --dim");
  if (*groups < 1 || *channels % *groups != 0)
    return n.error("expected attribute `groups` to divide the " + Twine(*channels) + " channels, got " +
                   Twine(*groups));
  return GroupNormSpec{*groups, *epsilon, *silu, *last};
}

/// Computed in f32 and rounded once to the operand's type.
LogicalResult normalizeGroups(NodeContext &n, Value x, const GroupNormSpec &spec) {
  Type f32 = n.b.getF32Type();
  Value gamma = n.required(1), beta = n.required(2);
  if (!x || !gamma || !beta || failed(n.checkRank(gamma, 1, 1, "gamma")) || failed(n.checkRank(beta, 1, 1, "beta")))
    return failure();
  Value wide = n.cast(spec.channelsLast ? moveChannels(n, x, /*toFront=*/true) : x, f32);
  Expr y(n, n.make<tg::GroupNormOp>(wide, n.cast(gamma, f32), n.cast(beta, f32), n.b.getI64IntegerAttr(spec.groups),
                                    n.b.getF64FloatAttr(spec.epsilon), TypeAttr::get(f32)));
  if (spec.hasSilu)
    y = Expr(n, swish(n, y));
  Value result = n.cast(y, n.elementType(x));
  return deliver(n, spec.channelsLast ? moveChannels(n, result, /*toFront=*/false) : result);
}

LogicalResult groupNorm(NodeContext &n) {
  Value x = n.required(0);
  if (failed(n.checkNumInputs(3, 3)))
    return failure();
  FailureOr<GroupNormSpec> spec = readGroupNorm(n, x);
  return failed(spec) ? failure() : normalizeGroups(n, x, *spec);
}

/// X + skip + bias, which is output 1, normalised. `skip` is N x .. x C, N x 1 x .. x C or N x C.
LogicalResult skipGroupNorm(NodeContext &n) {
  Value x = n.required(0), skip = n.required(3), bias = n.input(4);
  if (failed(n.checkNumInputs(4, 5)))
    return failure();
  FailureOr<GroupNormSpec> spec = readGroupNorm(n, x);
  if (failed(spec) || failed(checkSameElement(n, x, {skip, bias})) || failed(n.checkRank(skip, 2, n.rank(x), "skip")) ||
      (bias && failed(n.checkRank(bias, 1, 1, "bias"))))
    return failure();
  if (!spec->channelsLast)
    return n.unsupported("attribute `channels_last` = 0 is not supported");
  if (n.rank(skip) == 2)
    skip = n.unsqueeze(skip, axisRange(1, n.rank(x) - 1));
  Type f32 = n.b.getF32Type();
  Expr sum = Expr(n, n.cast(x, f32)) + Expr(n, n.cast(skip, f32));
  if (bias)
    sum = sum + Expr(n, n.cast(bias, f32));
  Value rounded = n.cast(sum, n.elementType(x));
  n.output(1, rounded);
  return normalizeGroups(n, rounded, *spec);
}

/// softmax(data + bias) along the last dimension, where the bias broadcasts as numpy does.
LogicalResult biasSoftmax(NodeContext &n) {
  Value data = n.required(0), bias = n.required(1);
  n.ignoreAttr("is_inner_broadcast"); // Says along which dimensions of extent 1 the bias broadcasts.
  FailureOr<int64_t> axis = n.intAttr("axis", 1);
  if (failed(n.checkNumInputs(2, 2)) || failed(axis) || failed(checkFloat(n, data, "data")) ||
      failed(checkSameElement(n, data, bias)))
    return failure();
  FailureOr<int64_t> normal = n.normalizeAxis(*axis, n.rank(data));
  if (failed(normal))
    return failure();
  if (*normal + 1 != n.rank(data))
    return n.unsupported("softmax over several dimensions (attribute `axis` = " + Twine(*axis) + ") is not supported");
  Expr sum = Expr(n, n.toCompute(data)) + Expr(n, n.toCompute(bias));
  if (sum && n.rank(sum) != n.rank(data))
    return n.error("expected `bias` of at most the rank of `data`");
  Value y = n.make<tg::SoftmaxOp>(Value(sum), n.b.getI64IntegerAttr(*normal), UnitAttr());
  return deliver(n, n.cast(y, n.elementType(data)));
}

/// x / rms(x) * scale * activation(gate) in f32, over groups of the last dimension as long as `scale`; rounded once.
LogicalResult gatedRmsNorm(NodeContext &n) {
  Value x = n.required(0), scale = n.required(1), gate = n.required(2);
  FailureOr<double> epsilon = n.floatAttr("epsilon", 1e-5);
  FailureOr<unsigned> activation = n.choiceAttr("activation", {"silu", "swish", "sigmoid"}, "silu");
  if (failed(n.checkNumInputs(3, 3)) || failed(epsilon) || failed(activation) || failed(checkFloat(n, x, "X")) ||
      failed(checkSameElement(n, x, {scale, gate})) || failed(n.checkRank(x, 1, 64, "X")) || !scale ||
      failed(n.checkRank(scale, 1, 1, "scale")) || !gate || failed(n.checkRank(gate, n.rank(x), n.rank(x), "gate")))
    return failure();
  for (int64_t d = 0; d < n.rank(x); ++d)
    if (failed(n.assumeEqual(n.dim(x, d), n.dim(gate, d), "dimension " + Twine(d) + " of X and gate")))
      return failure();
  std::optional<int64_t> width = n.staticDim(scale, 0), whole = n.staticDim(x, n.rank(x) - 1);
  if (!width || *width < 1)
    return n.unsupported("a `scale` of symbolic or zero extent is not supported", "fix the extent with --dim");
  if (whole && *whole % *width != 0)
    return n.error("expected the last extent of X, " + Twine(*whole) + ", to be a multiple of that of scale, " +
                   Twine(*width));
  tg::Dims grouped(ArrayRef(n.dims(x)).drop_back());
  grouped.push_back(tg::simplify(n.dim(x, n.rank(x) - 1).floorDiv(*width)));
  grouped.push_back(n.constExpr(*width));
  Type f32 = n.b.getF32Type();
  Value rows = n.reshape(n.cast(x, f32), grouped);
  Value normal = n.make<tg::RmsNormOp>(rows, n.cast(scale, f32), n.b.getI64IntegerAttr(n.rank(x)),
                                       n.b.getF64FloatAttr(*epsilon), TypeAttr::get(f32));
  Value wide = n.cast(gate, f32);
  Expr open(n, *activation == 2 ? n.make<tg::SigmoidOp>(wide) : swish(n, wide));
  if (!normal)
    return failure();
  return deliver(n, n.cast(Expr(n, n.reshape(normal, n.dims(x))) * open, n.elementType(x)));
}

} // namespace

ArrayRef<OpEntry> getContribNormOps() {
  static const OpEntry table[] = {
      {"com.microsoft", "GroupNorm", 1, anyOpset, groupNorm, "static number of channels"},
      {"com.microsoft", "SkipGroupNorm", 1, anyOpset, skipGroupNorm, "static number of channels, channels last"},
      {"com.microsoft", "GatedRMSNorm", 1, anyOpset, gatedRmsNorm, "static extent of `scale`"},
      {"com.microsoft", "BiasSoftmax", 1, anyOpset, biasSoftmax, "along the last dimension"},
  };
  return table;
}

} // namespace weft::onnx
