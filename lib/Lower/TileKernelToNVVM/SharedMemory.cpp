// tk.alloc, slot, local_load, local_read, local_store, barrier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"
#include "Patterns.h"
#include "Shared.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
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
    int64_t slotBytes = op.getBuffer().getType().getSlotBytes();
    Value bytes = arith::ConstantIntOp::create(rewriter, loc, slotBytes * int64_t(op.getEach()), 32);
    Value offset = arith::MulIOp::create(rewriter, loc, slot, bytes);
    if (op.getFrom())
      offset = arith::AddIOp::create(
          rewriter, loc, offset, arith::ConstantIntOp::create(rewriter, loc, slotBytes * int64_t(op.getFrom()), 32));
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(op, base.getType(), rewriter.getI8Type(), base, ValueRange(offset));
    return success();
  }
};

/// The position of `offsets` in a tile of this layout, as a flat output.
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

/// The position in a buffer whose dimensions lie one in the other, rows last; nothing for swizzled ones.
std::optional<LinearForm> makeOffset(TileIndices &indices, tk::LocalReadOp op, unsigned reg) {
  tk::SharedType type = op.getBuffer().getType();
  layout::Shared rows{
      {type.getShape().begin(), type.getShape().end()}, {}, unsigned(tk::getElementBits(type.getElementType()))};
  for (unsigned dim = type.getRank(); dim-- > 0;)
    rows.order.push_back(dim);
  if (type.getLayout().getValue() != layout::makeShared(rows))
    return std::nullopt;
  LinearForm offset;
  int64_t stride = 1;
  for (unsigned dim = type.getRank(); dim-- > 0; stride *= type.getShape()[dim])
    offset = indices.arithmetic().add(
        offset, indices.arithmetic().scale(indices.evaluate(op.getMap().getResult(dim), reg), stride));
  return offset;
}

class LowerLocalRead : public TilePattern<tk::LocalReadOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::LocalReadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (failed(checkLayout(op, op.getBuffer().getType())))
      return failure();
    Location loc = op.getLoc();
    tk::TileType type = op.getResult().getType();
    unsigned bits = tk::getElementBits(type.getElementType());
    const LinearLayout &layout = type.getLayout().getValue();
    auto symbols = llvm::map_to_vector(adaptor.getSymbols(), [](ValueRange range) -> Value { return range.front(); });
    TileIndices indices(rewriter, loc, layout, info.getRole(op), symbols, info.getSymbols(op));
    SmallVector<LinearForm> offsets;
    for (unsigned reg = 0; reg < countRegisters(layout); ++reg) {
      std::optional<LinearForm> offset = makeOffset(indices, op, reg);
      if (!offset)
        return op.emitOpError("expected a buffer whose rows lie one after the other, got ") << op.getBuffer().getType();
      offsets.push_back(*offset);
    }
    SmallVector<unsigned> equal;
    SmallVector<Value> results(offsets.size());
    DenseMap<Value, Value> pointers;
    SmallVector<Predicate> everywhere(offsets.size());
    for (AccessVector &vector : groupRegisters(offsets, everywhere, bits, equal)) {
      Value offset = indices.arithmetic().materializeTerms(vector.terms);
      Value &pointer = pointers[offset];
      if (!pointer)
        pointer = offsetShared(rewriter, loc, adaptor.getBuffer().front(), offset, bits / 8);
      SmallVector<Value> values = emitSharedLoad(rewriter, loc, pointer, vector.constant * bits / 8,
                                                 type.getElementType(), vector.registers.size());
      for (auto [reg, value] : llvm::zip(vector.registers, values))
        results[reg] = value;
    }
    for (unsigned reg = 0; reg < results.size(); ++reg)
      results[reg] = results[equal[reg]];
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }

private:
  static Value offsetShared(OpBuilder &builder, Location loc, Value base, Value index, unsigned bytes) {
    if (!index)
      return base;
    Value offset = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
    return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getIntegerType(bytes * 8), base,
                               ValueRange(offset));
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
  addTilePatterns<LowerAlloc, LowerSlot, LowerLocalLoad, LowerLocalRead, LowerLocalStore, LowerBarrier>(
      patterns, converter, info);
}
