// Constants, weights, symbol arithmetic, and calls of outlined kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::reference {
namespace {

Results constant(Evaluator &ev, tg::ConstantOp op) {
  std::optional<Tensor> tensor = Tensor::fromElements(op.getValue(), ev.limits.maxTensorBytes);
  if (!tensor)
    return ev.fail(op, "expected dense elements of at most " + Twine(ev.limits.maxTensorBytes) + " bytes");
  if (failed(ev.charge(op, tensor->size())))
    return failure();
  return single(std::move(*tensor));
}

/// result[i_0, ...] with i_k along dimension order[k] of `stored`.
Results transposed(Evaluator &ev, Operation *op, const Tensor &stored, ArrayRef<int64_t> order) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result))
    return failure();
  SmallVector<int64_t> to = getStrides(result->shape()), from = getStrides(stored.shape());
  for (int64_t i = 0; i < result->size(); ++i) {
    int64_t place = 0;
    for (auto [d, stride] : llvm::enumerate(to))
      place += i / stride % result->dim(d) * from[order[d]];
    result->copyElement(i, stored, place);
  }
  return single(std::move(*result));
}

Results weight(Evaluator &ev, tg::WeightOp op) {
  tg::DataAttr data = op.getData();
  auto *dialect = cast<tg::TileGraphDialect>(op->getDialect());
  auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
  if (!bytes)
    return ev.fail(op, "expected bytes [" + Twine(data.getOffset()) + ", " + Twine(data.getOffset() + data.getSize()) +
                           ") of source `" + data.getSource() + "`, which is not loaded or shorter");
  auto type = op.getType();
  ArrayRef<int64_t> order = op.getOrder().value_or(ArrayRef<int64_t>());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [to, from] : llvm::enumerate(order))
    shape[from] = type.getDimSize(to);
  std::optional<Tensor> tensor = Tensor::fromPacked(shape, type.getElementType(), *bytes, ev.limits.maxTensorBytes);
  if (!tensor)
    return ev.fail(op, "expected at most " + Twine(ev.limits.maxTensorBytes) + " bytes (limit of the reference)");
  if (failed(ev.charge(op, tensor->size())))
    return failure();
  if (order.empty())
    return single(std::move(*tensor));
  return transposed(ev, op, *tensor, order);
}

/// Values of all results of a map of symbols.
FailureOr<SmallVector<int64_t>> valuesOf(Evaluator &ev, Operation *op, AffineMap map) {
  SmallVector<int64_t> values;
  for (AffineExpr expr : map.getResults()) {
    std::optional<int64_t> value = evaluateExpr(expr, {}, ev.symbols);
    if (!value)
      return ev.fail(op, "expected a value of symbol expression " + Twine(values.size()) +
                             ", got an unbound symbol, an overflow or a division by zero");
    values.push_back(*value);
  }
  return values;
}

Results extents(Evaluator &ev, tg::ExtentsOp op) {
  FailureOr<SmallVector<int64_t>> values = valuesOf(ev, op, op.getMap());
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(values) || failed(result))
    return failure();
  for (auto [i, value] : llvm::enumerate(*values)) {
    Scalar scalar;
    scalar.i = uint64_t(value);
    result->store(i, scalar);
  }
  return single(std::move(*result));
}

Results iota(Evaluator &ev, tg::IotaOp op) {
  FailureOr<Tensor> result = ev.makeResult(op);
  if (failed(result) || failed(ev.charge(op, result->size())))
    return failure();
  int64_t axis = op.getAxis(), stride = getStrides(result->shape())[axis];
  for (int64_t i = 0; i < result->size(); ++i) {
    int64_t index = i / stride % result->dim(axis);
    Scalar scalar;
    if (result->isFloat())
      scalar.f = double(index);
    else
      scalar.i = uint64_t(index);
    result->store(i, scalar);
  }
  return single(std::move(*result));
}

Results assumeEqual(Evaluator &ev, tg::AssumeEqualOp op) {
  FailureOr<SmallVector<int64_t>> values = valuesOf(ev, op, op.getMap());
  if (failed(values))
    return failure();
  for (int64_t value : *values)
    if (value != values->front())
      return ev.fail(op, op.getMessage() + ": expected " + Twine(values->front()) + ", got " + Twine(value));
  return SmallVector<Tensor>();
}

Results assumeAtMost(Evaluator &ev, tg::AssumeAtMostOp op) {
  FailureOr<SmallVector<int64_t>> values = valuesOf(ev, op, op.getMap());
  if (failed(values))
    return failure();
  for (size_t i = 1; i < values->size(); ++i)
    if ((*values)[i - 1] > (*values)[i])
      return ev.fail(op, op.getMessage() + ": expected at most " + Twine((*values)[i]) + ", got " +
                             Twine((*values)[i - 1]));
  return SmallVector<Tensor>();
}

/// Runs the kernel's function in its own module. Its arguments are the tensors, then one index for each symbol.
Results dispatch(Evaluator &ev, tg::DispatchOp op, Operands operands) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(op, op.getCallee());
  if (!callee || callee.isExternal() || !callee.getFunctionBody().hasOneBlock())
    return ev.fail(op, "expected a kernel function of one block");
  Block &body = callee.getFunctionBody().front();
  size_t numArguments = operands.size() + op.getSymbols().getNumResults();
  if (body.getNumArguments() != numArguments)
    return ev.fail(op,
                   "expected a kernel of " + Twine(numArguments) + " arguments, got " + Twine(body.getNumArguments()));
  // Kernels do not call kernels; deeper nesting than this is a cycle.
  if (ev.depth >= 16)
    return ev.fail(op, "expected dispatches nested at most 16 deep");
  FailureOr<SmallVector<int64_t>> symbols = valuesOf(ev, op, op.getSymbols());
  if (failed(symbols))
    return failure();
  Environment environment;
  for (auto [argument, operand] : llvm::zip(body.getArguments(), operands))
    environment[argument] = std::make_shared<Tensor>(*operand);
  std::swap(ev.symbols, *symbols);
  ++ev.depth;
  Results results = ev.evaluateBlock(body, environment);
  --ev.depth;
  std::swap(ev.symbols, *symbols);
  if (succeeded(results) && results->size() != op->getNumResults())
    return ev.fail(op,
                   "expected " + Twine(op->getNumResults()) + " results of the kernel, got " + Twine(results->size()));
  return results;
}

//===--- Programs ---===//

/// Calls the function `name` of the module around `op`.
Results call(Evaluator &ev, Operation *op, FlatSymbolRefAttr name, Operands arguments) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
  if (!callee || callee.isExternal() || !callee.getFunctionBody().hasOneBlock() ||
      callee.getNumArguments() != arguments.size())
    return ev.fail(op, "expected a body of one block and " + Twine(arguments.size()) + " arguments");
  if (ev.depth >= 16)
    return ev.fail(op, "expected bodies nested at most 16 deep");
  Environment environment;
  for (auto [argument, value] : llvm::zip(callee.getArguments(), arguments))
    environment[argument] = std::make_shared<Tensor>(*value);
  ++ev.depth;
  Results results = ev.evaluateBlock(callee.getFunctionBody().front(), environment);
  --ev.depth;
  return results;
}

Results bindSymbols(Evaluator &ev, tg::BindSymbolsOp op, Operands operands) {
  for (auto [i, symbol] : llvm::enumerate(op.getSymbols())) {
    auto value = static_cast<int64_t>(operands[0]->load(int64_t(i)).i);
    if (value < 0)
      return ev.fail(op, op.getMessage() + ": expected at least 0, got " + Twine(value));
    if (size_t(symbol) >= ev.symbols.size())
      return ev.fail(op, "expected a symbol of the module, got number " + Twine(symbol));
    ev.symbols[symbol] = value;
  }
  return SmallVector<Tensor>();
}

Results branch(Evaluator &ev, tg::IfOp op, Operands operands) {
  bool holds = operands[0]->load(0).i != 0;
  size_t first = op.getThenCaptured().size();
  Operands rest = ArrayRef(operands).drop_front();
  return holds ? call(ev, op, op.getThenBodyAttr(), rest.take_front(first))
               : call(ev, op, op.getElseBodyAttr(), rest.drop_front(first));
}

Results variants(Evaluator &ev, tg::VariantsOp op, Operands operands) {
  FailureOr<SmallVector<int64_t>> values = valuesOf(ev, op, op.getValue());
  if (failed(values))
    return failure();
  size_t chosen = 0;
  while (chosen < op.getLow().size() &&
         (values->front() < op.getLow()[chosen] || values->front() > op.getHigh()[chosen]))
    ++chosen;
  return call(ev, op, cast<FlatSymbolRefAttr>(op.getBodies()[chosen]), operands);
}

/// Row `i` of dimension 0.
FailureOr<Tensor> rowOf(Evaluator &ev, Operation *op, const Tensor &whole, int64_t i) {
  std::optional<Tensor> row = Tensor::create(whole.shape().drop_front(), whole.element(), INT64_MAX);
  if (!row || failed(ev.charge(op, row->size())))
    return ev.fail(op, "a row is too large");
  for (int64_t j = 0; j < row->size(); ++j)
    row->copyElement(j, whole, i * row->size() + j);
  return std::move(*row);
}

/// Values that one loop carries from turn to turn, and what it collects.
struct LoopState {
  SmallVector<Tensor> carried, collected;
  bool holds = true;
};

LogicalResult runTurn(Evaluator &ev, tg::LoopOp op, Operands scanned, Operands captured, int64_t turn, int64_t trips,
                      LoopState &state) {
  SmallVector<Tensor> rows;
  for (auto [whole, isReversed] : llvm::zip(scanned, op.getScannedReversed())) {
    FailureOr<Tensor> row = rowOf(ev, op, *whole, isReversed ? trips - 1 - turn : turn);
    if (failed(row))
      return failure();
    rows.push_back(std::move(*row));
  }
  SmallVector<const Tensor *> arguments;
  for (const SmallVector<Tensor> *list : {&state.carried, &rows})
    for (const Tensor &value : *list)
      arguments.push_back(&value);
  llvm::append_range(arguments, captured);
  Results results = call(ev, op, op.getBodyAttr(), arguments);
  size_t first = op.getCondition() ? 1 : 0;
  if (failed(results) || results->size() != first + op->getNumResults())
    return failure();
  if (first)
    state.holds = results->front().load(0).i != 0;
  for (auto [i, value] : llvm::enumerate(state.carried))
    value = (*results)[first + i];
  for (auto [i, all] : llvm::enumerate(state.collected)) {
    const Tensor &piece = (*results)[first + state.carried.size() + i];
    int64_t place = op.getCollectedReversed()[i] ? trips - 1 - turn : turn;
    for (int64_t j = 0; j < piece.size(); ++j)
      all.copyElement(place * piece.size() + j, piece, j);
  }
  return success();
}

Results loop(Evaluator &ev, tg::LoopOp op, Operands operands) {
  FailureOr<SmallVector<int64_t>> trips = valuesOf(ev, op, op.getTrips());
  if (failed(trips))
    return failure();
  LoopState state;
  Operands rest = operands;
  if (op.getCondition()) {
    state.holds = rest.front()->load(0).i != 0;
    rest = rest.drop_front();
  }
  for (const Tensor *value : rest.take_front(op.getCarried().size()))
    state.carried.push_back(*value);
  for (Value result : op.getResults().drop_front(state.carried.size())) {
    FailureOr<SmallVector<int64_t>> shape = ev.extentsOf(op, result.getType());
    std::optional<Tensor> all;
    if (succeeded(shape))
      all = Tensor::create(*shape, cast<RankedTensorType>(result.getType()).getElementType(), int64_t(1) << 32);
    if (!all)
      return ev.fail(op, "a result of the loop is too large");
    state.collected.push_back(std::move(*all));
  }
  rest = rest.drop_front(op.getCarried().size());
  Operands scanned = rest.take_front(op.getScanned().size()), captured = rest.drop_front(op.getScanned().size());
  int64_t turn = 0;
  for (; turn < trips->front() && state.holds; ++turn)
    if (failed(ev.charge(op, 1)) || failed(runTurn(ev, op, scanned, captured, turn, trips->front(), state)))
      return failure();
  if (op.getCondition() && state.holds && op.getEndless())
    return ev.fail(op, *op.getEndless() + ", got one that goes on after " + Twine(turn) + " turns");
  llvm::append_range(state.carried, state.collected);
  return std::move(state.carried);
}

} // namespace

std::optional<Results> evaluateStructure(Evaluator &ev, Operation *op, Operands operands) {
  using Answer = std::optional<Results>;
  return llvm::TypeSwitch<Operation *, Answer>(op)
      .Case([&](tg::ConstantOp c) -> Answer { return constant(ev, c); })
      .Case([&](tg::WeightOp w) -> Answer { return weight(ev, w); })
      .Case([&](tg::ExtentsOp e) -> Answer { return extents(ev, e); })
      .Case([&](tg::IotaOp i) -> Answer { return iota(ev, i); })
      .Case([&](tg::AssumeEqualOp a) -> Answer { return assumeEqual(ev, a); })
      .Case([&](tg::AssumeAtMostOp a) -> Answer { return assumeAtMost(ev, a); })
      .Case([&](tg::BindSymbolsOp b) -> Answer { return bindSymbols(ev, b, operands); })
      .Case([&](tg::IfOp i) -> Answer { return branch(ev, i, operands); })
      .Case([&](tg::VariantsOp v) -> Answer { return variants(ev, v, operands); })
      .Case([&](tg::LoopOp l) -> Answer { return loop(ev, l, operands); })
      .Case([&](tg::DispatchOp d) -> Answer { return dispatch(ev, d, operands); })
      .Default(Answer());
}

} // namespace weft::reference
