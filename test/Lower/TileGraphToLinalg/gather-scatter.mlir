// RUN: weft-opt %s --weft-lower-to-linalg --split-input-file | FileCheck %s

// Negative indices count from the end; then the place is clamped.
// CHECK-LABEL: func.func @gather
// CHECK-SAME: (%[[DATA:.*]]: tensor<100x8xf32>, %[[I:.*]]: tensor<4xi64>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%[[I]] : tensor<4xi64>)
// CHECK: %[[INDEX:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK: %[[FROM_END:.*]] = arith.addi %[[INDEX]], %{{.*}} : index
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}}, %[[FROM_END]], %[[INDEX]]
// CHECK: %[[LOW:.*]] = arith.minsi %[[PLACE]]
// CHECK: %[[IN:.*]] = arith.maxsi %[[LOW]]
// CHECK: tensor.extract %[[DATA]][%[[IN]], %{{.*}}]
func.func @gather(%d: tensor<100x8xf32>, %i: tensor<4xi64>) -> tensor<4x8xf32> {
  %r = tg.gather %d, %i data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
      : tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// Updates come in row-major order; one that is out of bounds is dropped.
// CHECK-LABEL: func.func @scatter
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[IN:.*]] = arith.cmpi ult
// CHECK: scf.if
// CHECK: %[[OLD:.*]] = tensor.extract
// CHECK: %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}} : f32
// CHECK: tensor.insert %[[NEW]]
func.func @scatter(%d: tensor<100x8xf32>, %i: tensor<4xi64>, %u: tensor<4x8xf32>) -> tensor<100x8xf32> {
  %r = tg.scatter %d, %i, %u data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
      {kind = #tg<monoid add>} : tensor<100x8xf32>, tensor<4xi64>, tensor<4x8xf32>
  return %r : tensor<100x8xf32>
}
