// Exact rewrites of pointwise ops: the result has the same value for every input, bit for bit except which NaN a NaN
// is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace weft::tg {
namespace {

/// The one value that all elements of a constant have.
struct Splat {
  std::optional<APFloat> real;
  std::optional<APInt> integer;
  /// Whether it is the number `value` (not minus zero for 0).
  bool is(double value) const {
    if (real)
      return !real->isNegZero() && real->convertToDouble() == value;
    return integer && integer->isSignedIntN(32) && double(integer->getSExtValue()) == value;
  }
};

Splat splatOf(Value value) {
  Splat splat;
  auto constant = value.getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!elements || elements.empty() || !elements.isSplat())
    return splat;
  if (isa<FloatType>(elements.getElementType()))
    splat.real = elements.getSplatValue<APFloat>();
  else
    splat.integer = elements.getSplatValue<APInt>();
  // Doubles hold all values of the narrower types.
  if (splat.real) {
    bool losesInfo;
    splat.real->convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  }
  return splat;
}

/// Replaces `op` by `value` unless broadcasting made the result larger.
LogicalResult replaceBy(PatternRewriter &rewriter, Operation *op, Value value) {
  if (value.getType() != op->getResult(0).getType())
    return failure();
  rewriter.replaceOp(op, value);
  return success();
}

/// x + (-0.0) is x for every float x, while x + 0.0 turns -0.0 to 0.0.
LogicalResult dropAddedZero(AddOp op, PatternRewriter &rewriter) {
  for (unsigned i = 0; i < 2; ++i) {
    Splat splat = splatOf(op->getOperand(i));
    if ((splat.real && splat.real->isNegZero()) || (splat.integer && splat.integer->isZero()))
      return replaceBy(rewriter, op, op->getOperand(1 - i));
  }
  return failure();
}

/// x - 0.0 is x for every float x; x - (-0.0) turns -0.0 to 0.0.
LogicalResult dropSubtractedZero(SubOp op, PatternRewriter &rewriter) {
  return splatOf(op.getRhs()).is(0) ? replaceBy(rewriter, op, op.getLhs()) : failure();
}

LogicalResult dropFactorOne(MulOp op, PatternRewriter &rewriter) {
  for (unsigned i = 0; i < 2; ++i)
    if (splatOf(op->getOperand(i)).is(1))
      return replaceBy(rewriter, op, op->getOperand(1 - i));
  return failure();
}

/// A constant like `like`, with all elements `value`.
Value splatLike(PatternRewriter &rewriter, Value like, const APFloat &value) {
  auto type = cast<RankedTensorType>(like.getType());
  APFloat rounded = value;
  bool losesInfo;
  rounded.convert(cast<FloatType>(type.getElementType()).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return ConstantOp::create(rewriter, like.getLoc(), DenseElementsAttr::get(type, rounded));
}

/// x / 1 is x. x / 2^k is x * 2^-k where 2^-k is a normal number: both round the same real number once.
LogicalResult divideByPowerOfTwo(DivOp op, PatternRewriter &rewriter) {
  Splat splat = splatOf(op.getRhs());
  if (splat.is(1))
    return replaceBy(rewriter, op, op.getLhs());
  if (!splat.real)
    return failure();
  auto element = cast<FloatType>(cast<RankedTensorType>(op.getRhs().getType()).getElementType());
  APFloat narrow(*splat.real);
  bool losesInfo;
  narrow.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  APFloat narrowInverse = narrow;
  if (!narrow.getExactInverse(&narrowInverse))
    return failure();
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), splatLike(rewriter, op.getRhs(), narrowInverse));
  return success();
}

/// x^1 is x, x^2 is x * x (which rounds correctly, as pow may not), x^-1 is 1 / x with all its special cases.
LogicalResult expandPower(PowOp op, PatternRewriter &rewriter) {
  Splat exponent = splatOf(op.getRhs());
  if (exponent.is(1))
    return replaceBy(rewriter, op, op.getLhs());
  if (op.getLhs().getType() != op.getType())
    return failure();
  if (exponent.is(2))
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), op.getLhs());
  else if (exponent.real && exponent.is(-1))
    rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getLhs());
  else
    return failure();
  return success();
}

/// f(f(x)) = x.
template <typename OpTy> LogicalResult cancelInvolution(OpTy op, PatternRewriter &rewriter) {
  auto inner = op.getInput().template getDefiningOp<OpTy>();
  return inner ? replaceBy(rewriter, op, inner.getInput()) : failure();
}

/// |-x| = |x| and ||x|| = |x|: in two's complement too, where the least integer is its own negation.
LogicalResult dropUnderAbs(AbsOp op, PatternRewriter &rewriter) {
  Operation *inner = op.getInput().getDefiningOp();
  if (isa_and_nonnull<AbsOp>(inner))
    return replaceBy(rewriter, op, op.getInput());
  if (!isa_and_nonnull<NegOp>(inner) || isUnsignedElement(op.getType().getElementType()))
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, inner->getOperand(0)); });
  return success();
}

/// op(x, x) = x.
template <typename OpTy> LogicalResult dropIdempotent(OpTy op, PatternRewriter &rewriter) {
  return op.getLhs() == op.getRhs() ? replaceBy(rewriter, op, op.getLhs()) : failure();
}

LogicalResult chooseBranch(SelectOp op, PatternRewriter &rewriter) {
  if (op.getOnTrue() == op.getOnFalse())
    return replaceBy(rewriter, op, op.getOnTrue());
  Splat condition = splatOf(op.getCondition());
  if (!condition.integer)
    return failure();
  return replaceBy(rewriter, op, condition.integer->isZero() ? op.getOnFalse() : op.getOnTrue());
}

/// Bits that hold an integer's magnitude.
unsigned magnitudeBits(Type element) { return element.getIntOrFloatBitWidth() - (isUnsignedElement(element) ? 0 : 1); }

/// Whether every value of `from` is a value of `to`.
bool isLossless(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return !isStorageFloat(to) &&
           APFloat::isRepresentableBy(fromFloat.getFloatSemantics(), toFloat.getFloatSemantics());
  if (fromFloat)
    return false;
  if (toFloat) // Up to 2^precision all integers are exact; so small ones are in range of f16 too.
    return !isStorageFloat(to) && magnitudeBits(from) <= toFloat.getFPMantissaWidth();
  if (to.isInteger(1))
    return from.isInteger(1);
  bool keepsSign = isUnsignedElement(from) || !isUnsignedElement(to);
  return keepsSign && magnitudeBits(from) <= magnitudeBits(to);
}

/// cast(cast(x : A to B) : B to C) is cast(x : A to C) if every A is a B: the outer cast sees the same number. Not
/// where A and C are integers and B is a float, since integers wrap and floats saturate, unless C is A.
LogicalResult composeCasts(CastOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<CastOp>();
  if (!inner)
    return failure();
  Type a = inner.getInput().getType().getElementType(), b = inner.getType().getElementType(),
       c = op.getType().getElementType();
  if (!isLossless(a, b))
    return failure();
  if (isa<IntegerType>(a) && isa<FloatType>(b) && isa<IntegerType>(c) && a != c)
    return failure();
  if (a == c)
    return replaceBy(rewriter, op, inner.getInput());
  rewriter.modifyOpInPlace(op, [&] { op->setOperand(0, inner.getInput()); });
  return success();
}

/// A pointwise op stretches its operands itself.
struct DropBroadcastOperand : OpInterfaceRewritePattern<PointwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(PointwiseOpInterface op, PatternRewriter &rewriter) const override {
    if (isa<CastOp>(op))
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      auto broadcast = operand.get().getDefiningOp<BroadcastOp>();
      if (!broadcast || !keepsResult(op, operand.getOperandNumber(), broadcast.getInput()))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(broadcast.getInput()); });
      return success();
    }
    return failure();
  }

  /// Whether the other operands alone make the result as large as it is.
  static bool keepsResult(Operation *op, unsigned replaced, Value by) {
    SmallVector<Dims> shapes;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      shapes.push_back(getDims(i == replaced ? by.getType() : operand.getType()));
    std::optional<Dims> joint = broadcastDims(shapes);
    return joint && *joint == getDims(op->getResult(0).getType());
  }
};

} // namespace

void populatePointwiseSimplifications(RewritePatternSet &patterns) {
  patterns.add(dropAddedZero).add(dropSubtractedZero).add(dropFactorOne).add(divideByPowerOfTwo).add(expandPower);
  patterns.add(cancelInvolution<NegOp>).add(cancelInvolution<NotOp>).add(dropUnderAbs);
  patterns.add(dropIdempotent<MaxOp>).add(dropIdempotent<MinOp>).add(dropIdempotent<AndOp>).add(dropIdempotent<OrOp>);
  patterns.add(chooseBranch).add(composeCasts);
  patterns.add<DropBroadcastOperand>(patterns.getContext());
}

} // namespace weft::tg
