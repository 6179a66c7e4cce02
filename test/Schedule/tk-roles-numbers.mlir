// RUN: weft-opt %s --weft-tk-stage --weft-tk-roles | FileCheck %s

// A loop whose end is a number in memory: each role reads it for itself.
#q = affine_map<(d0, d1)[s0] -> (s0 * 128 + d0, d1)>
#k = affine_map<(d0, d1)[s0] -> (s0 * 64 + d1, d0)>
#v = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
// CHECK-LABEL: func @kernel
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 64], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%q: !tk.global<tensor<512x64xf16>>, %k: !tk.global<tensor<256x64xf16>>, %v: !tk.global<tensor<256x64xf16>>, %n: !tk.global<tensor<4xi64>>, %o: !tk.global<tensor<512x64xf32>>) attributes {tk.warps = 8 : i64} {
    // CHECK: tk.roles
    // CHECK: tk.for_tiles
    // CHECK: %[[END:.*]] = tk.load_index %{{.*}}[%{{.*}}] : <tensor<4xi64>>
    // CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]]
    // CHECK: tk.copy
    // CHECK: }, {
    // CHECK: %[[END2:.*]] = tk.load_index %{{.*}}[%{{.*}}] : <tensor<4xi64>>
    // CHECK: arith.cmpi slt, %{{.*}}, %[[END2]]
    tk.for_tiles (%i) in affine_map<() -> (4)> order "row" {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %end = tk.load_index %n[%i] : !tk.global<tensor<4xi64>>
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x64xf32>
      %queries = tk.load %q[%i] map #q : !tk.global<tensor<512x64xf16>> -> !tk.tile<128x64xf16>
      %sum = scf.for %j = %c0 to %end step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x64xf32>) {
        %keys = tk.load %k[%j] map #k : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
        %s = tk.dot %queries, %keys, %zero by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        %p = tk.map(%s : !tk.tile<128x64xf32>) -> !tk.tile<128x64xf16> {
        ^bb0(%x: f32):
          %0 = arith.truncf %x : f32 to f16
          tk.yield %0 : f16
        }
        %values = tk.load %v[%j] map #v : !tk.global<tensor<256x64xf16>> -> !tk.tile<64x64xf16>
        %next = tk.dot %p, %values, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x64xf16>, !tk.tile<128x64xf32>
        scf.yield %next : !tk.tile<128x64xf32>
      }
      tk.store %sum, %o[%i] map #q : !tk.tile<128x64xf32>, !tk.global<tensor<512x64xf32>>
      tk.yield
    }
    return
  }
}
