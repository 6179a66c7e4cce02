// com.microsoft attention: Attention, MultiHeadAttention and its form for decoders, RotaryEmbedding. Semantics are
// those of onnxruntime's CPU kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Attention.h"
#include "Shared/Compose.h"
#include "Shared/Contraction.h"
#include "Shared/Expr.h"
#include "Shared/Quantization.h"

using namespace mlir;

namespace weft::onnx {

namespace {

constexpr StringLiteral microsoft = "com.microsoft";

/// Elements [offset, offset + size) of a vector, as a value that broadcasts over the last dimension.
Value addBias(NodeContext &n, Value x, Value bias, int64_t offset, int64_t size) {
  if (!bias || !x)
    return x;
  Value part = n.slice(bias, 0, offset, n.constExpr(size));
  return n.cast(n.make<tg::AddOp>(n.toCompute(x), n.toCompute(part)), n.elementType(x));
}

//===----------------------------------------------------------------------===//
// Masks of integers
//===----------------------------------------------------------------------===//

/// Adds `filter` where the mask hides a key. Forms: lengths [batch]; ends and starts [2 batch]; nonzero means seen
/// [batch, keys] or [batch, queries, keys].
LogicalResult addKeyMask(NodeContext &n, AttentionMask &mask, Value operand, const ScoreDims &dims, double filter) {
  int64_t rank = n.rank(operand);
  Type index = n.b.getI64Type();
  Value seen;
  if (rank == 1) {
    AffineExpr extent = n.dim(operand, 0);
    bool ends = tg::isEqual(extent, dims.batch), both = tg::isEqual(extent, tg::simplify(dims.batch * 2));
    if (!ends && !both)
      return n.unsupported("a key mask of rank 1 whose extent is not the batch extent or twice that is not supported");
    auto column = [&](int64_t part) {
      return n.reshape(n.cast(part < 0 ? operand : n.slice(operand, 0, part, dims.batch), index),
                       {dims.batch, n.constExpr(1), n.constExpr(1), n.constExpr(1)});
    };
    std::optional<int64_t> batch = tg::getConstant(dims.batch);
    if (!ends && !batch)
      return n.unsupported("start positions in the key mask with a symbolic batch extent are not supported");
    seen = compare(n, tg::CmpPredicate::Lt, mask.keyPositions(), column(ends ? -1 : 0));
    if (!ends)
      seen = n.make<tg::AndOp>(seen, compare(n, tg::CmpPredicate::Ge, mask.keyPositions(), column(*batch)));
  } else if (rank == 2 || rank == 3) {
    Value nonzero = n.elementType(operand).isInteger(1)
                        ? operand
                        : compare(n, tg::CmpPredicate::Ne, operand, scalarLike(n, 0, operand));
    seen = n.unsqueeze(nonzero, rank == 2 ? ArrayRef<int64_t>{1, 2} : ArrayRef<int64_t>{1});
  } else {
    return n.unsupported("a key mask of rank " + Twine(rank) + " is not supported");
  }
  Type f32 = n.b.getF32Type();
  mask.add(n.make<tg::SelectOp>(seen, n.scalar(0, f32), n.scalar(filter, f32)));
  return success(mask.ok());
}

//===----------------------------------------------------------------------===//
// What Attention and MultiHeadAttention share
//===----------------------------------------------------------------------===//

/// Attributes of both.
struct HeadAttrs {
  int64_t heads = 0;
  bool causal = false;
  double scale = 0;         ///< 0: 1 / sqrt(head size).
  double filter = -10000.0; ///< Added to the scores of hidden keys.
};

FailureOr<HeadAttrs> readHeadAttrs(NodeContext &n) {
  FailureOr<int64_t> heads = n.intAttr("num_heads");
  FailureOr<bool> causal = n.boolAttr("unidirectional", false);
  FailureOr<double> scale = n.floatAttr("scale", 0.0), filter = n.floatAttr("mask_filter_value", -10000.0);
  if (failed(heads) || failed(causal) || failed(scale) || failed(filter))
    return failure();
  return HeadAttrs{*heads, *causal, *scale, *filter};
}

/// Attention of operands of rank 4 whose keys begin with `pastLength` cached ones (an expression, or i64 of rank 0),
/// heads merged; null after an error. `keyMask` (see addKeyMask) and `bias` (broadcastable to the scores) may be null.
template <typename Length>
AttentionResult maskedAttention(NodeContext &n, AttentionArgs args, const HeadAttrs &attrs, Value keyMask, Value bias,
                                Length pastLength) {
  args.scale = attrs.scale;
  ScoreDims dims = scoreDims(n, args.query, args.key);
  AttentionMask mask(n, dims);
  if (keyMask && failed(addKeyMask(n, mask, keyMask, dims, attrs.filter)))
    return {};
  if (bias)
    mask.addOperand(bias);
  if (attrs.causal)
    mask.causal(pastLength);
  AttentionResult result = attention(n, args, mask);
  return {mergeHeads(n, result.result), result.scores};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Columns of query, key and value in the packed projection.
FailureOr<SmallVector<int64_t>> hiddenSizes(NodeContext &n, Value weights) {
  FailureOr<SmallVector<int64_t>> sizes = n.intsAttr("qkv_hidden_sizes", SmallVector<int64_t>());
  std::optional<int64_t> columns = n.staticDim(weights, 1);
  if (failed(sizes))
    return failure();
  if (!columns)
    return n.unsupported("weights with a symbolic number of columns are not supported");
  if (sizes->empty() && *columns % 3 == 0)
    sizes->assign(3, *columns / 3);
  int64_t total = 0;
  for (int64_t size : *sizes) {
    if (size < 0 || size > *columns)
      return n.error("expected attribute `qkv_hidden_sizes` within the " + Twine(*columns) +
                     " columns of the weights, got " + Twine(size));
    total += size;
  }
  if (sizes->size() != 3 || total != *columns)
    return n.error("expected three hidden sizes that add up to the " + Twine(*columns) + " columns of the weights");
  return *sizes;
}

/// The projection x * weights + bias of floats; null after an error.
Value projectFloats(NodeContext &n) {
  Value x = n.required(0), weights = n.required(1), bias = n.input(2);
  if (failed(checkFloat(n, x, "input")) || failed(checkSameElement(n, x, {weights, bias})) ||
      failed(n.checkRank(x, 3, 3, "input")) || !weights || failed(n.checkRank(weights, 2, 2, "weights")) ||
      (bias && failed(n.checkRank(bias, 1, 1, "bias"))))
    return {};
  Value product = n.contract(x, weights, "bsi,ij->bsj", computeType(n.elementType(x)));
  if (bias)
    product = n.make<tg::AddOp>(product, n.toCompute(bias));
  return n.cast(product, n.elementType(x));
}

/// The same of 8-bit integers: an exact product, times both scales, plus the bias, whose type the result has. Weights
/// have one scale, or one for each column.
Value projectIntegers(NodeContext &n) {
  enum { X, Weights, Bias, XScale, WeightScale, XZero = 6, WeightZero };
  Value x = n.required(X), weights = n.required(Weights), bias = n.required(Bias), xScale = n.required(XScale),
        scale = n.required(WeightScale);
  if (failed(checkFloat(n, bias, "bias")) || failed(checkSameElement(n, bias, {xScale, scale})) || !x || !weights ||
      failed(n.checkRank(x, 3, 3, "input")) || failed(n.checkRank(weights, 2, 2, "weights")) ||
      failed(n.checkRank(bias, 1, 1, "bias")))
    return {};
  if (!isQuantizedInt(n.elementType(x)) || !isQuantizedInt(n.elementType(weights))) {
    (void)n.error("expected input and weights of 8-bit integers, got " + typeName(n.elementType(x)) + " and " +
                  typeName(n.elementType(weights)));
    return {};
  }
  auto asColumn = [&](Value parameter) {
    return parameter && tg::getConstant(tg::getNumElements(parameter.getType())) == 1
               ? n.reshape(parameter, ArrayRef<int64_t>())
               : parameter;
  };
  Value a = subtractZeroPoint(n, x, asColumn(n.input(XZero))),
        b = subtractZeroPoint(n, weights, asColumn(n.input(WeightZero)));
  Value sum = n.contract(a, b, "bsi,ij->bsj", n.b.getI32Type());
  Type f32 = n.b.getF32Type();
  Expr factor = Expr(n, n.cast(asColumn(xScale), f32)) * Expr(n, n.cast(asColumn(scale), f32));
  return n.cast(Expr(n, n.cast(sum, f32)) * factor + Expr(n, n.cast(bias, f32)), n.elementType(bias));
}

/// Query, key and value of the projection, with heads split.
LogicalResult splitProjection(NodeContext &n, Value product, AttentionArgs &args, int64_t heads) {
  FailureOr<SmallVector<int64_t>> sizes =
      product ? hiddenSizes(n, n.required(1)) : FailureOr<SmallVector<int64_t>>(failure());
  if (failed(sizes))
    return failure();
  int64_t offset = 0;
  Value *parts[] = {&args.query, &args.key, &args.value};
  for (unsigned i = 0; i < 3; ++i) {
    *parts[i] = splitHeads(n, n.slice(product, 2, offset, n.constExpr((*sizes)[i])), heads, "the projection");
    offset += (*sizes)[i];
  }
  return success(args.query && args.key && args.value);
}

/// Refuses flags that are set.
LogicalResult refuseFlags(NodeContext &n, ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    FailureOr<int64_t> flag = n.intAttr(name, 0);
    if (failed(flag))
      return failure();
    if (*flag != 0)
      return n.unsupported("attribute `" + name + "` = " + Twine(*flag) + " is not supported");
  }
  return success();
}

/// Inputs behind the projection, which may be null.
struct PackedInputs {
  Value keyMask, past, bias;
};

LogicalResult packedAttention(NodeContext &n, Value projection, const PackedInputs &inputs) {
  if (failed(refuseFlags(n, {"do_rotary", "past_present_share_buffer"})))
    return failure();
  n.ignoreAttr("rotary_embedding_dim"); // Only with do_rotary.
  FailureOr<HeadAttrs> attrs = readHeadAttrs(n);
  AttentionArgs args;
  if (failed(attrs) || failed(splitProjection(n, projection, args, attrs->heads)))
    return failure();
  AffineExpr pastLength = n.constExpr(0);
  if (Value past = inputs.past) {
    if (failed(n.checkRank(past, 5, 5, "past")))
      return failure();
    pastLength = n.dim(past, 3);
    args.key = n.concat({n.squeeze(n.slice(past, 0, 0, n.constExpr(1)), {0}), args.key}, 2);
    args.value = n.concat({n.squeeze(n.slice(past, 0, 1, n.constExpr(1)), {0}), args.value}, 2);
    if (!args.key || !args.value)
      return failure();
  }
  Value result = maskedAttention(n, args, *attrs, inputs.keyMask, inputs.bias, pastLength).result;
  if (!result)
    return failure();
  if (n.outputUsed(1))
    n.output(1, n.concat({n.unsqueeze(args.key, {0}), n.unsqueeze(args.value, {0})}, 0));
  return deliver(n, result);
}

LogicalResult floatAttention(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 7)))
    return failure();
  return packedAttention(n, projectFloats(n), {n.input(3), n.input(4), n.input(5)});
}

LogicalResult quantizedAttention(NodeContext &n) {
  if (failed(n.checkNumInputs(5, 9)))
    return failure();
  return packedAttention(n, projectIntegers(n), {n.input(5), n.input(8), {}});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Part `part` of a B x L x N x parts x D operand, as B x N x L x D.
Value unpack(NodeContext &n, Value packed, int64_t part) {
  return n.transpose(n.squeeze(n.slice(packed, 3, part, n.constExpr(1)), {3}), {0, 2, 1, 3});
}

/// What MultiHeadAttention and DecoderMaskedMultiHeadAttention have behind query, key and value; each may be null.
struct HeadInputs {
  Value bias, keyMask, scoreBias, pastKey, pastValue, pastLength, indirection;
};

/// Adds the bias of query, key and value to unpacked operands of rank 3. Keys and values of rank 4 come from a cache
/// and have none.
LogicalResult addProjectionBias(NodeContext &n, AttentionArgs &args, Value bias) {
  if (!bias)
    return success();
  if (failed(n.checkRank(bias, 1, 1, "bias")) || failed(checkSameElement(n, args.query, bias)))
    return failure();
  int64_t offset = 0;
  for (Value *x : {&args.query, &args.key, &args.value}) {
    if (n.rank(*x) != 3)
      break;
    std::optional<int64_t> width = n.staticDim(*x, 2);
    if (!width)
      return n.unsupported("a bias of operands with a symbolic hidden size is not supported");
    *x = addBias(n, *x, bias, offset, *width);
    if (!*x)
      return failure();
    offset += *width;
  }
  return success();
}

/// Reads the four layouts: separate; keys and values with heads split; packed keys and values; all packed.
LogicalResult readProjections(NodeContext &n, AttentionArgs &args, int64_t heads, Value bias) {
  Value query = n.required(0), key = n.input(1), value = n.input(2);
  if (failed(checkFloat(n, query, "query")) || failed(checkSameElement(n, query, {key, value})))
    return failure();
  bool allPacked = n.rank(query) == 5, keysPacked = key && n.rank(key) == 5;
  if ((allPacked || keysPacked) && bias)
    return n.unsupported("a bias with packed operands is not supported");
  if (allPacked) {
    args.query = unpack(n, query, 0);
    args.key = unpack(n, query, 1);
    args.value = unpack(n, query, 2);
    return success(args.query && args.key && args.value);
  }
  if (!key || (!value && !keysPacked))
    return n.error("expected inputs key and value, or packed ones of rank 5");
  if (keysPacked) {
    args.query = splitHeads(n, query, heads, "query");
    args.key = unpack(n, key, 0);
    args.value = unpack(n, key, 1);
    return success(args.query && args.key && args.value);
  }
  args.query = query;
  args.key = key;
  args.value = value;
  if (failed(addProjectionBias(n, args, bias)))
    return failure();
  args.query = splitHeads(n, args.query, heads, "query");
  if (n.rank(args.key) == 3)
    args.key = splitHeads(n, args.key, heads, "key");
  if (n.rank(args.value) == 3)
    args.value = splitHeads(n, args.value, heads, "value");
  return success(args.query && args.key && args.value);
}

/// Key and value behind those of the cache, which grows by them.
LogicalResult growCaches(NodeContext &n, AttentionArgs &args, const HeadInputs &inputs) {
  args.key = n.concat({inputs.pastKey, args.key}, 2);
  args.value = n.concat({inputs.pastValue, args.value}, 2);
  return success(args.key && args.value);
}

/// The same where past and present share a buffer, of which `past` (rank 0) positions are filled: key and value, whose
/// heads come as they are, are written behind them, and what is read ends with them.
LogicalResult fillCaches(NodeContext &n, AttentionArgs &args, const HeadInputs &inputs) {
  Value past = inputs.pastLength;
  Type index = n.b.getI64Type();
  AffineExpr batch = n.dim(args.key, 0), fresh = n.dim(args.key, 2);
  FailureOr<tg::Dims> total = n.runtimeDims(Expr(n, past) + Expr(n, extentScalar(n, fresh, index)), "total length");
  if (failed(total) || failed(n.assumeAtMost(total->front(), n.dim(inputs.pastKey, 2), "positions of the cache")) ||
      failed(n.assumeAtMost(fresh, total->front(), "positions behind the past ones")))
    return failure();
  Expr place = Expr(n, iota(n, 0, {fresh}, index)) + Expr(n, past);
  Value places = n.broadcastTo(place, {batch, fresh});
  Value *operands[] = {&args.key, &args.value};
  for (auto [i, x] : llvm::enumerate(operands)) {
    Value cache = i == 0 ? inputs.pastKey : inputs.pastValue;
    if (failed(n.checkRank(cache, 4, 4, "a cache")))
      return failure();
    Value filled = appendTo(n, cache, *x, places, n.dim(cache, 2));
    n.output(1 + i, filled);
    *x = filled ? n.slice(filled, 2, 0, total->front()) : filled;
  }
  return success(args.key && args.value);
}

LogicalResult multiHeads(NodeContext &n, HeadInputs inputs) {
  if (inputs.indirection)
    return n.unsupported("input cache_indirection of a beam search is not supported", "search outside of the model");
  FailureOr<HeadAttrs> attrs = readHeadAttrs(n);
  AttentionArgs args;
  args.scoresStage = n.outputUsed(3) ? 2 : 0; // Output qk has the masks in it.
  if (failed(attrs) || failed(readProjections(n, args, attrs->heads, inputs.bias)))
    return failure();
  Value pastKey = inputs.pastKey, pastValue = inputs.pastValue, &filled = inputs.pastLength;
  if (bool(pastKey) != bool(pastValue) || (filled && !pastKey))
    return n.error(filled ? "expected past_key and past_value with past_sequence_length"
                          : "expected past_key and past_value together");
  if (pastKey &&
      (failed(n.checkRank(pastKey, 4, 4, "past_key")) || failed(checkSameElement(n, args.key, {pastKey, pastValue}))))
    return failure();
  if (filled) {
    if (!isInteger(n, filled) || tg::getConstant(tg::getNumElements(filled.getType())) != 1)
      return n.error("expected past_sequence_length of one integer, got " + typeName(filled.getType()));
    filled = n.cast(n.reshape(filled, ArrayRef<int64_t>()), n.b.getI64Type());
    if (failed(fillCaches(n, args, inputs)))
      return failure();
  } else if (pastKey && failed(growCaches(n, args, inputs))) {
    return failure();
  }
  if (!args.key || !args.value || failed(n.checkRank(args.key, 4, 4, "key")))
    return failure();
  AffineExpr pastLength = pastKey ? n.dim(pastKey, 2) : n.constExpr(0);
  AttentionResult result = filled ? maskedAttention(n, args, *attrs, inputs.keyMask, inputs.scoreBias, filled)
                                  : maskedAttention(n, args, *attrs, inputs.keyMask, inputs.scoreBias, pastLength);
  if (!result.result)
    return failure();
  if (!filled) {
    n.output(1, args.key);
    n.output(2, args.value);
  }
  if (n.outputUsed(3))
    n.output(3, result.scores);
  return deliver(n, result.result);
}

LogicalResult multiHeadAttention(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 10)))
    return failure();
  return multiHeads(n, {n.input(3), n.input(4), n.input(5), n.input(6), n.input(7), n.input(8), n.input(9)});
}

/// One query for each sequence. The length of the cache that is filled comes with `past_present_share_buffer`; keys of
/// rank 4 are those of an encoder, which no cache follows.
LogicalResult decoderAttention(NodeContext &n) {
  if (failed(n.checkNumInputs(1, 11)))
    return failure();
  FailureOr<bool> isShared = n.boolAttr("past_present_share_buffer", false);
  n.ignoreAttr("output_qk"); // Whether there is an output qk.
  Value query = n.required(0), key = n.input(1);
  if (failed(isShared) || failed(n.checkRank(query, 3, 3, "query")) ||
      failed(n.assumeEqual(n.dim(query, 1), n.constExpr(1), "length of the query")))
    return failure();
  HeadInputs inputs{n.input(10), n.input(3), n.input(4), n.input(5), n.input(6), n.input(7), n.input(9)};
  if (key && n.rank(key) == 4)
    inputs.pastKey = inputs.pastValue = inputs.pastLength = {};
  if (inputs.pastKey && *isShared != bool(inputs.pastLength))
    return n.error(*isShared ? "expected past_sequence_length with a shared buffer"
                             : "expected attribute `past_present_share_buffer` = 1 with past_sequence_length");
  return multiHeads(n, inputs);
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Position of each token as batch x length: given, or counted from one given start.
Value tokenPositions(NodeContext &n, Value positions, AffineExpr length) {
  if (!positions || failed(n.checkRank(positions, 1, 2, "position_ids")))
    return {};
  if (n.rank(positions) == 2)
    return positions;
  Value start = n.cast(positions, n.b.getI64Type());
  return n.unsqueeze(n.make<tg::AddOp>(start, iota(n, 0, {length}, n.b.getI64Type())), {0});
}

LogicalResult rotaryEmbedding(NodeContext &n) {
  if (failed(n.checkNumInputs(4, 4)) || failed(refuseFlags(n, {"is_packed_batching"})))
    return failure();
  Value x = n.required(0), positions = n.required(1), cos = n.required(2), sin = n.required(3);
  FailureOr<bool> interleaved = n.boolAttr("interleaved", false);
  FailureOr<int64_t> rotary = n.intAttr("rotary_embedding_dim", 0), heads = n.intAttr("num_heads", 0);
  FailureOr<double> scale = n.floatAttr("scale", 1.0);
  if (failed(interleaved) || failed(rotary) || failed(heads) || failed(scale) || !positions || !cos || !sin ||
      failed(checkFloat(n, x, "input 0")) || failed(checkSameElement(n, x, {cos, sin})) ||
      failed(n.checkRank(x, 3, 4, "input 0")) || failed(n.checkRank(cos, 2, 2, "cos_cache")) ||
      failed(n.checkRank(sin, 2, 2, "sin_cache")))
    return failure();
  if (*scale != 1.0)
    return n.unsupported("attribute `scale` other than 1 is not supported");
  bool merged = n.rank(x) == 3;
  std::optional<int64_t> half = n.staticDim(cos, 1), hidden = n.staticDim(x, merged ? 2 : 3);
  if (merged && *heads == 0) {
    // The caches then span whole heads.
    if (*rotary != 0)
      return n.error("expected attribute `num_heads` with `rotary_embedding_dim`");
    if (!half || !hidden || *half < 1)
      return n.unsupported(
          "a number of heads that does not follow from attributes and static extents is not supported");
    heads = *hidden / (*half * 2);
  }
  Value split = merged ? splitHeads(n, x, *heads, "input 0") : x;
  if (!split)
    return failure();
  Value places = tokenPositions(n, positions, n.dim(split, 2));
  Value result = rotate(n, split, n.unsqueeze(take(n, cos, places, 0), {1}), n.unsqueeze(take(n, sin, places, 0), {1}),
                        *interleaved, *rotary);
  return deliver(n, merged ? mergeHeads(n, result) : result);
}

} // namespace

ArrayRef<OpEntry> getContribAttentionOps() {
  static const OpEntry table[] = {
      {microsoft, "Attention", 1, anyOpset, floatAttention, "no shared past buffer, rotary or 4-D mask"},
      {"com.microsoft", "QAttention", 1, anyOpset, quantizedAttention, ""},
      {microsoft, "MultiHeadAttention", 1, anyOpset, multiHeadAttention, "no cache indirection"},
      {microsoft, "DecoderMaskedMultiHeadAttention", 1, anyOpset, decoderAttention, "no cache indirection"},
      {microsoft, "RotaryEmbedding", 1, anyOpset, rotaryEmbedding, "no packed batching, scale 1"},
  };
  return table;
}

} // namespace weft::onnx
