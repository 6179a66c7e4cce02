// Ops on constants are evaluated, up to the limits.
// RUN: weft-opt %s --weft-fold-constants --weft-simplify --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-fold-constants=max-result-bytes=15 --weft-simplify --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: weft-opt %s --weft-fold-constants=max-operand-bytes=15 --weft-simplify --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: weft-opt %s --weft-fold-constants=max-constant-bytes=8 --weft-simplify --split-input-file | FileCheck %s --check-prefix=STORED
// RUN: weft-opt %s --weft-fold-constants="max-growth-bytes=16" --weft-simplify --split-input-file | FileCheck %s --check-prefix=GROWTH

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %[[C:.*]] = tg.constant dense<[1.000000e+00, 4.000000e+00, 9.000000e+00, 1.600000e+01]> : tensor<4xf32>
// CHECK-NEXT: return %[[C]]
// SMALL-LABEL: func.func @chain(
// SMALL: tg.cast
// SMALL: tg.mul
// STORED-LABEL: func.func @chain(
// STORED: tg.weight <"{{.*}}", 0, 16> : tensor<4xf32>
func.func @chain() -> tensor<4xf32> {
  %0 = tg.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %1 = tg.cast %0 : tensor<4xi32> to tensor<4xf32>
  %2 = tg.mul %1, %1 : tensor<4xf32>, tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @several(
// CHECK-DAG: %[[V:.*]] = tg.constant dense<[3, 2]> : tensor<2xi8>
// CHECK-DAG: %[[I:.*]] = tg.constant dense<[1, 2]> : tensor<2xi64>
// CHECK: return %[[V]], %[[I]]
func.func @several() -> (tensor<2xi8>, tensor<2xi64>) {
  %0 = tg.constant dense<[1, 3, 2]> : tensor<3xi8>
  %1, %2 = tg.top_k %0 axis = 0 k = 2 {largest} : tensor<3xi8>
  return %1, %2 : tensor<2xi8>, tensor<2xi64>
}

// -----

// A result that grows too much, one that depends on an input, and one whose weight is not loaded stay.
// CHECK-LABEL: func.func @kept(
// GROWTH-LABEL: func.func @kept(
// GROWTH: tg.broadcast
// CHECK: tg.weight
// CHECK: tg.add
// CHECK: tg.neg
func.func @kept(%x: tensor<4xi32>) -> (tensor<6x4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %c = tg.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %w = tg.weight <"missing.bin", 0, 16> : tensor<4xi32>
  %0 = tg.broadcast %c : tensor<4xi32> to tensor<6x4xi32>
  %1 = tg.add %x, %c : tensor<4xi32>, tensor<4xi32>
  %2 = tg.neg %w : tensor<4xi32>
  return %0, %1, %2 : tensor<6x4xi32>, tensor<4xi32>, tensor<4xi32>
}

// A scale of quantised numbers stays as it is stored: who multiplies by it knows that the product is exact. Of other things it is widened.
// CHECK-LABEL: func.func @scale(
// CHECK: %[[W:.*]] = tg.cast %{{.*}} : tensor<2xf16> to tensor<2xf32>
// CHECK: tg.mul %{{.*}}, %[[W]]
func.func @scale(%q: tensor<4x2xui4>) -> tensor<4x2xf32> {
  %s = tg.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %0 = tg.cast %q : tensor<4x2xui4> to tensor<4x2xf32>
  %1 = tg.cast %s : tensor<2xf16> to tensor<2xf32>
  %2 = tg.mul %0, %1 : tensor<4x2xf32>, tensor<2xf32>
  return %2 : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @factor(
// CHECK: tg.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NOT: tg.cast
// CHECK: return
func.func @factor(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %s = tg.constant dense<[1.0, 2.0]> : tensor<2xf16>
  %1 = tg.cast %s : tensor<2xf16> to tensor<2xf32>
  %2 = tg.mul %x, %1 : tensor<4x2xf32>, tensor<2xf32>
  return %2 : tensor<4x2xf32>
}
