// Constants, weights, symbol arithmetic, and calls of outlined kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
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

/// What the runtime makes of a weight whose dimension i is dimension order[i] of the stored data.
std::optional<Tensor> reordered(const Tensor &stored, ArrayRef<int64_t> order, ArrayRef<int64_t> shape,
                                int64_t maxBytes) {
  std::optional<Tensor> result = Tensor::create(shape, stored.element(), maxBytes);
  if (!result)
    return std::nullopt;
  SmallVector<int64_t> strides = getStrides(stored.shape()), place(shape.size(), 0);
  for (int64_t i = 0; i < result->size(); ++i) {
    int64_t from = 0;
    for (auto [d, at] : llvm::enumerate(place))
      from += at * strides[order[d]];
    result->copyElement(i, stored, from);
    for (int64_t d = shape.size() - 1; d >= 0 && ++place[d] == shape[d]; --d)
      place[d] = 0;
  }
  return result;
}

Results weight(Evaluator &ev, tg::WeightOp op) {
  tg::DataAttr data = op.getData();
  auto *dialect = cast<tg::TileGraphDialect>(op->getDialect());
  auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
  if (!bytes)
    return ev.fail(op, "expected bytes [" + Twine(data.getOffset()) + ", " + Twine(data.getOffset() + data.getSize()) +
                           ") of source `" + data.getSource() + "`, which is not loaded or shorter");
  auto type = op.getType();
  SmallVector<int64_t> stored(type.getShape());
  auto order = op->getAttrOfType<DenseI64ArrayAttr>(gpu::weightOrderAttr);
  SmallVector<int64_t> sorted(order ? order.asArrayRef() : ArrayRef<int64_t>());
  llvm::sort(sorted);
  if (order && !llvm::equal(sorted, llvm::seq<int64_t>(0, type.getRank())))
    return ev.fail(op, "expected `" + gpu::weightOrderAttr + "` to be a permutation of its dimensions");
  for (auto [d, from] : llvm::enumerate(order ? order.asArrayRef() : ArrayRef<int64_t>()))
    stored[from] = type.getDimSize(d);
  std::optional<Tensor> tensor = Tensor::fromPacked(stored, type.getElementType(), *bytes, ev.limits.maxTensorBytes);
  if (tensor && order)
    tensor = reordered(*tensor, order, type.getShape(), ev.limits.maxTensorBytes);
  if (!tensor)
    return ev.fail(op, "expected at most " + Twine(ev.limits.maxTensorBytes) + " bytes (limit of the reference)");
  if (failed(ev.charge(op, tensor->size())))
    return failure();
  return single(std::move(*tensor));
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
