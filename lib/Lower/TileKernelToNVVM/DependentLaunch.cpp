// griddepcontrol: where a kernel waits, and what it asks for before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DependentLaunch.h"
#include "EarlyCopies.h"
#include "Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

bool weft::gpu::canStartEarly(const Device *device) { return device && device->can.earlyStarts; }

DenseSet<Value> weft::gpu::findSteadyOperands(func::FuncOp kernel) {
  DenseSet<Value> steady;
  auto attr = kernel->getAttrOfType<DenseI64ArrayAttr>(steadyOperandsAttr); // Of a task of a launch.
  if (!attr)
    attr = kernel->getParentOfType<ModuleOp>()->getAttrOfType<DenseI64ArrayAttr>(steadyOperandsAttr);
  if (attr)
    for (int64_t number : attr.asArrayRef())
      if (number < int64_t(kernel.getNumArguments()))
        steady.insert(kernel.getArgument(number));
  return steady;
}

//===-- Waits -----------------------------------------------------------------------------------------------------===//

namespace {

/// Where threads wait. Roles do so on their own.
class GridWaits {
public:
  explicit GridWaits(func::FuncOp kernel) : steady(findSteadyOperands(kernel)) {}

  /// Ahead of the first op of `block` that touches a transient, of those in `tiles` if it is one. True if there is one.
  bool place(Block &block, tk::ForTilesOp tiles, bool isTrigger);
  bool readsTransients(func::FuncOp kernel) const;
  bool isQuicklyRead(const Device &device) const;

  DenseSet<Value> steady, copied;
  DenseSet<Value> late;   ///< Steady ones that are read behind a wait or a loop,
  DenseSet<Value> chosen; ///< of which data choose the indices.

private:
  bool touchesTransients(Operation *op) const;
  void noteLate(Operation *op);
  bool usesTma(tk::ForTilesOp tiles) const;
};

} // namespace

bool GridWaits::touchesTransients(Operation *op) const {
  WalkResult result = op->walk([&](Operation *inner) {
    bool isTouching = llvm::any_of(inner->getOperands(), [&](Value operand) {
      return isa<tk::GlobalType>(operand.getType()) && !steady.contains(operand);
    });
    // The launch before may be one of this kernel: its parts lie in the same variable.
    return isTouching || isa<tk::PartSendOp, tk::PartSumOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether transients are read or written through the asynchronous proxy.
bool GridWaits::usesTma(tk::ForTilesOp tiles) const {
  bool isUsed = false;
  tiles.walk([&](Operation *op) {
    auto copy = dyn_cast<tk::CopyOp>(op);
    isUsed |= isa<tk::StoreBoxOp>(op) ||
              (copy && copy.getEngine() == tk::CopyEngine::Tma && !steady.contains(copy.getSource()));
  });
  return isUsed;
}

/// The next kernel may start when all CTAs have come here.
static void emitTrigger(OpBuilder &builder, Location loc) {
  emitAsm(builder, loc, {}, {}, "griddepcontrol.launch_dependents;", "", /*hasSideEffects=*/true);
}

bool GridWaits::readsTransients(func::FuncOp kernel) const {
  WalkResult result = kernel.walk([&](Operation *op) {
    bool isReading = isa<tk::LoadOp, tk::CopyOp, tk::LoadIndexOp>(op) && !steady.contains(op->getOperand(0));
    return isReading ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Whether DRAM brings all steady operands, and takes as many dirty lines, within the time of a kernel of no work: else
/// what the next kernel asks for would delay them.
bool GridWaits::isQuicklyRead(const Device &device) const {
  double bytes = 0;
  for (Value operand : steady) {
    auto type = dyn_cast<tk::GlobalType>(operand.getType());
    std::optional<int64_t> size = type ? tg::getByteSize(type.getTensor()) : 0;
    bytes += size ? double(*size) : std::numeric_limits<double>::infinity();
  }
  return 2 * bytes <= device.kernelSeconds() * device.memoryBandwidth;
}

/// Whether a kernel of `ctas` CTAs (0: nobody knows) leaves half of the GPU's threads to those beside it, and, having
/// no products, next to all registers and shared memory.
static bool isSmall(func::FuncOp kernel, const Device &device, int64_t ctas) {
  bool hasProducts = kernel.walk([](tk::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
  auto warps = kernel->getAttrOfType<IntegerAttr>(tk::warpsAttr);
  return !hasProducts && warps && ctas > 0 &&
         ctas * warps.getInt() * 32 <= int64_t(device.sms) * int64_t(device.threadsPerSm) / 2;
}

void GridWaits::noteLate(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (steady.contains(operand))
        late.insert(operand);
    if (auto load = dyn_cast<tk::LoadOp>(inner); load && !load.getIndices().empty())
      chosen.insert(load.getSource());
  });
}

bool GridWaits::place(Block &block, tk::ForTilesOp tiles, bool isTrigger) {
  auto found = llvm::find_if(block, [&](Operation &op) { return touchesTransients(&op); });
  if (found == block.end())
    return false;
  if (auto inner = dyn_cast<tk::ForTilesOp>(*found))
    return place(inner.getBody().front(), inner, isTrigger);
  if (auto roles = dyn_cast<tk::RolesOp>(*found)) {
    for (Region &region : roles.getRoles()) // The first one that waits: it copies.
      isTrigger &= !place(region.front(), {}, isTrigger);
    return true;
  }
  if (tiles)
    copied.insert_range(copySteadyAhead(tiles, &*found, steady));
  bool isLate = false;
  for (Operation &op : block) {
    isLate |= &op == &*found;
    if (isLate)
      noteLate(&op);
    isLate |= isa<scf::ForOp, tk::ReduceOp>(op);
  }
  OpBuilder builder(&*found);
  Location loc = found->getLoc();
  // The intrinsic touches no memory in LLVM's eyes; the clobber keeps loads behind it.
  emitAsm(builder, loc, {}, {}, "griddepcontrol.wait;", "~{memory}", /*hasSideEffects=*/true);
  // What threads of the kernels before have stored, TMA reads from here on.
  if (tiles && usesTma(tiles))
    emitAsm(builder, loc, {}, {}, "fence.proxy.async.global;", "~{memory}", /*hasSideEffects=*/true);
  if (isTrigger)
    emitTrigger(builder, loc);
  return true;
}

/// Of addresses and sizes of bulk copies.
static constexpr int64_t bulkAlignment = 16;

std::optional<SmallVector<SteadyTensor>> weft::gpu::placeGridWaits(func::FuncOp kernel, const Device &device,
                                                                   int64_t ctas) {
  GridWaits waits(kernel);
  // Whether the next kernel may start beside those before this one, too.
  bool isAtOnce = isSmall(kernel, device, ctas) || (!waits.readsTransients(kernel) && waits.isQuicklyRead(device));
  if (!waits.place(kernel.getBody().front(), {}, /*isTrigger=*/!isAtOnce))
    return std::nullopt;
  if (isAtOnce) {
    OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
    emitTrigger(builder, kernel.getLoc());
  }
  SmallVector<SteadyTensor> tensors;
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<tk::GlobalType>(argument.getType());
    if (!type || !waits.late.contains(argument) || waits.copied.contains(argument))
      continue;
    if (waits.chosen.contains(argument)) // A few rows of many, nobody knows which.
      continue;
    std::optional<int64_t> bytes = tg::getByteSize(type.getTensor());
    if (bytes && *bytes >= bulkAlignment)
      tensors.push_back({argument.getArgNumber(), *bytes / bulkAlignment * bulkAlignment});
  }
  return tensors;
}

//===-- Prefetches ------------------------------------------------------------------------------------------------===//

/// What all CTAs ask for at most, so that it does not drive out what the kernels before still need; and each of them.
static constexpr int64_t prefetchBytes = 8 << 20, prefetchBytesOfCta = 64 << 10;
/// The least share of a CTA: a few lines.
static constexpr int64_t leastShare = 512;

/// One thread of each CTA asks for the begin of the CTA's share of a tensor. Rows of a tensor go to CTAs in order in
/// most kernels, so the share is often what the CTA reads first.
static void emitPrefetch(OpBuilder &builder, Location loc, Value tensor, int64_t bytes, int64_t grid, Value cta) {
  int64_t share = std::max(int64_t(llvm::alignTo(llvm::divideCeil(bytes, grid), 128)), leastShare);
  int64_t part = std::min({share, prefetchBytesOfCta, std::max(prefetchBytes / grid / 128 * 128, leastShare)});
  int64_t whole = bytes / share; // CTAs whose share lies inside the tensor; the next one has the rest.
  auto make = [&](int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); };
  Value offset = arith::MulIOp::create(builder, loc, cta, make(share));
  Value rest = arith::SubIOp::create(builder, loc, make(bytes), offset);
  Value size = arith::MinSIOp::create(builder, loc, rest, make(part));
  Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, cta, make(whole));
  Value isSome = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, rest, make(0));
  auto branch = scf::IfOp::create(builder, loc, arith::AndIOp::create(builder, loc, isInside, isSome),
                                  /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  Value address =
      LLVM::GEPOp::create(then, loc, tensor.getType(), then.getI8Type(), tensor, ArrayRef<LLVM::GEPArg>{offset});
  Value count = arith::TruncIOp::create(then, loc, then.getI32Type(), size);
  emitAsm(then, loc, {}, {address, count}, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r",
          /*hasSideEffects=*/true);
}

void weft::gpu::emitPrefetches(Block &entry, Location loc, ArrayRef<SteadyTensor> tensors, int64_t grid, int64_t warps,
                               Value cta) {
  if (grid <= 0 || tensors.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (auto variable : entry.getOps<LLVM::AllocaOp>()) // They stay in the entry, else they stay in memory.
    builder.setInsertionPointAfter(variable);
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value asking = arith::ConstantIntOp::create(builder, loc, warps > 1 ? 32 : 0, 32); // Thread 0 makes the barriers.
  Value isAsking = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, asking);
  OpBuilder then = scf::IfOp::create(builder, loc, isAsking, /*withElseRegion=*/false).getThenBodyBuilder();
  if (!cta)
    cta = NVVM::BlockIdXOp::create(then, loc, then.getI32Type());
  cta = arith::ExtUIOp::create(then, loc, then.getI64Type(), cta);
  for (SteadyTensor tensor : tensors)
    emitPrefetch(then, loc, entry.getArgument(tensor.argument), tensor.bytes, grid, cta);
}
