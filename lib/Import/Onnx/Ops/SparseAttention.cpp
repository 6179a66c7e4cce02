// com.microsoft.SparseAttention: causal attention with caches, in which a head sees those blocks of keys that its
// layout names.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Past and present share buffers. A layout is a matrix of blocks in CSR form (row starts and column indices), which may
// be data: the matrix is written out with a scatter, and each query and key reads the entry of their blocks. Heads take
// the layouts in turn.
#include "Shared/Attention.h"
#include "Shared/Compose.h"
#include "Shared/Expr.h"

using namespace mlir;

namespace weft::onnx {
namespace {

enum Input : unsigned { Query, Key, ValueInput, PastKey, PastValue, Rows, Columns, TotalLength, KeyLengths, Cos, Sin };

struct Attrs {
  int64_t heads = 0, keyHeads = 0, block = 0;
  bool rotary = false, interleaved = false;
};

FailureOr<Attrs> readAttrs(NodeContext &n, AttentionArgs &args) {
  FailureOr<int64_t> heads = n.intAttr("num_heads"), keyHeads = n.intAttr("kv_num_heads"),
                     block = n.intAttr("sparse_block_size");
  FailureOr<bool> rotary = n.boolAttr("do_rotary", false), interleaved = n.boolAttr("rotary_interleaved", false);
  FailureOr<double> scale = n.floatAttr("scale", 0.0);
  if (failed(heads) || failed(keyHeads) || failed(block) || failed(rotary) || failed(interleaved) || failed(scale))
    return failure();
  if (*heads < 1 || *keyHeads < 1 || *heads % *keyHeads != 0)
    return n.error("expected num_heads to be a positive multiple of kv_num_heads, got " + Twine(*heads) + " and " +
                   Twine(*keyHeads));
  if (*block < 1 || *block > (1 << 20))
    return n.error("expected attribute `sparse_block_size` in [1, 2^20], got " + Twine(*block));
  args.scale = *scale;
  return Attrs{*heads, *keyHeads, *block, *rotary, *interleaved};
}

/// layouts x (blocks * blocks) of i64, 1 where a block of queries (rows) sees one of keys; `blocks` is set.
Value blockMask(NodeContext &n, int64_t heads, AffineExpr &blocks) {
  Value starts = n.required(Rows), columns = n.required(Columns);
  if (!starts || !columns || failed(n.checkRank(starts, 2, 2, "block_row_indices")) ||
      failed(n.checkRank(columns, 2, 2, "block_col_indices")) ||
      failed(n.assumeEqual(n.dim(starts, 0), n.dim(columns, 0), "layouts of block_row_indices and block_col_indices")))
    return {};
  std::optional<int64_t> layouts = n.staticDim(starts, 0);
  if (!layouts || *layouts < 1 || heads % *layouts != 0) {
    (void)n.error("expected the number of layouts to divide the " + Twine(heads) + " heads, got type [" +
                  n.extentsText(n.dims(starts)) + "]");
    return {};
  }
  Type i64 = n.b.getI64Type();
  blocks = tg::simplify(n.dim(starts, 1) - 1);
  AffineExpr count = n.constExpr(*layouts), entries = n.dim(columns, 1), one = n.constExpr(1),
             cells = tg::simplify(blocks * blocks);
  if (failed(n.assumeAtMost(n.constExpr(1), n.dim(starts, 1), "block_row_indices")))
    return {};
  starts = n.cast(starts, i64);
  // The row of an entry is the number of rows that end at it or before; those behind the last end are padding.
  Expr ends(n, n.reshape(n.slice(starts, 1, 1, blocks), {count, one, blocks}));
  Expr place(n, n.reshape(iota(n, 0, {entries}, i64), {one, entries, one}));
  Value row = n.reduce(tg::Monoid::Add, ends.compare(tg::CmpPredicate::Le, place).cast(i64), {2}, /*keepDims=*/false);
  Expr column(n, n.cast(columns, i64)), last(n, extentScalar(n, blocks, i64));
  Expr isEntry = Expr(n, row).compare(tg::CmpPredicate::Lt, last) & column.compare(tg::CmpPredicate::Ge, 0.0) &
                 column.compare(tg::CmpPredicate::Lt, last);
  Expr cell = isEntry.select(Expr(n, row) * last + column, Expr(n, extentScalar(n, cells, i64))); // Else dropped.
  MLIRContext *context = n.b.getContext();
  AffineExpr layout, entry;
  bindDims(context, layout, entry);
  return n.make<tg::ScatterOp>(
      n.broadcastTo(n.scalarInt(0, i64), {count, cells}), Value(cell),
      n.broadcastTo(n.scalarInt(1, i64), {count, entries}),
      AffineMapAttr::get(AffineMap::get(2, 1, {layout, getAffineSymbolExpr(0, context)}, context)),
      n.b.getAffineMapArrayAttr(AffineMap::get(2, 0, {layout, entry}, context)), tg::MonoidAttr());
}

/// Whether query i (at position `queries`, B x S) may see key j, B x heads x S x T.
Value seenBlocks(NodeContext &n, const Attrs &attrs, Value layouts, AffineExpr blocks, Value queries, AffineExpr keys) {
  if (!layouts || !queries)
    return {};
  Type i64 = n.b.getI64Type();
  Expr block(n, n.scalarInt(attrs.block, i64));
  Expr row = Expr(n, n.unsqueeze(queries, {2})) / block, column = Expr(n, iota(n, 0, {keys}, i64)) / block;
  Value cell =
      n.broadcastTo(row * Expr(n, extentScalar(n, blocks, i64)) + column, {n.dim(queries, 0), n.dim(queries, 1), keys});
  // Heads take the layouts in turn.
  int64_t count = *n.staticDim(layouts, 0);
  SmallVector<Value> turns(attrs.heads / count, layouts);
  MLIRContext *context = n.b.getContext();
  AffineExpr b, h, s, t;
  bindDims(context, b, h, s, t);
  Value taken = n.make<tg::GatherOp>(
      tg::getTensorType({n.dim(queries, 0), n.constExpr(attrs.heads), n.dim(queries, 1), keys}, i64),
      n.concat(turns, 0), cell, AffineMapAttr::get(AffineMap::get(4, 1, {h, getAffineSymbolExpr(0, context)}, context)),
      n.b.getAffineMapArrayAttr(AffineMap::get(4, 0, {b, s, t}, context)));
  return Expr(n, taken).compare(tg::CmpPredicate::Gt, 0.0);
}

LogicalResult sparseAttention(NodeContext &n) {
  AttentionArgs args;
  FailureOr<Attrs> attrs = readAttrs(n, args);
  if (failed(n.checkNumInputs(9, 11)) || failed(attrs) ||
      failed(readProjections(n, attrs->heads, attrs->keyHeads, args)))
    return failure();
  Value pastKey = n.required(PastKey), pastValue = n.required(PastValue), lengths = n.required(KeyLengths),
        total = n.required(TotalLength);
  if (!pastKey || !pastValue || !lengths || !total || failed(n.checkRank(pastKey, 4, 4, "past_key")) ||
      failed(n.checkRank(pastValue, 4, 4, "past_value")) ||
      failed(checkSameElement(n, args.key, {pastKey, pastValue})) ||
      failed(n.checkRank(lengths, 1, 1, "key_total_sequence_lengths")))
    return failure();
  // The new keys are the last ones of each entry; in a prompt, the first.
  Type i64 = n.b.getI64Type();
  AffineExpr fresh = n.dim(args.query, 2);
  Expr newLength(n, extentScalar(n, fresh, i64)), all(n, n.cast(n.reshape(total, ArrayRef<int64_t>()), i64));
  Expr past = Expr(n, n.cast(lengths, i64)) - newLength;
  past = all.compare(tg::CmpPredicate::Eq, newLength).select(past.like(0), past);
  Value places = n.make<tg::AddOp>(n.unsqueeze(past, {1}), iota(n, 0, {fresh}, i64));
  if (attrs->rotary && failed(rotateByCaches(n, args, Cos, Sin, places, attrs->interleaved)))
    return failure();
  args.key = appendTo(n, pastKey, args.key, places, n.dim(pastKey, 2));
  args.value = appendTo(n, pastValue, args.value, places, n.dim(pastValue, 2));
  if (!args.query || !args.key || !args.value)
    return failure();
  n.output(1, args.key);
  n.output(2, args.value);
  ScoreDims dims = scoreDims(n, args.query, args.key);
  AffineExpr blocks;
  Value layouts = blockMask(n, attrs->heads, blocks);
  Value seen = seenBlocks(n, *attrs, layouts, blocks, places, dims.keys);
  if (!seen)
    return failure();
  AttentionMask mask(n, dims);
  mask.keep(seen);
  mask.causal(n.unsqueeze(past, {1, 2, 3}));
  return deliver(n, mergeHeads(n, attention(n, args, mask).result));
}

} // namespace

ArrayRef<OpEntry> getSparseAttentionOps() {
  static const OpEntry table[] = {
      {"com.microsoft", "SparseAttention", 1, anyOpset, sparseAttention, "past and present share a buffer"},
  };
  return table;
}

} // namespace weft::onnx
