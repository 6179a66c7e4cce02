// Views that someone needs as a tensor of its own: transpose, broadcast, window, slice, reshape, bitcast.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers look through most of them (Access.cpp); what nobody reads then is dead and goes away.
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

namespace {

/// tg.transpose, tg.broadcast, tg.window: a copy through the composed map.
template <typename OpTy> struct CopyLowering : OpConversionPattern<OpTy> {
  using OpConversionPattern<OpTy>::OpConversionPattern;

  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Dims dims = tg::getDims(op.getType());
    Access access = resolveAccess(rewriter, op.getResult(), identityMap(op.getContext(), dims.size()));
    rewriter.replaceOp(op, b.copy(dims, access));
    return success();
  }
};

struct SliceLowering : OpConversionPattern<tg::SliceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::SliceOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Dims dims = tg::getDims(op.getType()), box = dims, from = tg::getDims(op.getInput().getType());
    SmallVector<int64_t> offsets(op.getOffsets()), strides(op.getStrides());
    SmallVector<AffineExpr> results;
    for (auto [d, offset, stride] : llvm::enumerate(op.getOffsets(), op.getStrides())) {
      AffineExpr place = b.getAffineDimExpr(d);
      if (stride < 0) // The whole dimension, read from its end.
        box[d] = from[d], offsets[d] = 0, strides[d] = 1, place = place * stride + offset;
      results.push_back(place);
    }
    auto attributes = [&](ArrayRef<int64_t> values) {
      return llvm::map_to_vector(values, [&](int64_t value) -> OpFoldResult { return b.getIndexAttr(value); });
    };
    Type element = op.getType().getElementType();
    Value part =
        tensor::ExtractSliceOp::create(rewriter, op.getLoc(), getPlainType(tg::getTensorType(box, element)),
                                       adaptor.getInput(), attributes(offsets), b.extents(box), attributes(strides));
    AffineMap map = AffineMap::get(dims.size(), 0, results, op.getContext());
    rewriter.replaceOp(op, map.isIdentity() ? part : b.copy(dims, {part, map}));
    return success();
  }
};

struct ReshapeLowering : OpConversionPattern<tg::ReshapeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ReshapeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op,
                       b.reshape(adaptor.getInput(), tg::getDims(op.getInput().getType()), tg::getDims(op.getType())));
    return success();
  }
};

struct BitcastLowering : OpConversionPattern<tg::BitcastOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::BitcastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(adaptor.getInput()), to = getPlainElement(op.getType().getElementType());
    if (from == to) {
      rewriter.replaceOp(op, adaptor.getInput());
      return success();
    }
    KernelBuilder b(op.getLoc(), rewriter);
    Dims dims = tg::getDims(op.getType());
    Access access = resolveAccess(rewriter, op.getInput(), identityMap(op.getContext(), dims.size()));
    rewriter.replaceOp(op, b.parallel(dims, access, to, [&](OpBuilder &nested, Location loc, ValueRange args) {
      return SmallVector<Value>{arith::BitcastOp::create(nested, loc, to, args.front())};
    }));
    return success();
  }
};

} // namespace

void populateViewPatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<CopyLowering<tg::TransposeOp>, CopyLowering<tg::BroadcastOp>, CopyLowering<tg::WindowOp>, SliceLowering,
               ReshapeLowering, BitcastLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
