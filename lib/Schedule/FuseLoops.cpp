// --weft-tk-fuse-loops: independent loops over the same steps become one, and what they load in common is loaded once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernelize answers requests for values one by one, so two contractions (or reductions) of one kernel come as two loops
// with the same bounds. The second moves to the first, with what it needs of the code between them: index arithmetic,
// tiles, and loads from memory that the kernel does not write. It stays where it is if it needs a result of the first.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace weft::schedule {

#define GEN_PASS_DEF_TKFUSELOOPS
#include "weft/Schedule/Passes.h.inc"

namespace {

/// Whether nothing but loads uses the buffer.
bool isReadOnly(Value buffer) {
  return llvm::all_of(buffer.getUsers(), [](Operation *user) { return isa<tk::LoadOp>(user); });
}

/// Whether `op` does the same at an earlier position, and nothing that others see.
bool isMovable(Operation *op) {
  auto isPlain = [](Operation *inner) {
    if (auto load = dyn_cast<tk::LoadOp>(inner))
      return isReadOnly(load.getSource());
    if (auto dot = dyn_cast<tk::DotOp>(inner)) // Of registers: shared memory comes later.
      return isa<tk::TileType>(dot.getLhs().getType()) && isa<tk::TileType>(dot.getRhs().getType());
    return inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(inner);
  };
  return !op->walk([&](Operation *inner) {
              return isPlain(inner) ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  std::optional<int64_t> left = getConstantIntValue(a), right = getConstantIntValue(b);
  return left && left == right;
}

bool goOverTheSame(scf::ForOp a, scf::ForOp b) {
  return isSame(a.getLowerBound(), b.getLowerBound()) && isSame(a.getUpperBound(), b.getUpperBound()) &&
         isSame(a.getStep(), b.getStep());
}

/// Ops between `first` and `op` that `op` needs, in program order; nothing if one of them is `first` or cannot move.
std::optional<SmallVector<Operation *>> collectNeeded(Operation *first, Operation *op) {
  llvm::SetVector<Operation *> needed;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *current = work.pop_back_val();
    llvm::SetVector<Value> values(current->operand_begin(), current->operand_end());
    getUsedValuesDefinedAbove(current->getRegions(), values);
    for (Value value : values) {
      Operation *source = value.getDefiningOp();
      if (!source || source->getBlock() != first->getBlock() || source->isBeforeInBlock(first))
        continue;
      if (source == first || !isMovable(source))
        return std::nullopt;
      if (needed.insert(source))
        work.push_back(source);
    }
  }
  SmallVector<Operation *> list = needed.takeVector();
  llvm::sort(list, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return list;
}

/// One loop in place of `first` that does what both do.
scf::ForOp merge(scf::ForOp first, scf::ForOp second) {
  OpBuilder builder(first);
  SmallVector<Value> inits(first.getInitArgs());
  llvm::append_range(inits, second.getInitArgs());
  auto merged =
      scf::ForOp::create(builder, first.getLoc(), first.getLowerBound(), first.getUpperBound(), first.getStep(), inits);
  Block *body = merged.getBody();
  if (!body->empty()) // Without state a loop comes with its terminator.
    body->back().erase();
  SmallVector<Value> yields;
  OpBuilder inside(body, body->end());
  unsigned argument = 0;
  for (scf::ForOp loop : {first, second}) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), merged.getInductionVar());
    for (BlockArgument state : loop.getRegionIterArgs())
      mapping.map(state, merged.getRegionIterArg(argument++));
    for (Operation &op : loop.getBody()->without_terminator())
      inside.clone(op, mapping);
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      yields.push_back(mapping.lookupOrDefault(value));
  }
  scf::YieldOp::create(inside, first.getLoc(), yields);
  first.replaceAllUsesWith(merged.getResults().take_front(first.getNumResults()));
  second.replaceAllUsesWith(merged.getResults().drop_front(first.getNumResults()));
  first.erase();
  second.erase();
  return merged;
}

class TkFuseLoops : public impl::TkFuseLoopsBase<TkFuseLoops> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk<WalkOrder::PreOrder>(
        [&](tk::ForTilesOp tiles) { blocks.push_back(&tiles.getBody().front()); });
    while (!blocks.empty())
      fuse(blocks.pop_back_val(), blocks);
  }

  /// Merges the loops of `block`, outer ones first: loops of two bodies may meet in the merged one.
  void fuse(Block *block, SmallVectorImpl<Block *> &inner) {
    SmallVector<scf::ForOp> loops(block->getOps<scf::ForOp>());
    llvm::SmallPtrSet<Operation *, 4> changed;
    for (size_t i = 0; i < loops.size(); ++i)
      for (size_t j = i + 1; j < loops.size(); ++j) {
        if (!goOverTheSame(loops[i], loops[j]) || !isMovable(loops[i]) || !isMovable(loops[j]))
          continue;
        std::optional<SmallVector<Operation *>> needed = collectNeeded(loops[i], loops[j]);
        if (!needed)
          continue;
        for (Operation *op : *needed)
          op->moveBefore(loops[i]);
        changed.erase(loops[i]);
        loops[i] = merge(loops[i], loops[j]);
        changed.insert(loops[i]);
        loops.erase(loops.begin() + j--);
        ++numFused;
      }
    for (scf::ForOp loop : loops) {
      if (changed.contains(loop)) {
        IRRewriter rewriter(&getContext());
        DominanceInfo dominance;
        eliminateCommonSubExpressions(rewriter, dominance, loop);
      }
      inner.push_back(loop.getBody());
    }
  }
};

} // namespace
} // namespace weft::schedule
