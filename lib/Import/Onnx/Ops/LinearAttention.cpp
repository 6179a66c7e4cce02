// Recurrent attention relatives: LinearAttention, unrolled over a short length or else a loop of the program, and
// CausalConvWithState; of ONNX and of com.microsoft, which has more forms of both.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Attention.h"
#include "Shared/Common.h"
#include "Shared/Loops.h"
#include <cmath>

using namespace mlir;

namespace weft::onnx {

namespace {

//===----------------------------------------------------------------------===//
// LinearAttention (opset 27)
//===----------------------------------------------------------------------===//

/// Steps that are unrolled at most; each is about twelve ops. More, or a symbolic number, are turns of a loop.
constexpr int64_t maxSteps = 512;

/// Operands in f32: query B x H x T x D; key, decay B x G x T x D (decay's last extent may be 1); value B x G x T x E;
/// beta B x G x T x 1 (or one for all heads); state B x G x D x E.
struct Recurrence {
  Value query, key, value, decay, beta, state;
  int64_t queryHeads = 0, keyHeads = 0;
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
  // com.microsoft also lets several key heads share one of the queries.
  bool isInverse = n.domain() == "com.microsoft" && r.queryHeads > 0 && r.keyHeads % r.queryHeads == 0;
  if (r.keyHeads < 1 || r.queryHeads < 1 || (r.queryHeads % r.keyHeads != 0 && !isInverse))
    return n.error("expected q_num_heads to be a positive multiple of kv_num_heads, got " + Twine(r.queryHeads) +
                   " and " + Twine(r.keyHeads));
  r.query = headsOf(n, query, r.queryHeads, "query");
  r.key = headsOf(n, key, r.keyHeads, "key");
  r.value = headsOf(n, value, r.keyHeads, "value");
  if (!r.query || !r.key || !r.value ||
      failed(n.assumeEqual(n.dim(r.query, 3), n.dim(r.key, 3), "the widths of query and key")))
    return failure();
  if (r.queryHeads < r.keyHeads) {
    r.query = repeatAlong(n, r.query, 1, r.keyHeads / r.queryHeads);
    r.queryHeads = r.keyHeads;
  }
  bool gated = *rule == 1 || *rule == 3, delta = *rule >= 2;
  if (failed(readGates(n, r, gated, delta)))
    return failure();
  tg::Dims stateDims{n.dim(r.key, 0), n.dim(r.key, 1), n.dim(r.key, 3), n.dim(r.value, 3)};
  if (past && failed(n.checkRank(past, 4, 4, "past_state")))
    return failure();
  r.state = past ? n.cast(past, n.b.getF32Type()) : full(n, 0, n.b.getF32Type(), stateDims);
  std::optional<int64_t> width = n.staticDim(r.query, 3);
  if (*scale == 0 && (!width || *width == 0))
    return n.unsupported("the default scale of a symbolic or zero head width is not supported",
                         "give the attribute `scale`");
  r.scale = *scale != 0 ? *scale : 1.0 / std::sqrt(double(*width));
  return r;
}

/// What one step reads, each without the step's dimension; decay and beta may be null.
struct StepRow {
  Value query, key, value, decay, beta;
};

/// One step: decays the state, writes the key-value product, and returns the read-out B x H x E.
Value step(NodeContext &n, const Recurrence &r, Value &state, const StepRow &row) {
  Type f32 = n.b.getF32Type();
  Value value = row.value;
  if (row.decay)
    state = n.make<tg::MulOp>(state, n.unsqueeze(n.make<tg::ExpOp>(row.decay), {3}));
  if (row.beta)
    value = n.make<tg::MulOp>(row.beta, n.make<tg::SubOp>(value, n.contract(state, row.key, "bhde,bhd->bhe", f32)));
  Value written = n.make<tg::MulOp>(n.unsqueeze(row.key, {3}), n.unsqueeze(value, {2}));
  state = n.make<tg::AddOp>(state, written);
  // Query heads in groups that share the state of one key head.
  if (!row.query || !state)
    return {};
  tg::Dims dims = n.dims(row.query);
  Value grouped =
      n.reshape(row.query, {dims[0], n.constExpr(r.keyHeads), n.constExpr(r.queryHeads / r.keyHeads), dims[2]});
  Value read = n.contract(grouped, state, "bhgd,bhde->bhge", f32);
  return n.reshape(read, {dims[0], n.constExpr(r.queryHeads), n.dim(state, 3)});
}

/// The read-outs of all steps, B x H x T x E; the state becomes the last one.
Value unrolledSteps(NodeContext &n, Recurrence &r, int64_t steps) {
  SmallVector<Value> outputs;
  for (int64_t t = 0; t < steps; ++t) {
    auto at = [&](Value x) { return x ? n.squeeze(n.slice(x, 2, t, n.constExpr(1)), {2}) : x; };
    Value read = step(n, r, r.state, {at(r.query), at(r.key), at(r.value), at(r.decay), at(r.beta)});
    if (!read)
      return {};
    outputs.push_back(n.unsqueeze(read, {2}));
  }
  return n.concat(outputs, 2);
}

Value loopOfSteps(NodeContext &n, Recurrence &r) {
  SmallVector<ScannedValue> scanned;
  for (Value x : {r.query, r.key, r.value, r.decay, r.beta})
    if (x)
      scanned.push_back({n.transpose(x, {2, 0, 1, 3}), false});
  auto build = [&](ValueRange carried, ValueRange rows) -> FailureOr<LoopTurn> {
    Value state = carried.front();
    StepRow row{rows[0], rows[1], rows[2], {}, {}};
    unsigned next = 3;
    if (r.decay)
      row.decay = rows[next++];
    if (r.beta)
      row.beta = rows[next++];
    Value read = step(n, r, state, row);
    if (!read)
      return failure();
    return LoopTurn{{state}, {read}};
  };
  FailureOr<LoopResults> results =
      buildCountedLoop(n, "linear_attention", n.dim(r.query, 2), {r.state}, scanned, {false}, build);
  if (failed(results))
    return {};
  r.state = results->carried.front();
  return n.transpose(results->collected.front(), {1, 2, 0, 3});
}

LogicalResult linearAttention(NodeContext &n) {
  n.ignoreAttr("chunk_size"); // How it may be computed.
  FailureOr<Recurrence> r = readRecurrence(n);
  if (failed(r))
    return failure();
  std::optional<int64_t> steps = n.staticDim(r->query, 2);
  if (steps == 0)
    return n.error("expected a sequence of at least one step");
  Value all = steps && *steps <= maxSteps ? unrolledSteps(n, *r, *steps) : loopOfSteps(n, *r);
  if (!all)
    return failure();
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

/// How the operands lie and how far the taps are apart.
struct ConvForm {
  bool channelsLast = false;
  int64_t dilation = 1;
};

/// Attributes that com.microsoft has beside those of ONNX.
FailureOr<ConvForm> readConvForm(NodeContext &n) {
  ConvForm form;
  if (n.domain().empty())
    return form;
  FailureOr<int64_t> spatial = n.intAttr("ndim", 1), dilation = n.intAttr("dilation", 1);
  FailureOr<bool> last = n.boolAttr("channels_last", false);
  if (failed(spatial) || failed(dilation) || failed(last))
    return failure();
  if (*spatial != 1)
    return n.unsupported("attribute `ndim` = " + Twine(*spatial) + " is not supported", "1 is supported");
  if (*dilation < 1 || *dilation > (1 << 20))
    return n.error("expected attribute `dilation` in [1, 2^20], got " + Twine(*dilation));
  return ConvForm{*last, *dilation};
}

/// Batch x positions x channels.. as batch x channels x positions.
Value channelsToFront(NodeContext &n, Value x) {
  tg::Dims dims = n.dims(x);
  return n.transpose(n.reshape(x, {dims[0], dims[1], product(n, ArrayRef(dims).drop_front(2))}), {0, 2, 1});
}

/// Depthwise convolution over the past state and the input, of weight channels x 1 x k.
LogicalResult causalConv(NodeContext &n) {
  if (failed(n.checkNumInputs(2, 4)))
    return failure();
  Value given = n.required(0), weight = n.required(1), bias = n.input(2), past = n.input(3);
  FailureOr<unsigned> activation = n.choiceAttr("activation", {"none", "silu", "swish"}, "none");
  FailureOr<ConvForm> form = readConvForm(n);
  int64_t rank = given && succeeded(form) && form->channelsLast ? std::max<int64_t>(n.rank(given), 3) : 3;
  if (failed(activation) || failed(form) || failed(checkFloat(n, given, "input 0")) ||
      failed(checkSameElement(n, given, {weight, bias, past})) || failed(n.checkRank(given, rank, rank, "input 0")) ||
      !weight || failed(n.checkRank(weight, 3, 3, "weight")) || (bias && failed(n.checkRank(bias, 1, 1, "bias"))) ||
      (past && failed(n.checkRank(past, rank, rank, "past_state"))))
    return failure();
  Value x = form->channelsLast ? channelsToFront(n, given) : given;
  std::optional<int64_t> size = n.staticDim(weight, 2);
  if (!size || *size < 1 || *size > (1 << 20))
    return n.unsupported("a kernel of symbolic or zero extent is not supported");
  if (!x || failed(n.assumeEqual(n.dim(weight, 0), n.dim(x, 1), "the channels of weight and input")) ||
      failed(n.assumeEqual(n.dim(weight, 1), n.constExpr(1), "the channels of a group")))
    return failure();
  int64_t reach = (*size - 1) * form->dilation;
  tg::Dims stateDims = withDim(n.dims(x), 2, n.constExpr(reach));
  Value state = past ? form->channelsLast ? channelsToFront(n, past) : past : full(n, 0, n.elementType(x), stateDims);
  if (!state || (past && failed(n.assumeEqual(n.dim(state, 2), stateDims[2], "the length of past_state"))))
    return failure();
  // A kernel of extent 1 has an empty state, which passes through.
  Value padded = reach == 0 ? x : n.concat({state, x}, 2);
  Value windows = n.make<tg::WindowOp>(padded, n.b.getDenseI64ArrayAttr({2}), n.b.getDenseI64ArrayAttr({*size}),
                                       n.b.getDenseI64ArrayAttr({1}), n.b.getDenseI64ArrayAttr({form->dilation}));
  if (!windows)
    return failure();
  Value result = n.contract(windows, n.squeeze(weight, {1}), "bclk,ck->bcl", computeType(n.elementType(x)));
  if (bias)
    result = n.make<tg::AddOp>(result, n.unsqueeze(n.toCompute(bias), {1}));
  if (*activation != 0)
    result = swish(n, result);
  // Back to the layout of the input.
  auto asGiven = [&](Value y) {
    if (!y || !form->channelsLast)
      return y;
    Value moved = n.transpose(y, {0, 2, 1});
    return moved ? n.reshape(moved, withDim(n.dims(given), 1, n.dim(moved, 1))) : moved;
  };
  if (n.outputUsed(1))
    n.output(1, asGiven(reach == 0 ? state : lastPositions(n, padded, reach)));
  return deliver(n, asGiven(n.cast(result, n.elementType(x))));
}

} // namespace

ArrayRef<OpEntry> getLinearAttentionOps() {
  static const OpEntry table[] = {
      {"", "LinearAttention", 27, newestOpset, linearAttention, ""},
      {"", "CausalConvWithState", 27, newestOpset, causalConv, "static kernel extent"},
      {"com.microsoft", "LinearAttention", 1, anyOpset, linearAttention, "no state_window"},
      {"com.microsoft", "CausalConvWithState", 1, anyOpset, causalConv,
       "static kernel extent, 1 spatial dimension, no state_window"},
  };
  return table;
}

} // namespace weft::onnx
