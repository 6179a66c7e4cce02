// RUN: weft-opt %s --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage | FileCheck %s

// A sum of one step is a dot without a loop: the residual beside it comes by TMA all the same, so that the epilogue needs
// no detour through shared memory, for which there is no room beside three stages.
// CHECK-LABEL: func @kernel
// CHECK: tk.alloc : <1 x 128x256xbf16>
// CHECK: %[[CH:.*]] = tk.make_channel engine tma consumers 1 bytes 65536 : <1>
// CHECK: tk.dot
// CHECK: tk.copy %arg3{{.*}} channel %[[CH]]
// CHECK: tk.local_load
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = true, split = 1>} {
  func.func @kernel(%x: tensor<100352x64xbf16>, %w: tensor<256x64xbf16>, %bias: tensor<256xbf16>, %r: tensor<100352x256xbf16>) -> tensor<100352x256xbf16> {
    %0 = tg.constant dense<0.000000e+00> : tensor<bf16>
    %1 = tg.contract %x, %w [#a, #b, #c] : tensor<100352x64xbf16>, tensor<256x64xbf16> -> tensor<100352x256xbf16>
    %2 = tg.reshape %bias : tensor<256xbf16> to tensor<1x256xbf16>
    %3 = tg.add %1, %2 : tensor<100352x256xbf16>, tensor<1x256xbf16>
    %4 = tg.add %3, %r : tensor<100352x256xbf16>, tensor<100352x256xbf16>
    %5 = tg.max %4, %0 : tensor<100352x256xbf16>, tensor<bf16>
    return %5 : tensor<100352x256xbf16>
  }
}
