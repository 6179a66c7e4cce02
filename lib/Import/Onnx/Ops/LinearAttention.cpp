// Recurrent attention relatives: LinearAttention, unrolled over a static length, and CausalConvWithState.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Attention.h"
#include "Shared/Compose.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {

namespace {

//===----------------------------------------------------------------------===//
// LinearAttention (opset 27)
//===----------------------------------------------------------------------===//

/// Steps that are unrolled at most; each is about twelve ops.
constexpr int64_t maxSteps = 512;

/// Operands in f32: query B x H x T x D; key, decay B x G x T x D (decay's last extent may be 1); value B x G x T x E;
/// beta B x G x T x 1 (or one for all heads); state B x G x D x E.
struct Recurrence {
  Value query, key, value, decay, beta, state;
  int64_t queryHeads = 0, keyHeads = 0, steps = 0;
  double scale = 0;
};

/// A B x T x (heads * width) operand as B x heads x T x width in f32.
Value headsOf(NodeContext &n, Value x, int64_t heads, StringRef what) {
  return n.cast(splitHeads(n, x, heads, what), n.b.getF32Type());
}

/// Checks which of decay and beta the rule wants, and reads them.
LogicalResult readGates(NodeContext &n, Recurrence &r, bool gated, bool delta) {
  Value decay = n.input(4), beta = n.input(5);
  if (bool(decay) != gated)
    return n.error(gated ? "expected input decay for this update_rule"
                         : "expected no input decay for this update_rule");
  if (bool(beta) != delta)
    return n.error(delta ? "expected input beta for this update_rule" : "expected no input beta for this update_rule");
  if (decay) {
    r.decay = headsOf(n, decay, r.keyHeads, "decay");
    if (!r.decay)
      return failure();
    if (n.staticDim(r.decay, 3) != 1 &&
        failed(n.assumeEqual(n.dim(r.decay, 3), n.dim(r.key, 3), "the widths of decay and key")))
      return failure();
  }
  if (beta) {
    if (failed(n.checkRank(beta, 3, 3, "beta")))
      return failure();
    r.beta = headsOf(n, beta, n.staticDim(beta, 2) == 1 ? 1 : r.keyHeads, "beta");
    if (!r.beta)
      return failure();
    if (n.staticDim(r.beta, 3) != 1)
      return n.error("expected beta to have one number a head");
  }
  return success();
}

FailureOr<Recurrence> readRecurrence(NodeContext &n) {
  if (failed(n.checkNumInputs(3, 6)))
    return failure();
  Recurrence r;
  FailureOr<int64_t> queryHeads = n.intAttr("q_num_heads"), keyHeads = n.intAttr("kv_num_heads");
  FailureOr<double> scale = n.floatAttr("scale", 0.0);
  FailureOr<unsigned> rule = n.choiceAttr("update_rule", {"linear", "gated", "delta", "gated_delta"}, "gated_delta");
  Value query = n.required(0), key = n.required(1), value = n.required(2), past = n.input(3);
  if (failed(queryHeads) || failed(keyHeads) || failed(scale) || failed(rule) ||
      failed(checkFloat(n, query, "query")) || failed(checkSameElement(n, query, {key, value})))
    return failure();
  r.queryHeads = *queryHeads;
  r.keyHeads = *keyHeads;
  if (r.keyHeads < 1 || r.queryHeads < 1 || r.queryHeads % r.keyHeads != 0)
    return n.error("expected q_num_heads to be a positive multiple of kv_num_heads, got " + Twine(r.queryHeads) +
                   " and " + Twine(r.keyHeads));
  r.query = headsOf(n, query, r.queryHeads, "query");
  r.key = headsOf(n, key, r.keyHeads, "key");
  r.value = headsOf(n, value, r.keyHeads, "value");
  if (!r.query || !r.key || !r.value ||
      failed(n.assumeEqual(n.dim(r.query, 3), n.dim(r.key, 3), "the widths of query and key")))
    return failure();
  bool gated = *rule == 1 || *rule == 3, delta = *rule >= 2;
  if (failed(readGates(n, r, gated, delta)))
    return failure();
  tg::Dims stateDims{n.dim(r.key, 0), n.dim(r.key, 1), n.dim(r.key, 3), n.dim(r.value, 3)};
  if (past && failed(n.checkRank(past, 4, 4, "past_state")))
    return failure();
  r.state = past ? n.cast(past, n.b.getF32Type()) : full(n, 0, n.b.getF32Type(), stateDims);
  std::optional<int64_t> steps = n.staticDim(r.query, 2), width = n.staticDim(r.query, 3);
  if (!steps || *steps < 1 || *steps > maxSteps)
    return n.unsupported("a sequence length that is not static and within [1, " + Twine(maxSteps) +
                             "] is not supported",
                         "bind the sequence length with --bind");
  if (*scale == 0 && (!width || *width == 0))
    return n.unsupported("the default scale of a symbolic or zero head width is not supported",
                         "give the attribute `scale`");
  r.steps = *steps;
  r.scale = *scale != 0 ? *scale : 1.0 / std::sqrt(double(*width));
  return r;
}

/// Step `t` of `x` (heads, step, width), with the step's dimension gone.
Value at(NodeContext &n, Value x, int64_t t) { return n.squeeze(n.slice(x, 2, t, n.constExpr(1)), {2}); }

/// One step: decays the state, writes the key-value product, and returns the read-out B x H x 1 x E.
Value step(NodeContext &n, Recurrence &r, int64_t t) {
  Type f32 = n.b.getF32Type();
  Value key = at(n, r.key, t), value = at(n, r.value, t);
  if (r.decay)
    r.state = n.make<tg::MulOp>(r.state, n.unsqueeze(n.make<tg::ExpOp>(at(n, r.decay, t)), {3}));
  if (r.beta)
    value =
        n.make<tg::MulOp>(at(n, r.beta, t), n.make<tg::SubOp>(value, n.contract(r.state, key, "bhde,bhd->bhe", f32)));
  Value written = n.make<tg::MulOp>(n.unsqueeze(key, {3}), n.unsqueeze(value, {2}));
  r.state = n.make<tg::AddOp>(r.state, written);
  // Query heads in groups that share the state of one key head.
  Value query = at(n, r.query, t);
  if (!query || !r.state)
    return {};
  tg::Dims dims = n.dims(query);
  Value grouped = n.reshape(query, {dims[0], n.constExpr(r.keyHeads), n.constExpr(r.queryHeads / r.keyHeads), dims[2]});
  Value read = n.contract(grouped, r.state, "bhgd,bhde->bhge", f32);
  return n.reshape(read, {dims[0], n.constExpr(r.queryHeads), n.constExpr(1), n.dim(r.state, 3)});
}

LogicalResult linearAttention(NodeContext &n) {
  FailureOr<Recurrence> r = readRecurrence(n);
  if (failed(r))
    return failure();
  SmallVector<Value> outputs;
  for (int64_t t = 0; t < r->steps; ++t) {
    Value read = step(n, *r, t);
    if (!read)
      return failure();
    outputs.push_back(read);
  }
  Value all = n.concat(outputs, 2);
  Value result = mergeHeads(n, n.make<tg::MulOp>(all, scalarLike(n, r->scale, all)));
  Value past = n.input(3);
  n.output(1, n.cast(r->state, n.elementType(past ? past : n.required(0))));
  return deliver(n, n.cast(result, n.elementType(n.required(0))));
}

//===----------------------------------------------------------------------===//
// CausalConvWithState (opset 27)
//===----------------------------------------------------------------------===//

/// The last `count` positions along dimension 2.
Value lastPositions(NodeContext &n, Value x, int64_t count) {
  AffineExpr start = tg::simplify(n.dim(x, 2) - count);
  if (std::optional<int64_t> offset = tg::getConstant(start))
    return n.slice(x, 2, *offset, n.constExpr(count));
  Type index = n.b.getI64Type();
  return take(n, x, n.make<tg::AddOp>(iota(n, 0, {n.constExpr(count)}, index), extentScalar(n, start, index)), 2);
}

/// Depthwise convolution over the past state and the input, of weight channels x 1 x k.
LogicalResult causalConv(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 4)))
    return failure();
  Value x = n.required(0), weight = n.required(1), bias = n.input(2), past = n.input(3);
  FailureOr<unsigned> activation = n.choiceAttr("activation", {"none", "silu", "swish"}, "none");
  if (failed(activation) || failed(checkFloat(n, x, "input 0")) ||
      failed(checkSameElement(n, x, {weight, bias, past})) || failed(n.checkRank(x, 3, 3, "input 0")) || !weight ||
      failed(n.checkRank(weight, 3, 3, "weight")) || (bias && failed(n.checkRank(bias, 1, 1, "bias"))) ||
      (past && failed(n.checkRank(past, 3, 3, "past_state"))))
    return failure();
  std::optional<int64_t> size = n.staticDim(weight, 2);
  if (!size || *size < 1)
    return n.unsupported("a kernel of symbolic or zero extent is not supported");
  if (failed(n.assumeEqual(n.dim(weight, 0), n.dim(x, 1), "the channels of weight and input")) ||
      failed(n.assumeEqual(n.dim(weight, 1), n.constExpr(1), "the channels of a group")))
    return failure();
  tg::Dims stateDims = withDim(n.dims(x), 2, n.constExpr(*size - 1));
  Value state = past ? past : full(n, 0, n.elementType(x), stateDims);
  if (past && failed(n.assumeEqual(n.dim(past, 2), stateDims[2], "the length of past_state")))
    return failure();
  // A kernel of extent 1 has an empty state, which passes through.
  Value padded = *size == 1 ? x : n.concat({state, x}, 2);
  Value windows = n.make<tg::WindowOp>(padded, n.b.getDenseI64ArrayAttr({2}), n.b.getDenseI64ArrayAttr({*size}),
                                       n.b.getDenseI64ArrayAttr({1}), n.b.getDenseI64ArrayAttr({1}));
  if (!windows)
    return failure();
  Value result = n.contract(windows, n.squeeze(weight, {1}), "bclk,ck->bcl", computeType(n.elementType(x)));
  if (bias)
    result = n.make<tg::AddOp>(result, n.unsqueeze(n.toCompute(bias), {1}));
  if (*activation != 0)
    result = swish(n, result);
  if (n.outputUsed(1))
    n.output(1, *size == 1 ? state : lastPositions(n, padded, *size - 1));
  return deliver(n, n.cast(result, n.elementType(x)));
}

} // namespace

ArrayRef<OpEntry> getLinearAttentionOps() {
  static const OpEntry table[] = {
      {"", "LinearAttention", 27, newestOpset, linearAttention, "static sequence length of at most 512"},
      {"", "CausalConvWithState", 27, newestOpset, causalConv, "static kernel extent"},
  };
  return table;
}

} // namespace weft::onnx
