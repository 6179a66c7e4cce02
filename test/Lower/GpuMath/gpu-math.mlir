// RUN: weft-opt %s --weft-gpu-math | FileCheck %s
// RUN: weft-opt %s --weft-gpu-math=fast=true | FileCheck %s --check-prefix=FAST

// e^x by ex2 with the rounding error put back; with the licence by ex2 alone.
// CHECK-LABEL: func.func @exp
// CHECK: arith.mulf
// CHECK-COUNT-2: math.fma
// CHECK: math.exp2
// CHECK: arith.mulf
// CHECK-NOT: math.exp %
// FAST-LABEL: func.func @exp
// FAST: arith.mulf
// FAST-NEXT: math.exp2
// FAST-NEXT: return
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// The op's own licence counts like the pass's.
// CHECK-LABEL: func.func @licence
// CHECK: math.tanh %{{.*}} fastmath<afn> : f32
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
// CHECK: arith.divf %{{.*}}, %{{.*}} : f32
// FAST-LABEL: func.func @licence
// FAST: arith.divf %{{.*}}, %{{.*}} fastmath<afn> : f32
func.func @licence(%x: f32) -> f32 {
  %0 = math.tanh %x fastmath<afn> : f32
  %1 = math.rsqrt %0 : f32
  %2 = arith.divf %0, %1 : f32
  return %2 : f32
}

// A quotient that is only wanted in 16 bits comes without the branch of the correctly rounded division; one that is also wanted in f32 does not.
// CHECK-LABEL: func.func @narrow
// CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: arith.divf
func.func @narrow(%x: f32, %y: f32) -> (bf16, bf16, f32) {
  %0 = arith.divf %x, %y : f32
  %1 = arith.truncf %0 : f32 to bf16
  %2 = arith.divf %y, %x : f32
  %3 = arith.truncf %2 : f32 to bf16
  return %1, %3, %2 : bf16, bf16, f32
}

// Range reduction: a branch, because large arguments are rare.
// CHECK-LABEL: func.func @sin
// CHECK: scf.if %{{.*}} -> (i32, f32)
// CHECK-NOT: math.sin
// FAST-LABEL: func.func @sin
// FAST: math.sin %{{.*}} fastmath<afn>
func.func @sin(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}

// Vectors element by element; narrow floats in f32.
// CHECK-LABEL: func.func @vectors
// CHECK-COUNT-2: math.exp2 %{{.*}} : f32
// CHECK: vector.from_elements
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @vectors(%x: vector<2xf32>, %y: f16) -> (vector<2xf32>, f16) {
  %0 = math.exp %x : vector<2xf32>
  %1 = math.log %y : f16
  return %0, %1 : vector<2xf32>, f16
}

// f64 to bf16 by an f32 that is rounded to odd; fmod by a loop.
// CHECK-LABEL: func.func @others
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.ori
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: scf.while
// CHECK: math.sqrt
func.func @others(%x: f64, %y: f32) -> (bf16, f32, f32) {
  %0 = arith.truncf %x : f64 to bf16
  %1 = arith.remf %y, %y : f32
  %2 = math.sqrt %y : f32
  return %0, %1, %2 : bf16, f32, f32
}

// A power of 2 with the licence flushes subnormal results.
// CHECK-LABEL: func.func @power
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
// CHECK: math.exp2 %{{.*}} : f32
func.func @power(%x: f32) -> (f32, f32) {
  %0 = math.exp2 %x fastmath<afn> : f32
  %1 = math.exp2 %x : f32
  return %0, %1 : f32, f32
}
