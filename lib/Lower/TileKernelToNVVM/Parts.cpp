// tk.part_send, _receive, _sum: the CTAs that share a tile's steps, through the L2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's registers go to the position of its number in the part's slot, and come to the thread of that number in
// another CTA, which has the same layouts: no layout in memory, whole lines. Each CTA of a tile raises its counter when
// its part is there.
//
// Where one CTA merges, it is the one that finds all others' arrivals: nobody waits, so CTAs may run in any order. The
// counter wraps around at the number of parts: each launch leaves it at zero.
//
// Where each CTA adds up pieces of the sums it waits for all parts. Those of a tile are neighbours in the launch, and
// CTAs begin in the order of their numbers: those that a CTA waits for run, or begin when CTAs of earlier tiles have
// ended. The counter wraps around at many times the number of parts: what a launch waits for is the next multiple.
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

  /// Those of the first tile that pass.
  ArrayRef<unsigned> getRegisters() const { return tiles.front().registers; }

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

/// A tile's counter, a line of its own.
Value getCounter(OpBuilder &builder, Location loc, const KernelInfo &info, Value number, int64_t slots, int64_t most) {
  constexpr int64_t counterBytes = 128;
  Value counters = getVariable(builder, loc, info, "arrivals", slots / most * counterBytes);
  Value tile = arith::DivUIOp::create(builder, loc, number, arith::ConstantIndexOp::create(builder, loc, most));
  tile = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), ownOf(builder, loc, info, tile));
  return emitOffset(builder, loc, counters,
                    arith::MulIOp::create(builder, loc, tile, makeInt(builder, loc, counterBytes)));
}

/// What follows, in the role's first thread alone.
void enterFirstThread(OpBuilder &builder, Location loc, const Role &role) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, getThread(builder, loc, role).id, zero);
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
}

/// How many arrivals the counter had, which wraps around at `turn`; what the CTA has stored is there for those who see
/// this one.
Value emitArrival(OpBuilder &builder, Location loc, Value counter, int64_t turn) {
  return emitAsm(builder, loc, builder.getI32Type(), {counter, makeInt(builder, loc, turn - 1)},
                 "atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r,~{memory}", /*hasSideEffects=*/true)
      .front();
}

/// Whether the CTA is the last of `most` whose parts are there, to all of its threads through shared memory (`told`).
Value arriveLast(OpBuilder &builder, Location loc, const Role &role, Value counter, Value told, int64_t most) {
  emitBarrier(builder, loc, role); // All parts of the part are there, and nobody reads what is in the scratch.
  {
    OpBuilder::InsertionGuard guard(builder);
    enterFirstThread(builder, loc, role);
    LLVM::StoreOp::create(builder, loc, emitArrival(builder, loc, counter, most), told, /*alignment=*/4);
  }
  emitBarrier(builder, loc, role);
  Value before = LLVM::LoadOp::create(builder, loc, builder.getI32Type(), told, /*alignment=*/4);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, before, makeInt(builder, loc, most - 1));
}

/// Until the parts of all `most` CTAs are there.
void arriveAndWait(OpBuilder &builder, Location loc, const Role &role, Value counter, int64_t most) {
  constexpr int64_t launches = 1 << 20; // Until the counter is at zero again.
  emitBarrier(builder, loc, role);
  {
    OpBuilder::InsertionGuard guard(builder);
    enterFirstThread(builder, loc, role);
    Value before = emitArrival(builder, loc, counter, most * launches), count = makeInt(builder, loc, most);
    Value within = arith::RemUIOp::create(builder, loc, before, count);
    Value all = arith::AddIOp::create(builder, loc, arith::SubIOp::create(builder, loc, before, within), count);
    Value isWrapped =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, all, makeInt(builder, loc, most * launches));
    all = arith::SelectOp::create(builder, loc, isWrapped, makeInt(builder, loc, 0), all);
    auto loop = scf::WhileOp::create(builder, loc, TypeRange(), ValueRange());
    builder.createBlock(&loop.getBefore());
    Value found = emitAsm(builder, loc, builder.getI32Type(), counter, "ld.acquire.gpu.global.u32 $0, [$1];",
                          "=r,l,~{memory}", /*hasSideEffects=*/true)
                      .front();
    Value isWaiting = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, found, all);
    scf::ConditionOp::create(builder, loc, isWaiting, ValueRange());
    builder.createBlock(&loop.getAfter());
    scf::YieldOp::create(builder, loc);
  }
  emitBarrier(builder, loc, role);
}

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
    Value counter = getCounter(builder, loc, info, number, op.getSlots(), op.getMost());
    Value told = getSharedPointer(builder, loc, info, info.getScratch(op));
    return arriveLast(builder, loc, role, counter, told, op.getMost());
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
          registers[reg] = value;
      });
      results.push_back(std::move(registers));
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

class LowerPartSum : public TilePattern<tk::PartSumOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::PartSumOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Parts parts{op, info,
                PartSlots(TypeRange(op->getResultTypes()).take_front(), op.getLive(), op.getSlots(), info.getRole(op)),
                adaptor.getNumber().front(), adaptor.getPart().front()};
    SmallVector<Value> own(adaptor.getValue());
    Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
    Value all = arith::ConstantIndexOp::create(rewriter, loc, op.getMost()); // No share, but the tile.
    Value isShared = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne, adaptor.getParts().front(), one);
    SmallVector<Type> types = llvm::map_to_vector(own, [](Value value) { return value.getType(); });
    types.append({rewriter.getI1Type(), rewriter.getIndexType()});
    auto branch = scf::IfOp::create(rewriter, loc, types, isShared, /*withElseRegion=*/true);
    OpBuilder then = OpBuilder::atBlockEnd(branch.thenBlock()), otherwise = OpBuilder::atBlockEnd(branch.elseBlock());
    scf::YieldOp::create(then, loc, op.getPiece() ? addPieces(then, parts, own) : addAll(then, parts, own, all));
    own.push_back(arith::ConstantIntOp::create(otherwise, loc, 1, 1));
    own.push_back(all);
    scf::YieldOp::create(otherwise, loc, own);
    ValueRange results = branch.getResults();
    rewriter.replaceOpWithMultiple(op, {results.drop_back(2), results.take_back(2).take_front(), results.take_back()});
    return success();
  }

private:
  struct Parts {
    mutable tk::PartSumOp op; // Accessors of ops are not const.
    const KernelInfo &info;
    PartSlots slots;
    Value number, part;

    Value locate(OpBuilder &builder, Value number) const { return slots.locate(builder, op.getLoc(), info, number); }
    Value counter(OpBuilder &builder) const {
      return getCounter(builder, op.getLoc(), info, number, op.getSlots(), op.getMost());
    }
    /// Of the tile's part 0.
    Value first(OpBuilder &builder) const { return arith::SubIOp::create(builder, op.getLoc(), number, part); }
  };

  static void store(OpBuilder &builder, Location loc, Value own, int64_t offset, ArrayRef<unsigned> regs,
                    ArrayRef<Value> values) {
    emitGlobalStore(builder, loc, own, offset,
                    llvm::map_to_vector(regs, [&](unsigned reg) -> Value { return values[reg]; }), Predicate());
  }

  static void add(OpBuilder &builder, Location loc, Value own, int64_t offset, ArrayRef<unsigned> regs,
                  MutableArrayRef<Value> sums) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sums[regs[0]].getType()));
    SmallVector<Value> loaded = emitGlobalLoad(builder, loc, own, offset, sums[regs[0]].getType(), regs.size(),
                                               Predicate(), zero, LoadOptions());
    for (auto [reg, value] : llvm::zip_equal(regs, loaded))
      sums[reg] = isa<FloatType>(value.getType()) ? Value(arith::AddFOp::create(builder, loc, sums[reg], value))
                                                  : arith::AddIOp::create(builder, loc, sums[reg], value);
  }

  /// The last CTA adds up all parts, in their order.
  static SmallVector<Value> addAll(OpBuilder &builder, const Parts &parts, ArrayRef<Value> own, Value all) {
    tk::PartSumOp op = parts.op;
    Location loc = op.getLoc();
    Role role = parts.info.getRole(op);
    parts.slots.visit(
        builder, loc, parts.locate(builder, parts.number), 0,
        [&](Value place, int64_t offset, ArrayRef<unsigned> regs) { store(builder, loc, place, offset, regs, own); });
    Value told = getSharedPointer(builder, loc, parts.info, parts.info.getScratch(op));
    Value isLast = arriveLast(builder, loc, role, parts.counter(builder), told, op.getMost());
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0), one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value turns = arith::SelectOp::create(builder, loc, isLast, all, zero);
    Value nothing = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(own[0].getType()));
    auto loop = scf::ForOp::create(builder, loc, zero, turns, one, SmallVector<Value>(own.size(), nothing));
    OpBuilder inside = OpBuilder::atBlockEnd(loop.getBody());
    Value number = arith::AddIOp::create(inside, loc, parts.first(inside), loop.getInductionVar());
    SmallVector<Value> sums(loop.getRegionIterArgs());
    parts.slots.visit(
        inside, loc, parts.locate(inside, number), 0,
        [&](Value place, int64_t offset, ArrayRef<unsigned> regs) { add(inside, loc, place, offset, regs, sums); });
    scf::YieldOp::create(inside, loc, sums);
    SmallVector<Value> results(loop.getResults());
    results.push_back(isLast);
    results.push_back(all);
    return results;
  }

  /// Each CTA adds up the pieces that are its share: to its own sums those of the others, in their order. It sends the
  /// other pieces first.
  static SmallVector<Value> addPieces(OpBuilder &builder, const Parts &parts, ArrayRef<Value> own) {
    tk::PartSumOp op = parts.op;
    Location loc = op.getLoc();
    int64_t most = op.getMost();
    int64_t piece = *op.getPiece();
    tk::Pieces pieces{int64_t(parts.slots.getRegisters().size()) / piece, most};
    llvm::DenseMap<unsigned, int64_t> ownerOf; // By register.
    for (auto [i, reg] : llvm::enumerate(parts.slots.getRegisters()))
      ownerOf[reg] = pieces.ownerOf(int64_t(i) / piece);
    auto isPart = [&](OpBuilder &at, int64_t part, arith::CmpIPredicate predicate) -> Value {
      return arith::CmpIOp::create(at, loc, predicate, parts.part, arith::ConstantIndexOp::create(at, loc, part));
    };
    Value slot = parts.locate(builder, parts.number);
    for (int64_t owner = 0; owner < most; ++owner) {
      auto branch = scf::IfOp::create(builder, loc, isPart(builder, owner, arith::CmpIPredicate::ne), false);
      OpBuilder sender = branch.getThenBodyBuilder();
      parts.slots.visit(sender, loc, slot, 0, [&](Value place, int64_t offset, ArrayRef<unsigned> regs) {
        if (ownerOf[regs[0]] == owner)
          store(sender, loc, place, offset, regs, own);
      });
    }
    arriveAndWait(builder, loc, parts.info.getRole(op), parts.counter(builder), most);
    SmallVector<Value> sums(own);
    for (int64_t owner = 0; owner < most; ++owner) {
      SmallVector<unsigned> mine;
      for (unsigned reg : parts.slots.getRegisters())
        if (ownerOf[reg] == owner)
          mine.push_back(reg);
      if (mine.empty())
        continue;
      auto branch = scf::IfOp::create(builder, loc, SmallVector<Type>(mine.size(), own[0].getType()),
                                      isPart(builder, owner, arith::CmpIPredicate::eq), /*withElseRegion=*/true);
      OpBuilder adder = OpBuilder::atBlockEnd(branch.thenBlock()), other = OpBuilder::atBlockEnd(branch.elseBlock());
      // What others add up nobody reads: no registers are kept for it.
      Value none = LLVM::PoisonOp::create(other, loc, own[0].getType());
      scf::YieldOp::create(other, loc, SmallVector<Value>(mine.size(), none));
      SmallVector<Value> added(own);
      for (int64_t part = 0; part < most; ++part) {
        if (part == owner)
          continue;
        Value number =
            arith::AddIOp::create(adder, loc, parts.first(adder), arith::ConstantIndexOp::create(adder, loc, part));
        parts.slots.visit(adder, loc, parts.locate(adder, number), 0,
                          [&](Value place, int64_t offset, ArrayRef<unsigned> regs) {
                            if (ownerOf[regs[0]] == owner)
                              add(adder, loc, place, offset, regs, added);
                          });
      }
      scf::YieldOp::create(adder, loc, llvm::map_to_vector(mine, [&](unsigned reg) { return added[reg]; }));
      for (auto [reg, value] : llvm::zip_equal(mine, branch.getResults()))
        sums[reg] = value;
    }
    sums.push_back(arith::ConstantIntOp::create(builder, loc, 1, 1));
    sums.push_back(parts.part);
    return sums;
  }
};

} // namespace

void weft::gpu::populatePartPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                     const KernelInfo &info) {
  addTilePatterns<LowerPartSend, LowerPartReceive, LowerPartSum>(patterns, converter, info);
}
