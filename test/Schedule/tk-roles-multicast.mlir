// RUN: weft-opt %s -split-input-file --weft-tk-stage --weft-tk-roles | FileCheck %s

// multicast = 2: of the dimensions of the grid the first, along which the larger operand is the same, goes to the CTAs of a cluster;
// that operand's copies are multicast, and its channel counts the consumers of both CTAs.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
// CHECK-DAG: #[[GRID:.*]] = affine_map<() -> (4, 2)>
// CHECK: func.func @kernel
// CHECK-SAME: tk.cluster = 2
// CHECK: tk.make_channel engine tma consumers 16 bytes 49152 {tk.multicast}
// CHECK: tk.for_tiles (%[[I:.*]], %[[J:.*]]) in #[[GRID]] {
// CHECK: %[[FIRST:.*]] = arith.muli %[[I]], %{{c2.*}} : index
// CHECK: %[[RANK:.*]] = tk.cluster_rank
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[RANK]]
// CHECK: tk.copy %{{.*}}[%[[ROW]], {{.*}} engine tma :
// CHECK: tk.copy %{{.*}}[%[[J]], {{.*}} engine tma {tk.multicast} :
// CHECK: %[[END:.*]] = tk.cursor %[[C:.*]] :
// CHECK-NEXT: tk.drain %[[C]][%[[END]]] : <4>
// CHECK: }, {
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1, multicast = 2>} {
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

// 7 rows and one column of tiles: no pairs.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
// CHECK: func.func @kernel
// CHECK-NOT: tk.cluster
// CHECK-NOT: {tk.multicast}
// CHECK: return
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1, multicast = 2>} {
  func.func @kernel(%x: !tk.global<tensor<896x768xf16>>, %w: !tk.global<tensor<768x256xf16>>, %o: !tk.global<tensor<896x256xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (7, 1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<896x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<768x256xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map #y : !tk.tile<128x256xf16>, !tk.global<tensor<896x256xf16>>
      tk.yield
    }
    return
  }
}

// -----

// Where the last of them is not whole, all accesses to rows are guarded, and a tile past the end does nothing: four pairs.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
#rows = affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 879 >= 0)>
// CHECK: #[[FOUR:.*]] = affine_map<() -> (4, 1)>
// CHECK: func.func @kernel
// CHECK-SAME: tk.cluster = 2
// CHECK: tk.for_tiles {{.*}} in #[[FOUR]]
// CHECK: {tk.multicast}
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1, multicast = 2>} {
  func.func @kernel(%x: !tk.global<tensor<880x768xf16>>, %w: !tk.global<tensor<768x256xf16>>, %o: !tk.global<tensor<880x256xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (7, 1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map #a guard #rows : !tk.global<tensor<880x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<768x256xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o[%i, %j] map #y guard #rows : !tk.tile<128x256xf16>, !tk.global<tensor<880x256xf16>>
      tk.yield
    }
    return
  }
}
