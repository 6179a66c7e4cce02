// RUN: weft-opt %s -split-input-file --weft-tk-stage --weft-tk-roles | FileCheck %s

// Both operands by TMA: a producer, consumers whose iterations go on from tile to tile, slots given back an iteration later.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
// CHECK-LABEL: func @kernel
// CHECK-SAME: tk.warps = 12
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "grouped<8>", persistent = true, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %o: !tk.global<tensor<1024x512xf16>>) attributes {tk.warps = 8 : i64} {
    // CHECK: %[[CH:.*]] = tk.make_channel engine tma consumers 8 bytes 49152 : <4>
    // CHECK: %[[OUT:.*]] = tk.alloc : <4 x 64x64xf16, #tk.layout
    // CHECK: tk.roles warps [4, 8] registers [40, 232] {
    // CHECK-NEXT: tk.for_tiles (%[[I:.*]], %[[J:.*]]) in {{.*}} order "grouped<8>" persistent
    // CHECK: %[[CUR:.*]] = tk.cursor %[[CH]]
    // CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{[a-z0-9_]*}} {
    // CHECK: %[[IT:.*]] = arith.addi %[[CUR]], %[[K]]
    // CHECK: %[[R:.*]] = arith.remui
    // CHECK: %[[SLOT:.*]] = arith.index_castui %[[R]]
    // CHECK: tk.acquire %[[CH]][%[[IT]]]
    // CHECK: tk.slot %{{.*}}[%[[SLOT]]]
    // CHECK: tk.copy {{.*}} channel %[[CH]][%[[IT]]] : !tk.channel<4> engine tma
    // CHECK: tk.copy
    // CHECK: tk.commit
    // CHECK-NOT: tk.dot
    // CHECK: tk.advance %[[CH]] by
    // CHECK: }, {
    // CHECK: tk.for_tiles
    // CHECK: llvm.mlir.poison : f32
    // CHECK: %[[U:.*]] = tk.splat
    // CHECK: %[[L:.*]] = scf.for %[[K:.*]] = %[[LB:.*]] to %{{.*}} iter_args(%{{.*}} = %[[U]])
    // CHECK: %[[IT:.*]] = arith.addi
    // CHECK-NOT: tk.acquire
    // CHECK-NOT: tk.copy
    // CHECK: tk.wait %[[CH]][%[[IT]]]
    // CHECK: %[[P:.*]] = arith.cmpi ne, %[[K]], %[[LB]]
    // CHECK: %[[D:.*]] = tk.dot {{.*}} accumulate %[[P]]
    // CHECK: tk.dot_wait %[[D]] pending 1
    // CHECK: scf.if
    // CHECK: %[[PREV:.*]] = arith.subi %[[IT]]
    // CHECK: tk.release %[[CH]][%[[PREV]]]
    // CHECK: scf.yield
    // CHECK: %[[F:.*]] = tk.dot_wait %[[L]] pending 0
    // CHECK: tk.advance
    // CHECK: %[[CUR:.*]] = tk.cursor %[[CH]]
    // CHECK: %[[LAST:.*]] = arith.subi %[[CUR]]
    // CHECK: tk.release %[[CH]][%[[LAST]]]
    // CHECK: %[[M:.*]] = tk.map(%[[F]]
    // CHECK: tk.store_box %[[M]], %arg2{{.*}} through %[[OUT]]
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 2)> order "grouped<8>" persistent {
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

// An operand that TMA cannot fetch (rows of 1002 bytes) is computed: consumers store it, and wait for each dot.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#cols = affine_set<(d0, d1)[s0] : (500 - d1 >= 0)>
#y = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 128], stream = [64], engine = wgmma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x501xf16>>, %o: !tk.global<tensor<1024x128xf32>>) attributes {tk.warps = 4 : i64} {
    // CHECK: tk.roles warps [4, 4]
    // CHECK: tk.copy
    // CHECK: }, {
    // CHECK: tk.wait
    // CHECK: tk.local_store
    // CHECK: tk.fence_async
    // CHECK: tk.barrier
    // CHECK: %[[D:.*]] = tk.dot
    // CHECK-NOT: accumulate
    // CHECK: %[[W:.*]] = tk.dot_wait %[[D]] pending 0
    // CHECK: tk.release
    // CHECK: scf.yield %[[W]]
    tk.for_tiles (%i) in affine_map<() -> (16)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x128xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<64x128xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x768xf16>> -> !tk.tile<64x64xf16>
        %q = tk.load %w[%k] map #b guard #cols : !tk.global<tensor<768x501xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<64x64xf16>, !tk.tile<64x128xf16>, !tk.tile<64x128xf32>
        scf.yield %d : !tk.tile<64x128xf32>
      }
      tk.store %sum, %o[%i] map #y : !tk.tile<64x128xf32>, !tk.global<tensor<1024x128xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Rows of 1000 bytes, which cp.async fetches and TMA does not: all warps copy and compute, and a proxy fence stands between.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 64 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 128], stream = [64], engine = wgmma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x500xf16>>, %o: !tk.global<tensor<1024x128xf32>>) attributes {tk.warps = 4 : i64} {
    // CHECK-NOT: engine tma
    // CHECK-NOT: tk.roles
    // CHECK: tk.wait
    // CHECK-NEXT: tk.fence_async
    // CHECK: tk.wait
    // CHECK-NEXT: tk.fence_async
    // CHECK: tk.dot %
    tk.for_tiles (%i) in affine_map<() -> (16)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x128xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<64x128xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x768xf16>> -> !tk.tile<64x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<768x500xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<64x64xf16>, !tk.tile<64x128xf16>, !tk.tile<64x128xf32>
        scf.yield %d : !tk.tile<64x128xf32>
      }
      tk.store %sum, %o[%i] map #y : !tk.tile<64x128xf32>, !tk.global<tensor<1024x128xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Two results of a tile: the second one's blocks go on from the slot behind the first one's.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @two_results
// CHECK: tk.store_box {{.*}}, %arg3 map #{{[a-z0-9]+}} through %[[OUT:[a-z0-9]+]] :
// CHECK: tk.store_box {{.*}}, %arg4 map #{{[a-z0-9]+}} through %[[OUT]] {tk.passed = 1 : i64}
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 32], stream = [64], engine = wgmma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @two_results(%x: !tk.global<tensor<64x768xf16>>, %v: !tk.global<tensor<768x32xf16>>, %w: !tk.global<tensor<768x32xf16>>, %o: !tk.global<tensor<64x32xf16>>, %p: !tk.global<tensor<64x32xf16>>) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x32xf32>
      %sums:2 = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero, %other = %zero) -> (!tk.tile<64x32xf32>, !tk.tile<64x32xf32>) {
        %l = tk.load %x[%k] map #a : !tk.global<tensor<64x768xf16>> -> !tk.tile<64x64xf16>
        %q = tk.load %v[%k] map #b : !tk.global<tensor<768x32xf16>> -> !tk.tile<64x32xf16>
        %r = tk.load %w[%k] map #b : !tk.global<tensor<768x32xf16>> -> !tk.tile<64x32xf16>
        %d = tk.dot %l, %q, %acc by wgmma : !tk.tile<64x64xf16>, !tk.tile<64x32xf16>, !tk.tile<64x32xf32>
        %e = tk.dot %l, %r, %other by wgmma : !tk.tile<64x64xf16>, !tk.tile<64x32xf16>, !tk.tile<64x32xf32>
        scf.yield %d, %e : !tk.tile<64x32xf32>, !tk.tile<64x32xf32>
      }
      %h = tk.map (%sums#0 : !tk.tile<64x32xf32>) -> !tk.tile<64x32xf16> {
      ^bb0(%s: f32):
        %t = arith.truncf %s : f32 to f16
        tk.yield %t : f16
      }
      %g = tk.map (%sums#1 : !tk.tile<64x32xf32>) -> !tk.tile<64x32xf16> {
      ^bb0(%s: f32):
        %t = arith.truncf %s : f32 to f16
        tk.yield %t : f16
      }
      tk.store %h, %o map #y : !tk.tile<64x32xf16>, !tk.global<tensor<64x32xf16>>
      tk.store %g, %p map #y : !tk.tile<64x32xf16>, !tk.global<tensor<64x32xf16>>
      tk.yield
    }
    return
  }
}
