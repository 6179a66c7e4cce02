// Arithmetic with the instructions of PTX, and the expansions of math functions written with it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_GPUMATH_GPUEMITTER_H
#define WEFT_LIB_LOWER_GPUMATH_GPUEMITTER_H

#include "weft/Lower/Math/Emitter.h"

namespace weft::lower {

/// Scalars only. Functions without a type in their name are on f32 and f64, by the type of their argument.
class GpuEmitter : public Emitter {
public:
  using Emitter::Emitter;

  // One rounding: fma is an instruction.
  mlir::Value mulAdd(mlir::Value x, mlir::Value y, mlir::Value z) const override;
  mlir::Value mulSubFrom(mlir::Value z, mlir::Value x, mlir::Value y) const override;
  mlir::Value clamp(mlir::Value x, double low, double high) const override;
  mlir::Value quotient(mlir::Value x, mlir::Value y) const override;
  mlir::Value exp(mlir::Value x) const override { return scaledExp(x, 0); }

  /// The lesser of f32 x and `high`; NaN stays.
  mlir::Value atMost(mlir::Value x, double high) const;
  mlir::Value sqrt(mlir::Value x) const;
  mlir::Value negate(mlir::Value x) const;
  /// Call of an intrinsic whose result has the type of its arguments.
  mlir::Value intrinsic(llvm::StringRef name, mlir::ValueRange x) const;
  bool isDouble(mlir::Value x) const;

  /// 2^k e^x for a small k.
  mlir::Value scaledExp(mlir::Value x, int k) const;
  mlir::Value expm1(mlir::Value x) const;
  mlir::Value log(mlir::Value x) const;
  mlir::Value log1p(mlir::Value x) const;
};

// Double.cpp: series on f64.
mlir::Value scaledExpDouble(const GpuEmitter &e, mlir::Value x, int k);
mlir::Value expm1Double(const GpuEmitter &e, mlir::Value x);
mlir::Value logDouble(const GpuEmitter &e, mlir::Value x);
mlir::Value log1pDouble(const GpuEmitter &e, mlir::Value x);
mlir::Value powDouble(const GpuEmitter &e, mlir::Value x, mlir::Value y);
mlir::Value erfDouble(const GpuEmitter &e, mlir::Value x);

// Erf.cpp: f32.
mlir::Value erfSingle(const GpuEmitter &e, mlir::Value x);

// Hyperbolic.cpp: f32 and f64.
mlir::Value expandTanhDouble(const GpuEmitter &e, mlir::Value x);
mlir::Value expandSinh(const GpuEmitter &e, mlir::Value x);
mlir::Value expandCosh(const GpuEmitter &e, mlir::Value x);
mlir::Value expandAsinh(const GpuEmitter &e, mlir::Value x);
mlir::Value expandAcosh(const GpuEmitter &e, mlir::Value x);
mlir::Value expandAtanh(const GpuEmitter &e, mlir::Value x);

// Trigonometry.cpp: f32 and f64.
mlir::Value expandSin(const GpuEmitter &e, mlir::Value x);
mlir::Value expandCos(const GpuEmitter &e, mlir::Value x);
mlir::Value expandTan(const GpuEmitter &e, mlir::Value x);
mlir::Value expandAtan(const GpuEmitter &e, mlir::Value x);
mlir::Value expandAsin(const GpuEmitter &e, mlir::Value x);
mlir::Value expandAcos(const GpuEmitter &e, mlir::Value x);

// Remainder.cpp: C's fmod, f32 and f64.
mlir::Value expandRemainder(const GpuEmitter &e, mlir::Value x, mlir::Value y);

} // namespace weft::lower

#endif // WEFT_LIB_LOWER_GPUMATH_GPUEMITTER_H
