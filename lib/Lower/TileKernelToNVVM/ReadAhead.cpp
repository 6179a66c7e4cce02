// Reads of a step's first fragments while the products before them run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   for i { wait, barrier; copies; read 0; read 1; multiply 0; ...; read n; multiply n - 1; multiply n }
//
// All warps of a CTA pass the barrier at a time, and then wait for their first fragments, behind all of the copies: the
// matrix pipe has nothing to do meanwhile. So the wait and the first reads move into the iteration before, and the
// second reads ahead of the copies:
//
//   wait, barrier; read 0
//   for i { read 1; copies; multiply 0; ...; read n; multiply n - 1; wait, barrier; read 0 of i + 1; multiply n }
//
// Behind the barrier all reads of step i are over, as they were behind that of step i + 1 before, so copies find their
// slots free. The last iteration waits for one step more than there is: its copies have fetched nothing, or its slot
// has another step's elements, and nobody multiplies what it reads.
#include "ReadAhead.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

namespace {

/// What moves of a loop's body, and where to.
struct FirstReads {
  SmallVector<Operation *> ops;       ///< The wait, its barrier and the reads, in order.
  SmallVector<Operation *> reads;     ///< Of these.
  llvm::SetVector<Operation *> slice; ///< With the address arithmetic that they need.
  SmallVector<Operation *> copies;    ///< And the ends of their groups.
  SmallVector<Operation *> products;  ///< Of each piece of depth the first.
};

} // namespace

static bool hasText(Operation &op, StringRef text) {
  auto statement = dyn_cast<LLVM::InlineAsmOp>(op);
  return statement && statement.getAsmString().contains(text);
}

/// Ops of the loop's body that `op` needs, and `op`. False if one of them is not arithmetic of the loop's counter.
static bool collect(Operation *op, scf::ForOp loop, llvm::SetVector<Operation *> &slice) {
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!source && operand.getParentBlock() == loop.getBody() && operand != loop.getInductionVar())
      return false;
    if (!source || source->getBlock() != loop.getBody() || slice.contains(source))
      continue;
    if (!isPure(source) || source->getNumRegions() || !collect(source, loop, slice))
      return false;
  }
  slice.insert(op);
  return true;
}

/// Nothing where the body does more than wait once, copy, read and multiply.
static std::optional<FirstReads> findFirstReads(scf::ForOp loop) {
  FirstReads found;
  bool hasBarrier = false, touchesBehind = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (op.getNumRegions())
      return std::nullopt;
    bool isFirst = op.hasAttr(firstReadAttr) && found.products.empty();
    if (op.hasAttr(firstProductAttr)) {
      found.products.push_back(&op);
      touchesBehind = false;
    }
    if (isMemoryEffectFree(&op))
      continue;
    touchesBehind = true;
    bool isWait = hasText(op, "cp.async.wait_group"),
         isBarrier = isa<NVVM::Barrier0Op, NVVM::BarrierOp, NVVM::SyncWarpOp>(op);
    bool isCopy = !isWait && hasText(op, "cp.async."), isRead = hasText(op, "ldmatrix") || isa<LLVM::LoadOp>(op);
    bool isKnown = isWait      ? found.ops.empty()
                   : isBarrier ? found.ops.size() == 1
                   : isCopy    ? hasBarrier && found.products.empty()
                               : hasBarrier && isRead;
    if (!isKnown)
      return std::nullopt;
    hasBarrier |= isBarrier;
    if (isWait || isBarrier || isFirst)
      found.ops.push_back(&op);
    if (isFirst)
      found.reads.push_back(&op);
    if (isCopy)
      found.copies.push_back(&op);
  }
  if (found.reads.empty() || found.products.empty() || touchesBehind)
    return std::nullopt;
  bool isCounted = llvm::all_of(found.ops, [&](Operation *op) { return collect(op, loop, found.slice); });
  return isCounted ? std::optional(std::move(found)) : std::nullopt;
}

/// What moves, for the iteration whose counter is `counter`; the values that are read.
static SmallVector<Value> clone(OpBuilder &builder, scf::ForOp loop, const FirstReads &first, Value counter) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), counter);
  for (Operation &op : *loop.getBody())
    if (first.slice.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> values;
  for (Operation *read : first.reads)
    for (Value result : read->getResults())
      values.push_back(mapping.lookup(result));
  return values;
}

static void readAhead(scf::ForOp loop) {
  std::optional<FirstReads> first = findFirstReads(loop);
  if (!first)
    return;
  IRRewriter rewriter(loop);
  SmallVector<Value> inits = clone(rewriter, loop, *first, loop.getLowerBound());
  auto readNext = [&](OpBuilder &, Location loc, ArrayRef<BlockArgument>) {
    OpBuilder builder(first->products.back());
    Value next = arith::AddIOp::create(builder, loc, loop.getInductionVar(), loop.getStep());
    return clone(builder, loop, *first, next);
  };
  FailureOr<LoopLikeOpInterface> carrying =
      loop.replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, readNext);
  if (failed(carrying))
    return;
  auto arguments = cast<scf::ForOp>(carrying->getOperation()).getRegionIterArgs().take_back(inits.size());
  const auto *argument = arguments.begin();
  for (Operation *read : first->reads)
    for (Value result : read->getResults())
      result.replaceAllUsesWith(*argument++);
  for (Operation *op : llvm::reverse(first->ops))
    op->erase();
  if (first->products.size() > 1) // Else the next step's wait stands there.
    for (Operation *copy : first->copies)
      copy->moveBefore(first->products.front());
}

void weft::gpu::readAhead(func::FuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  llvm::for_each(loops, [](scf::ForOp loop) { ::readAhead(loop); });
  kernel.walk([](Operation *op) {
    op->removeAttr(firstReadAttr);
    op->removeAttr(firstProductAttr);
  });
}
