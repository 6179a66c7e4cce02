// The common lowering of attention operators: masks gathered into one operand, heads split and merged, rotary
// embedding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Attention.h"
#include "Compose.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void AttentionMask::keep(Value rule) {
  kept = !kept ? rule : n.make<tg::AndOp>(kept, rule);
  bad |= !kept;
}

void AttentionMask::add(Value more) {
  if (more && bias && n.elementType(more) != n.elementType(bias))
    more = n.cast(more, n.elementType(bias));
  bias = !bias ? more : n.make<tg::AddOp>(bias, more);
  bad |= !bias;
}

void AttentionMask::addOperand(Value mask) {
  if (!mask || failed(n.checkRank(mask, 1, 4, "the attention mask"))) {
    bad = true;
    return;
  }
  bool boolean = n.elementType(mask).isInteger(1);
  if (!boolean && !isFloat(n, mask))
    mask = n.cast(mask, n.b.getF32Type());
  int64_t last = n.rank(mask) - 1;
  std::optional<int64_t> extent = n.staticDim(mask, last), keys = tg::getConstant(dims.keys);
  if (extent && keys && *extent < *keys) {
    SmallVector<int64_t> none(last + 1, 0), high(last + 1, 0);
    high[last] = *keys - *extent;
    Value filler = scalarLike(n, boolean ? 0 : -INFINITY, mask);
    mask = n.make<tg::PadOp>(mask, filler, n.b.getDenseI64ArrayAttr(none), n.b.getDenseI64ArrayAttr(high),
                             n.b.getDenseI64ArrayAttr(none));
  }
  boolean ? keep(mask) : add(mask);
}

Value AttentionMask::queryPositions(Value offset) {
  return n.make<tg::AddOp>(iota(n, 0, {dims.queries, n.constExpr(1)}, n.b.getI64Type()), offset);
}

Value AttentionMask::keyPositions() { return iota(n, 0, {dims.keys}, n.b.getI64Type()); }

void AttentionMask::causal(AffineExpr offset) {
  if (std::optional<int64_t> constant = tg::getConstant(offset)) {
    staticCausal = *constant;
    return;
  }
  causal(extentScalar(n, offset, n.b.getI64Type()));
}

void AttentionMask::causal(Value offset) {
  keep(compare(n, tg::CmpPredicate::Le, keyPositions(), queryPositions(offset)));
}

void AttentionMask::window(Value offset, int64_t left, int64_t right) {
  Type index = n.b.getI64Type();
  Value query = queryPositions(offset), key = keyPositions();
  if (left >= 0)
    keep(compare(n, tg::CmpPredicate::Ge, key, n.make<tg::SubOp>(query, n.scalarInt(left, index))));
  if (right >= 0)
    keep(compare(n, tg::CmpPredicate::Le, key, n.make<tg::AddOp>(query, n.scalarInt(right, index))));
}

void AttentionMask::keyLength(Value length) {
  if (!length || failed(n.checkRank(length, 1, 1, "the lengths of keys")) ||
      failed(n.assumeEqual(n.dim(length, 0), dims.batch, "the batch extent of the lengths of keys"))) {
    bad = true;
    return;
  }
  Value column = n.unsqueeze(n.cast(length, n.b.getI64Type()), {1, 2, 3});
  keep(compare(n, tg::CmpPredicate::Lt, keyPositions(), column));
}

Value AttentionMask::operand(Type scoreType) {
  Value mask = kept;
  if (bias && !bad) {
    Value wide = n.cast(bias, scoreType);
    mask = kept ? n.make<tg::SelectOp>(kept, wide, scalarLike(n, -INFINITY, wide)) : wide;
    bad |= !mask;
  }
  if (!mask || bad)
    return {};
  // What is not 1 has to agree with the scores, aligned at the last dimension.
  AffineExpr extents[] = {dims.batch, dims.heads, dims.queries, dims.keys};
  int64_t rank = n.rank(mask);
  for (int64_t d = std::max<int64_t>(0, rank - 4); d < rank; ++d)
    if (n.staticDim(mask, d) != 1)
      bad |= failed(
          n.assumeEqual(n.dim(mask, d), extents[4 - rank + d], "an extent of the attention mask and of the scores"));
  return bad ? Value() : mask;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

ScoreDims scoreDims(NodeContext &n, Value query, Value key) {
  return {n.dim(query, 0), n.dim(query, 1), n.dim(query, 2), n.dim(key, 2)};
}

/// Checks what tg.attention needs to hold between symbolic extents.
static LogicalResult checkExtents(NodeContext &n, const AttentionArgs &a) {
  for (Value operand : {a.query, a.key, a.value})
    if (!operand || failed(n.checkRank(operand, 4, 4, "query, key and value")))
      return failure();
  struct Pair {
    Value x, y;
    int64_t d;
    StringRef what;
  };
  for (const Pair &p :
       {Pair{a.query, a.key, 0, "the batch extents of query and key"},
        Pair{a.key, a.value, 0, "the batch extents of key and value"},
        Pair{a.key, a.value, 1, "the heads of key and value"}, Pair{a.key, a.value, 2, "the lengths of key and value"},
        Pair{a.query, a.key, 3, "the head widths of query and key"}})
    if (failed(n.assumeEqual(n.dim(p.x, p.d), n.dim(p.y, p.d), p.what)))
      return failure();
  return success();
}

AttentionResult attention(NodeContext &n, const AttentionArgs &args, AttentionMask &mask) {
  if (failed(checkExtents(n, args)))
    return {};
  double scale = args.scale;
  if (scale == 0) {
    std::optional<int64_t> width = n.staticDim(args.query, 3);
    if (!width || *width == 0) {
      (void)n.unsupported("the default scale of a symbolic or zero head width is not supported",
                          "give the attribute `scale`");
      return {};
    }
    scale = 1.0 / std::sqrt(double(*width));
  }
  Type element = n.elementType(args.query);
  Type softmaxType = computeType(args.softmaxType ? args.softmaxType : element);
  Value maskOperand = mask.operand(computeType(element));
  if (!mask.ok())
    return {};
  IntegerAttr causal = mask.causalOffset() ? n.b.getI64IntegerAttr(*mask.causalOffset()) : IntegerAttr();
  auto op = n.create<tg::AttentionOp>(
      args.query, n.cast(args.key, element), n.cast(args.value, element), maskOperand, n.b.getF64FloatAttr(scale),
      TypeAttr::get(softmaxType), n.b.getF64FloatAttr(args.softcap), causal,
      args.zeroMaskedRows ? n.b.getUnitAttr() : UnitAttr(), n.b.getI64IntegerAttr(args.scoresStage));
  return op ? AttentionResult{op.getResult(), op.getScores()} : AttentionResult();
}

Value splitHeads(NodeContext &n, Value x, int64_t heads, StringRef what) {
  if (!x || failed(n.checkRank(x, 3, 3, what)))
    return {};
  FailureOr<tg::Dims> split = splitDim(n, n.dims(x), 2, heads, "the number of heads of " + what.str());
  return failed(split) ? Value() : n.transpose(n.reshape(x, *split), {0, 2, 1, 3});
}

Value mergeHeads(NodeContext &n, Value x) {
  Value moved = n.transpose(x, {0, 2, 1, 3});
  if (!moved)
    return {};
  return n.reshape(moved, {n.dim(moved, 0), n.dim(moved, 1), tg::simplify(n.dim(moved, 2) * n.dim(moved, 3))});
}

Value writeRows(NodeContext &n, Value memory, Value places, Value rows, AffineMap target, AffineMap source) {
  Value result = n.make<tg::ScatterOp>(memory, places, rows, AffineMapAttr::get(target),
                                       n.b.getAffineMapArrayAttr(source), tg::MonoidAttr());
  if (result)
    result.getDefiningOp()->setAttr(tg::distinctAttr, n.b.getUnitAttr());
  return result;
}

Value appendTo(NodeContext &n, Value past, Value fresh, Value places, AffineExpr length) {
  if (!past || !fresh || !places)
    return {};
  AffineExpr grow = tg::simplify(length - n.dim(past, 2));
  if (tg::getConstant(grow) != 0)
    past = n.concat({past, full(n, 0, n.elementType(past), withDim(n.dims(past), 2, grow))}, 2);
  MLIRContext *context = n.b.getContext();
  AffineExpr b, g, s, d;
  bindDims(context, b, g, s, d);
  return writeRows(n, past, places, fresh, AffineMap::get(4, 1, {b, g, getAffineSymbolExpr(0, context), d}, context),
                   AffineMap::get(4, 0, {b, s}, context));
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

Value rotate(NodeContext &n, Value x, Value cos, Value sin, bool interleaved, int64_t rotary) {
  if (!x || !cos || !sin)
    return {};
  int64_t last = n.rank(x) - 1;
  std::optional<int64_t> width = n.staticDim(x, last);
  if (!width) {
    (void)n.unsupported("rotary embedding of a symbolic head width is not supported");
    return {};
  }
  if (rotary == 0)
    rotary = *width;
  if (rotary < 0 || rotary > *width || rotary % 2 != 0) {
    (void)n.error("expected an even rotary width within the head width " + Twine(*width) + ", got " + Twine(rotary));
    return {};
  }
  for (Value table : {cos, sin})
    if (failed(n.assumeEqual(n.dim(table, n.rank(table) - 1), n.constExpr(rotary / 2),
                             "half the rotary width and the cache's last extent")))
      return {};
  int64_t half = rotary / 2, stride = interleaved ? 2 : 1;
  Value wide = n.toCompute(x);
  Type compute = computeType(n.elementType(x));
  cos = n.cast(cos, compute);
  sin = n.cast(sin, compute);
  Value a = n.slice(wide, last, 0, n.constExpr(half), stride);
  Value b = n.slice(wide, last, interleaved ? 1 : half, n.constExpr(half), stride);
  Value real = n.make<tg::SubOp>(n.make<tg::MulOp>(cos, a), n.make<tg::MulOp>(sin, b));
  Value imaginary = n.make<tg::AddOp>(n.make<tg::MulOp>(sin, a), n.make<tg::MulOp>(cos, b));
  Value turned;
  if (interleaved) {
    Value pairs = n.concat({n.unsqueeze(real, {last + 1}), n.unsqueeze(imaginary, {last + 1})}, last + 1);
    turned = n.reshape(pairs, withDim(n.dims(x), last, n.constExpr(rotary)));
  } else {
    turned = n.concat({real, imaginary}, last);
  }
  turned = n.cast(turned, n.elementType(x));
  return rotary == *width ? turned : n.concat({turned, n.slice(x, last, rotary, n.constExpr(*width - rotary))}, last);
}

LogicalResult rotateByCaches(NodeContext &n, AttentionArgs &args, unsigned cosInput, unsigned sinInput, Value places,
                             bool interleaved) {
  Value cos = n.required(cosInput), sin = n.required(sinInput);
  if (!cos || !sin || failed(n.checkRank(cos, 2, 2, "cos_cache")) || failed(n.checkRank(sin, 2, 2, "sin_cache")))
    return failure();
  std::optional<int64_t> half = n.staticDim(cos, 1);
  if (!half)
    return n.unsupported("a cos_cache of symbolic width is not supported");
  cos = n.unsqueeze(take(n, cos, places, 0), {1});
  sin = n.unsqueeze(take(n, sin, places, 0), {1});
  args.query = rotate(n, args.query, cos, sin, interleaved, *half * 2);
  args.key = rotate(n, args.key, cos, sin, interleaved, *half * 2);
  return success(args.query && args.key);
}

LogicalResult readProjections(NodeContext &n, int64_t heads, int64_t keyHeads, AttentionArgs &args) {
  Value query = n.required(0), key = n.input(1), value = n.input(2);
  if (failed(checkFloat(n, query, "query")) || failed(checkSameElement(n, query, {key, value})))
    return failure();
  if (bool(key) != bool(value))
    return n.error("expected key and value together");
  if (key) {
    args.query = splitHeads(n, query, heads, "query");
    args.key = splitHeads(n, key, keyHeads, "key");
    args.value = splitHeads(n, value, keyHeads, "value");
  } else {
    Value all = splitHeads(n, query, heads + 2 * keyHeads, "query");
    args.query = n.slice(all, 1, 0, n.constExpr(heads));
    args.key = n.slice(all, 1, heads, n.constExpr(keyHeads));
    args.value = n.slice(all, 1, heads + keyHeads, n.constExpr(keyHeads));
  }
  return success(args.query && args.key && args.value);
}

} // namespace weft::onnx
