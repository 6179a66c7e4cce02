// One lowering of scaled dot-product attention for every operator that has it, and rotary position embedding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of them end in one `tg.attention`. Masks are collected in an AttentionMask: rules that keep or drop a position
// combine as booleans, biases add up, and at the end there is at most one mask operand. Positions of queries and keys
// are absolute: query i of a block stands at `offset` + i, key j at j.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_ATTENTION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_ATTENTION_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// Extents of the scores: batch x heads x query length x key length.
struct ScoreDims {
  mlir::AffineExpr batch, heads, queries, keys;
};

/// Which keys a query sees, and what is added to its scores.
class AttentionMask {
public:
  AttentionMask(NodeContext &n, ScoreDims dims) : n(n), dims(dims) {}

  /// Keeps positions where `rule` (i1, broadcastable to the scores) holds. Null is an error recorded before.
  void keep(mlir::Value rule);
  /// Adds `bias` (float, broadcastable to the scores) to the scores.
  void add(mlir::Value bias);
  /// A mask operand as ONNX has it: boolean (keep) or float (add), rank 1 to 4, aligned at the last dimension. Where
  /// the last dimension is shorter than the keys (both static), what is missing is not attended.
  void addOperand(mlir::Value mask);

  /// Keeps j <= i + offset. A static offset stays an attribute of the composite.
  void causal(mlir::AffineExpr offset);
  /// The same with an offset for each batch entry: i64, broadcastable to the scores.
  void causal(mlir::Value offset);
  /// Keeps i + offset - left <= j (if left >= 0) and j <= i + offset + right (if right >= 0).
  void window(mlir::Value offset, int64_t left, int64_t right);
  /// Keeps j < length; `length` is i64 of extents [batch].
  void keyLength(mlir::Value length);

  bool ok() const { return !bad; }
  /// The mask operand, null for none, and the static causal offset.
  mlir::Value operand(mlir::Type scoreType);
  std::optional<int64_t> causalOffset() const { return staticCausal; }

  /// i + offset of each query, as i64 queries x 1 (or what the offset broadcasts it to).
  mlir::Value queryPositions(mlir::Value offset);
  /// j as i64, extents [keys].
  mlir::Value keyPositions();

private:
  NodeContext &n;
  ScoreDims dims;
  mlir::Value kept, bias;
  std::optional<int64_t> staticCausal;
  bool bad = false;
};

/// Operands and attributes of one attention. query B x H x S x D, key B x G x T x D, value B x G x T x E.
struct AttentionArgs {
  mlir::Value query, key, value;
  /// Factor of the scores; 0 means 1 / sqrt(D).
  double scale = 0;
  double softcap = 0;
  mlir::Type softmaxType;     ///< Null: the compute type of the query.
  int64_t scoresStage = 0;    ///< As tg.attention's.
  bool zeroMaskedRows = true; ///< A row without any key gives zeros; else NaN.
};

struct AttentionResult {
  mlir::Value result, scores; ///< B x H x S x E, B x H x S x T. Null after an error.
};
/// `mask` was built for the same extents.
AttentionResult attention(NodeContext &n, const AttentionArgs &args, AttentionMask &mask);

/// Batch x length x (heads * width) to batch x heads x length x width. `what` names the operand in errors.
mlir::Value splitHeads(NodeContext &n, mlir::Value x, int64_t heads, llvm::StringRef what);
/// Operands 0 to 2, query, key and value of com.microsoft's attentions, with heads split; where key and value are left
/// out, the query holds all three: (heads + 2 * keyHeads) * width columns.
llvm::LogicalResult readProjections(NodeContext &n, int64_t heads, int64_t keyHeads, AttentionArgs &args);
/// The inverse of `splitHeads`.
mlir::Value mergeHeads(NodeContext &n, mlir::Value x);
/// Extents of the scores of a query and a key of rank 4.
ScoreDims scoreDims(NodeContext &n, mlir::Value query, mlir::Value key);

/// `memory` with element target(d)[indices[source(d)]] = rows[d]; no two rows have the same index.
mlir::Value writeRows(NodeContext &n, mlir::Value memory, mlir::Value places, mlir::Value rows, mlir::AffineMap target,
                      mlir::AffineMap source);
/// `past` (B x G x P x D) in a buffer of `length` positions, at least P, with `fresh` (B x G x S x D) at the positions
/// `places` (B x S).
mlir::Value appendTo(NodeContext &n, mlir::Value past, mlir::Value fresh, mlir::Value places, mlir::AffineExpr length);

/// Rotates pairs of the first `rotary` elements of the last dimension of `x` (all of them if 0) by angles whose cosines
/// and sines are `cos` and `sin`, with rotary / 2 as last extent and broadcastable to x in the others. Pairs are (i, i
/// + rotary/2), or neighbours if `interleaved`. f16 and bf16 compute in f32 and round once.
mlir::Value rotate(NodeContext &n, mlir::Value x, mlir::Value cos, mlir::Value sin, bool interleaved, int64_t rotary);
/// The query and the key of `args` by the node's inputs `cos` and `sin`, a row for each of `places` (B x S).
llvm::LogicalResult rotateByCaches(NodeContext &n, AttentionArgs &args, unsigned cos, unsigned sin, mlir::Value places,
                                   bool interleaved);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_ATTENTION_H
