// Sums of parts of a product's rows, as wide as its tiles: extra results of its kernel.
// RUN: weft-opt %s --split-input-file --weft-collapse-dims --weft-plan-gpu=target=sm_90a --weft-kernelize | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// The tile has as many columns as a part; what both results need is computed once, behind one loop.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0)[s0, s1] -> (d0 + s0 * {{[0-9]+}}, s1)>
// CHECK: tile = [{{[0-9]+}}, 64]
// CHECK: scf.for
// CHECK: tk.dot
// CHECK-NOT: scf.for
// CHECK: tk.store %[[Y:.*]], %arg2
// CHECK: %[[SUM:.*]] = tk.reduce(%{{.*}} : !tk.tile<[[M:.*]]x64xf32>) dims [1] -> !tk.tile<[[M]]xf32>
// CHECK: tk.store %[[SUM]], %arg3[%{{.*}}, %{{.*}}] map #[[ROWS]]
// CHECK-NOT: scf.for
module {
  func.func @kernel(%x: tensor<512x1024xbf16>, %w: tensor<1024x512xbf16>) -> (tensor<512x512xbf16>, tensor<512x8xf32>) {
    %y = tg.contract %x, %w [#a, #b, #c] : tensor<512x1024xbf16>, tensor<1024x512xbf16> -> tensor<512x512xbf16>
    %y32 = tg.cast %y : tensor<512x512xbf16> to tensor<512x512xf32>
    %sq = tg.mul %y32, %y32 : tensor<512x512xf32>, tensor<512x512xf32>
    %cut = tg.reshape %sq : tensor<512x512xf32> to tensor<512x8x64xf32>
    %s = tg.reduce add %cut axes = [2] : tensor<512x8x64xf32>
    return %y, %s : tensor<512x512xbf16>, tensor<512x8xf32>
  }
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#c = affine_map<(i, j, k) -> (i, j)>

// In the order that --weft-plan-layouts likes: parts of one number side by side.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<(d0)[s0, s1] -> (s0, d0 + s1 * {{[0-9]+}})>
// CHECK: tile = [{{[0-9]+}}, 64]
// CHECK: %[[SUM:.*]] = tk.reduce
// CHECK: tk.store %[[SUM]], %arg3[%[[J:.*]], %[[I:.*]]] map #[[ROWS]]
module {
  func.func @kernel(%x: tensor<512x1024xbf16>, %w: tensor<1024x512xbf16>) -> (tensor<512x512xbf16>, tensor<8x512xf32>) {
    %y = tg.contract %x, %w [#a, #b, #c] : tensor<512x1024xbf16>, tensor<1024x512xbf16> -> tensor<512x512xbf16>
    %y32 = tg.cast %y : tensor<512x512xbf16> to tensor<512x512xf32>
    %cut = tg.reshape %y32 : tensor<512x512xf32> to tensor<512x8x64xf32>
    %s = tg.reduce add %cut axes = [2] : tensor<512x8x64xf32>
    %t = tg.transpose %s [1, 0] : tensor<512x8xf32>
    return %y, %t : tensor<512x512xbf16>, tensor<8x512xf32>
  }
}
