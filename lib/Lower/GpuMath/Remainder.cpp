// fmod, exactly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long division with as many bits of the quotient at a time as leave the remainder exact: with b scaled up to within
// 2^50 of a, q = trunc(a / b) is at most one too large (the division rounds), and a - q b by fma is exact.
#include "GpuEmitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace weft::lower {

/// x 2^n for 0 <= n <= 2046, in two steps of at most 1023.
static Value scale(const GpuEmitter &e, Value x, Value n) {
  Value low = e.shiftRight(n, 1), high = e.sub(n, low);
  for (Value part : {low, high})
    x = e.mul(x, e.fromBits(e.shiftLeft(e.add(part, e.number(part, 1023)), 52), e.f64()));
  return x;
}

/// a, less a multiple of b, for a >= b > 0 and finite.
static Value divideOnce(const GpuEmitter &e, Value a, Value b) {
  auto exponent = [&](Value x) { return e.shiftRight(e.bits(x), 52); };
  Value distance = e.sub(exponent(a), exponent(b));
  Value surplus = e.sub(distance, e.number(distance, 50));
  surplus = arith::MaxSIOp::create(e.b, surplus, e.number(surplus, 0));
  Value divisor = scale(e, b, surplus);
  Value q = math::TruncOp::create(e.b, e.div(a, divisor));
  Value rest = e.mulSubFrom(a, q, divisor);
  return e.select(e.less(rest, e.real(rest, 0.0)), e.add(rest, divisor), rest);
}

/// |x| mod |y| for finite x and y != 0 (else anything): a loop of at most 42 steps, usually one.
static Value divide(const GpuEmitter &e, Value a, Value b) {
  auto loop = scf::WhileOp::create(
      e.b, TypeRange{a.getType()}, ValueRange{a},
      [&](OpBuilder &, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPointToEnd(arguments[0].getParentBlock());
        Value goesOn = arith::CmpFOp::create(e.b, arith::CmpFPredicate::OGE, arguments[0], b);
        scf::ConditionOp::create(e.b, goesOn, arguments);
      },
      [&](OpBuilder &, Location, ValueRange arguments) {
        OpBuilder::InsertionGuard guard(e.b);
        e.b.setInsertionPointToEnd(arguments[0].getParentBlock());
        Value rest = divideOnce(e, arguments[0], b);
        scf::YieldOp::create(e.b, ValueRange{rest});
      });
  return loop.getResult(0);
}

Value expandRemainder(const GpuEmitter &e, Value x, Value y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Value a = e.abs(x), b = e.abs(y);
  if (!e.isDouble(x)) {
    a = arith::ExtFOp::create(e.b, e.f64(), a);
    b = arith::ExtFOp::create(e.b, e.f64(), b);
  }
  Value top = e.real(a, infinity), zero = e.real(a, 0.0), one = e.real(a, 1.0);
  Value isDefined = e.both(e.less(a, top), e.both(e.less(zero, b), e.negation(e.isNaN(b))));
  // Where there is no result the loop must still end; an infinite y leaves x as it is.
  Value rest = divide(e, e.select(isDefined, a, zero), e.select(isDefined, b, one));
  if (!e.isDouble(x))
    rest = arith::TruncFOp::create(e.b, e.f32(), rest);
  Value nan = e.real(x, std::numeric_limits<double>::quiet_NaN());
  return e.select(isDefined, e.copySign(rest, x), nan);
}

} // namespace weft::lower
