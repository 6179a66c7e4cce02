// Hyperbolic functions and their inverses, from exp, expm1, log and log1p.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuEmitter.h"

using namespace mlir;

namespace weft::lower {

static constexpr double ln2 = 0.6931471805599453;

/// t / (t + 2) with t = e^2|x| - 1; 1 from 22 on.
Value expandTanhDouble(const GpuEmitter &e, Value x) {
  Value magnitude = e.clamp(e.abs(x), 0.0, 22.0);
  Value t = e.expm1(e.add(magnitude, magnitude));
  return e.copySign(e.div(t, e.add(t, e.real(x, 2.0))), x);
}

/// (t + t / (t + 1)) / 2 with t = e^|x| - 1, and e^|x| / 2 where that could overflow early.
Value expandSinh(const GpuEmitter &e, Value x) {
  Value magnitude = e.abs(x), one = e.real(x, 1.0);
  Value t = e.expm1(e.clamp(magnitude, 0.0, 40.0));
  Value small = e.mul(e.real(x, 0.5), e.add(t, e.div(t, e.add(t, one))));
  Value large = e.scaledExp(magnitude, -1);
  Value isLarge = e.less(e.real(x, 40.0), magnitude);
  return e.copySign(e.select(isLarge, large, small), x);
}

/// h + 1 / 4h with h = e^|x| / 2.
Value expandCosh(const GpuEmitter &e, Value x) {
  Value half = e.scaledExp(e.abs(x), -1);
  return e.add(half, e.div(e.real(x, 0.25), half));
}

/// ln(1 + a + a^2 / (1 + sqrt(a^2 + 1))), and ln 2a where the square could overflow.
Value expandAsinh(const GpuEmitter &e, Value x) {
  Value magnitude = e.abs(x), one = e.real(x, 1.0);
  Value isLarge = e.less(e.real(x, 1e9), magnitude);
  Value a = e.select(isLarge, one, magnitude);
  Value square = e.mul(a, a);
  Value small = e.log1p(e.add(a, e.div(square, e.add(one, e.sqrt(e.add(square, one))))));
  Value large = e.add(e.log(magnitude), e.real(x, ln2));
  return e.copySign(e.select(isLarge, large, small), x);
}

/// ln(1 + t + sqrt(2t + t^2)) with t = x - 1, and ln 2x where the square could overflow.
Value expandAcosh(const GpuEmitter &e, Value x) {
  Value one = e.real(x, 1.0);
  Value isLarge = e.less(e.real(x, 1e9), x);
  Value t = e.sub(e.select(isLarge, one, x), one);
  Value small = e.log1p(e.add(t, e.sqrt(e.mulAdd(t, t, e.add(t, t)))));
  Value large = e.add(e.log(x), e.real(x, ln2));
  Value y = e.select(isLarge, large, small);
  return e.select(e.less(x, one), e.real(x, std::numeric_limits<double>::quiet_NaN()), y);
}

/// ln(1 + 2a / (1 - a)) / 2.
Value expandAtanh(const GpuEmitter &e, Value x) {
  Value magnitude = e.abs(x);
  Value ratio = e.div(e.add(magnitude, magnitude), e.sub(e.real(x, 1.0), magnitude));
  return e.copySign(e.mul(e.real(x, 0.5), e.log1p(ratio)), x);
}

} // namespace weft::lower
