// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s

// A transposed operand is read through its map; products and sums are in f32; the result rounds in a generic of its own.
// CHECK-DAG: #[[$A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$C:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf16>, %[[Y:.*]]: tensor<16x8xf16>)
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4x16xf32>)
// CHECK-NEXT: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[$A]], #[[$B]], #[[$C]]], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-SAME: ins(%[[X]], %[[Y]] : tensor<4x8xf16>, tensor<16x8xf16>) outs(%[[ZERO]] : tensor<4x16xf32>)
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.addf %{{.*}}, %[[P]] : f32
// CHECK: linalg.generic {{.*}} ins(%[[SUM]] : tensor<4x16xf32>) outs(%{{.*}} : tensor<4x16xf16>)
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @matmul(%a: tensor<4x8xf16>, %b: tensor<16x8xf16>) -> tensor<4x16xf16> {
  %t = tg.transpose %b [1, 0] : tensor<16x8xf16>
  %r = tg.contract %a, %t [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf16>
  return %r : tensor<4x16xf16>
}

// -----

// Integers extend by their own signedness.
// CHECK-LABEL: func.func @mixed
// CHECK: %[[X:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[Y:.*]] = arith.extsi %{{.*}} : i8 to i32
// CHECK: arith.muli %[[X]], %[[Y]] : i32
// CHECK: arith.addi
func.func @mixed(%a: tensor<6xui8>, %b: tensor<6xi8>) -> tensor<i32> {
  %r = tg.contract %a, %b [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>]
      : tensor<6xui8>, tensor<6xi8> -> tensor<i32>
  return %r : tensor<i32>
}
