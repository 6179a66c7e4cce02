// A tensor without elements is a constant, so a sum over nothing is the monoid's identity and a product of nothing is zeros.
// RUN: weft-opt %s --weft-fold-constants --weft-simplify | FileCheck %s

// CHECK-LABEL: @empty
// CHECK-DAG: tg.constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK-DAG: tg.constant dense<0xFF800000> : tensor<2x4xf32>
// CHECK-NOT: tg.reduce
// CHECK-NOT: tg.contract
func.func @empty(%x: tensor<2x0x4xf32>, %a: tensor<2x0xf32>, %b: tensor<0x4xf32>)
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = tg.exp %x : tensor<2x0x4xf32>
  %1 = tg.reduce add %0 axes = [1] : tensor<2x0x4xf32>
  %2 = tg.reduce max %0 axes = [1] : tensor<2x0x4xf32>
  %3 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<2x0xf32>, tensor<0x4xf32> -> tensor<2x4xf32>
  return %1, %2, %3 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
