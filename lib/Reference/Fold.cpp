// Folding: evaluates the ops behind a value if all of them are constant, static and small.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evaluator.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::reference {

Limits foldLimits() {
  Limits limits;
  limits.maxTensorBytes = int64_t(64) << 20;
  limits.maxWork = int64_t(1) << 31;
  limits.maxOps = 10'000;
  return limits;
}

/// Whether `op` may take part in folding: a pure `tg` op on static tensors within the limits.
static bool isFoldable(Operation *op, const Limits &limits) {
  if (!isa_and_nonnull<tg::TileGraphDialect>(op->getDialect()) || op->getNumRegions() != 0 || !isPure(op) ||
      isa<tg::DispatchOp>(op))
    return false;
  return llvm::all_of(op->getResultTypes(), [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::optional<int64_t> bytes = tensor ? tg::getByteSize(tensor) : std::nullopt;
    return bytes && *bytes <= limits.maxTensorBytes;
  });
}

/// The ops that `value` depends on, producers first; none if one may not be folded. Iterative, since graphs may be
/// deep.
static std::optional<SmallVector<Operation *>> producersOf(Value value, const Limits &limits) {
  SmallVector<Operation *> order;
  llvm::SmallPtrSet<Operation *, 16> done, open;
  SmallVector<Operation *> stack;
  auto visit = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (!op || !isFoldable(op, limits))
      return false;
    if (!done.contains(op))
      stack.push_back(op);
    return true;
  };
  if (!visit(value))
    return std::nullopt;
  while (!stack.empty()) {
    Operation *op = stack.back();
    if (done.contains(op) || !open.insert(op).second) {
      stack.pop_back();
      if (done.insert(op).second)
        order.push_back(op);
      continue;
    }
    if (int64_t(open.size()) > limits.maxOps || !llvm::all_of(op->getOperands(), visit))
      return std::nullopt;
  }
  return order;
}

ElementsAttr foldToConstant(Value value, const Limits &limits) {
  if (auto constant = value.getDefiningOp<tg::ConstantOp>())
    return constant.getValue();
  std::optional<SmallVector<Operation *>> order = producersOf(value, limits);
  if (!order)
    return {};
  llvm::DenseMap<Operation *, unsigned> usesLeft;
  for (Operation *op : *order)
    for (Value operand : op->getOperands())
      ++usesLeft[operand.getDefiningOp()];
  Evaluator ev({}, limits);
  Environment environment;
  for (Operation *op : *order) {
    SmallVector<const Tensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(environment.find(operand)->second.get());
    Results results = ev.evaluate(op, operands);
    if (failed(results))
      return {};
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp(); --usesLeft[producer] == 0 && producer != value.getDefiningOp())
        for (Value result : producer->getResults())
          environment.erase(result);
    for (auto [result, tensor] : llvm::zip(op->getResults(), *results))
      environment[result] = std::make_shared<Tensor>(std::move(tensor));
  }
  return environment.find(value)->second->toElements();
}

} // namespace weft::reference
