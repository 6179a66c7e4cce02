// Planning for a GPU derives folds first; nothing of the old cascade stays. For the CPU the cascade stays.
// RUN: weft-opt %s --weft-plan=gpu | FileCheck %s
// RUN: weft-opt %s --weft-plan | FileCheck %s --check-prefix=CPU
// CHECK: tg.kernel
// CHECK-NEXT: tg.fold
// CHECK: tg.yield
// CHECK-NOT: tg.kernel
// CPU-NOT: tg.fold
func.func @main(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
  %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
  %e = tg.exp %c : tensor<4x16xf32>
  %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
  %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
  %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
      : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
