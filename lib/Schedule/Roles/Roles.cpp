// weft-tk-roles: one warpgroup copies by TMA, the others compute. Where copies are of another kind all warps do both,
// and what wgmma needs of them is added.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Roles.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Wgmma.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"
#include "weft/Target/Multicast.h"

namespace weft::schedule {
#define GEN_PASS_DEF_TKROLES
#include "weft/Schedule/Passes.h.inc"
} // namespace weft::schedule

using namespace mlir;
using namespace weft;
using namespace weft::schedule;

/// What the kernel's warps are divided into. Registers go from a producer's to the others in whole warpgroups; where no
/// dot is wgmma's, nobody needs more than a thread begins with, and one warp copies.
static constexpr int64_t producerGroupWarps = 4, producerWarps = 1, unchangedRegisters = 256;

/// Registers of a producer's and a consumer's thread. A CTA starts with the register file in equal parts (in eights);
/// what the producer gives back goes to the consumers.
static std::pair<int64_t, int64_t> divideRegisters(int64_t consumerWarps, int64_t fileRegisters) {
  int64_t groups = consumerWarps / 4 + 1;
  int64_t start = std::min<int64_t>(fileRegisters / (groups * 128), 255) / 8 * 8;
  int64_t producer = consumerWarps <= 8 ? 40 : 24;
  int64_t consumer = (start * groups - producer) / (groups - 1) / 8 * 8;
  return {producer, std::min<int64_t>(consumer, 240)};
}

/// All copies by threads: channels whose copies are not all TMA's.
static void copyByThreads(func::FuncOp kernel) {
  kernel.walk([](tk::CopyOp copy) {
    copy.setEngine(tk::CopyEngine::CpAsync);
    if (auto channel = copy.getChannel() ? copy.getChannel().getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp())
      channel.setEngine(tk::CopyEngine::CpAsync);
  });
}

/// What cp.async brought is ordered before wgmma reads it.
static void fenceCopies(func::FuncOp kernel) {
  kernel.walk([](tk::WaitOp wait) {
    auto channel = wait.getChannel().getDefiningOp<tk::MakeChannelOp>();
    if (channel && channel.getEngine() == tk::CopyEngine::CpAsync) {
      OpBuilder after(wait->getBlock(), std::next(Block::iterator(wait)));
      tk::FenceAsyncOp::create(after, wait.getLoc());
    }
  });
}

static int64_t countSharedBytes(func::FuncOp kernel) {
  int64_t bytes = 0;
  kernel.walk([&](tk::AllocOp alloc) {
    tk::SharedType type = alloc.getResult().getType();
    bytes += type.getSlots() * llvm::alignTo(type.getSlotBytes(), 1024);
  });
  return bytes;
}

/// The loop of the consumers: without copies.
static void eraseCopies(tk::ForTilesOp tiles) {
  tiles.walk([](Operation *op) {
    if (isa<tk::AcquireOp, tk::CommitOp, tk::CopyOp>(op))
      op->erase();
  });
}

static void addBlock(tk::RolesOp roles, unsigned number, tk::ForTilesOp tiles) {
  Block &block = roles.getRoles()[number].emplaceBlock();
  tiles->moveBefore(&block, block.end());
  OpBuilder builder(&block, block.end());
  tk::YieldOp::create(builder, roles.getLoc());
}

/// The first warpgroup has its first turn from the last one; the turn that is left at the end is the first one's.
static void passTurns(Block &role) {
  OpBuilder builder = OpBuilder::atBlockBegin(&role);
  Location loc = role.getParentOp()->getLoc();
  tk::PassTurnOp::create(builder, loc, /*last=*/true);
  builder.setInsertionPoint(role.getTerminator());
  tk::TakeTurnOp::create(builder, loc, /*first=*/true);
}

/// At the producer's end: what other CTAs read, and give back at this one's barriers, they have given back.
static void drainMulticasts(tk::RolesOp roles, ArrayRef<ChannelUse> uses) {
  OpBuilder builder(roles.getRoles().front().front().getTerminator());
  for (const ChannelUse &use : uses) {
    tk::MakeChannelOp channel = use.channel; // Accessors of ops are not const.
    if (!channel->hasAttr(weft::gpu::multicastAttr))
      continue;
    Value next = tk::CursorOp::create(builder, roles.getLoc(), channel.getResult());
    tk::DrainOp::create(builder, roles.getLoc(), channel.getResult(), next);
  }
}

namespace {
struct TkRolesPass : schedule::impl::TkRolesBase<TkRolesPass> {
  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<StringAttr>(tk::targetAttr);
    const Device *device = target ? findDevice(target.getValue()) : nullptr;
    if (!device || !device->can.tma)
      return;
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      SmallVector<tk::ForTilesOp> tiles(kernel.getOps<tk::ForTilesOp>());
      if (tiles.size() == 1)
        assignRoles(kernel, tiles.front(), *device);
    }
  }

  void assignRoles(func::FuncOp kernel, tk::ForTilesOp tiles, const Device &device) {
    bool hasDots = false;
    tiles.walk([&](tk::DotOp dot) { hasDots |= isWgmma(dot); });
    auto warps = kernel->getAttrOfType<IntegerAttr>(tk::warpsAttr);
    std::optional<SmallVector<ChannelUse>> uses = findTmaChannels(tiles);
    int64_t producers = hasDots ? producerGroupWarps : producerWarps;
    bool fits =
        uses && !uses->empty() && warps && (!hasDots || warps.getInt() % 4 == 0) && warps.getInt() + producers <= 32;
    OpBuilder builder(tiles);
    auto schedule = getOperation()->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
    int64_t parts = schedule ? schedule.getSplit() : 1;
    bool isParted = fits && hasDots && parts > 1 && splitLoop(tiles, *uses, warps.getInt(), parts);
    int64_t multicast = schedule ? schedule.getMulticast() : 1;
    int64_t ctas = isParted ? parts : multicast > 1 && fits && hasDots && shareTiles(tiles, multicast) ? multicast : 1;
    if (ctas > 1)
      kernel->setAttr(weft::gpu::clusterAttr, builder.getI64IntegerAttr(ctas));
    tk::ForTilesOp producer = fits ? buildProducer(builder, tiles) : tk::ForTilesOp();
    if (!producer) {
      copyByThreads(kernel);
      if (hasDots)
        fenceCopies(kernel);
      waitForDots(tiles, {});
      return;
    }
    int64_t consumers = warps.getInt();
    for (ChannelUse &use : *uses) // One thread of each warp gives a slot back.
      use.channel.setConsumers(consumers * (use.channel->hasAttr(weft::gpu::multicastAttr) ? ctas : 1));
    eraseCopies(tiles);
    // 1 KiB for barriers and what allocation rounds up; results leave through one slot of 8 KiB a warpgroup at least.
    int64_t sharedBytes = int64_t(device.sharedPerCta) - 1024;
    addLateSlots(tiles, *uses, sharedBytes - countSharedBytes(kernel) - consumers / 4 * 8192);
    numberIterations(producer, *uses);
    numberIterations(tiles, *uses);
    bool takesTurns = schedule && schedule.getTurns() && consumers > 4;
    takesTurns &= overlapDots(tiles, *uses, takesTurns);
    waitForDots(tiles, *uses);
    storeBoxes(tiles, producer, consumers, sharedBytes - countSharedBytes(kernel), isParted ? parts : 1);
    sharePartSums(tiles);
    if (isParted && !tiles.getOps<tk::StoreOp>().empty()) {
      kernel.emitError("expected shared memory for the results of a tile that ")
          << parts << " CTAs share; use fewer stages or smaller tiles";
      return signalPassFailure();
    }
    auto [few, many] =
        hasDots ? divideRegisters(consumers, device.registersPerSm) : std::pair(unchangedRegisters, unchangedRegisters);
    auto roles = tk::RolesOp::create(builder, tiles.getLoc(), ArrayRef<int64_t>{producers, consumers},
                                     ArrayRef<int64_t>{few, many}, /*rolesCount=*/2);
    addBlock(roles, 0, producer);
    addBlock(roles, 1, tiles);
    if (takesTurns)
      passTurns(roles.getRoles()[1].front());
    drainMulticasts(roles, *uses);
    kernel->setAttr(tk::warpsAttr, builder.getI64IntegerAttr(producers + consumers));
  }
};
} // namespace
