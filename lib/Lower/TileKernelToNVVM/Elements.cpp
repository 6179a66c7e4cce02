// Ops on tiles element by element: tk.constant, splat, map, affine, guard.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MapPairs.h"
#include "Patterns.h"

#include "mlir/IR/IRMapping.h"
#include "weft/Schedule/DerivedLayouts.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

SmallVector<Value> weft::gpu::inlineScalars(OpBuilder &builder, Region &region, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &op : region.front().without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                             [&](Value value) { return mapping.lookupOrDefault(value); });
}

namespace {

class LowerConstant : public TilePattern<tk::ConstantOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ConstantOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value value = arith::ConstantOp::create(rewriter, op.getLoc(), op.getValue());
    unsigned count = countRegisters(op.getResult().getType().getLayout().getValue());
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(count, value)});
    return success();
  }
};

class LowerSplat : public TilePattern<tk::SplatOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::SplatOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    unsigned count = countRegisters(op.getResult().getType().getLayout().getValue());
    rewriter.replaceOpWithMultiple(op, {SmallVector<Value>(count, adaptor.getScalar().front())});
    return success();
  }
};

class LowerAffine : public TilePattern<tk::AffineOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::AffineOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tk::TileType type = op.getResult().getType();
    const layout::LinearLayout &layout = type.getLayout().getValue();
    TileIndices indices(rewriter, op.getLoc(), layout, info.getRole(op),
                        llvm::map_to_vector(adaptor.getSymbols(), first), info.getSymbols(op), adaptor.getIndices());
    SmallVector<Value> results;
    for (unsigned reg = 0; reg < countRegisters(layout); ++reg) {
      Value value = indices.arithmetic().materialize(indices.evaluate(op.getMap().getResult(0), reg));
      results.push_back(arith::IndexCastOp::create(rewriter, op.getLoc(), type.getElementType(), value));
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
  static Value first(ValueRange values) { return values.front(); }
};

class LowerGuard : public TilePattern<tk::GuardOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::GuardOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    const layout::LinearLayout &layout = op.getResult().getType().getLayout().getValue();
    TileIndices indices(rewriter, op.getLoc(), layout, info.getRole(op),
                        llvm::map_to_vector(adaptor.getSymbols(), LowerAffine::first), info.getSymbols(op),
                        adaptor.getIndices());
    SmallVector<Value> results;
    for (unsigned reg = 0; reg < countRegisters(layout); ++reg) {
      Predicate predicate = indices.evaluate(op.getGuard(), reg);
      if (predicate.isKnown)
        predicate.value = arith::ConstantIntOp::create(rewriter, op.getLoc(), predicate.known, 1);
      results.push_back(predicate.value);
    }
    rewriter.replaceOpWithMultiple(op, {results});
    return success();
  }
};

/// The region, register by register. Neighbouring registers go together where instructions take two 16-bit elements.
class LowerMap : public TilePattern<tk::MapOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::MapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<tk::TileType>(op.getResultTypes().front());
    unsigned count = countRegisters(type.getLayout().getValue());
    bool arePairs = count > 1 && hasPairs(op.getBody());
    SmallVector<SmallVector<Value>> results(op.getNumResults(), SmallVector<Value>(count));
    DenseMap<SmallVector<Value>, SmallVector<Value>> known; // Broadcast operands: equal registers, computed once.
    SmallVector<SmallVector<Value>> inputs = getInputs(op, adaptor);
    unsigned step = arePairs ? 2 : 1;
    unsigned distance = arePairs ? 1u << findPairBit(op.getBody(), inputs) : 1;
    for (unsigned reg = 0; reg < count; ++reg) {
      if (arePairs && (reg & distance))
        continue;
      SmallVector<Value> key;
      for (unsigned i = 0; i < step; ++i)
        for (ArrayRef<Value> input : inputs)
          key.push_back(input[reg + i * distance]);
      SmallVector<Value> &values = known[key];
      if (values.empty())
        values = step == 2 ? inlinePair(rewriter, op.getBody(), key) : inlineScalars(rewriter, op.getBody(), key);
      for (unsigned i = 0; i < values.size(); ++i)
        results[i % op.getNumResults()][reg + i / op.getNumResults() * distance] = values[i];
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  /// The registers of each input. Those that hold a word again, for another of its fields, are one.
  static SmallVector<SmallVector<Value>> getInputs(tk::MapOp op, OneToNOpAdaptor adaptor) {
    SmallVector<SmallVector<Value>> inputs;
    for (ValueRange input : adaptor.getInputs())
      inputs.emplace_back(input);
    auto notes = op->getAttrOfType<DenseI64ArrayAttr>(schedule::fieldsAttr);
    for (int64_t i = 0; notes && i + 2 < notes.size(); i += 3) {
      const layout::LinearLayout &layout =
          cast<tk::TileType>(op.getInputs()[notes[i]].getType()).getLayout().getValue();
      DenseMap<uint64_t, Value> words; // By the position of the first field.
      for (auto [reg, value] : llvm::enumerate(inputs[notes[i]])) {
        layout::Index place = layout.unflattenOut(getRegisterImage(layout, unsigned(reg)));
        place[notes[i + 1]] &= ~uint64_t(notes[i + 2] - 1);
        value = words.try_emplace(layout.flattenOut(place), value).first->second;
      }
    }
    return inputs;
  }
};

} // namespace

void weft::gpu::populateElementPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        const KernelInfo &info) {
  addTilePatterns<LowerConstant, LowerSplat, LowerAffine, LowerGuard, LowerMap>(patterns, converter, info);
}
