// tk.roles: warps take different branches; registers go from producers to consumers. Cursors on channels are variables
// of a role. Turns of a role's warpgroups: a named barrier each, for those who pass it on and those who take it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "Tma.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

/// The warp's number in the CTA. The shuffle tells ptxas that all lanes agree.
static Value emitWarp(OpBuilder &builder, Location loc) {
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value warp = arith::ShRUIOp::create(builder, loc, thread, makeInt(builder, loc, 5));
  return NVVM::ShflOp::create(builder, loc, builder.getI32Type(), makeInt(builder, loc, -1), warp,
                              makeInt(builder, loc, 0), makeInt(builder, loc, 31), NVVM::ShflKind::idx, UnitAttr());
}

Value weft::gpu::emitWarpgroup(OpBuilder &builder, Location loc, int64_t firstWarp) {
  Value warp = emitWarp(builder, loc);
  if (firstWarp)
    warp = arith::SubIOp::create(builder, loc, warp, makeInt(builder, loc, firstWarp));
  return arith::ShRUIOp::create(builder, loc, warp, makeInt(builder, loc, 2));
}

Value weft::gpu::emitWarpOfGroup(OpBuilder &builder, Location loc) { // Roles begin at multiples of four warps.
  return arith::AndIOp::create(builder, loc, emitWarp(builder, loc), makeInt(builder, loc, 3));
}

//===-- Cursors ---------------------------------------------------------------------------------------------------===//

void weft::gpu::lowerCursors(func::FuncOp kernel) {
  llvm::MapVector<std::pair<Region *, Value>, SmallVector<Operation *>> uses;
  kernel.walk([&](Operation *op) {
    if (!isa<tk::CursorOp, tk::AdvanceOp>(op))
      return;
    Region *scope = &kernel.getBody();
    for (Region *region = op->getParentRegion(); region; region = region->getParentRegion())
      if (isa<tk::RolesOp>(region->getParentOp()))
        scope = region;
    uses[{scope, op->getOperand(0)}].push_back(op);
  });
  for (auto &[key, ops] : uses) {
    Location loc = ops.front()->getLoc();
    OpBuilder entry = OpBuilder::atBlockBegin(&kernel.getBody().front());
    Type type = entry.getI32Type();
    Value variable = LLVM::AllocaOp::create(entry, loc, LLVM::LLVMPointerType::get(entry.getContext()), type,
                                            makeInt(entry, loc, 1));
    OpBuilder start = key.first == &kernel.getBody() ? entry : OpBuilder::atBlockBegin(&key.first->front());
    LLVM::StoreOp::create(start, loc, makeInt(start, loc, 0), variable);
    for (Operation *op : ops) {
      OpBuilder builder(op);
      Value number = LLVM::LoadOp::create(builder, loc, type, variable);
      if (auto cursor = dyn_cast<tk::CursorOp>(op)) {
        cursor.getResult().replaceAllUsesWith(
            arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), number));
      } else {
        Value count = arith::IndexCastUIOp::create(builder, loc, type, cast<tk::AdvanceOp>(op).getCount());
        LLVM::StoreOp::create(builder, loc, arith::AddIOp::create(builder, loc, number, count), variable);
      }
      op->erase();
    }
  }
}

//===-- Roles -----------------------------------------------------------------------------------------------------===//

namespace {

class LowerRoles : public TilePattern<tk::RolesOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::RolesOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value warp = emitWarp(rewriter, loc);
    bool exchanges = llvm::any_of(op.getRoles(), [](Region &region) { return sends(region); });
    int64_t end = 0;
    for (auto [i, region] : llvm::enumerate(op.getRoles())) {
      int64_t first = end;
      end += op.getWarps()[i];
      bool waits = exchanges && !sends(region); // Each arrival at the cluster's barrier has its wait.
      bool isLast = i + 1 == op.getRoles().size();
      if (!isLast) {
        Value isMine =
            arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult, warp, makeInt(rewriter, loc, end));
        auto branch = scf::IfOp::create(rewriter, loc, isMine, /*withElseRegion=*/true);
        rewriter.setInsertionPointToStart(branch.thenBlock());
        emitRole(rewriter, op, i, warp, first, waits);
        rewriter.setInsertionPointToStart(branch.elseBlock());
      } else {
        emitRole(rewriter, op, i, warp, first, waits);
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Beyond 8 warps a thread starts with fewer registers than it may have.
  static constexpr int64_t plainWarps = 8;

  /// Whether a role sends to other CTAs, and so waits at the cluster's barrier.
  static bool sends(Region &region) {
    return region
        .walk([](Operation *op) {
          return isa<tk::ClusterSumOp, tk::ClusterSendOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  /// `waits`: at the cluster's barrier, when all else is done.
  void emitRole(ConversionPatternRewriter &rewriter, tk::RolesOp op, unsigned number, Value warp, int64_t firstWarp,
                bool waits) const {
    Location loc = op.getLoc();
    Region &region = op.getRoles()[number];
    Block &body = region.front();
    int64_t registers = op.getRegisters()[number], start = 65536 / (info.warps * 32) / 8 * 8;
    auto setRegisters = [&](int64_t count, bool isLess) {
      auto action = isLess ? NVVM::SetMaxRegisterAction::decrease : NVVM::SetMaxRegisterAction::increase;
      NVVM::SetMaxRegisterOp::create(rewriter, loc, rewriter.getI32IntegerAttr(count),
                                     NVVM::SetMaxRegisterActionAttr::get(rewriter.getContext(), action));
    };
    if (info.warps > plainWarps && registers <= 240) {
      setRegisters(registers, registers < start);
      if (info.frame && info.frame->repeats) { // Another task comes behind the role.
        Block::iterator behind = rewriter.getInsertionPoint();
        setRegisters(start, registers >= start);
        rewriter.setInsertionPoint(rewriter.getInsertionBlock(), std::prev(behind));
      }
    }
    if (waits) // Behind the role. The thread that copies comes later than the others of its warp.
      rewriter.setInsertionPoint(NVVM::ClusterWaitOp::create(rewriter, loc, UnitAttr()));
    bool copies = false, storesBoxes = false;
    region.walk([&](Operation *inner) {
      copies |= isa<tk::AcquireOp>(inner);
      storesBoxes |= isa<tk::StoreBoxOp>(inner);
    });
    if (copies) { // One thread of the role's first warp.
      Value isFirst =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, warp, makeInt(rewriter, loc, firstWarp));
      auto one = scf::IfOp::create(rewriter, loc, isFirst, /*withElseRegion=*/false);
      rewriter.setInsertionPointToStart(one.thenBlock());
      Value isElected = NVVM::ElectSyncOp::create(rewriter, loc, rewriter.getI1Type(), Value());
      auto elected = scf::IfOp::create(rewriter, loc, isElected, /*withElseRegion=*/false);
      rewriter.setInsertionPointToStart(elected.thenBlock());
    }
    rewriter.eraseOp(body.getTerminator());
    if (storesBoxes) { // Shared memory lives as long as the CTA: what it still sends must have been read.
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToEnd(&body);
      NVVM::CpAsyncBulkWaitGroupOp::create(rewriter, loc, rewriter.getI32IntegerAttr(0), rewriter.getUnitAttr());
    }
    rewriter.inlineBlockBefore(&body, rewriter.getInsertionBlock(), rewriter.getInsertionPoint());
  }
};

/// Warpgroup g waits at barrier `firstTurnBarrier` + g for the one before it to arrive there: the barrier of both.
class TurnBarriers {
public:
  TurnBarriers(OpBuilder &builder, Location loc, const Role &role)
      : builder(builder), loc(loc), groups(role.warps / 4), group(emitWarpgroup(builder, loc, role.firstWarp)) {}

  void take() { NVVM::BarrierOp::create(builder, loc, TypeRange(), at(group), both(), {}, Value()); }
  void pass() {
    Value next = arith::AddIOp::create(builder, loc, group, makeInt(builder, loc, 1));
    next = arith::SelectOp::create(builder, loc, isGroup(groups - 1), makeInt(builder, loc, 0), next);
    NVVM::BarrierArriveOp::create(builder, loc, at(next), both());
  }
  /// What follows is for warpgroup `number` alone.
  void only(ConversionPatternRewriter &rewriter, int64_t number) {
    auto branch = scf::IfOp::create(builder, loc, isGroup(number), /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(branch.thenBlock());
  }

private:
  /// Roles meet at barriers with their numbers, all threads at 0; there are 16, and at most 7 warpgroups beside a
  /// producer's.
  static constexpr int64_t firstTurnBarrier = 8;
  Value at(Value number) {
    return arith::AddIOp::create(builder, loc, number, makeInt(builder, loc, firstTurnBarrier));
  }
  Value both() { return makeInt(builder, loc, 2 * 128); }
  Value isGroup(int64_t number) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, group, makeInt(builder, loc, number));
  }

  OpBuilder &builder;
  Location loc;
  int64_t groups;
  Value group;
};

class LowerTakeTurn : public TilePattern<tk::TakeTurnOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::TakeTurnOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    TurnBarriers barriers(rewriter, op.getLoc(), info.getRole(op));
    if (op.getFirst())
      barriers.only(rewriter, 0);
    barriers.take();
    rewriter.eraseOp(op);
    return success();
  }
};

class LowerPassTurn : public TilePattern<tk::PassTurnOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::PassTurnOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Role role = info.getRole(op);
    TurnBarriers barriers(rewriter, op.getLoc(), role);
    if (op.getLast())
      barriers.only(rewriter, role.warps / 4 - 1);
    barriers.pass();
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void weft::gpu::populateRolePatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                     const KernelInfo &info) {
  addTilePatterns<LowerRoles, LowerTakeTurn, LowerPassTurn>(patterns, converter, info);
}
