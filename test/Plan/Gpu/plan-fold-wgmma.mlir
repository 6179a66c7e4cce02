// Folds of 16-bit matrices on sm_90a: warpgroups of 64 rows, steps that leave the maps registers, persistent where a tile has few steps.
// RUN: weft-opt %s --split-input-file --weft-derive-folds --weft-plan=gpu=true --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_90a | FileCheck %s

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// 64 columns: the products of a score take 64 / 1024 of a clock, its exponential 1 / 16 and its other maps more: warpgroups take turns.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 64], stream = [128], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = true{{.*}}, turns = true>
func.func @main(%q: tensor<96x512x64xf16>, %k: tensor<96x512x64xf16>, %v: tensor<96x512x64xf16>) -> tensor<96x512x64xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x64xf16>, tensor<96x512x64xf16> -> tensor<96x512x512xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x512xf32>
  %c = tg.sub %s, %m : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x512xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x512xf32>
  %p = tg.div %e, %l : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x512xf32> to tensor<96x512x512xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x512xf16>, tensor<96x512x64xf16> -> tensor<96x512x64xf16>
  return %o : tensor<96x512x64xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// 32 columns: maps take more than 1.55 times as long as the products, which hide behind them in any case. No turns.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 32], stream = [128], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = true, split = 1>
func.func @main(%q: tensor<96x512x32xf16>, %k: tensor<96x512x32xf16>, %v: tensor<96x512x32xf16>) -> tensor<96x512x32xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x32xf16>, tensor<96x512x32xf16> -> tensor<96x512x512xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x512xf32>
  %c = tg.sub %s, %m : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x512xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x512xf32>
  %p = tg.div %e, %l : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x512xf32> to tensor<96x512x512xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x512xf16>, tensor<96x512x32xf16> -> tensor<96x512x32xf16>
  return %o : tensor<96x512x32xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// Many steps: tiles go to whatever SM is free. 256 columns take 128 registers of a thread, so steps are of 64; products take longer than maps.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 256], stream = [64], engine = wgmma, warps = 8, stages = 2, order = "row", persistent = false, split = 1>, tg.steady_operands = array<i64: 0, 1, 2>, tk.target = "sm_90a"}
func.func @main(%q: tensor<24x4096x256xf16>, %k: tensor<24x4096x256xf16>, %v: tensor<24x4096x256xf16>) -> tensor<24x4096x256xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<24x4096x256xf16>, tensor<24x4096x256xf16> -> tensor<24x4096x4096xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<24x4096x4096xf32>
  %c = tg.sub %s, %m : tensor<24x4096x4096xf32>, tensor<24x4096x1xf32>
  %e = tg.exp %c : tensor<24x4096x4096xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<24x4096x4096xf32>
  %p = tg.div %e, %l : tensor<24x4096x4096xf32>, tensor<24x4096x1xf32>
  %h = tg.cast %p : tensor<24x4096x4096xf32> to tensor<24x4096x4096xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<24x4096x4096xf16>, tensor<24x4096x256xf16> -> tensor<24x4096x256xf16>
  return %o : tensor<24x4096x256xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// Two rounds of tiles of 256 rows are no longer than four of 128: four warpgroups, with 112 registers a thread and steps of 64.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 256, 64], stream = [64], engine = wgmma, warps = 16, stages = 3, order = "row", persistent = true{{.*}}, turns = true>
func.func @main(%q: tensor<64x1024x64xf16>, %k: tensor<64x1024x64xf16>, %v: tensor<64x1024x64xf16>) -> tensor<64x1024x64xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<64x1024x64xf16>, tensor<64x1024x64xf16> -> tensor<64x1024x1024xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<64x1024x1024xf32>
  %c = tg.sub %s, %m : tensor<64x1024x1024xf32>, tensor<64x1024x1xf32>
  %e = tg.exp %c : tensor<64x1024x1024xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<64x1024x1024xf32>
  %p = tg.div %e, %l : tensor<64x1024x1024xf32>, tensor<64x1024x1xf32>
  %h = tg.cast %p : tensor<64x1024x1024xf32> to tensor<64x1024x1024xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<64x1024x1024xf16>, tensor<64x1024x64xf16> -> tensor<64x1024x64xf16>
  return %o : tensor<64x1024x64xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// A bias is read for each score: no registers for that.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 64], stream = [128], engine = wgmma, warps = 8,
func.func @main(%q: tensor<64x1024x64xf16>, %k: tensor<64x1024x64xf16>, %v: tensor<64x1024x64xf16>, %b: tensor<64x1024x1024xf32>) -> tensor<64x1024x64xf16> {
  %s0 = tg.contract %q, %k [#mk, #nk, #mn] : tensor<64x1024x64xf16>, tensor<64x1024x64xf16> -> tensor<64x1024x1024xf32>
  %s = tg.add %s0, %b : tensor<64x1024x1024xf32>, tensor<64x1024x1024xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<64x1024x1024xf32>
  %c = tg.sub %s, %m : tensor<64x1024x1024xf32>, tensor<64x1024x1xf32>
  %e = tg.exp %c : tensor<64x1024x1024xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<64x1024x1024xf32>
  %p = tg.div %e, %l : tensor<64x1024x1024xf32>, tensor<64x1024x1xf32>
  %h = tg.cast %p : tensor<64x1024x1024xf32> to tensor<64x1024x1024xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<64x1024x1024xf16>, tensor<64x1024x64xf16> -> tensor<64x1024x64xf16>
  return %o : tensor<64x1024x64xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// Fewer columns than wgmma multiplies by.
// CHECK: module @fold attributes {{.*}} engine = mma
func.func @main(%q: tensor<96x512x8xf16>, %k: tensor<96x512x8xf16>, %v: tensor<96x512x8xf16>) -> tensor<96x512x8xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x8xf16>, tensor<96x512x8xf16> -> tensor<96x512x512xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<96x512x512xf32>
  %c = tg.sub %s, %m : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x512xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x512xf32>
  %p = tg.div %e, %l : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x512xf32> to tensor<96x512x512xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x512xf16>, tensor<96x512x8xf16> -> tensor<96x512x8xf16>
  return %o : tensor<96x512x8xf16>
}
