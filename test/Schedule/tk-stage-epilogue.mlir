// RUN: weft-opt %s --weft-tk-stage | FileCheck %s

// The residual that the epilogue adds comes by TMA through a channel of its own; the bias, a row, is loaded as it is.
#a = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 64 + d1)>
#b = affine_map<(d0, d1)[s0, s1] -> (s1 * 64 + d0, s0 * 256 + d1)>
#y = affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)>
#n = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
// CHECK-LABEL: func @kernel
// CHECK: %[[R:.*]] = tk.alloc : <1 x 128x256xf16>
// CHECK: %[[CH:.*]] = tk.make_channel engine tma consumers 1 bytes 65536 : <1>
// CHECK: tk.load %arg3
// CHECK: scf.for
// CHECK: tk.acquire %[[CH]]
// CHECK: tk.copy %arg2{{.*}}, %[[R]] channel %[[CH]]
// CHECK: tk.commit %[[CH]]
// CHECK: tk.wait %[[CH]]
// CHECK: %[[T:.*]] = tk.local_load %[[R]]
// CHECK: tk.release %[[CH]]
// CHECK: tk.map({{.*}}%[[T]]
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: !tk.global<tensor<1024x768xf16>>, %w: !tk.global<tensor<768x512xf16>>, %res: !tk.global<tensor<1024x512xf16>>, %bias: !tk.global<tensor<512xf16>>, %o: !tk.global<tensor<1024x512xf16>>) attributes {tk.warps = 8 : i64} {
    tk.for_tiles (%i, %j) in affine_map<() -> (8, 2)> persistent {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c12 = arith.constant 12 : index
      %zero = tk.constant 0.0 : f32 : !tk.tile<128x256xf32>
      %r = tk.load %res[%i, %j] map #y : !tk.global<tensor<1024x512xf16>> -> !tk.tile<128x256xf16>
      %v = tk.load %bias[%j] map #n : !tk.global<tensor<512xf16>> -> !tk.tile<256xf16>
      %bb = tk.broadcast %v dims [1] : !tk.tile<256xf16> -> !tk.tile<128x256xf16>
      %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
        %p = tk.load %x[%i, %k] map #a : !tk.global<tensor<1024x768xf16>> -> !tk.tile<128x64xf16>
        %q = tk.load %w[%j, %k] map #b : !tk.global<tensor<768x512xf16>> -> !tk.tile<64x256xf16>
        %d = tk.dot %p, %q, %acc by wgmma : !tk.tile<128x64xf16>, !tk.tile<64x256xf16>, !tk.tile<128x256xf32>
        scf.yield %d : !tk.tile<128x256xf32>
      }
      %h = tk.map (%sum, %r, %bb : !tk.tile<128x256xf32>, !tk.tile<128x256xf16>, !tk.tile<128x256xf16>) -> !tk.tile<128x256xf16> {
      ^bb0(%s: f32, %u: f16, %w1: f16):
        %t = arith.truncf %s : f32 to f16
        %t1 = arith.addf %t, %u : f16
        %t2 = arith.addf %t1, %w1 : f16
        tk.yield %t2 : f16
      }
      tk.store %h, %o[%i, %j] map #y : !tk.tile<128x256xf16>, !tk.global<tensor<1024x512xf16>>
      tk.yield
    }
    return
  }
}
