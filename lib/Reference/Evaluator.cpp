// Evaluation of ops, blocks and functions: checks, limits, environments. What each op means is in the files of its
// family.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft::reference {

void Evaluator::setError(const Twine &cause) {
  if (message.empty())
    message = cause.str();
}

LogicalResult Evaluator::fail(Operation *op, const Twine &cause) {
  std::string place;
  llvm::raw_string_ostream os(place);
  if (!isa<UnknownLoc>(op->getLoc()))
    os << " at " << op->getLoc();
  setError("'" + op->getName().getStringRef() + "'" + place + ": " + cause);
  return failure();
}

LogicalResult Evaluator::charge(Operation *op, int64_t count, int64_t each) {
  int64_t work;
  bool isTooMuch = llvm::MulOverflow(count, each, work);
  if (isTooMuch || work > workLeft || (limits.sharedWork && work > *limits.sharedWork))
    return fail(op, "expected at most " + Twine(limits.maxWork) + " scalar operations in all (limit of the reference)");
  workLeft -= work;
  if (limits.sharedWork)
    *limits.sharedWork -= work;
  return success();
}

FailureOr<SmallVector<int64_t>> Evaluator::extentsOf(Operation *op, Type type) {
  SmallVector<int64_t> extents;
  for (AffineExpr dim : tg::getDims(type)) {
    std::optional<int64_t> extent = evaluateExpr(dim, {}, symbols);
    if (!extent || *extent < 0)
      return fail(op, "expected an extent of 0 or more for dimension " + Twine(extents.size()) + ", got " +
                          (extent ? Twine(*extent).str() : "an unbound symbol or an overflow"));
    extents.push_back(*extent);
  }
  return extents;
}

FailureOr<Tensor> Evaluator::makeTensor(Operation *op, ArrayRef<int64_t> shape, Type element) {
  std::optional<Tensor> tensor = Tensor::create(shape, element, limits.maxTensorBytes);
  if (!tensor)
    return fail(op, "expected a tensor of at most " + Twine(limits.maxTensorBytes) +
                        " bytes (limit of the reference), got " + formatShape(shape, element));
  return std::move(*tensor);
}

FailureOr<Tensor> Evaluator::makeResult(Operation *op, unsigned result) {
  Type type = op->getResult(result).getType();
  FailureOr<SmallVector<int64_t>> shape = extentsOf(op, type);
  if (failed(shape))
    return failure();
  return makeTensor(op, *shape, cast<RankedTensorType>(type).getElementType());
}

FailureOr<std::vector<Scalar>> Evaluator::loadAll(Operation *op, const Tensor &tensor) {
  if (tensor.size() > limits.maxTensorBytes / int64_t(sizeof(Scalar)))
    return fail(op, "expected at most " + Twine(limits.maxTensorBytes / int64_t(sizeof(Scalar))) +
                        " elements (limit of the reference), got " + Twine(tensor.size()));
  if (failed(charge(op, tensor.size())))
    return failure();
  return tensor.loadAll();
}

LogicalResult Evaluator::checkOperands(Operation *op, Operands operands) {
  if (operands.size() != op->getNumOperands())
    return fail(op, "expected " + Twine(op->getNumOperands()) + " operands, got " + Twine(operands.size()));
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
    if (!type)
      return fail(op, "expected ranked tensors as operands");
    FailureOr<SmallVector<int64_t>> shape = extentsOf(op, type);
    if (failed(shape))
      return failure();
    if (operand->shape() != ArrayRef<int64_t>(*shape) || operand->element() != type.getElementType())
      return fail(op, "expected operand " + Twine(i) + " of shape " + formatShape(*shape, type.getElementType()) +
                          ", got " + formatShape(operand->shape(), operand->element()));
  }
  return success();
}

/// What evaluating an op costs beside its elements (building and compiling its scalars), in scalar operations.
static constexpr int64_t workPerOp = 4096;

Results Evaluator::evaluate(Operation *op, Operands operands) {
  if (failed(charge(op, workPerOp)) || failed(checkOperands(op, operands)))
    return failure();
  for (auto family : {evaluatePointwise, evaluateContract, evaluateReduction, evaluateOrder, evaluateView,
                      evaluateIndexed, evaluateNorm, evaluateAttention, evaluateStructure})
    if (std::optional<Results> results = family(*this, op, operands))
      return std::move(*results);
  return fail(op, "the reference does not evaluate this op");
}

LogicalResult Evaluator::evaluateInto(Operation *op, Environment &environment) {
  if (op->getNumRegions()) {
    auto kernel = dyn_cast<tg::KernelOp>(op);
    auto fold = dyn_cast<tg::FoldOp>(op);
    if (!kernel && !fold)
      return fail(op, "the reference does not evaluate this op");
    Results results = fold ? evaluateFold(fold, environment) : evaluateBlock(kernel.getBody().front(), environment);
    if (failed(results))
      return failure();
    for (auto [value, tensor] : llvm::zip(op->getResults(), *results))
      environment[value] = std::make_shared<Tensor>(std::move(tensor));
    return success();
  }
  SmallVector<const Tensor *> operands;
  for (Value operand : op->getOperands()) {
    auto found = environment.find(operand);
    if (found == environment.end())
      return fail(op, "expected operands defined by evaluated ops");
    operands.push_back(found->second.get());
  }
  std::vector<Tensor> parts;
  if (stream && tg::isStreamed(op) && failed(takePart(op, operands, parts)))
    return failure();
  Results results = evaluate(op, operands);
  if (failed(results))
    return failure();
  for (auto [value, tensor] : llvm::zip(op->getResults(), *results))
    environment[value] = std::make_shared<Tensor>(std::move(tensor));
  return success();
}

/// For each op of `block`, the values of the block that nothing after it uses.
static llvm::DenseMap<Operation *, SmallVector<Value>> lastUses(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<Value>> last;
  auto note = [&](Value value, Operation *definition) {
    Operation *latest = definition;
    for (Operation *user : value.getUsers())
      if (Operation *here = block.findAncestorOpInBlock(*user); here && (!latest || latest->isBeforeInBlock(here)))
        latest = here;
    if (latest)
      last[latest].push_back(value);
  };
  for (Value argument : block.getArguments())
    note(argument, nullptr);
  for (Operation &op : block)
    for (Value result : op.getResults())
      note(result, &op);
  return last;
}

Results Evaluator::evaluateBlock(Block &block, Environment &environment) {
  if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>()) {
    setError("expected a block that ends in a terminator");
    return failure();
  }
  llvm::DenseMap<Operation *, SmallVector<Value>> last = lastUses(block);
  for (Operation &op : block.without_terminator()) {
    if (failed(evaluateInto(&op, environment)))
      return failure();
    for (Value value : last.lookup(&op))
      environment.erase(value);
  }
  SmallVector<Tensor> results;
  for (Value value : block.back().getOperands()) {
    auto found = environment.find(value);
    if (found == environment.end())
      return fail(&block.back(), "expected operands defined by evaluated ops");
    results.push_back(*found->second);
  }
  return results;
}

//===-- Entry points --===//

static void report(const Evaluator &ev, std::string *error) {
  if (error)
    *error = ev.error().str();
}

FailureOr<SmallVector<Tensor>> evaluate(Operation *op, ArrayRef<Tensor> operands, ArrayRef<int64_t> symbols,
                                        const Limits &limits, std::string *error) {
  Evaluator ev(symbols, limits);
  SmallVector<const Tensor *> pointers;
  for (const Tensor &operand : operands)
    pointers.push_back(&operand);
  Results results = ev.evaluate(op, pointers);
  report(ev, error);
  return results;
}

/// Takes symbols from extents that are one symbol alone.
static LogicalResult collectSymbols(FunctionOpInterface function, ArrayRef<Tensor> inputs,
                                    MutableArrayRef<std::optional<int64_t>> values, ArrayRef<std::string> names,
                                    std::string &error) {
  for (auto [type, input] : llvm::zip(function.getArgumentTypes(), inputs)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() != input.rank())
      continue; // Reported with the other mismatches of inputs.
    for (auto [expr, extent] : llvm::zip(tg::getDims(type), input.shape())) {
      auto symbol = dyn_cast<AffineSymbolExpr>(expr);
      if (!symbol || symbol.getPosition() >= values.size())
        continue;
      std::optional<int64_t> &value = values[symbol.getPosition()];
      if (value.value_or(extent) != extent) {
        error = ("expected one value of symbol `" + names[symbol.getPosition()] + "`, got " + Twine(*value) + " and " +
                 Twine(extent))
                    .str();
        return failure();
      }
      value = extent;
    }
  }
  return success();
}

/// Which symbols the function's types and symbol maps mention.
static llvm::SmallBitVector usedSymbols(FunctionOpInterface function, unsigned count) {
  llvm::SmallBitVector used(count);
  SmallVector<int64_t> bound; // By data; they need no value.
  auto note = [&](AffineMap map) {
    map.walkExprs([&](AffineExpr expr) {
      auto symbol = dyn_cast<AffineSymbolExpr>(expr);
      if (symbol && symbol.getPosition() < count)
        used.set(symbol.getPosition());
    });
  };
  auto noteType = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (auto dims = dyn_cast_or_null<tg::DimsAttr>(tensor ? tensor.getEncoding() : Attribute()))
      note(dims.getMap());
  };
  llvm::for_each(function.getArgumentTypes(), noteType);
  function->walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), noteType);
    if (auto extents = dyn_cast<tg::ExtentsOp>(op))
      note(extents.getMap());
    else if (auto bind = dyn_cast<tg::BindSymbolsOp>(op))
      bound.append(bind.getSymbols().begin(), bind.getSymbols().end());
    else if (auto check = dyn_cast<tg::AssumeEqualOp>(op))
      note(check.getMap());
    else if (auto dispatch = dyn_cast<tg::DispatchOp>(op))
      note(dispatch.getSymbols());
    else if (auto variants = dyn_cast<tg::VariantsOp>(op))
      note(variants.getValue());
  });
  for (int64_t symbol : bound)
    if (symbol < int64_t(count))
      used.reset(symbol);
  return used;
}

FailureOr<SmallVector<int64_t>> solveSymbols(FunctionOpInterface function, ArrayRef<Tensor> inputs,
                                             ArrayRef<std::optional<int64_t>> given, std::string *error) {
  auto module = function->getParentOfType<ModuleOp>();
  SmallVector<std::string> names = module ? tg::getSymbolNames(module) : SmallVector<std::string>();
  SmallVector<std::optional<int64_t>> values(given);
  values.resize(std::max(names.size(), values.size()));
  std::string cause;
  SmallVector<int64_t> symbols;
  if (succeeded(collectSymbols(function, inputs, values, names, cause))) {
    llvm::SmallBitVector used = usedSymbols(function, names.size());
    for (auto [i, name] : llvm::enumerate(names)) {
      if (!values[i] && used[i] && cause.empty())
        cause = "expected a value of symbol `" + name + "`, which no input has alone as an extent";
      symbols.push_back(values[i].value_or(0));
    }
  }
  if (error)
    *error = cause;
  if (!cause.empty())
    return failure();
  return symbols;
}

static LogicalResult checkInputs(Evaluator &ev, FunctionOpInterface function, ArrayRef<Tensor> inputs) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return ev.fail(function, "expected tensor arguments");
    FailureOr<SmallVector<int64_t>> shape = ev.extentsOf(function, type);
    if (failed(shape))
      return failure();
    if (inputs[i].shape() != ArrayRef<int64_t>(*shape) || inputs[i].element() != tensor.getElementType())
      return ev.fail(function, "expected input " + Twine(i) + " of shape " +
                                   formatShape(*shape, tensor.getElementType()) + ", got " +
                                   formatShape(inputs[i].shape(), inputs[i].element()));
  }
  return success();
}

static Results runFunction(Evaluator &ev, FunctionOpInterface function, ArrayRef<Tensor> inputs) {
  if (failed(checkInputs(ev, function, inputs)))
    return failure();
  Environment environment;
  for (auto [argument, input] : llvm::zip(function.getArguments(), inputs))
    environment[argument] = std::make_shared<Tensor>(input);
  return ev.evaluateBlock(function.getFunctionBody().front(), environment);
}

FailureOr<SmallVector<Tensor>> evaluateFunction(FunctionOpInterface function, ArrayRef<Tensor> inputs,
                                                ArrayRef<int64_t> symbols, const Limits &limits, std::string *error) {
  std::string cause;
  if (function.isExternal() || !function.getFunctionBody().hasOneBlock())
    cause = "expected a function of one block";
  else if (inputs.size() != function.getNumArguments())
    cause = ("expected " + Twine(function.getNumArguments()) + " inputs, got " + Twine(inputs.size())).str();
  SmallVector<int64_t> values(symbols);
  if (cause.empty() && symbols.empty())
    if (auto solved = solveSymbols(function, inputs, {}, &cause); succeeded(solved))
      values = *solved;
  if (cause.empty()) {
    Evaluator ev(values, limits);
    Results results = runFunction(ev, function, inputs);
    if (error)
      *error = ev.error().str();
    return results;
  }
  if (error)
    *error = cause;
  return failure();
}

} // namespace weft::reference
