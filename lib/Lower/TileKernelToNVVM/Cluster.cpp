// tk.cluster_rank, tk.cluster_sum: CTAs that compute one tile together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread sends its registers to the thread with its number in the CTA that adds them, 16 bytes at a time: no bank
// conflicts, no layout. Two barriers of the cluster: before the first write, when nobody uses the buffer any more (and
// every CTA has begun), and after the last. Threads that have ended do not count in them.
#include "Memory.h"
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

Value weft::gpu::emitClusterRank(OpBuilder &builder, Location loc) {
  return NVVM::ClusterId::create(builder, loc, builder.getI32Type());
}

namespace {

class LowerClusterRank : public TilePattern<tk::ClusterRankOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ClusterRankOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value rank = emitClusterRank(rewriter, op.getLoc());
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
    ValueRange own = adaptor.getValue();
    tk::SharedType buffer = op.getBuffer().getType();
    int64_t parts = info.cluster, groups = role.warps / 4, bytes = int64_t(own.size()) * 4 * groupThreads;
    if (parts < 2 || groups % parts || own.size() % 4 || !own[0].getType().isF32() ||
        groups / parts * (parts - 1) * bytes > buffer.getSlots() * buffer.getSlotBytes())
      return op.emitOpError("expected f32 sums of a multiple of ")
             << parts << " warpgroups and a buffer for what the CTAs of a cluster send, got " << op.getValue().getType()
             << " through " << buffer;
    Location loc = op.getLoc();
    Value group = emitWarpgroup(rewriter, loc, role.firstWarp), rank = emitClusterRank(rewriter, loc);
    Value count = makeInt(rewriter, loc, parts);
    Value owner = arith::RemUIOp::create(rewriter, loc, group, count);
    Value isOwner = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, owner, rank);
    // The first slot of the warpgroup's sums: one for each other CTA.
    Value first = arith::MulIOp::create(rewriter, loc, arith::DivUIOp::create(rewriter, loc, group, count),
                                        makeInt(rewriter, loc, (parts - 1) * bytes));
    Value place = addThread(rewriter, loc, role, adaptor.getBuffer().front(), first);

    emitMeeting(rewriter, loc);
    auto send = scf::IfOp::create(rewriter, loc, TypeRange(), isOwner, /*withElseRegion=*/true);
    OpBuilder sender = send.getElseBodyBuilder();
    emitSend(sender, loc, own, place, rank, owner, bytes);
    emitMeeting(rewriter, loc);

    auto add = scf::IfOp::create(rewriter, loc, own.getTypes(), isOwner, /*withElseRegion=*/true);
    OpBuilder adder = OpBuilder::atBlockEnd(&add.getThenRegion().front());
    SmallVector<Value> sums(own);
    for (int64_t part = 0; part < parts - 1; ++part)
      for (size_t i = 0; i < own.size(); i += 4) {
        int64_t offset = part * bytes + int64_t(i) * 4 * groupThreads;
        SmallVector<Value> others = emitSharedLoad(adder, loc, place, offset, own[0].getType(), 4);
        for (auto [sum, other] : llvm::zip(MutableArrayRef(sums).slice(i, 4), others))
          sum = arith::AddFOp::create(adder, loc, sum, other);
      }
    scf::YieldOp::create(adder, loc, sums);
    OpBuilder other = OpBuilder::atBlockEnd(&add.getElseRegion().front());
    scf::YieldOp::create(other, loc, own);
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(add.getResults())});
    return success();
  }

private:
  static constexpr int64_t groupThreads = 128;

  static void emitMeeting(OpBuilder &builder, Location loc) {
    NVVM::ClusterArriveOp::create(builder, loc, builder.getUnitAttr());
    NVVM::ClusterWaitOp::create(builder, loc, builder.getUnitAttr());
  }

  /// 16 bytes for each thread of a warpgroup.
  static Value addThread(OpBuilder &builder, Location loc, const Role &role, Value buffer, Value bytes) {
    Value thread = weft::gpu::getThread(builder, loc, role).id;
    thread = arith::IndexCastUIOp::create(builder, loc, builder.getI32Type(), thread);
    thread = arith::AndIOp::create(builder, loc, thread, makeInt(builder, loc, groupThreads - 1));
    thread = arith::MulIOp::create(builder, loc, thread, makeInt(builder, loc, 16));
    Value offset = arith::AddIOp::create(builder, loc, bytes, thread);
    return LLVM::GEPOp::create(builder, loc, buffer.getType(), builder.getI8Type(), buffer, ValueRange(offset));
  }

  /// To the slot of this CTA among those of the others, in the CTA `owner`.
  static void emitSend(OpBuilder &builder, Location loc, ValueRange own, Value place, Value rank, Value owner,
                       int64_t bytes) {
    Value isLater = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, rank, owner);
    Value number =
        arith::SubIOp::create(builder, loc, rank, arith::ExtUIOp::create(builder, loc, builder.getI32Type(), isLater));
    Value offset = arith::MulIOp::create(builder, loc, number, makeInt(builder, loc, bytes));
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), place);
    address = arith::AddIOp::create(builder, loc, address, offset);
    address = emitAsm(builder, loc, builder.getI32Type(), {address, owner}, "mapa.shared::cluster.u32 $0, $1, $2;",
                      "=r,r,r", /*hasSideEffects=*/false)
                  .front();
    for (size_t i = 0; i < own.size(); i += 4) {
      SmallVector<Value> operands{address};
      operands.append(own.begin() + i, own.begin() + i + 4);
      emitAsm(builder, loc, {}, operands,
              "st.shared::cluster.v4.f32 [$0+" + std::to_string(i * 4 * groupThreads) + "], {$1, $2, $3, $4};",
              "r,f,f,f,f,~{memory}", /*hasSideEffects=*/true);
    }
  }
};

} // namespace

void weft::gpu::populateClusterPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        const KernelInfo &info) {
  addTilePatterns<LowerClusterRank, LowerClusterSum>(patterns, converter, info);
}
