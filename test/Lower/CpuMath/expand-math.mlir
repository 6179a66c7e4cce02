// RUN: weft-opt %s --weft-expand-math | FileCheck %s

// CHECK-DAG: func.func private @sinf(f32) -> f32
// CHECK-DAG: func.func private @atan(f64) -> f64

// CHECK-LABEL: func.func @vectors
// CHECK-NOT: math.exp
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : vector<8xf32>
// CHECK: arith.bitcast %{{.*}} : vector<8xf32> to vector<8xi32>
// CHECK-NOT: call
// CHECK: return
func.func @vectors(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = math.exp %x : vector<8xf32>
  %1 = math.tanh %0 : vector<8xf32>
  %2 = math.erf %1 : vector<8xf32>
  %3 = math.powf %2, %x : vector<8xf32>
  return %0, %1, %2, %3 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// CHECK-LABEL: func.func @calls
// CHECK: call @sinf
// CHECK: call @atan
// CHECK: math.sqrt
// CHECK: arith.divf
// CHECK: math.floor
func.func @calls(%x: f32, %y: f64) -> (f32, f64, f32, f32) {
  %0 = math.sin %x : f32
  %1 = math.atan %y : f64
  %2 = math.rsqrt %x : f32
  %3 = math.floor %x : f32
  return %0, %1, %2, %3 : f32, f64, f32, f32
}

// f32 to bf16 is integer arithmetic; f64 to f16 goes through an f32 that is rounded to odd.
// CHECK-LABEL: func.func @conversions
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: arith.bitcast %{{.*}} : i16 to bf16
// CHECK: %[[NEAREST:.*]] = arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.extf %[[NEAREST]] : f32 to f64
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @conversions(%x: f32, %y: f64) -> (bf16, f16) {
  %0 = arith.truncf %x : f32 to bf16
  %1 = arith.truncf %y : f64 to f16
  return %0, %1 : bf16, f16
}

// Extrema of f32 and f64 become LLVM's operations, with their flags; f16 waits for its conversion.
// CHECK-LABEL: func.func @extrema
// CHECK: llvm.intr.maximum(%{{.*}}, %{{.*}}) : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
// CHECK: llvm.intr.minimum(%{{.*}}, %{{.*}}) {fastmathFlags = #llvm.fastmath<nnan>} : (f64, f64) -> f64
// CHECK: arith.maximumf {{.*}} : f16
func.func @extrema(%a: vector<4xf32>, %b: f64, %c: f16) -> (vector<4xf32>, f64, f16) {
  %0 = arith.maximumf %a, %a : vector<4xf32>
  %1 = arith.minimumf %b, %b fastmath<nnan> : f64
  %2 = arith.maximumf %c, %c : f16
  return %0, %1, %2 : vector<4xf32>, f64, f16
}

// A small whole exponent is products in f64, whose rounding f32 does not see; other exponents take a logarithm.
// CHECK-LABEL: func.func @powers
// CHECK: %[[X:.*]] = arith.extf %arg0 : vector<8xf32> to vector<8xf64>
// CHECK-NEXT: %[[X2:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT: %[[X3:.*]] = arith.mulf %[[X]], %[[X2]]
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[X3]] : vector<8xf64> to vector<8xf32>
// CHECK: arith.divf
func.func @powers(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>) {
  %three = arith.constant dense<3.0> : vector<8xf32>
  %half = arith.constant dense<2.5> : vector<8xf32>
  %0 = math.powf %x, %three : vector<8xf32>
  %1 = math.powf %x, %half : vector<8xf32>
  return %0, %1 : vector<8xf32>, vector<8xf32>
}
