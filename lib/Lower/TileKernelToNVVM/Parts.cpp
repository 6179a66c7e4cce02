// tk.part_send, _receive: the CTAs that share a tile's steps, through the L2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's registers go to the position of its number in the part's slot, and come to the thread of that number in
// another CTA, which has the same layouts: no layout in memory, whole lines. Each CTA of a tile raises its counter when
// its part is there. The one that finds all others' arrivals has them all, whichever it is: nobody waits, so CTAs may
// run in any order. The counter wraps around at the number of parts: each launch leaves it at zero.
#include "Parts.h"
#include "Memory.h"
#include "Tma.h"
#include "Variables.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

namespace {

/// Registers of one of the tiles that pass, in vectors, and the bytes ahead of them in a slot.
struct SentTile {
  SmallVector<unsigned> registers;
  int64_t vector = 1, offset = 0;
};

/// Of what clusters have, that of the CTA: their CTAs have tiles side by side, in equal parts.
Value ownOf(OpBuilder &builder, Location loc, const KernelInfo &info, Value number) {
  if (info.cluster == 1)
    return number;
  Value rank = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), emitClusterRank(builder, loc));
  Value first = arith::MulIOp::create(builder, loc, number, arith::ConstantIndexOp::create(builder, loc, info.cluster));
  return arith::AddIOp::create(builder, loc, first, rank);
}

/// Where the parts of a launch's tiles lie.
class PartSlots {
public:
  PartSlots(TypeRange types, std::optional<int64_t> live, int64_t slots, Role role)
      : slots(slots), role(role), threads(role.warps * 32) {
    for (Type type : types) {
      SentTile &sent = tiles.emplace_back();
      sent.registers = findRegisters(cast<tk::TileType>(type), live);
      int64_t count = sent.registers.size();
      sent.vector = count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
      sent.offset = slotBytes;
      slotBytes += count * threads * wordBytes;
    }
  }

  /// The first byte of slot `number` (index).
  Value locate(OpBuilder &builder, Location loc, const KernelInfo &info, Value number) const {
    Value word = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), ownOf(builder, loc, info, number));
    Value bytes = arith::MulIOp::create(builder, loc, word, makeInt(builder, loc, slotBytes));
    return emitOffset(builder, loc, getVariable(builder, loc, info, "parts", slots * slotBytes), bytes);
  }

  /// Calls `access(pointer of the thread's first vector, byte offset, registers)` for each vector of tile `number`.
  void visit(OpBuilder &builder, Location loc, Value slot, unsigned number,
             llvm::function_ref<void(Value, int64_t, ArrayRef<unsigned>)> access) const {
    const SentTile &sent = tiles[number];
    int64_t bytes = sent.vector * wordBytes;
    Value thread = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), getThread(builder, loc, role).id);
    Value own =
        emitOffset(builder, loc, slot, arith::MulIOp::create(builder, loc, thread, makeInt(builder, loc, bytes)));
    for (int64_t first = 0; first < int64_t(sent.registers.size()); first += sent.vector)
      access(own, sent.offset + first / sent.vector * threads * bytes,
             ArrayRef(sent.registers).slice(first, sent.vector));
  }

private:
  static constexpr int64_t wordBytes = 4;

  /// Those of live columns.
  static SmallVector<unsigned> findRegisters(tk::TileType type, std::optional<int64_t> live) {
    const layout::LinearLayout &layout = type.getLayout().getValue();
    SmallVector<unsigned> registers;
    for (unsigned reg = 0; reg < countRegisters(layout); ++reg)
      if (!live || type.getRank() != 2 || int64_t(layout.unflattenOut(getRegisterImage(layout, reg))[1]) < *live)
        registers.push_back(reg);
    return registers;
  }

  SmallVector<SentTile> tiles;
  int64_t slots, slotBytes = 0;
  Role role;
  int64_t threads;
};

class LowerPartSend : public TilePattern<tk::PartSendOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::PartSendOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1), parts = adaptor.getParts().front();
    Value isShared = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, parts, one);
    auto branch = scf::IfOp::create(rewriter, loc, TypeRange(rewriter.getI1Type()), isShared, /*withElseRegion=*/true);
    OpBuilder then = OpBuilder::atBlockEnd(branch.thenBlock()), otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
    scf::YieldOp::create(then, loc, send(then, op, adaptor.getValues(), adaptor.getNumber().front()));
    scf::YieldOp::create(otherwise, loc, ValueRange(arith::ConstantIntOp::create(otherwise, loc, 1, 1)));
    Value isLast = arith::AndIOp::create(rewriter, loc, branch.getResult(0), isShared);
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    Value turns = arith::SelectOp::create(rewriter, loc, isLast, parts, zero);
    rewriter.replaceOp(op, {turns, branch.getResult(0)});
    return success();
  }

private:
  /// Whether this CTA is the last one.
  Value send(OpBuilder &builder, tk::PartSendOp op, ArrayRef<ValueRange> values, Value number) const {
    constexpr int64_t counterBytes = 128;
    Location loc = op.getLoc();
    Role role = info.getRole(op);
    PartSlots slots(op.getValues().getTypes(), op.getLive(), op.getSlots(), role);
    Value slot = slots.locate(builder, loc, info, number);
    for (auto [i, registers] : llvm::enumerate(values))
      slots.visit(builder, loc, slot, i,
                  [&, &registers = registers](Value own, int64_t offset, ArrayRef<unsigned> regs) {
                    SmallVector<Value> vector =
                        llvm::map_to_vector(regs, [&](unsigned reg) -> Value { return registers[reg]; });
                    emitGlobalStore(builder, loc, own, offset, vector, Predicate());
                  });
    int64_t most = op.getMost();
    Value counters = getVariable(builder, loc, info, "arrivals", op.getSlots() / most * counterBytes);
    Value tile = arith::DivUIOp::create(builder, loc, number, arith::ConstantIndexOp::create(builder, loc, most));
    tile = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), ownOf(builder, loc, info, tile));
    Value counter = emitOffset(builder, loc, counters,
                               arith::MulIOp::create(builder, loc, tile, makeInt(builder, loc, counterBytes)));
    Value told = getSharedPointer(builder, loc, info, info.getScratch(op));
    emitBarrier(builder, loc, role); // All parts of the part are there, and nobody reads what is in the scratch.
    arrive(builder, loc, getThread(builder, loc, role).id, counter, told, most);
    emitBarrier(builder, loc, role);
    Value before = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), told, /*alignment=*/4);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, before, makeInt(builder, loc, most - 1));
  }

  /// The first thread counts the CTA, and tells the others how many came before.
  static void arrive(OpBuilder &builder, Location loc, Value thread, Value counter, Value told, int64_t parts) {
    OpBuilder::InsertionGuard guard(builder);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, zero);
    auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value before = emitAsm(builder, loc, builder.getI32Type(), {counter, makeInt(builder, loc, parts - 1)},
                           "atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r,~{memory}", /*hasSideEffects=*/true)
                       .front();
    LLVM::StoreOp::create(builder, loc, before, told, /*alignment=*/4);
  }
};

class LowerPartReceive : public TilePattern<tk::PartReceiveOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::PartReceiveOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    PartSlots slots(op.getResultTypes(), op.getLive(), op.getSlots(), info.getRole(op));
    Value slot = slots.locate(rewriter, loc, info, adaptor.getNumber().front());
    SmallVector<SmallVector<Value>> results;
    for (auto [i, type] : llvm::enumerate(op.getResultTypes())) {
      auto tile = cast<tk::TileType>(type);
      Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(tile.getElementType()));
      // What was not sent is nobody's concern: a loop carries no registers for it.
      Value none = LLVM::PoisonOp::create(rewriter, loc, tile.getElementType());
      SmallVector<Value> registers(countRegisters(tile.getLayout().getValue()), none);
      slots.visit(rewriter, loc, slot, i, [&](Value own, int64_t offset, ArrayRef<unsigned> regs) {
        SmallVector<Value> loaded = emitGlobalLoad(rewriter, loc, own, offset, tile.getElementType(), regs.size(),
                                                   Predicate(), zero, LoadOptions());
        for (auto [reg, value] : llvm::zip_equal(regs, loaded))
          registers[reg] = i < adaptor.getOnto().size() ? add(rewriter, loc, adaptor.getOnto()[i][reg], value) : value;
      });
      results.push_back(std::move(registers));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  static Value add(OpBuilder &builder, Location loc, Value a, Value b) {
    return isa<FloatType>(a.getType()) ? Value(arith::AddFOp::create(builder, loc, a, b))
                                       : arith::AddIOp::create(builder, loc, a, b);
  }
};

} // namespace

void weft::gpu::populatePartPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                     const KernelInfo &info) {
  addTilePatterns<LowerPartSend, LowerPartReceive>(patterns, converter, info);
}
