// Loads that a select discards outside some bounds (padding) become conditional: LLVM then reads neighbours with a
// mask, where an index clamped by a select would make it gather.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace {

/// The conditions that hold together if `condition` does.
void collectConjuncts(Value condition, llvm::SmallPtrSetImpl<Value> &conjuncts) {
  if (!conjuncts.insert(condition).second)
    return;
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    collectConjuncts(both.getLhs(), conjuncts);
    collectConjuncts(both.getRhs(), conjuncts);
  }
}

/// The indices of `load` where all of `conjuncts` hold; none if that makes no difference.
std::optional<SmallVector<Value>> unclampedIndices(memref::LoadOp load, const llvm::SmallPtrSetImpl<Value> &conjuncts) {
  SmallVector<Value> indices(load.getIndices());
  bool changed = false;
  for (Value &index : indices)
    if (auto clamp = index.getDefiningOp<arith::SelectOp>(); clamp && conjuncts.contains(clamp.getCondition())) {
      index = clamp.getTrueValue();
      changed = true;
    }
  return changed ? std::optional(indices) : std::nullopt;
}

/// Whether nothing between `load` and `user` in their block writes.
bool mayMoveTo(memref::LoadOp load, Operation *user) {
  if (load->getBlock() != user->getBlock())
    return false;
  for (Operation *op = load->getNextNode(); op != user; op = op->getNextNode())
    if (!isMemoryEffectFree(op) && !isa<memref::LoadOp>(op))
      return false;
  return true;
}

} // namespace

void weft::cpu::guardPaddedLoads(Operation *root) {
  SmallVector<arith::SelectOp> selects;
  root->walk([&](arith::SelectOp op) { selects.push_back(op); });
  for (arith::SelectOp select : selects) {
    auto load = select.getTrueValue().getDefiningOp<memref::LoadOp>();
    if (!load || !load->hasOneUse() || !mayMoveTo(load, select))
      continue;
    llvm::SmallPtrSet<Value, 8> conjuncts;
    collectConjuncts(select.getCondition(), conjuncts);
    std::optional<SmallVector<Value>> indices = unclampedIndices(load, conjuncts);
    if (!indices)
      continue;
    OpBuilder b(select);
    auto ifOp = scf::IfOp::create(
        b, select.getLoc(), select.getCondition(),
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc,
                               memref::LoadOp::create(nested, loc, load.getMemRef(), *indices).getResult());
        },
        [&](OpBuilder &nested, Location loc) { scf::YieldOp::create(nested, loc, select.getFalseValue()); });
    select.replaceAllUsesWith(ifOp.getResult(0));
    select.erase();
    load.erase();
  }
}
