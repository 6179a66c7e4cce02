// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s

// A pooling is one generic: the window is in the map, and an operand of no contents gives its extents.
// CHECK-DAG: #[[$WINDOW:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1 * 2 + d2 * 3, d3)>
// CHECK-DAG: #[[$SIZE:.*]] = affine_map<(d0, d1, d2, d3) -> (d2)>
// CHECK-LABEL: func.func @pool
// CHECK-SAME: (%[[X:.*]]: tensor<1x11x8xf32>)
// CHECK: %[[INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[SHAPE:.*]] = tensor.empty() : tensor<3xi8>
// CHECK: linalg.generic {indexing_maps = [#[[$WINDOW]], #[[$SIZE]], #{{.*}}]
// CHECK-SAME: ins(%[[X]], %[[SHAPE]] : tensor<1x11x8xf32>, tensor<3xi8>)
// CHECK: arith.maximumf
// CHECK-NOT: linalg.generic
func.func @pool(%x: tensor<1x11x8xf32>) -> tensor<1x3x8xf32> {
  %w = tg.window %x dims = [1] sizes = [3] strides = [2] dilations = [3] : tensor<1x11x8xf32>
  %t = tg.transpose %w [0, 1, 3, 2] : tensor<1x3x8x3xf32>
  %r = tg.reduce max %t axes = [2] : tensor<1x3x3x8xf32>
  return %r : tensor<1x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @arg_max
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4x8xf32>) outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi64>)
// CHECK: arith.cmpf ogt
// CHECK: linalg.index 1
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [4, 1] : tensor<4xi64> into tensor<4x1xi64>
func.func @arg_max(%x: tensor<4x8xf32>) -> tensor<4x1xi64> {
  %r = tg.arg_reduce max %x axis = 1 keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xi64>
}
