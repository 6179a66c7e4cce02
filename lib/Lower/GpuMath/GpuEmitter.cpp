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

Value GpuEmitter::intrinsic(llvm::StringRef name, Value x) const {
  return LLVM::CallIntrinsicOp::create(b, x.getType(), b.getStringAttr(name), ValueRange{x}).getResult(0);
}

/// 2^h (1 + l ln 2) with h = x log2 e rounded, plus k, and l what the rounding and the constant's own error lost:
/// ex2.approx is good to 2^-22.5 for every h.
static Value scaledExpSingle(const GpuEmitter &e, Value x, int k) {
  // Beyond these ends the result is 0 or infinite; NaN stays.
  x = arith::MaximumFOp::create(e.b, x, e.real(x, -150.0));
  x = arith::MinimumFOp::create(e.b, x, e.real(x, 130.0));
  Value factor = e.real(x, 1.4426950216293335);
  Value high = e.mul(x, factor);
  Value low = e.mulAdd(x, factor, e.negate(high));
  low = e.mulAdd(x, e.real(x, 1.9259629911266175e-08), low);
  if (k)
    high = e.add(high, e.real(x, k));
  Value power = math::Exp2Op::create(e.b, high);
  // An infinite power times a negative correction would be NaN if it were added to itself.
  Value corrected = e.mulAdd(power, e.mul(low, e.real(x, 0.6931471805599453)), power);
  return e.select(e.equal(power, e.real(x, std::numeric_limits<double>::infinity())), power, corrected);
}

Value GpuEmitter::scaledExp(Value x, int k) const {
  return isDouble(x) ? scaledExpDouble(*this, x, k) : scaledExpSingle(*this, x, k);
}

Value GpuEmitter::expm1(Value x) const { return isDouble(x) ? expm1Double(*this, x) : expandExpm1(*this, x); }
Value GpuEmitter::log(Value x) const { return isDouble(x) ? logDouble(*this, x) : expandLog(*this, x); }
Value GpuEmitter::log1p(Value x) const { return isDouble(x) ? log1pDouble(*this, x) : expandLog1p(*this, x); }

} // namespace weft::lower
