// Scalar definitions of the float functions: rounding, exponentials, roots, trigonometry. Most are one `math` op, so
// that each target picks its own implementation within the accuracy that docs state.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarEmitter.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"

using namespace mlir;
using namespace weft::tg;
using weft::tg::detail::ScalarEmitter;

#define WEFT_MATH_SCALAR(OP, MATH)                                                                                     \
  Value OP::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType) {                                   \
    return math::MATH::create(builder, loc, x[0]);                                                                     \
  }

WEFT_MATH_SCALAR(CeilOp, CeilOp)
WEFT_MATH_SCALAR(FloorOp, FloorOp)
WEFT_MATH_SCALAR(RoundOp, RoundEvenOp)
WEFT_MATH_SCALAR(TruncOp, TruncOp)
WEFT_MATH_SCALAR(ExpOp, ExpOp)
WEFT_MATH_SCALAR(Expm1Op, ExpM1Op)
WEFT_MATH_SCALAR(LogOp, LogOp)
WEFT_MATH_SCALAR(Log1pOp, Log1pOp)
WEFT_MATH_SCALAR(SqrtOp, SqrtOp)
WEFT_MATH_SCALAR(RsqrtOp, RsqrtOp)
WEFT_MATH_SCALAR(ErfOp, ErfOp)
WEFT_MATH_SCALAR(SinOp, SinOp)
WEFT_MATH_SCALAR(CosOp, CosOp)
WEFT_MATH_SCALAR(TanOp, TanOp)
WEFT_MATH_SCALAR(AsinOp, AsinOp)
WEFT_MATH_SCALAR(AcosOp, AcosOp)
WEFT_MATH_SCALAR(AtanOp, AtanOp)
WEFT_MATH_SCALAR(SinhOp, SinhOp)
WEFT_MATH_SCALAR(CoshOp, CoshOp)
WEFT_MATH_SCALAR(TanhOp, TanhOp)
WEFT_MATH_SCALAR(AsinhOp, AsinhOp)
WEFT_MATH_SCALAR(AcoshOp, AcoshOp)
WEFT_MATH_SCALAR(AtanhOp, AtanhOp)

#undef WEFT_MATH_SCALAR

/// With e = exp(-|x|) <= 1: 1 / (1 + e) for x >= 0, e / (1 + e) below. exp(-x) itself would overflow for very negative
/// x and lose the subnormal results.
Value SigmoidOp::buildScalar(OpBuilder &builder, Location loc, ValueRange x, FloatType computeType) {
  ScalarEmitter e{builder, loc};
  Value decay = e.op<math::ExpOp>(e.op<arith::NegFOp>(e.op<math::AbsFOp>(x[0])));
  Value one = e.real(computeType, 1.0);
  Value isNegative = e.cmpF(arith::CmpFPredicate::OLT, x[0], e.real(computeType, 0.0));
  // The divisor is within [1, 2]: a reciprocal is as good as a division, and on a GPU a fraction of its instructions.
  return arith::DivFOp::create(builder, loc, e.select(isNegative, decay, one), e.op<arith::AddFOp>(one, decay),
                               arith::FastMathFlags::arcp);
}
