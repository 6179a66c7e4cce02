// A fold's schedule: rows by tiles, columns whole, the streamed dimension in steps.
// RUN: weft-opt %s --weft-derive-folds --weft-plan=gpu=true --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_80 --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s

// CHECK: fold of 512 places: 512 rows of 64 columns in 96 batches, 128 rows a CTA, steps of 64
// CHECK-COUNT-1: tg.dispatch
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 64], stream = [64], engine = mma, warps = 8, stages = 3
func.func @main(%q: tensor<96x512x64xf16>, %k: tensor<96x512x64xf16>, %v: tensor<96x512x64xf16>) -> tensor<96x512x64xf16> {
  %s = tg.contract %q, %k [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
      : tensor<96x512x64xf16>, tensor<96x512x64xf16> -> tensor<96x512x512xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x512xf32>
  %c = tg.sub %s, %m : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x512xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x512xf32>
  %p = tg.div %e, %l : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x512xf32> to tensor<96x512x512xf16>
  %o = tg.contract %h, %v [affine_map<(h, i, n, j) -> (h, i, j)>, affine_map<(h, i, n, j) -> (h, j, n)>, affine_map<(h, i, n, j) -> (h, i, n)>]
      : tensor<96x512x512xf16>, tensor<96x512x64xf16> -> tensor<96x512x64xf16>
  return %o : tensor<96x512x64xf16>
}
