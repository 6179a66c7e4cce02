// Steps of a fold that data leave out: bounds that weft-bound-masks computes, lengths.
// RUN: weft-opt %s --split-input-file --weft-kernelize --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

// Two entries of 64 rows, and the last row's, for a tile of 128 rows; what is implied is not evaluated.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.for_tiles (%[[T:.*]], %{{.*}}) in
// CHECK-COUNT-3: tk.load_index %{{.*}}[{{.*}}] : <tensor<8x1xi64>>
// CHECK-COUNT-3: tk.load_index %{{.*}}[{{.*}}] : <tensor<8x1xi64>>
// CHECK: scf.for
// CHECK-NOT: tk.guard
// CHECK: scf.yield
// WHY: steps of the fold before and behind what the mask keeps are left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>, %ids: tensor<512x1xi64>, %keys: tensor<1x512xi64>, %first: tensor<8x1xi64>, %end: tensor<8x1xi64>) -> tensor<512x32xf32> {
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %f0 = tg.reshape %first : tensor<8x1xi64> to tensor<8x1x1xi64>
    %f1 = tg.broadcast %f0 : tensor<8x1x1xi64> to tensor<8x64x1xi64>
    %f2 = tg.reshape %f1 : tensor<8x64x1xi64> to tensor<512x1xi64>
    %e0 = tg.reshape %end : tensor<8x1xi64> to tensor<8x1x1xi64>
    %e1 = tg.broadcast %e0 : tensor<8x1x1xi64> to tensor<8x64x1xi64>
    %e2 = tg.reshape %e1 : tensor<8x64x1xi64> to tensor<512x1xi64>
    %same = tg.cmp eq %ids, %keys : tensor<512x1xi64>, tensor<1x512xi64>
    %from = tg.cmp ge %col, %f2 : tensor<1x512xi64>, tensor<512x1xi64>
    %to = tg.cmp lt %col, %e2 : tensor<1x512xi64>, tensor<512x1xi64>
    %within = tg.and %from, %to : tensor<512x512xi1>, tensor<512x512xi1>
    %keep = tg.and %same, %within {tg.implied} : tensor<512x512xi1>, tensor<512x512xi1>
    %x = tg.select %keep, %s, %inf : tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}


// -----
// A length is one number.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[N:.*]] = tk.load_index %{{.*}}[%{{.*}}, %{{.*}}] : <tensor<1x1xi64>>
// CHECK-NOT: tk.load_index
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0 to %[[END]]
// WHY: steps of the fold behind what the mask keeps are left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>, %length: tensor<1x1xi64>) -> tensor<512x32xf32> {
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %short = tg.cmp lt %col, %length : tensor<1x512xi64>, tensor<1x1xi64>
    %keep = tg.broadcast %short : tensor<1x512xi1> to tensor<512x512xi1>
    %x = tg.select %keep, %s, %inf : tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}


// -----
// An entry for each row would be 128 numbers.
// CHECK-LABEL: func.func @kernel
// CHECK-NOT: tk.load_index
// CHECK: scf.for %{{.*}} = %c0 to %c8
// WHY-NOT: left out
module attributes {tg.schedule = #tg.schedule<tile = [128, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<512x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>, %last: tensor<512x1xi64>) -> tensor<512x32xf32> {
  %col = tg.iota 1 : tensor<1x512xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<512x64xf16>, tensor<512x64xf16> -> tensor<512x512xf32>
    %keep = tg.cmp le %col, %last : tensor<1x512xi64>, tensor<512x1xi64>
    %x = tg.select %keep, %s, %inf : tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %m2 = tg.max %m, %b : tensor<512x1xf32>, tensor<512x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<512x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<512x1xi1>, tensor<f32>, tensor<512x1xf32>
    %c = tg.sub %m, %safe : tensor<512x1xf32>, tensor<512x1xf32>
    %f = tg.exp %c : tensor<512x1xf32>
    %d = tg.sub %x, %safe : tensor<512x512xf32>, tensor<512x1xf32>
    %e = tg.exp %d : tensor<512x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<512x512xf32>
    %g = tg.mul %l, %f : tensor<512x1xf32>, tensor<512x1xf32>
    %l2 = tg.add %g, %t : tensor<512x1xf32>, tensor<512x1xf32>
    %p = tg.cast %e : tensor<512x512xf32> to tensor<512x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<512x512xf16>, tensor<512x32xf16> -> tensor<512x32xf32>
    %h = tg.mul %a, %f : tensor<512x32xf32>, tensor<512x1xf32>
    %a2 = tg.add %h, %o : tensor<512x32xf32>, tensor<512x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<512x1xf32>, tensor<512x1xf32>, tensor<512x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<512x1xf32>, %l: tensor<512x1xf32>, %a: tensor<512x32xf32>):
    %o = tg.div %a, %l : tensor<512x32xf32>, tensor<512x1xf32>
    tg.fold_yield %o : tensor<512x32xf32>
  } : tensor<512x32xf32>
  return %r : tensor<512x32xf32>
}
}

