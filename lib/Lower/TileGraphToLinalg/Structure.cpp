// tg.constant, tg.iota, tg.extents.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

/// The bits of a float or integer attribute as an integer of the plain width, zero-extended.
static APInt bitsOf(const APInt &value, unsigned width) { return value.zextOrTrunc(width); }

/// `value` with its plain element type; null if it holds no numbers.
static DenseElementsAttr getPlainElements(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getShapedType());
  RankedTensorType plain = getPlainType(type);
  Type element = type.getElementType();
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (dense && element == plain.getElementType())
    return dense;
  if (dense && element.getIntOrFloatBitWidth() >= 8)
    return dense.bitcast(plain.getElementType());
  unsigned width = plain.getElementTypeBitWidth();
  SmallVector<APInt> bits;
  if (auto integers = value.tryGetValues<APInt>())
    for (const APInt &x : *integers)
      bits.push_back(bitsOf(x, width));
  else if (auto floats = value.tryGetValues<APFloat>())
    for (const APFloat &x : *floats)
      bits.push_back(bitsOf(x.bitcastToAPInt(), width));
  else
    return {};
  if (isa<IntegerType>(plain.getElementType()))
    return DenseElementsAttr::get(plain, bits);
  auto integer = IntegerType::get(type.getContext(), width);
  return DenseElementsAttr::get(RankedTensorType::get(plain.getShape(), integer), bits).bitcast(plain.getElementType());
}

namespace {

struct ConstantLowering : OpConversionPattern<tg::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ConstantOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    DenseElementsAttr value = getPlainElements(op.getValue());
    if (!value)
      return rewriter.notifyMatchFailure(op, "expected a constant of numbers");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
    return success();
  }
};

struct IotaLowering : OpConversionPattern<tg::IotaOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::IotaOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Type element = op.getType().getElementType();
    Type integer = isa<IntegerType>(element) ? tg::getStorageType(element) : b.getI64Type();
    FloatType compute = tg::getComputeType(element);
    auto body = [&](OpBuilder &nested, Location loc, ValueRange) {
      Value scalar = linalg::IndexOp::create(nested, loc, op.getAxis());
      scalar = arith::IndexCastOp::create(nested, loc, integer, scalar);
      if (isa<FloatType>(element))
        scalar = arith::SIToFPOp::create(nested, loc, compute, scalar);
      return SmallVector<Value>{storeScalar(nested, loc, scalar, element)};
    };
    rewriter.replaceOp(op, b.parallel(tg::getDims(op.getType()), {}, getPlainElement(element), body));
    return success();
  }
};

struct ExtentsLowering : OpConversionPattern<tg::ExtentsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ExtentsOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> values;
    for (AffineExpr expr : op.getMap().getResults())
      values.push_back(arith::IndexCastOp::create(b, b.getI64Type(), b.index(expr)));
    rewriter.replaceOpWithNewOp<tensor::FromElementsOp>(op, getPlainType(op.getType()), values);
    return success();
  }
};

} // namespace

void populateStructurePatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<ConstantLowering, IotaLowering, ExtentsLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
