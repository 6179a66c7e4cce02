// RUN: weft-opt %s -split-input-file --weft-tk-stage --weft-tk-roles | FileCheck %s

// split = 2: the 12 steps of a tile go to two CTAs; sums pass through the buffer of an operand, and each CTA stores its share only.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
// CHECK-LABEL: func @kernel
// CHECK-SAME: tk.cluster = 2
// CHECK-SAME: tk.warps = 12
// CHECK: %[[B:.*]] = tk.alloc : <4 x 64x256xf16>
// CHECK: %[[C:.*]] = tk.make_channel engine tma consumers 16 bytes 65536 : <1>
// CHECK: tk.cluster_open %[[B]] on %[[C]]
// CHECK: tk.roles
// CHECK: %[[RANK:.*]] = tk.cluster_rank
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{c6.*}} step
// CHECK: %[[ROUND:.*]] = arith.muli %[[K]], %{{c2.*}} : index
// CHECK: %[[STEP:.*]] = arith.addi %[[ROUND]], %[[RANK]]
// CHECK: tk.copy %{{.*}}, %[[STEP]]]
// CHECK: }, {
// CHECK: %[[SUM:.*]] = tk.dot_wait %{{.*}} pending 0
// CHECK: tk.release
// CHECK: %[[ALL:.*]] = tk.cluster_sum %[[SUM]] through %[[B]] on %[[C]]
// CHECK: tk.map(%[[ALL]]
// CHECK: tk.store_box {{.*}} share %{{.*}} of 2
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 2>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %o: !tk.global<tensor<1024x512xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 2)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<768x512xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map #y : !tk.tile<128x256xf16>, !tk.global<tensor<1024x512xf16>>
      tk.yield
    }
    return
  }
}

// -----

// Of 11 steps the first of two CTAs takes 6.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
// CHECK-LABEL: func @kernel
// CHECK-SAME: tk.cluster = 2
// CHECK: %[[RANK:.*]] = tk.cluster_rank
// CHECK: %[[LEFT:.*]] = arith.subi %{{c12.*}}, %[[RANK]]
// CHECK: %[[COUNT:.*]] = arith.divui %[[LEFT]], %{{c2.*}}
// CHECK: scf.for %{{.*}} = %{{c0.*}} to %[[COUNT]] step
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 2>} {
  func.func @kernel(%x: !tk.global<tensor<1024x704xf16>>, %w: !tk.global<tensor<704x512xf16>>, %o: !tk.global<tensor<1024x512xf32>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 2)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c11 = arith.constant 11 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %c11 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x704xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<704x512xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      tk.store %sum, %o[%i, %j] map #y : !tk.tile<128x256xf32>, !tk.global<tensor<1024x512xf32>>
      tk.yield
    }
    return
  }
}
