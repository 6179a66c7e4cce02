// tk.copy by cp.async, and the channel ops around it: groups of the threads that copy, and a barrier of the CTA.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"
#include "Patterns.h"
#include "Shared.h"

#include "weft/Schedule/Access.h"
#include "weft/Schedule/CopyLayout.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using layout::LinearLayout;

/// Whether a channel's copies are cp.async. Other engines have patterns of their own.
static bool isCpAsync(Value channel) {
  auto made = channel ? channel.getDefiningOp<tk::MakeChannelOp>() : tk::MakeChannelOp();
  return made && made.getEngine() == tk::CopyEngine::CpAsync;
}

namespace {

class LowerCopy : public TilePattern<tk::CopyOp> {
public:
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tk::CopyOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getEngine() != tk::CopyEngine::CpAsync)
      return failure();
    Location loc = op.getLoc();
    tk::SharedType type = op.getTarget().getType();
    Role role = info.getRole(op);
    if (!type.getLayout())
      return op.emitOpError("expected a target with a layout, got ") << type << "; run --weft-tk-layouts first";
    std::optional<schedule::CopyLayout> copy = schedule::getCopyLayout(op, role.warps);
    if (!copy)
      return op.emitOpError("expected vectors of at least 4 bytes contiguous in both memories, got ")
             << AffineMapAttr::get(op.getMap()) << " and " << type;
    unsigned bits = tk::getElementBits(type.getElementType());
    std::optional<LinearLayout> offsets = layout::getOffsets(copy->registers, type.getLayout().getValue());
    SmallVector<uint64_t> columns;
    for (uint64_t base : getThreadBases(*offsets))
      columns.push_back(base * bits / 8);
    ThreadAddresses targets(rewriter, loc, role, adaptor.getTarget().front(), columns);
    SmallVector<Value> symbols =
        llvm::map_to_vector(adaptor.getSymbols(), [](ValueRange range) -> Value { return range.front(); });
    TileIndices indices(rewriter, loc, copy->registers, role, symbols, info.getSymbols(op));
    TensorOffsets places(indices, op.getSource().getType().getTensor(), op.getMap(), getKernelSymbols(rewriter, info));
    Predicate holder = isHolder(rewriter, loc, indices, copy->registers, role);
    DenseMap<Value, Value> sources;
    for (unsigned reg = 0; reg < countRegisters(copy->registers); reg += copy->elements) {
      LinearForm place = places.get(reg);
      Predicate inside = op.getGuardAttr() ? indices.evaluate(*op.getGuard(), reg) : Predicate();
      Value offset = indices.arithmetic().materializeTerms(place.terms);
      Value &source = sources[offset];
      if (!source)
        source = offsetPointer(rewriter, loc, adaptor.getSource().front(), offset, bits / 8);
      emitCopy(rewriter, loc, targets.get(getRegisterImage(*offsets, reg) * bits / 8), source,
               place.constant * bits / 8, copy->elements * bits / 8, inside, holder);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Where a tile has fewer vectors than there are threads, one thread copies each.
  static Predicate isHolder(OpBuilder &builder, Location loc, TileIndices &indices, const LinearLayout &registers,
                            const Role &role) {
    uint64_t repeats = getReplicatedBits(registers, role.warps);
    if (!repeats)
      return {};
    Value mask = arith::ConstantIndexOp::create(builder, loc, repeats);
    Value bits = arith::AndIOp::create(builder, loc, indices.getThread().id, mask);
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, bits, zero), false, false};
  }

  /// `inside` false: the vector becomes zero. `holder` false: nothing happens.
  static void emitCopy(OpBuilder &builder, Location loc, ThreadAddresses::Address target, Value source,
                       int64_t sourceBytes, int64_t bytes, const Predicate &inside, const Predicate &holder) {
    SmallVector<Value> operands{target.pointer, source};
    std::string constraints = "r,l", size, guard;
    if (!inside.isTrue()) {
      Value all = arith::ConstantIntOp::create(builder, loc, bytes, 32);
      Value none = arith::ConstantIntOp::create(builder, loc, 0, 32);
      operands.push_back(inside.isKnown ? none : arith::SelectOp::create(builder, loc, inside.value, all, none));
      constraints += ",r";
      size = ", $2";
    }
    if (!holder.isTrue()) {
      guard = "@$" + std::to_string(operands.size()) + " ";
      operands.push_back(holder.value);
      constraints += ",b";
    }
    std::string text = guard + "cp.async." + (bytes == 16 ? "cg" : "ca") + ".shared.global.L2::128B [$0+" +
                       std::to_string(target.immediate) + "], [$1+" + std::to_string(sourceBytes) + "], " +
                       std::to_string(bytes) + size + ";";
    emitAsm(builder, loc, {}, operands, text, constraints + ",~{memory}", /*hasSideEffects=*/true);
  }
};

class LowerMakeChannel : public TilePattern<tk::MakeChannelOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::MakeChannelOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getEngine() != tk::CopyEngine::CpAsync)
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::ZeroOp>(op, LLVM::LLVMPointerType::get(op.getContext(), 3));
    return success();
  }
};

/// tk.acquire and tk.release: nothing, the barrier of tk.wait orders.
template <typename OpTy> class LowerNothing : public TilePattern<OpTy> {
public:
  using TilePattern<OpTy>::TilePattern;
  LogicalResult matchAndRewrite(OpTy op, typename OpTy::template GenericAdaptor<ArrayRef<ValueRange>>,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isCpAsync(op.getChannel()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

class LowerCommit : public TilePattern<tk::CommitOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::CommitOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (!isCpAsync(op.getChannel()))
      return failure();
    emitAsm(rewriter, op.getLoc(), {}, {}, "cp.async.commit_group;", "~{memory}", /*hasSideEffects=*/true);
    rewriter.eraseOp(op);
    return success();
  }
};

class LowerWait : public TilePattern<tk::WaitOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::WaitOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (!isCpAsync(op.getChannel()))
      return failure();
    std::string text = "cp.async.wait_group " + std::to_string(op.getPending()) + ";";
    emitAsm(rewriter, op.getLoc(), {}, {}, text, "~{memory}", /*hasSideEffects=*/true);
    emitBarrier(rewriter, op.getLoc(), info.getRole(op));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void weft::gpu::populateCpAsyncPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        const KernelInfo &info) {
  addTilePatterns<LowerCopy, LowerMakeChannel, LowerNothing<tk::AcquireOp>, LowerNothing<tk::ReleaseOp>, LowerCommit,
                  LowerWait>(patterns, converter, info);
}
