// The instructions of scalar programs: what each `arith` and `math` op does on f64 and on integers of up to 64 bits.
// Inputs for which an op is undefined (which scalar definitions never produce) give 0.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;

namespace weft::reference {
namespace {

using Instruction = ScalarProgram::Instruction;
using Behaviour = ScalarProgram::Behaviour;

Scalar *lanesOf(Scalar *registers, unsigned r) { return registers + r * ScalarProgram::lanes; }
uint64_t maskTo(uint64_t bits, unsigned width) { return width >= 64 ? bits : bits & ((uint64_t(1) << width) - 1); }

/// `x` as the result of `in`: rounded if that is f32. For + - * / and sqrt this is what f32 arithmetic gives, since f64
/// has more than twice the precision.
double rounded(const Instruction &in, double x) { return in.isResultSingle ? double(float(x)) : x; }

void floatUnary(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a);
  for (int64_t i = 0; i < count; ++i)
    dest[i].f = rounded(in, in.behaviour.unary(a[i].f));
}

void floatBinary(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a), *b = lanesOf(registers, in.b);
  for (int64_t i = 0; i < count; ++i)
    dest[i].f = rounded(in, in.behaviour.binary(a[i].f, b[i].f));
}

void floatCompare(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a), *b = lanesOf(registers, in.b);
  for (int64_t i = 0; i < count; ++i)
    dest[i].i = in.behaviour.compare(a[i].f, b[i].f);
}

/// The function takes the operands zero-extended and their width; its result is cut to the result's width.
void integer(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a), *b = lanesOf(registers, in.b);
  for (int64_t i = 0; i < count; ++i)
    dest[i].i = maskTo(in.behaviour.integer(a[i].i, b[i].i, in.width), in.resultWidth);
}

void select(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *condition = lanesOf(registers, in.a);
  Scalar *onTrue = lanesOf(registers, in.b), *onFalse = lanesOf(registers, in.c);
  for (int64_t i = 0; i < count; ++i)
    dest[i] = condition[i].i ? onTrue[i] : onFalse[i];
}

void bitcast(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a);
  for (int64_t i = 0; i < count; ++i) {
    dest[i] = a[i];
    if (in.isResultSingle)
      dest[i].f = llvm::bit_cast<float>(uint32_t(a[i].i));
    else if (in.isSingle)
      dest[i].i = llvm::bit_cast<uint32_t>(float(a[i].f));
  }
}

void floatToSigned(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a);
  double bound = std::ldexp(1.0, in.resultWidth - 1);
  for (int64_t i = 0; i < count; ++i) {
    double x = std::trunc(a[i].f);
    dest[i].i = x >= -bound && x < bound ? maskTo(uint64_t(int64_t(x)), in.resultWidth) : 0;
  }
}

void floatToUnsigned(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a);
  double bound = std::ldexp(1.0, in.resultWidth);
  for (int64_t i = 0; i < count; ++i) {
    double x = std::trunc(a[i].f);
    dest[i].i = x >= 0 && x < bound ? uint64_t(x) : 0;
  }
}

void signedToFloat(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a);
  for (int64_t i = 0; i < count; ++i)
    dest[i].f = in.isResultSingle ? float(signExtend(a[i].i, in.width)) : double(signExtend(a[i].i, in.width));
}

void unsignedToFloat(const Instruction &in, Scalar *registers, int64_t count) {
  Scalar *dest = lanesOf(registers, in.dest), *a = lanesOf(registers, in.a);
  for (int64_t i = 0; i < count; ++i)
    dest[i].f = in.isResultSingle ? float(a[i].i) : double(a[i].i);
}

//===-- Functions that C++ has under another name, or not at all --===//

double maximum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
}

double minimum(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<double>::quiet_NaN();
  return x == y ? (std::signbit(x) ? x : y) : std::min(x, y);
}

/// The default rounding mode is to nearest even.
double roundEven(double x) { return std::nearbyint(x); }
double rsqrt(double x) { return 1.0 / std::sqrt(x); }

bool isLeast(uint64_t x, unsigned width) { return x == uint64_t(1) << (width - 1); }

uint64_t divSigned(uint64_t x, uint64_t y, unsigned width) {
  int64_t a = signExtend(x, width), b = signExtend(y, width);
  return b == 0 || (isLeast(x, width) && b == -1) ? 0 : uint64_t(a / b);
}

uint64_t remSigned(uint64_t x, uint64_t y, unsigned width) {
  int64_t a = signExtend(x, width), b = signExtend(y, width);
  return b == 0 || b == -1 ? 0 : uint64_t(a % b);
}

Behaviour loop(void (*fn)(const Instruction &, Scalar *, int64_t)) {
  Behaviour behaviour;
  behaviour.loop = fn;
  return behaviour;
}

Behaviour unary(double (*function)(double)) {
  Behaviour behaviour = loop(floatUnary);
  behaviour.unary = function;
  return behaviour;
}

Behaviour binary(double (*function)(double, double)) {
  Behaviour behaviour = loop(floatBinary);
  behaviour.binary = function;
  return behaviour;
}

Behaviour compare(bool (*function)(double, double)) {
  Behaviour behaviour = loop(floatCompare);
  behaviour.compare = function;
  return behaviour;
}

/// Of one or two integers; an op of one operand gets register 0 as its second and ignores it.
Behaviour integers(uint64_t (*function)(uint64_t, uint64_t, unsigned)) {
  Behaviour behaviour = loop(integer);
  behaviour.integer = function;
  return behaviour;
}

#define UNARY(EXPR) unary([](double x) -> double { return EXPR; })
#define BINARY(EXPR) binary([](double x, double y) -> double { return EXPR; })
#define COMPARE(EXPR) compare([](double x, double y) -> bool { return EXPR; })
#define INTEGER(EXPR) integers([](uint64_t x, uint64_t y, unsigned w) -> uint64_t { return EXPR; })
#define SIGNED(EXPR)                                                                                                   \
  integers([](uint64_t ux, uint64_t uy, unsigned w) -> uint64_t {                                                      \
    int64_t x = signExtend(ux, w), y = signExtend(uy, w);                                                              \
    return EXPR;                                                                                                       \
  })

Behaviour selectFloatCompare(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return COMPARE(x == y);
  case P::OGT:
    return COMPARE(x > y);
  case P::OGE:
    return COMPARE(x >= y);
  case P::OLT:
    return COMPARE(x < y);
  case P::OLE:
    return COMPARE(x <= y);
  case P::ONE:
    return COMPARE(x < y || x > y);
  case P::UNE:
    return COMPARE(x != y);
  case P::UNO:
    return COMPARE(std::isnan(x) || std::isnan(y));
  case P::ORD:
    return COMPARE(!std::isnan(x) && !std::isnan(y));
  default:
    return {};
  }
}

Behaviour selectIntegerCompare(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return INTEGER(x == y);
  case P::ne:
    return INTEGER(x != y);
  case P::slt:
    return SIGNED(x < y);
  case P::sle:
    return SIGNED(x <= y);
  case P::sgt:
    return SIGNED(x > y);
  case P::sge:
    return SIGNED(x >= y);
  case P::ult:
    return INTEGER(x < y);
  case P::ule:
    return INTEGER(x <= y);
  case P::ugt:
    return INTEGER(x > y);
  case P::uge:
    return INTEGER(x >= y);
  }
  return {};
}

/// Arithmetic on floats, conversions, select.
Behaviour selectFloat(Operation *op) {
  return llvm::TypeSwitch<Operation *, Behaviour>(op)
      .Case([](arith::AddFOp) { return BINARY(x + y); })
      .Case([](arith::SubFOp) { return BINARY(x - y); })
      .Case([](arith::MulFOp) { return BINARY(x * y); })
      .Case([](arith::DivFOp) { return BINARY(x / y); })
      .Case([](arith::RemFOp) { return BINARY(std::fmod(x, y)); })
      .Case([](arith::MaximumFOp) { return binary(maximum); })
      .Case([](arith::MinimumFOp) { return binary(minimum); })
      .Case([](arith::NegFOp) { return UNARY(-x); })
      .Case([](arith::CmpFOp cmp) { return selectFloatCompare(cmp.getPredicate()); })
      .Case([](arith::ExtFOp) { return UNARY(x); })
      .Case([](arith::TruncFOp) { return UNARY(x); })
      .Case([](arith::SelectOp) { return loop(select); })
      .Case([](arith::BitcastOp) { return loop(bitcast); })
      .Case([](arith::FPToSIOp) { return loop(floatToSigned); })
      .Case([](arith::FPToUIOp) { return loop(floatToUnsigned); })
      .Case([](arith::SIToFPOp) { return loop(signedToFloat); })
      .Case([](arith::UIToFPOp) { return loop(unsignedToFloat); })
      .Default(Behaviour());
}

Behaviour selectInteger(Operation *op) {
  return llvm::TypeSwitch<Operation *, Behaviour>(op)
      .Case([](arith::AddIOp) { return INTEGER(x + y); })
      .Case([](arith::SubIOp) { return INTEGER(x - y); })
      .Case([](arith::MulIOp) { return INTEGER(x * y); })
      .Case([](arith::DivSIOp) { return integers(divSigned); })
      .Case([](arith::RemSIOp) { return integers(remSigned); })
      .Case([](arith::DivUIOp) { return INTEGER(y == 0 ? 0 : x / y); })
      .Case([](arith::RemUIOp) { return INTEGER(y == 0 ? 0 : x % y); })
      .Case([](arith::AndIOp) { return INTEGER(x & y); })
      .Case([](arith::OrIOp) { return INTEGER(x | y); })
      .Case([](arith::XOrIOp) { return INTEGER(x ^ y); })
      .Case([](arith::ShLIOp) { return INTEGER(y < w ? x << y : 0); })
      .Case([](arith::ShRUIOp) { return INTEGER(y < w ? x >> y : 0); })
      .Case([](arith::ShRSIOp) { return INTEGER(y < w ? uint64_t(signExtend(x, w) >> y) : 0); })
      .Case([](arith::MaxSIOp) { return SIGNED(uint64_t(std::max(x, y))); })
      .Case([](arith::MinSIOp) { return SIGNED(uint64_t(std::min(x, y))); })
      .Case([](arith::MaxUIOp) { return INTEGER(std::max(x, y)); })
      .Case([](arith::MinUIOp) { return INTEGER(std::min(x, y)); })
      .Case([](arith::CmpIOp cmp) { return selectIntegerCompare(cmp.getPredicate()); })
      .Case([](arith::ExtUIOp) { return INTEGER(x); })
      .Case([](arith::TruncIOp) { return INTEGER(x); })
      .Case([](arith::ExtSIOp) { return INTEGER(uint64_t(signExtend(x, w))); })
      .Case([](math::CountLeadingZerosOp) { return INTEGER(uint64_t(llvm::countl_zero(x)) - (64 - w)); })
      .Default(Behaviour());
}

Behaviour selectMath(Operation *op) {
  return llvm::TypeSwitch<Operation *, Behaviour>(op)
      .Case([](math::AbsFOp) { return UNARY(std::fabs(x)); })
      .Case([](math::CopySignOp) { return BINARY(std::copysign(x, y)); })
      .Case([](math::PowFOp) { return BINARY(std::pow(x, y)); })
      .Case([](math::CeilOp) { return UNARY(std::ceil(x)); })
      .Case([](math::FloorOp) { return UNARY(std::floor(x)); })
      .Case([](math::RoundEvenOp) { return unary(roundEven); })
      .Case([](math::TruncOp) { return UNARY(std::trunc(x)); })
      .Case([](math::ExpOp) { return UNARY(std::exp(x)); })
      .Case([](math::ExpM1Op) { return UNARY(std::expm1(x)); })
      .Case([](math::LogOp) { return UNARY(std::log(x)); })
      .Case([](math::Log1pOp) { return UNARY(std::log1p(x)); })
      .Case([](math::SqrtOp) { return UNARY(std::sqrt(x)); })
      .Case([](math::RsqrtOp) { return unary(rsqrt); })
      .Case([](math::ErfOp) { return UNARY(std::erf(x)); })
      .Case([](math::SinOp) { return UNARY(std::sin(x)); })
      .Case([](math::CosOp) { return UNARY(std::cos(x)); })
      .Case([](math::TanOp) { return UNARY(std::tan(x)); })
      .Case([](math::AsinOp) { return UNARY(std::asin(x)); })
      .Case([](math::AcosOp) { return UNARY(std::acos(x)); })
      .Case([](math::AtanOp) { return UNARY(std::atan(x)); })
      .Case([](math::SinhOp) { return UNARY(std::sinh(x)); })
      .Case([](math::CoshOp) { return UNARY(std::cosh(x)); })
      .Case([](math::TanhOp) { return UNARY(std::tanh(x)); })
      .Case([](math::AsinhOp) { return UNARY(std::asinh(x)); })
      .Case([](math::AcoshOp) { return UNARY(std::acosh(x)); })
      .Case([](math::AtanhOp) { return UNARY(std::atanh(x)); })
      .Default(Behaviour());
}

#undef UNARY
#undef BINARY
#undef COMPARE
#undef INTEGER
#undef SIGNED

} // namespace

Behaviour selectBehaviour(Operation *op) {
  for (Behaviour (*family)(Operation *) : {selectFloat, selectInteger, selectMath})
    if (Behaviour behaviour = family(op); behaviour.loop)
      return behaviour;
  return {};
}

} // namespace weft::reference
