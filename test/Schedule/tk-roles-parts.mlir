// RUN: weft-opt %s -split-input-file --weft-tk-stage --weft-tk-roles | FileCheck %s

// CTAs that have parts of a tile's steps: where their sums only leave as boxes, elementwise, each adds up and stores a share. Blocks of 64 rows and 64 columns are
// 32 registers of a warpgroup's threads.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
// CHECK-LABEL: func @share
// CHECK: %[[SUM:.*]], %[[STORES:.*]], %[[SHARE:.*]] = tk.part_sum %{{.*}} of 12 x 3 in pieces of 32
// CHECK: tk.map(%[[SUM]]
// CHECK: scf.if %[[STORES]]
// CHECK-NEXT: tk.store_box {{.*}} share %[[SHARE]] of 3
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "tail<12,3,row>", persistent = true, split = 1>} {
  func.func @share(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %o: !tk.global<tensor<1024x512xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 2)> order "tail<12,3,row>" persistent {
      %number, %part, %parts = tk.tile_part
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
      %all, %stores, %share = tk.part_sum %sum part (%number, %part, %parts) of 12 x 3 : !tk.tile<128x256xf32>
      %h = tk.map (%all : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      scf.if %stores {
        tk.store %h, %o[%i, %j] map #y : !tk.tile<128x256xf16>, !tk.global<tensor<1024x512xf16>>
      }
      tk.yield
    }
    return
  }
}

// -----
// A row's sum takes all of its columns: the last CTA has them.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
#r = affine_map<(d0)[s0, s1] -> (s0 * 128 + d0, s1)>
// CHECK-LABEL: func @last
// CHECK: tk.part_sum %{{.*}} of 12 x 3 : {{.*}}<128x256xf32>
// CHECK: tk.store_box
// CHECK-NOT: share
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "tail<12,3,row>", persistent = true, split = 1>} {
  func.func @last(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %o: !tk.global<tensor<1024x512xf16>>, %s: !tk.global<tensor<1024x2xf32>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 2)> order "tail<12,3,row>" persistent {
      %number, %part, %parts = tk.tile_part
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
      %all, %stores, %share = tk.part_sum %sum part (%number, %part, %parts) of 12 x 3 : !tk.tile<128x256xf32>
      %rows = tk.reduce (%all : !tk.tile<128x256xf32>) dims [1] -> !tk.tile<128xf32> {
      ^bb0(%u: f32, %v: f32):
        %t = arith.addf %u, %v : f32
        tk.yield %t : f32
      }
      %h = tk.map (%all : !tk.tile<128x256xf32>) -> !tk.tile<128x256xf16> {
      ^bb0(%v: f32):
        %t = arith.truncf %v : f32 to f16
        tk.yield %t : f16
      }
      scf.if %stores {
        tk.store %h, %o[%i, %j] map #y : !tk.tile<128x256xf16>, !tk.global<tensor<1024x512xf16>>
        tk.store %rows, %s[%i, %j] map #r : !tk.tile<128xf32>, !tk.global<tensor<1024x2xf32>>
      }
      tk.yield
    }
    return
  }
}
