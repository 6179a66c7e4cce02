// RUN: weft-opt %s --split-input-file --weft-join-slices --weft-simplify --cse | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-join-slices --remarks-filter=fusion --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A layer of a product, a bias and a norm, applied to each step of an unknown number of rows.
// REMARK: what was computed of 3 slices is computed of their tensor
// CHECK: #[[$ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
// CHECK: #[[$WEIGHTS:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-LABEL: func.func @steps(
// CHECK-NOT: tg.slice
// CHECK: %[[P:.*]] = tg.contract %arg0, %arg1 [#[[$ROWS]], #[[$WEIGHTS]], {{.*}}] : tensor<3x?x8xf32, {{.*}}>, tensor<8x6xf32> -> tensor<3x?x6xf32, {{.*}}>
// CHECK-NEXT: %[[B:.*]] = tg.add %[[P]], %arg2 : {{.*}}, tensor<6xf32>
// CHECK-NEXT: %[[M:.*]] = tg.reduce max %[[B]] axes = [2] keep_dims
// CHECK-NEXT: %[[S:.*]] = tg.sub %[[B]], %[[M]]
// CHECK-NEXT: return %[[S]]
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
!whole = tensor<3x?x8xf32, #tg.dims<()[s0] -> (3, s0, 8)>>
!slice = tensor<1x?x8xf32, #tg.dims<()[s0] -> (1, s0, 8)>>
!row = tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
!part = tensor<?x6xf32, #tg.dims<()[s0] -> (s0, 6)>>
!most = tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
!step = tensor<1x?x6xf32, #tg.dims<()[s0] -> (1, s0, 6)>>
module attributes {tg.symbols = ["n"]} {
  func.func @steps(%x: !whole, %w: tensor<8x6xf32>, %bias: tensor<6xf32>) -> tensor<3x?x6xf32, #tg.dims<()[s0] -> (3, s0, 6)>> {
    %x0 = tg.slice %x offsets = [0, 0, 0] strides = [1, 1, 1] : !whole to !slice
    %x1 = tg.slice %x offsets = [1, 0, 0] strides = [1, 1, 1] : !whole to !slice
    %x2 = tg.slice %x offsets = [2, 0, 0] strides = [1, 1, 1] : !whole to !slice
    %r0 = tg.reshape %x0 : !slice to !row
    %r1 = tg.reshape %x1 : !slice to !row
    %r2 = tg.reshape %x2 : !slice to !row
    %p0 = tg.contract %r0, %w [#a, #b, #c] : !row, tensor<8x6xf32> -> !part
    %p1 = tg.contract %r1, %w [#a, #b, #c] : !row, tensor<8x6xf32> -> !part
    %p2 = tg.contract %r2, %w [#a, #b, #c] : !row, tensor<8x6xf32> -> !part
    %b0 = tg.add %p0, %bias : !part, tensor<6xf32>
    %b1 = tg.add %p1, %bias : !part, tensor<6xf32>
    %b2 = tg.add %p2, %bias : !part, tensor<6xf32>
    %m0 = tg.reduce max %b0 axes = [1] keep_dims : !part
    %m1 = tg.reduce max %b1 axes = [1] keep_dims : !part
    %m2 = tg.reduce max %b2 axes = [1] keep_dims : !part
    %s0 = tg.sub %b0, %m0 : !part, !most
    %s1 = tg.sub %b1, %m1 : !part, !most
    %s2 = tg.sub %b2, %m2 : !part, !most
    %u0 = tg.reshape %s0 : !part to !step
    %u1 = tg.reshape %s1 : !part to !step
    %u2 = tg.reshape %s2 : !part to !step
    %y = tg.concat %u0, %u1, %u2 axis = 0 : !step, !step, !step
    return %y : tensor<3x?x6xf32, #tg.dims<()[s0] -> (3, s0, 6)>>
  }
}

// -----

// Parts of two columns each, concatenated behind one another: what is read is the tensor.
// CHECK-LABEL: func.func @wide_parts(
// CHECK: %[[X:.*]] = tg.reshape %arg0 : tensor<5x4xf32> to tensor<5x2x2xf32>
// CHECK-NEXT: %[[T:.*]] = tg.transpose %[[X]] [1, 0, 2]
// CHECK-NEXT: %[[E:.*]] = tg.mul %[[T]], %arg1 : tensor<2x5x2xf32>, tensor<5x1xf32>
// CHECK-NEXT: %[[B:.*]] = tg.transpose %[[E]] [1, 0, 2]
// CHECK-NEXT: tg.reshape %[[B]] : tensor<5x2x2xf32> to tensor<5x4xf32>
func.func @wide_parts(%x: tensor<5x4xf32>, %s: tensor<5x1xf32>) -> tensor<5x4xf32> {
  %0 = tg.slice %x offsets = [0, 0] strides = [1, 1] : tensor<5x4xf32> to tensor<5x2xf32>
  %1 = tg.slice %x offsets = [0, 2] strides = [1, 1] : tensor<5x4xf32> to tensor<5x2xf32>
  %2 = tg.mul %0, %s : tensor<5x2xf32>, tensor<5x1xf32>
  %3 = tg.mul %1, %s : tensor<5x2xf32>, tensor<5x1xf32>
  %c = tg.concat %2, %3 axis = 1 : tensor<5x2xf32>, tensor<5x2xf32>
  return %c : tensor<5x4xf32>
}

// -----

// From the end, each other row: one slice. The second operand has a lower rank than the result.
// CHECK-LABEL: func.func @backwards(
// CHECK: %[[S:.*]] = tg.slice %arg0 offsets = [4, 0] strides = [-2, 1] : tensor<5x3xf32> to tensor<3x3xf32>
// CHECK: %[[K:.*]] = tg.reshape {{.*}} to tensor<3x1x3xf32>
// CHECK: tg.sub %arg1, %[[K]] : tensor<7x3xf32>, tensor<3x1x3xf32>
func.func @backwards(%x: tensor<5x3xf32>, %a: tensor<7x3xf32>) -> tensor<21x3xf32> {
  %0 = tg.slice %x offsets = [4, 0] strides = [1, 1] : tensor<5x3xf32> to tensor<1x3xf32>
  %1 = tg.slice %x offsets = [2, 0] strides = [1, 1] : tensor<5x3xf32> to tensor<1x3xf32>
  %2 = tg.slice %x offsets = [0, 0] strides = [1, 1] : tensor<5x3xf32> to tensor<1x3xf32>
  %r0 = tg.reshape %0 : tensor<1x3xf32> to tensor<3xf32>
  %r1 = tg.reshape %1 : tensor<1x3xf32> to tensor<3xf32>
  %r2 = tg.reshape %2 : tensor<1x3xf32> to tensor<3xf32>
  %d0 = tg.sub %a, %r0 : tensor<7x3xf32>, tensor<3xf32>
  %d1 = tg.sub %a, %r1 : tensor<7x3xf32>, tensor<3xf32>
  %d2 = tg.sub %a, %r2 : tensor<7x3xf32>, tensor<3xf32>
  %c = tg.concat %d0, %d1, %d2 axis = 0 : tensor<7x3xf32>, tensor<7x3xf32>, tensor<7x3xf32>
  return %c : tensor<21x3xf32>
}

// -----

// Not where a part is read by others, nor where the steps between slices differ, nor where the halves change places.
// CHECK-LABEL: func.func @stays(
// CHECK-COUNT-3: tg.concat
// REMARK-NOT: what was computed of 4 slices
func.func @stays(%x: tensor<6x3xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>, tensor<6x3xf32>) {
  %0 = tg.slice %x offsets = [0, 0] strides = [1, 1] : tensor<6x3xf32> to tensor<1x3xf32>
  %1 = tg.slice %x offsets = [1, 0] strides = [1, 1] : tensor<6x3xf32> to tensor<1x3xf32>
  %3 = tg.slice %x offsets = [3, 0] strides = [1, 1] : tensor<6x3xf32> to tensor<1x3xf32>
  %e0 = tg.exp %0 : tensor<1x3xf32>
  %e1 = tg.exp %1 : tensor<1x3xf32>
  %shared = tg.concat %e0, %e1 axis = 0 : tensor<1x3xf32>, tensor<1x3xf32>
  %n0 = tg.neg %0 : tensor<1x3xf32>
  %n1 = tg.neg %1 : tensor<1x3xf32>
  %n3 = tg.neg %3 : tensor<1x3xf32>
  %gaps = tg.concat %n0, %n1, %n3 axis = 0 : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
  %low = tg.slice %x offsets = [0, 0] strides = [1, 1] : tensor<6x3xf32> to tensor<3x3xf32>
  %high = tg.slice %x offsets = [3, 0] strides = [1, 1] : tensor<6x3xf32> to tensor<3x3xf32>
  %turned = tg.concat %high, %low axis = 0 : tensor<3x3xf32>, tensor<3x3xf32>
  return %shared, %e0, %gaps, %turned : tensor<2x3xf32>, tensor<1x3xf32>, tensor<3x3xf32>, tensor<6x3xf32>
}
