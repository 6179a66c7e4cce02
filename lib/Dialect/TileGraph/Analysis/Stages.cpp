// Symbols in types and maps against the ops that bind them; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::tg {

/// Calls `use` with the number of each symbol that `map` mentions.
static void forEachSymbol(AffineMap map, llvm::function_ref<void(unsigned)> use) {
  map.walkExprs([&](AffineExpr expr) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
      use(symbol.getPosition());
  });
}

static void forEachSymbol(TypeRange types, llvm::function_ref<void(unsigned)> use) {
  for (Type type : types)
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding()))
        forEachSymbol(dims.getMap(), use);
}

/// The symbols of the module that `op`, without what is inside it, mentions.
static void forEachSymbol(Operation *op, llvm::function_ref<void(unsigned)> use) {
  forEachSymbol(op->getResultTypes(), use);
  forEachSymbol(op->getOperandTypes(), use);
  llvm::TypeSwitch<Operation *>(op)
      .Case<ExtentsOp, AssumeEqualOp, AssumeAtMostOp>([&](auto each) { forEachSymbol(each.getMap(), use); })
      .Case([&](DispatchOp dispatch) { forEachSymbol(dispatch.getSymbols(), use); })
      .Case([&](LoopOp loop) { forEachSymbol(loop.getTrips(), use); });
}

/// Whether a reader of `op` is of a later stage: `op` runs between kernels, and no kernel on both sides of it.
static bool endsStage(Operation *op, bool withCollectives) {
  return isa<LoopOp, IfOp>(op) || (withCollectives && isCollective(op));
}

Stages::Stages(Block &block, bool withCollectives) : block(block) {
  llvm::DenseMap<unsigned, unsigned> ofSymbol;
  unsigned most = 0; // Each of these ops ends one stage at most.
  for (Operation &op : block) {
    most += isa<BindSymbolsOp>(op) || endsStage(&op, withCollectives);
    if (auto bind = dyn_cast<BindSymbolsOp>(op))
      for (int64_t symbol : bind.getSymbols())
        ofSymbol[symbol] = 1;
  }
  if (most == 0)
    return;
  // A symbol may be mentioned in front of the op that binds it, so once is not enough.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    unsigned behind = 0; // Of what stands behind the last collective.
    for (Operation &op : block) {
      unsigned stage = stages.lookup(&op);
      if (op.hasAttr(behindAttr))
        stage = std::max(stage, behind);
      op.walk([&](Operation *inner) {
        forEachSymbol(inner, [&](unsigned symbol) { stage = std::max(stage, ofSymbol.lookup(symbol)); });
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == &block)
            stage = std::max(stage, stages.lookup(def) + endsStage(def, withCollectives));
      });
      if (stage > most)
        return; // A symbol that its own value needs: whoever writes the program finds it unbound.
      if (withCollectives && isCollective(&op))
        behind = stage + 1;
      if (stage == stages.lookup(&op))
        continue;
      stages[&op] = stage;
      isChanged = true;
      if (auto bind = dyn_cast<BindSymbolsOp>(op))
        for (int64_t symbol : bind.getSymbols())
          ofSymbol[symbol] = stage + 1;
    }
  }
}

SmallVector<Operation *> Stages::order() const {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  llvm::stable_sort(ops, [&](Operation *a, Operation *b) {
    bool lastA = a->hasTrait<OpTrait::IsTerminator>(), lastB = b->hasTrait<OpTrait::IsTerminator>();
    return std::pair(lastA, get(a)) < std::pair(lastB, get(b));
  });
  return ops;
}

llvm::DenseMap<Operation *, unsigned> countCollectives(Block &block) {
  llvm::DenseMap<Operation *, unsigned> counts;
  llvm::DenseMap<Value, unsigned> beside; // By what is made beside kernels: the number of the collective.
  unsigned count = 0, started = 0, awaited = 0;
  for (Operation &op : block) {
    unsigned last = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        last = std::max(last, beside.lookup(operand));
    });
    bool isView = isa<ReshapeOp, BitcastOp>(op) || op.hasAttr(joinedAttr);
    if (isView)
      beside[op.getResult(0)] = last;
    else if (last > awaited) { // What waits is in no launch with what need not.
      awaited = last;
      ++count;
    }
    counts[&op] = count;
    count += isCollective(&op);
    if (op.hasAttr(overlapAttr) && op.getNumResults() == 1)
      beside[op.getResult(0)] = ++started;
  }
  return counts;
}

} // namespace weft::tg
