// weft-tk-allocate: offsets in dynamic shared memory for buffers, mbarriers and the scratch of ops, by liveness over
// the kernel's top-level order. Buffers that are live at different times share bytes, with a barrier where one follows
// another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Scratch.h"
#include "weft/Target/Device.h"
#include "llvm/Support/MathExtras.h"

namespace weft::schedule {
#define GEN_PASS_DEF_TKALLOCATE
#include "weft/Schedule/Passes.h.inc"
} // namespace weft::schedule

using namespace mlir;
using namespace weft;

namespace {

/// Bytes that are needed from one position of the kernel to another. Positions are
/// numbers of the ops directly in the loop over tiles, in order; an op with
/// regions (a loop, roles) is one position, because its iterations run again and
/// its regions at the same time. What stands before the loop, or in another
/// role's, has position -1.
struct Need {
  Operation *owner; ///< tk.alloc, or an op with scratch.
  int64_t bytes, alignment, first, last;
  bool isScratch;
  int64_t offset = 0;
  bool isLiveWith(const Need &other) const { return first <= other.last && other.first <= last; }
  bool overlaps(const Need &other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

class Allocator {
public:
  Allocator(func::FuncOp kernel, tk::ForTilesOp tiles) : kernel(kernel), tiles(tiles) {
    for (Operation &op : tiles.getBody().front()) {
      places[&op] = order.size();
      order.push_back(&op);
    }
  }

  LogicalResult run(const Device *device) {
    kernel.walk([&](Operation *op) { collect(op); });
    // Large ones first; of equal ones the first in the kernel.
    std::vector<Need *> sorted;
    for (Need &need : needs)
      sorted.push_back(&need);
    std::stable_sort(sorted.begin(), sorted.end(), [](Need *a, Need *b) { return a->bytes > b->bytes; });
    int64_t end = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      place(*sorted[i], ArrayRef(sorted).take_front(i));
      end = std::max(end, sorted[i]->offset + sorted[i]->bytes);
    }
    end = placeChannels(end);
    record();
    separate();
    kernel->setAttr(tk::sharedBytesAttr, Builder(kernel.getContext()).getI64IntegerAttr(end));
    if (!device || end <= device->sharedPerCta)
      return success();
    InFlightDiagnostic error = kernel.emitError("expected at most ")
                               << device->sharedPerCta << " bytes of shared memory on " << device->architecture
                               << ", got " << end << "; use fewer stages or smaller tiles";
    for (const Need &need : needs)
      error.attachNote(need.owner->getLoc())
          << need.bytes << " bytes for `" << need.owner->getName() << "` at " << need.offset;
    return failure();
  }

private:
  /// The position of `op`; -1 before the loop over tiles and in another one.
  int64_t getPlace(Operation *op) {
    Operation *ancestor = tiles.getBody().front().findAncestorOpInBlock(*op);
    return ancestor ? places.lookup(ancestor) : -1;
  }

  void collect(Operation *op) {
    if (auto alloc = dyn_cast<tk::AllocOp>(op)) {
      tk::SharedType type = alloc.getResult().getType();
      int64_t bytes = llvm::alignTo(type.getSlotBytes() * type.getSlots(), 16);
      Need need{op, bytes, bytes >= 1024 ? 1024 : 128, std::numeric_limits<int64_t>::max(), -1, false};
      extend(need, alloc.getResult());
      if (need.last >= 0)
        needs.push_back(need);
    } else if (int64_t bytes = schedule::getScratchBytes(op)) {
      int64_t at = getPlace(op);
      needs.push_back({op, bytes, 128, at, at, true});
    }
  }

  void extend(Need &need, Value buffer) {
    for (Operation *user : buffer.getUsers()) {
      if (auto slot = dyn_cast<tk::SlotOp>(user))
        extend(need, slot.getResult());
      need.first = std::min(need.first, getPlace(user));
      need.last = std::max(need.last, getPlace(user));
    }
    // Copies by TMA and bulk stores run across tiles.
    if (tiles.getPersistent() && llvm::any_of(buffer.getUsers(), isAcrossTiles)) {
      need.first = -1;
      need.last = order.size();
    }
  }
  static bool isAcrossTiles(Operation *user) {
    auto copy = dyn_cast<tk::CopyOp>(user);
    return isa<tk::StoreBoxOp>(user) || (copy && copy.getEngine() == tk::CopyEngine::Tma);
  }

  /// The first gap among those that are live at the same time.
  static void place(Need &need, ArrayRef<Need *> placed) {
    SmallVector<Need *> others;
    for (Need *other : placed)
      if (need.isLiveWith(*other))
        others.push_back(other);
    llvm::sort(others, [](Need *a, Need *b) { return a->offset < b->offset; });
    for (Need *other : others)
      if (need.overlaps(*other))
        need.offset = llvm::alignTo(other->offset + other->bytes, need.alignment);
  }

  int64_t placeChannels(int64_t end) {
    kernel.walk([&](tk::MakeChannelOp channel) {
      if (channel.getEngine() != tk::CopyEngine::Tma)
        return;
      end = llvm::alignTo(end, 8);
      channel.setOffset(end);
      end +=
          16 * tk::ChannelType(channel.getResult().getType()).getSlots(); // A full and an empty mbarrier for each slot.
    });
    return end;
  }

  void record() {
    Builder builder(kernel.getContext());
    for (const Need &need : needs)
      if (need.isScratch)
        need.owner->setAttr(schedule::scratchAttr, builder.getI64IntegerAttr(need.offset));
      else
        cast<tk::AllocOp>(need.owner).setOffset(need.offset);
  }

  /// A buffer in the place of something earlier: a barrier before its first
  /// use. Scratch has its own barriers.
  void separate() {
    llvm::SmallSetVector<Operation *, 4> before;
    for (const Need &need : needs)
      for (const Need &other : needs)
        if (!need.isScratch && other.last < need.first && need.overlaps(other))
          before.insert(order[need.first]);
    for (Operation *op : before) {
      OpBuilder builder(op);
      tk::BarrierOp::create(builder, op->getLoc());
    }
  }

  func::FuncOp kernel;
  tk::ForTilesOp tiles;
  SmallVector<Operation *> order;
  DenseMap<Operation *, int64_t> places;
  std::vector<Need> needs;
};

struct TkAllocatePass : schedule::impl::TkAllocateBase<TkAllocatePass> {
  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<StringAttr>(tk::targetAttr);
    const Device *device = target ? findDevice(target.getValue()) : nullptr;
    // Roles have a loop over tiles each, the producer's first: it has copies alone, which are in the others' channels.
    llvm::MapVector<func::FuncOp, tk::ForTilesOp> kernels;
    getOperation()->walk([&](tk::ForTilesOp tiles) {
      if (auto kernel = tiles->getParentOfType<func::FuncOp>())
        kernels[kernel] = tiles;
    });
    for (auto [kernel, tiles] : kernels)
      if (failed(Allocator(kernel, tiles).run(device)))
        signalPassFailure();
  }
};

} // namespace
