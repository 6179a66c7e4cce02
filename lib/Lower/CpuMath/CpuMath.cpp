// The pass --weft-expand-math: our expansions where there is one, the C library's functions for the rest.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Lower/CpuMath/CpuMath.h"
#include "mlir/Conversion/ArithCommon/AttrToLLVMConverter.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/DialectConversion.h"
#include "weft/Lower/Math/Emitter.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::lower {

#define GEN_PASS_DEF_EXPANDMATH
#include "weft/Lower/CpuMath/Passes.h.inc"

/// x to the power of y, a small whole constant: products in f64, whose error is none in f32. Null for other exponents.
static Value expandWholePower(const Emitter &e, Value x, Value y) {
  constexpr int least = 1, most = 8;
  FloatAttr scalar;
  SplatElementsAttr splat;
  APFloat power(0.0f);
  if (matchPattern(y, m_Constant(&scalar)))
    power = scalar.getValue();
  else if (matchPattern(y, m_Constant(&splat)) && isa<FloatType>(splat.getElementType()))
    power = splat.getSplatValue<APFloat>();
  else
    return {};
  double exponent = power.convertToDouble();
  int left = exponent >= least && exponent <= most ? int(exponent) : 0;
  if (left != exponent)
    return {};
  Value base = arith::ExtFOp::create(e.b, e.f64(), x), product;
  while (true) {
    if (left & 1)
      product = product ? e.mul(product, base) : base;
    left >>= 1;
    if (!left)
      return arith::TruncFOp::create(e.b, e.f32(), product);
    base = e.mul(base, base);
  }
}

/// The expansion of a math op on f32; null if it has none.
static Value expandF32(const Emitter &e, Operation *op) {
  Value x = op->getOperand(0);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return expandExp(e, x); })
      .Case([&](math::ExpM1Op) { return expandExpm1(e, x); })
      .Case([&](math::TanhOp) { return expandTanh(e, x); })
      .Case([&](math::ErfOp) { return expandErf(e, x); })
      .Case([&](math::LogOp) { return expandLog(e, x); })
      .Case([&](math::Log1pOp) { return expandLog1p(e, x); })
      .Case([&](math::PowFOp) {
        Value whole = expandWholePower(e, x, op->getOperand(1));
        return whole ? whole : expandPow(e, x, op->getOperand(1));
      })
      .Default(Value());
}

/// The expansion of a float conversion; null if the machine has it.
static Value expandTruncation(const Emitter &e, arith::TruncFOp op) {
  Value x = op.getIn();
  Type from = getElementTypeOrSelf(x), to = getElementTypeOrSelf(op.getOut());
  if (!(to.isBF16() || to.isF16()) || !(from.isF32() || from.isF64()))
    return {};
  if (from.isF64())
    x = roundToOdd(e, x);
  else if (to.isF16())
    return {};
  return to.isBF16() ? expandToBF16(e, x) : arith::TruncFOp::create(e.b, op.getType(), x).getResult();
}

/// The larger or smaller of two floats as LLVM's own operation, NaN if one is: LLVM vectorises reductions by it, but
/// not by the comparisons and selects of arith-expand. Null for types that it would call a function for.
static Value expandExtremum(const Emitter &e, Operation *op) {
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (!element.isF32() && !element.isF64())
    return {};
  Value x = op->getOperand(0), y = op->getOperand(1);
  auto flags = arith::convertArithFastMathAttrToLLVM(cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr());
  if (isa<arith::MaximumFOp>(op))
    return LLVM::MaximumOp::create(e.b, x.getType(), x, y, flags);
  return LLVM::MinimumOp::create(e.b, x.getType(), x, y, flags);
}

static Value expand(const Emitter &e, Operation *op) {
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(op))
    return expandExtremum(e, op);
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return expandTruncation(e, truncation);
  if (auto root = dyn_cast<math::RsqrtOp>(op)) {
    Value x = root.getOperand();
    return e.div(e.real(x, 1.0), math::SqrtOp::create(e.b, x));
  }
  bool isF32 = isa_and_nonnull<math::MathDialect>(op->getDialect()) && op->getNumResults() == 1 &&
               getElementTypeOrSelf(op->getResult(0)).isF32();
  return isF32 ? expandF32(e, op) : Value();
}

namespace {

struct ExpandMath : impl::ExpandMathBase<ExpandMath> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<arith::TruncFOp, arith::MaximumFOp, arith::MinimumFOp>(op) ||
          isa_and_nonnull<math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      Value result = expand(Emitter(builder, op->getResult(0).getType()), op);
      if (!result)
        continue;
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
    if (failed(callLibm()))
      signalPassFailure();
  }

private:
  /// What is left and has no instruction: calls, one per element of a vector.
  LogicalResult callLibm() {
    RewritePatternSet patterns(&getContext());
    populateMathToLibmConversionPatterns(patterns);
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalOp<math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp, math::Atan2Op, math::AtanOp,
                        math::AtanhOp, math::CbrtOp, math::CosOp, math::CoshOp, math::ErfOp, math::Exp2Op,
                        math::ExpM1Op, math::ExpOp, math::Log10Op, math::Log1pOp, math::Log2Op, math::LogOp,
                        math::PowFOp, math::SinOp, math::SinhOp, math::TanOp, math::TanhOp>();
    return applyPartialConversion(getOperation(), target, std::move(patterns));
  }
};

} // namespace
} // namespace weft::lower
