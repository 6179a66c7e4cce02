// RUN: weft-opt %s --split-input-file --weft-cpu-fuse --weft-cpu-destination --weft-cpu-choose-tiles --weft-cpu-tile | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
#col = affine_map<(d0, d1) -> (d1)>

// A row-wise kernel: rows are cut, the reduced dimension stays whole, and the reduction is computed inside the tile.
// CHECK-LABEL: module @normalize
// CHECK-SAME: tg.tile_sizes = array<i64: 16, 0>
// CHECK: func.func @kernel(%[[X:.*]]: memref<64x1024xf32> {{.*}}, %[[OUT:.*]]: memref<64x1024xf32>
// CHECK: %[[DEST:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK: scf.forall (%{{.*}}) = (0) to (64) step (16) shared_outs(%{{.*}} = %[[DEST]])
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]
// CHECK: scf.forall.in_parallel
// CHECK: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT]]
module @normalize {
  func.func @kernel(%x: tensor<64x1024xf32>) -> tensor<64x1024xf32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64xf32>) -> tensor<64xf32>
    %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<64x1024xf32>) outs(%f : tensor<64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o : f32
      linalg.yield %s : f32
    } -> tensor<64xf32>
    %e1 = tensor.empty() : tensor<64x1024xf32>
    %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x, %sum : tensor<64x1024xf32>, tensor<64xf32>) outs(%e1 : tensor<64x1024xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.divf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<64x1024xf32>
    return %r : tensor<64x1024xf32>
  }
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// A contraction with an epilogue: columns are cut until there are enough tiles.
// CHECK-LABEL: module @matmul
// CHECK-SAME: tg.tile_sizes = array<i64: 0, 256>
// CHECK: scf.forall (%{{.*}}) = (0) to (3072) step (256)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]
module @matmul {
  func.func @kernel(%a: tensor<128x768xf32>, %b: tensor<768x3072xf32>, %bias: tensor<3072xf32>) -> tensor<128x3072xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<128x3072xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x3072xf32>) -> tensor<128x3072xf32>
    %m = linalg.matmul ins(%a, %b : tensor<128x768xf32>, tensor<768x3072xf32>) outs(%f : tensor<128x3072xf32>) -> tensor<128x3072xf32>
    %r = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
        ins(%m, %bias : tensor<128x3072xf32>, tensor<3072xf32>) outs(%e : tensor<128x3072xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    } -> tensor<128x3072xf32>
    return %r : tensor<128x3072xf32>
  }
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Tile sizes given on the module are used as they are.
// CHECK-LABEL: module @given
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (64, 64) step (8, 32)
module @given attributes {tg.tile_sizes = array<i64: 8, 32>} {
  func.func @kernel(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %e = tensor.empty() : tensor<64x64xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<64x64xf32>
    return %r : tensor<64x64xf32>
  }
}
