// A window in front of a product whose steps several CTAs share: its terms stay in registers. Staged in shared memory (as in front of a mean, contract-inner.mlir),
// they would be in the way of what divides the steps.
// RUN: weft-opt %s --weft-collapse-dims --weft-plan-gpu=target=sm_90a --weft-kernelize | FileCheck %s --check-prefixes=CHECK,SPLIT
// RUN: weft-opt %s --weft-collapse-dims --weft-plan-gpu=target=sm_90a --weft-kernelize --weft-tk-split-steps | FileCheck %s --check-prefixes=CHECK,SHARED

// SPLIT: split = {{[248]}}
// SHARED: tk.cluster_open
// CHECK-NOT: tk.local_read
// CHECK: tk.dot
// CHECK-NOT: tk.local_read
// SHARED: tk.cluster_send
// CHECK: tk.store
module {
  func.func @kernel(%x: tensor<1x9x9x960xf16>, %f: tensor<3x3x960xf16>, %u: tensor<320x960xf16>) -> tensor<1x7x7x320xf16> {
    %zero = tg.constant dense<0.0> : tensor<f16>
    %0 = tg.contract %x, %f [affine_map<(n, h, w, c, i, j) -> (n, h + i, w + j, c)>, affine_map<(n, h, w, c, i, j) -> (i, j, c)>,
         affine_map<(n, h, w, c, i, j) -> (n, h, w, c)>] : tensor<1x9x9x960xf16>, tensor<3x3x960xf16> -> tensor<1x7x7x960xf16>
    %1 = tg.max %0, %zero : tensor<1x7x7x960xf16>, tensor<f16>
    %2 = tg.contract %1, %u [affine_map<(n, h, w, o, c) -> (n, h, w, c)>, affine_map<(n, h, w, o, c) -> (o, c)>, affine_map<(n, h, w, o, c) -> (n, h, w, o)>]
         : tensor<1x7x7x960xf16>, tensor<320x960xf16> -> tensor<1x7x7x320xf16>
    return %2 : tensor<1x7x7x320xf16>
  }
}
