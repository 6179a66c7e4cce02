// RUN: weft-opt %s --split-input-file --weft-kernelize --verify-diagnostics | FileCheck %s

// Attention: the loop carries maximum, sum and accumulator; the accumulator, scaled, is where the second dot starts; the query stays.
#acc = affine_map<(i, n, j) -> (i, n)>
// CHECK-LABEL: func.func @kernel(%arg0: !tk.global<tensor<256x64xf16>>
// CHECK: tk.for_tiles
// CHECK: %[[Q:.*]] = tk.load %arg0
// CHECK: %[[S:.*]]:3 = scf.for %[[J:.*]] = %c0 to %c4 step %c1 iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[A:.*]] = %{{.*}}) -> (!tk.tile<64xf32>, !tk.tile<64xf32>, !tk.tile<64x32xf32>)
// CHECK: %[[K:.*]] = tk.load %arg1[%[[J]]] map {{.*}} guard
// CHECK: %[[X:.*]] = tk.dot %[[Q]], %[[K]], %{{.*}} <64x64xf32>
// CHECK: tk.guard
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: tk.reduce({{.*}}) dims [1] -> !tk.tile<64xf32>
// CHECK: %[[M2:.*]] = tk.map(%[[M]], %{{.*}}
// The terms are rounded to f16, so e^(x - m) is an FMA and a power of 2.
// CHECK: %[[B:.*]] = tk.map(%[[M2]]
// CHECK: arith.constant -1.442{{.*}} : f32
// CHECK: arith.mulf
// CHECK: %[[R:.*]] = tk.map(%[[M]], %[[B]]
// CHECK: math.fma
// CHECK: math.exp2 %{{.*}} fastmath<afn>
// CHECK: arith.constant 0.000000e+00 : f32
// CHECK: %[[P:.*]] = tk.map({{.*}} -> !tk.tile<64x64xf16>
// CHECK: %[[V:.*]] = tk.load %arg2[%[[J]]] map {{.*}} guard
// CHECK: %[[A2:.*]] = tk.dot %[[P]], %[[V]], %{{.*}} <64x32xf32>
// CHECK: scf.yield %[[M2]], %{{.*}}, %[[A2]]
// CHECK: tk.broadcast %[[S]]#1
// CHECK: arith.divf
// CHECK: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [64, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<256x64xf16>, %k: tensor<200x64xf16>, %v: tensor<200x32xf16>) -> tensor<256x32xf32> {
  %r = tg.fold over affine_map<() -> (200)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<256x1xf32>, %l: tensor<256x1xf32>, %a: tensor<256x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<256x64xf16>, tensor<200x64xf16> -> tensor<256x200xf32>
    %b = tg.reduce max %s axes = [1] keep_dims {tg.streamed} : tensor<256x200xf32>
    %m2 = tg.max %m, %b : tensor<256x1xf32>, tensor<256x1xf32>
    %c = tg.sub %m, %m2 : tensor<256x1xf32>, tensor<256x1xf32>
    %f = tg.exp %c : tensor<256x1xf32>
    %d = tg.sub %s, %m2 : tensor<256x200xf32>, tensor<256x1xf32>
    %e = tg.exp %d : tensor<256x200xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<256x200xf32>
    %g = tg.mul %l, %f : tensor<256x1xf32>, tensor<256x1xf32>
    %l2 = tg.add %g, %t : tensor<256x1xf32>, tensor<256x1xf32>
    %p = tg.cast %e : tensor<256x200xf32> to tensor<256x200xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, #acc] {tg.streamed} : tensor<256x200xf16>, tensor<200x32xf16> -> tensor<256x32xf32>
    %h = tg.mul %a, %f : tensor<256x32xf32>, tensor<256x1xf32>
    %a2 = tg.add %h, %o : tensor<256x32xf32>, tensor<256x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<256x1xf32>, tensor<256x1xf32>, tensor<256x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<256x1xf32>, %l: tensor<256x1xf32>, %a: tensor<256x32xf32>):
    %o = tg.div %a, %l : tensor<256x32xf32>, tensor<256x1xf32>
    tg.fold_yield %o : tensor<256x32xf32>
  } : tensor<256x32xf32>
  return %r : tensor<256x32xf32>
}
}

// -----
// Log-sum-exp with the made-up schedule: only the states that the result needs; the loop is one step.
// CHECK-LABEL: func.func @kernel(%arg0: !tk.global<tensor<4x64xf32>>
// CHECK-NOT: scf.for
// CHECK: math.exp
// CHECK: math.log
func.func @kernel(%x: tensor<4x64xf32>) -> tensor<4x1xf32> {
  %r = tg.fold over affine_map<() -> (64)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>):
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x64xf32>
    %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
    %d = tg.sub %x, %m2 : tensor<4x64xf32>, tensor<4x1xf32>
    %e = tg.exp %d : tensor<4x64xf32>
    %s = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<4x64xf32>
    %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
    %f = tg.exp %c : tensor<4x1xf32>
    %k = tg.mul %l, %f : tensor<4x1xf32>, tensor<4x1xf32>
    %l2 = tg.add %k, %s : tensor<4x1xf32>, tensor<4x1xf32>
    tg.fold_yield %m2, %l2 : tensor<4x1xf32>, tensor<4x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>):
    %g = tg.log %l : tensor<4x1xf32>
    %o = tg.add %g, %m : tensor<4x1xf32>, tensor<4x1xf32>
    tg.fold_yield %o : tensor<4x1xf32>
  } : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// -----
func.func @kernel(%x: tensor<64x64xf32>) -> tensor<64x1xf32> {
  // expected-error @+1 {{cannot become GPU tiles: expected each state to be used at one index of the tile}}
  %r = tg.fold over affine_map<() -> (64)> init [0.0 : f32] update {
  ^bb0(%l: tensor<64x1xf32>):
    %s = tg.reduce add %x axes = [1] keep_dims {tg.streamed} : tensor<64x64xf32>
    %f = tg.slice %l offsets = [63, 0] strides = [-1, 1] : tensor<64x1xf32> to tensor<64x1xf32>
    %l2 = tg.add %f, %s : tensor<64x1xf32>, tensor<64x1xf32>
    tg.fold_yield %l2 : tensor<64x1xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<64x1xf32>):
    tg.fold_yield %l : tensor<64x1xf32>
  } : tensor<64x1xf32>
  return %r : tensor<64x1xf32>
}

// -----
// Two states as results, the smaller one with extent 1 where the other has columns: one loop.
// CHECK-LABEL: func.func @kernel(%arg0: !tk.global<tensor<8x2048xf32>>
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: tk.store
// CHECK: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [1, 16], stream = [64], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
func.func @kernel(%x: tensor<8x2048xf32>, %v: tensor<2048x16xf32>) -> (tensor<8x16xf32>, tensor<8x1xf32>) {
  %r:2 = tg.fold over affine_map<() -> (2048)> init [0.0 : f32, 0.0 : f32] update {
  ^bb0(%l: tensor<8x1xf32>, %a: tensor<8x16xf32>):
    %e = tg.exp %x : tensor<8x2048xf32>
    %s = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<8x2048xf32>
    %l2 = tg.add %l, %s : tensor<8x1xf32>, tensor<8x1xf32>
    %p = tg.contract %e, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<8x2048xf32>, tensor<2048x16xf32> -> tensor<8x16xf32>
    %a2 = tg.add %a, %p : tensor<8x16xf32>, tensor<8x16xf32>
    tg.fold_yield %l2, %a2 : tensor<8x1xf32>, tensor<8x16xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<8x1xf32>, %a: tensor<8x16xf32>):
    tg.fold_yield %a, %l : tensor<8x16xf32>, tensor<8x1xf32>
  } : tensor<8x16xf32>, tensor<8x1xf32>
  return %r#0, %r#1 : tensor<8x16xf32>, tensor<8x1xf32>
}
}
