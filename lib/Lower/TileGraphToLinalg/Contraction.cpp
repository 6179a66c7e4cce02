// tg.contract: a generic of multiply-adds in the accumulator type over the op's maps, then the one rounding of its
// result.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

/// An operand's stored scalar in the accumulator type: floats extended, integers extended (or cut) by their own
/// signedness.
static Value toAccumulator(OpBuilder &builder, Location loc, Value stored, Type element, Type accumulator) {
  if (auto type = dyn_cast<FloatType>(accumulator))
    return loadScalar(builder, loc, stored, element, type);
  unsigned from = stored.getType().getIntOrFloatBitWidth(), to = accumulator.getIntOrFloatBitWidth();
  if (from == to)
    return stored;
  if (from > to)
    return arith::TruncIOp::create(builder, loc, accumulator, stored);
  if (tg::isUnsignedElement(element))
    return arith::ExtUIOp::create(builder, loc, accumulator, stored);
  return arith::ExtSIOp::create(builder, loc, accumulator, stored);
}

static Value multiplyAdd(OpBuilder &builder, Location loc, Value lhs, Value rhs, Value sum) {
  if (isa<FloatType>(sum.getType()))
    return arith::AddFOp::create(builder, loc, sum, arith::MulFOp::create(builder, loc, lhs, rhs));
  return arith::AddIOp::create(builder, loc, sum, arith::MulIOp::create(builder, loc, lhs, rhs));
}

namespace {

struct ContractLowering : OpConversionPattern<tg::ContractOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ContractOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    Type lhs = getElementTypeOrSelf(op.getLhs()), rhs = getElementTypeOrSelf(op.getRhs());
    Type element = getElementTypeOrSelf(op.getResult());
    Type accumulator = getAccumulatorType(element);
    if (lhs.isF64() || rhs.isF64())
      accumulator = b.getF64Type();
    Dims dims = tg::getDims(op.getType());
    Value init = b.filled(dims, arith::ConstantOp::create(b, b.getZeroAttr(accumulator)));
    SmallVector<Access> inputs{resolveAccess(rewriter, op.getLhs(), op.getMap(0)),
                               resolveAccess(rewriter, op.getRhs(), op.getMap(1))};
    auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
      Value x = toAccumulator(nested, loc, args[0], lhs, accumulator);
      Value y = toAccumulator(nested, loc, args[1], rhs, accumulator);
      return SmallVector<Value>{multiplyAdd(nested, loc, x, y, args[2])};
    };
    Value sum =
        b.generic(op.getDomainExtents(), op.getDomainIterators(), inputs, Access{init, op.getMap(2)}, body).front();
    rewriter.replaceOp(op, b.rounded(dims, sum, element));
    return success();
  }
};

} // namespace

void populateContractionPatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<ContractLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
