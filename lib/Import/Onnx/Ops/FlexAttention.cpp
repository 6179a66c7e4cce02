// FlexAttention (ai.onnx.preview): attention whose scores and probabilities pass through subgraphs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without subgraphs it is the composite of Shared/Attention.h; else two products with the subgraphs between them, which
// fold derivation puts into one fold again where they are elementwise.
#include "Shared/Attention.h"
#include "Shared/Compose.h"
#include "Shared/Expr.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {

namespace {

struct FlexArgs {
  Value query, key, value; ///< B x H x S x D, B x G x T x D, B x G x T x E.
  Type precision;          ///< Of scores, probabilities and subgraphs.
  double scale = 0;        ///< 0: 1 / sqrt(D).
  int64_t group = 1;       ///< H / G.
};

FailureOr<FlexArgs> readFlex(NodeContext &n) {
  FlexArgs args{n.required(0), n.required(1), n.required(2), {}};
  FailureOr<double> scale = n.floatAttr("scale", 0.0);
  if (failed(n.checkNumInputs(3, 3)) || failed(scale))
    return failure();
  for (Value operand : {args.query, args.key, args.value})
    if (failed(checkFloat(n, operand, "query, key and value")) ||
        failed(n.checkRank(operand, 4, 4, "query, key and value")) || failed(checkSameElement(n, args.query, operand)))
      return failure();
  FailureOr<Type> precision = n.typeAttr("softmax_precision", computeType(n.elementType(args.query)));
  if (failed(precision))
    return failure();
  if (!isa<FloatType>(*precision))
    return n.error("expected attribute `softmax_precision` to name a float type");
  std::optional<int64_t> heads = n.staticDim(args.query, 1), keyHeads = n.staticDim(args.key, 1),
                         width = n.staticDim(args.query, 3);
  if (!heads || !keyHeads || !width)
    return n.unsupported("symbolic numbers of heads and head widths are not supported", "fix them with --dim");
  if (*keyHeads < 1 || *heads % *keyHeads != 0 || *width < 1)
    return n.error("expected heads of the query to be a multiple of those of the key, got " + Twine(*heads) + " and " +
                   Twine(*keyHeads));
  args.precision = *precision;
  args.scale = *scale != 0 ? *scale : 1 / std::sqrt(static_cast<double>(*width));
  args.group = *heads / *keyHeads;
  return args;
}

/// `value`, of the scores' extents, through the subgraph `name` if there is one.
Value modify(NodeContext &n, StringRef name, Value value) {
  if (!value || !n.hasAttr(name))
    return value;
  FailureOr<const ::onnx::GraphProto *> graph = n.graphAttr(name);
  if (failed(graph))
    return {};
  FailureOr<SmallVector<Value>> results = n.inlineGraph(**graph, value);
  if (failed(results))
    return {};
  if (results->size() != 1 || failed(n.checkTensor(results->front(), "the result of `" + name + "`")) ||
      n.rank(results->front()) != 4 || n.elementType(results->front()) != n.elementType(value)) {
    (void)n.error("expected `" + name + "` to give one tensor of rank 4 and its argument's element type");
    return {};
  }
  for (int64_t d = 0; d < 4; ++d)
    if (failed(
            n.assumeEqual(n.dim(results->front(), d), n.dim(value, d), "dimension " + Twine(d) + " of `" + name + "`")))
      return {};
  return results->front();
}

Value flexAttention(NodeContext &n, const FlexArgs &args) {
  ScoreDims dims = scoreDims(n, args.query, args.key);
  AffineExpr groups = n.dim(args.key, 1), group = n.constExpr(args.group);
  Value query = n.reshape(args.query, {dims.batch, groups, group, dims.queries, n.dim(args.query, 3)});
  Value scores = n.contract(query, args.key, "bgrsd,bgtd->bgrst", args.precision);
  Expr scaled = Expr(n, n.reshape(scores, {dims.batch, dims.heads, dims.queries, dims.keys})) * args.scale;
  Value modified = modify(n, "score_mod", scaled);
  Value probabilities = modified ? n.make<tg::SoftmaxOp>(modified, n.b.getI64IntegerAttr(3), UnitAttr()) : Value();
  probabilities = n.cast(modify(n, "prob_mod", probabilities), n.elementType(args.value));
  probabilities = n.reshape(probabilities, {dims.batch, groups, group, dims.queries, dims.keys});
  Value result = n.contract(probabilities, args.value, "bgrst,bgte->bgrse", n.elementType(args.value));
  return n.reshape(result, {dims.batch, dims.heads, dims.queries, n.dim(args.value, 3)});
}

LogicalResult importFlexAttention(NodeContext &n) {
  FailureOr<FlexArgs> args = readFlex(n);
  if (failed(args))
    return failure();
  if (n.hasAttr("score_mod") || n.hasAttr("prob_mod"))
    return deliver(n, flexAttention(n, *args));
  AttentionArgs plain{args->query, args->key, args->value, args->scale};
  plain.softmaxType = args->precision;
  AttentionMask mask(n, scoreDims(n, args->query, args->key));
  return deliver(n, attention(n, plain, mask).result);
}

} // namespace

ArrayRef<OpEntry> getFlexAttentionOps() {
  static const OpEntry table[] = {
      {"ai.onnx.preview", "FlexAttention", 1, anyOpset, importFlexAttention, "static heads"},
  };
  return table;
}

} // namespace weft::onnx
