// RNN, GRU and LSTM, unrolled over a small number of steps, else as a loop of the program. The products with the inputs
// of all steps are one contraction; each step then multiplies the state by the recurrence weights and applies the
// gates. Computes in f32 (f64 for f64).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Expr.h"
#include "Shared/Extents.h"
#include "Shared/Loops.h"
#include "Shared/Quantization.h"
#include "Shared/RecurrentActivation.h"

using namespace mlir;

namespace weft::onnx {
namespace {

/// Most steps (over all directions) that are unrolled: each costs some twenty ops and 20 ms of compile time. More, or a
/// symbolic number of them, are a loop of the program.
constexpr int64_t maxSteps = 128;

/// What a cell computes from its gates.
enum class Cell { Rnn, Gru, Lstm };

struct CellInfo {
  int64_t gates;
  SmallVector<StringRef> activations;
};

CellInfo cellInfo(Cell cell) {
  switch (cell) {
  case Cell::Rnn:
    return {1, {"Tanh"}};
  case Cell::Gru:
    return {3, {"Sigmoid", "Tanh"}};
  case Cell::Lstm:
    break;
  }
  return {4, {"Sigmoid", "Tanh", "Tanh"}};
}

/// Inputs in ONNX's order: X, W, R, B, sequence_lens, initial_h, initial_c, P.
constexpr unsigned maxOperands = 8;

/// Operands, attributes and extents of one node.
struct Recurrence {
  std::array<Value, maxOperands> operands; ///< Null where absent.
  Cell cell = Cell::Rnn;
  int64_t gates = 1, hidden = 0, directions = 1;
  std::optional<int64_t> steps; ///< Where they are unrolled.
  bool batchFirst = false, firstReverse = false;
  bool linearBeforeReset = false, coupleInputForget = false;
  bool roundsOperands = false; ///< X and the state are rounded to 8 bits in front of their products.
  std::optional<double> clip;
  SmallVector<RecurrentActivation> activations; ///< Those of direction 0, then those of direction 1.
  Type compute;
  AffineExpr batch, length;
};

/// Tensors of one direction, all in the compute type.
struct DirectionWeights {
  Value inputs;     ///< X * W^T and the biases that do not depend on the state: steps x batch x gates x hidden.
  Value recurrence; ///< gates x hidden x hidden.
  Value resetBias;  ///< GRU's bias of the hidden gate's recurrence (hidden), where it is inside the reset; else null.
  Value peepholes;  ///< 3 x hidden (input, output, forget) or null.
};

struct State {
  Value h, c;
};

/// Index `i` of dimension `axis`, which disappears.
Value pick(NodeContext &c, Value value, int64_t axis, int64_t i) {
  Value part = value ? c.slice(value, axis, i, c.constExpr(1)) : Value();
  return part ? c.squeeze(part, {axis}) : Value();
}

//===--- Reading ---===//

LogicalResult readAttributes(NodeContext &c, Recurrence &r) {
  FailureOr<unsigned> direction = c.choiceAttr("direction", {"forward", "reverse", "bidirectional"}, "forward");
  FailureOr<bool> layout = c.boolAttr("layout", false);
  FailureOr<bool> reset = r.cell == Cell::Gru ? c.boolAttr("linear_before_reset", false) : FailureOr<bool>(false);
  FailureOr<bool> couple = r.cell == Cell::Lstm ? c.boolAttr("input_forget", false) : FailureOr<bool>(false);
  if (failed(direction) || failed(layout) || failed(reset) || failed(couple))
    return failure();
  if (c.hasAttr("clip")) {
    FailureOr<double> clip = c.floatAttr("clip");
    if (failed(clip))
      return failure();
    if (!(*clip > 0))
      return c.error("expected attribute `clip` to be positive");
    r.clip = *clip;
  }
  r.directions = *direction == 2 ? 2 : 1;
  r.firstReverse = *direction == 1;
  r.batchFirst = *layout;
  r.linearBeforeReset = *reset;
  r.coupleInputForget = *couple;
  FailureOr<SmallVector<RecurrentActivation>> activations =
      readRecurrentActivations(c, cellInfo(r.cell).activations, r.directions);
  if (failed(activations))
    return failure();
  r.activations = *activations;
  return success();
}

/// Records an error unless `value` (which may be null) has extents `dims`.
LogicalResult checkDims(NodeContext &c, Value value, ArrayRef<AffineExpr> dims, StringRef what) {
  if (!value)
    return success();
  if (failed(c.checkRank(value, dims.size(), dims.size(), what)))
    return failure();
  for (auto [d, dim] : llvm::enumerate(dims))
    if (failed(c.assumeEqual(c.dim(value, d), dim, "dimension " + Twine(d) + " of `" + what + "`")))
      return failure();
  return success();
}

LogicalResult checkOperands(NodeContext &c, Recurrence &r) {
  auto [x, w, rec, bias, lengths, h, cell, peepholes] = r.operands;
  if (!x || !w || !rec || failed(c.checkRank(x, 3, 3, "X")) || failed(c.checkRank(w, 3, 3, "W")) ||
      failed(c.checkRank(rec, 3, 3, "R")))
    return failure();
  for (Value other : {w, rec, bias, h, cell, peepholes})
    if (failed(checkSameFloat(c, x, other, "W, R, B, initial states and P")))
      return failure();
  std::optional<int64_t> hidden = c.staticDim(rec, 2);
  if (!hidden)
    return c.unsupported("a symbolic hidden size is not supported", "fix the extent with --dim");
  r.length = c.dim(x, r.batchFirst ? 1 : 0);
  r.steps = tg::getConstant(r.length);
  if (r.steps.value_or(1) < 1 || *hidden < 1 || *hidden > (1 << 20))
    return c.error("expected at least one step and a hidden size in [1, 2^20], got " + c.extentsText(r.length) +
                   " and " + Twine(*hidden));
  if (r.steps && *r.steps > maxSteps / r.directions)
    r.steps.reset();
  r.hidden = *hidden;
  r.batch = c.dim(x, r.batchFirst ? 0 : 1);
  r.compute = computeType(c.elementType(x));
  if (c.hasAttr("hidden_size")) {
    FailureOr<int64_t> stated = c.intAttr("hidden_size");
    if (failed(stated) || *stated != *hidden)
      return c.error("expected attribute `hidden_size` to be the extent of `R`, " + Twine(*hidden));
  }
  AffineExpr directions = c.constExpr(r.directions), rows = c.constExpr(r.gates * r.hidden),
             state = c.constExpr(r.hidden);
  tg::Dims initial = r.batchFirst ? tg::Dims{r.batch, directions, state} : tg::Dims{directions, r.batch, state};
  bool lstm = r.cell == Cell::Lstm;
  return success(succeeded(checkDims(c, w, {directions, rows, c.dim(x, 2)}, "W")) &&
                 succeeded(checkDims(c, rec, {directions, rows, state}, "R")) &&
                 succeeded(checkDims(c, bias, {directions, c.constExpr(2 * r.gates * r.hidden)}, "B")) &&
                 succeeded(checkDims(c, lengths, {r.batch}, "sequence_lens")) &&
                 succeeded(checkDims(c, h, initial, "initial_h")) &&
                 (!lstm || (succeeded(checkDims(c, cell, initial, "initial_c")) &&
                            succeeded(checkDims(c, peepholes, {directions, c.constExpr(3 * r.hidden)}, "P")))));
}

/// `x` as ui8 would hold it, with the scale that all of it takes.
Value roundDynamically(NodeContext &c, Value x) {
  FailureOr<DynamicallyQuantized> narrow = quantizeDynamically(c, x);
  return failed(narrow) ? Value() : dequantize(c, narrow->tensor, narrow->scale, narrow->zeroPoint);
}

/// The weights of direction `d`; `x` is steps x batch x inputs in the compute type.
DirectionWeights readDirection(NodeContext &c, const Recurrence &r, Value x, int64_t d) {
  DirectionWeights weights;
  auto part = [&](unsigned i, ArrayRef<int64_t> shape) {
    return c.reshape(pick(c, c.cast(r.operands[i], r.compute), 0, d), shape);
  };
  int64_t inputs = c.staticDim(r.operands[1], 2).value_or(0);
  Value kernel = part(1, {r.gates, r.hidden, inputs});
  weights.recurrence = part(2, {r.gates, r.hidden, r.hidden});
  Expr projected(c, c.contract(x, kernel, "tbi,ghi->tbgh", r.compute));
  if (r.operands[3]) {
    Value both = part(3, {2, r.gates, r.hidden});
    Expr inputBias(c, pick(c, both, 0, 0)), stateBias(c, pick(c, both, 0, 1));
    if (r.linearBeforeReset) {
      weights.resetBias = pick(c, stateBias, 0, 2);
      Value outer = c.concat(
          {c.slice(stateBias, 0, 0, c.constExpr(2)), c.splat(0, RankedTensorType::get({1, r.hidden}, r.compute))}, 0);
      stateBias = Expr(c, outer);
    }
    projected = projected + (inputBias + stateBias);
  }
  weights.inputs = projected;
  if (r.cell == Cell::Lstm && r.operands[7])
    weights.peepholes = part(7, {3, r.hidden});
  return weights;
}

/// The initial state of direction `d` from input `i`: batch x hidden, zeros where absent.
Value initialState(NodeContext &c, const Recurrence &r, unsigned i, int64_t d) {
  if (!r.operands[i])
    return c.broadcastTo(c.scalar(0, r.compute), {r.batch, c.constExpr(r.hidden)});
  return pick(c, c.cast(r.operands[i], r.compute), r.batchFirst ? 1 : 0, d);
}

//===--- Cells ---===//

/// One activation, with clipping before it.
Expr activate(const Recurrence &r, int64_t d, unsigned which, Expr x) {
  unsigned perDirection = r.activations.size() / r.directions;
  if (r.clip)
    x = x.clamp(-*r.clip, *r.clip);
  return applyActivation(r.activations[d * perDirection + which], x);
}

State stepRnn(NodeContext &c, const Recurrence &r, const DirectionWeights &w, int64_t d, Value inputs, State state) {
  Expr gates = Expr(c, inputs) + Expr(c, c.contract(state.h, w.recurrence, "bk,ghk->bgh", r.compute));
  return {activate(r, d, 0, Expr(c, pick(c, gates, 1, 0))), {}};
}

State stepGru(NodeContext &c, const Recurrence &r, const DirectionWeights &w, int64_t d, Value inputs, State state) {
  Expr h(c, state.h);
  auto input = [&](int64_t gate) { return Expr(c, pick(c, inputs, 1, gate)); };
  auto recur = [&](Value from, int64_t gate) {
    return Expr(c, c.contract(from, pick(c, w.recurrence, 0, gate), "bk,hk->bh", r.compute));
  };
  Expr update = activate(r, d, 0, input(0) + recur(h, 0));
  Expr reset = activate(r, d, 0, input(1) + recur(h, 1));
  Expr inner = r.linearBeforeReset ? recur(h, 2) : recur(reset * h, 2);
  if (r.linearBeforeReset)
    inner = reset * (w.resetBias ? inner + Expr(c, w.resetBias) : inner);
  Expr candidate = activate(r, d, 1, input(2) + inner);
  return {(1.0 - update) * candidate + update * h, {}};
}

State stepLstm(NodeContext &c, const Recurrence &r, const DirectionWeights &w, int64_t d, Value inputs, State state) {
  Value h = r.roundsOperands ? roundDynamically(c, state.h) : state.h;
  Expr gates = Expr(c, inputs) + Expr(c, c.contract(h, w.recurrence, "bk,ghk->bgh", r.compute));
  Expr cell(c, state.c);
  // Gates in the order input, output, forget, cell; peepholes input, output, forget.
  auto gate = [&](int64_t i) { return Expr(c, pick(c, gates, 1, i)); };
  auto peep = [&](Expr x, int64_t i, Expr from) {
    return w.peepholes ? x + Expr(c, pick(c, w.peepholes, 0, i)) * from : x;
  };
  Expr input = activate(r, d, 0, peep(gate(0), 0, cell));
  Expr forget = r.coupleInputForget ? 1.0 - input : activate(r, d, 0, peep(gate(2), 2, cell));
  Expr next = forget * cell + input * activate(r, d, 1, gate(3));
  Expr output = activate(r, d, 0, peep(gate(1), 1, next));
  return {output * activate(r, d, 2, next), next};
}

State step(NodeContext &c, const Recurrence &r, const DirectionWeights &w, int64_t d, Value inputs, State state) {
  switch (r.cell) {
  case Cell::Rnn:
    return stepRnn(c, r, w, d, inputs, state);
  case Cell::Gru:
    return stepGru(c, r, w, d, inputs, state);
  case Cell::Lstm:
    break;
  }
  return stepLstm(c, r, w, d, inputs, state);
}

//===--- Unrolling ---===//

struct Unrolled {
  Value all; ///< steps x 1 x batch x hidden.
  State last;
};

/// One step at position `time` of the sequence: the output, and the state behind it. Past the end of a sequence
/// (`lengths`, batch x 1, may be null) the state stays and the output is 0.
Value advance(NodeContext &c, const Recurrence &r, const DirectionWeights &weights, int64_t d, Value inputs,
              Value lengths, Value time, State &state) {
  State next = step(c, r, weights, d, inputs, state);
  Value output = next.h;
  if (output && lengths) {
    Expr running = Expr(c, lengths).compare(tg::CmpPredicate::Gt, Expr(c, time));
    output = running.select(Expr(c, next.h), 0.0);
    next.h = running.select(Expr(c, next.h), Expr(c, state.h));
    if (next.c)
      next.c = running.select(Expr(c, next.c), Expr(c, state.c));
  }
  state = next;
  return output;
}

/// The steps of direction `d` as a loop of the program.
Unrolled runLoop(NodeContext &c, const Recurrence &r, const DirectionWeights &weights, State state, Value lengths,
                 int64_t d, bool reverse) {
  SmallVector<Value> initial{state.h};
  if (state.c)
    initial.push_back(state.c);
  SmallVector<ScannedValue> scanned{{weights.inputs, reverse}};
  if (lengths)
    scanned.push_back({iota(c, r.length), reverse});
  auto build = [&](ValueRange carried, ValueRange rows) -> FailureOr<LoopTurn> {
    State now{carried[0], state.c ? carried[1] : Value()};
    Value output = advance(c, r, weights, d, rows[0], lengths, lengths ? rows[1] : Value(), now);
    if (!output)
      return failure();
    LoopTurn turn{{now.h}, {c.unsqueeze(output, {0})}};
    if (now.c)
      turn.carried.push_back(now.c);
    return turn;
  };
  FailureOr<LoopResults> results = buildCountedLoop(c, "recurrence", r.length, initial, scanned, {reverse}, build);
  if (failed(results))
    return {};
  return {results->collected.front(), {results->carried[0], state.c ? results->carried[1] : Value()}};
}

/// Runs direction `d`. Past the end of a sequence (`lengths`, batch x 1, may be null) the state stays and the output is
/// 0; a reverse run meets those steps first.
Unrolled unroll(NodeContext &c, const Recurrence &r, Value x, Value lengths, int64_t d) {
  DirectionWeights weights = readDirection(c, r, x, d);
  State state{initialState(c, r, 5, d), r.cell == Cell::Lstm ? initialState(c, r, 6, d) : Value()};
  bool reverse = d == 1 || r.firstReverse;
  if (!r.steps)
    return runLoop(c, r, weights, state, lengths, d, reverse);
  SmallVector<Value> outputs(*r.steps);
  for (int64_t i = 0; i < *r.steps; ++i) {
    int64_t t = reverse ? *r.steps - 1 - i : i;
    Value time = lengths ? c.scalarInt(t, c.b.getI64Type()) : Value();
    Value output = advance(c, r, weights, d, pick(c, weights.inputs, 0, t), lengths, time, state);
    if (!output)
      return {};
    outputs[t] = c.unsqueeze(output, {0, 1});
  }
  return {c.concat(outputs, 0), state};
}

LogicalResult runRecurrence(NodeContext &c, Recurrence &r) {
  r.gates = cellInfo(r.cell).gates;
  if (failed(readAttributes(c, r)) || failed(checkOperands(c, r)))
    return failure();
  Type element = c.elementType(r.operands[0]);
  Value x = c.cast(r.operands[0], r.compute);
  if (r.roundsOperands)
    x = roundDynamically(c, x);
  if (r.batchFirst)
    x = c.transpose(x, {1, 0, 2});
  Value lengths = r.operands[4] ? c.unsqueeze(c.cast(r.operands[4], c.b.getI64Type()), {1}) : Value();

  SmallVector<Value> all, lastH, lastC;
  for (int64_t d = 0; d < r.directions; ++d) {
    Unrolled run = unroll(c, r, x, lengths, d);
    if (!run.all)
      return failure();
    all.push_back(run.all);
    lastH.push_back(c.unsqueeze(run.last.h, {0}));
    if (r.cell == Cell::Lstm)
      lastC.push_back(c.unsqueeze(run.last.c, {0}));
  }
  // steps x directions x batch x hidden, or batch first.
  auto arrange = [&](ArrayRef<Value> parts, int64_t axis, ArrayRef<int64_t> batchFirst) {
    Value joined = c.cast(c.concat(parts, axis), element);
    return r.batchFirst ? c.transpose(joined, batchFirst) : joined;
  };
  Value y = arrange(all, 1, {2, 0, 1, 3});
  c.output(0, y);
  c.output(1, arrange(lastH, 0, {1, 0, 2}));
  if (r.cell == Cell::Lstm)
    c.output(2, arrange(lastC, 0, {1, 0, 2}));
  return success(static_cast<bool>(y));
}

template <Cell cell> LogicalResult importRecurrent(NodeContext &c) {
  Recurrence r;
  r.cell = cell;
  unsigned most = cell == Cell::Lstm ? 8 : 6;
  if (failed(c.checkNumInputs(3, most)))
    return failure();
  for (unsigned i = 0; i < most; ++i)
    r.operands[i] = i < 3 ? c.required(i) : c.input(i);
  return runRecurrence(c, r);
}

/// Weights of 8 bits, directions x rows x (gates * hidden), with one scale and zero point for each direction or for
/// each of its columns: as LSTM has them, in f32.
Value dequantizeWeights(NodeContext &c, unsigned weights, unsigned scales) {
  Value x = c.required(weights), scale = c.required(scales), zero = c.required(scales + 1);
  if (!x || !scale || !zero || failed(c.checkRank(x, 3, 3, "W and R")))
    return {};
  if (!isQuantizedInt(c.elementType(x))) {
    (void)c.error("expected W and R of 8-bit integers, got " + typeName(c.elementType(x)));
    return {};
  }
  for (Value *parameter : {&scale, &zero}) {
    if (failed(c.checkRank(*parameter, 1, 2, "scales and zero points of W and R")))
      return {};
    *parameter = c.unsqueeze(*parameter, c.rank(*parameter) == 1 ? ArrayRef<int64_t>{1, 2} : ArrayRef<int64_t>{1});
  }
  return c.transpose(dequantize(c, x, scale, zero), {0, 2, 1});
}

/// LSTM with weights of 8 bits, before whose products X and, in each step, the states of all sequences are rounded to 8
/// bits.
LogicalResult importDynamicQuantizeLstm(NodeContext &c) {
  Recurrence r;
  r.cell = Cell::Lstm;
  r.roundsOperands = true;
  if (failed(c.checkNumInputs(12, 12)))
    return failure();
  for (unsigned i = 0; i < maxOperands; ++i)
    r.operands[i] = i == 0 ? c.required(i) : c.input(i);
  r.operands[1] = dequantizeWeights(c, 1, 8);
  r.operands[2] = dequantizeWeights(c, 2, 10);
  return runRecurrence(c, r);
}

} // namespace

ArrayRef<OpEntry> getRecurrentOps() {
  static const OpEntry ops[] = {
      {"", "RNN", 1, newestOpset, importRecurrent<Cell::Rnn>, "static hidden size"},
      {"", "GRU", 1, newestOpset, importRecurrent<Cell::Gru>, "static hidden size"},
      {"", "LSTM", 1, newestOpset, importRecurrent<Cell::Lstm>, "static hidden size"},
      {"com.microsoft", "DynamicQuantizeLSTM", 1, anyOpset, importDynamicQuantizeLstm, "static hidden size"},
  };
  return ops;
}

} // namespace weft::onnx
