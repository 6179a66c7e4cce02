// Float conversions that a machine may have no instruction for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Lower/Math/Emitter.h"

using namespace mlir;

namespace weft::lower {

/// bf16 is the upper half of an f32. Adding half a unit, less one if the last kept bit is 0, carries into the kept bits
/// exactly when rounding to nearest even goes up. A NaN must not carry into infinity: it becomes the quiet NaN of its
/// sign.
Value expandToBF16(const Emitter &e, Value x) {
  Value bits = e.bits(x);
  auto logicalShift = [&](Value value, int64_t n) -> Value {
    return arith::ShRUIOp::create(e.b, value, e.number(value, n));
  };
  Value last = arith::AndIOp::create(e.b, logicalShift(bits, 16), e.number(bits, 1));
  Value rounded = e.add(e.add(bits, e.number(bits, 0x7fff)), last);
  Value quiet = e.either(bits, e.number(bits, 0x400000));
  Value upper = logicalShift(e.select(e.isNaN(x), quiet, rounded), 16);
  Value narrow = arith::TruncIOp::create(e.b, e.integer(16), upper);
  return e.fromBits(narrow, e.type(e.b.getBF16Type()));
}

/// The f32 next to x toward zero, with its last bit set if that is not x itself: no later rounding to a format of fewer
/// bits can tell it from x.
Value roundToOdd(const Emitter &e, Value x) {
  Value nearest = arith::TruncFOp::create(e.b, e.f32(), x);
  Value back = arith::ExtFOp::create(e.b, e.f64(), nearest);
  Value bits = e.bits(nearest), one = e.number(bits, 1);
  Value toZero = e.select(e.less(e.abs(x), e.abs(back)), e.sub(bits, one), bits);
  Value isExact = e.either(e.equal(back, x), e.isNaN(x));
  return e.fromBits(e.select(isExact, bits, e.either(toZero, one)), e.f32());
}

} // namespace weft::lower
