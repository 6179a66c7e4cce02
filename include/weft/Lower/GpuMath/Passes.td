// The pass that turns math ops into what PTX has instructions for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_GPUMATH_PASSES_TD
#define WEFT_LOWER_GPUMATH_PASSES_TD

include "mlir/Pass/PassBase.td"

def GpuMath : Pass<"weft-gpu-math", "::mlir::ModuleOp"> {
  let summary = "expand math ops into arithmetic and instructions of PTX, without libdevice";
  let description = [{
    For kernel modules before their conversion to the LLVM dialect. Leaves only math ops that become one instruction
    (exp2 on f32, sqrt, absf, floor, ceil, trunc, round, roundeven, copysign, fma, and integer ones) for
    --convert-math-to-llvm. Vectors of other ops are taken apart; f16 and bf16 are computed in f32.

    Accuracy on f32, in units in the last place, as `test/Lower/GpuMath` checks it: exp 2 (by ex2.approx, with the
    rounding error of x log2 e put back), rsqrt 2 (rsqrt.approx), log 1, log1p 1, expm1 2, powf 1, tanh 3, erf 6,
    sin and cos 2 for every finite argument (range reduction with as many bits of 2/pi as the argument needs), the
    others (tan, sinh, cosh, asin, acos, atan, asinh, acosh, atanh, log2, log10) 4. fmod (`arith.remf`) is exact. On f64:
    1e-15 relative, powf 1e-13, erf 4e-15; sin, cos and tan up to |x| = 2^50, NaN beyond.

    A division of f32 that is only rounded to 16 bits is div.full (2 units in the last place of f32): the correctly
    rounded one takes a branch. Several of a block by one number, as of a row by its sum, are products with its reciprocal, which is rounded correctly once:
    x / d = (s x) (1 / (s d)), s a power of two that keeps both factors in range, within 2 units in the last place for every x and d.

    A division of f32 that carries `fastmath<arcp>` is a product with rcp.approx, good to 2 ulp where the divisor is between 2^-126 and 2^126.

    With `fast`, and on ops that carry `fastmath<afn>`, exp, exp2 (subnormal results flushed), log, log2, tanh, sin, cos and division on f32 are the
    approximate instructions of PTX (ex2, lg2, tanh, sin, cos, div), whose errors grow with the argument.

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %r = math.rsqrt %x : f32
      return %r : f32
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: f32) -> f32 {
      %r = llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"(%x) : (f32) -> f32
      return %r : f32
    }
    ```
  }];
  let options = [Option<"fast", "fast", "bool", "false", "approximate instructions wherever there is one">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

#endif // WEFT_LOWER_GPUMATH_PASSES_TD
