// tk.load and tk.store: registers in vectors of up to 128 bits, masked elements by predicates, combiners by atomics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"
#include "Patterns.h"
#include "StoreLines.h"

#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"
#include "weft/Schedule/DerivedLayouts.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

TensorOffsets::TensorOffsets(TileIndices &indices, RankedTensorType tensor, AffineMap map, ArrayRef<Value> symbols)
    : indices(indices), map(map) {
  IndexArithmetic &forms = indices.arithmetic();
  SmallVector<LinearForm> extents =
      llvm::map_to_vector(symbols, [&](Value symbol) { return forms.get(symbol, {1, Bounds().max}); });
  tg::Dims dims = tg::getDims(tensor);
  strides.resize(dims.size());
  LinearForm stride = IndexArithmetic::constant(1);
  for (unsigned i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = forms.multiply(stride, forms.evaluate(dims[i], {}, extents));
  }
}

LinearForm TensorOffsets::get(unsigned reg) {
  LinearForm offset;
  for (auto [index, stride] : llvm::zip_equal(map.getResults(), strides))
    offset = indices.arithmetic().add(offset, indices.arithmetic().multiply(indices.evaluate(index, reg), stride));
  return offset;
}

namespace {

SmallVector<Value> takeFirst(ArrayRef<ValueRange> values) {
  return llvm::map_to_vector(values, [](ValueRange range) -> Value { return range.front(); });
}

/// The offsets, in elements, and predicates of all registers of an access.
struct RegisterAccess {
  SmallVector<LinearForm> offsets;
  SmallVector<Predicate> predicates;
};

RegisterAccess makeAccess(TileIndices &indices, RankedTensorType tensor, AffineMap map, std::optional<IntegerSet> guard,
                          ValueRange mask, ArrayRef<Value> symbols, unsigned registers) {
  TensorOffsets offsets(indices, tensor, map, symbols);
  RegisterAccess access;
  for (unsigned reg = 0; reg < registers; ++reg) {
    Predicate predicate = guard ? indices.evaluate(*guard, reg) : Predicate();
    if (!mask.empty())
      predicate = indices.arithmetic().both(predicate, {mask[reg], false, false});
    access.offsets.push_back(offsets.get(reg));
    access.predicates.push_back(predicate);
  }
  return access;
}

LogicalResult checkStored(Operation *op, RankedTensorType tensor) {
  if (tg::getElementBits(tensor.getElementType()) < 8)
    return op->emitOpError("expected elements of at least 8 bits in global memory, got ") << tensor;
  return success();
}

std::optional<IntegerSet> getGuard(IntegerSetAttr attr) {
  return attr ? std::optional<IntegerSet>(attr.getValue()) : std::nullopt;
}

class LowerLoad : public TilePattern<tk::LoadOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    tk::TileType type = op.getResult().getType();
    RankedTensorType tensor = op.getSource().getType().getTensor();
    if (failed(checkStored(op, tensor)))
      return failure();
    Type element = type.getElementType();
    const layout::LinearLayout &layout = type.getLayout().getValue();
    unsigned bits = element.getIntOrFloatBitWidth(), registers = countRegisters(layout);
    TileIndices indices(rewriter, loc, layout, info.getRole(op), takeFirst(adaptor.getSymbols()), info.getSymbols(op),
                        adaptor.getIndices());
    ValueRange mask = adaptor.getMask();
    RegisterAccess access = makeAccess(indices, tensor, op.getMap(), getGuard(op.getGuardAttr()), mask,
                                       getKernelSymbols(rewriter, info), registers);
    TypedAttr zero = isa<FloatType>(element) ? TypedAttr(rewriter.getFloatAttr(element, 0.0))
                                             : TypedAttr(rewriter.getIntegerAttr(element, 0));
    Value fill = arith::ConstantOp::create(rewriter, loc, op.getFillAttr() ? op.getFillAttr() : zero);
    // Loads of what nobody writes may go anywhere, and would go down to where they are needed.
    LoadOptions options{info.isReadOnly(op) && !op->hasAttr(schedule::earlyAttr)};
    SmallVector<Value> results(registers);
    SmallVector<unsigned> equal;
    DenseMap<Value, Value> pointers;
    for (AccessVector &vector : groupRegisters(access.offsets, access.predicates, bits, equal)) {
      Value offset = indices.arithmetic().materializeTerms(vector.terms);
      Value &pointer = pointers[offset];
      if (!pointer)
        pointer = offsetPointer(rewriter, loc, adaptor.getSource().front(), offset, bits / 8);
      SmallVector<Value> values = emitGlobalLoad(rewriter, loc, pointer, vector.constant * bits / 8, element,
                                                 vector.registers.size(), vector.predicate, fill, options);
      for (auto [reg, value] : llvm::zip(vector.registers, values))
        results[reg] = value;
    }
    for (unsigned reg = 0; reg < registers; ++reg)
      results[reg] = results[equal[reg]];
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

class LowerLoadIndex : public TilePattern<tk::LoadIndexOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::LoadIndexOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    RankedTensorType tensor = op.getSource().getType().getTensor();
    Type element = tensor.getElementType();
    Value offset;
    for (auto [extent, place] : llvm::zip_equal(tensor.getShape(), takeFirst(adaptor.getPlaces()))) {
      if (offset)
        offset = arith::MulIOp::create(rewriter, loc, offset, arith::ConstantIndexOp::create(rewriter, loc, extent));
      offset = offset ? Value(arith::AddIOp::create(rewriter, loc, offset, place)) : place;
    }
    Value pointer =
        offsetPointer(rewriter, loc, adaptor.getSource().front(), offset, element.getIntOrFloatBitWidth() / 8);
    Value fill = arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(element, 0));
    Value number =
        emitGlobalLoad(rewriter, loc, pointer, /*byteOffset=*/0, element, /*count=*/1, Predicate(), fill, {}).front();
    auto bound = [&](int64_t value) {
      return arith::ConstantOp::create(rewriter, loc, rewriter.getIntegerAttr(element, value));
    };
    constexpr int64_t most = int64_t(1) << 30; // Indices have 32 bits.
    number = arith::MinSIOp::create(rewriter, loc, number, bound(most));
    number = arith::MaxSIOp::create(rewriter, loc, number, bound(-most));
    rewriter.replaceOpWithNewOp<arith::IndexCastOp>(op, rewriter.getIndexType(), number);
    return success();
  }
};

class LowerStore : public TilePattern<tk::StoreOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    tk::TileType type = op.getValue().getType();
    RankedTensorType tensor = op.getTarget().getType().getTensor();
    if (failed(checkStored(op, tensor)))
      return failure();
    std::optional<tg::Monoid> kind = op.getCombine();
    if (kind && *kind != tg::Monoid::Add && *kind != tg::Monoid::Max && *kind != tg::Monoid::Min)
      return op.emitOpError("expected a combiner add, max or min");
    if (op.getLines()) {
      if (failed(storeLines(rewriter, op, info, adaptor.getValue(), adaptor.getTarget().front(),
                            takeFirst(adaptor.getSymbols()), getKernelSymbols(rewriter, info))))
        return failure();
      rewriter.eraseOp(op);
      return success();
    }
    const layout::LinearLayout &layout = type.getLayout().getValue();
    unsigned registers = countRegisters(layout);
    Role role = info.getRole(op);
    TileIndices indices(rewriter, loc, layout, role, takeFirst(adaptor.getSymbols()), info.getSymbols(op),
                        adaptor.getIndices());
    ValueRange mask = adaptor.getMask();
    RegisterAccess access = makeAccess(indices, tensor, op.getMap(), getGuard(op.getGuardAttr()), mask,
                                       getKernelSymbols(rewriter, info), registers);
    Predicate first = isFirstHolder(rewriter, loc, indices.getThread(), getReplicatedBits(layout, role.warps));
    for (Predicate &predicate : access.predicates)
      predicate = indices.arithmetic().both(predicate, first);
    if (kind)
      dropRepeats(layout, access);
    emitVectors(rewriter, op, adaptor, indices, access);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Registers that hold an element again must not combine it again.
  static void dropRepeats(const layout::LinearLayout &layout, RegisterAccess &access) {
    DenseSet<uint64_t> seen;
    for (unsigned reg = 0; reg < access.predicates.size(); ++reg)
      if (!seen.insert(getRegisterImage(layout, reg)).second)
        access.predicates[reg] = {{}, true, false};
  }

  void emitVectors(OpBuilder &builder, tk::StoreOp op, OneToNOpAdaptor adaptor, TileIndices &indices,
                   RegisterAccess &access) const {
    Location loc = op.getLoc();
    Type stored = op.getTarget().getType().getTensor().getElementType();
    unsigned bits = op.getValue().getType().getElementType().getIntOrFloatBitWidth();
    ValueRange values = adaptor.getValue();
    SmallVector<unsigned> equal;
    DenseMap<Value, Value> pointers;
    SmallVector<AccessVector> vectors = groupRegisters(access.offsets, access.predicates, bits, equal);
    if (op.getCombine()) // Elements that combine into one element do so one after the other.
      for (unsigned reg = 0; reg < equal.size(); ++reg)
        if (equal[reg] != reg)
          vectors.push_back({{reg}, access.offsets[reg].terms, access.offsets[reg].constant, access.predicates[reg]});
    for (AccessVector &vector : vectors) {
      Value offset = indices.arithmetic().materializeTerms(vector.terms);
      Value &pointer = pointers[offset];
      if (!pointer)
        pointer = offsetPointer(builder, loc, adaptor.getTarget().front(), offset, bits / 8);
      auto elements = llvm::map_to_vector(vector.registers, [&](unsigned reg) -> Value { return values[reg]; });
      int64_t bytes = vector.constant * int64_t(bits) / 8;
      if (std::optional<tg::Monoid> kind = op.getCombine())
        emitGlobalCombine(builder, loc, info.target, *kind, stored.isUnsignedInteger(), pointer, bytes, elements,
                          vector.predicate);
      else
        emitGlobalStore(builder, loc, pointer, bytes, elements, vector.predicate);
    }
  }
};

} // namespace

void weft::gpu::populateGlobalPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                       const KernelInfo &info) {
  addTilePatterns<LowerLoad, LowerLoadIndex, LowerStore>(patterns, converter, info);
}
