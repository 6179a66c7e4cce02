// tk.alloc, slot, local_load, local_store, barrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "Shared.h"
#include "weft/Schedule/DerivedLayouts.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using layout::LinearLayout;

static LogicalResult checkLayout(Operation *op, tk::SharedType type) {
  if (!type.getLayout())
    return op->emitOpError("expected shared memory with a layout, got ") << type << "; run --weft-tk-layouts first";
  return success();
}

namespace {

class LowerAlloc : public TilePattern<tk::AllocOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::AllocOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    if (!op.getOffset() || !info.shared)
      return op.emitOpError("expected an offset in shared memory; run --weft-tk-allocate first");
    rewriter.replaceOp(op, getSharedPointer(rewriter, op.getLoc(), info, *op.getOffset()));
    return success();
  }
};

class LowerSlot : public TilePattern<tk::SlotOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::SlotOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value base = adaptor.getBuffer().front(), slot = adaptor.getSlot().front();
    slot = arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(), slot);
    Value bytes = arith::ConstantIntOp::create(rewriter, loc, op.getResult().getType().getSlotBytes(), 32);
    Value offset = arith::MulIOp::create(rewriter, loc, slot, bytes);
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, base.getType(), rewriter.getI8Type(), base, ValueRange(offset));
    return success();
  }
};

/// The place of `offsets` in a tile of this layout, as a flat output.
uint64_t flatten(const LinearLayout &memory, std::optional<ArrayRef<int64_t>> offsets) {
  layout::Index place(memory.outs().size(), 0);
  if (offsets)
    llvm::copy(*offsets, place.begin());
  return memory.flattenOut(place);
}

class LowerLocalLoad : public TilePattern<tk::LocalLoadOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::LocalLoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (failed(checkLayout(op, op.getBuffer().getType())))
      return failure();
    const LinearLayout &memory = op.getBuffer().getType().getLayout().getValue();
    tk::TileType type = op.getResult().getType();
    std::optional<LinearLayout> registers = schedule::embedLayout(type.getLayout().getValue(), memory);
    if (!registers)
      return failure();
    SharedReader reader(rewriter, op.getLoc(), info.getRole(op), adaptor.getBuffer().front(), *registers, memory,
                        tk::getElementBits(type.getElementType()));
    if (!reader.isValid())
      return op.emitOpError("expected a tile of the buffer, got ") << type;
    rewriter.replaceOpWithMultiple(op, {reader.readElements(type.getElementType(), flatten(memory, op.getOffsets()))});
    return success();
  }
};

class LowerLocalStore : public TilePattern<tk::LocalStoreOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::LocalStoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (failed(checkLayout(op, op.getBuffer().getType())))
      return failure();
    if (failed(writeShared(rewriter, op.getLoc(), info, info.getRole(op), adaptor.getBuffer().front(),
                           adaptor.getValue(), op.getValue().getType().getLayout().getValue(),
                           op.getBuffer().getType().getLayout().getValue())))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

class LowerBarrier : public TilePattern<tk::BarrierOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::BarrierOp op, OneToNOpAdaptor, ConversionPatternRewriter &rewriter) const override {
    emitBarrier(rewriter, op.getLoc(), info.getRole(op));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void weft::gpu::populateSharedMemoryPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                             const KernelInfo &info) {
  addTilePatterns<LowerAlloc, LowerSlot, LowerLocalLoad, LowerLocalStore, LowerBarrier>(patterns, converter, info);
}
