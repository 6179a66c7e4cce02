// com.microsoft.GroupQueryAttention: key and value caches, rotary embedding, local windows, attention sinks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semantics are those of onnxruntime's CPU kernel. `seqlens_k` holds, for each batch entry, the number of valid keys
// less one, new ones included; so seqlens_k + 1 - S keys precede the S new ones. In a prompt (S = total length) none
// do. New keys are written behind those of the cache, whose extent P is either the length so far (the result has P + S)
// or that of a buffer which past and present share.
#include "Shared/Attention.h"
#include "Shared/Compose.h"

using namespace mlir;

namespace weft::onnx {

namespace {

enum Input : unsigned {
  Query,
  Key,
  ValueInput,
  PastKey,
  PastValue,
  KeyLengths,
  TotalLength,
  Cos,
  Sin,
  Positions,
  Bias,
  Sink,
  KeyScale,
  ValueScale
};

struct Attrs {
  int64_t heads = 0, keyHeads = 0, window = -1;
  bool rotary = false, interleaved = false, smooth = false;
};

LogicalResult refuseUnsupported(NodeContext &n) {
  for (StringRef name : {"k_quant_type", "v_quant_type"}) {
    FailureOr<StringRef> type = n.stringAttr(name, StringRef("NONE"));
    if (failed(type))
      return failure();
    if (*type != "NONE")
      return n.unsupported("attribute `" + name + "` = " + *type + " is not supported");
  }
  n.ignoreAttr("qk_norm_epsilon"); // Only with the weights of that norm, which are inputs.
  FailureOr<int64_t> scores = n.intAttr("qk_output", 0), causal = n.intAttr("causal", 1);
  if (failed(scores) || failed(causal))
    return failure();
  if (*causal != 1)
    return n.unsupported("attribute `causal` = " + Twine(*causal) + " is not supported");
  if (*scores != 0 || n.outputUsed(3))
    return n.unsupported("output output_qk is not supported");
  if (n.input(KeyScale) || n.input(ValueScale))
    return n.unsupported("inputs k_scale and v_scale of a quantised cache are not supported");
  return success();
}

FailureOr<Attrs> readAttrs(NodeContext &n, AttentionArgs &args) {
  FailureOr<int64_t> heads = n.intAttr("num_heads"), keyHeads = n.intAttr("kv_num_heads");
  FailureOr<int64_t> window = n.intAttr("local_window_size", -1), smooth = n.intAttr("smooth_softmax", 0);
  FailureOr<bool> rotary = n.boolAttr("do_rotary", false), interleaved = n.boolAttr("rotary_interleaved", false);
  FailureOr<double> scale = n.floatAttr("scale", 0.0), softcap = n.floatAttr("softcap", 0.0);
  if (failed(heads) || failed(keyHeads) || failed(window) || failed(smooth) || failed(rotary) || failed(interleaved) ||
      failed(scale) || failed(softcap))
    return failure();
  if (*heads < 1 || *keyHeads < 1 || *heads % *keyHeads != 0)
    return n.error("expected num_heads to be a positive multiple of kv_num_heads, got " + Twine(*heads) + " and " +
                   Twine(*keyHeads));
  args.scale = *scale;
  args.softcap = *softcap;
  return Attrs{*heads, *keyHeads, *window, *rotary, *interleaved, *smooth > 0};
}

/// Number of keys before the new ones as i64 of extents [batch].
Value pastLengths(NodeContext &n, AffineExpr newLength, bool hasPast) {
  Type index = n.b.getI64Type();
  Value lengths = n.required(KeyLengths), total = n.required(TotalLength);
  if (!lengths || !total)
    return {};
  Value perEntry = n.reshape(n.cast(lengths, index), {product(n, n.dims(lengths))});
  if (!hasPast)
    return n.make<tg::MulOp>(perEntry, n.scalarInt(0, index));
  Value fresh = extentScalar(n, newLength, index);
  Value past = n.make<tg::AddOp>(n.make<tg::SubOp>(perEntry, fresh), n.scalarInt(1, index));
  if (tg::getConstant(product(n, n.dims(total))) != 1) {
    (void)n.error("expected total_sequence_length to have one element");
    return {};
  }
  Value totalScalar = n.cast(n.reshape(total, ArrayRef<AffineExpr>()), index);
  Value prompt = compare(n, tg::CmpPredicate::Eq, totalScalar, fresh);
  return n.make<tg::SelectOp>(prompt, n.scalarInt(0, index), past);
}

/// Extent of the caches with the new keys in them.
AffineExpr presentLength(NodeContext &n, AffineExpr pastExtent, AffineExpr newLength) {
  Value total = n.required(TotalLength);
  std::optional<int64_t> past = tg::getConstant(pastExtent);
  std::optional<tg::Dims> contents = total ? n.shapeContents(total) : std::nullopt;
  AffineExpr length = contents && contents->size() == 1 ? contents->front() : AffineExpr();
  std::optional<int64_t> constant = length ? tg::getConstant(length) : std::nullopt;
  if (past && constant)
    return n.constExpr(std::max(*past, *constant));
  // A cache of static extent, or of the total length, is a buffer; another one grows.
  if (past || (length && tg::isEqual(length, pastExtent)))
    return pastExtent;
  return tg::simplify(pastExtent + newLength);
}

LogicalResult applyRotary(NodeContext &n, const Attrs &attrs, AttentionArgs &args, Value places) {
  if (Value positions = n.input(Positions)) {
    if (failed(n.checkRank(positions, 2, 2, "position_ids")))
      return failure();
    places = positions;
  }
  return rotateByCaches(n, args, Cos, Sin, places, attrs.interleaved);
}

/// Appends a key and a value of zeros, and the mask's column for it, so that each head's softmax has exp(sink) more in
/// its denominator. A zero key scores zero; the sink comes in as its bias.
Value withSink(NodeContext &n, AttentionArgs &args, Value mask, const ScoreDims &dims) {
  Type compute = computeType(n.elementType(args.query));
  for (Value *x : {&args.key, &args.value})
    *x = n.concat({*x, full(n, 0, n.elementType(*x), withDim(n.dims(*x), 2, n.constExpr(1)))}, 2);
  Value sink = n.input(Sink);
  if (sink && failed(n.checkRank(sink, 1, 1, "head_sink")))
    return {};
  AffineExpr one = n.constExpr(1);
  Value bias = sink ? n.reshape(n.cast(sink, compute), {one, dims.heads, one, one}) : n.scalar(0, compute);
  Value column = n.broadcastTo(bias, {dims.batch, dims.heads, dims.queries, one});
  if (!mask)
    return {};
  if (n.elementType(mask).isInteger(1))
    mask =
        n.make<tg::SelectOp>(mask, n.scalar(0, compute), n.scalar(-std::numeric_limits<double>::infinity(), compute));
  return n.concat({n.broadcastTo(n.cast(mask, compute), {dims.batch, dims.heads, dims.queries, dims.keys}), column}, 3);
}

/// The new tokens' keys and values in the caches; `places` are their positions, B x S.
LogicalResult updateCaches(NodeContext &n, AttentionArgs &args, Value places) {
  Value pastKey = n.input(PastKey), pastValue = n.input(PastValue);
  if (!pastKey)
    return success();
  if (failed(n.checkRank(pastKey, 4, 4, "past_key")) || failed(n.checkRank(pastValue, 4, 4, "past_value")) ||
      failed(checkSameElement(n, args.key, {pastKey, pastValue})))
    return failure();
  AffineExpr length = presentLength(n, n.dim(pastKey, 2), n.dim(args.key, 2));
  args.key = appendTo(n, pastKey, args.key, places, length);
  args.value = appendTo(n, pastValue, args.value, places, length);
  return success(args.key && args.value);
}

LogicalResult groupQueryAttention(NodeContext &n) {
  AttentionArgs args;
  if (failed(n.checkNumInputs(7, 14)) || failed(refuseUnsupported(n)))
    return failure();
  FailureOr<Attrs> attrs = readAttrs(n, args);
  if (failed(attrs) || failed(readProjections(n, attrs->heads, attrs->keyHeads, args)))
    return failure();
  if (bool(n.input(PastKey)) != bool(n.input(PastValue)))
    return n.error("expected past_key and past_value together");

  Type index = n.b.getI64Type();
  AffineExpr newLength = n.dim(args.query, 2);
  bool hasPast = n.input(PastKey) && n.rank(n.input(PastKey)) == 4 && n.staticDim(n.input(PastKey), 2) != 0;
  Value past = pastLengths(n, newLength, hasPast);
  Value places = n.make<tg::AddOp>(n.unsqueeze(past, {1}), iota(n, 0, {newLength}, index));
  if (!places || (attrs->rotary && failed(applyRotary(n, *attrs, args, places))) ||
      failed(updateCaches(n, args, places)))
    return failure();
  n.output(1, args.key);
  n.output(2, args.value);

  ScoreDims dims = scoreDims(n, args.query, args.key);
  AttentionMask mask(n, dims);
  if (n.input(Bias))
    mask.addOperand(n.input(Bias));
  Value offset = n.unsqueeze(past, {1, 2, 3});
  if (hasPast)
    mask.causal(offset);
  else
    mask.causal(n.constExpr(0));
  if (attrs->window > 0)
    mask.window(offset, attrs->window - 1, -1); // The window counts the current token.
  if (!n.input(Sink) && !attrs->smooth) {
    AttentionResult result = attention(n, args, mask);
    return deliver(n, mergeHeads(n, result.result));
  }
  AttentionMask explicitMask(n, {dims.batch, dims.heads, dims.queries, tg::simplify(dims.keys + 1)});
  if (!hasPast)
    mask.causal(extentScalar(n, n.constExpr(0), index));
  Value sinkMask = withSink(n, args, mask.operand(computeType(n.elementType(args.query))), dims);
  if (!sinkMask)
    return failure();
  explicitMask.add(sinkMask);
  AttentionResult result = attention(n, args, explicitMask);
  return deliver(n, mergeHeads(n, result.result));
}

} // namespace

ArrayRef<OpEntry> getGroupQueryAttentionOps() {
  static const OpEntry table[] = {
      {"com.microsoft", "GroupQueryAttention", 1, anyOpset, groupQueryAttention,
       "no quantised cache, no output_qk; a past of static extent is taken as a shared buffer unless the total length "
       "is constant"},
  };
  return table;
}

} // namespace weft::onnx
