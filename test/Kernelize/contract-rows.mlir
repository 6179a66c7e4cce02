// A sum of squares beside a product of as many columns as terms: the product's columns are no rows of the sum.
// RUN: weft-opt %s --weft-plan-gpu=target=sm_90a --weft-kernelize | FileCheck %s

// CHECK: #[[$GRID:.*]] = affine_map<() -> ({{[0-9][0-9]+}})>
// CHECK: tk.for_tiles (%{{.*}}) in #[[$GRID]]
// CHECK-NOT: scf.for
// CHECK-NOT: scf.for
// CHECK: return
#x = affine_map<(j, k) -> (k)>
#w = affine_map<(j, k) -> (j, k)>
#y = affine_map<(j, k) -> (j)>
module {
  func.func @kernel(%x: tensor<1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024xf32> {
    %q = tg.mul %x, %x : tensor<1024xf32>, tensor<1024xf32>
    %s = tg.reduce add %q axes = [0] keep_dims : tensor<1024xf32>
    %y = tg.contract %x, %w [#x, #w, #y] : tensor<1024xf32>, tensor<1024x1024xf32> -> tensor<1024xf32>
    %z = tg.mul %y, %s : tensor<1024xf32>, tensor<1xf32>
    return %z : tensor<1024xf32>
  }
}
