// Arithmetic on scalars or vectors; see the header.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Lower/Math/Emitter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using arith::CmpFPredicate;

namespace weft::lower {

static bool isFloat(Value x) { return isa<FloatType>(getElementTypeOrSelf(x)); }

Type Emitter::type(Type element) const {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

/// `value` for every element of `type`.
static Value constant(ImplicitLocOpBuilder &b, Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, cast<TypedAttr>(DenseElementsAttr::get(vector, value)));
  return arith::ConstantOp::create(b, value);
}

Value Emitter::real(Value with, double value) const {
  return constant(b, with.getType(), b.getFloatAttr(getElementTypeOrSelf(with), value));
}

Value Emitter::number(Value with, int64_t value) const {
  return constant(b, with.getType(), b.getIntegerAttr(getElementTypeOrSelf(with), value));
}

Value Emitter::add(Value x, Value y) const {
  return isFloat(x) ? arith::AddFOp::create(b, x, y).getResult() : arith::AddIOp::create(b, x, y).getResult();
}

Value Emitter::sub(Value x, Value y) const {
  return isFloat(x) ? arith::SubFOp::create(b, x, y).getResult() : arith::SubIOp::create(b, x, y).getResult();
}

Value Emitter::mul(Value x, Value y) const { return arith::MulFOp::create(b, x, y); }
Value Emitter::div(Value x, Value y) const { return arith::DivFOp::create(b, x, y); }

Value Emitter::mulAdd(Value x, Value y, Value z) const {
  auto flags = arith::FastMathFlags::contract;
  return arith::AddFOp::create(b, arith::MulFOp::create(b, x, y, flags), z, flags);
}

Value Emitter::mulSubFrom(Value z, Value x, Value y) const {
  auto flags = arith::FastMathFlags::contract;
  return arith::SubFOp::create(b, z, arith::MulFOp::create(b, x, y, flags), flags);
}

Value Emitter::polynomial(Value x, ArrayRef<double> coefficients) const {
  Value result = real(x, coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = mulAdd(result, x, real(x, coefficient));
  return result;
}

Value Emitter::select(Value condition, Value x, Value y) const { return arith::SelectOp::create(b, condition, x, y); }
Value Emitter::less(Value x, Value y) const { return arith::CmpFOp::create(b, CmpFPredicate::OLT, x, y); }
Value Emitter::equal(Value x, Value y) const { return arith::CmpFOp::create(b, CmpFPredicate::OEQ, x, y); }
Value Emitter::isNaN(Value x) const { return arith::CmpFOp::create(b, CmpFPredicate::UNO, x, x); }
Value Emitter::both(Value x, Value y) const { return arith::AndIOp::create(b, x, y); }
Value Emitter::either(Value x, Value y) const { return arith::OrIOp::create(b, x, y); }
Value Emitter::negation(Value condition) const { return arith::XOrIOp::create(b, condition, number(condition, 1)); }

Value Emitter::clamp(Value x, double low, double high) const {
  Value least = real(x, low), most = real(x, high);
  x = select(less(x, least), least, x);
  return select(less(most, x), most, x);
}

Value Emitter::bits(Value x) const {
  return arith::BitcastOp::create(b, integer(getElementTypeOrSelf(x).getIntOrFloatBitWidth()), x);
}

Value Emitter::fromBits(Value x, Type floatType) const { return arith::BitcastOp::create(b, floatType, x); }
Value Emitter::shiftLeft(Value x, int64_t n) const { return arith::ShLIOp::create(b, x, number(x, n)); }
Value Emitter::shiftRight(Value x, int64_t n) const { return arith::ShRSIOp::create(b, x, number(x, n)); }
Value Emitter::abs(Value x) const { return math::AbsFOp::create(b, x); }
Value Emitter::copySign(Value x, Value sign) const { return math::CopySignOp::create(b, x, sign); }

} // namespace weft::lower
