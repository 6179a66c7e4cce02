// com.microsoft mixtures of experts: MoE, and QMoE with weights of few bits. Each token is routed to k experts, whose
// results are weighted. All experts are computed for all tokens, with a gate that is 0 where a token is not routed: two
// contractions without any rearrangement of tokens, of which the second sums over experts and hidden columns at once.
// Where few tokens choose few experts, --weft-read-routed makes sums over choices of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/BlockQuantization.h"
#include "Shared/Common.h"
#include "Shared/Expr.h"
#include "Shared/RuntimeShapes.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace weft::onnx {
namespace {

enum Activation : unsigned { Relu, Gelu, Silu, SwiGlu, Plain };

struct MixtureAttrs {
  int64_t chosen = 1, fusion = 0;
  bool isNormalized = false;
  unsigned activation = Relu;
  double alpha = 1, beta = 0, limit = std::numeric_limits<double>::infinity();
};

FailureOr<MixtureAttrs> readAttrs(NodeContext &n) {
  FailureOr<int64_t> chosen = n.intAttr("k", 1), fusion = n.intAttr("swiglu_fusion", 0),
                     sparse = n.intAttr("use_sparse_mixer", 0);
  FailureOr<bool> isNormalized = n.boolAttr("normalize_routing_weights", false);
  FailureOr<unsigned> activation =
      n.choiceAttr("activation_type", {"relu", "gelu", "silu", "swiglu", "identity"}, "relu");
  FailureOr<double> alpha = n.floatAttr("activation_alpha", 1.0), beta = n.floatAttr("activation_beta", 0.0),
                    limit = n.floatAttr("swiglu_limit", std::numeric_limits<double>::infinity());
  if (failed(chosen) || failed(fusion) || failed(sparse) || failed(isNormalized) || failed(activation) ||
      failed(alpha) || failed(beta) || failed(limit))
    return failure();
  if (*sparse != 0)
    return n.unsupported("attribute `use_sparse_mixer` = " + Twine(*sparse) + " is not supported");
  if (*fusion < 0 || *fusion > 2)
    return n.error("expected attribute `swiglu_fusion` in [0, 2], got " + Twine(*fusion));
  return MixtureAttrs{*chosen, *fusion, *isNormalized, *activation, *alpha, *beta, *limit};
}

//===--- Routing ---===//

Value softmax(NodeContext &n, Value x) { return n.make<tg::SoftmaxOp>(x, n.b.getI64IntegerAttr(1), UnitAttr()); }

/// The gate of each token for each expert, tokens x experts in f32: softmax over the scores of all experts, or over
/// those of the chosen ones if normalised; 0 for the others. With `weights` these are the gates instead.
Value routeTokens(NodeContext &n, const MixtureAttrs &attrs, Value scores, Value weights) {
  std::optional<int64_t> experts = n.staticDim(scores, 1);
  if (!experts) {
    (void)n.unsupported("a symbolic number of experts is not supported", "fix the extent with --dim");
    return {};
  }
  if (attrs.chosen < 1 || attrs.chosen > *experts) {
    (void)n.error("expected attribute `k` in [1, " + Twine(*experts) + "], the number of experts, got " +
                  Twine(attrs.chosen));
    return {};
  }
  Type f32 = n.b.getF32Type();
  Value wide = n.cast(scores, f32);
  if (!wide)
    return {};
  // Of equal scores the first experts are taken.
  Value places = n.slice(sortedPlaces(n, wide, 1, /*largest=*/true), 1, 0, n.constExpr(attrs.chosen));
  Value all = weights ? n.cast(weights, f32) : softmax(n, wide);
  Expr gates(n, takeElements(n, all, places, 1));
  if (!gates)
    return {};
  if (attrs.isNormalized && !weights)
    gates = Expr(n, softmax(n, takeElements(n, wide, places, 1)));
  else if (attrs.isNormalized)
    gates = gates / Expr(n, n.reduce(tg::Monoid::Add, gates, {1}, /*keepDims=*/true));
  MLIRContext *context = n.b.getContext();
  AffineExpr token = getAffineDimExpr(0, context), choice = getAffineDimExpr(1, context),
             expert = getAffineSymbolExpr(0, context);
  return n.make<tg::ScatterOp>(full(n, 0, f32, n.dims(scores)), places, Value(gates),
                               AffineMapAttr::get(AffineMap::get(2, 1, {token, expert}, context)),
                               n.b.getAffineMapArrayAttr({AffineMap::get(2, 0, {token, choice}, context)}),
                               tg::MonoidAttr::get(context, tg::Monoid::Add));
}

//===--- Experts ---===//

/// One layer of all experts: weights experts x outputs x inputs, bias experts x outputs or null.
struct Layer {
  Value weights, bias;
};

/// tokens x experts x outputs of `x` (tokens x inputs), in f32.
Value applyLayer(NodeContext &n, Value x, const Layer &layer) {
  Type f32 = n.b.getF32Type();
  Value y = n.contract(n.cast(x, n.elementType(layer.weights)), layer.weights, "ti,eoi->teo", f32);
  return layer.bias ? n.make<tg::AddOp>(y, n.cast(layer.bias, f32)) : y;
}

/// g * sigmoid(alpha * g) * (l + beta), both clamped.
Value swiGlu(NodeContext &n, const MixtureAttrs &attrs, Expr gate, Expr linear) {
  if (std::isfinite(attrs.limit)) {
    gate = gate.min(attrs.limit);
    linear = linear.clamp(-attrs.limit, attrs.limit);
  }
  return gate * Expr(n, n.make<tg::SigmoidOp>(Value(gate * attrs.alpha))) * (linear + attrs.beta);
}

Value activate(NodeContext &n, const MixtureAttrs &attrs, Value x, const Layer &third, Value hidden) {
  if (!hidden)
    return {};
  if (attrs.activation == SwiGlu && attrs.fusion != 0) {
    std::optional<int64_t> width = n.staticDim(hidden, 2);
    if (!width || *width % 2 != 0) {
      (void)n.error("expected an even number of outputs of the first layer for a fused SwiGLU");
      return {};
    }
    bool isInterleaved = attrs.fusion == 1;
    AffineExpr half = n.constExpr(*width / 2);
    auto part = [&](int64_t i) {
      return Expr(n, n.slice(hidden, 2, isInterleaved ? i : i * (*width / 2), half, isInterleaved ? 2 : 1));
    };
    return swiGlu(n, attrs, part(0), part(1));
  }
  Expr h(n, hidden);
  Value linear = third.weights ? applyLayer(n, x, third) : Value();
  switch (attrs.activation) {
  case Relu:
    h = h.max(0.0);
    break;
  case Gelu: // By tanh, as onnxruntime computes it.
    h = h * 0.5 * (((h + h * h * h * 0.044715) * 0.79788456080286536).unary<tg::TanhOp>() + 1.0);
    break;
  case Silu:
    h = Expr(n, swish(n, h));
    break;
  case SwiGlu:
    if (linear)
      return swiGlu(n, attrs, h, Expr(n, linear));
    (void)n.error("expected fc3_experts_weights for a SwiGLU that is not fused");
    return {};
  default:
    break;
  }
  return third.weights ? h * Expr(n, linear) : h;
}

/// The whole mixture, of `layers` in f32 or the operand's type, in the shape and type of `x`.
LogicalResult mixture(NodeContext &n, const MixtureAttrs &attrs, Value x, Value gates, ArrayRef<Layer> layers) {
  if (!gates)
    return failure();
  Type f32 = n.b.getF32Type();
  int64_t last = n.rank(x) - 1;
  Value tokens = n.reshape(x, {product(n, ArrayRef(n.dims(x)).take_front(last)), n.dim(x, last)});
  if (!tokens || failed(n.assumeEqual(n.dim(tokens, 0), n.dim(gates, 0), "tokens of the input and of router_probs")))
    return failure();
  Expr hidden(n, activate(n, attrs, tokens, layers[2], applyLayer(n, tokens, layers[0])));
  if (!hidden)
    return failure();
  Value weighted = hidden * Expr(n, n.unsqueeze(gates, {2}));
  Value y = n.contract(weighted, n.cast(layers[1].weights, f32), "tei,eoi->to", f32);
  if (layers[1].bias)
    y = Expr(n, y) + Expr(n, n.contract(gates, n.cast(layers[1].bias, f32), "te,eo->to", f32));
  return deliver(n, n.cast(n.reshape(y, n.dims(x)), n.elementType(x)));
}

LogicalResult checkOperands(NodeContext &n, Value x, Value scores) {
  return success(succeeded(checkFloat(n, x, "input")) && succeeded(n.checkRank(x, 2, 3, "input")) &&
                 succeeded(checkSameElement(n, x, scores)) && scores &&
                 succeeded(n.checkRank(scores, 2, 2, "router_probs")));
}

LogicalResult checkBias(NodeContext &n, Value bias) {
  return bias ? n.checkRank(bias, 2, 2, "a bias of the experts") : success();
}

LogicalResult importMoE(NodeContext &n) {
  Value x = n.required(0), scores = n.required(1);
  FailureOr<MixtureAttrs> attrs = readAttrs(n);
  if (failed(n.checkNumInputs(5, 8)) || failed(attrs) || failed(checkOperands(n, x, scores)))
    return failure();
  Layer layers[] = {{n.required(2), n.input(3)}, {n.required(4), n.input(5)}, {n.input(6), n.input(7)}};
  for (Layer &layer : layers) {
    if (layer.weights && (failed(n.checkRank(layer.weights, 3, 3, "the weights of the experts")) ||
                          failed(checkSameElement(n, x, {layer.weights, layer.bias}))))
      return failure();
    if (failed(checkBias(n, layer.bias)))
      return failure();
  }
  if (!layers[0].weights || !layers[1].weights)
    return failure();
  return mixture(n, *attrs, x, routeTokens(n, *attrs, scores, {}), layers);
}

//===--- QMoE ---===//

struct PackedAttrs {
  int64_t bits[3] = {4, 4, 4}, block = 0;
};

FailureOr<PackedAttrs> readPackedAttrs(NodeContext &n) {
  n.ignoreAttr("accuracy_level");
  FailureOr<StringRef> type = n.stringAttr("quant_type", StringRef("int"));
  FailureOr<int64_t> bits = n.intAttr("expert_weight_bits", 4), block = n.intAttr("block_size", 0),
                     prepacked = n.intAttr("weights_prepacked", 0);
  if (failed(type) || failed(bits) || failed(block) || failed(prepacked))
    return failure();
  if (*type != "int")
    return n.unsupported("attribute `quant_type` = " + *type +
                             " is not supported: its scales lie as GPUs of compute capability 10 read them",
                         "quantise to integers");
  if (*prepacked > 0)
    return n.unsupported("weights that were packed for one kernel of onnxruntime (`weights_prepacked` = " +
                             Twine(*prepacked) + ") are not supported",
                         "export the model without prepacking");
  if (*block != 0 && failed(checkBlockSize(n, *block)))
    return failure();
  PackedAttrs attrs;
  attrs.block = *block;
  for (unsigned i = 0; i < 3; ++i) {
    FailureOr<int64_t> own = n.intAttr("fc" + std::to_string(i + 1) + "_expert_weight_bits", *bits);
    if (failed(own))
      return failure();
    if (*own != 2 && *own != 4 && *own != 8)
      return n.error("expected experts' weights of 2, 4 or 8 bits, got " + Twine(*own));
    attrs.bits[i] = *own;
  }
  return attrs;
}

/// experts x outputs x inputs in f32. Without blocks a row has one scale, and zero points are packed along the rows of
/// an expert.
Value unpackWeights(NodeContext &n, int64_t bits, int64_t block, Value packed, Value scales, Value zeros) {
  if (!packed || !scales || failed(n.checkRank(packed, 3, 3, "the weights of the experts")) ||
      failed(n.checkRank(scales, block ? 3 : 2, 3, "the scales of the experts")))
    return {};
  std::optional<int64_t> bytes = n.staticDim(packed, 2);
  if (!bytes || *bytes < 1 || *bytes > (int64_t(1) << 31)) {
    (void)n.unsupported("weights of experts with a symbolic or empty last dimension are not supported");
    return {};
  }
  Type f32 = n.b.getF32Type();
  int64_t columns = *bytes * 8 / bits;
  tg::Dims rows{n.dim(packed, 0), n.dim(packed, 1)};
  if (block)
    return dequantizeRows(n, {bits, block, columns}, rows, packed, scales, zeros, {}, f32);
  if (zeros) {
    Value each = unpackBits(n, zeros, bits);
    zeros = each ? n.cast(n.slice(each, 1, 0, rows[1]), f32) : Value();
    if (!zeros)
      return {};
  }
  return dequantizeRows(n, {bits, columns, columns}, rows, packed, scales, zeros, {}, f32);
}

LogicalResult importQMoE(NodeContext &n) {
  Value x = n.required(0), scores = n.required(1), weights = n.input(14);
  FailureOr<MixtureAttrs> attrs = readAttrs(n);
  if (failed(n.checkNumInputs(6, 21)) || failed(attrs) || failed(checkOperands(n, x, scores)) ||
      (weights && failed(n.checkRank(weights, 2, 2, "router_weights"))))
    return failure();
  FailureOr<PackedAttrs> packed = readPackedAttrs(n);
  if (failed(packed))
    return failure();
  for (unsigned i = 15; i < n.numInputs(); ++i)
    if (n.input(i))
      return n.unsupported("input " + Twine(i) + ", a scale of formats other than integers, is not supported");
  Layer layers[3];
  for (unsigned i = 0; i < 3; ++i) {
    if (i == 2 && !n.input(8))
      break;
    Value bias = n.input(4 + 3 * i);
    layers[i] = {
        unpackWeights(n, packed->bits[i], packed->block, n.required(2 + 3 * i), n.required(3 + 3 * i), n.input(11 + i)),
        bias};
    if (!layers[i].weights || failed(checkBias(n, bias)))
      return failure();
  }
  return mixture(n, *attrs, x, routeTokens(n, *attrs, scores, weights), layers);
}

} // namespace

ArrayRef<OpEntry> getExpertsOps() {
  static const OpEntry table[] = {
      {"com.microsoft", "MoE", 1, anyOpset, importMoE, "static number of experts, no sparse mixer"},
      {"com.microsoft", "QMoE", 1, anyOpset, importQMoE, "integers of 2, 4 and 8 bits, no sparse mixer"},
  };
  return table;
}

} // namespace weft::onnx
