// Constants, weights, symbol arithmetic, and calls of outlined kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
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

} // namespace

std::optional<Results> evaluateStructure(Evaluator &ev, Operation *op, Operands operands) {
  using Answer = std::optional<Results>;
  return llvm::TypeSwitch<Operation *, Answer>(op)
      .Case([&](tg::ConstantOp c) -> Answer { return constant(ev, c); })
      .Case([&](tg::WeightOp w) -> Answer { return weight(ev, w); })
      .Case([&](tg::ExtentsOp e) -> Answer { return extents(ev, e); })
      .Case([&](tg::IotaOp i) -> Answer { return iota(ev, i); })
      .Case([&](tg::AssumeEqualOp a) -> Answer { return assumeEqual(ev, a); })
      .Case([&](tg::DispatchOp d) -> Answer { return dispatch(ev, d, operands); })
      .Default(Answer());
}

} // namespace weft::reference
