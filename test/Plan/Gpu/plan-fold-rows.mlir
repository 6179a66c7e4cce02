// Rows of folds: how many a CTA has, and along which dimensions.
// RUN: weft-opt %s --split-input-file --weft-derive-folds --weft-plan=gpu=true --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_90a | FileCheck %s

// 128 tiles of 128 rows are one round of the SMs, 256 of 64 rows would be two.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 128], stream = [128], engine = wgmma, warps = 8,
func.func @main(%q: tensor<16x1000x80xf16>, %k: tensor<16x1000x80xf16>, %v: tensor<16x1000x80xf16>) -> tensor<16x1000x80xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<16x1000x80xf16>, tensor<16x1000x80xf16> -> tensor<16x1000x1000xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<16x1000x1000xf32>
  %c = tg.sub %s, %m : tensor<16x1000x1000xf32>, tensor<16x1000x1xf32>
  %e = tg.exp %c : tensor<16x1000x1000xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<16x1000x1000xf32>
  %p = tg.div %e, %l : tensor<16x1000x1000xf32>, tensor<16x1000x1xf32>
  %h = tg.cast %p : tensor<16x1000x1000xf32> to tensor<16x1000x1000xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<16x1000x1000xf16>, tensor<16x1000x80xf16> -> tensor<16x1000x80xf16>
  return %o : tensor<16x1000x80xf16>
}

// -----
// 60 tiles of 128 rows: half of the steps for each of two CTAs. With half of the columns each they would compute the scores twice; 120 tiles of 64 rows read
// all keys and values twice as often.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 128], stream = [128], engine = wgmma, warps = 8, {{.*}} order = "tail<0,2,row>", persistent = true
func.func @main(%q: tensor<12x640x128xf16>, %k: tensor<12x2000x128xf16>, %v: tensor<12x2000x128xf16>) -> tensor<12x640x128xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<12x640x128xf16>, tensor<12x2000x128xf16> -> tensor<12x640x2000xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<12x640x2000xf32>
  %c = tg.sub %s, %m : tensor<12x640x2000xf32>, tensor<12x640x1xf32>
  %e = tg.exp %c : tensor<12x640x2000xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<12x640x2000xf32>
  %p = tg.div %e, %l : tensor<12x640x2000xf32>, tensor<12x640x1xf32>
  %h = tg.cast %p : tensor<12x640x2000xf32> to tensor<12x640x2000xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<12x640x2000xf16>, tensor<12x2000x128xf16> -> tensor<12x640x128xf16>
  return %o : tensor<12x640x128xf16>
}

// -----
// 300 queries of four heads that share keys: tiles of two heads and 64 queries are 10 for each, those of 128 queries 12. Of the 320 the last 56 have two CTAs each.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 2, 64, 64], stream = [128], engine = wgmma, warps = 8, {{.*}} order = "tail<264,2,row>", persistent = true
func.func @main(%q: tensor<32x4x300x64xf16>, %k: tensor<32x3000x64xf16>, %v: tensor<32x3000x64xf16>) -> tensor<32x4x300x64xf16> {
  %s = tg.contract %q, %k [affine_map<(h, g, m, n, k) -> (h, g, m, k)>, affine_map<(h, g, m, n, k) -> (h, n, k)>, affine_map<(h, g, m, n, k) -> (h, g, m, n)>] : tensor<32x4x300x64xf16>, tensor<32x3000x64xf16> -> tensor<32x4x300x3000xf32>
  %m = tg.reduce max %s axes = [3] keep_dims : tensor<32x4x300x3000xf32>
  %c = tg.sub %s, %m : tensor<32x4x300x3000xf32>, tensor<32x4x300x1xf32>
  %e = tg.exp %c : tensor<32x4x300x3000xf32>
  %l = tg.reduce add %e axes = [3] keep_dims : tensor<32x4x300x3000xf32>
  %p = tg.div %e, %l : tensor<32x4x300x3000xf32>, tensor<32x4x300x1xf32>
  %h = tg.cast %p : tensor<32x4x300x3000xf32> to tensor<32x4x300x3000xf16>
  %o = tg.contract %h, %v [affine_map<(h, g, m, n, k) -> (h, g, m, k)>, affine_map<(h, g, m, n, k) -> (h, k, n)>, affine_map<(h, g, m, n, k) -> (h, g, m, n)>] : tensor<32x4x300x3000xf16>, tensor<32x3000x64xf16> -> tensor<32x4x300x64xf16>
  return %o : tensor<32x4x300x64xf16>
}

// -----
// 48 columns leave the mask of a ragged last step its registers: four warpgroups.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 256, 64], stream = [64], engine = wgmma, warps = 16,
func.func @main(%q: tensor<44x3622x48xf16>, %k: tensor<44x3622x48xf16>, %v: tensor<44x3622x48xf16>) -> tensor<44x3622x48xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<44x3622x48xf16>, tensor<44x3622x48xf16> -> tensor<44x3622x3622xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<44x3622x3622xf32>
  %c = tg.sub %s, %m : tensor<44x3622x3622xf32>, tensor<44x3622x1xf32>
  %e = tg.exp %c : tensor<44x3622x3622xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<44x3622x3622xf32>
  %p = tg.div %e, %l : tensor<44x3622x3622xf32>, tensor<44x3622x1xf32>
  %h = tg.cast %p : tensor<44x3622x3622xf32> to tensor<44x3622x3622xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<44x3622x3622xf16>, tensor<44x3622x48xf16> -> tensor<44x3622x48xf16>
  return %o : tensor<44x3622x48xf16>
}
