// Attention, rotary position embedding and the update of key and value caches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Attention.h"
#include "Shared/Compose.h"

using namespace mlir;

namespace weft::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Attention (opset 23 to 25)
//===----------------------------------------------------------------------===//

enum AttentionInput : unsigned { Query, Key, ValueInput, Mask, PastKey, PastValue, KeyLengths };
enum AttentionOutput : unsigned { Result, PresentKey, PresentValue, Scores };

struct AttentionAttrs {
  bool causal = false;
  int64_t queryHeads = 0, keyHeads = 0; ///< 0: not given.
  int64_t left = -1, right = -1;
};

FailureOr<AttentionAttrs> readAttention(NodeContext &n, AttentionArgs &args) {
  FailureOr<bool> causal = n.boolAttr("is_causal", false);
  FailureOr<int64_t> queryHeads = n.intAttr("q_num_heads", 0), keyHeads = n.intAttr("kv_num_heads", 0);
  FailureOr<double> scale = n.floatAttr("scale", 0.0), softcap = n.floatAttr("softcap", 0.0);
  FailureOr<int64_t> stage = n.intAttr("qk_matmul_output_mode", 0);
  FailureOr<int64_t> left = n.intAttr("left_window_size", -1), right = n.intAttr("right_window_size", -1);
  FailureOr<Type> softmaxType = n.typeAttr("softmax_precision");
  if (failed(causal) || failed(queryHeads) || failed(keyHeads) || failed(scale) || failed(softcap) || failed(stage) ||
      failed(left) || failed(right) || failed(softmaxType))
    return failure();
  if (*softmaxType && !isa<FloatType>(*softmaxType))
    return n.error("expected attribute `softmax_precision` to name a float type");
  if (*stage < 0 || *stage > 3)
    return n.error("expected attribute `qk_matmul_output_mode` within [0, 3], got " + Twine(*stage));
  if (*left < -1 || *right < -1)
    return n.error("expected window sizes of -1 or more, got " + Twine(*left) + " and " + Twine(*right));
  args.scale = *scale;
  args.softcap = *softcap;
  args.scoresStage = *stage;
  args.softmaxType = *softmaxType;
  return AttentionAttrs{*causal, *queryHeads, *keyHeads, *left, *right};
}

/// Query, key and value with heads split, and the caches put before key and value.
LogicalResult readOperands(NodeContext &n, const AttentionAttrs &attrs, AttentionArgs &args) {
  args.query = n.required(Query);
  args.key = n.required(Key);
  args.value = n.required(ValueInput);
  if (failed(checkFloat(n, args.query, "query")) || failed(checkFloat(n, args.key, "key")) ||
      failed(checkFloat(n, args.value, "value")) || failed(checkSameElement(n, args.query, args.key)))
    return failure();
  if (n.rank(args.query) == 3) {
    args.query = splitHeads(n, args.query, attrs.queryHeads, "query");
    args.key = splitHeads(n, args.key, attrs.keyHeads, "key");
    args.value = splitHeads(n, args.value, attrs.keyHeads, "value");
  }
  Value pastKey = n.input(PastKey), pastValue = n.input(PastValue);
  if (bool(pastKey) != bool(pastValue))
    return n.error("expected past_key and past_value together");
  if (pastKey) {
    if (n.input(KeyLengths))
      return n.error("expected either past_key or nonpad_kv_seqlen, got both");
    args.key = n.concat({pastKey, args.key}, 2);
    args.value = n.concat({pastValue, args.value}, 2);
  }
  for (Value operand : {args.query, args.key, args.value})
    if (!operand || failed(n.checkRank(operand, 4, 4, "query, key and value")))
      return failure();
  return success();
}

void buildMask(NodeContext &n, const AttentionAttrs &attrs, const ScoreDims &dims, AttentionMask &mask) {
  if (Value operand = n.input(Mask))
    mask.addOperand(operand);
  Value lengths = n.input(KeyLengths);
  AffineExpr pastLength = n.input(PastKey) ? n.dim(n.input(PastKey), 2) : n.constExpr(0);
  Type index = n.b.getI64Type();
  // The keys before this block of queries: the cache, or what the valid keys leave.
  auto offset = [&] {
    if (!lengths)
      return extentScalar(n, pastLength, index);
    Value column = n.unsqueeze(n.cast(lengths, index), {1, 2, 3});
    return n.make<tg::SubOp>(column, extentScalar(n, dims.queries, index));
  };
  if (lengths)
    mask.keyLength(lengths);
  if (attrs.causal && lengths && mask.ok())
    mask.causal(offset());
  else if (attrs.causal)
    mask.causal(pastLength);
  if ((attrs.left >= 0 || attrs.right >= 0) && mask.ok())
    mask.window(offset(), attrs.left, attrs.right);
}

LogicalResult attentionHandler(NodeContext &n) {
  if (failed(n.checkNumInputs(3, n.opset >= 24 ? 7 : 6)))
    return failure();
  AttentionArgs args;
  FailureOr<AttentionAttrs> attrs = readAttention(n, args);
  if (failed(attrs) || failed(readOperands(n, *attrs, args)))
    return failure();
  bool merged = n.rank(n.required(Query)) == 3;
  AttentionMask mask(n, scoreDims(n, args.query, args.key));
  buildMask(n, *attrs, scoreDims(n, args.query, args.key), mask);
  AttentionResult result = attention(n, args, mask);
  if (!result.result)
    return failure();
  n.output(PresentKey, args.key);
  n.output(PresentValue, args.value);
  n.output(Scores, result.scores);
  return deliver(n, merged ? mergeHeads(n, result.result) : result.result);
}

//===----------------------------------------------------------------------===//
// Rotary embedding (opset 23)
//===----------------------------------------------------------------------===//

/// X is batch x heads x length x width or batch x length x hidden; the caches are positions x rotary/2, looked up by
/// position ids, or batch x length x rotary/2.
LogicalResult rotaryEmbedding(NodeContext &n) {
  if (failed(n.checkNumInputs(3, 4)))
    return failure();
  Value x = n.required(0), cos = n.required(1), sin = n.required(2), positions = n.input(3);
  FailureOr<bool> interleaved = n.boolAttr("interleaved", false);
  FailureOr<int64_t> rotary = n.intAttr("rotary_embedding_dim", 0), heads = n.intAttr("num_heads", 0);
  if (failed(interleaved) || failed(rotary) || failed(heads) || failed(checkFloat(n, x, "input 0")) ||
      failed(checkSameElement(n, x, {cos, sin})) || failed(n.checkRank(x, 3, 4, "input 0")))
    return failure();
  bool merged = n.rank(x) == 3;
  Value split = merged ? splitHeads(n, x, *heads, "input 0") : x;
  SmallVector<Value> tables{cos, sin};
  for (Value &table : tables) {
    int64_t rank = positions ? 2 : 3;
    if (!table || failed(n.checkRank(table, rank, rank, "the cosine and sine caches")))
      return failure();
    if (positions) {
      if (failed(n.checkRank(positions, 2, 2, "position_ids")))
        return failure();
      table = take(n, table, positions, 0);
    }
    table = n.unsqueeze(table, {1});
  }
  Value result = rotate(n, split, tables[0], tables[1], *interleaved, *rotary);
  return deliver(n, merged ? mergeHeads(n, result) : result);
}

//===----------------------------------------------------------------------===//
// TensorScatter (opset 24)
//===----------------------------------------------------------------------===//

/// Writes `update` into the cache along `axis`, from a start that each batch entry has for itself.
LogicalResult tensorScatter(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 3)))
    return failure();
  Value cache = n.required(0), update = n.required(1), starts = n.input(2);
  FailureOr<unsigned> mode = n.choiceAttr("mode", {"linear", "circular"}, "linear");
  FailureOr<int64_t> axis = n.intAttr("axis", -2);
  if (failed(mode) || failed(axis) || !cache || !update || failed(checkSameElement(n, cache, update)))
    return failure();
  int64_t rank = n.rank(cache);
  if (failed(n.checkRank(update, rank, rank, "update")))
    return failure();
  FailureOr<int64_t> normalized = n.normalizeAxis(*axis, rank);
  if (failed(normalized))
    return failure();
  if (*normalized == 0)
    return n.error("expected attribute `axis` other than the batch dimension");
  for (int64_t d = 0; d < rank; ++d)
    if (d != *normalized &&
        failed(n.assumeEqual(n.dim(cache, d), n.dim(update, d), "dimension " + Twine(d) + " of the cache")))
      return failure();
  std::optional<int64_t> room = n.staticDim(cache, *normalized), length = n.staticDim(update, *normalized);
  if (room && length && *length > *room)
    return n.error("expected an update of at most " + Twine(*room) + " entries, got " + Twine(*length));

  Type index = n.b.getI64Type();
  tg::Dims grid{n.dim(update, 0), n.dim(update, *normalized)};
  Value places = iota(n, 1, grid, index);
  if (starts) {
    if (failed(n.checkRank(starts, 1, 1, "write_indices")))
      return failure();
    places = n.make<tg::AddOp>(places, n.unsqueeze(n.cast(starts, index), {1}));
  }
  if (*mode == 1)
    places = n.make<tg::ModOp>(places, extentScalar(n, n.dim(cache, *normalized), index));
  MLIRContext *context = n.b.getContext();
  SmallVector<AffineExpr> target;
  for (int64_t d = 0; d < rank; ++d)
    target.push_back(d == *normalized ? getAffineSymbolExpr(0, context) : getAffineDimExpr(d, context));
  AffineMap source =
      AffineMap::get(rank, 0, {getAffineDimExpr(0, context), getAffineDimExpr(*normalized, context)}, context);
  return deliver(n, writeRows(n, cache, places, update, AffineMap::get(rank, 1, target, context), source));
}

} // namespace

ArrayRef<OpEntry> getAttentionOps() {
  static const OpEntry table[] = {
      {"", "Attention", 23, newestOpset, attentionHandler, ""},
      {"", "RotaryEmbedding", 23, newestOpset, rotaryEmbedding, "static head width"},
      {"", "TensorScatter", 24, newestOpset, tensorScatter, ""},
  };
  return table;
}

} // namespace weft::onnx
