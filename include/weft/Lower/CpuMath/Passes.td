// The pass that turns math ops into what a CPU can run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_CPUMATH_PASSES_TD
#define WEFT_LOWER_CPUMATH_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"weft-expand-math", "::mlir::ModuleOp"> {
  let summary = "expand math ops into branch-free arithmetic, or into calls of libm";
  let description = [{
    On f32 scalars and vectors these become branch-free arithmetic that vectorises (largest error found, in units in
    the last place, over dense sweeps and random bit patterns without fused multiply-adds): exp (1.0), expm1 (1.5),
    log (0.8), log1p (0.9), tanh (1.4), erf (1.5), powf (0.6, in f64 inside; whole exponents to 8 are products). All special values are as C's
    functions have them, subnormals included. Products that may fuse with the addition behind them carry
    `fastmath<contract>`.

    rsqrt becomes 1 / sqrt. Conversions to bf16, and from f64 to f16, become integer arithmetic, rounding to nearest
    even: the compiler's run-time library, which is not linked, would be called for them otherwise. maximumf and minimumf
    of f32 and f64 become LLVM's operations, by which it vectorises reductions.

    Every other math op that LLVM has no instruction for (and the above on f64) becomes a call of the C library's
    function. The others (sqrt, absf, floor, ceil, trunc, roundeven, copysign, fma, integer ones) stay for
    --convert-math-to-llvm.

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %r = math.sin %x : f32
      return %r : f32
    }
    ```
    becomes
    ```mlir
    func.func private @sinf(f32) -> f32
    func.func @f(%x: f32) -> f32 {
      %r = call @sinf(%x) : (f32) -> f32
      return %r : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // WEFT_LOWER_CPUMATH_PASSES_TD
