// RUN: weft-opt %s -split-input-file --weft-tk-split-steps | FileCheck %s

// 5 steps of 64 of 288 places go to four CTAs, of which the first has two; each then has 4 of the 16 rows. What the epilogue reads is asked for ahead of the loop.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#ga = affine_set<(d0, d1)[s0] : (s0 * -64 - d1 + 287 >= 0)>
#gb = affine_set<(d0, d1)[s0] : (s0 * -64 - d0 + 287 >= 0)>
#y = affine_map<(d0, d1)[s0] -> (s0 * 16 + d0, d1)>
// CHECK: #[[$ROWS:.*]] = affine_map<(d0, d1)[s0, s1] -> (d0 + s1 * 4 + s0 * 16, d1)>
// CHECK-LABEL: func @kernel
// CHECK-SAME: tk.cluster = 4
// CHECK: %[[B:.*]] = tk.alloc : <4 x 4x32xf32>
// CHECK: %[[C:.*]] = tk.make_channel engine tma consumers 1 bytes 2048 : <1>
// CHECK: tk.cluster_open %[[B]] on %[[C]]
// CHECK: tk.for_tiles (%[[T:.*]]) in
// CHECK: %[[RANK:.*]] = tk.cluster_rank
// CHECK: %[[LEFT:.*]] = arith.subi %{{c8.*}}, %[[RANK]]
// CHECK: %[[COUNT:.*]] = arith.divui %[[LEFT]], %{{c4.*}}
// CHECK: tk.load %{{.*}}[%[[T]], %[[RANK]]] map #[[$ROWS]] : {{.*}} -> <4x32xf32>
// CHECK: %[[SUM:.*]] = scf.for %[[K:.*]] = %{{c0.*}} to %[[COUNT]] step
// CHECK: %[[ROUND:.*]] = arith.muli %[[K]], %{{c4.*}} : index
// CHECK: arith.addi %[[ROUND]], %[[RANK]]
// CHECK: tk.cluster_send %[[SUM]] to %[[B]] on %[[C]]
// CHECK-COUNT-4: tk.local_load {{.*}} -> <4x32xf32>
// CHECK: %[[ALL:.*]] = tk.map
// CHECK-COUNT-3: arith.addf
// CHECK: tk.map(%[[ALL]], {{.*}}!tk.tile<4x32xf32>
// CHECK: tk.store {{.*}}[%[[T]], %[[RANK]]] map #[[$ROWS]] : <4x32xf32>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 4>} {
  func.func @kernel(%x: !tk.global<tensor<16x288xf16>>, %w: !tk.global<tensor<288x32xf16>>, %r: !tk.global<tensor<64x32xf32>>, %o: !tk.global<tensor<64x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (4)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x32xf32>
      %sum = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x32xf32>) {
        %p = tk.load %x[%k] map #a guard #ga : !tk.global<tensor<16x288xf16>> -> !tk.tile<16x64xf16>
        %q = tk.load %w[%k] map #b guard #gb : !tk.global<tensor<288x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
        scf.yield %d : !tk.tile<16x32xf32>
      }
      %e = tk.load %r[%t] map #y : !tk.global<tensor<64x32xf32>> -> !tk.tile<16x32xf32>
      %h = tk.map (%sum, %e : !tk.tile<16x32xf32>, !tk.tile<16x32xf32>) -> !tk.tile<16x32xf32> {
      ^bb0(%v: f32, %u: f32):
        %s = arith.addf %v, %u : f32
        tk.yield %s : f32
      }
      tk.store %h, %o[%t] map #y : !tk.tile<16x32xf32>, !tk.global<tensor<64x32xf32>>
      tk.yield
    }
    return
  }
}

// -----

// 2 steps would leave two of four CTAs without one: each tile stays with one.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
// CHECK-NOT: tk.cluster
// CHECK: return
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 4>} {
  func.func @kernel(%x: !tk.global<tensor<16x128xf16>>, %w: !tk.global<tensor<128x32xf16>>, %o: !tk.global<tensor<16x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x32xf32>
      %sum = scf.for %k = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<16x128xf16>> -> !tk.tile<16x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<128x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
        scf.yield %d : !tk.tile<16x32xf32>
      }
      tk.store %sum, %o map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<16x32xf32>, !tk.global<tensor<16x32xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Without clusters the sums of all tiles are a variable of the module: 8,192 tiles of 2 KiB from four CTAs would be 64 MiB.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 16 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1)[s0] -> (s0 * 16 + d0, d1)>
// CHECK-LABEL: func @kernel
// CHECK-NOT: tk.cluster
// CHECK: return
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 4>} {
  func.func @kernel(%x: !tk.global<tensor<131072x256xf16>>, %w: !tk.global<tensor<256x32xf16>>, %o: !tk.global<tensor<131072x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (8192)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x32xf32>
      %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x32xf32>) {
        %p = tk.load %x[%t, %k] map #a : !tk.global<tensor<131072x256xf16>> -> !tk.tile<16x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<256x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
        scf.yield %d : !tk.tile<16x32xf32>
      }
      tk.store %sum, %o[%t] map #y : !tk.tile<16x32xf32>, !tk.global<tensor<131072x32xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Two products of one left operand: the sums of both go to the CTAs together, two slots of each CTA.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @kernel
// CHECK-SAME: tk.cluster = 2
// CHECK: %[[B:.*]] = tk.alloc : <4 x 8x32xf32>
// CHECK: %[[C:.*]] = tk.make_channel engine tma consumers 1 bytes 4096 : <1>
// CHECK: %[[SUMS:.*]]:2 = scf.for
// CHECK: tk.cluster_send %[[SUMS]]#0, %[[SUMS]]#1 to %[[B]] on %[[C]]
// CHECK: tk.slot %[[B]][%c0
// CHECK: tk.slot %[[B]][%c1
// CHECK: %[[FIRST:.*]] = tk.map
// CHECK: tk.slot %[[B]][%c2
// CHECK: tk.slot %[[B]][%c3
// CHECK: %[[SECOND:.*]] = tk.map
// CHECK: tk.store %[[FIRST]], %arg3
// CHECK: tk.store %[[SECOND]], %arg4
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 2>} {
  func.func @kernel(%x: !tk.global<tensor<16x256xf16>>, %w: !tk.global<tensor<256x32xf16>>, %u: !tk.global<tensor<256x32xf16>>, %o: !tk.global<tensor<16x32xf32>>, %q: !tk.global<tensor<16x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x32xf32>
      %sum:2 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero, %other = %zero) -> (!tk.tile<16x32xf32>, !tk.tile<16x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<16x256xf16>> -> !tk.tile<16x64xf16>
        %v = tk.load %w[%k] map #b : !tk.global<tensor<256x32xf16>> -> !tk.tile<64x32xf16>
        %z = tk.load %u[%k] map #b : !tk.global<tensor<256x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %v, %acc : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
        %e = tk.dot %p, %z, %other : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
        scf.yield %d, %e : !tk.tile<16x32xf32>, !tk.tile<16x32xf32>
      }
      tk.store %sum#0, %o map #y : !tk.tile<16x32xf32>, !tk.global<tensor<16x32xf32>>
      tk.store %sum#1, %q map #y : !tk.tile<16x32xf32>, !tk.global<tensor<16x32xf32>>
      tk.yield
    }
    return
  }
}

// -----

// A loop that also carries something else than sums of products stays whole.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @kernel
// CHECK-NOT: tk.cluster
// CHECK: return
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 2>} {
  func.func @kernel(%x: !tk.global<tensor<16x256xf16>>, %w: !tk.global<tensor<256x32xf16>>, %o: !tk.global<tensor<16x32xf32>>, %q: !tk.global<tensor<16x32xf32>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<16x32xf32>
      %sum:2 = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero, %other = %zero) -> (!tk.tile<16x32xf32>, !tk.tile<16x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<16x256xf16>> -> !tk.tile<16x64xf16>
        %v = tk.load %w[%k] map #b : !tk.global<tensor<256x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %p, %v, %acc : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
        %e = tk.map (%other : !tk.tile<16x32xf32>) -> !tk.tile<16x32xf32> {
        ^bb0(%f: f32):
          %g = math.exp %f : f32
          tk.yield %g : f32
        }
        scf.yield %d, %e : !tk.tile<16x32xf32>, !tk.tile<16x32xf32>
      }
      tk.store %sum#0, %o map #y : !tk.tile<16x32xf32>, !tk.global<tensor<16x32xf32>>
      tk.store %sum#1, %q map #y : !tk.tile<16x32xf32>, !tk.global<tensor<16x32xf32>>
      tk.yield
    }
    return
  }
}
