// A loop that waits for keys, then for values: with one slot each, the barrier of either wait frees the slot of the other. Values are copied while
// keys are multiplied, and the next keys while values are. The first wait for keys is one for the queries, too. With two slots, copies start
// behind the wait of their own channel.
// RUN: weft-opt %s --weft-tk-stage --weft-tk-pipeline --cse | FileCheck %s
// RUN: sed 's/stages = 1/stages = 2/' %s | weft-opt --weft-tk-stage --weft-tk-pipeline --cse | FileCheck %s --check-prefix=TWO

#q = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
#k = affine_map<(d0, d1)[s0] -> (s0 * 64 + d1, d0)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
// TWO-LABEL: func @kernel
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = mma, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: !tk.global<tensor<256x64xf16>>, %k: !tk.global<tensor<1024x64xf16>>, %v: !tk.global<tensor<1024x64xf16>>, %o: !tk.global<tensor<256x64xf32>>, %n: index) attributes {tk.warps = 4 : i64} {
    tk.for_tiles (%i) in affine_map<() -> (4)> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<64x64xf32>
      %rows = tk.load %q[%i] map #q : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
      // CHECK: tk.copy %arg0
      // CHECK: tk.copy %arg1[%c0,
      // CHECK: tk.commit %[[KEYS:.*]][%c0]
      // CHECK-NOT: tk.copy
      // CHECK-NOT: tk.wait
      // CHECK: scf.for %[[J:.*]] = %c0
      // CHECK: tk.wait %[[KEYS]][%[[J]]] {tk.schedule
      // CHECK-NEXT: tk.acquire
      // CHECK: tk.copy %arg2[%[[J]],
      // CHECK: tk.commit %[[VALUES:.*]][%[[J]]]
      // CHECK: tk.dot
      // CHECK: tk.wait %[[VALUES]][%[[J]]] {tk.schedule
      // CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1
      // CHECK: tk.copy %arg1[%[[NEXT]],
      // CHECK: tk.commit %[[KEYS]][%[[NEXT]]]
      // CHECK: tk.dot
      // CHECK: scf.yield
      // TWO: tk.copy %arg1[%c0,
      // TWO: tk.copy %arg2[%c0,
      // TWO-NOT: tk.copy
      // TWO-NOT: tk.wait
      // TWO: scf.for %[[J:.*]] = %c0
      // TWO: tk.wait {{.*}} pending 1
      // TWO: %[[NEXT:.*]] = arith.addi %[[J]], %c1
      // TWO: tk.copy %arg1[%[[NEXT]],
      // TWO: tk.dot
      // TWO: tk.wait {{.*}} pending 1
      // TWO: tk.copy %arg2[%[[NEXT]],
      // TWO: tk.dot
      // TWO: scf.yield
      %sum = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<64x64xf32>) {
        %keys = tk.load %k[%j] map #k : !tk.global<tensor<1024x64xf16>> -> !tk.tile<64x64xf16>
        %scores = tk.dot %rows, %keys, %zero : !tk.tile<64x64xf16>, !tk.tile<64x64xf16>, !tk.tile<64x64xf32>
        %half = tk.map (%scores : !tk.tile<64x64xf32>) -> !tk.tile<64x64xf16> {
        ^bb0(%s: f32):
          %h = arith.truncf %s : f32 to f16
          tk.yield %h : f16
        }
        %values = tk.load %v[%j] map #v : !tk.global<tensor<1024x64xf16>> -> !tk.tile<64x64xf16>
        %d = tk.dot %half, %values, %acc : !tk.tile<64x64xf16>, !tk.tile<64x64xf16>, !tk.tile<64x64xf32>
        scf.yield %d : !tk.tile<64x64xf32>
      }
      tk.store %sum, %o[%i] map #q : !tk.tile<64x64xf32>, !tk.global<tensor<256x64xf32>>
      tk.yield
    }
    return
  }
}
