// Loads ahead of what takes time: a bias that is added behind a product's loop, the weights of a norm behind the sums
// of its rows. Behind the loop each of them is a trip to the L2, or to DRAM, while the CTA has nothing else to do;
// ahead of it they come while the loop runs, or the kernels before.
//
//   loop; load; use    becomes    load; loop; use
//
// They hold registers meanwhile, so they are few, but for tiles that a loop carries from its begin on. Steady operands
// go ahead of the wait for the kernels before; transients no further than behind it, where what takes time waits
// anyway.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EarlyLoads.h"
#include "Thread.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

namespace {

/// Of one block: the body of the tiles' loop, or a role's.
class LoadHoister {
public:
  LoadHoister(Block &block, llvm::function_ref<bool(Value)> isTransient) : block(block), isTransient(isTransient) {}

  void run();

private:
  bool touchesTransients(Operation &op) const;
  bool isKnownAt(tk::LoadOp load, Operation *place) const;
  void move(tk::LoadOp load, Operation *place);

  Block &block;
  llvm::function_ref<bool(Value)> isTransient;
  int64_t words = 16; ///< Registers of a thread that are left.
};

} // namespace

bool LoadHoister::touchesTransients(Operation &op) const {
  WalkResult result = op.walk([&](Operation *inner) {
    return llvm::any_of(inner->getOperands(), isTransient) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether what the load needs is there ahead of `place`, and nobody writes what it reads.
bool LoadHoister::isKnownAt(tk::LoadOp load, Operation *place) const {
  if (!load.getIndices().empty() || load.getMask() || !place->isBeforeInBlock(load))
    return false;
  bool isRead = llvm::all_of(load.getSource().getUsers(), llvm::IsaPred<tk::LoadOp, tk::CopyOp, tk::LoadIndexOp>);
  return isRead && llvm::all_of(load->getOperands(), [&](Value operand) {
           Operation *op = operand.getDefiningOp();
           return !op || op->getBlock() != &block || op->isBeforeInBlock(place);
         });
}

/// Whether loops begin with the tile and carry others in its place: it has registers there in any case.
static bool isCarried(tk::LoadOp load) {
  return !load->use_empty() && llvm::all_of(load->getUsers(), llvm::IsaPred<scf::ForOp>);
}

void LoadHoister::move(tk::LoadOp load, Operation *place) {
  tk::TileType type = load.getResult().getType();
  int64_t bits = int64_t(countRegisters(type.getLayout().getValue())) * tk::getElementBits(type.getElementType());
  int64_t needed = llvm::divideCeil(bits, 32);
  if (isCarried(load))
    needed = 0;
  if (needed > words)
    return;
  words -= needed;
  load->moveBefore(place);
  load->setAttr(schedule::earlyAttr, UnitAttr::get(load.getContext()));
}

/// Whether threads wait for nothing at `op`: it loads, or computes addresses and masks.
static bool isAtOnce(Operation &op) {
  bool takesTiles = llvm::any_of(op.getOperandTypes(), llvm::IsaPred<tk::TileType>);
  return op.getNumRegions() == 0 && !takesTiles && !isa<tk::WaitOp, tk::BarrierOp, tk::ClusterOpenOp>(op);
}

void LoadHoister::run() {
  auto loop = llvm::find_if(block, llvm::IsaPred<scf::ForOp, tk::ReduceOp>);
  auto touching = llvm::find_if(block, [&](Operation &op) { return touchesTransients(op); });
  bool isTouchingFirst = touching != block.end() && (loop == block.end() || touching->isBeforeInBlock(&*loop));
  if (loop == block.end() && !isTouchingFirst)
    return;
  // Behind the other loads that can be under way at once, ahead of those who read them.
  auto first = llvm::find_if_not(block, isAtOnce);
  if (touching != block.end() && (first == block.end() || touching->isBeforeInBlock(&*first)))
    first = touching;
  bool waits = loop != block.end() && (isTouchingFirst || touching == loop);
  for (auto load : llvm::make_early_inc_range(block.getOps<tk::LoadOp>())) {
    if (!load.getResult().getType().getLayout())
      continue;
    if (!isTransient(load.getSource())) {
      if (isKnownAt(load, &*first))
        move(load, &*first);
    } else if (waits && isKnownAt(load, &*loop)) {
      move(load, &*loop);
    }
  }
}

void weft::gpu::hoistLoads(func::FuncOp kernel, llvm::function_ref<bool(Value)> isTransient) {
  SmallVector<Block *> blocks;
  kernel.walk([&](Operation *op) {
    if (auto tiles = dyn_cast<tk::ForTilesOp>(op))
      blocks.push_back(&tiles.getBody().front());
    if (auto roles = dyn_cast<tk::RolesOp>(op))
      for (Region &region : roles.getRoles())
        blocks.push_back(&region.front());
  });
  for (Block *block : blocks)
    LoadHoister(*block, isTransient).run();
}
