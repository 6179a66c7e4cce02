// Bodies become functions (Bodies.cpp) that tg.loop and tg.if run.
//
// Exporters write `while (i < n) { ...; ++i; }` with the comparison as data. Where i starts and how it grows is known,
// the number of turns is an expression, and nothing has to be read back from a device between two turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Loops.h"
#include "Expr.h"
#include "Extents.h"
#include "weft/Dialect/TileGraph/Analysis/SymbolicContents.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Import/Onnx/ModelReader.h"
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace weft::onnx {

Value matchType(NodeContext &ctx, Value value, Type type, const Twine &what) {
  if (!value || value.getType() == type)
    return value;
  auto wanted = cast<RankedTensorType>(type);
  if (ctx.elementType(value) != wanted.getElementType() || ctx.rank(value) != wanted.getRank()) {
    (void)ctx.unsupported(what + " changes its type from [" + ctx.extentsText(tg::getDims(type)) + "] to [" +
                          ctx.extentsText(ctx.dims(value)) + "]");
    return {};
  }
  for (auto [d, dim] : llvm::enumerate(tg::getDims(type)))
    if (failed(ctx.assumeEqual(dim, ctx.dim(value, d), what + " dimension " + Twine(d))))
      return {};
  return ctx.reshape(value, tg::getDims(type));
}

/// Symbols that the block of the insertion point binds.
static llvm::SmallDenseSet<unsigned> symbolsBoundHere(NodeContext &ctx) {
  llvm::SmallDenseSet<unsigned> own;
  for (auto bind : ctx.b.getInsertionBlock()->getOps<tg::BindSymbolsOp>())
    for (int64_t symbol : bind.getSymbols())
      own.insert(unsigned(symbol));
  return own;
}

static bool mentions(AffineExpr expr, const llvm::SmallDenseSet<unsigned> &symbols) {
  bool found = false;
  expr.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    found |= symbol && symbols.contains(symbol.getPosition());
  });
  return found;
}

Value withDeclaredExtents(NodeContext &ctx, Value value, const ::onnx::ValueInfoProto &declared) {
  const auto &shape = declared.type().tensor_type().shape();
  if (!value || NodeContext::isList(value) || shape.dim_size() != ctx.rank(value))
    return value;
  llvm::SmallDenseSet<unsigned> own = symbolsBoundHere(ctx);
  tg::Dims dims = ctx.dims(value);
  for (auto [d, dim] : llvm::enumerate(dims)) {
    const auto &wanted = shape.dim(int(d));
    if (!mentions(dim, own) || !wanted.has_dim_value() || wanted.dim_value() < 0)
      continue;
    AffineExpr extent = ctx.constExpr(wanted.dim_value());
    if (failed(ctx.assumeEqual(dim, extent, "declared dimension " + Twine(d) + " of `" + declared.name() + "`")))
      return {};
    dim = extent;
  }
  return ctx.reshape(value, dims);
}

namespace {

Type rowType(Type type) {
  return tg::getTensorType(ArrayRef(tg::getDims(type)).drop_front(), cast<RankedTensorType>(type).getElementType());
}

/// tg.loop of a body.
struct LoopSpec {
  AffineExpr trips;
  Value condition; ///< Null: counted.
  std::string endless;
  SmallVector<Value> initial;
  SmallVector<ScannedValue> scanned;
  SmallVector<bool> collectedReversed;
};

FailureOr<LoopResults> makeLoop(NodeContext &ctx, const LoopSpec &spec, const Body &body) {
  SmallVector<Value> scanned;
  SmallVector<bool> reversed;
  for (const ScannedValue &each : spec.scanned) {
    scanned.push_back(each.value);
    reversed.push_back(each.isReversed);
  }
  SmallVector<Type> types;
  for (Value value : spec.initial)
    types.push_back(value.getType());
  size_t first = (spec.condition ? 1 : 0) + spec.initial.size();
  for (Value piece : ArrayRef(body.results).drop_front(first)) {
    tg::Dims dims = ctx.dims(piece);
    dims.insert(dims.begin(), spec.trips);
    types.push_back(tg::getTensorType(dims, ctx.elementType(piece)));
  }
  unsigned symbols = 0;
  spec.trips.walk([&](AffineExpr expr) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  auto loop =
      tg::LoopOp::create(ctx.b, types, body.name, AffineMapAttr::get(AffineMap::get(0, symbols, spec.trips)),
                         spec.condition, spec.initial, scanned, body.captured, ctx.b.getDenseBoolArrayAttr(reversed),
                         ctx.b.getDenseBoolArrayAttr(spec.collectedReversed),
                         spec.endless.empty() ? StringAttr() : ctx.b.getStringAttr(spec.endless));
  LoopResults results;
  results.carried.assign(loop.getResults().begin(), loop.getResults().begin() + spec.initial.size());
  results.collected.assign(loop.getResults().begin() + spec.initial.size(), loop.getResults().end());
  return results;
}

} // namespace

FailureOr<LoopResults>
buildCountedLoop(NodeContext &ctx, StringRef name, AffineExpr trips, ValueRange initial, ArrayRef<ScannedValue> scanned,
                 ArrayRef<bool> collectedReversed,
                 llvm::function_ref<FailureOr<LoopTurn>(ValueRange carried, ValueRange rows)> build) {
  LoopSpec spec;
  spec.trips = trips;
  spec.initial.assign(initial.begin(), initial.end());
  spec.scanned.assign(scanned.begin(), scanned.end());
  spec.collectedReversed.assign(collectedReversed.begin(), collectedReversed.end());
  SmallVector<Type> types;
  for (Value value : initial)
    types.push_back(value ? value.getType() : Type());
  for (const ScannedValue &each : scanned)
    types.push_back(each.value ? rowType(each.value.getType()) : Type());
  if (llvm::is_contained(types, Type()) || failed(ctx.assumeAtMost(ctx.constExpr(0), trips, "number of turns")))
    return failure();
  FailureOr<Body> body =
      ctx.buildBody(name, types, /*hoist=*/true, [&](ValueRange arguments) -> FailureOr<SmallVector<Value>> {
        FailureOr<LoopTurn> turn = build(arguments.take_front(initial.size()), arguments.drop_front(initial.size()));
        if (failed(turn))
          return failure();
        SmallVector<Value> results;
        for (auto [i, value] : llvm::enumerate(turn->carried))
          results.push_back(matchType(ctx, value, types[i], "value " + Twine(i) + " that the loop carries"));
        llvm::append_range(results, turn->pieces);
        return results;
      });
  return failed(body) ? FailureOr<LoopResults>(failure()) : makeLoop(ctx, spec, *body);
}

//===--- Loop ---===//

Value origin(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tg::CastOp, tg::ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::optional<AffineExpr> exprOf(NodeContext &ctx, Value value) {
  std::optional<tg::Dims> contents = ctx.shapeContents(origin(value));
  return contents && contents->size() == 1 ? std::optional(contents->front()) : std::nullopt;
}

namespace {

/// Turns that the runtime grants one loop (kMaxTurns of bundle_format.h).
constexpr int64_t mostTurns = int64_t(1) << 24;

/// How often the nodes of `graph` and of the graphs in them read `name`, and the last one that does.
int countReaders(const ::onnx::GraphProto &graph, StringRef name, const ::onnx::NodeProto *&reader) {
  int count = 0;
  for (const ::onnx::NodeProto &node : graph.node()) {
    int reads = static_cast<int>(llvm::count(node.input(), name));
    if (reads)
      reader = &node;
    for (const ::onnx::AttributeProto &attribute : node.attribute()) {
      const ::onnx::NodeProto *inner = nullptr;
      if (attribute.has_g())
        count += 2 * countReaders(attribute.g(), name, inner); // No chain goes on through a graph of its own.
    }
    count += reads;
  }
  return count;
}

/// Through Identity nodes that alone read what is before them.
std::string throughCopies(const ::onnx::GraphProto &graph, std::string name) {
  const ::onnx::NodeProto *reader = nullptr;
  while (countReaders(graph, name, reader) == 1 && reader->op_type() == "Identity")
    name = reader->output(0);
  return name;
}

class RuntimeLoop {
public:
  RuntimeLoop(NodeContext &ctx, const ::onnx::GraphProto &graph) : ctx(ctx), graph(graph) {}

  LogicalResult import() {
    if (failed(readOperands()) || failed(build()) || failed(chooseTrips()))
      return failure();
    FailureOr<LoopResults> results = makeLoop(ctx, spec, body);
    return failed(results) ? failure() : deliver(*results);
  }

private:
  LogicalResult readOperands();
  LogicalResult build();
  LogicalResult chooseTrips();
  std::optional<AffineExpr> countTurns(Value next);
  LogicalResult deliver(const LoopResults &results);
  Value withCollected(Value list, Value rows);

  /// What becomes of a value that the node carries, where it has no position among what the program's loop carries.
  enum Place : int { Passed = -1, Appended = -2 };

  NodeContext &ctx;
  const ::onnx::GraphProto &graph;
  LoopSpec spec;
  Body body;
  Value started;                   ///< The initial condition; null: true.
  std::optional<AffineExpr> given; ///< The trip count.
  bool isEndless = false;          ///< It is given, and more than a loop may have.
  SmallVector<Value> outer;        ///< Initial values of what the node carries.
  SmallVector<int> place;          ///< In spec.initial, or a `Place`.
  size_t pieces = 0;
};

LogicalResult RuntimeLoop::readOperands() {
  if (ctx.input(0)) {
    FailureOr<tg::Dims> trips =
        ctx.runtimeDims(Expr(ctx, ctx.cast(ctx.input(0), ctx.b.getI64Type())).max(0.0), "trip count");
    if (failed(trips))
      return failure();
    if (trips->size() != 1)
      return ctx.error("expected one trip count, got " + Twine(trips->size()));
    given = trips->front();
    // 2^63 - 1 is what exporters write for "while".
    isEndless = tg::getConstant(*given).value_or(0) > mostTurns;
    if (isEndless)
      given.reset();
  }
  started = ctx.input(1);
  if (started && ctx.constantInt(started) && *ctx.constantInt(started) != 0)
    started = {};
  // The number of the turn comes first.
  spec.initial.push_back(ctx.scalarInt(0, ctx.b.getI64Type()));
  for (unsigned i = 2; i < ctx.numInputs(); ++i) {
    Value value = ctx.required(i);
    if (!value)
      return failure();
    bool isPassed = isPassedOn(graph, i);
    bool isAppended =
        !isPassed && NodeContext::isList(value) && !NodeContext::isEmptyOptional(value) && isOnlyAppended(graph, i);
    if (NodeContext::isList(value) && !isPassed && !isAppended)
      return ctx.unsupported("the condition of a loop that carries a sequence or an optional depends on data");
    outer.push_back(value);
    place.push_back(isPassed ? Passed : isAppended ? Appended : static_cast<int>(spec.initial.size()));
    if (!isPassed && !isAppended)
      spec.initial.push_back(value);
  }
  int rest = graph.output_size() - 1 - static_cast<int>(outer.size());
  if (rest < 0)
    return ctx.error("expected at least " + Twine(outer.size() + 1) + " outputs of the body, got " +
                     Twine(graph.output_size()));
  pieces = rest;
  spec.collectedReversed.assign(pieces + llvm::count(place, int(Appended)), false);
  return success();
}

LogicalResult RuntimeLoop::build() {
  SmallVector<Type> types;
  for (Value value : spec.initial)
    types.push_back(value.getType());
  auto fill = [&](ValueRange arguments) -> FailureOr<SmallVector<Value>> {
    SmallVector<Value> inputs{arguments[0], ctx.scalarInt(1, ctx.b.getI1Type())};
    for (auto [value, at] : llvm::zip(outer, place))
      inputs.push_back(at == Passed ? value : at == Appended ? ctx.list({}) : arguments[at]);
    FailureOr<SmallVector<Value>> given = ctx.inlineGraph(graph, inputs);
    if (failed(given))
      return failure();
    SmallVector<Value> results{ctx.reshape(given->front(), ArrayRef<int64_t>()), Expr(ctx, arguments[0]) + 1.0};
    for (auto [i, at] : llvm::enumerate(place))
      if (at >= 0)
        results.push_back(matchType(ctx, (*given)[1 + i], types[at], "value " + Twine(i) + " that the loop carries"));
    for (size_t i = 1 + place.size(); i < given->size(); ++i)
      results.push_back(withDeclaredExtents(ctx, (*given)[i], graph.output(int(i))));
    llvm::SmallDenseSet<unsigned> own = symbolsBoundHere(ctx);
    for (auto [i, at] : llvm::enumerate(place)) {
      if (at != Appended)
        continue;
      // The body found an empty list and put one element in it.
      results.push_back(NodeContext::elements((*given)[1 + i]).front());
      if (llvm::any_of(ctx.dims(results.back()), [&](AffineExpr dim) { return mentions(dim, own); }))
        return ctx.needsElements(unsigned(i), "elements that turns of the loop append differ in their extents, and its "
                                              "trip count or condition is not known at compile time");
    }
    for (Value result : results)
      if (!result || failed(ctx.checkTensor(result, "a result of the body")))
        return failure();
    return results;
  };
  FailureOr<Body> built = ctx.buildBody("loop", types, /*hoist=*/true, fill);
  if (failed(built))
    return failure();
  body = *built;
  return success();
}

/// Turns of a loop that goes on while carried value < n, where the value grows by a constant: `next` is that
/// comparison at the end of a turn.
std::optional<AffineExpr> RuntimeLoop::countTurns(Value next) {
  auto compare = origin(next).getDefiningOp<tg::CmpOp>();
  if (!compare || (compare.getPredicate() != tg::CmpPredicate::Lt && compare.getPredicate() != tg::CmpPredicate::Gt))
    return std::nullopt;
  Value low = origin(compare.getLhs()), high = origin(compare.getRhs());
  if (compare.getPredicate() == tg::CmpPredicate::Gt)
    std::swap(low, high);
  auto sum = low.getDefiningOp<tg::AddOp>();
  if (!sum)
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(origin(sum.getLhs()));
  std::optional<AffineExpr> step = exprOf(ctx, sum.getRhs());
  if (!counter || !step || tg::getConstant(*step).value_or(0) < 1 || counter.getArgNumber() >= spec.initial.size() ||
      origin(body.results[1 + counter.getArgNumber()]) != low)
    return std::nullopt;
  // What the body reads from outside is an argument behind what is carried.
  if (auto argument = dyn_cast<BlockArgument>(high); argument && argument.getArgNumber() >= spec.initial.size())
    high = body.captured[argument.getArgNumber() - spec.initial.size()];
  std::optional<AffineExpr> first = exprOf(ctx, spec.initial[counter.getArgNumber()]), last = exprOf(ctx, high);
  if (!first || !last)
    return std::nullopt;
  AffineExpr room = tg::simplify(*last - *first);
  int64_t by = *tg::getConstant(*step);
  AffineExpr turns = by == 1 ? room : tg::simplify(room.ceilDiv(by));
  if (!tg::isNonNegative(room))
    return std::nullopt;
  // Without a turn if the same comparison holds at first; else with one at least, which the extents must have.
  if (started) {
    auto at = origin(started).getDefiningOp<tg::CmpOp>();
    if (!at || at.getPredicate() != tg::CmpPredicate::Lt || exprOf(ctx, at.getLhs()) != first ||
        exprOf(ctx, at.getRhs()) != last)
      return std::nullopt;
  } else if (failed(ctx.assumeAtMost(ctx.constExpr(1), turns, "turns of the loop"))) {
    return std::nullopt;
  }
  return turns;
}

LogicalResult RuntimeLoop::chooseTrips() {
  Value next = body.results.front();
  std::optional<int64_t> known = ctx.constantInt(next);
  std::optional<AffineExpr> counted = known ? std::nullopt : countTurns(next);
  bool isCounted = (known && *known != 0 && !started) || counted;
  if (isCounted && !counted && isEndless)
    return ctx.limit("the loop runs for more than " + Twine(mostTurns) + " turns");
  if (isCounted && (given || counted) && !(given && counted)) {
    spec.trips = counted ? *counted : *given;
    // The body need not return the condition.
    auto function = cast<FunctionOpInterface>(body.function);
    function.getFunctionBody().front().getTerminator()->eraseOperand(0);
    body.results.erase(body.results.begin());
    function.setType(
        FunctionType::get(ctx.b.getContext(), function.getArgumentTypes(), ValueRange(body.results).getTypes()));
    return success();
  }
  spec.condition = started ? ctx.reshape(started, ArrayRef<int64_t>()) : ctx.scalarInt(1, ctx.b.getI1Type());
  // Pieces need memory for all turns that there may be.
  int64_t most = !spec.collectedReversed.empty() ? ctx.limits().maxTripCount : mostTurns;
  spec.trips = given ? *given : ctx.constExpr(most);
  if (!given)
    spec.endless = ("node `" + ctx.node.name() + "`: expected a loop of at most " + Twine(most) + " turns").str();
  return success(static_cast<bool>(spec.condition));
}

/// `list` with `rows` behind its elements.
Value RuntimeLoop::withCollected(Value list, Value rows) {
  SmallVector<Value> parts;
  if (Value before = NodeContext::stackedRows(list))
    parts.push_back(before);
  else
    for (Value element : NodeContext::elements(list))
      parts.push_back(ctx.unsqueeze(element, {0}));
  parts.push_back(rows);
  return ctx.stackedList(parts.size() == 1 ? rows : ctx.concat(parts, 0));
}

LogicalResult RuntimeLoop::deliver(const LoopResults &results) {
  AffineExpr turns = spec.trips;
  bool isUsed = false;
  for (size_t i = 0; i < pieces; ++i)
    isUsed |= ctx.outputUsed(place.size() + i);
  for (auto [i, at] : llvm::enumerate(place))
    isUsed |= at == Appended && ctx.outputUsed(i);
  if (spec.condition && isUsed) {
    FailureOr<tg::Dims> bound = ctx.runtimeDims(results.carried.front(), "turns");
    if (failed(bound))
      return failure();
    turns = bound->front();
  }
  size_t appended = pieces;
  for (auto [i, at] : llvm::enumerate(place)) {
    Value rows = at == Appended ? results.collected[appended++] : Value();
    ctx.output(i, at == Passed ? outer[i]
                  : rows       ? withCollected(outer[i], ctx.slice(rows, 0, 0, turns))
                               : results.carried[at]);
  }
  for (size_t i = 0; i < pieces; ++i)
    if (ctx.outputUsed(place.size() + i))
      ctx.output(place.size() + i, ctx.slice(results.collected[i], 0, 0, turns));
  return success();
}

} // namespace

bool isPassedOn(const ::onnx::GraphProto &body, unsigned i) {
  int at = static_cast<int>(i);
  return at <= body.output_size() && at < body.input_size() && body.output(at - 1).name() == body.input(at).name();
}

bool isOnlyAppended(const ::onnx::GraphProto &body, unsigned i) {
  if (static_cast<int>(i) > body.output_size() || static_cast<int>(i) >= body.input_size())
    return false;
  std::string name = throughCopies(body, body.input(static_cast<int>(i)).name());
  const ::onnx::NodeProto *insert = nullptr;
  if (countReaders(body, name, insert) != 1 || insert->op_type() != "SequenceInsert" || insert->input(0) != name ||
      (insert->input_size() > 2 && !insert->input(2).empty()))
    return false;
  std::string longer = throughCopies(body, insert->output(0));
  auto isLonger = [&](const ::onnx::ValueInfoProto &output) { return output.name() == longer; };
  return countReaders(body, longer, insert) == 0 && llvm::count_if(body.output(), isLonger) == 1 &&
         isLonger(body.output(static_cast<int>(i) - 1));
}

LogicalResult importRuntimeLoop(NodeContext &ctx, const ::onnx::GraphProto &body) {
  return RuntimeLoop(ctx, body).import();
}

} // namespace weft::onnx
