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
// What parts of a mask share is looked at once: else this took 2^40 steps.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.load_index
// CHECK-NOT: tk.load_index
// CHECK: scf.for
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
    %t0 = tg.broadcast %short : tensor<1x512xi1> to tensor<512x512xi1>
    %u0 = tg.and %t0, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t1 = tg.and %t0, %u0 : tensor<512x512xi1>, tensor<512x512xi1>
    %u1 = tg.and %t1, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t2 = tg.and %t1, %u1 : tensor<512x512xi1>, tensor<512x512xi1>
    %u2 = tg.and %t2, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t3 = tg.and %t2, %u2 : tensor<512x512xi1>, tensor<512x512xi1>
    %u3 = tg.and %t3, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t4 = tg.and %t3, %u3 : tensor<512x512xi1>, tensor<512x512xi1>
    %u4 = tg.and %t4, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t5 = tg.and %t4, %u4 : tensor<512x512xi1>, tensor<512x512xi1>
    %u5 = tg.and %t5, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t6 = tg.and %t5, %u5 : tensor<512x512xi1>, tensor<512x512xi1>
    %u6 = tg.and %t6, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t7 = tg.and %t6, %u6 : tensor<512x512xi1>, tensor<512x512xi1>
    %u7 = tg.and %t7, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t8 = tg.and %t7, %u7 : tensor<512x512xi1>, tensor<512x512xi1>
    %u8 = tg.and %t8, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t9 = tg.and %t8, %u8 : tensor<512x512xi1>, tensor<512x512xi1>
    %u9 = tg.and %t9, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t10 = tg.and %t9, %u9 : tensor<512x512xi1>, tensor<512x512xi1>
    %u10 = tg.and %t10, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t11 = tg.and %t10, %u10 : tensor<512x512xi1>, tensor<512x512xi1>
    %u11 = tg.and %t11, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t12 = tg.and %t11, %u11 : tensor<512x512xi1>, tensor<512x512xi1>
    %u12 = tg.and %t12, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t13 = tg.and %t12, %u12 : tensor<512x512xi1>, tensor<512x512xi1>
    %u13 = tg.and %t13, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t14 = tg.and %t13, %u13 : tensor<512x512xi1>, tensor<512x512xi1>
    %u14 = tg.and %t14, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t15 = tg.and %t14, %u14 : tensor<512x512xi1>, tensor<512x512xi1>
    %u15 = tg.and %t15, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t16 = tg.and %t15, %u15 : tensor<512x512xi1>, tensor<512x512xi1>
    %u16 = tg.and %t16, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t17 = tg.and %t16, %u16 : tensor<512x512xi1>, tensor<512x512xi1>
    %u17 = tg.and %t17, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t18 = tg.and %t17, %u17 : tensor<512x512xi1>, tensor<512x512xi1>
    %u18 = tg.and %t18, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t19 = tg.and %t18, %u18 : tensor<512x512xi1>, tensor<512x512xi1>
    %u19 = tg.and %t19, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t20 = tg.and %t19, %u19 : tensor<512x512xi1>, tensor<512x512xi1>
    %u20 = tg.and %t20, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t21 = tg.and %t20, %u20 : tensor<512x512xi1>, tensor<512x512xi1>
    %u21 = tg.and %t21, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t22 = tg.and %t21, %u21 : tensor<512x512xi1>, tensor<512x512xi1>
    %u22 = tg.and %t22, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t23 = tg.and %t22, %u22 : tensor<512x512xi1>, tensor<512x512xi1>
    %u23 = tg.and %t23, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t24 = tg.and %t23, %u23 : tensor<512x512xi1>, tensor<512x512xi1>
    %u24 = tg.and %t24, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t25 = tg.and %t24, %u24 : tensor<512x512xi1>, tensor<512x512xi1>
    %u25 = tg.and %t25, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t26 = tg.and %t25, %u25 : tensor<512x512xi1>, tensor<512x512xi1>
    %u26 = tg.and %t26, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t27 = tg.and %t26, %u26 : tensor<512x512xi1>, tensor<512x512xi1>
    %u27 = tg.and %t27, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t28 = tg.and %t27, %u27 : tensor<512x512xi1>, tensor<512x512xi1>
    %u28 = tg.and %t28, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t29 = tg.and %t28, %u28 : tensor<512x512xi1>, tensor<512x512xi1>
    %u29 = tg.and %t29, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t30 = tg.and %t29, %u29 : tensor<512x512xi1>, tensor<512x512xi1>
    %u30 = tg.and %t30, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t31 = tg.and %t30, %u30 : tensor<512x512xi1>, tensor<512x512xi1>
    %u31 = tg.and %t31, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t32 = tg.and %t31, %u31 : tensor<512x512xi1>, tensor<512x512xi1>
    %u32 = tg.and %t32, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t33 = tg.and %t32, %u32 : tensor<512x512xi1>, tensor<512x512xi1>
    %u33 = tg.and %t33, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t34 = tg.and %t33, %u33 : tensor<512x512xi1>, tensor<512x512xi1>
    %u34 = tg.and %t34, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t35 = tg.and %t34, %u34 : tensor<512x512xi1>, tensor<512x512xi1>
    %u35 = tg.and %t35, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t36 = tg.and %t35, %u35 : tensor<512x512xi1>, tensor<512x512xi1>
    %u36 = tg.and %t36, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t37 = tg.and %t36, %u36 : tensor<512x512xi1>, tensor<512x512xi1>
    %u37 = tg.and %t37, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t38 = tg.and %t37, %u37 : tensor<512x512xi1>, tensor<512x512xi1>
    %u38 = tg.and %t38, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t39 = tg.and %t38, %u38 : tensor<512x512xi1>, tensor<512x512xi1>
    %u39 = tg.and %t39, %t0 : tensor<512x512xi1>, tensor<512x512xi1>
    %t40 = tg.and %t39, %u39 : tensor<512x512xi1>, tensor<512x512xi1>
    %x = tg.select %t40, %s, %inf : tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>
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

// -----
// A causal mask behind a past whose length is data: rows at past + i see places up to there. One number, whose tile's last row is added.
// CHECK-LABEL: func.func @kernel
// CHECK: tk.for_tiles
// CHECK: %[[PAST:.*]] = tk.load_index %{{.*}}[%{{.*}}] : <tensor<1xi64>>
// CHECK: arith.muli %[[PAST]]
// CHECK: scf.for
// WHY: steps of the fold behind what the mask keeps are left out
module attributes {tg.schedule = #tg.schedule<tile = [32, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
func.func @kernel(%q: tensor<64x64xf16>, %k: tensor<512x64xf16>, %v: tensor<512x32xf16>, %past: tensor<1xi64>) -> tensor<64x32xf32> {
  %col = tg.iota 1 : tensor<1x512xi64>
  %row = tg.iota 0 : tensor<64x1xi64>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %at = tg.add %row, %past : tensor<64x1xi64>, tensor<1xi64>
  %keep = tg.cmp le %col, %at : tensor<1x512xi64>, tensor<64x1xi64>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<64x1xf32>, %l: tensor<64x1xf32>, %a: tensor<64x32xf32>):
    %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>] : tensor<64x64xf16>, tensor<512x64xf16> -> tensor<64x512xf32>
    %x = tg.select %keep, %s, %inf : tensor<64x512xi1>, tensor<64x512xf32>, tensor<f32>
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<64x512xf32>
    %m2 = tg.max %m, %b : tensor<64x1xf32>, tensor<64x1xf32>
    %off = tg.is_inf %m2 {positive = false} : tensor<64x1xf32>
    %safe = tg.select %off, %zero, %m2 : tensor<64x1xi1>, tensor<f32>, tensor<64x1xf32>
    %c = tg.sub %m, %safe : tensor<64x1xf32>, tensor<64x1xf32>
    %f = tg.exp %c : tensor<64x1xf32>
    %d = tg.sub %x, %safe : tensor<64x512xf32>, tensor<64x1xf32>
    %e = tg.exp %d : tensor<64x512xf32>
    %t = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<64x512xf32>
    %g = tg.mul %l, %f : tensor<64x1xf32>, tensor<64x1xf32>
    %l2 = tg.add %g, %t : tensor<64x1xf32>, tensor<64x1xf32>
    %p = tg.cast %e : tensor<64x512xf32> to tensor<64x512xf16>
    %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>] {tg.streamed} : tensor<64x512xf16>, tensor<512x32xf16> -> tensor<64x32xf32>
    %h = tg.mul %a, %f : tensor<64x32xf32>, tensor<64x1xf32>
    %a2 = tg.add %h, %o : tensor<64x32xf32>, tensor<64x32xf32>
    tg.fold_yield %m2, %l2, %a2 : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x32xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<64x1xf32>, %l: tensor<64x1xf32>, %a: tensor<64x32xf32>):
    %o = tg.div %a, %l : tensor<64x32xf32>, tensor<64x1xf32>
    tg.fold_yield %o : tensor<64x32xf32>
  } : tensor<64x32xf32>
  return %r : tensor<64x32xf32>
}
}
