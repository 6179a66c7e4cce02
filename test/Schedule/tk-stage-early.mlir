// RUN: weft-opt %s --weft-tk-stage | FileCheck %s

// Parts of sums that are added up behind the dots are asked for ahead of their loop; not so what other ops read, or more
// than a thread can hold meanwhile.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 128 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
#p = affine_map<(d0, d1)[s0] -> (s0 * 128 + d0, d1)>
#n = affine_map<(d0)[s0] -> (s0 * 128 + d0)>
// CHECK-LABEL: func @kernel
// CHECK: %[[FEW:.*]] = tk.load %arg2
// CHECK: scf.for
// CHECK: tk.dot
// CHECK: tk.load %arg3
// CHECK: tk.load %arg4
// CHECK: tk.reduce(%[[FEW]]
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %few: !tk.global<tensor<1024x32xf32>>, %many: !tk.global<tensor<1024x64xf32>>, %row: !tk.global<tensor<1024xf32>>, %o: !tk.global<tensor<1024x512xf32>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 4)> persistent {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
        %l = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x768xf16>> -> !tk.tile<128x64xf16>
        %r = tk.load %w[%j, %k] map #b : !tk.global<tensor<768x512xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %l, %r, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
        scf.yield %d : !tk.tile<128x128xf32>
      }
      %v1 = tk.load %few[%i] map #p : !tk.global<tensor<1024x32xf32>> -> !tk.tile<128x32xf32>
      %v2 = tk.load %many[%i] map #p : !tk.global<tensor<1024x64xf32>> -> !tk.tile<128x64xf32>
      %v3 = tk.load %row[%i] map #n : !tk.global<tensor<1024xf32>> -> !tk.tile<128xf32>
      %s1 = tk.reduce(%v1 : !tk.tile<128x32xf32>) dims [1] -> !tk.tile<128xf32> {
      ^bb0(%u: f32, %v: f32):
        %t = arith.addf %u, %v : f32
        tk.yield %t : f32
      }
      %s2 = tk.reduce(%v2 : !tk.tile<128x64xf32>) dims [1] -> !tk.tile<128xf32> {
      ^bb0(%u: f32, %v: f32):
        %t = arith.addf %u, %v : f32
        tk.yield %t : f32
      }
      %m = tk.map (%s1, %s2, %v3 : !tk.tile<128xf32>, !tk.tile<128xf32>, !tk.tile<128xf32>) -> !tk.tile<128xf32> {
      ^bb0(%u: f32, %v: f32, %q: f32):
        %t = arith.addf %u, %v : f32
        %t1 = arith.addf %t, %q : f32
        tk.yield %t1 : f32
      }
      %bb = tk.broadcast %m dims [0] : !tk.tile<128xf32> -> !tk.tile<128x128xf32>
      %h = tk.map (%sum, %bb : !tk.tile<128x128xf32>, !tk.tile<128x128xf32>) -> !tk.tile<128x128xf32> {
      ^bb0(%u: f32, %v: f32):
        %t = arith.mulf %u, %v : f32
        tk.yield %t : f32
      }
      tk.store %h, %o[%i, %j] map #y : !tk.tile<128x128xf32>, !tk.global<tensor<1024x512xf32>>
      tk.yield
    }
    return
  }
}
