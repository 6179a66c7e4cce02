// 16-bit values that a loop carries travel in pairs: a register has room for two, and matrix instructions take them so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "Tma.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

/// The vector whose elements, in order, `low` and `high` are.
static Value makePair(OpBuilder &builder, Value low, Value high) {
  auto type = VectorType::get(2, low.getType());
  auto first = low.getDefiningOp<vector::ExtractOp>(), second = high.getDefiningOp<vector::ExtractOp>();
  if (first && second && first.getSource() == second.getSource() && first.getSource().getType() == type &&
      first.getStaticPosition() == ArrayRef<int64_t>{0} && second.getStaticPosition() == ArrayRef<int64_t>{1})
    return first.getSource();
  return vector::FromElementsOp::create(builder, low.getLoc(), type, ValueRange{low, high});
}

/// Whether the loop's state `number` and the next one are used as one vector only.
static bool isPair(scf::ForOp loop, unsigned number) {
  if (number + 1 >= loop.getNumRegionIterArgs())
    return false;
  Value low = loop.getRegionIterArg(number), high = loop.getRegionIterArg(number + 1);
  if (!isa<FloatType>(low.getType()) || low.getType().getIntOrFloatBitWidth() != 16 ||
      low.getType() != high.getType() || low.use_empty())
    return false;
  auto isUsedAsPair = [&](Operation *user) {
    auto vector = dyn_cast<vector::FromElementsOp>(user);
    return vector && vector->getNumOperands() == 2 && vector->getOperand(0) == low && vector->getOperand(1) == high;
  };
  return llvm::all_of(low.getUsers(), isUsedAsPair) && llvm::all_of(high.getUsers(), isUsedAsPair);
}

/// Results of pairs are unpacked behind the loop.
static void packState(scf::ForOp loop) {
  SmallVector<bool> startsPair;
  bool hasPairs = false;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i) {
    startsPair.push_back((startsPair.empty() || !startsPair.back()) && isPair(loop, i));
    hasPairs |= startsPair.back();
  }
  if (!hasPairs)
    return;
  OpBuilder before(loop), end(loop.getBody()->getTerminator());
  SmallVector<Value> inits, yields;
  SmallVector<int64_t> places; ///< Of each old state: the new one; -1 for the second of a pair.
  for (unsigned i = 0; i < startsPair.size(); ++i) {
    places.push_back(inits.size());
    Value init = loop.getInitArgs()[i], yielded = loop.getYieldedValues()[i];
    if (startsPair[i]) {
      init = makePair(before, init, loop.getInitArgs()[i + 1]);
      yielded = makePair(end, yielded, loop.getYieldedValues()[i + 1]);
      places.push_back(-1);
      ++i;
    }
    inits.push_back(init);
    yields.push_back(yielded);
  }
  auto packed =
      scf::ForOp::create(before, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits);
  if (!packed.getBody()->empty())
    packed.getBody()->getTerminator()->erase();
  Operation *yield = loop.getBody()->getTerminator();
  scf::YieldOp::create(end, loop.getLoc(), yields);
  yield->erase();
  OpBuilder after(loop->getBlock(), std::next(Block::iterator(loop)));
  for (unsigned i = 0; i < places.size(); ++i) {
    if (places[i] < 0)
      continue;
    Value argument = packed.getRegionIterArg(places[i]), result = packed.getResult(places[i]);
    if (!startsPair[i]) {
      loop.getRegionIterArg(i).replaceAllUsesWith(argument);
      loop.getResult(i).replaceAllUsesWith(result);
      continue;
    }
    for (Operation *user : llvm::make_early_inc_range(loop.getRegionIterArg(i).getUsers()))
      user->getResult(0).replaceAllUsesWith(argument);
    for (unsigned j : {0u, 1u})
      if (!loop.getResult(i + j).use_empty())
        loop.getResult(i + j).replaceAllUsesWith(vector::ExtractOp::create(after, loop.getLoc(), result, int64_t(j)));
  }
  // What made vectors of the old states has no use any more.
  for (unsigned i = 0; i < places.size(); ++i)
    if (startsPair[i])
      for (Operation *user : llvm::make_early_inc_range(loop.getRegionIterArg(i).getUsers()))
        user->erase();
  loop.getInductionVar().replaceAllUsesWith(packed.getInductionVar());
  packed.getBody()->getOperations().splice(packed.getBody()->end(), loop.getBody()->getOperations());
  loop.erase();
}

void weft::gpu::packLoopState(func::FuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    packState(loop);
}
