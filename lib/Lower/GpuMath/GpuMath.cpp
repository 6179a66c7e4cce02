// The pass --weft-gpu-math.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Lower/GpuMath/GpuMath.h"
#include "GpuEmitter.h"
#include "Quotients.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace weft::lower {

#define GEN_PASS_DEF_GPUMATH
#include "weft/Lower/GpuMath/Passes.h.inc"

static constexpr double log2E = 1.4426950408889634, ln2 = 0.6931471805599453, log10E = 0.4342944819032518;

static bool isApproximate(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  return flags && arith::bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
}

/// Math that becomes an instruction by --convert-math-to-llvm and the back end. exp2 with the licence flushes
/// subnormal results, which spares two instructions.
static bool isNative(Operation *op) {
  if (isa<math::Exp2Op>(op)) {
    Type type = getElementTypeOrSelf(op->getResult(0));
    return !type.isF64() && !(type.isF32() && isApproximate(op));
  }
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::ClampFOp, math::CopySignOp, math::CountLeadingZerosOp,
             math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp, math::IsInfOp,
             math::IsNaNOp, math::IsNormalOp, math::RoundEvenOp, math::RoundOp, math::SqrtOp, math::TruncOp>(op);
}

/// A division of f32 that may be a product with a reciprocal.
static bool isReciprocal(Operation *op) {
  auto division = dyn_cast<arith::DivFOp>(op);
  return division && getElementTypeOrSelf(op->getResult(0)).isF32() &&
         arith::bitEnumContainsAll(division.getFastmath(), arith::FastMathFlags::arcp);
}

/// The approximate instruction of PTX for `op` on f32; null if there is none.
static Value expandFast(const GpuEmitter &e, Operation *op, ValueRange x) {
  auto afn = arith::FastMathFlags::afn;
  auto lg2 = [&](Value value) { return e.intrinsic("llvm.nvvm.lg2.approx.f", value); };
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return math::Exp2Op::create(e.b, e.mul(x[0], e.real(x[0], log2E))); })
      .Case([&](math::Exp2Op) { return e.intrinsic("llvm.nvvm.ex2.approx.ftz", x); })
      .Case([&](math::LogOp) { return e.mul(lg2(x[0]), e.real(x[0], ln2)); })
      .Case([&](math::Log2Op) { return lg2(x[0]); })
      .Case([&](math::TanhOp) { return math::TanhOp::create(e.b, x[0], afn); })
      .Case([&](math::SinOp) { return math::SinOp::create(e.b, x[0], afn); })
      .Case([&](math::CosOp) { return math::CosOp::create(e.b, x[0], afn); })
      .Case([&](arith::DivFOp) { return arith::DivFOp::create(e.b, x[0], x[1], afn); })
      .Default(Value());
}

/// The expansion on f32 and f64 operands `x`; null if there is none.
static Value expandExact(const GpuEmitter &e, Operation *op, ValueRange x) {
  bool isDouble = e.isDouble(x[0]);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ExpOp) { return e.exp(x[0]); })
      .Case([&](math::Exp2Op) { return e.exp(e.mul(x[0], e.real(x[0], ln2))); })
      .Case([&](math::ExpM1Op) { return e.expm1(x[0]); })
      .Case([&](math::LogOp) { return e.log(x[0]); })
      .Case([&](math::Log2Op) { return e.mul(e.log(x[0]), e.real(x[0], log2E)); })
      .Case([&](math::Log10Op) { return e.mul(e.log(x[0]), e.real(x[0], log10E)); })
      .Case([&](math::Log1pOp) { return e.log1p(x[0]); })
      .Case([&](math::PowFOp) { return isDouble ? powDouble(e, x[0], x[1]) : expandPow(e, x[0], x[1]); })
      .Case([&](math::TanhOp) { return isDouble ? expandTanhDouble(e, x[0]) : expandTanh(e, x[0]); })
      .Case([&](math::SinhOp) { return expandSinh(e, x[0]); })
      .Case([&](math::CoshOp) { return expandCosh(e, x[0]); })
      .Case([&](math::AsinhOp) { return expandAsinh(e, x[0]); })
      .Case([&](math::AcoshOp) { return expandAcosh(e, x[0]); })
      .Case([&](math::AtanhOp) { return expandAtanh(e, x[0]); })
      .Case([&](math::SinOp) { return expandSin(e, x[0]); })
      .Case([&](math::CosOp) { return expandCos(e, x[0]); })
      .Case([&](math::TanOp) { return expandTan(e, x[0]); })
      .Case([&](math::AsinOp) { return expandAsin(e, x[0]); })
      .Case([&](math::AcosOp) { return expandAcos(e, x[0]); })
      .Case([&](math::AtanOp) { return expandAtan(e, x[0]); })
      .Case([&](math::ErfOp) { return isDouble ? erfDouble(e, x[0]) : erfSingle(e, x[0]); })
      .Case([&](math::RsqrtOp) {
        return isDouble ? e.div(e.real(x[0], 1.0), e.sqrt(x[0])) : e.intrinsic("llvm.nvvm.rsqrt.approx.f", x[0]);
      })
      .Case([&](arith::DivFOp) { return e.quotient(x[0], x[1]); })
      .Case([&](arith::RemFOp) { return expandRemainder(e, x[0], x[1]); })
      .Default(Value());
}

namespace {

struct GpuMath : impl::GpuMathBase<GpuMath> {
  using Base::Base;

  void runOnOperation() override {
    shareReciprocals(getOperation());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      bool isMath = isa_and_nonnull<math::MathDialect>(op->getDialect()) && !isNative(op);
      if (isMath || isa<arith::RemFOp>(op) || (isa<arith::DivFOp>(op) && isFast(op)) || isRoundedTo16Bits(op) ||
          isReciprocal(op))
        ops.push_back(op);
      if (auto truncation = dyn_cast<arith::TruncFOp>(op); truncation && needsTwoSteps(truncation))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(expandOp(op)))
        return signalPassFailure();
  }

private:
  bool isFast(Operation *op) const { return fast || isApproximate(op); }

  /// f64 to bf16: PTX has no such conversion, and by way of f32 it would round twice.
  static bool needsTwoSteps(arith::TruncFOp op) {
    return getElementTypeOrSelf(op.getIn()).isF64() && getElementTypeOrSelf(op.getOut()).isBF16();
  }

  /// The result for scalar operands; null if there is none.
  Value expandScalar(ImplicitLocOpBuilder &builder, Operation *op, ValueRange operands) const {
    Type type = operands.front().getType();
    if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
      GpuEmitter e(builder, type);
      Type narrow = getElementTypeOrSelf(op->getResult(0));
      return arith::TruncFOp::create(builder, narrow, roundToOdd(e, operands.front()));
    }
    if (type.isF16() || type.isBF16()) {
      SmallVector<Value> wide;
      for (Value operand : operands)
        wide.push_back(arith::ExtFOp::create(builder, builder.getF32Type(), operand));
      Value result = expandScalar(builder, op, wide);
      return result ? arith::TruncFOp::create(builder, type, result).getResult() : Value();
    }
    if (!type.isF32() && !type.isF64())
      return {};
    GpuEmitter e(builder, type);
    Value result = isFast(op) && type.isF32() ? expandFast(e, op, operands) : Value();
    if (!result && isRoundedTo16Bits(op))
      result = e.intrinsic("llvm.nvvm.div.full", operands);
    return result ? result : expandExact(e, op, operands);
  }

  LogicalResult expandOp(Operation *op) const {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    Type type = op->getNumResults() == 1 ? op->getResult(0).getType() : Type();
    auto vector = dyn_cast_or_null<VectorType>(type);
    Value result;
    if (vector && !vector.isScalable() && vector.getRank() == 1)
      result = expandVector(builder, op, vector);
    else if (type && !vector)
      result = expandScalar(builder, op, op->getOperands());
    if (!result)
      return op->emitError() << "op '" << op->getName().getStringRef() << "' has no form on a GPU for its types";
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
    return success();
  }

  Value expandVector(ImplicitLocOpBuilder &builder, Operation *op, VectorType type) const {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(vector::ExtractOp::create(builder, operand, i));
      elements.push_back(expandScalar(builder, op, operands));
      if (!elements.back())
        return {};
    }
    return vector::FromElementsOp::create(builder, type, elements);
  }
};

} // namespace
} // namespace weft::lower
