// tg.reduce and tg.arg_reduce: a generic with reduction dimensions over the operand's index space, from the monoid's
// identity.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;

namespace weft::lower {

namespace {

/// The iteration domain of a reduction over `axes`: the operand's index space, and the map from it to the dimensions
/// that stay.
struct ReductionDomain {
  Dims domain, kept;
  SmallVector<utils::IteratorType> iterators;
  AffineMap inputMap, resultMap;

  ReductionDomain(Type input, ArrayRef<int64_t> axes) : domain(tg::getDims(input)) {
    MLIRContext *context = input.getContext();
    SmallVector<AffineExpr> results;
    for (auto [d, extent] : llvm::enumerate(domain)) {
      bool isReduced = llvm::is_contained(axes, int64_t(d));
      iterators.push_back(isReduced ? utils::IteratorType::reduction : utils::IteratorType::parallel);
      if (isReduced)
        continue;
      kept.push_back(extent);
      results.push_back(getAffineDimExpr(d, context));
    }
    inputMap = identityMap(context, domain.size());
    resultMap = AffineMap::get(domain.size(), 0, results, context);
  }
};

struct ReduceLowering : OpConversionPattern<tg::ReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(tg::ReduceOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    ReductionDomain reduction(op.getInput().getType(), op.getAxes());
    Type element = getElementTypeOrSelf(op.getInput());
    FloatType compute = tg::getComputeType(element);
    // Where the accumulator is stored: as the element, but floats in the compute type.
    Type inMemory = isa<FloatType>(element) ? compute : element;
    Value identity = tg::buildIdentity(b, b.getLoc(), op.getKind(), element, compute);
    if (!identity)
      return rewriter.notifyMatchFailure(op, "monoid is not defined on the element type");
    Value init = b.filled(reduction.kept, storeScalar(b, b.getLoc(), identity, inMemory));
    auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
      Value x = loadScalar(nested, loc, args[0], element, compute);
      Value accumulated = loadScalar(nested, loc, args[1], inMemory, compute);
      Value next = tg::buildCombine(nested, loc, op.getKind(), accumulated, x, element);
      return SmallVector<Value>{storeScalar(nested, loc, next, inMemory)};
    };
    Access input = resolveAccess(rewriter, op.getInput(), reduction.inputMap);
    Value result =
        b.generic(reduction.domain, reduction.iterators, input, Access{init, reduction.resultMap}, body).front();
    if (inMemory != element)
      result = b.rounded(reduction.kept, result, element);
    rewriter.replaceOp(op, b.reshape(result, reduction.kept, tg::getDims(op.getType())));
    return success();
  }
};

/// Whether `x` takes the place of `best`: it is better, or equal and later elements win; a NaN beats numbers.
Value takesPlace(OpBuilder &builder, Location loc, tg::ArgReduceOp op, Value x, Value best) {
  bool isMax = op.getKind() == tg::Monoid::Max, last = op.getSelectLast();
  Type element = getElementTypeOrSelf(op.getInput());
  if (!isa<FloatType>(element)) {
    using P = arith::CmpIPredicate;
    bool isUnsigned = tg::isUnsignedElement(element);
    P max = isUnsigned ? (last ? P::uge : P::ugt) : (last ? P::sge : P::sgt);
    P min = isUnsigned ? (last ? P::ule : P::ult) : (last ? P::sle : P::slt);
    return arith::CmpIOp::create(builder, loc, isMax ? max : min, x, best);
  }
  using P = arith::CmpFPredicate;
  P predicate = isMax ? (last ? P::OGE : P::OGT) : (last ? P::OLE : P::OLT);
  Value better = arith::CmpFOp::create(builder, loc, predicate, x, best);
  Value isNaN = arith::CmpFOp::create(builder, loc, P::UNO, x, x);
  if (!last) {
    Value bestIsNumber = arith::CmpFOp::create(builder, loc, P::ORD, best, best);
    isNaN = arith::AndIOp::create(builder, loc, isNaN, bestIsNumber);
  }
  return arith::OrIOp::create(builder, loc, better, isNaN);
}

struct ArgReduceLowering : OpConversionPattern<tg::ArgReduceOp> {
  using OpConversionPattern::OpConversionPattern;

  /// Two accumulators, the best element and its index. The identity as first best loses to or equals every element, and
  /// stands for index 0, which is the answer when all elements equal it.
  LogicalResult matchAndRewrite(tg::ArgReduceOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    KernelBuilder b(op.getLoc(), rewriter);
    int64_t axis = op.getAxis();
    ReductionDomain reduction(op.getInput().getType(), axis);
    Type element = getElementTypeOrSelf(op.getInput());
    FloatType compute = tg::getComputeType(element);
    Value identity = tg::buildIdentity(b, b.getLoc(), op.getKind(), element, compute);
    Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
    SmallVector<Access> outputs{{b.filled(reduction.kept, identity), reduction.resultMap},
                                {b.filled(reduction.kept, zero), reduction.resultMap}};
    auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
      Value x = loadScalar(nested, loc, args[0], element, compute);
      Value takes = takesPlace(nested, loc, op, x, args[1]);
      Value position = linalg::IndexOp::create(nested, loc, axis);
      position = arith::IndexCastOp::create(nested, loc, nested.getI64Type(), position);
      return SmallVector<Value>{arith::SelectOp::create(nested, loc, takes, x, args[1]),
                                arith::SelectOp::create(nested, loc, takes, position, args[2])};
    };
    Access input = resolveAccess(rewriter, op.getInput(), reduction.inputMap);
    Value index = b.generic(reduction.domain, reduction.iterators, input, outputs, body)[1];
    rewriter.replaceOp(op, b.reshape(index, reduction.kept, tg::getDims(op.getType())));
    return success();
  }
};

} // namespace

void populateReductionPatterns(Converter converter, RewritePatternSet &patterns) {
  patterns.add<ReduceLowering, ArgReduceLowering>(converter, patterns.getContext());
}

} // namespace weft::lower
