// RUN: weft-opt %s -split-input-file --weft-tk-stage --weft-tk-roles | FileCheck %s
// RUN: sed 's/split = 1>/split = 1, turns = true>/' %s | weft-opt -split-input-file --weft-tk-stage --weft-tk-roles | FileCheck %s --check-prefix=TURNS

// Warpgroups take turns at the two dots of an iteration: the first one's first turn comes from the last one, which leaves one at the end.
// TURNS-LABEL: func @kernel
// TURNS: tk.roles
// TURNS-NOT: turn
// TURNS: }, {
// TURNS-NEXT: tk.pass_turn last
// TURNS-NEXT: tk.for_tiles
// TURNS-NOT: turn
// TURNS: scf.for
// TURNS-COUNT-2: tk.wait
// TURNS: tk.take_turn{{$}}
// TURNS-NOT: tk.wait
// TURNS: tk.dot
// TURNS: tk.dot
// TURNS: tk.pass_turn{{$}}
// TURNS-NEXT: tk.dot_wait
// TURNS: scf.yield
// TURNS-NOT: turn
// TURNS: tk.store_box
// TURNS: {{^ *}}}
// TURNS-NEXT: tk.take_turn first

// The second dot's left operand is computed from the first dot's result: it runs beside the first dot of the next
// iteration. The first iteration stands before the loop, the last second dot behind it. What the second dot reads comes back an iteration later:
// one slot more.
#q = affine_map<(d0, d1)[s0] -> (s0 * 128 + d0, d1)>
#k = affine_map<(d0, d1)[s0] -> (s0 * 64 + d1, d0)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 64], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: !tk.global<tensor<512x64xf16>>, %k: !tk.global<tensor<256x64xf16>>, %v: !tk.global<tensor<256x64xf16>>, %o: !tk.global<tensor<512x64xf16>>) attributes {tk.warps = 8 : i64} {
    // CHECK: %[[QC:.*]] = tk.make_channel engine tma consumers 8 bytes 16384 : <1>
    // CHECK: %[[K:.*]] = tk.alloc : <2 x 64x64xf16>
    // CHECK: %[[KC:.*]] = tk.make_channel engine tma consumers 8 bytes 8192 : <2>
    // CHECK: %[[V:.*]] = tk.alloc : <3 x 64x64xf16>
    // CHECK: %[[VC:.*]] = tk.make_channel engine tma consumers 8 bytes 8192 : <3>
    // CHECK: tk.roles
    // CHECK: }, {
    // CHECK: tk.wait %[[QC]]
    // CHECK: tk.wait %[[KC]]
    // CHECK: %[[S:.*]] = tk.dot
    // CHECK: tk.dot_wait %[[S]] pending 0
    // CHECK: tk.release %[[KC]]
    // CHECK-NOT: %[[VC]]
    // CHECK: %[[P:.*]] = tk.map{{.*}} -> !tk.tile<128x64xf16>
    // CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%[[OLD:.*]] = %{{.*}}, %[[HELD:.*]] = %[[P]])
    // Nothing waits between the dots: ptxas would run them one after the other.
    // CHECK: %[[BEFORE:.*]] = arith.subi %[[I]]
    // CHECK: tk.wait %[[KC]][%[[IT:.*]]] :
    // CHECK: %[[PREV:.*]] = arith.addi %{{.*}}, %[[BEFORE]]
    // CHECK: tk.wait %[[VC]][%[[PREV]]]
    // CHECK: %[[S:.*]] = tk.dot
    // CHECK-NOT: tk.wait
    // CHECK: %[[O:.*]] = tk.dot %[[HELD]], %{{.*}}, %[[OLD]]
    // CHECK: %[[S1:.*]] = tk.dot_wait %[[S]] pending 1
    // CHECK: tk.release %[[KC]][%[[IT]]]
    // CHECK: %[[E:.*]] = tk.map(%[[S1]]
    // CHECK: tk.wait %[[VC]][%[[PREV]]]
    // CHECK-NEXT: %[[O1:.*]] = tk.dot_wait %[[O]] pending 0
    // CHECK-NEXT: tk.release %[[VC]][%[[PREV]]]
    // CHECK: tk.map(%[[O1]]
    // CHECK: %[[P:.*]] = tk.map(%[[E]] : {{.*}} -> !tk.tile<128x64xf16>
    // CHECK: scf.yield %{{.*}}, %[[P]]
    // CHECK: tk.wait %[[VC]]
    // CHECK: %[[O:.*]] = tk.dot
    // CHECK: tk.dot_wait %[[O]] pending 0
    // CHECK: tk.release %[[VC]]
    tk.for_tiles (%i) in affine_map<() -> (4)> order "row" {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x64xf32>
      %queries = tk.load %q[%i] map #q : !tk.global<tensor<512x64xf16>> -> !tk.tile<128x64xf16>
      %sum = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x64xf32>) {
        %keys = tk.load %k[%j] map #k : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
        %s = tk.dot %queries, %keys, %zero by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        %e = tk.map(%s : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf32> {
        ^bb0(%x: f32):
          %0 = arith.mulf %x, %x : f32
          tk.yield %0 : f32
        }
        %half = tk.map(%acc : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf32> {
        ^bb0(%x: f32):
          %h = arith.constant 0.5 : f32
          %0 = arith.mulf %x, %h : f32
          tk.yield %0 : f32
        }
        %p = tk.map(%e : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf16> {
        ^bb0(%x: f32):
          %0 = arith.truncf %x : f32 to f16
          tk.yield %0 : f16
        }
        %values = tk.load %v[%j] map #v : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
        %next = tk.dot %p, %values, %half by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        scf.yield %next : !tk.tile<128x64xf32>
      }
      %y = tk.map(%sum : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf16> {
      ^bb0(%x: f32):
        %0 = arith.truncf %x : f32 to f16
        tk.yield %0 : f16
      }
      tk.store %y, %o[%i] map #q : !tk.tile<128x64xf16>, !tk.global<tensor<512x64xf16>>
      tk.yield
    }
    return
  }
}

// -----

// A loop whose bounds are not known: it may not run at all.
#q = affine_map<(d0, d1)[s0] -> (s0 * 128 + d0, d1)>
#k = affine_map<(d0, d1)[s0] -> (s0 * 64 + d1, d0)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 64], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: !tk.global<tensor<512x64xf16>>, %k: !tk.global<tensor<256x64xf16>>, %v: !tk.global<tensor<256x64xf16>>, %o: !tk.global<tensor<512x64xf32>>) attributes {tk.warps = 8 : i64} {
    // CHECK: }, {
    // CHECK: %[[RUNS:.*]] = arith.cmpi slt
    // CHECK: %[[R:.*]] = scf.if %[[RUNS]]
    // CHECK: scf.for
    // CHECK: scf.yield
    // CHECK: %[[O:.*]] = tk.dot_wait %{{.*}} pending 0
    // CHECK: scf.yield %[[O]]
    // CHECK: } else {
    // CHECK-NEXT: scf.yield
    // CHECK: tk.store_box %[[R]]
    tk.for_tiles (%i) in affine_map<() -> (4)> order "row" {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x64xf32>
      %queries = tk.load %q[%i] map #q : !tk.global<tensor<512x64xf16>> -> !tk.tile<128x64xf16>
      %sum = scf.for %j = %c0 to %i step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x64xf32>) {
        %keys = tk.load %k[%j] map #k : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
        %s = tk.dot %queries, %keys, %zero by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        %p = tk.map(%s : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf16> {
        ^bb0(%x: f32):
          %0 = arith.truncf %x : f32 to f16
          tk.yield %0 : f16
        }
        %half = tk.map(%acc : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf32> {
        ^bb0(%x: f32):
          %h = arith.constant 0.5 : f32
          %0 = arith.mulf %x, %h : f32
          tk.yield %0 : f32
        }
        %values = tk.load %v[%j] map #v : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
        %next = tk.dot %p, %values, %half by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        scf.yield %next : !tk.tile<128x64xf32>
      }
      tk.store %sum, %o[%i] map #q : !tk.tile<128x64xf32>, !tk.global<tensor<512x64xf32>>
      tk.yield
    }
    return
  }
}
