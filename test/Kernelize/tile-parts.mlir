// Reductions of parts of a product's columns, as high as its tiles: extra results of its kernel. The squares of
// deviations from a part's mean need the mean, which is another one.
// RUN: weft-opt %s --split-input-file --weft-collapse-dims --weft-plan-gpu=target=sm_90a --weft-kernelize | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: module
// CHECK-SAME: tile = [128, {{[0-9]+}}]
// CHECK: scf.for
// CHECK: tk.dot
// CHECK-NOT: scf.for
// CHECK: tk.store %{{.*}}, %arg2
// CHECK: %[[SUM:.*]] = tk.reduce(%{{.*}} : !tk.tile<128x[[N:[0-9]+]]xf32>) dims [0] -> !tk.tile<[[N]]xf32>
// CHECK: %[[MEAN:.*]] = tk.map(%[[SUM]]
// CHECK: tk.store %[[MEAN]], %arg3[%[[I:.*]], %[[J:.*]]]
// CHECK: tk.broadcast %[[MEAN]]
// CHECK: %[[SPREAD:.*]] = tk.reduce(%{{.*}} : !tk.tile<128x[[N]]xf32>) dims [0] -> !tk.tile<[[N]]xf32>
// CHECK: tk.store %[[SPREAD]], %arg4[%[[I]], %[[J]]]
// CHECK-NOT: scf.for
module {
  func.func @kernel(%x: tensor<8192x256xbf16>, %w: tensor<256x320xbf16>) -> (tensor<8192x320xbf16>, tensor<64x320xf32>, tensor<64x320xf32>) {
    %n = tg.constant dense<128.0> : tensor<f32>
    %y = tg.contract %x, %w [#a, #b, #c] : tensor<8192x256xbf16>, tensor<256x320xbf16> -> tensor<8192x320xbf16>
    %y32 = tg.cast %y : tensor<8192x320xbf16> to tensor<8192x320xf32>
    %cut = tg.reshape %y32 : tensor<8192x320xf32> to tensor<64x128x320xf32>
    %s = tg.reduce add %cut axes = [1] : tensor<64x128x320xf32>
    %m = tg.div %s, %n : tensor<64x320xf32>, tensor<f32>
    %mean = tg.reshape %m : tensor<64x320xf32> to tensor<64x1x320xf32>
    %d = tg.sub %cut, %mean : tensor<64x128x320xf32>, tensor<64x1x320xf32>
    %q = tg.mul %d, %d : tensor<64x128x320xf32>, tensor<64x128x320xf32>
    %v = tg.reduce add %q axes = [1] : tensor<64x128x320xf32>
    return %y, %m, %v : tensor<8192x320xbf16>, tensor<64x320xf32>, tensor<64x320xf32>
  }
}

// -----

#x = affine_map<(n, o, h, w, c, i, j) -> (n, h + i, w + j, c)>
#f = affine_map<(n, o, h, w, c, i, j) -> (i, j, c, o)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>

// A convolution, whose channels are innermost in memory: 128 places of a channel are two rows of the image.
// CHECK-LABEL: module
// CHECK-SAME: tile = [1, 2, 64, {{[0-9]+}}]
// CHECK: scf.for
// CHECK: tk.dot
// CHECK-NOT: scf.for
// CHECK: tk.store %{{.*}}, %arg2
// CHECK: tk.reduce(%{{.*}} : !tk.tile<128x[[N:[0-9]+]]xf32>) dims [0] -> !tk.tile<[[N]]xf32>
// CHECK: tk.store %{{.*}}, %arg3
// CHECK-NOT: scf.for
module {
  func.func @kernel(%x: tensor<2x66x66x64xbf16>, %w: tensor<3x3x64x320xbf16>) -> (tensor<2x64x64x320xbf16>, tensor<2x320x32xf32>) {
    %y = tg.contract %x, %w [#x, #f, #y] : tensor<2x66x66x64xbf16>, tensor<3x3x64x320xbf16> -> tensor<2x320x64x64xbf16>
    %y32 = tg.cast %y : tensor<2x320x64x64xbf16> to tensor<2x320x64x64xf32>
    %cut = tg.reshape %y32 : tensor<2x320x64x64xf32> to tensor<2x320x32x128xf32>
    %s = tg.reduce add %cut axes = [3] : tensor<2x320x32x128xf32>
    %t = tg.transpose %y [0, 2, 3, 1] : tensor<2x320x64x64xbf16>
    return %t, %s : tensor<2x64x64x320xbf16>, tensor<2x320x32xf32>
  }
}
