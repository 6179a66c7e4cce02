// RUN: weft-opt %s -split-input-file --weft-tk-slice-steps | FileCheck %s
// RUN: weft-opt %s -split-input-file --weft-tk-slice-steps --weft-tk-stage --weft-tk-pipeline --weft-tk-layouts | FileCheck %s --check-prefix=LAYOUT

// Four warps have one piece of 32 x 32: each takes a quarter of every step, and behind the loop the quarters are added up, where the store wants them:
// through shared memory to vectors of a thread, in which the slices are side by side.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @small
// CHECK: %[[ZERO:.*]] = tk.constant 0.000000e+00 : f32 : <32x32x4xf32>
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %[[ZERO]]) -> (!tk.tile<32x32x4xf32>)
// CHECK: tk.dot {{.*}}, %[[ACC]] : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, <32x32x4xf32>
// CHECK: %[[SUM:.*]] = tk.reduce(%[[SUMS]] : !tk.tile<32x32x4xf32>) dims [2] -> !tk.tile<32x32xf32>
// CHECK: arith.addf
// CHECK: tk.store %[[SUM]]
// LAYOUT-LABEL: func @small
// LAYOUT: tk.dot {{.*}}-> dim0=32, dim1=64)">>, {{.*}}32x32x4xf32
// LAYOUT: %[[MOVED:.*]] = tk.convert {{.*warp=..0,0,1.,.0,0,2.. -> .* -> <32x32x4xf32, .*register=..0,1,0.,.0,2,0.,.4,0,0.,.0,0,1.,.0,0,2..}}
// LAYOUT-NEXT: %[[SUM:.*]] = tk.reduce(%[[MOVED]] :
// LAYOUT-NOT: tk.convert
// LAYOUT: tk.store %[[SUM]]
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [32, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @small(%x: !tk.global<tensor<32x768xf16>>, %w: !tk.global<tensor<768x32xf16>>, %o: !tk.global<tensor<32x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<32x32xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<32x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<32x768xf16>> -> !tk.tile<32x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<768x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32xf32>
        scf.yield %d : !tk.tile<32x32xf32>
      }
      tk.store %sum, %o map #y : !tk.tile<32x32xf32>, !tk.global<tensor<32x32xf32>>
      tk.yield
    }
    return
  }
}

// -----

// A sum that starts elsewhere than at zero, and one that something else reads in the loop, stay whole; so does one with too few steps to pay for it.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @whole
// CHECK-NOT: x4xf32
// CHECK: return
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [32, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @whole(%x: !tk.global<tensor<32x768xf16>>, %w: !tk.global<tensor<768x32xf16>>, %o: !tk.global<tensor<32x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c12 = arith.constant 12 : index
      %one = tk.constant 1.0 : f32 : !tk.tile<32x32xf32>
      %zero = tk.constant 0.0 : f32 : !tk.tile<32x32xf32>
      %sum:2 = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %one, %twice = %zero) -> (!tk.tile<32x32xf32>, !tk.tile<32x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<32x768xf16>> -> !tk.tile<32x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<768x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32xf32>
        %e = tk.dot %p, %q, %twice : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32xf32>
        %f = tk.map (%e : !tk.tile<32x32xf32>) -> !tk.tile<32x32xf32> {
        ^bb0(%v: f32):
          %h = arith.addf %v, %v : f32
          tk.yield %h : f32
        }
        scf.yield %d, %f : !tk.tile<32x32xf32>, !tk.tile<32x32xf32>
      }
      %short = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tk.tile<32x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<32x768xf16>> -> !tk.tile<32x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<768x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32xf32>
        scf.yield %d : !tk.tile<32x32xf32>
      }
      tk.store %sum#0, %o map #y : !tk.tile<32x32xf32>, !tk.global<tensor<32x32xf32>>
      tk.store %sum#1, %o map #y : !tk.tile<32x32xf32>, !tk.global<tensor<32x32xf32>>
      tk.store %short, %o map #y : !tk.tile<32x32xf32>, !tk.global<tensor<32x32xf32>>
      tk.yield
    }
    return
  }
}
