// A fold's schedule: rows by tiles, columns whole where that fills the device, the streamed dimension in steps.
// RUN: weft-opt %s --split-input-file --weft-derive-folds --weft-plan=gpu=true --weft-outline --weft-collapse-dims --weft-plan-gpu=target=sm_80 --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// Warps of two fragments' rows: what they read of keys and values is multiplied twice.
// WHY: fold over 512 elements: 512 rows of 64 columns in 96 batches, 128 rows a CTA, steps of 64
// CHECK-COUNT-1: tg.dispatch
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 64], stream = [64], engine = mma, warps = 4, stages = 3
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

// Four rows for each of 8 heads: the rows are padded to a fragment, the columns go to four CTAs each. Slots leave a third of an SM's memory to
// the L1, through which the weights of a decoder's other kernels stream.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 16, 32], stream = [64], engine = mma, warps = 4, stages = 3
func.func @main(%q: tensor<8x4x128xf16>, %k: tensor<8x2048x128xf16>, %v: tensor<8x2048x128xf16>) -> tensor<8x4x128xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<8x4x128xf16>, tensor<8x2048x128xf16> -> tensor<8x4x2048xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<8x4x2048xf32>
  %c = tg.sub %s, %m : tensor<8x4x2048xf32>, tensor<8x4x1xf32>
  %e = tg.exp %c : tensor<8x4x2048xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<8x4x2048xf32>
  %p = tg.div %e, %l : tensor<8x4x2048xf32>, tensor<8x4x1xf32>
  %h = tg.cast %p : tensor<8x4x2048xf32> to tensor<8x4x2048xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<8x4x2048xf16>, tensor<8x2048x128xf16> -> tensor<8x4x128xf16>
  return %o : tensor<8x4x128xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// Of 128 columns a thread of such a warp has 128 sums: registers for the scores of 32 places are left.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 128], stream = [32], engine = mma, warps = 4, stages = 2
func.func @main(%q: tensor<24x4352x128xf16>, %k: tensor<24x4352x128xf16>, %v: tensor<24x4352x128xf16>) -> tensor<24x4352x128xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<24x4352x128xf16>, tensor<24x4352x128xf16> -> tensor<24x4352x4352xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<24x4352x4352xf32>
  %c = tg.sub %s, %m : tensor<24x4352x4352xf32>, tensor<24x4352x1xf32>
  %e = tg.exp %c : tensor<24x4352x4352xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<24x4352x4352xf32>
  %p = tg.div %e, %l : tensor<24x4352x4352xf32>, tensor<24x4352x1xf32>
  %h = tg.cast %p : tensor<24x4352x4352xf32> to tensor<24x4352x4352xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<24x4352x4352xf16>, tensor<24x4352x128xf16> -> tensor<24x4352x128xf16>
  return %o : tensor<24x4352x128xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// Of 256 columns queries, and one slot each for keys and values, fill an SM's memory: eight warps find room beside them.
// CHECK: module @fold attributes {{.*}} tg.schedule = #tg.schedule<tile = [1, 128, 256], stream = [64], engine = mma, warps = 8, stages = 1
func.func @main(%q: tensor<48x896x256xf16>, %k: tensor<48x896x256xf16>, %v: tensor<48x896x256xf16>) -> tensor<48x896x256xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<48x896x256xf16>, tensor<48x896x256xf16> -> tensor<48x896x896xf32>
  %m = tg.reduce max %s axes = [2] keep_dims : tensor<48x896x896xf32>
  %c = tg.sub %s, %m : tensor<48x896x896xf32>, tensor<48x896x1xf32>
  %e = tg.exp %c : tensor<48x896x896xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<48x896x896xf32>
  %p = tg.div %e, %l : tensor<48x896x896xf32>, tensor<48x896x1xf32>
  %h = tg.cast %p : tensor<48x896x896xf32> to tensor<48x896x896xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<48x896x896xf16>, tensor<48x896x256xf16> -> tensor<48x896x256xf16>
  return %o : tensor<48x896x256xf16>
}

// -----

#mk = affine_map<(h, m, n, k) -> (h, m, k)>
#nk = affine_map<(h, m, n, k) -> (h, n, k)>
#kn = affine_map<(h, m, n, k) -> (h, k, n)>
#mn = affine_map<(h, m, n, k) -> (h, m, n)>

// A tile that is read beside the scores: more warps hide its loads.
// CHECK: tg.schedule = #tg.schedule<tile = [1, 128, 64], stream = [64], engine = mma, warps = 8
func.func @main(%q: tensor<96x512x64xf16>, %k: tensor<96x512x64xf16>, %v: tensor<96x512x64xf16>, %b: tensor<96x512x512xf32>) -> tensor<96x512x64xf16> {
  %s = tg.contract %q, %k [#mk, #nk, #mn] : tensor<96x512x64xf16>, tensor<96x512x64xf16> -> tensor<96x512x512xf32>
  %t = tg.add %s, %b : tensor<96x512x512xf32>, tensor<96x512x512xf32>
  %m = tg.reduce max %t axes = [2] keep_dims : tensor<96x512x512xf32>
  %c = tg.sub %t, %m : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %e = tg.exp %c : tensor<96x512x512xf32>
  %l = tg.reduce add %e axes = [2] keep_dims : tensor<96x512x512xf32>
  %p = tg.div %e, %l : tensor<96x512x512xf32>, tensor<96x512x1xf32>
  %h = tg.cast %p : tensor<96x512x512xf32> to tensor<96x512x512xf16>
  %o = tg.contract %h, %v [#mk, #kn, #mn] : tensor<96x512x512xf16>, tensor<96x512x64xf16> -> tensor<96x512x64xf16>
  return %o : tensor<96x512x64xf16>
}
