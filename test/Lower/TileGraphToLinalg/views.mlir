// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @slice
// CHECK: tensor.extract_slice %{{.*}}[1, 0] [2, %{{.*}}] [3, 1] : tensor<7x?xf32> to tensor<2x?xf32>
func.func @slice(%x: tensor<7x?xf32, #tg.dims<()[s0] -> (7, s0)>>, %s0: index) -> tensor<2x?xf32, #tg.dims<()[s0] -> (2, s0)>> {
  %r = tg.slice %x offsets = [1, 0] strides = [3, 1] : tensor<7x?xf32, #tg.dims<()[s0] -> (7, s0)>> to tensor<2x?xf32, #tg.dims<()[s0] -> (2, s0)>>
  return %r : tensor<2x?xf32, #tg.dims<()[s0] -> (2, s0)>>
}

// -----

// CHECK: affine_map<(d0) -> (-d0 + 6)>
// CHECK-LABEL: func.func @reverse
// CHECK: linalg.generic
func.func @reverse(%x: tensor<7xf32>) -> tensor<7xf32> {
  %r = tg.slice %x offsets = [6] strides = [-1] : tensor<7xf32> to tensor<7xf32>
  return %r : tensor<7xf32>
}

// -----

// What is cut off a dimension beside is cut off first: the generic's domain is the result's.
// CHECK: affine_map<(d0, d1) -> (d0, -d1 + 6)>
// CHECK-LABEL: func.func @reverse_part
// CHECK: tensor.extract_slice %arg0[0, 0] [3, 7] [1, 1] : tensor<4x7xf32> to tensor<3x7xf32>
// CHECK: linalg.generic
func.func @reverse_part(%x: tensor<4x7xf32>) -> tensor<3x5xf32> {
  %r = tg.slice %x offsets = [0, 6] strides = [1, -1] : tensor<4x7xf32> to tensor<3x5xf32>
  return %r : tensor<3x5xf32>
}

// -----

// Groups are as small as the extents allow: heads are split and batch and sequence merged without touching the rest.
// CHECK-LABEL: func.func @reshape
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x64xf32>, %[[B:.*]]: index, %[[S:.*]]: index)
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1], [2]] : tensor<?x?x64xf32> into tensor<?x64xf32>
// CHECK: %[[N:.*]] = arith.muli %[[B]], %[[S]]
// CHECK: tensor.expand_shape %[[C]] {{\[\[}}0], [1, 2]] output_shape [%[[N]], 4, 16] : tensor<?x64xf32> into tensor<?x4x16xf32>
func.func @reshape(%x: tensor<?x?x64xf32, #tg.dims<()[s0, s1] -> (s0, s1, 64)>>, %s0: index, %s1: index)
    -> tensor<?x4x16xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 4, 16)>> {
  %r = tg.reshape %x : tensor<?x?x64xf32, #tg.dims<()[s0, s1] -> (s0, s1, 64)>> to tensor<?x4x16xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 4, 16)>>
  return %r : tensor<?x4x16xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 4, 16)>>
}

// -----

// CHECK-LABEL: func.func @pad
// CHECK: %[[V:.*]] = tensor.extract %{{.*}}[] : tensor<f32>
// CHECK: tensor.pad %{{.*}} low[1, 0] high[1, 2]
// CHECK: tensor.yield %[[V]] : f32
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [6, 10] [1, 3] : tensor<6x10xf32> into tensor<6x28xf32>
func.func @pad(%x: tensor<4x8xf32>, %v: tensor<f32>) -> tensor<6x28xf32> {
  %p = tg.pad %x, %v low = [1, 0] high = [1, 2] interior = [0, 0] : tensor<4x8xf32>, tensor<f32>
  %r = tg.pad %p, %v low = [0, 0] high = [0, 0] interior = [0, 2] : tensor<6x10xf32>, tensor<f32>
  return %r : tensor<6x28xf32>
}

// -----

// CHECK-LABEL: func.func @concat
// CHECK: %[[E:.*]] = tensor.empty(%{{.*}}) : tensor<?x8xf32>
// CHECK: %[[A:.*]] = tensor.insert_slice %{{.*}} into %[[E]][0, 0] [4, 8] [1, 1]
// CHECK: tensor.insert_slice %{{.*}} into %[[A]][4, 0] [%{{.*}}, 8] [1, 1]
func.func @concat(%a: tensor<4x8xf32>, %b: tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, %s0: index)
    -> tensor<?x8xf32, #tg.dims<()[s0] -> (s0 + 4, 8)>> {
  %r = tg.concat %a, %b axis = 0 : tensor<4x8xf32>, tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
  return %r : tensor<?x8xf32, #tg.dims<()[s0] -> (s0 + 4, 8)>>
}

// -----

// A large one is cut off the axis, so that its pieces can run on several threads.
// CHECK-LABEL: func.func @concat_in_pieces
// CHECK: scf.forall (%[[I:.*]]) = (0) to (1000) step (256) shared_outs(%[[OUT:.*]] = %{{.*}})
// CHECK: %[[SIZE:.*]] = affine.min
// CHECK: %[[PIECE:.*]] = tensor.extract_slice %[[OUT]][0, %[[I]]] [100, %[[SIZE]]] [1, 1]
// CHECK: %[[X:.*]] = tensor.extract_slice %{{.*}}[0, %[[I]]] [40, %[[SIZE]]] [1, 1]
// CHECK: tensor.insert_slice %[[X]] into %[[PIECE]][0, 0]
// CHECK: tensor.insert_slice %{{.*}}[40, 0]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]][0, %[[I]]]
func.func @concat_in_pieces(%a: tensor<40x1000xf32>, %b: tensor<60x1000xf32>) -> tensor<100x1000xf32> {
  %r = tg.concat %a, %b axis = 0 : tensor<40x1000xf32>, tensor<60x1000xf32>
  return %r : tensor<100x1000xf32>
}
