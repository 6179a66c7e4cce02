// Short names for arithmetic on scalars or vectors, and the expansions of math functions that CPUs and GPUs share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_MATH_EMITTER_H
#define WEFT_LOWER_MATH_EMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace weft::lower {

/// Builds arithmetic on values of one shape: that of `like`, a scalar or vector type. Constants have that shape.
class Emitter {
public:
  Emitter(mlir::ImplicitLocOpBuilder &builder, mlir::Type like) : b(builder), like(like) {}
  virtual ~Emitter() = default;

  /// `like` with another element type.
  mlir::Type type(mlir::Type element) const;
  mlir::Type f32() const { return type(b.getF32Type()); }
  mlir::Type f64() const { return type(b.getF64Type()); }
  mlir::Type integer(unsigned width) const { return type(b.getIntegerType(width)); }

  /// A constant of the same type as `with`; rounded to it.
  mlir::Value real(mlir::Value with, double value) const;
  mlir::Value number(mlir::Value with, int64_t value) const;

  mlir::Value add(mlir::Value x, mlir::Value y) const;
  mlir::Value sub(mlir::Value x, mlir::Value y) const;
  mlir::Value mul(mlir::Value x, mlir::Value y) const;
  mlir::Value div(mlir::Value x, mlir::Value y) const;
  /// x / y to two units in the last place, for normal numbers whose quotient and 1 / y are normal.
  virtual mlir::Value quotient(mlir::Value x, mlir::Value y) const { return div(x, y); }
  /// x * y + z and z - x * y, in one or two roundings.
  virtual mlir::Value mulAdd(mlir::Value x, mlir::Value y, mlir::Value z) const;
  virtual mlir::Value mulSubFrom(mlir::Value z, mlir::Value x, mlir::Value y) const;
  /// coefficients[0] + coefficients[1] x + ... by Horner's rule.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients) const;

  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) const;
  mlir::Value less(mlir::Value x, mlir::Value y) const;
  mlir::Value equal(mlir::Value x, mlir::Value y) const;
  mlir::Value isNaN(mlir::Value x) const;
  mlir::Value both(mlir::Value x, mlir::Value y) const;
  mlir::Value either(mlir::Value x, mlir::Value y) const;
  mlir::Value negation(mlir::Value condition) const;
  /// x in [low, high]; NaN stays.
  virtual mlir::Value clamp(mlir::Value x, double low, double high) const;

  /// The bits of a float, and back.
  mlir::Value bits(mlir::Value x) const;
  mlir::Value fromBits(mlir::Value x, mlir::Type floatType) const;
  mlir::Value shiftLeft(mlir::Value x, int64_t n) const;
  mlir::Value shiftRight(mlir::Value x, int64_t n) const;
  mlir::Value abs(mlir::Value x) const;
  mlir::Value copySign(mlir::Value x, mlir::Value sign) const;

  /// e^x on f32, for expansions made of it: `expandExp` unless the machine has something better.
  virtual mlir::Value exp(mlir::Value x) const;

  mlir::ImplicitLocOpBuilder &b;

private:
  mlir::Type like;
};

/// The f32 expansions. Each returns the function's value for every input.
mlir::Value expandExp(const Emitter &e, mlir::Value x);
mlir::Value expandExpm1(const Emitter &e, mlir::Value x);
mlir::Value expandTanh(const Emitter &e, mlir::Value x);
mlir::Value expandErf(const Emitter &e, mlir::Value x);
mlir::Value expandLog(const Emitter &e, mlir::Value x);
mlir::Value expandLog1p(const Emitter &e, mlir::Value x);
mlir::Value expandPow(const Emitter &e, mlir::Value x, mlir::Value y);

/// pow(x, y) from `power` = |x|^y, in the type of all three: what C says of signs and special values.
mlir::Value finishPow(const Emitter &e, mlir::Value x, mlir::Value y, mlir::Value power);

/// f32 -> bf16, and f64 -> an f32 that rounds to any narrower format as the f64 does.
mlir::Value expandToBF16(const Emitter &e, mlir::Value x);
mlir::Value roundToOdd(const Emitter &e, mlir::Value x);

} // namespace weft::lower

#endif // WEFT_LOWER_MATH_EMITTER_H
