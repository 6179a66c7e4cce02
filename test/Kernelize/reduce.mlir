// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// Softmax of rows that fit the tile: one load, statistics once a row, lanes past the end are the monoid's identity.
// CHECK: tk.for_tiles (%[[I:.*]], %{{.*}}) in
// CHECK: %[[X:.*]] = tk.load %arg0[%[[I]]]
// CHECK: tk.guard
// CHECK: arith.constant 0xFC00 : f16
// CHECK: tk.reduce({{.*}} dims [1] -> !tk.tile<1xf32>
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: tk.guard
// CHECK: arith.constant 0.000000e+00 : f16
// CHECK: tk.reduce({{.*}} dims [1] -> !tk.tile<1xf32>
// CHECK: arith.addf
// CHECK-NOT: tk.load
// CHECK: arith.divf
// CHECK: tk.store
func.func @kernel(%x: tensor<100x768xf16>) -> tensor<100x768xf16> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<100x768xf16>
  %d = tg.sub %x, %m : tensor<100x768xf16>, tensor<100x1xf16>
  %e = tg.exp %d : tensor<100x768xf16>
  %s = tg.reduce add %e axes = [1] keep_dims : tensor<100x768xf16>
  %r = tg.div %e, %s : tensor<100x768xf16>, tensor<100x1xf16>
  return %r : tensor<100x768xf16>
}

// -----
// Rows that no tile holds: a loop for each reduction, before the loop of the result.
// CHECK: tk.for_tiles
// CHECK: scf.for {{.*}} to %c8 {{.*}} -> (!tk.tile<1024xf32>)
// CHECK: arith.maximumf
// CHECK: tk.reduce
// CHECK: %[[M:.*]] = tk.map({{.*}}) -> !tk.tile<1xf16>
// CHECK: scf.for {{.*}} to %c8 {{.*}} -> (!tk.tile<1024xf32>)
// CHECK: tk.broadcast %[[M]]
// CHECK: math.exp
// CHECK: tk.reduce
// CHECK: scf.for {{.*}} to %c8 step %c1 {
// CHECK: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [1, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<100x7680xf16>) -> tensor<100x7680xf16> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<100x7680xf16>
  %d = tg.sub %x, %m : tensor<100x7680xf16>, tensor<100x1xf16>
  %e = tg.exp %d : tensor<100x7680xf16>
  %s = tg.reduce add %e axes = [1] keep_dims : tensor<100x7680xf16>
  %r = tg.div %e, %s : tensor<100x7680xf16>, tensor<100x1xf16>
  return %r : tensor<100x7680xf16>
}
}

// -----
// Pooling: the window is in the map; a bare load has the identity as its fill.
// CHECK: affine_map<(d0, d1, d2, d3)[s0] -> (0, s0, d0 * 2 + d2, d1 * 2 + d3)>
// CHECK: tk.load {{.*}} fill 0xFF800000 : f32
// CHECK-NEXT: tk.reduce({{.*}}) dims [2, 3]
module attributes {tg.schedule = #tg.schedule<tile = [1, 1, 8, 8], stream = [4, 4], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<1x4x11x11xf32>) -> tensor<1x4x5x5xf32> {
  %0 = tg.window %x dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<1x4x11x11xf32>
  %1 = tg.reduce max %0 axes = [4, 5] : tensor<1x4x5x5x3x3xf32>
  return %1 : tensor<1x4x5x5xf32>
}
}

// -----
// Two reduced dimensions are one loop of all steps; symbolic extents make symbolic counts.
// CHECK: arith.divui
// CHECK: %[[N:.*]] = arith.muli
// CHECK: scf.for %{{.*}} = %c0 to %[[N]]
// CHECK: tk.reduce({{.*}}) dims [1]
module attributes {tg.schedule = #tg.schedule<tile = [16], stream = [1, 64], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<4x?x?xi32, #tg.dims<()[s0, s1] -> (4, s0, s1)>>, %s0: index, %s1: index) -> tensor<4xi32> {
  %0 = tg.reduce min %x axes = [1, 2] : tensor<4x?x?xi32, #tg.dims<()[s0, s1] -> (4, s0, s1)>>
  return %0 : tensor<4xi32>
}
}

// -----
// The extreme element with its index; places past the end have an index that loses every tie.
// CHECK: scf.for {{.*}} -> (!tk.tile<{{.*}}xf32>, !tk.tile<{{.*}}xi32>)
// CHECK: tk.affine
// CHECK: arith.constant 2147483647 : i32
// CHECK: arith.cmpi slt
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf uno
// CHECK: tk.reduce
// CHECK: arith.extsi {{.*}} : i32 to i64
func.func @kernel(%x: tensor<100x5000xf32>) -> tensor<100x1xi64> {
  %1 = tg.arg_reduce max %x axis = 1 keep_dims : tensor<100x5000xf32>
  return %1 : tensor<100x1xi64>
}

// -----
// A row's statistic is a result too: stored once a row, before the loop over it.
// CHECK: tk.reduce
// CHECK: tk.store {{.*}} : <1xf32>, <tensor<4xf32>>
// CHECK: scf.for
// CHECK: tk.store {{.*}} : <64xf32>, <tensor<4x600xf32>>
module attributes {tg.schedule = #tg.schedule<tile = [1, 64], engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<4x600xf32>) -> (tensor<4x600xf32>, tensor<4xf32>) {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x600xf32>
  %d = tg.sub %x, %m : tensor<4x600xf32>, tensor<4x1xf32>
  %r = tg.reshape %m : tensor<4x1xf32> to tensor<4xf32>
  return %d, %r : tensor<4x600xf32>, tensor<4xf32>
}
}

// -----
// A first result without a dimension of the second one: a loop over it.
// CHECK: tk.store {{.*}} : <1xf32>, <tensor<4xf32>>
// CHECK: scf.for {{.*}} to %c3
// CHECK: tk.store {{.*}} : <256xf32>, <tensor<4x600xf32>>
func.func @kernel(%x: tensor<4x600xf32>) -> (tensor<4xf32>, tensor<4x600xf32>) {
  %m = tg.reduce max %x axes = [1] : tensor<4x600xf32>
  %d = tg.exp %x : tensor<4x600xf32>
  return %m, %d : tensor<4xf32>, tensor<4x600xf32>
}

// -----
// Four sums of as many terms as the result has columns: an extent in common, no dimension. The tiles of columns are
// CTAs of their own, and a sum takes its own lanes.
// CHECK: #[[GRID:.*]] = affine_map<() -> (16, 20)>
// CHECK: tk.for_tiles (%[[I:.*]], %[[J:.*]]) in #[[GRID]]
// CHECK-NOT: scf.for
// CHECK: tk.load %arg1[%[[J]]] map {{.*}} -> <16x512xf32>
// CHECK: tk.reduce({{.*}} : !tk.tile<16x512xf32>) dims [1]
// CHECK: tk.store {{.*}} : <256x16xf32>
module attributes {tg.schedule = #tg.schedule<tile = [256, 16], stream = [512], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<4x80x4096xf32>, %terms: tensor<4x320xf32>) -> tensor<4096x320xf32> {
  %s = tg.reduce add %terms axes = [1] : tensor<4x320xf32>
  %v = tg.reshape %s : tensor<4xf32> to tensor<4x1x1xf32>
  %d = tg.sub %x, %v : tensor<4x80x4096xf32>, tensor<4x1x1xf32>
  %f = tg.reshape %d : tensor<4x80x4096xf32> to tensor<320x4096xf32>
  %t = tg.transpose %f [1, 0] : tensor<320x4096xf32>
  return %t : tensor<4096x320xf32>
}
}
