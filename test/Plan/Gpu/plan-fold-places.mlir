// As many places as columns: what is done to the accumulators is no map of a score, be they as many or not. Products take longer than maps, so
// warpgroups take no turns.
// RUN: weft-opt %s --split-input-file --weft-derive-folds --weft-plan=gpu=true --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_90a | FileCheck %s --implicit-check-not="turns ="

// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<[[SCHEDULE:.*]], split = 1>
#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>
func.func @main(%q: tensor<96x512x112xf16>, %k: tensor<96x112x112xf16>, %v: tensor<96x112x112xf16>) -> tensor<96x512x112xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x112xf16>, tensor<96x112x112xf16> -> tensor<96x512x112xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x112xf32>
  %c = tg.sub %s, %m : tensor<96x512x112xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x112xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x112xf32>
  %p = tg.div %e, %l : tensor<96x512x112xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x112xf32> to tensor<96x512x112xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x112xf16>, tensor<96x112x112xf16> -> tensor<96x512x112xf16>
  return %o : tensor<96x512x112xf16>
}

// -----

// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<[[SCHEDULE]], split = 1>
#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>
func.func @main(%q: tensor<96x512x112xf16>, %k: tensor<96x96x112xf16>, %v: tensor<96x96x112xf16>) -> tensor<96x512x112xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x112xf16>, tensor<96x96x112xf16> -> tensor<96x512x96xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x96xf32>
  %c = tg.sub %s, %m : tensor<96x512x96xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x96xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x96xf32>
  %p = tg.div %e, %l : tensor<96x512x96xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x96xf32> to tensor<96x512x96xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x96xf16>, tensor<96x96x112xf16> -> tensor<96x512x112xf16>
  return %o : tensor<96x512x112xf16>
}
