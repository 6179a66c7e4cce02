// RUN: weft-opt %s --canonicalize | FileCheck %s

// Transposed operands and a transposed result become maps.
// CHECK-LABEL: @transposes
// CHECK-SAME: (%[[A:.*]]: tensor<8x4xf32>, %[[B:.*]]: tensor<16x8xf32>)
// CHECK-NOT: tg.transpose
// CHECK: tg.contract %[[A]], %[[B]] [#[[L:.*]], #[[R:.*]], #[[O:.*]]]{{.*}} : tensor<8x4xf32>, tensor<16x8xf32> -> tensor<16x4xf32>
func.func @transposes(%a: tensor<8x4xf32>, %b: tensor<16x8xf32>) -> tensor<16x4xf32> {
  %0 = tg.transpose %a [1, 0] : tensor<8x4xf32>
  %1 = tg.transpose %b [1, 0] : tensor<16x8xf32>
  %2 = tg.contract %0, %1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %3 = tg.transpose %2 [1, 0] : tensor<4x16xf32>
  return %3 : tensor<16x4xf32>
}

// A strided slice composes; a stretched dimension is read at 0.
// CHECK-LABEL: @slice_and_broadcast
// CHECK-SAME: (%[[A:.*]]: tensor<9x8xf32>, %[[B:.*]]: tensor<8x1xf32>)
// CHECK-NEXT: tg.contract %[[A]], %[[B]]
func.func @slice_and_broadcast(%a: tensor<9x8xf32>, %b: tensor<8x1xf32>) -> tensor<4x16xf32> {
  %0 = tg.slice %a offsets = [1, 0] strides = [2, 1] : tensor<9x8xf32> to tensor<4x8xf32>
  %1 = tg.broadcast %b : tensor<8x1xf32> to tensor<8x16xf32>
  %2 = tg.contract %0, %1 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// A reshape that splits a dimension would need a division or a dimension that nothing has alone.
// CHECK-LABEL: @reshape
// CHECK: tg.reshape
// CHECK: tg.contract
func.func @reshape(%a: tensor<32xf32>) -> tensor<4x4xf32> {
  %0 = tg.reshape %a : tensor<32xf32> to tensor<4x8xf32>
  %1 = tg.contract %0, %0 [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// The leading part of a dimension cannot be told from the whole.
// CHECK-LABEL: @leading_part
// CHECK: tg.slice
// CHECK: tg.contract
func.func @leading_part(%a: tensor<4x16xf32>, %b: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = tg.slice %a offsets = [0, 0] strides = [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>
  %1 = tg.contract %0, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
