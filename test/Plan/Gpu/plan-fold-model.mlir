// The price of folds: what it chooses, what bounds them, and into how many parts a decoder's cache is cut.
// RUN: weft-opt %s --split-input-file --weft-derive-folds --weft-split-folds=target=sm_90a --weft-plan=gpu=true --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_90a --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s

// One step of 128 keys: CTAs of two warpgroups that go on from tile to tile. Four would take two steps, which become straight code and spill.
// CHECK: fold over 128 elements: 5534 rows of 64 columns in 24 batches, 128 rows a CTA, steps of 128: {{[0-9.]+}} us, bound by {{.*}}", schedule="#tg.schedule<tile = [1, 128, 64], stream = [128], engine = wgmma, warps = 8, {{.*}}persistent = true
func.func @main(%q: tensor<24x5534x48xf16>, %k: tensor<24x128x48xf16>, %v: tensor<24x128x48xf16>) -> tensor<24x5534x48xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<24x5534x48xf16>, tensor<24x128x48xf16> -> tensor<24x5534x128xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<24x5534x128xf32>
  %c = tg.sub %s, %m : tensor<24x5534x128xf32>, tensor<24x5534x1xf32>
  %e = tg.exp %c : tensor<24x5534x128xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<24x5534x128xf32>
  %p = tg.div %e, %l : tensor<24x5534x128xf32>, tensor<24x5534x1xf32>
  %h = tg.cast %p : tensor<24x5534x128xf32> to tensor<24x5534x128xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<24x5534x128xf16>, tensor<24x128x48xf16> -> tensor<24x5534x48xf16>
  return %o : tensor<24x5534x48xf16>
}

// -----
// A query a head: threads of many CTAs on an SM hide each other's trips to memory, so there are more parts than two for an SM.
// CHECK: fold over 16384 elements, 1 rows in 30 batches on 132 SMs: {{[0-9.]+}} us whole, {{[0-9.]+}} us in {{[2-9][0-9]}} parts of
// CHECK: 1 rows of 32 columns in {{[0-9]+}} batches, 16 rows a CTA, steps of 64: {{[0-9.]+}} us, bound by dram
func.func @main(%q: tensor<30x1x32xf16>, %k: tensor<30x16384x32xf16>, %v: tensor<30x16384x32xf16>) -> tensor<30x1x32xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<30x1x32xf16>, tensor<30x16384x32xf16> -> tensor<30x1x16384xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<30x1x16384xf32>
  %c = tg.sub %s, %m : tensor<30x1x16384xf32>, tensor<30x1x1xf32>
  %e = tg.exp %c : tensor<30x1x16384xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<30x1x16384xf32>
  %p = tg.div %e, %l : tensor<30x1x16384xf32>, tensor<30x1x1xf32>
  %h = tg.cast %p : tensor<30x1x16384xf32> to tensor<30x1x16384xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<30x1x16384xf16>, tensor<30x16384x32xf16> -> tensor<30x1x32xf16>
  return %o : tensor<30x1x32xf16>
}

// -----
// 296 tiles of 64 rows: states of two parts are as large as what the fold reads, and it stays whole.
// CHECK: fold over 2944 elements, 2344 rows in 8 batches on 132 SMs: {{.*}} in 1 parts
func.func @main(%q: tensor<8x2344x112xf16>, %k: tensor<8x2944x112xf16>, %v: tensor<8x2944x112xf16>) -> tensor<8x2344x112xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<8x2344x112xf16>, tensor<8x2944x112xf16> -> tensor<8x2344x2944xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<8x2344x2944xf32>
  %c = tg.sub %s, %m : tensor<8x2344x2944xf32>, tensor<8x2344x1xf32>
  %e = tg.exp %c : tensor<8x2344x2944xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<8x2344x2944xf32>
  %p = tg.div %e, %l : tensor<8x2344x2944xf32>, tensor<8x2344x1xf32>
  %h = tg.cast %p : tensor<8x2344x2944xf32> to tensor<8x2344x2944xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<8x2344x2944xf16>, tensor<8x2944x112xf16> -> tensor<8x2344x112xf16>
  return %o : tensor<8x2344x112xf16>
}

// -----
// A mask of indices costs the last steps alone: four warpgroups as without one.
// CHECK: fold over 4096 elements: 4096 rows of 64 columns in 120 batches, 256 rows a CTA, steps of 64
func.func @main(%q: tensor<120x4096x64xf16>, %k: tensor<120x4096x64xf16>, %v: tensor<120x4096x64xf16>) -> tensor<120x4096x64xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<120x4096x64xf16>, tensor<120x4096x64xf16> -> tensor<120x4096x4096xf32>
  %i = tg.iota 0 : tensor<4096x1xi64>
  %j = tg.iota 1 : tensor<1x4096xi64>
  %keep = tg.cmp le %j, %i : tensor<1x4096xi64>, tensor<4096x1xi64>
  %none = tg.constant dense<0xFF800000> : tensor<f32>
  %t = tg.select %keep, %s, %none : tensor<4096x4096xi1>, tensor<120x4096x4096xf32>, tensor<f32>
  %m = tg.reduce max %t axes = [2] keep_dims : tensor<120x4096x4096xf32>
  %c = tg.sub %t, %m : tensor<120x4096x4096xf32>, tensor<120x4096x1xf32>
  %e = tg.exp %c : tensor<120x4096x4096xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<120x4096x4096xf32>
  %p = tg.div %e, %l : tensor<120x4096x4096xf32>, tensor<120x4096x1xf32>
  %h = tg.cast %p : tensor<120x4096x4096xf32> to tensor<120x4096x4096xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<120x4096x4096xf16>, tensor<120x4096x64xf16> -> tensor<120x4096x64xf16>
  return %o : tensor<120x4096x64xf16>
}

// -----
// 24 tiles of 64 rows and two steps: columns stay together, though half of the SMs would be idle. With 16 rows a head three of four warps have none, and
// columns go to two CTAs.
// CHECK: fold over 128 elements: 128 rows of 64 columns in 12 batches, 64 rows a CTA{{.*}} schedule="#tg.schedule<tile = [1, 64, 64], stream = [64], engine = mma
func.func @main(%q: tensor<12x128x64xf16>, %k: tensor<12x128x64xf16>, %v: tensor<12x128x64xf16>) -> tensor<12x128x64xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<12x128x64xf16>, tensor<12x128x64xf16> -> tensor<12x128x128xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<12x128x128xf32>
  %c = tg.sub %s, %m : tensor<12x128x128xf32>, tensor<12x128x1xf32>
  %e = tg.exp %c : tensor<12x128x128xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<12x128x128xf32>
  %p = tg.div %e, %l : tensor<12x128x128xf32>, tensor<12x128x1xf32>
  %h = tg.cast %p : tensor<12x128x128xf32> to tensor<12x128x128xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<12x128x128xf16>, tensor<12x128x64xf16> -> tensor<12x128x64xf16>
  return %o : tensor<12x128x64xf16>
}

// -----
// CHECK: fold over 128 elements: 16 rows of 64 columns in 12 batches, 16 rows a CTA{{.*}} schedule="#tg.schedule<tile = [1, 16, 32]
func.func @main(%q: tensor<12x16x64xf16>, %k: tensor<12x128x64xf16>, %v: tensor<12x128x64xf16>) -> tensor<12x16x64xf16> {
  %s = tg.contract %q, %k [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, n, k)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<12x16x64xf16>, tensor<12x128x64xf16> -> tensor<12x16x128xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<12x16x128xf32>
  %c = tg.sub %s, %m : tensor<12x16x128xf32>, tensor<12x16x1xf32>
  %e = tg.exp %c : tensor<12x16x128xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<12x16x128xf32>
  %p = tg.div %e, %l : tensor<12x16x128xf32>, tensor<12x16x1xf32>
  %h = tg.cast %p : tensor<12x16x128xf32> to tensor<12x16x128xf16>
  %o = tg.contract %h, %v [affine_map<(h, m, n, k) -> (h, m, k)>, affine_map<(h, m, n, k) -> (h, k, n)>, affine_map<(h, m, n, k) -> (h, m, n)>] : tensor<12x16x128xf16>, tensor<12x128x64xf16> -> tensor<12x16x64xf16>
  return %o : tensor<12x16x64xf16>
}
