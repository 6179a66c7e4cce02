// Changes of layout: registers renamed, exchanged by shuffles, or passed through shared memory; tk.convert and
// tk.broadcast; tk.relabel, which changes no register.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "SharedTile.h"

#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Text.h"
#include "weft/Schedule/DerivedLayouts.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

FailureOr<SmallVector<Value>> weft::gpu::convertRegisters(OpBuilder &builder, Location loc, const KernelInfo &info,
                                                          const Role &role, ValueRange values,
                                                          const layout::LinearLayout &from,
                                                          const layout::LinearLayout &to, int64_t scratch) {
  std::optional<layout::Conversion> conversion = layout::classifyConversion(from, to);
  if (!conversion)
    return emitError(loc) << "expected layouts of one tile, got `" << layout::printLayout(from) << "` and `"
                          << layout::printLayout(to) << "`";
  if (conversion->kind <= layout::ConversionKind::withinThread) {
    SmallVector<Value> results;
    for (unsigned reg = 0; reg < countRegisters(to); ++reg)
      results.push_back(values[conversion->source.apply({reg})[0]]);
    return results;
  }
  Type element = values[0].getType();
  unsigned bits = std::max(element.getIntOrFloatBitWidth(), 8u);
  std::optional<layout::SwizzleChoice> choice = layout::chooseSwizzle(from, to, bits);
  if (!choice || scratch < 0)
    return emitError(loc) << "expected shared memory for a conversion from `" << layout::printLayout(from) << "` to `"
                          << layout::printLayout(to) << "`";
  Value base = getSharedPointer(builder, loc, info, scratch);
  emitBarrier(builder, loc, role);
  SharedTile(builder, loc, base, *layout::getOffsets(from, choice->memory), role, bits).store(values);
  emitBarrier(builder, loc, role);
  return SharedTile(builder, loc, base, *layout::getOffsets(to, choice->memory), role, bits).load(element);
}

namespace {

class LowerConvert : public TilePattern<tk::ConvertOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::ConvertOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> results =
        convertRegisters(rewriter, op.getLoc(), info, info.getRole(op), adaptor.getInput(),
                         op.getInput().getType().getLayout().getValue(),
                         op.getResult().getType().getLayout().getValue(), info.getScratch(op));
    if (failed(results))
      return failure();
    rewriter.replaceOpWithMultiple(op, {*results});
    return success();
  }
};

class LowerRelabel : public TilePattern<tk::RelabelOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::RelabelOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithMultiple(op, {adaptor.getInput()});
    return success();
  }
};

class LowerBroadcast : public TilePattern<tk::BroadcastOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::BroadcastOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    FailureOr<SmallVector<Value>> results = convertRegisters(
        rewriter, op.getLoc(), info, info.getRole(op), adaptor.getInput(),
        op.getInput().getType().getLayout().getValue(), schedule::getBroadcastSource(op), info.getScratch(op));
    if (failed(results))
      return failure();
    rewriter.replaceOpWithMultiple(op, {*results});
    return success();
  }
};

} // namespace

void weft::gpu::populateConversionPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                           const KernelInfo &info) {
  addTilePatterns<LowerConvert, LowerRelabel, LowerBroadcast>(patterns, converter, info);
}
