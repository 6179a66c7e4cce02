// RUN: weft-opt %s --weft-cpu-math | FileCheck %s

// What has an accurate polynomial becomes arithmetic; the rest stays for the C library. f16 computes in f32.
// CHECK-LABEL: func.func @f
// CHECK-NOT: math.exp
// CHECK-NOT: math.tanh
// CHECK: math.fma
// CHECK: math.sin %{{.*}} : f32
func.func @f(%x: f32, %h: f16) -> (f32, f32, f16, f32) {
  %0 = math.exp %x : f32
  %1 = math.tanh %x : f32
  %2 = math.exp %h : f16
  %3 = math.sin %x : f32
  return %0, %1, %2, %3 : f32, f32, f16, f32
}
