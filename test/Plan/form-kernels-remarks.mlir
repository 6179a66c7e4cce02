// Every refused edge says which rule refused it.
// RUN: weft-opt %s --weft-plan --remarks-filter=fusion --remark-format=emitRemark 2>&1 | FileCheck %s

// CHECK: remark: [Missed] not-fused | Category:fusion | Function=main
// CHECK-SAME: R4: 'exp' would be computed again under a broadcast
// CHECK-SAME: consumer=tg.add, kernels="0,1", producer=tg.exp
// CHECK: R2: 'add' is not downstream of the contraction
// CHECK: R2: two contractions
// CHECK: R2: 'concat' is not an elementwise op over the contraction's result
func.func @main(%x: tensor<4xf32>, %y: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %0 = tg.exp %x : tensor<4xf32>
  %1 = tg.add %y, %0 : tensor<4x4xf32>, tensor<4xf32>
  %2 = tg.contract %1, %y [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = tg.contract %2, %y [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = tg.neg %3 : tensor<4x4xf32>
  %5 = tg.concat %4, %4 axis = 0 : tensor<4x4xf32>, tensor<4x4xf32>
  return %5 : tensor<8x4xf32>
}
