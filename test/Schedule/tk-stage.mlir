// RUN: weft-opt %s -split-input-file --weft-tk-stage | FileCheck %s

// Plain loads of both operands: one channel, the transposition is part of the access.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#rows = affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 999 >= 0)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1000x768xf16>>, %w: !tk.global<tensor<512x768xf16>>, %o: !tk.global<tensor<1000x512xf32>>) attributes {tk.warps = 4 : i64} {
    // CHECK: %[[A:.*]] = tk.alloc : <3 x 128x64xf16>
    // CHECK: %[[B:.*]] = tk.alloc : <3 x 64x128xf16>
    // CHECK: %[[CH:.*]] = tk.make_channel engine cp_async consumers 1 bytes 32768 : <3>
    // CHECK: tk.for_tiles (%[[I:.*]], %[[J:.*]]) in
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 4)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
      // CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args(%[[ACC:.*]] =
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
        // CHECK: %[[S:.*]] = arith.remui %[[K]], %{{.*}} : index
        // CHECK: tk.acquire %[[CH]][%[[K]]]
        // CHECK: %[[SA:.*]] = tk.slot %[[A]][%[[S]]]
        // CHECK: tk.copy %arg0[%[[I]], %[[K]]] map #{{.*}} guard #{{.*}}, %[[SA]] channel %[[CH]][%[[K]]] : !tk.channel<3> engine cp_async
        // CHECK: %[[SB:.*]] = tk.slot %[[B]][%[[S]]]
        // CHECK: tk.copy %arg1[%[[J]], %[[K]]] map #[[BT:.*]], %[[SB]] channel
        // CHECK: tk.commit %[[CH]][%[[K]]]
        // CHECK: tk.wait %[[CH]][%[[K]]]
        // CHECK: %[[VA:.*]] = tk.slot %[[A]][%[[S]]]
        // CHECK: %[[VB:.*]] = tk.slot %[[B]][%[[S]]]
        // CHECK: tk.dot %[[VA]], %[[VB]], %[[ACC]] : !tk.shared<1 x 128x64xf16>, !tk.shared<1 x 64x128xf16>, <128x128xf32>
        // CHECK: tk.release %[[CH]][%[[K]]]
        // CHECK-NOT: tk.load
        %p = tk.load %x[%i, %k] map #a guard #rows : !tk.global<tensor<1000x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<512x768xf16>> -> !tk.tile<128x64xf16>
        %t = tk.broadcast %q dims [1, 0] : !tk.tile<128x64xf16> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %t, %acc : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
        scf.yield %d : !tk.tile<128x128xf32>
      }
      tk.store %sum, %o[%i, %j] map #y : !tk.tile<128x128xf32>, !tk.global<tensor<1000x512xf32>>
      tk.yield
    }
    return
  }
}

// -----

// On sm_90a boxes go by TMA; a row stride that is no multiple of 16 bytes goes through registers.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 128 + d1)>
#rows = affine_set<(d0, d1)[s0, s1, s2] : (-d0 + s0 * -128 + s2 - 1 >= 0)>
#cols = affine_set<(d0, d1)[s0, s1] : (-d1 + s0 * -128 + 500 >= 0)>
#m = affine_map<(d0, d1)[s0, s1, s2] -> (s0 * 128 + d0, s1 * 64 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>>, %w: !tk.global<tensor<768x501xf16>>, %o: !tk.global<tensor<?x501xf32, #tg.dims<()[s0] -> (s0, 501)>>>, %n: index) attributes {tk.warps = 8 : i64} {
    // CHECK: tk.make_channel engine tma consumers 1 bytes 16384 : <4>
    // CHECK: tk.alloc : <2 x 64x128xf16>
    tk.for_tiles (%i, %j) in affine_map<()[s0] -> (s0 ceildiv 128, 4)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
        // CHECK: tk.copy %arg0{{.*}} engine tma
        // CHECK: %[[W:.*]] = tk.load %arg1
        // CHECK: tk.wait
        // CHECK: tk.local_store %[[W]], %[[S:.*]] :
        // CHECK: tk.fence_async
        // CHECK: tk.barrier
        // CHECK: tk.dot %{{.*}}, %[[S]]
        %p = tk.load %x[%i, %k, %n] map #m guard #rows : !tk.global<tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b guard #cols : !tk.global<tensor<768x501xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
        scf.yield %d : !tk.tile<128x128xf32>
      }
      tk.yield
    }
    return
  }
}

// -----

// Tiles that follow one another in a CTA: warps that are ahead store into the slots of the next tile's loop behind a barrier only.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 128 + d1)>
#cols = affine_set<(d0, d1)[s0, s1] : (-d1 + s0 * -128 + 500 >= 0)>
#cols2 = affine_set<(d0, d1)[s0, s1] : (-d1 + s1 * -128 + 500 >= 0)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x501xf16>>, %o: !tk.global<tensor<1024x501xf32>>) attributes {tk.warps = 8 : i64} {
    // CHECK: tk.alloc : <2 x 64x128xf16>
    // CHECK: tk.for_tiles
    // CHECK: tk.barrier
    // CHECK-NEXT: scf.for
    // CHECK: tk.local_store
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 4)> persistent {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b guard #cols : !tk.global<tensor<768x501xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
        scf.yield %d : !tk.tile<128x128xf32>
      }
      tk.store %sum, %o[%i, %j] map #y guard #cols2 : !tk.tile<128x128xf32>, !tk.global<tensor<1024x501xf32>>
      tk.yield
    }
    return
  }
}

// -----

// Attention's inner loop: Q is copied once, K and V have channels of their own, P stays in registers.
#q = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#kt = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: !tk.global<tensor<1024x64xf16>>, %k: !tk.global<tensor<1024x64xf16>>, %v: !tk.global<tensor<1024x64xf16>>) attributes {tk.warps = 4 : i64} {
    // CHECK-COUNT-3: tk.make_channel engine cp_async
    tk.for_tiles (%i) in affine_map<() -> (16)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x64xf32>
      // CHECK: tk.copy %arg0[%{{.*}}] map #{{[a-z0-9]*}}, %[[Q:.*]] channel
      // CHECK: tk.wait
      // CHECK: scf.for
      %p = tk.load %q[%i] map #q : !tk.global<tensor<1024x64xf16>> -> !tk.tile<64x64xf16>
      %sum = scf.for %j = %c0 to %c16 step %c1 iter_args(%acc = %zero) -> (!tk.tile<64x64xf32>) {
        // CHECK: tk.copy %arg1
        // CHECK: tk.wait
        // CHECK: %[[D:.*]] = tk.dot %[[Q]], %{{.*}} : !tk.shared<1 x 64x64xf16>, !tk.shared<1 x 64x64xf16>
        // CHECK: %[[P:.*]] = tk.map(%[[D]]
        // CHECK: tk.copy %arg2
        // CHECK: tk.wait
        // CHECK: tk.dot %[[P]], %{{.*}} : !tk.tile<64x64xf16>, !tk.shared<1 x 64x64xf16>
        %r = tk.load %k[%j] map #kt : !tk.global<tensor<1024x64xf16>> -> !tk.tile<64x64xf16>
        %t = tk.broadcast %r dims [1, 0] : !tk.tile<64x64xf16> -> !tk.tile<64x64xf16>
        %d = tk.dot %p, %t, %zero : !tk.tile<64x64xf16>, !tk.tile<64x64xf16>, !tk.tile<64x64xf32>
        %e = tk.map (%d : !tk.tile<64x64xf32>) -> !tk.tile<64x64xf16> {
        ^bb0(%s: f32):
          %h = arith.truncf %s : f32 to f16
          tk.yield %h : f16
        }
        %u = tk.load %v[%j] map #kt : !tk.global<tensor<1024x64xf16>> -> !tk.tile<64x64xf16>
        %f = tk.dot %e, %u, %acc : !tk.tile<64x64xf16>, !tk.tile<64x64xf16>, !tk.tile<64x64xf32>
        scf.yield %f : !tk.tile<64x64xf32>
      }
      tk.yield
    }
    return
  }
}
