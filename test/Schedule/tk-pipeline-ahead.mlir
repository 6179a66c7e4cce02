// RUN: weft-opt %s --split-input-file --weft-tk-stage --weft-tk-pipeline --cse | FileCheck %s

// A slot for each of three steps: all copies are started ahead of the loop, and the loop commits empty groups, so that every iteration waits with two
// groups behind its own.
#a = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @kernel
// CHECK-COUNT-6: tk.copy
// CHECK: scf.for %[[K:.*]] = %c0
// CHECK-NOT: tk.copy
// CHECK: tk.wait %[[CH:.*]][%[[K]]] pending 2
// CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %c3
// CHECK-NOT: tk.copy
// CHECK: tk.commit %[[CH]][%[[NEXT]]]
// CHECK: tk.dot
// CHECK-NOT: tk.copy
// CHECK: tk.wait %[[CH]][%c0]
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [32, 32], stream = [64], engine = mma, warps = 2, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<32x192xf16>>, %w: !tk.global<tensor<192x32xf16>>, %o: !tk.global<tensor<32x32xf32>>) attributes {tk.warps = 2 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<32x32xf32>
      %sum = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> (!tk.tile<32x32xf32>) {
        %p = tk.load %x[%k] map #a : !tk.global<tensor<32x192xf16>> -> !tk.tile<32x64xf16>
        %q = tk.load %w[%k] map #b : !tk.global<tensor<192x32xf16>> -> !tk.tile<64x32xf16>
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

// What the loop alone reads (queries) has no wait of its own: the loop's first one waits for copies that were asked for behind it.
#q = affine_map<(d0, d1) -> (d0, d1)>
#b = affine_map<(d0, d1)[s0] -> (s0 * 64 + d1, d0)>
#y = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @queries
// CHECK: tk.for_tiles
// CHECK: tk.copy %arg0
// CHECK: tk.commit
// CHECK-NOT: tk.wait
// CHECK-COUNT-2: tk.copy %arg1
// CHECK-NOT: tk.wait
// CHECK: scf.for
// CHECK: tk.wait
// CHECK: tk.dot
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [32, 64], stream = [64], engine = mma, warps = 2, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @queries(%x: !tk.global<tensor<32x64xf16>>, %w: !tk.global<tensor<128x64xf16>>, %o: !tk.global<tensor<32x64xf32>>) attributes {tk.warps = 2 : i64} {
    tk.for_tiles (%t) in affine_map<() -> (1)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<32x64xf32>
      %p = tk.load %x map #q : !tk.global<tensor<32x64xf16>> -> !tk.tile<32x64xf16>
      %sum = scf.for %k = %c0 to %c2 step %c1 iter_args(%acc = %zero) -> (!tk.tile<32x64xf32>) {
        %q = tk.load %w[%k] map #b : !tk.global<tensor<128x64xf16>> -> !tk.tile<64x64xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<32x64xf16>, !tk.tile<64x64xf16>, !tk.tile<32x64xf32>
        scf.yield %d : !tk.tile<32x64xf32>
      }
      tk.store %sum, %o map #y : !tk.tile<32x64xf32>, !tk.global<tensor<32x64xf32>>
      tk.yield
    }
    return
  }
}
