// Ops on tiles place by place: tk.constant, splat, map, affine, guard.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

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

/// The region, register by register. Neighbouring registers go together where the region narrows f32 to 16 bits: one
/// conversion instruction takes two.
class LowerMap : public TilePattern<tk::MapOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::MapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<tk::TileType>(op.getResultTypes().front());
    unsigned count = countRegisters(type.getLayout().getValue());
    bool arePairs = count > 1 && llvm::any_of(op.getBody().front(), isNarrowing);
    SmallVector<SmallVector<Value>> results(op.getNumResults(), SmallVector<Value>(count));
    DenseMap<SmallVector<Value>, SmallVector<Value>> known; // Broadcast operands: equal registers, computed once.
    unsigned step = arePairs ? 2 : 1;
    for (unsigned reg = 0; reg < count; reg += step) {
      SmallVector<Value> key;
      for (unsigned i = 0; i < step; ++i)
        for (ValueRange input : adaptor.getInputs())
          key.push_back(input[reg + i]);
      SmallVector<Value> &values = known[key];
      if (values.empty())
        values = step == 2 ? inlinePair(rewriter, op.getBody(), key) : inlineScalars(rewriter, op.getBody(), key);
      for (unsigned i = 0; i < values.size(); ++i)
        results[i % op.getNumResults()][reg + i / op.getNumResults()] = values[i];
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }

private:
  static bool isNarrowing(Operation &op) {
    auto narrow = dyn_cast<arith::TruncFOp>(op);
    return narrow && narrow.getIn().getType().isF32() && (narrow.getType().isF16() || narrow.getType().isBF16());
  }

  /// The region for two registers; `arguments` are those of the first, then those of the second. Results alike.
  static SmallVector<Value> inlinePair(OpBuilder &builder, Region &region, ArrayRef<Value> arguments) {
    IRMapping mappings[2];
    unsigned count = region.getNumArguments();
    for (unsigned i = 0; i < 2; ++i)
      mappings[i].map(region.getArguments(), arguments.slice(i * count, count));
    for (Operation &op : region.front().without_terminator()) {
      if (!isNarrowing(op)) {
        builder.clone(op, mappings[0]);
        builder.clone(op, mappings[1]);
        continue;
      }
      Location loc = op.getLoc();
      Value in = op.getOperand(0), out = op.getResult(0);
      auto wide = VectorType::get(2, in.getType()), narrow = VectorType::get(2, out.getType());
      Value pair = vector::FromElementsOp::create(builder, loc, wide,
                                                  ValueRange{mappings[0].lookup(in), mappings[1].lookup(in)});
      pair = arith::TruncFOp::create(builder, loc, narrow, pair);
      for (int64_t i = 0; i < 2; ++i)
        mappings[i].map(out, vector::ExtractOp::create(builder, loc, pair, i));
    }
    SmallVector<Value> results;
    for (IRMapping &mapping : mappings)
      for (Value value : region.front().getTerminator()->getOperands())
        results.push_back(mapping.lookupOrDefault(value));
    return results;
  }
};

} // namespace

void weft::gpu::populateElementPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        const KernelInfo &info) {
  addTilePatterns<LowerConstant, LowerSplat, LowerAffine, LowerGuard, LowerMap>(patterns, converter, info);
}
