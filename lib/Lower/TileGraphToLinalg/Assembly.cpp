// tg.pad and tg.concat: tensors put together from parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "Pieces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

static SmallVector<OpFoldResult> indexAttributes(Builder &builder, ArrayRef<int64_t> values) {
  return llvm::map_to_vector(values, [&](int64_t value) -> OpFoldResult { return builder.getIndexAttr(value); });
}

namespace {

struct PadLowering : OpConversionPattern<tg::PadOp> {
  using OpConversionPattern::OpConversionPattern;

  /// Around the operand: tensor.pad, which tiles and fuses. Between its elements: a strided insertion into a filled
  /// tensor.
  LogicalResult matchAndRewrite(tg::PadOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Value value = tensor::ExtractOp::create(b, adaptor.getValue(), ValueRange{});
    SmallVector<OpFoldResult> low = indexAttributes(b, op.getLow());
    auto isZero = [](int64_t n) { return n == 0; };
    if (llvm::all_of(op.getInterior(), isZero)) {
      rewriter.replaceOp(op, tensor::PadOp::create(b, getPlainType(op.getType()), adaptor.getInput(), low,
                                                   indexAttributes(b, op.getHigh()), value)
                                 .getResult());
      return success();
    }
    SmallVector<OpFoldResult> strides;
    for (int64_t interior : op.getInterior())
      strides.push_back(b.getIndexAttr(interior + 1));
    Value init = b.filled(tg::getDims(op.getType()), value);
    SmallVector<OpFoldResult> sizes = b.extents(tg::getDims(op.getInput().getType()));
    rewriter.replaceOp(op, tensor::InsertSliceOp::create(b, adaptor.getInput(), init, low, sizes, strides).getResult());
    return success();
  }
};

struct ConcatLowering : OpConversionPattern<tg::ConcatOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ConcatOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Dims dims = tg::getDims(op.getType());
    auto axis = static_cast<int64_t>(op.getAxis());
    SmallVector<Value> parts;
    SmallVector<OpFoldResult> places, lengths;
    AffineExpr place = b.getAffineConstantExpr(0);
    for (auto [input, part] : llvm::zip_equal(op.getInputs(), adaptor.getInputs())) {
      // Extents off the axis are the result's, so that parts and result agree in what is static.
      Dims partDims = dims;
      partDims[axis] = tg::getDims(input.getType())[axis];
      places.push_back(b.extent(place));
      lengths.push_back(b.extent(partDims[axis]));
      place = place + partDims[axis];
      parts.push_back(tg::getConstant(partDims[axis]) == 0 ? Value() : b.castExtents(part, partDims));
    }
    auto assemble = [&](KernelBuilder &inner, const Piece &piece, ValueRange outputs) -> SmallVector<Value> {
      Value result = outputs.front();
      SmallVector<OpFoldResult> offsets(dims.size(), b.getIndexAttr(0)), strides(dims.size(), b.getIndexAttr(1));
      bool isWhole = llvm::all_of(piece.offsets, [](OpFoldResult offset) { return isZeroInteger(offset); });
      for (auto [part, at, length] : llvm::zip(parts, places, lengths)) {
        if (!part)
          continue;
        SmallVector<OpFoldResult> sizes(piece.sizes);
        sizes[axis] = length;
        offsets[axis] = at;
        Value source = isWhole ? part : piece.of(inner, part, length);
        result = tensor::InsertSliceOp::create(inner, source, result, offsets, sizes, strides);
      }
      return {result};
    };
    Value empty = b.empty(dims, getPlainElement(op.getType().getElementType()));
    Value result = forEachPiece(b, dims, axis, empty, b.extents(dims)[axis], assemble).front();
    rewriter.replaceOp(op, result);
    return success();
  }
};

} // namespace

void populateAssemblyPatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<PadLowering, ConcatLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
