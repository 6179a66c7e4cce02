// A fold reads the parts of a cache that is stored for others.
// RUN: weft-opt %s --split-input-file --weft-read-through --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks

#qk = affine_map<(r, s, k) -> (r, k)>
#kk = affine_map<(r, s, k) -> (s, k)>
#s = affine_map<(r, s, k) -> (r, s)>
#s2 = affine_map<(r, c, s) -> (r, s)>
#v2 = affine_map<(r, c, s) -> (s, c)>
#y2 = affine_map<(r, c, s) -> (r, c)>

// The new cache is a result: the fold gets a concatenation of its own, with what makes the row.
// CHECK-LABEL: func.func @cache
// CHECK-DAG: %[[ROW:.*]] = tg.mul %arg1, %arg2
// CHECK-DAG: %[[OWN_ROW:.*]] = tg.mul %arg1, %arg2
// CHECK-DAG: %[[OWN:.*]] = tg.concat %arg0, %[[OWN_ROW]] axis = 0
// CHECK-DAG: %[[ALL:.*]] = tg.concat %arg0, %[[ROW]] axis = 0
// CHECK: tg.fold
// CHECK: tg.contract %arg3, %[[OWN]]
// CHECK: return %{{.*}}, %[[ALL]]
// WHY: [Passed] read-through {{.*}}the fold reads 2 parts instead of what is made of them for others", repeated-ops=1
func.func @cache(%old: tensor<511x64xf32>, %k: tensor<1x64xf32>, %cos: tensor<64xf32>, %q: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<512x64xf32>) {
  %row = tg.mul %k, %cos : tensor<1x64xf32>, tensor<64xf32>
  %all = tg.concat %old, %row axis = 0 : tensor<511x64xf32>, tensor<1x64xf32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    %s = tg.contract %q, %all [#qk, #kk, #s] : tensor<4x64xf32>, tensor<512x64xf32> -> tensor<4x512xf32>
    %b = tg.reduce max %s axes = [1] keep_dims {tg.streamed} : tensor<4x512xf32>
    %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
    %d = tg.sub %s, %m2 : tensor<4x512xf32>, tensor<4x1xf32>
    %e = tg.exp %d : tensor<4x512xf32>
    %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
    %f = tg.exp %c : tensor<4x1xf32>
    %p = tg.contract %e, %all [#s2, #v2, #y2] {tg.streamed} : tensor<4x512xf32>, tensor<512x64xf32> -> tensor<4x64xf32>
    %o = tg.mul %a, %f : tensor<4x64xf32>, tensor<4x1xf32>
    %a2 = tg.add %o, %p : tensor<4x64xf32>, tensor<4x64xf32>
    tg.fold_yield %m2, %a2 : tensor<4x1xf32>, tensor<4x64xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    tg.fold_yield %a : tensor<4x64xf32>
  } : tensor<4x64xf32>
  return %r, %all : tensor<4x64xf32>, tensor<512x64xf32>
}

// -----
#qk = affine_map<(r, s, k) -> (r, k)>
#kk = affine_map<(r, s, k) -> (s, k)>
#s = affine_map<(r, s, k) -> (r, s)>
#s2 = affine_map<(r, c, s) -> (r, s)>
#v2 = affine_map<(r, c, s) -> (s, c)>
#y2 = affine_map<(r, c, s) -> (r, c)>

// The row alone is a result. It is the epilogue of a product up to the sum, which is read twice: that is not repeated.
// CHECK-LABEL: func.func @row
// CHECK: %[[SUM:.*]] = tg.add
// CHECK-NOT: tg.add %{{.*}}, %arg4
// CHECK-DAG: %[[OWN_ROW:.*]] = tg.mul %[[SUM]], %arg2
// CHECK-DAG: tg.concat %arg0, %[[OWN_ROW]] axis = 0
// CHECK: tg.fold
// WHY: [Passed] read-through {{.*}}repeated-ops=1
func.func @row(%old: tensor<511x64xf32>, %x: tensor<1x64xf32>, %cos: tensor<64xf32>, %w: tensor<64x64xf32>, %bias: tensor<64xf32>, %q: tensor<4x64xf32>)
    -> (tensor<4x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>) {
  %k = tg.contract %x, %w [#s2, #v2, #y2] : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
  %kb = tg.add %k, %bias : tensor<1x64xf32>, tensor<64xf32>
  %row = tg.mul %kb, %cos : tensor<1x64xf32>, tensor<64xf32>
  %all = tg.concat %old, %row axis = 0 : tensor<511x64xf32>, tensor<1x64xf32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    %s = tg.contract %q, %all [#qk, #kk, #s] : tensor<4x64xf32>, tensor<512x64xf32> -> tensor<4x512xf32>
    %b = tg.reduce max %s axes = [1] keep_dims {tg.streamed} : tensor<4x512xf32>
    %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
    %d = tg.sub %s, %m2 : tensor<4x512xf32>, tensor<4x1xf32>
    %e = tg.exp %d : tensor<4x512xf32>
    %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
    %f = tg.exp %c : tensor<4x1xf32>
    %p = tg.contract %e, %all [#s2, #v2, #y2] {tg.streamed} : tensor<4x512xf32>, tensor<512x64xf32> -> tensor<4x64xf32>
    %o = tg.mul %a, %f : tensor<4x64xf32>, tensor<4x1xf32>
    %a2 = tg.add %o, %p : tensor<4x64xf32>, tensor<4x64xf32>
    tg.fold_yield %m2, %a2 : tensor<4x1xf32>, tensor<4x64xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    tg.fold_yield %a : tensor<4x64xf32>
  } : tensor<4x64xf32>
  return %r, %row, %kb : tensor<4x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>
}

// -----
#qk = affine_map<(r, s, k) -> (r, k)>
#kk = affine_map<(r, s, k) -> (s, k)>
#s = affine_map<(r, s, k) -> (r, s)>
#s2 = affine_map<(r, c, s) -> (r, s)>
#v2 = affine_map<(r, c, s) -> (s, c)>
#y2 = affine_map<(r, c, s) -> (r, c)>

// Two to the forty ways to the fold: each op is visited once.
// WHY: [Passed] read-through
// CHECK-LABEL: func.func @many_ways
// CHECK: tg.fold
func.func @many_ways(%old: tensor<511x64xf32>, %k: tensor<1x64xf32>, %cos: tensor<64xf32>, %q: tensor<4x64xf32>) -> (tensor<4x64xf32>, tensor<512x64xf32>) {
  %row = tg.mul %k, %cos : tensor<1x64xf32>, tensor<64xf32>
  %all = tg.concat %old, %row axis = 0 : tensor<511x64xf32>, tensor<1x64xf32>
  %t1 = tg.add %all, %all : tensor<512x64xf32>, tensor<512x64xf32>
  %t2 = tg.add %t1, %t1 : tensor<512x64xf32>, tensor<512x64xf32>
  %t3 = tg.add %t2, %t2 : tensor<512x64xf32>, tensor<512x64xf32>
  %t4 = tg.add %t3, %t3 : tensor<512x64xf32>, tensor<512x64xf32>
  %t5 = tg.add %t4, %t4 : tensor<512x64xf32>, tensor<512x64xf32>
  %t6 = tg.add %t5, %t5 : tensor<512x64xf32>, tensor<512x64xf32>
  %t7 = tg.add %t6, %t6 : tensor<512x64xf32>, tensor<512x64xf32>
  %t8 = tg.add %t7, %t7 : tensor<512x64xf32>, tensor<512x64xf32>
  %t9 = tg.add %t8, %t8 : tensor<512x64xf32>, tensor<512x64xf32>
  %t10 = tg.add %t9, %t9 : tensor<512x64xf32>, tensor<512x64xf32>
  %t11 = tg.add %t10, %t10 : tensor<512x64xf32>, tensor<512x64xf32>
  %t12 = tg.add %t11, %t11 : tensor<512x64xf32>, tensor<512x64xf32>
  %t13 = tg.add %t12, %t12 : tensor<512x64xf32>, tensor<512x64xf32>
  %t14 = tg.add %t13, %t13 : tensor<512x64xf32>, tensor<512x64xf32>
  %t15 = tg.add %t14, %t14 : tensor<512x64xf32>, tensor<512x64xf32>
  %t16 = tg.add %t15, %t15 : tensor<512x64xf32>, tensor<512x64xf32>
  %t17 = tg.add %t16, %t16 : tensor<512x64xf32>, tensor<512x64xf32>
  %t18 = tg.add %t17, %t17 : tensor<512x64xf32>, tensor<512x64xf32>
  %t19 = tg.add %t18, %t18 : tensor<512x64xf32>, tensor<512x64xf32>
  %t20 = tg.add %t19, %t19 : tensor<512x64xf32>, tensor<512x64xf32>
  %t21 = tg.add %t20, %t20 : tensor<512x64xf32>, tensor<512x64xf32>
  %t22 = tg.add %t21, %t21 : tensor<512x64xf32>, tensor<512x64xf32>
  %t23 = tg.add %t22, %t22 : tensor<512x64xf32>, tensor<512x64xf32>
  %t24 = tg.add %t23, %t23 : tensor<512x64xf32>, tensor<512x64xf32>
  %t25 = tg.add %t24, %t24 : tensor<512x64xf32>, tensor<512x64xf32>
  %t26 = tg.add %t25, %t25 : tensor<512x64xf32>, tensor<512x64xf32>
  %t27 = tg.add %t26, %t26 : tensor<512x64xf32>, tensor<512x64xf32>
  %t28 = tg.add %t27, %t27 : tensor<512x64xf32>, tensor<512x64xf32>
  %t29 = tg.add %t28, %t28 : tensor<512x64xf32>, tensor<512x64xf32>
  %t30 = tg.add %t29, %t29 : tensor<512x64xf32>, tensor<512x64xf32>
  %t31 = tg.add %t30, %t30 : tensor<512x64xf32>, tensor<512x64xf32>
  %t32 = tg.add %t31, %t31 : tensor<512x64xf32>, tensor<512x64xf32>
  %t33 = tg.add %t32, %t32 : tensor<512x64xf32>, tensor<512x64xf32>
  %t34 = tg.add %t33, %t33 : tensor<512x64xf32>, tensor<512x64xf32>
  %t35 = tg.add %t34, %t34 : tensor<512x64xf32>, tensor<512x64xf32>
  %t36 = tg.add %t35, %t35 : tensor<512x64xf32>, tensor<512x64xf32>
  %t37 = tg.add %t36, %t36 : tensor<512x64xf32>, tensor<512x64xf32>
  %t38 = tg.add %t37, %t37 : tensor<512x64xf32>, tensor<512x64xf32>
  %t39 = tg.add %t38, %t38 : tensor<512x64xf32>, tensor<512x64xf32>
  %t40 = tg.add %t39, %t39 : tensor<512x64xf32>, tensor<512x64xf32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    %s = tg.contract %q, %t40 [#qk, #kk, #s] : tensor<4x64xf32>, tensor<512x64xf32> -> tensor<4x512xf32>
    %b = tg.reduce max %s axes = [1] keep_dims {tg.streamed} : tensor<4x512xf32>
    %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
    %d = tg.sub %s, %m2 : tensor<4x512xf32>, tensor<4x1xf32>
    %e = tg.exp %d : tensor<4x512xf32>
    %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
    %f = tg.exp %c : tensor<4x1xf32>
    %p = tg.contract %e, %t40 [#s2, #v2, #y2] {tg.streamed} : tensor<4x512xf32>, tensor<512x64xf32> -> tensor<4x64xf32>
    %o = tg.mul %a, %f : tensor<4x64xf32>, tensor<4x1xf32>
    %a2 = tg.add %o, %p : tensor<4x64xf32>, tensor<4x64xf32>
    tg.fold_yield %m2, %a2 : tensor<4x1xf32>, tensor<4x64xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    tg.fold_yield %a : tensor<4x64xf32>
  } : tensor<4x64xf32>
  return %r, %all : tensor<4x64xf32>, tensor<512x64xf32>
}

// -----
#qk = affine_map<(r, s, k) -> (r, k)>
#kk = affine_map<(r, s, k) -> (s, k)>
#s = affine_map<(r, s, k) -> (r, s)>
#s2 = affine_map<(r, c, s) -> (r, s)>
#v2 = affine_map<(r, c, s) -> (s, c)>
#y2 = affine_map<(r, c, s) -> (r, c)>

// Nobody else reads it; and many rows, each tile of which would put the cache together again.
// CHECK-LABEL: func.func @alone
// CHECK-COUNT-1: tg.concat
// CHECK-NOT: tg.concat
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-1: tg.concat
// CHECK-NOT: tg.concat
// WHY-NOT: read-through
func.func @alone(%old: tensor<511x64xf32>, %row: tensor<1x64xf32>, %q: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %all = tg.concat %old, %row axis = 0 : tensor<511x64xf32>, tensor<1x64xf32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    %s = tg.contract %q, %all [#qk, #kk, #s] : tensor<4x64xf32>, tensor<512x64xf32> -> tensor<4x512xf32>
    %b = tg.reduce max %s axes = [1] keep_dims {tg.streamed} : tensor<4x512xf32>
    %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
    %d = tg.sub %s, %m2 : tensor<4x512xf32>, tensor<4x1xf32>
    %e = tg.exp %d : tensor<4x512xf32>
    %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
    %f = tg.exp %c : tensor<4x1xf32>
    %p = tg.contract %e, %all [#s2, #v2, #y2] {tg.streamed} : tensor<4x512xf32>, tensor<512x64xf32> -> tensor<4x64xf32>
    %o = tg.mul %a, %f : tensor<4x64xf32>, tensor<4x1xf32>
    %a2 = tg.add %o, %p : tensor<4x64xf32>, tensor<4x64xf32>
    tg.fold_yield %m2, %a2 : tensor<4x1xf32>, tensor<4x64xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<4x1xf32>, %a: tensor<4x64xf32>):
    tg.fold_yield %a : tensor<4x64xf32>
  } : tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}
func.func @rows(%old: tensor<511x64xf32>, %row: tensor<1x64xf32>, %q: tensor<256x64xf32>) -> (tensor<256x64xf32>, tensor<512x64xf32>) {
  %all = tg.concat %old, %row axis = 0 : tensor<511x64xf32>, tensor<1x64xf32>
  %r = tg.fold over affine_map<() -> (512)> init [0xFF800000 : f32, 0.0 : f32] update {
  ^bb0(%m: tensor<256x1xf32>, %a: tensor<256x64xf32>):
    %s = tg.contract %q, %all [#qk, #kk, #s] : tensor<256x64xf32>, tensor<512x64xf32> -> tensor<256x512xf32>
    %b = tg.reduce max %s axes = [1] keep_dims {tg.streamed} : tensor<256x512xf32>
    %m2 = tg.max %m, %b : tensor<256x1xf32>, tensor<256x1xf32>
    %d = tg.sub %s, %m2 : tensor<256x512xf32>, tensor<256x1xf32>
    %e = tg.exp %d : tensor<256x512xf32>
    %c = tg.sub %m, %m2 : tensor<256x1xf32>, tensor<256x1xf32>
    %f = tg.exp %c : tensor<256x1xf32>
    %p = tg.contract %e, %all [#s2, #v2, #y2] {tg.streamed} : tensor<256x512xf32>, tensor<512x64xf32> -> tensor<256x64xf32>
    %o = tg.mul %a, %f : tensor<256x64xf32>, tensor<256x1xf32>
    %a2 = tg.add %o, %p : tensor<256x64xf32>, tensor<256x64xf32>
    tg.fold_yield %m2, %a2 : tensor<256x1xf32>, tensor<256x64xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<256x1xf32>, %a: tensor<256x64xf32>):
    tg.fold_yield %a : tensor<256x64xf32>
  } : tensor<256x64xf32>
  return %r, %all : tensor<256x64xf32>, tensor<512x64xf32>
}
