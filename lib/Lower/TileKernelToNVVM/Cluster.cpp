// tk.cluster_rank, _sum, _open, _send: CTAs that compute one tile together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What CTAs send each other goes by st.async, whose bytes complete an mbarrier of the CTA that gets them: one way
// through the cluster, where stores and a barrier that releases them take a fence of all memory beside (0.28 to 0.34 us
// on an H100 instead of 0.71 to 0.86). The cluster's barrier is passed once, without order: every CTA has begun, and
// has made its mbarriers, which have a fence of their own. Its arrival stands at the kernel's start, its wait at the
// first send.
//
// tk.cluster_sum: a thread sends its registers to the thread with its number in the CTA that adds them, 16 bytes at a
// time: no bank conflicts, no layout. The buffer is one of the loop's operands, so sends wait for the empty mbarrier,
// at which each warp of every CTA arrives behind its loop. tk.cluster_send has a buffer of its own.
#include "Memory.h"
#include "Patterns.h"
#include "Tma.h"
#include "Variables.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Target/Device.h"
#include "weft/Target/SplitSteps.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

Value weft::gpu::emitClusterRank(OpBuilder &builder, Location loc) {
  return NVVM::ClusterId::create(builder, loc, builder.getI32Type());
}

Value weft::gpu::emitMapped(OpBuilder &builder, Location loc, Value address, Value cta) {
  return emitAsm(builder, loc, builder.getI32Type(), {address, cta}, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r",
                 /*hasSideEffects=*/false)
      .front();
}

void weft::gpu::emitMeeting(OpBuilder &builder, Location loc) {
  NVVM::ClusterArriveRelaxedOp::create(builder, loc, builder.getUnitAttr());
  NVVM::ClusterWaitOp::create(builder, loc, builder.getUnitAttr());
}

static bool hasClusters(const KernelInfo &info) {
  const Device *device = findDevice(info.target);
  return device && device->maxCluster > 1;
}

/// Elements to an address (i32) of distributed shared memory; they complete bytes of `barrier`, in the same CTA.
static void emitStoreAsync(OpBuilder &builder, Location loc, Value address, int64_t offset, Value barrier,
                           ArrayRef<Value> values) {
  SmallVector<Value> operands{address, barrier};
  std::string list, constraints = "r,r,", count = std::to_string(values.size());
  for (Value value : values) {
    list += (list.empty() ? "$" : ", $") + std::to_string(operands.size());
    constraints += "f,";
    operands.push_back(value);
  }
  std::string type = values.size() > 1 ? "v" + count + ".f32" : "f32";
  list = values.size() > 1 ? "{" + list + "}" : list;
  emitAsm(builder, loc, {}, operands,
          "st.async.shared::cluster.mbarrier::complete_tx::bytes." + type + " [$0+" + std::to_string(offset) + "], " +
              list + ", [$1];",
          constraints + "~{memory}", /*hasSideEffects=*/true);
}

Value weft::gpu::emitAddress(OpBuilder &builder, Location loc, Value pointer) {
  return LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), pointer);
}

/// The CTA's number among those that compute its tile; without clusters they are neighbours all the same.
static Value emitRank(OpBuilder &builder, Location loc, const KernelInfo &info) {
  if (hasClusters(info))
    return emitClusterRank(builder, loc);
  Value cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  return arith::RemUIOp::create(builder, loc, cta, makeInt(builder, loc, info.cluster));
}

namespace {

class LowerClusterRank : public TilePattern<tk::ClusterRankOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ClusterRankOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value rank = emitRank(rewriter, op.getLoc(), info);
    rewriter.replaceOpWithNewOp<arith::IndexCastUIOp>(op, rewriter.getIndexType(), rank);
    return success();
  }
};

class LowerClusterSum : public TilePattern<tk::ClusterSumOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ClusterSumOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Role role = info.getRole(op);
    SmallVector<Value> sums(adaptor.getValue());
    tk::SharedType buffer = op.getBuffer().getType();
    int64_t parts = info.cluster, share = int64_t(sums.size()) / parts;
    Exchange exchange{role.warps * 32, share * 4 * role.warps * 32};
    if (parts < 2 || share * parts != int64_t(sums.size()) || share % 4 || !sums[0].getType().isF32() ||
        (parts - 1) * exchange.bytes > buffer.getSlots() * buffer.getSlotBytes())
      return op.emitOpError("expected f32 sums in ")
             << parts
             << " equal parts of each thread's registers and a buffer for what the CTAs of a cluster send, got "
             << op.getValue().getType() << " through " << buffer;
    auto channel = op.getChannel().getDefiningOp<tk::MakeChannelOp>();
    if (!channel || channel.getBytes() != uint64_t((parts - 1) * exchange.bytes))
      return op.emitOpError("expected a channel for ") << (parts - 1) * exchange.bytes << " bytes";
    Location loc = op.getLoc();
    Value number = arith::ConstantIndexOp::create(rewriter, loc, 0);
    SlotBarriers barriers = getSlotBarriers(rewriter, loc, adaptor.getChannel().front(), number, /*slots=*/1);
    exchange.rank = emitClusterRank(rewriter, loc);
    exchange.place = addThread(rewriter, loc, role, adaptor.getBuffer().front());
    exchange.full = barriers.full;

    NVVM::ClusterWaitOp::create(rewriter, loc, rewriter.getUnitAttr());
    Value lane = weft::gpu::getThread(rewriter, loc, role).lane;
    emitClusterArrival(rewriter, loc, barriers.empty, lane, parts);
    emitPhaseWait(rewriter, loc, barriers.empty, barriers.phase);
    for (int64_t part = 0; part < parts; ++part) {
      auto send = scf::IfOp::create(rewriter, loc, isRank(rewriter, loc, exchange, part, arith::CmpIPredicate::ne),
                                    /*withElseRegion=*/false);
      OpBuilder sender = send.getThenBodyBuilder();
      emitSend(sender, loc, ArrayRef(sums).slice(part * share, share), part, exchange);
    }
    emitPhaseWait(rewriter, loc, barriers.full, barriers.phase);
    for (int64_t part = 0; part < parts; ++part)
      addReceived(rewriter, loc, MutableArrayRef(sums).slice(part * share, share), part, parts, exchange);
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }

private:
  /// A CTA has room for what each of the others sends: `bytes`, 16 of a thread beside 16 of the next one.
  struct Exchange {
    int64_t threads, bytes;
    Value rank = {}, place = {}; ///< Of this CTA; of this thread in the first CTA's room.
    Value full = {};             ///< The mbarrier of what comes to this CTA.
  };

  static Value isRank(OpBuilder &builder, Location loc, const Exchange &exchange, int64_t part,
                      arith::CmpIPredicate predicate) {
    return arith::CmpIOp::create(builder, loc, predicate, exchange.rank, makeInt(builder, loc, part));
  }

  static Value addThread(OpBuilder &builder, Location loc, const Role &role, Value buffer) {
    Value thread = weft::gpu::getThread(builder, loc, role).id;
    thread = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), thread);
    Value offset = arith::MulIOp::create(builder, loc, thread, makeInt(builder, loc, 16));
    return LLVM::GEPOp::create(builder, loc, buffer.getType(), builder.getI8Type(), buffer, ValueRange(offset));
  }

  /// To the room of this CTA in the CTA `part`, which has none for itself.
  static void emitSend(OpBuilder &builder, Location loc, ArrayRef<Value> values, int64_t part,
                       const Exchange &exchange) {
    Value isLater = isRank(builder, loc, exchange, part, arith::CmpIPredicate::ugt);
    Value room = arith::SubIOp::create(builder, loc, exchange.rank,
                                       arith::ExtUIOp::create(builder, loc, builder.getI32Type(), isLater));
    Value address = emitAddress(builder, loc, exchange.place), cta = makeInt(builder, loc, part);
    address = arith::AddIOp::create(builder, loc, address,
                                    arith::MulIOp::create(builder, loc, room, makeInt(builder, loc, exchange.bytes)));
    address = emitMapped(builder, loc, address, cta);
    Value barrier = emitMapped(builder, loc, emitAddress(builder, loc, exchange.full), cta);
    for (size_t i = 0; i < values.size(); i += 4)
      emitStoreAsync(builder, loc, address, int64_t(i) * 4 * exchange.threads, barrier, values.slice(i, 4));
  }

  /// In the CTA `part`: what the others have sent, in their order.
  static void addReceived(OpBuilder &builder, Location loc, MutableArrayRef<Value> sums, int64_t part, int64_t parts,
                          const Exchange &exchange) {
    auto add = scf::IfOp::create(builder, loc, SmallVector<Type>(sums.size(), sums[0].getType()),
                                 isRank(builder, loc, exchange, part, arith::CmpIPredicate::eq),
                                 /*withElseRegion=*/true);
    OpBuilder adder = OpBuilder::atBlockEnd(add.thenBlock()), other = OpBuilder::atBlockEnd(add.elseBlock());
    SmallVector<Value> all(sums);
    for (int64_t room = 0; room < parts - 1; ++room)
      for (size_t i = 0; i < all.size(); i += 4) {
        int64_t offset = room * exchange.bytes + int64_t(i) * 4 * exchange.threads;
        SmallVector<Value> received = emitSharedLoad(adder, loc, exchange.place, offset, all[0].getType(), 4);
        for (auto [sum, value] : llvm::zip(MutableArrayRef(all).slice(i, 4), received))
          sum = arith::AddFOp::create(adder, loc, sum, value);
      }
    scf::YieldOp::create(adder, loc, all);
    scf::YieldOp::create(other, loc, ValueRange(sums));
    llvm::copy(add.getResults(), sums.begin());
  }
};

/// The arrival orders nothing but the mbarriers, and costs nothing where the others have begun by the time of the wait.
class LowerClusterOpen : public TilePattern<tk::ClusterOpenOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ClusterOpenOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!hasClusters(info)) {
      rewriter.eraseOp(op);
      return success();
    }
    auto channel = op.getChannel() ? op.getChannel().getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
    if (!channel)
      return op.emitOpError("expected a channel for what the CTAs of a cluster send");
    Location loc = op.getLoc();
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, rewriter.getI32Type());
    Value isFirst = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, thread, makeInt(rewriter, loc, 0));
    auto branch = scf::IfOp::create(rewriter, loc, isFirst, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    NVVM::MBarrierArriveExpectTxOp::create(then, loc, Type(), adaptor.getChannel().front(),
                                           makeInt(then, loc, channel.getBytes()), NVVM::MemScopeKindAttr(), BoolAttr(),
                                           Value());
    NVVM::ClusterArriveRelaxedOp::create(rewriter, loc, rewriter.getUnitAttr());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Row by row the tile is one piece of elements, of which CTA r gets the r-th part: the high bits of an element's
/// number are the CTA, the others the position in the slot that this CTA has there.
class LowerClusterSend : public TilePattern<tk::ClusterSendOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ClusterSendOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<tk::TileType>(op.getValues().front().getType());
    int64_t tiles = op.getValues().size();
    tk::SharedType buffer = op.getBuffer().getType();
    auto wholes = [](ArrayRef<int64_t> shape) {
      return layout::makeShared({{uint64_t(shape[0]), uint64_t(shape[1])}, {1, 0}, 32});
    };
    std::optional<layout::LinearLayout> rows = wholes(type.getShape()), slot = wholes(buffer.getShape());
    std::optional<layout::LinearLayout> offsets =
        rows ? layout::getOffsets(type.getLayout().getValue(), *rows) : std::nullopt;
    if (!offsets || info.cluster * tiles != buffer.getSlots() || !type.getElementType().isF32() ||
        !buffer.getLayout() || buffer.getLayout().getValue().canonical() != slot->canonical())
      return op.emitOpError("expected a slot with f32 rows one after the other for each of ")
             << tiles << " tiles of " << info.cluster << " CTAs, got " << type << " and " << buffer;
    Share share{info, info.getRole(op), *offsets, buffer.getSlotBytes(), tiles, adaptor.getBuffer().front()};
    if (hasClusters(info)) {
      auto channel = op.getChannel() ? op.getChannel().getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
      if (!channel || channel.getBytes() != uint64_t(share.allBytes()))
        return op.emitOpError("expected a channel for ") << share.allBytes() << " bytes";
      Value number = arith::ConstantIndexOp::create(rewriter, loc, 0);
      SlotBarriers barriers = getSlotBarriers(rewriter, loc, adaptor.getChannel().front(), number, /*slots=*/1);
      share.full = barriers.full;
      NVVM::ClusterWaitOp::create(rewriter, loc, rewriter.getUnitAttr());
      emitSends(rewriter, loc, share, adaptor.getValues(), Value());
      emitPhaseWait(rewriter, loc, barriers.full, barriers.phase);
    } else if (auto count = op->getAttrOfType<IntegerAttr>(tilesAttr)) {
      sendThroughMemory(rewriter, loc, share, adaptor.getValues(), count.getInt());
    } else {
      return op.emitOpError("expected the number of tiles on a target without clusters; run --weft-tk-split-steps");
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  struct Share {
    const KernelInfo &info;
    Role role;
    layout::LinearLayout offsets; ///< Of the tile, row by row.
    int64_t slotBytes, tiles;
    Value buffer;    ///< !llvm.ptr<3>
    Value full = {}; ///< The mbarrier of what comes to this CTA, likewise; none without clusters.

    int64_t tileBytes() const { return slotBytes * info.cluster; }
    int64_t allBytes() const { return tileBytes() * tiles; }
  };

  /// Each register of the tiles to its position: in distributed shared memory; or, if `memory` is given, from there on:
  /// for each CTA what all of them have for it.
  static void emitSends(OpBuilder &builder, Location loc, const Share &share, ArrayRef<ValueRange> tiles,
                        Value memory) {
    OpBuilder::InsertionGuard guard(builder);
    TileIndices indices(builder, loc, share.offsets, share.role);
    Predicate isFirst =
        isFirstHolder(builder, loc, indices.getThread(), getReplicatedBits(share.offsets, share.role.warps));
    if (!isFirst.isKnown) {
      auto branch = scf::IfOp::create(builder, loc, isFirst.value, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    Value slotBytes = makeInt(builder, loc, share.slotBytes);
    Value own = arith::MulIOp::create(builder, loc, emitRank(builder, loc, share.info), slotBytes);
    if (!memory)
      own = arith::AddIOp::create(builder, loc, own, emitAddress(builder, loc, share.buffer));
    SmallVector<LinearForm> forms;
    for (unsigned reg = 0; reg < tiles.front().size(); ++reg)
      forms.push_back(indices.getDims(reg).front());
    SmallVector<Predicate> predicates(forms.size());
    SmallVector<unsigned> equal;
    for (AccessVector &vector : groupRegisters(forms, predicates, /*elementBits=*/32, equal)) {
      Value place = makeInt(builder, loc, vector.constant * 4);
      if (Value terms = indices.arithmetic().materializeTerms(vector.terms)) {
        terms = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), terms);
        terms = arith::MulIOp::create(builder, loc, terms, makeInt(builder, loc, 4));
        place = arith::AddIOp::create(builder, loc, terms, place);
      }
      Value cta = arith::DivUIOp::create(builder, loc, place, slotBytes);
      Value within = arith::AddIOp::create(builder, loc, own, arith::RemUIOp::create(builder, loc, place, slotBytes));
      for (auto [number, values] : llvm::enumerate(tiles)) {
        SmallVector<Value> sent;
        for (unsigned reg : vector.registers)
          sent.push_back(values[reg]);
        emitSend(builder, loc, share, sent, cta, within, int64_t(number) * share.tileBytes(), memory);
      }
    }
  }

  /// `within`, and `offset` bytes on, in what the CTA has.
  static void emitSend(OpBuilder &builder, Location loc, const Share &share, ArrayRef<Value> values, Value cta,
                       Value within, int64_t offset, Value memory) {
    if (!memory) {
      Value barrier = emitMapped(builder, loc, emitAddress(builder, loc, share.full), cta);
      return emitStoreAsync(builder, loc, emitMapped(builder, loc, within, cta), offset, barrier, values);
    }
    Value block = arith::MulIOp::create(builder, loc, cta, makeInt(builder, loc, share.allBytes()));
    Value place = arith::AddIOp::create(builder, loc, block, within);
    emitGlobalStore(builder, loc, emitOffset(builder, loc, memory, place), offset, values, Predicate());
  }

  /// Without distributed shared memory: the parts pass through the L2. A tile's CTAs are neighbours, and CTAs begin in
  /// the order of their numbers, so those that a CTA waits for run, or begin when CTAs of earlier tiles have ended
  /// (docs/split-k.md). Each launch adds `cluster` to a tile's counter, which needs no setting back.
  static void sendThroughMemory(OpBuilder &builder, Location loc, const Share &share, ArrayRef<ValueRange> values,
                                int64_t tiles) {
    constexpr int64_t counterBytes = 128;
    int64_t ctas = share.info.cluster, threads = share.role.warps * 32;
    Value parts = getVariable(builder, loc, share.info, "parts", tiles * ctas * share.allBytes());
    Value counters = getVariable(builder, loc, share.info, "arrivals", tiles * counterBytes);
    Value cta = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
    Value tile = arith::DivUIOp::create(builder, loc, cta, makeInt(builder, loc, ctas));
    auto times = [&](Value number, int64_t bytes) -> Value {
      return arith::MulIOp::create(builder, loc, number, makeInt(builder, loc, bytes));
    };
    emitSends(builder, loc, share, values, emitOffset(builder, loc, parts, times(tile, ctas * share.allBytes())));
    emitBarrier(builder, loc, share.role);
    Value thread = weft::gpu::getThread(builder, loc, share.role).id;
    waitForParts(builder, loc, thread, emitOffset(builder, loc, counters, times(tile, counterBytes)), ctas);
    emitBarrier(builder, loc, share.role);
    thread = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), thread);
    Value own = emitOffset(builder, loc, parts, times(cta, share.allBytes()));
    for (int64_t first = 0; first < share.allBytes() / 16; first += threads)
      copyPart(builder, loc, arith::AddIOp::create(builder, loc, thread, makeInt(builder, loc, first)), own, share,
               first + threads > share.allBytes() / 16);
    emitBarrier(builder, loc, share.role);
  }

  static void waitForParts(OpBuilder &builder, Location loc, Value thread, Value counter, int64_t ctas) {
    OpBuilder::InsertionGuard guard(builder);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, zero);
    auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    Type word = builder.getI32Type();
    Value before = emitAsm(builder, loc, word, counter, "atom.release.gpu.global.add.u32 $0, [$1], 1;",
                           "=r,l,~{memory}", /*hasSideEffects=*/true)
                       .front();
    Value round = arith::AndIOp::create(builder, loc, before, makeInt(builder, loc, -ctas));
    Value all = arith::AddIOp::create(builder, loc, round, makeInt(builder, loc, ctas));
    auto loop = scf::WhileOp::create(builder, loc, TypeRange(), ValueRange());
    builder.createBlock(&loop.getBefore());
    Value found = emitAsm(builder, loc, word, counter, "ld.acquire.gpu.global.u32 $0, [$1];", "=r,l,~{memory}",
                          /*hasSideEffects=*/true)
                      .front();
    Value isWaiting = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, found, all);
    scf::ConditionOp::create(builder, loc, isWaiting, ValueRange());
    builder.createBlock(&loop.getAfter());
    scf::YieldOp::create(builder, loc);
  }

  /// Vector `number` of what all CTAs have sent, to the buffer.
  static void copyPart(OpBuilder &builder, Location loc, Value number, Value from, const Share &share, bool isLast) {
    OpBuilder::InsertionGuard guard(builder);
    if (isLast) {
      Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                                             makeInt(builder, loc, share.allBytes() / 16));
      auto branch = scf::IfOp::create(builder, loc, isInside, /*withElseRegion=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    Value bytes = arith::MulIOp::create(builder, loc, number, makeInt(builder, loc, 16));
    auto vector = VectorType::get(4, builder.getF32Type());
    Value loaded = LLVM::LoadOp::create(builder, loc, vector, emitOffset(builder, loc, from, bytes), /*alignment=*/16);
    LLVM::StoreOp::create(builder, loc, loaded, emitOffset(builder, loc, share.buffer, bytes), /*alignment=*/16);
  }
};

} // namespace

void weft::gpu::populateClusterPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        const KernelInfo &info) {
  addTilePatterns<LowerClusterRank, LowerClusterSum, LowerClusterOpen, LowerClusterSend>(patterns, converter, info);
}
