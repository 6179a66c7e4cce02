// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// Views cost nothing: they are in the map of the load. What is known of ranges makes divisions go away.
// CHECK: affine_map<(d0, d1)[s0] -> (d1 floordiv 32, d0 + s0 * 2, d1 mod 32)>
// CHECK: tk.load
// CHECK-NEXT: tk.store
func.func @kernel(%x: tensor<12x64x32xf32>) -> tensor<64x384xf32> {
  %0 = tg.transpose %x [1, 0, 2] : tensor<12x64x32xf32>
  %1 = tg.reshape %0 : tensor<64x12x32xf32> to tensor<64x384xf32>
  return %1 : tensor<64x384xf32>
}

// -----
// CHECK: affine_map<(d0, d1, d2, d3) -> (d0 * 3 + d1, d2 * 5 + d3)>
// CHECK: tk.load
func.func @kernel(%x: tensor<6x10xf32>) -> tensor<2x3x2x5xf32> {
  %0 = tg.reshape %x : tensor<6x10xf32> to tensor<60xf32>
  %1 = tg.exp %0 : tensor<60xf32>
  %2 = tg.reshape %1 : tensor<60xf32> to tensor<2x3x2x5xf32>
  return %2 : tensor<2x3x2x5xf32>
}

// -----
// Symbolic extents: merged and split again.
// CHECK: affine_map<(d0, d1, d2)[s0, s1] -> (d0 + s0 * 32, d1, d2)>
// CHECK: tk.load
#d = #tg.dims<()[s0] -> (s0, 4, 8)>
#e = #tg.dims<()[s0] -> (s0 * 4, 8)>
func.func @kernel(%x: tensor<?x4x8xf32, #d>, %s0: index) -> tensor<?x4x8xf32, #d> {
  %0 = tg.reshape %x : tensor<?x4x8xf32, #d> to tensor<?x8xf32, #e>
  %1 = tg.exp %0 : tensor<?x8xf32, #e>
  %2 = tg.reshape %1 : tensor<?x8xf32, #e> to tensor<?x4x8xf32, #d>
  return %2 : tensor<?x4x8xf32, #d>
}

// -----
// CHECK: affine_map<(d0, d1) -> (d0 * 2 + 1, d1 * -2 + 7)>
// CHECK: tk.load {{.*}} map #{{[a-z0-9]*}} : <tensor<4x8xf32>> -> <2x4xf32>
func.func @kernel(%x: tensor<4x8xf32>) -> tensor<2x4xf32> {
  %0 = tg.slice %x offsets = [1, 7] strides = [2, -2] : tensor<4x8xf32> to tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----
// A pad of an argument is the fill of its load; the interior an equality.
// CHECK: affine_set<(d0, d1) : ({{.*}}(d0 + 1) floordiv 2 - 1 >= 0, {{.*}}(d0 + 1) mod 2 == 0)>
// CHECK: tk.load {{.*}} fill 1.000000e+00 : f32 : <tensor<4x8xf32>> -> <16x16xf32>
// CHECK-NEXT: tk.store
func.func @kernel(%x: tensor<4x8xf32>) -> tensor<10x11xf32> {
  %v = tg.constant dense<1.0> : tensor<f32>
  %0 = tg.pad %x, %v low = [1, 0] high = [2, 3] interior = [1, 0] : tensor<4x8xf32>, tensor<f32>
  return %0 : tensor<10x11xf32>
}

// -----
// A pad of a computed value, or with one that is not known, is a guard and a select.
// CHECK: tk.load %arg0
// CHECK: math.exp
// CHECK: tk.load %arg1
// CHECK: tk.guard
// CHECK: arith.select
func.func @kernel(%x: tensor<8xf32>, %v: tensor<f32>) -> tensor<16xf32> {
  %e = tg.exp %x : tensor<8xf32>
  %0 = tg.pad %e, %v low = [3] high = [5] interior = [0] : tensor<8xf32>, tensor<f32>
  return %0 : tensor<16xf32>
}

// -----
// The parts of a concat are loaded where they are, and chosen.
// CHECK: affine_set<(d0, d1) : (d1 - 8 >= 0, -d1 + 10 >= 0)>
// CHECK: tk.for_tiles
// CHECK-COUNT-3: tk.load
// CHECK: tk.guard
// CHECK: arith.select
// CHECK: tk.guard
// CHECK: arith.select
// CHECK-NOT: tk.guard
func.func @kernel(%x: tensor<4x8xf32>, %y: tensor<4x3xf32>, %z: tensor<4x5xf32>) -> tensor<4x16xf32> {
  %e = tg.exp %y : tensor<4x3xf32>
  %0 = tg.concat %x, %e, %z axis = 1 : tensor<4x8xf32>, tensor<4x3xf32>, tensor<4x5xf32>
  return %0 : tensor<4x16xf32>
}

// -----
// A part of one place is computed once for all of them: a cache, and a row behind it.
// CHECK: tk.for_tiles
// CHECK-DAG: %[[ROW:.*]] = tk.load %arg1{{.*}} -> <8xf32>
// CHECK-DAG: tk.map(%[[ROW]] : !tk.tile<8xf32>) -> !tk.tile<8xf32>
// CHECK: arith.select
func.func @kernel(%x: tensor<7x8xf32>, %y: tensor<1x8xf32>) -> tensor<8x8xf32> {
  %e = tg.exp %y : tensor<1x8xf32>
  %0 = tg.concat %x, %e axis = 0 : tensor<7x8xf32>, tensor<1x8xf32>
  return %0 : tensor<8x8xf32>
}

// -----
// CHECK: arith.bitcast {{.*}} : f32 to i32
func.func @kernel(%x: tensor<8xf32>) -> tensor<2x8xi32> {
  %0 = tg.bitcast %x : tensor<8xf32> to tensor<8xi32>
  %1 = tg.broadcast %0 : tensor<8xi32> to tensor<2x8xi32>
  return %1 : tensor<2x8xi32>
}

// -----
// What is below the common divisor of a sum's other terms does not count: one group of ten channels a tile.
// CHECK: affine_map<(d0)[s0, s1, s2] -> (s0, s1 floordiv 10, d0 + (s1 mod 10) * 1024 + s2 * 512)>
// CHECK: affine_map<(d0)[s0, s1] -> (s0, s1 floordiv 10, 0)>
// CHECK: tk.load
module attributes {tg.schedule = #tg.schedule<tile = [1, 1, 512], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<2x32x10240xf32>, %m: tensor<2x32x1xf32>) -> tensor<2x320x1024xf32> {
  %0 = tg.sub %x, %m : tensor<2x32x10240xf32>, tensor<2x32x1xf32>
  %1 = tg.reshape %0 : tensor<2x32x10240xf32> to tensor<2x320x1024xf32>
  return %1 : tensor<2x320x1024xf32>
}
}
