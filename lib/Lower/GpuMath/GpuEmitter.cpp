// Instructions of PTX, and e^x by way of ex2.approx.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace weft::lower {

Value GpuEmitter::mulAdd(Value x, Value y, Value z) const { return math::FmaOp::create(b, x, y, z); }
Value GpuEmitter::mulSubFrom(Value z, Value x, Value y) const { return math::FmaOp::create(b, negate(x), y, z); }
Value GpuEmitter::sqrt(Value x) const { return math::SqrtOp::create(b, x); }
Value GpuEmitter::negate(Value x) const { return arith::NegFOp::create(b, x); }
bool GpuEmitter::isDouble(Value x) const { return x.getType().isF64(); }

Value GpuEmitter::intrinsic(llvm::StringRef name, ValueRange x) const {
  return LLVM::CallIntrinsicOp::create(b, x[0].getType(), b.getStringAttr(name), x).getResult(0);
}

Value GpuEmitter::clamp(Value x, double low, double high) const {
  if (isDouble(x)) // max and min that keep NaN are f32 instructions.
    return Emitter::clamp(x, low, high);
  return atMost(arith::MaximumFOp::create(b, x, real(x, low)), high);
}

Value GpuEmitter::atMost(Value x, double high) const { return arith::MinimumFOp::create(b, x, real(x, high)); }

Value GpuEmitter::quotient(Value x, Value y) const {
  return isDouble(x) ? div(x, y) : mul(x, intrinsic("llvm.nvvm.rcp.approx.ftz.f", y));
}

/// 2^h (1 + r) with h = x log2 e rounded, plus k, and r = x - h ln 2 what the rounding lost: ex2.approx is good to
/// 2^-22.5 for every h. Eight instructions.
static Value scaledExpSingle(const GpuEmitter &e, Value x, int k) {
  // Beyond these ends the result is 0 or infinite; NaN stays.
  x = e.clamp(x, -150.0, 130.0);
  Value h = e.mul(x, e.real(x, 1.4426950408889634));
  // ln 2 in two parts.
  Value r = e.mulSubFrom(x, h, e.real(x, 0.6931471824645996));
  r = e.mulSubFrom(r, h, e.real(x, -1.904654299957768e-09));
  if (k)
    h = e.add(h, e.real(x, k));
  // Not 2^h + 2^h r: that would be NaN for an infinite power and a negative r.
  return e.mul(math::Exp2Op::create(e.b, h), e.add(r, e.real(x, 1.0)));
}

Value GpuEmitter::scaledExp(Value x, int k) const {
  return isDouble(x) ? scaledExpDouble(*this, x, k) : scaledExpSingle(*this, x, k);
}

Value GpuEmitter::expm1(Value x) const { return isDouble(x) ? expm1Double(*this, x) : expandExpm1(*this, x); }
Value GpuEmitter::log(Value x) const { return isDouble(x) ? logDouble(*this, x) : expandLog(*this, x); }
Value GpuEmitter::log1p(Value x) const { return isDouble(x) ? log1pDouble(*this, x) : expandLog1p(*this, x); }

} // namespace weft::lower
