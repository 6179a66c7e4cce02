// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s
// Maps say where results and reduced dimensions lie, extents do not.

// The first result is the transpose of what is summed up: the sum's places are the tile's, whatever the order of
// dimensions. Nothing is loaded or computed twice.
// CHECK-LABEL: tk.for_tiles
// CHECK-COUNT-1: tk.load
// CHECK-NOT: tk.load
// CHECK-NOT: scf.for
// CHECK: tk.store {{.*}} : <64x4xf32>, <tensor<64x8xf32>>
// CHECK: tk.reduce({{.*}} : !tk.tile<64x4xf32>) dims [0]
// CHECK-NOT: tk.load
// CHECK: tk.store {{.*}} : <4xf32>, <tensor<8xf32>>
module attributes {tg.schedule = #tg.schedule<tile = [64, 4], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<8x64xf32>) -> (tensor<64x8xf32>, tensor<8xf32>) {
  %e = tg.exp %x : tensor<8x64xf32>
  %s = tg.reduce add %e axes = [1] : tensor<8x64xf32>
  %t = tg.transpose %e [1, 0] : tensor<8x64xf32>
  return %t, %s : tensor<64x8xf32>, tensor<8xf32>
}
}

// -----
// A value and its transpose: one tile is stored twice, also where their extents are equal.
// CHECK-LABEL: tk.for_tiles
// CHECK-COUNT-1: tk.load
// CHECK-NOT: tk.load
// CHECK: tk.store {{.*}} : <16x8xf32>, <tensor<64x64xf32>>
// CHECK: tk.store {{.*}} : <16x8xf32>, <tensor<64x64xf32>>
module attributes {tg.schedule = #tg.schedule<tile = [16, 8], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %e = tg.exp %x : tensor<64x64xf32>
  %t = tg.transpose %e [1, 0] : tensor<64x64xf32>
  return %e, %t : tensor<64x64xf32>, tensor<64x64xf32>
}
}

// -----
// A sum over rows of another tensor than the result's, as long as the result's: no dimension of it. It takes its own
// steps.
// CHECK-LABEL: tk.for_tiles
// CHECK-DAG: tk.load %arg0{{.*}} -> <32xf32>
// CHECK-DAG: tk.load %arg1{{.*}} -> <64xf32>
module attributes {tg.schedule = #tg.schedule<tile = [1, 64], stream = [32], engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<4x64xf32>, %y: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %s = tg.reduce add %x axes = [1] keep_dims : tensor<4x64xf32>
  %r = tg.div %y, %s : tensor<4x64xf32>, tensor<4x1xf32>
  return %r : tensor<4x64xf32>
}
}
