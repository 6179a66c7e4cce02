// Control flow: branches are chosen, small ones both computed and selected between, loops with a known trip count
// unrolled. The rest are branches and loops of the program (Shared/Loops.h).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Extents.h"
#include "Shared/Loops.h"
#include "Shared/RuntimeShapes.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Import/Onnx/ModelReader.h"
#include "llvm/ADT/StringSwitch.h"
#include <onnx/onnx_pb.h>

using namespace weft;
using namespace weft::onnx;
using llvm::SmallVector;
using mlir::failure;
using mlir::FailureOr;
using mlir::success;
using mlir::Value;

/// A condition as a rank-0 boolean; null after an error.
static Value conditionOperand(NodeContext &ctx, Value condition) {
  if (!condition || failed(ctx.checkTensor(condition, "the condition")))
    return {};
  mlir::AffineExpr count = tg::getNumElements(condition.getType());
  if (!ctx.elementType(condition).isInteger(1) || tg::getConstant(count).value_or(1) != 1) {
    (void)ctx.error("expected a condition of one boolean");
    return {};
  }
  if (failed(ctx.assumeEqual(count, ctx.constExpr(1), "booleans of the condition")))
    return {};
  return ctx.reshape(condition, llvm::ArrayRef<int64_t>());
}

//===--- If ---===//

/// `x` where the condition holds, else `y`, of the same type; lists element by element.
static Value selectValue(NodeContext &ctx, Value condition, Value x, Value y) {
  if (x == y)
    return x;
  if (!NodeContext::isList(x))
    return ctx.make<tg::SelectOp>(condition, x, y);
  if (Value rows = NodeContext::stackedRows(x))
    return ctx.stackedList(selectValue(ctx, condition, rows, NodeContext::stackedRows(y)));
  SmallVector<Value> elements;
  for (auto [a, b] : llvm::zip(NodeContext::elements(x), NodeContext::elements(y)))
    elements.push_back(selectValue(ctx, condition, a, b));
  return ctx.list(elements, NodeContext::isEmptyOptional(x));
}

/// Neither branch has effects, so an unknown condition selects between the results of both.
static llvm::LogicalResult selectBranches(NodeContext &ctx, Value condition, const ::onnx::GraphProto &thenGraph,
                                          const ::onnx::GraphProto &elseGraph) {
  auto onTrue = ctx.inlineGraph(thenGraph, {}), onFalse = ctx.inlineGraph(elseGraph, {});
  if (failed(onTrue) || failed(onFalse))
    return failure();
  if (onTrue->size() != onFalse->size() || onTrue->size() < ctx.numOutputs())
    return ctx.error("expected " + llvm::Twine(ctx.numOutputs()) + " outputs of both branches, got " +
                     llvm::Twine(onTrue->size()) + " and " + llvm::Twine(onFalse->size()));
  for (unsigned i = 0; i < ctx.numOutputs(); ++i) {
    Value x = (*onTrue)[i], y = (*onFalse)[i];
    if (x.getType() != y.getType())
      return NodeContext::isList(x) || NodeContext::isList(y)
                 ? ctx.unsupported("the condition is not known at compile time and the branches give different types",
                                   "if it comes from a graph input, fix that with --bind")
                 : importRuntimeIf(ctx, condition, thenGraph, elseGraph);
    ctx.output(i, selectValue(ctx, condition, x, y));
  }
  return success();
}

/// Whether computing a branch costs less than asking for the condition: nothing that may fail, or has a body itself.
static bool isSmall(const ::onnx::GraphProto &graph) {
  constexpr int maxSelected = 2;
  return graph.node_size() <= maxSelected && llvm::all_of(graph.node(), [](const ::onnx::NodeProto &node) {
           return llvm::StringSwitch<bool>(node.op_type())
               .Cases({"Identity", "Constant", "Add", "Sub", "Mul", "Neg", "Not", "Relu", "Cast"}, true)
               .StartsWith("Sequence", true)
               .StartsWith("Optional", true)
               .Default(false);
         });
}

/// Whether outputs of `graph` are sequences or optionals.
static bool givesLists(const ::onnx::GraphProto &graph) {
  return llvm::any_of(graph.output(), [](const ::onnx::ValueInfoProto &output) {
    return output.type().has_sequence_type() || output.type().has_optional_type();
  });
}

/// Branches of lists: of as many elements both, they are selected between; else the branch is taken that gives as many
/// as the user says, and the program checks the condition.
static llvm::LogicalResult importIfOfLists(NodeContext &ctx, Value condition, const ::onnx::GraphProto &thenGraph,
                                           const ::onnx::GraphProto &elseGraph) {
  auto onTrue = ctx.inlineGraph(thenGraph, {}), onFalse = ctx.inlineGraph(elseGraph, {});
  if (failed(onTrue) || failed(onFalse))
    return failure();
  auto typesOf = [](llvm::ArrayRef<Value> values) {
    return SmallVector<mlir::Type>(mlir::ValueRange(values).getTypes());
  };
  if (typesOf(*onTrue) == typesOf(*onFalse) || onTrue->size() != onFalse->size())
    return selectBranches(ctx, condition, thenGraph, elseGraph);
  auto count = [](Value value) { return static_cast<int64_t>(NodeContext::elements(value).size()); };
  for (unsigned i = 0; i < std::min<size_t>(ctx.numOutputs(), onTrue->size()); ++i) {
    Value x = (*onTrue)[i], y = (*onFalse)[i];
    if (!NodeContext::isList(x) || !NodeContext::isList(y) || NodeContext::stackedRows(x) ||
        NodeContext::stackedRows(y) || count(x) == count(y))
      continue;
    std::optional<int64_t> told = ctx.toldElements(i);
    if (told && (*told == count(x) || *told == count(y))) {
      bool isTrue = *told == count(x);
      for (unsigned k = 0; k < ctx.numOutputs(); ++k)
        ctx.output(k, isTrue ? (*onTrue)[k] : (*onFalse)[k]);
      return assumeNumber(ctx, condition, isTrue, "condition of the branch that gives the told number of elements");
    }
    return ctx.needsElements(i, "the branches give " + llvm::Twine(count(x)) + " and " + llvm::Twine(count(y)) +
                                    " elements, and the condition is not known at compile time");
  }
  return selectBranches(ctx, condition, thenGraph, elseGraph);
}

static llvm::LogicalResult importIf(NodeContext &ctx) {
  Value condition = conditionOperand(ctx, ctx.required(0));
  auto thenGraph = ctx.graphAttr("then_branch"), elseGraph = ctx.graphAttr("else_branch");
  if (!condition || failed(thenGraph) || failed(elseGraph))
    return failure();
  std::optional<int64_t> known = ctx.constantInt(condition);
  if (!known && (givesLists(**thenGraph) || givesLists(**elseGraph)))
    return importIfOfLists(ctx, condition, **thenGraph, **elseGraph);
  if (!known && isSmall(**thenGraph) && isSmall(**elseGraph))
    return selectBranches(ctx, condition, **thenGraph, **elseGraph);
  if (!known)
    return importRuntimeIf(ctx, condition, **thenGraph, **elseGraph);
  auto results = ctx.inlineGraph(*known ? **thenGraph : **elseGraph, {});
  if (failed(results))
    return failure();
  if (results->size() < ctx.numOutputs())
    return ctx.error("expected " + llvm::Twine(ctx.numOutputs()) + " outputs of the branch, got " +
                     llvm::Twine(results->size()));
  for (unsigned i = 0; i < ctx.numOutputs(); ++i)
    ctx.output(i, (*results)[i]);
  return success();
}

//===--- Loop ---===//

/// Pieces along a new (or, for Scan, given) axis, in the order of iterations. None at all: zeros of the extents that
/// the body declares.
static Value joinPieces(NodeContext &ctx, llvm::ArrayRef<Value> pieces, int64_t axis,
                        const ::onnx::ValueInfoProto &declared) {
  if (!pieces.empty()) {
    SmallVector<Value> unsqueezed;
    for (Value piece : pieces) {
      if (axis > ctx.rank(piece)) {
        (void)ctx.error("scan output axis " + llvm::Twine(axis) + " is out of range");
        return {};
      }
      unsqueezed.push_back(ctx.unsqueeze(piece, axis));
    }
    return ctx.concat(unsqueezed, axis);
  }
  mlir::RankedTensorType type = ctx.declaredType(declared);
  if (!type)
    return {};
  SmallVector<int64_t> shape(type.getShape());
  if (!type.hasStaticShape() || axis > static_cast<int64_t>(shape.size())) {
    (void)ctx.unsupported("no iteration runs, and the body does not declare the extents of output `" + declared.name() +
                          "`");
    return {};
  }
  shape.insert(shape.begin() + axis, 0);
  return ctx.splat(0, mlir::RankedTensorType::get(shape, type.getElementType()));
}

namespace {

/// Bounds of a Loop known at import.
struct LoopBounds {
  int64_t trips; ///< Largest number of iterations.
  bool limited;  ///< Whether `trips` is the model's own number rather than our cap.
  bool runs;     ///< The initial condition.
};

} // namespace

static FailureOr<LoopBounds> loopBounds(NodeContext &ctx) {
  LoopBounds bounds{ctx.limits().maxTripCount, false, true};
  if (ctx.input(0)) {
    if (failed(ctx.checkTensor(ctx.input(0), "the trip count")))
      return failure();
    FailureOr<SmallVector<int64_t>> trips = ctx.requiredInts(0, "trip count");
    if (failed(trips))
      return failure();
    if (trips->size() != 1)
      return ctx.error("expected one trip count, got " + llvm::Twine(trips->size()));
    bounds.limited = trips->front() <= bounds.trips;
    bounds.trips = std::clamp<int64_t>(trips->front(), 0, bounds.trips);
  }
  if (ctx.input(1)) {
    Value condition = conditionOperand(ctx, ctx.input(1));
    if (!condition)
      return failure();
    std::optional<int64_t> runs = ctx.constantInt(condition);
    if (!runs)
      return FailureOr<LoopBounds>(ctx.needsConstant(1, "condition"));
    bounds.runs = *runs != 0;
  }
  return bounds;
}

/// Nodes that unrolling a loop may expand to; a loop of the program takes a hundredth of the time to compile and, on
/// the CPU, no longer to run.
static constexpr int64_t maxUnrolledNodes = 256;

static int64_t countNodes(const ::onnx::GraphProto &graph) {
  int64_t count = graph.node_size();
  for (const auto &node : graph.node())
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        count += countNodes(attribute.g());
  return count;
}

static bool isWorthUnrolling(const ::onnx::GraphProto &body, int64_t turns) {
  return turns * std::max<int64_t>(countNodes(body), 1) <= maxUnrolledNodes;
}

/// Whether a turn gives what the next one takes, so that the turns can be those of a loop of the program.
static bool keepsTypes(mlir::ValueRange carried, mlir::ValueRange results) {
  auto keeps = [](auto pair) {
    auto [before, after] = pair;
    return !NodeContext::isList(after) && before.getType() == after.getType();
  };
  return llvm::all_of(llvm::zip_first(carried, results), keeps) && llvm::none_of(results, NodeContext::isList);
}

/// Whether a loop can be unrolled, for what is known in front of it.
static bool hasKnownBounds(NodeContext &ctx) {
  Value trips = ctx.input(0), condition = ctx.input(1);
  if (trips && !NodeContext::isList(trips)) {
    std::optional<int64_t> count = ctx.constantInt(trips);
    if (!count || *count > ctx.limits().maxTripCount)
      return false;
  }
  return !condition || NodeContext::isList(condition) || ctx.constantInt(condition);
}

/// Whether a loop changes lists in other ways than a scan output does, or gives some that the user says the length of.
static bool needsTurns(const NodeContext &ctx, const ::onnx::GraphProto &body) {
  for (unsigned i = 2; i < ctx.numInputs(); ++i)
    if (ctx.input(i) && NodeContext::isList(ctx.input(i)) &&
        (ctx.toldElements(i - 2) || (!isPassedOn(body, i) && !isOnlyAppended(body, i))))
      return true;
  return false;
}

static llvm::LogicalResult importLoop(NodeContext &ctx) {
  auto body = ctx.graphAttr("body");
  if (failed(body))
    return failure();
  if (!hasKnownBounds(ctx))
    return needsTurns(ctx, **body) ? importToldLoop(ctx, **body) : importRuntimeLoop(ctx, **body);
  FailureOr<LoopBounds> bounds = loopBounds(ctx);
  if (failed(bounds))
    return failure();
  SmallVector<Value> carried;
  for (unsigned i = 2; i < ctx.numInputs(); ++i) {
    carried.push_back(ctx.required(i));
    if (!carried.back())
      return failure();
  }
  int scans = (*body)->output_size() - 1 - static_cast<int>(carried.size());
  if (scans < 0 || ctx.numOutputs() > carried.size() + scans)
    return ctx.error("expected at least " + llvm::Twine(carried.size() + 1) + " outputs of the body, got " +
                     llvm::Twine((*body)->output_size()));
  std::vector<SmallVector<Value>> pieces(scans);
  bool runs = bounds->runs;
  for (int64_t trip = 0; runs; ++trip) {
    if (trip == bounds->trips && bounds->limited)
      break;
    if (trip == bounds->trips)
      return ctx.limit("the loop runs for more than " + llvm::Twine(bounds->trips) + " iterations",
                       "raise the limit with --max-trip-count");
    SmallVector<Value> inputs{ctx.scalarInt(trip, ctx.b.getI64Type()), ctx.scalarInt(1, ctx.b.getI1Type())};
    inputs.append(carried.begin(), carried.end());
    auto results = ctx.inlineGraph(**body, inputs);
    if (failed(results))
      return failure();
    std::optional<int64_t> next = ctx.constantInt(results->front());
    // The turn that was built is dead then.
    bool isLong = trip == 0 && bounds->limited && !isWorthUnrolling(**body, bounds->trips);
    if ((!next && trip == 0) || (isLong && keepsTypes(carried, llvm::ArrayRef(*results).drop_front())))
      return importRuntimeLoop(ctx, **body);
    if (!next)
      return ctx.unsupported("the loop's condition depends on data after " + llvm::Twine(trip) + " iterations");
    runs = *next != 0;
    for (size_t i = 0; i < carried.size(); ++i)
      carried[i] = (*results)[1 + i];
    for (int i = 0; i < scans; ++i) {
      pieces[i].push_back((*results)[1 + carried.size() + i]);
      if (failed(ctx.checkTensor(pieces[i].back(), "scan output " + llvm::Twine(i))))
        return failure();
    }
  }
  for (auto [i, value] : llvm::enumerate(carried))
    ctx.output(i, value);
  for (int i = 0; i < scans; ++i)
    if (auto output = static_cast<unsigned>(carried.size() + i); ctx.outputUsed(output))
      ctx.output(output, joinPieces(ctx, pieces[i], 0, (*body)->output(static_cast<int>(output) + 1)));
  return success();
}

//===--- Scan ---===//

namespace {

struct ScanPlan {
  int64_t states = 0, inputs = 0, outputs = 0;
  SmallVector<int64_t> inputAxes, outputAxes;
  SmallVector<int64_t> inputReversed, outputReversed;
  mlir::AffineExpr extent;       ///< Number of turns.
  std::optional<int64_t> length; ///< The same, where it is known.
};

} // namespace

/// One number for each of `count` scan inputs or outputs.
static FailureOr<SmallVector<int64_t>> scanList(NodeContext &ctx, llvm::StringRef name, int64_t count) {
  FailureOr<SmallVector<int64_t>> list = ctx.intsAttr(name, SmallVector<int64_t>(count, 0));
  if (succeeded(list) && static_cast<int64_t>(list->size()) != count)
    return ctx.error("expected " + llvm::Twine(count) + " entries of attribute `" + name + "`, got " +
                     llvm::Twine(list->size()));
  return list;
}

/// What a scan reads: the states that it carries and the values that it goes along.
struct ScanOperands {
  SmallVector<Value> states, wholes;
};

static FailureOr<ScanPlan> planScan(NodeContext &ctx, const ::onnx::GraphProto &body, const ScanOperands &operands) {
  ScanPlan plan;
  plan.inputs = static_cast<int64_t>(operands.wholes.size());
  plan.states = static_cast<int64_t>(operands.states.size());
  plan.outputs = body.output_size() - plan.states;
  if (plan.outputs < 0 || static_cast<int64_t>(ctx.numOutputs()) > plan.states + plan.outputs)
    return ctx.error("the body has too few outputs");
  auto inputAxes = scanList(ctx, "scan_input_axes", plan.inputs),
       inputDirections = scanList(ctx, ctx.opset < 9 ? "directions" : "scan_input_directions", plan.inputs);
  auto outputAxes = scanList(ctx, "scan_output_axes", plan.outputs),
       outputDirections = scanList(ctx, "scan_output_directions", plan.outputs);
  if (failed(inputAxes) || failed(inputDirections) || failed(outputAxes) || failed(outputDirections))
    return failure();
  plan.inputReversed = *inputDirections;
  plan.outputAxes = *outputAxes;
  plan.outputReversed = *outputDirections;
  for (auto [i, axis] : llvm::enumerate(*inputAxes)) {
    Value input = operands.wholes[i];
    FailureOr<int64_t> normal = ctx.normalizeAxis(axis, ctx.rank(input));
    if (failed(normal))
      return failure();
    plan.inputAxes.push_back(*normal);
    mlir::AffineExpr length = ctx.dim(input, *normal);
    if (i > 0 && failed(ctx.assumeEqual(plan.extent, length, "scan inputs")))
      return failure();
    if (i == 0 || tg::getConstant(length))
      plan.extent = length;
  }
  plan.length = tg::getConstant(plan.extent);
  return plan;
}

/// The outputs, in their order; null where nobody asked for one.
using ScanResults = FailureOr<SmallVector<Value>>;

/// A loop of the program over a length that is symbolic, or too long to unroll.
static ScanResults runtimeScan(NodeContext &ctx, const ::onnx::GraphProto &body, const ScanPlan &plan,
                               const ScanOperands &operands) {
  SmallVector<ScannedValue> scanned;
  for (auto [whole, axis, isReversed] : llvm::zip(operands.wholes, plan.inputAxes, plan.inputReversed)) {
    SmallVector<int64_t> order{axis};
    for (int64_t d = 0; d < ctx.rank(whole); ++d)
      if (d != axis)
        order.push_back(d);
    scanned.push_back({ctx.transpose(whole, order), isReversed != 0});
  }
  SmallVector<bool> reversed;
  for (int64_t i = 0; i < plan.outputs; ++i)
    reversed.push_back(plan.outputReversed[i] != 0);
  auto build = [&](mlir::ValueRange carried, mlir::ValueRange rows) -> FailureOr<LoopTurn> {
    SmallVector<Value> inputs(carried);
    llvm::append_range(inputs, rows);
    FailureOr<SmallVector<Value>> results = ctx.inlineGraph(body, inputs);
    if (failed(results))
      return failure();
    for (size_t i = plan.states; i < results->size(); ++i)
      (*results)[i] = withDeclaredExtents(ctx, (*results)[i], body.output(static_cast<int>(i)));
    llvm::ArrayRef<Value> all(*results);
    return LoopTurn{SmallVector<Value>(all.take_front(plan.states)), SmallVector<Value>(all.drop_front(plan.states))};
  };
  FailureOr<LoopResults> found = buildCountedLoop(ctx, "scan", plan.extent, operands.states, scanned, reversed, build);
  if (failed(found))
    return failure();
  SmallVector<Value> results = found->carried;
  for (auto [i, value] : llvm::enumerate(found->collected)) {
    FailureOr<int64_t> axis = ctx.normalizeAxis(plan.outputAxes[i], ctx.rank(value));
    if (failed(axis))
      return failure();
    SmallVector<int64_t> order;
    for (int64_t d = 1; d < ctx.rank(value); ++d)
      order.push_back(d);
    order.insert(order.begin() + *axis, 0);
    results.push_back(ctx.transpose(value, order));
  }
  return results;
}

static ScanResults unrolledScan(NodeContext &ctx, const ::onnx::GraphProto &body, const ScanPlan &plan,
                                const ScanOperands &operands) {
  SmallVector<Value> states = operands.states;
  std::vector<SmallVector<Value>> pieces(plan.outputs);
  for (int64_t trip = 0; trip < *plan.length; ++trip) {
    SmallVector<Value> inputs = states;
    for (int64_t i = 0; i < plan.inputs; ++i) {
      int64_t place = plan.inputReversed[i] ? *plan.length - 1 - trip : trip, axis = plan.inputAxes[i];
      inputs.push_back(ctx.squeeze(ctx.slice(operands.wholes[i], axis, place, ctx.constExpr(1)), axis));
    }
    if (llvm::is_contained(inputs, Value()))
      return failure();
    auto results = ctx.inlineGraph(body, inputs);
    if (failed(results))
      return failure();
    for (Value result : *results)
      if (failed(ctx.checkTensor(result, "an output of the body")))
        return failure();
    for (int64_t i = 0; i < plan.states; ++i)
      states[i] = (*results)[i];
    for (int64_t i = 0; i < plan.outputs; ++i)
      pieces[i].push_back((*results)[plan.states + i]);
  }
  SmallVector<Value> results = states;
  for (int64_t i = 0; i < plan.outputs; ++i) {
    results.push_back({});
    auto output = static_cast<unsigned>(plan.states + i);
    if (!ctx.outputUsed(output))
      continue;
    if (plan.outputReversed[i])
      std::reverse(pieces[i].begin(), pieces[i].end());
    int64_t rank = pieces[i].empty() ? 0 : ctx.rank(pieces[i].front());
    FailureOr<int64_t> axis = ctx.normalizeAxis(plan.outputAxes[i], rank + 1);
    if (failed(axis))
      return failure();
    results.back() = joinPieces(ctx, pieces[i], *axis, body.output(static_cast<int>(output)));
  }
  return results;
}

static ScanResults scan(NodeContext &ctx, const ::onnx::GraphProto &body, const ScanOperands &operands) {
  FailureOr<ScanPlan> plan = planScan(ctx, body, operands);
  if (failed(plan))
    return failure();
  bool isUnrolled = plan->length && *plan->length <= ctx.limits().maxTripCount && isWorthUnrolling(body, *plan->length);
  return isUnrolled ? unrolledScan(ctx, body, *plan, operands) : runtimeScan(ctx, body, *plan, operands);
}

/// The inputs from `first` on.
static FailureOr<ScanOperands> scanOperands(NodeContext &ctx, unsigned first) {
  FailureOr<int64_t> count = ctx.intAttr("num_scan_inputs");
  if (failed(count))
    return failure();
  int64_t states = static_cast<int64_t>(ctx.numInputs()) - first - *count;
  if (*count < 1 || states < 0)
    return ctx.error("num_scan_inputs " + llvm::Twine(*count) + " is out of range");
  ScanOperands operands;
  for (unsigned i = first; i < ctx.numInputs(); ++i) {
    Value input = ctx.required(i);
    if (!input)
      return failure();
    (static_cast<int64_t>(i - first) < states ? operands.states : operands.wholes).push_back(input);
  }
  return operands;
}

static llvm::LogicalResult deliverAll(NodeContext &ctx, const ScanResults &results) {
  if (failed(results))
    return failure();
  for (auto [i, value] : llvm::enumerate(*results))
    ctx.output(static_cast<unsigned>(i), value);
  return success();
}

static llvm::LogicalResult importScan(NodeContext &ctx) {
  auto body = ctx.graphAttr("body");
  FailureOr<ScanOperands> operands = scanOperands(ctx, 0);
  return failed(body) || failed(operands) ? failure() : deliverAll(ctx, scan(ctx, **body, *operands));
}

/// Version 8: every operand has a batch dimension in front, and the body sees one entry of it.
static llvm::LogicalResult importBatchedScan(NodeContext &ctx) {
  auto body = ctx.graphAttr("body");
  if (ctx.input(0))
    return ctx.unsupported("input sequence_lens is not supported", "convert the model to opset 9 or later");
  FailureOr<ScanOperands> operands = scanOperands(ctx, 1);
  if (failed(body) || failed(operands))
    return failure();
  SmallVector<Value> all = operands->states;
  llvm::append_range(all, operands->wholes);
  SmallVector<ScannedValue> rows;
  mlir::AffineExpr batch;
  for (Value value : all) {
    if (failed(ctx.checkRank(value, 1, 64, "an operand")) ||
        (batch && failed(ctx.assumeEqual(batch, ctx.dim(value, 0), "the batch extents"))))
      return failure();
    batch = ctx.dim(value, 0);
    rows.push_back({value, false});
  }
  auto one = [&](mlir::ValueRange entries) {
    size_t states = operands->states.size();
    return scan(ctx, **body,
                {SmallVector<Value>(entries.take_front(states)), SmallVector<Value>(entries.drop_front(states))});
  };
  if (tg::getConstant(batch) == 1) {
    for (Value &value : all)
      value = ctx.squeeze(value, 0);
    ScanResults results = llvm::is_contained(all, Value()) ? ScanResults(failure()) : one(all);
    if (succeeded(results))
      for (Value &value : *results)
        value = value ? ctx.unsqueeze(value, 0) : value;
    return deliverAll(ctx, results);
  }
  SmallVector<bool> forward((*body)->output_size(), false);
  FailureOr<LoopResults> results = buildCountedLoop(
      ctx, "batch", batch, {}, rows, forward, [&](mlir::ValueRange, mlir::ValueRange entries) -> FailureOr<LoopTurn> {
        ScanResults turn = one(entries);
        return failed(turn) ? FailureOr<LoopTurn>(failure()) : LoopTurn{{}, *turn};
      });
  return deliverAll(ctx, failed(results) ? ScanResults(failure()) : ScanResults(results->collected));
}

namespace weft::onnx {

llvm::ArrayRef<OpEntry> getControlOps() {
  static const OpEntry ops[] = {
      {"", "If", 1, newestOpset, importIf, "chosen, or a branch of the program", true},
      {"", "Loop", 1, newestOpset, importLoop, "unrolled, or turns of the program", true},
      {"", "Scan", 8, 8, importBatchedScan, "unrolled, or turns of the program; no sequence_lens"},
      {"", "Scan", 9, newestOpset, importScan, "unrolled, or turns of the program"},
  };
  return ops;
}

} // namespace weft::onnx
