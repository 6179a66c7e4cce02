// Loops that stream global memory through registers. A thread has as many loads under way as its assembler finds ahead
// of what waits for them, so the bodies of several steps stand one behind the other. That costs fewer registers than
// one step as long: an accumulator has the elements of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Streams.h"
#include "../Stage/Unpacked.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "weft/Schedule/Wgmma.h"
#include "weft/Target/PackedSteps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace weft;

/// How many neighbouring places along a dimension share a value of `expr`; 0: all.
static int64_t countSharing(AffineExpr expr, unsigned dim) {
  if (!expr.isFunctionOfDim(dim))
    return 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 1;
  int64_t lhs = countSharing(binary.getLHS(), dim), rhs = countSharing(binary.getRHS(), dim);
  int64_t least = lhs && rhs ? std::min(lhs, rhs) : std::max(lhs, rhs);
  auto by = dyn_cast<AffineConstantExpr>(binary.getRHS());
  bool divides = expr.getKind() == AffineExprKind::FloorDiv && by && by.getValue() > 0;
  return divides ? least * by.getValue() : least;
}

/// Words of a thread's registers that a load takes, where threads share no places.
static int64_t countWords(tk::LoadOp load, int64_t threads) {
  tk::TileType type = load.getResult().getType();
  int64_t bits = tk::getElementBits(type.getElementType());
  for (auto [dim, extent] : llvm::enumerate(type.getShape())) {
    int64_t sharing = 0;
    for (AffineExpr index : load.getMap().getResults())
      if (int64_t own = countSharing(index, unsigned(dim)))
        sharing = sharing ? std::min(sharing, own) : own;
    bits *= sharing ? int64_t(llvm::divideCeil(extent, sharing)) : 1;
  }
  return llvm::divideCeil(bits, 32 * threads);
}

bool schedule::isStream(scf::ForOp loop) {
  bool loads = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    loads |= isa<tk::LoadOp>(op);
    if (auto dot = dyn_cast<tk::DotOp>(op); dot && dot.getDepthOrder()) // Of registers.
      continue;
    if (isa<scf::ForOp, scf::IfOp, tk::DotOp>(op) || !(isa<tk::LoadOp>(op) || isMemoryEffectFree(&op)))
      return false;
  }
  return loads;
}

bool schedule::multipliesRegisters(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tk::DotOp>(),
                      [](tk::DotOp dot) { return dot.getDepthOrder().has_value(); });
}

bool schedule::unpacksBesideCopies(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tk::DotOp>(),
                      [](tk::DotOp dot) { return isWgmma(dot) && isUnpacked(dot.getLhs(), /*dim=*/1); });
}

bool schedule::unrollStream(scf::ForOp loop, int64_t steps) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  if (!trips || !isStream(loop))
    return false;
  int64_t factor = int64_t(trips->getLimitedValue(uint64_t(std::max<int64_t>(steps, 1))));
  return factor > 1 && succeeded(loopUnrollByFactor(loop, uint64_t(factor)));
}

/// Whether the load's place is known when an iteration begins: of all that it needs, the body has index arithmetic
/// only.
static bool collectPlace(tk::LoadOp load, scf::ForOp loop, llvm::SetVector<Operation *> &place) {
  SmallVector<Value> values(load->getOperands());
  SmallVector<Operation *> found;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op && cast<BlockArgument>(value).getOwner() == loop.getBody() && value != loop.getInductionVar())
      return false;
    if (!op || op->getBlock() != loop.getBody())
      continue;
    if (!isa<arith::ArithDialect>(op->getDialect()) || !isMemoryEffectFree(op))
      return false;
    found.push_back(op);
    llvm::append_range(values, op->getOperands());
  }
  place.insert(found.begin(), found.end());
  return true;
}

/// Tells the maps that read a tile of words which of its places share one: registers that are carried do not show it.
static void noteFields(tk::LoadOp load) {
  for (unsigned dim = 0; dim < load.getResult().getType().getShape().size(); ++dim) {
    int64_t fields = schedule::countFields(load, dim);
    for (OpOperand &use : load.getResult().getUses())
      if (auto map = dyn_cast<tk::MapOp>(use.getOwner()); map && fields > 1) {
        auto known = map->getAttrOfType<DenseI64ArrayAttr>(schedule::fieldsAttr);
        SmallVector<int64_t> notes(known ? known.asArrayRef() : ArrayRef<int64_t>());
        notes.append({int64_t(use.getOperandNumber()), int64_t(dim), fields});
        map->setAttr(schedule::fieldsAttr, DenseI64ArrayAttr::get(map.getContext(), notes));
      }
  }
}

/// The loads of the loop's body that make operands of dots which are unpacked where they are multiplied.
static llvm::SetVector<Operation *> collectPacked(scf::ForOp loop) {
  llvm::SetVector<Operation *> makers;
  for (auto dot : loop.getBody()->getOps<tk::DotOp>())
    for (auto [operand, depth] : {std::pair(dot.getLhs(), 1u), std::pair(dot.getRhs(), 0u)})
      if (Operation *maker = operand.getDefiningOp(); maker && schedule::isUnpacked(operand, depth))
        makers.insert(maker);
  llvm::SetVector<Operation *> loads;
  for (size_t i = 0; i < makers.size(); ++i) {
    if (isa<tk::LoadOp>(makers[i]))
      loads.insert(makers[i]);
    for (Value operand : makers[i]->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == loop.getBody())
        makers.insert(maker);
  }
  return loads;
}

int64_t schedule::streamUnpacked(scf::ForOp loop, int64_t threads, int64_t mostWords, int64_t stages) {
  llvm::SetVector<Operation *> packed = collectPacked(loop);
  int64_t words = 0;
  for (Operation *load : packed)
    words += countWords(cast<tk::LoadOp>(load), threads);
  int64_t distance = std::min(stages - 1, mostWords / std::max<int64_t>(words, 1));
  std::optional<APInt> trips = loop.getStaticTripCount();
  distance = trips ? std::min(distance, int64_t(trips->getLimitedValue(INT64_MAX)) - 1) : 0;
  if (distance < 1)
    return 0;
  int64_t count = carryLoads(loop, threads, mostWords, distance, packed.getArrayRef());
  if (count) // Each body has its own registers: a move of one to the next would wait for the load.
    (void)loopUnrollByFactor(loop, uint64_t(distance) + 1);
  return count;
}

int64_t schedule::carryLoads(scf::ForOp &loop, int64_t threads, int64_t mostWords, int64_t distance,
                             ArrayRef<Operation *> only) {
  std::optional<APInt> trips = loop.getStaticTripCount();
  distance = trips ? std::min(distance, int64_t(trips->getLimitedValue(INT64_MAX)) - 1) : 0;
  if (distance < 1)
    return 0;
  // What comes from farthest first: of the largest tensors.
  auto loads = llvm::to_vector(loop.getBody()->getOps<tk::LoadOp>());
  auto sizeOf = [](tk::LoadOp load) {
    RankedTensorType tensor = load.getSource().getType().getTensor();
    return tensor.hasStaticShape() ? tensor.getNumElements() : 0;
  };
  llvm::stable_sort(loads, [&](tk::LoadOp a, tk::LoadOp b) { return sizeOf(a) > sizeOf(b); });
  llvm::SetVector<Operation *> moved;
  int64_t words = 0;
  llvm::erase_if(loads, [&](tk::LoadOp load) {
    int64_t own = countWords(load, threads) * distance;
    bool isCarried =
        (only.empty() || llvm::is_contained(only, load)) && words + own <= mostWords && collectPlace(load, loop, moved);
    words += isCarried ? own : 0;
    return !isCarried;
  });
  if (loads.empty())
    return 0;
  for (tk::LoadOp load : loads)
    moved.insert(load);
  SmallVector<Operation *> ops;
  for (Operation &op : *loop.getBody())
    if (moved.contains(&op))
      ops.push_back(&op);
  auto cloneAt = [&](OpBuilder &builder, Value counter) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), counter);
    for (Operation *op : ops)
      builder.clone(*op, mapping);
    return llvm::map_to_vector(loads, [&](tk::LoadOp load) { return mapping.lookup(load.getResult()); });
  };
  Location loc = loop.getLoc();
  IRRewriter rewriter(loop);
  auto ahead = [&](OpBuilder &builder, Value from, int64_t steps) -> Value {
    Value by = arith::ConstantIndexOp::create(builder, loc, steps);
    return arith::AddIOp::create(builder, loc, from, arith::MulIOp::create(builder, loc, loop.getStep(), by));
  };
  SmallVector<Value> first; // Of the nearest iteration, then of the next.
  for (int64_t i = 0; i < distance; ++i)
    first.append(cloneAt(rewriter, i ? ahead(rewriter, loop.getLowerBound(), i) : loop.getLowerBound()));
  Value last = arith::AddIOp::create(
      rewriter, loc, loop.getLowerBound(),
      arith::MulIOp::create(rewriter, loc, loop.getStep(),
                            arith::ConstantIndexOp::create(rewriter, loc, trips->getSExtValue() - 1)));
  auto yieldNext = [&](OpBuilder &builder, Location, ArrayRef<BlockArgument> carried) {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value next = ahead(builder, loop.getInductionVar(), distance);
    SmallVector<Value> yields(carried.drop_front(loads.size()));
    yields.append(cloneAt(builder, arith::MinSIOp::create(builder, loc, next, last)));
    return yields;
  };
  FailureOr<LoopLikeOpInterface> carried =
      loop.replaceWithAdditionalYields(rewriter, first, /*replaceInitOperandUsesInLoop=*/false, yieldNext);
  if (failed(carried))
    return 0;
  loop = cast<scf::ForOp>(carried->getOperation());
  auto nearest = loop.getRegionIterArgs().take_back(loads.size() * distance).take_front(loads.size());
  for (auto [load, tile] : llvm::zip_equal(loads, nearest)) {
    noteFields(load);
    load.getResult().replaceAllUsesWith(tile);
    load.erase();
  }
  return int64_t(loads.size());
}

int64_t schedule::carryPacked(scf::ForOp loop) {
  int64_t threads = getWarps(loop) * 32;
  int64_t held = 0;
  for (auto dot : loop.getBody()->getOps<tk::DotOp>())
    if (auto left = dyn_cast<tk::TileType>(dot.getLhs().getType()))
      held += (dot.getAcc().getType().getNumElements() + left.getNumElements() / 2) / threads;
  int64_t words = 0;
  for (auto load : loop.getBody()->getOps<tk::LoadOp>()) { // Halves have a register each.
    int64_t halves = std::max<int64_t>(32 / tk::getElementBits(load.getResult().getType().getElementType()), 1);
    words += countWords(load, threads) * gpu::lanesOfPackedRow * halves;
  }
  int64_t steps = words ? gpu::countPackedSteps(held, words) : 0;
  int64_t count = steps ? carryLoads(loop, threads, INT64_MAX, steps) : 0;
  if (count && steps > 1) // Each body has its own registers for what comes.
    (void)loopUnrollByFactor(loop, uint64_t(steps));
  return count;
}

/// The last of the ops in `block` that make what `op` uses; null if none does.
static Operation *findLastMaker(Operation *op, Block *block) {
  Operation *last = nullptr;
  for (Value operand : op->getOperands())
    if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == block)
      if (!last || last->isBeforeInBlock(maker))
        last = maker;
  return last;
}

int64_t schedule::hoistLoads(scf::ForOp loop) {
  bool isStill = true; // Nothing writes.
  loop.getBody()->walk([&](Operation *op) {
    isStill &= !isa<scf::ForOp, tk::DotOp>(op) && (isa<tk::LoadOp, scf::IfOp>(op) || isMemoryEffectFree(op));
  });
  Operation *reduction = nullptr;
  int64_t count = 0;
  if (!isStill)
    return 0;
  for (Operation &op : llvm::make_early_inc_range(*loop.getBody())) {
    reduction = !reduction && isa<tk::ReduceOp>(op) ? &op : reduction;
    Operation *maker = isa<tk::LoadOp>(op) ? findLastMaker(&op, loop.getBody()) : nullptr;
    if (!reduction || !isa<tk::LoadOp>(op) || (maker && !maker->isBeforeInBlock(reduction)))
      continue;
    op.moveBefore(reduction);
    ++count;
  }
  return count;
}
