// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s

// Symbols are the index arguments behind the tensors; products of symbols need arith, the rest is affine.apply.
// CHECK-LABEL: func.func @extents
// CHECK-SAME: (%{{.*}}: tensor<?xf32>, %[[S0:.*]]: index, %[[S1:.*]]: index) -> tensor<3xi64>
// CHECK: arith.index_cast %[[S1]] : index to i64
// CHECK: %[[A:.*]] = affine.apply #{{.*}}()[%[[S0]]]
// CHECK: arith.index_cast %[[A]]
// CHECK: %[[P:.*]] = arith.muli %[[S0]], %[[S1]]
// CHECK: tensor.from_elements
func.func @extents(%x: tensor<?xf32, #tg.dims<()[s0, s1] -> (s1)>>, %s0: index, %s1: index) -> tensor<3xi64> {
  %r = tg.extents affine_map<()[s0, s1] -> (s1, s0 * 2 + 1, s0 * s1)>
  return %r : tensor<3xi64>
}

// -----

// CHECK-LABEL: func.func @constants
// CHECK: arith.constant dense<[1, 0]> : tensor<2xi8>
// CHECK: arith.constant dense<-1> : tensor<2xi8>
// CHECK: arith.constant dense<[8, 7]> : tensor<2xi8>
// CHECK: arith.constant dense<62> : tensor<2xi8>
// The i4 is packed, two to a byte.
// CHECK: return %{{.*}} : tensor<2xi8>, tensor<2xi8>, tensor<1xi8>, tensor<2xi8>
func.func @constants() -> (tensor<2xi1>, tensor<2xui8>, tensor<2xi4>, tensor<2xf8E5M2>) {
  %a = tg.constant dense<[true, false]> : tensor<2xi1>
  %b = tg.constant dense<255> : tensor<2xui8>
  %c = tg.constant dense<[-8, 7]> : tensor<2xi4>
  %d = tg.constant dense<1.5> : tensor<2xf8E5M2>
  return %a, %b, %c, %d : tensor<2xi1>, tensor<2xui8>, tensor<2xi4>, tensor<2xf8E5M2>
}

// -----

// CHECK-LABEL: func.func @iota
// CHECK: linalg.index 1
// CHECK: arith.sitofp
func.func @iota() -> tensor<4x8xf32> {
  %r = tg.iota 1 : tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Rows of whole bytes unpack by an affine generic.
// CHECK: affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @unpack
// CHECK-SAME: (%[[X:.*]]: tensor<?xi8>, %{{.*}}: index) -> tensor<?x8xi32>
// CHECK: tensor.expand_shape %[[X]] {{\[\[}}0, 1]] output_shape [%{{.*}}, 4] : tensor<?xi8> into tensor<?x4xi8>
// CHECK: arith.shrui
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<?x4x2xi8> into tensor<?x8xi8>
// CHECK: arith.extsi %{{.*}} : i4 to i32
func.func @unpack(%x: tensor<?x8xi4, #tg.dims<()[s0] -> (s0, 8)>>, %s0: index) -> tensor<?x8xi32, #tg.dims<()[s0] -> (s0, 8)>> {
  %r = tg.cast %x : tensor<?x8xi4, #tg.dims<()[s0] -> (s0, 8)>> to tensor<?x8xi32, #tg.dims<()[s0] -> (s0, 8)>>
  return %r : tensor<?x8xi32, #tg.dims<()[s0] -> (s0, 8)>>
}
