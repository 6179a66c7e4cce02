// Copies run two iterations ahead: a prologue, one barrier an iteration, copies behind it, a drain.
// RUN: weft-opt %s --weft-tk-stage --weft-tk-pipeline --cse | FileCheck %s
// RUN: weft-opt %s --weft-tk-stage --weft-tk-pipeline=expand=false | FileCheck %s --check-prefix=DATA

#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 128 + d1)>
#rows = affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -128 + 999 >= 0)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 128 + d1)>
// CHECK-DAG: #[[$IN:.*]] = affine_set<(d0, d1)[s0, s1, s2, s3] : (-d0 {{.*}}128 + 999 >= 0, s3 - s2 - 1 >= 0)>
// CHECK-LABEL: func @kernel
// CHECK-SAME: %[[N:[a-z0-9]*]]: index)
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1000x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %o: !tk.global<tensor<1000x512xf32>>, %n: index) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i, %j) in affine_map<()[s0] -> (8, 4)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
      // The loop may be shorter than the prologue.
      // CHECK: tk.copy %arg0[%{{.*}}, %c0, %c0, %[[N]]] map #{{.*}} guard #[[$IN]]
      // CHECK: tk.commit %[[CH:.*]][%c0]
      // CHECK: tk.copy %arg0[%{{.*}}, %c1, %c1, %[[N]]] map #{{.*}} guard #[[$IN]]
      // CHECK: tk.commit %[[CH]][%c1]
      // CHECK: scf.for %[[K:.*]] = %c0
      // CHECK-NOT: tk.copy
      // CHECK: tk.wait %[[CH]][%[[K]]] pending 1
      // CHECK: %[[NEXT:.*]] = arith.addi %[[K]], %c2
      // CHECK: tk.copy %arg0[%{{.*}}, %[[NEXT]], %[[NEXT]], %[[N]]] map #{{.*}} guard #[[$IN]]
      // CHECK: tk.commit %[[CH]][%[[NEXT]]]
      // CHECK-NOT: tk.copy
      // CHECK: tk.dot
      // CHECK: scf.yield
      // CHECK: tk.wait %[[CH]][%c0]
      // DATA: tk.copy {{.*}} {tk.schedule = {cluster = 1 : i64, latency = 2 : i64, stage = 0 : i64}}
      // DATA: tk.wait {{.*}} {tk.schedule = {cluster = 0 : i64, latency = 0 : i64, stage = 2 : i64}}
      // DATA: tk.dot {{.*}} {tk.schedule = {cluster = 2 : i64, latency = 0 : i64, stage = 2 : i64}}
      %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
        %p = tk.load %x[%i, %k] map #a guard #rows : !tk.global<tensor<1000x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<768x512xf16>> -> !tk.tile<64x128xf16>
        %d = tk.dot %p, %q, %acc : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
        scf.yield %d : !tk.tile<128x128xf32>
      }
      tk.store %sum, %o[%i, %j] map #y : !tk.tile<128x128xf32>, !tk.global<tensor<1000x512xf32>>
      tk.yield
    }
    return
  }
}
