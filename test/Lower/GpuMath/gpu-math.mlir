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

// Several by one number: one reciprocal, of the divisor times a power of two, and two products each. A guard may stand between a quotient and
// its rounding, and two quotients may be rounded by one instruction.
// CHECK-LABEL: func.func @row
// CHECK: %[[SIZE:.*]] = math.absf %arg3
// CHECK-DAG: %[[LARGE:.*]] = arith.cmpf ogt, %[[SIZE]]
// CHECK-DAG: %[[SMALL:.*]] = arith.cmpf olt, %[[SIZE]]
// CHECK: %[[SCALE:.*]] = arith.select %[[SMALL]]
// CHECK: %[[SCALED:.*]] = arith.mulf %arg3, %[[SCALE]]
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[SCALED]]
// CHECK: %[[X:.*]] = arith.mulf %arg0, %[[SCALE]]
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[R]]
// CHECK: %[[G:.*]] = arith.select %{{.*}}, %{{.*}}, %[[Q]]
// CHECK: arith.truncf %[[G]]
// CHECK-NOT: arith.divf
// CHECK-NOT: div.full
// CHECK: return
func.func @row(%x: f32, %y: f32, %z: f32, %sum: f32, %masked: i1) -> (bf16, vector<2xbf16>) {
  %zero = arith.constant 0.0 : f32
  %0 = arith.divf %x, %sum : f32
  %1 = arith.select %masked, %zero, %0 : f32
  %2 = arith.truncf %1 : f32 to bf16
  %3 = arith.divf %y, %sum : f32
  %4 = arith.divf %z, %sum : f32
  %5 = arith.select %masked, %zero, %4 : f32
  %6 = vector.from_elements %3, %5 : vector<2xf32>
  %7 = arith.truncf %6 : vector<2xf32> to vector<2xbf16>
  return %2, %7 : bf16, vector<2xbf16>
}

// A quotient that is wanted in f32 behind its guard is rounded correctly; a number that chooses is not one that passes through.
// CHECK-LABEL: func.func @row_f32
// CHECK-COUNT-2: arith.divf
// CHECK: return
func.func @row_f32(%x: f32, %y: f32, %sum: f32, %masked: i1) -> (bf16, f32, f32) {
  %0 = arith.divf %x, %sum : f32
  %1 = arith.select %masked, %x, %0 : f32
  %2 = arith.truncf %1 : f32 to bf16
  %3 = arith.divf %y, %sum : f32
  %4 = arith.select %masked, %x, %3 : f32
  return %2, %1, %4 : bf16, f32, f32
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
