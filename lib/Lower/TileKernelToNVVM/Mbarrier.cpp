// Channels of TMA copies: mbarriers, and which phase of them an iteration waits for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A channel has a full and an empty barrier for each slot, 8 bytes each, full ones first. Iteration i uses slot i mod
// slots in its phase (i / slots) mod 2. The full barrier's one arrival is the producer's, with the number of bytes that
// its copies bring; the empty one counts the consumers. A producer waits for the phase before its own, which an unused
// barrier is taken to have completed.
//
// A slot is given back by one thread of each warp, not of each warpgroup: PTX does not say that wgmma completes for all
// its warps at once, and reads of shared memory by other instructions surely do not. Its address is in a register
// before the branch: ptxas that takes the address of shared memory (of the CTA's rank) where lanes diverge keeps
// nothing of the loop around it in uniform registers, and each wgmma of a persistent loop first moves its descriptors
// there (R2UR: 48 a step, 4 to 13 % of a fold).
#include "Memory.h"
#include "Patterns.h"
#include "Tma.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Target/Multicast.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

static Value addBytes(OpBuilder &builder, Location loc, Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer, ValueRange(bytes));
}

bool weft::gpu::isTma(Value channel) {
  auto made = channel ? channel.getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
  return made && made.getEngine() == tk::CopyEngine::Tma;
}

bool weft::gpu::isMulticast(Value channel) { return isTma(channel) && channel.getDefiningOp()->hasAttr(multicastAttr); }

SlotBarriers weft::gpu::getSlotBarriers(OpBuilder &builder, Location loc, Value channel, Value iteration,
                                        int64_t slots) {
  Value number = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), iteration);
  Value count = makeInt(builder, loc, slots);
  Value slot = arith::RemUIOp::create(builder, loc, number, count);
  Value turn = arith::DivUIOp::create(builder, loc, number, count);
  SlotBarriers barriers;
  barriers.phase = arith::AndIOp::create(builder, loc, turn, makeInt(builder, loc, 1));
  barriers.full = addBytes(builder, loc, channel, arith::MulIOp::create(builder, loc, slot, makeInt(builder, loc, 8)));
  barriers.empty = addBytes(builder, loc, barriers.full, makeInt(builder, loc, 8 * slots));
  return barriers;
}

/// An i32 that LLVM does not compute again where it is used.
static Value emitHeld(OpBuilder &builder, Location loc, Value value) {
  return emitAsm(builder, loc, builder.getI32Type(), {value}, "mov.b32 $0, $1;", "=r,r", /*hasSideEffects=*/true)
      .front();
}

/// Suspends at most this long before it looks again, in ns.
static constexpr int64_t waitTicks = 10000000;

/// Nothing that the thread has written is for the others: its dots have read, and are waited for. So the release is the
/// CTA's; one of the cluster costs a fence of 1 us each step on an H100.
void weft::gpu::emitClusterArrival(OpBuilder &builder, Location loc, Value barrier, Value lane, int64_t ctas) {
  Value address = emitHeld(builder, loc, emitAddress(builder, loc, barrier));
  Value isOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, lane,
                                      arith::ConstantIndexOp::create(builder, loc, ctas));
  auto branch = scf::IfOp::create(builder, loc, isOne, /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  Value cta = arith::IndexCastUIOp::create(then, loc, then.getI32Type(), lane);
  emitAsm(then, loc, {}, {emitMapped(then, loc, address, cta)}, "mbarrier.arrive.shared::cluster.b64 _, [$0];",
          "r,~{memory}", /*hasSideEffects=*/true);
}

void weft::gpu::emitPhaseWait(OpBuilder &builder, Location loc, Value barrier, Value phase) {
  NVVM::MBarrierTryWaitParityOp::create(builder, loc, barrier, phase, makeInt(builder, loc, waitTicks));
}

namespace {

class LowerMakeChannel : public TilePattern<tk::MakeChannelOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::MakeChannelOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getEngine() != tk::CopyEngine::Tma)
      return failure();
    if (!op.getOffset() || !info.shared)
      return op.emitOpError("expected an offset in shared memory; run --weft-tk-allocate first");
    if (op == info.firstChannel)
      initialise(rewriter, op.getLoc());
    rewriter.replaceOp(op, getSharedPointer(rewriter, op.getLoc(), info, *op.getOffset()));
    return success();
  }

private:
  /// The barriers of all channels in one pass: one thread, one fence, one meeting of the CTA.
  void initialise(OpBuilder &builder, Location loc) const {
    Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, makeInt(builder, loc, 0));
    auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    for (const KernelInfo::ChannelBarriers &each : info.barriers) {
      Value channel = getSharedPointer(then, loc, info, each.offset);
      for (int64_t i = 0; i < 2 * each.slots; ++i) {
        Value barrier = addBytes(then, loc, channel, makeInt(then, loc, 8 * i));
        NVVM::MBarrierInitOp::create(then, loc, barrier, makeInt(then, loc, i < each.slots ? 1 : each.consumers),
                                     Value());
      }
    }
    NVVM::FenceMbarrierInitOp::create(then, loc);
    if (info.hasMulticast)
      emitMeeting(builder, loc); // Others will arrive here.
    else if (info.hasCopies)     // Beside sums of a cluster alone tk.cluster_open arrives, and who sends waits.
      emitBarrier(builder, loc, info.getCta());
  }
};

/// What the patterns of ops on a channel do.
template <typename OpTy> class LowerChannelOp : public TilePattern<OpTy> {
public:
  using TilePattern<OpTy>::TilePattern;
  using Adaptor = typename OpTy::template GenericAdaptor<ArrayRef<ValueRange>>;
  LogicalResult matchAndRewrite(OpTy op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    if (!isTma(op.getChannel()))
      return failure();
    SlotBarriers barriers = getSlotBarriers(rewriter, op.getLoc(), adaptor.getChannel().front(),
                                            adaptor.getIteration().front(), op.getChannel().getType().getSlots());
    emit(op, barriers, rewriter);
    rewriter.eraseOp(op);
    return success();
  }

private:
  void emit(tk::AcquireOp op, const SlotBarriers &barriers, OpBuilder &builder) const {
    Location loc = op.getLoc();
    Value before = arith::XOrIOp::create(builder, loc, barriers.phase, makeInt(builder, loc, 1));
    emitPhaseWait(builder, loc, barriers.empty, before);
    auto channel = op.getChannel().getDefiningOp<tk::MakeChannelOp>();
    NVVM::MBarrierArriveExpectTxOp::create(builder, loc, Type(), barriers.full,
                                           makeInt(builder, loc, channel.getBytes()), NVVM::MemScopeKindAttr(),
                                           BoolAttr(), Value());
  }
  void emit(tk::WaitOp op, const SlotBarriers &barriers, OpBuilder &builder) const {
    emitPhaseWait(builder, op.getLoc(), barriers.full, barriers.phase);
  }
  void emit(tk::ReleaseOp op, const SlotBarriers &barriers, OpBuilder &builder) const {
    Location loc = op.getLoc();
    // What the other lanes have read comes before the arrival of one.
    NVVM::SyncWarpOp::create(builder, loc, makeInt(builder, loc, -1));
    Value lane = weft::gpu::getThread(builder, loc, this->info.getRole(op)).lane;
    if (isMulticast(op.getChannel()))
      return emitClusterArrival(builder, loc, barriers.empty, lane, this->info.cluster);
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane,
                                          arith::ConstantIndexOp::create(builder, loc, 0));
    Value address = emitHeld(builder, loc, emitAddress(builder, loc, barriers.empty));
    auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    emitAsm(then, loc, {}, {address}, "mbarrier.arrive.shared.b64 _, [$0];", "r,~{memory}", /*hasSideEffects=*/true);
  }
  void emit(tk::CommitOp, const SlotBarriers &, OpBuilder &) const {}
};

/// The phase before that of each of the next iterations, one for each slot.
class LowerDrain : public TilePattern<tk::DrainOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::DrainOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isTma(op.getChannel()))
      return failure();
    Location loc = op.getLoc();
    int64_t slots = op.getChannel().getType().getSlots();
    for (int64_t i = 0; i < slots; ++i) {
      Value iteration = arith::AddIOp::create(rewriter, loc, adaptor.getIteration().front(),
                                              arith::ConstantIndexOp::create(rewriter, loc, i));
      SlotBarriers barriers = getSlotBarriers(rewriter, loc, adaptor.getChannel().front(), iteration, slots);
      Value before = arith::XOrIOp::create(rewriter, loc, barriers.phase, makeInt(rewriter, loc, 1));
      emitPhaseWait(rewriter, loc, barriers.empty, before);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void weft::gpu::populateMbarrierPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                         const KernelInfo &info) {
  addTilePatterns<LowerMakeChannel, LowerChannelOp<tk::AcquireOp>, LowerChannelOp<tk::WaitOp>,
                  LowerChannelOp<tk::ReleaseOp>, LowerChannelOp<tk::CommitOp>, LowerDrain>(patterns, converter, info);
}
