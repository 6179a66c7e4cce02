// Finite numbers that mask beside padding, and beside scores without a bound: what a run tests, and what stays.
// RUN: weft-opt %s --split-input-file --weft-band-masks | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-band-masks=test-kernel=0 | FileCheck %s --check-prefix=TEST
// RUN: weft-opt %s --split-input-file --weft-band-masks --remark-policy=all --remarks-filter=fold -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: weft-opt %s --split-input-file --weft-band-masks="test-kernel=1e6 test-byte=10" --remark-policy=all --remarks-filter=fold -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEAR

// Rows keep a place where the first is no padding: places are moved by 0, or by 2^30, for all layers alike. The mask stays beside them, as a choice by the
// same places between its number and the padding, which has no rows. Scores are products of f16 by 0.125.
// CHECK-LABEL: func.func @padding(
// CHECK: %[[REST:.*]] = tg.select %arg2, %{{.*}} : tensor<2x1x1x16xi1>, tensor<f16>, tensor<f16>
// CHECK: %[[ADDED:.*]] = tg.select %{{.*}}, %[[REST]], %{{.*}} : tensor<16x16xi1>, tensor<2x1x1x16xf16>, tensor<f16>
// CHECK: %[[FIRST:.*]] = tg.slice %{{.*}} offsets = [0, 0, 0, 0] {{.*}} : tensor<2x1x1x16xf32> to tensor<2x1x1x1xf32>
// CHECK: %[[KEPT:.*]] = tg.cmp ge %[[FIRST]]
// CHECK-DAG: %[[ALL:.*]] = tg.constant dense<1073741824>
// CHECK: %[[MOVE:.*]] = tg.select %[[KEPT]], %{{.*}}, %{{.*}} : tensor<2x1x1x1xi1>, tensor<i64>, tensor<i64>
// CHECK: %[[PLACE:.*]] = tg.sub %{{.*}}, %[[MOVE]]
// CHECK: %[[SEEN:.*]] = tg.cmp le %[[PLACE]]
// CHECK: %[[SUM:.*]] = tg.add %{{.*}}, %[[ADDED]] : tensor<2x1x16x16xf16>, tensor<2x1x16x16xf16>
// CHECK: tg.select %[[SEEN]], %[[SUM]], %{{.*}} : tensor<2x1x16x16xi1>
// CHECK: tg.sub %{{.*}}, %[[MOVE]]
// CHECK-NOT: tg.slice
// CHECK: return
// REMARK: [Passed] band-mask {{.*}}with 0 <= 0 + i - j + a number from memory: compared
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, h, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
func.func @padding(%q: tensor<2x1x16x64xf16>, %k: tensor<2x1x16x64xf16>, %keep: tensor<2x1x1x16xi1>) -> (tensor<2x1x16x1xf16>, tensor<2x1x16x1xf16>) {
  %p = tg.contract %q, %k [#q, #k, #s] : tensor<2x1x16x64xf16>, tensor<2x1x16x64xf16> -> tensor<2x1x16x16xf16>
  %scale = tg.constant dense<0.125> : tensor<f16>
  %s = tg.mul %p, %scale : tensor<2x1x16x16xf16>, tensor<f16>
  %i = tg.iota 0 : tensor<16x1xi64>
  %j = tg.iota 0 : tensor<16xi64>
  %seen = tg.cmp le %j, %i : tensor<16xi64>, tensor<16x1xi64>
  %zero = tg.constant dense<0.0> : tensor<f16>
  %low = tg.constant dense<-65504.0> : tensor<f16>
  %causal = tg.select %seen, %zero, %low : tensor<16x16xi1>, tensor<f16>, tensor<f16>
  %c = tg.select %keep, %causal, %low : tensor<2x1x1x16xi1>, tensor<16x16xf16>, tensor<f16>
  %x = tg.add %s, %c : tensor<2x1x16x16xf16>, tensor<2x1x16x16xf16>
  %most = tg.reduce max %x axes = [3] keep_dims : tensor<2x1x16x16xf16>
  %t = tg.neg %s : tensor<2x1x16x16xf16>
  %y = tg.add %t, %c : tensor<2x1x16x16xf16>, tensor<2x1x16x16xf16>
  %next = tg.reduce max %y axes = [3] keep_dims : tensor<2x1x16x16xf16>
  return %most, %next : tensor<2x1x16x1xf16>, tensor<2x1x16x1xf16>
}

// -----

// No place is kept by all rows of a window: none may be padding. Numbers that are added must not raise what is masked either.
// CHECK-LABEL: func.func @window(
// CHECK: %[[LEAST:.*]] = tg.reduce min %arg1 axes = [1] keep_dims
// CHECK: %[[KEPT:.*]] = tg.cmp ge %[[LEAST]]
// CHECK: %[[MOST:.*]] = tg.reduce max %arg1 axes = [1] keep_dims
// CHECK: %[[NONE:.*]] = tg.cmp le %[[MOST]]
// CHECK: %[[BOTH:.*]] = tg.and %[[KEPT]], %[[NONE]]
// CHECK: tg.select %{{.*}} : tensor<1x1xi1>, tensor<i64>, tensor<i64>
// REMARK: [Passed] band-mask {{.*}}with 0 <= 3 - i + j + a number from memory, 0 <= 0 + i - j + a number from memory: compared
func.func @window(%s: tensor<16x16xf16>, %added: tensor<1x16xf32>) -> tensor<16x1xf32> {
  %h = tg.tanh %s : tensor<16x16xf16>
  %w = tg.cast %h : tensor<16x16xf16> to tensor<16x16xf32>
  %i = tg.iota 0 : tensor<16x1xi64>
  %j = tg.iota 0 : tensor<16xi64>
  %d = tg.sub %i, %j : tensor<16x1xi64>, tensor<16xi64>
  %three = tg.constant dense<3> : tensor<i64>
  %none = tg.constant dense<0> : tensor<i64>
  %near = tg.cmp le %d, %three : tensor<16x16xi64>, tensor<i64>
  %behind = tg.cmp ge %d, %none : tensor<16x16xi64>, tensor<i64>
  %seen = tg.and %near, %behind : tensor<16x16xi1>, tensor<16x16xi1>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %low = tg.constant dense<-3.0e+38> : tensor<f32>
  %c = tg.select %seen, %zero, %low : tensor<16x16xi1>, tensor<f32>, tensor<f32>
  %both = tg.add %c, %added : tensor<16x16xf32>, tensor<1x16xf32>
  %x = tg.add %w, %both : tensor<16x16xf32>, tensor<16x16xf32>
  %most = tg.reduce max %x axes = [1] keep_dims : tensor<16x16xf32>
  return %most : tensor<16x1xf32>
}

// -----

// Data that mask other places of each row: no number for a sequence says that its rows keep one.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: tg.constant dense<1073741824>
// REMARK: [Missed] no-band {{.*}}data mask elements of some rows
func.func @rows(%s: tensor<16x16xf16>, %keep: tensor<16x16xi1>) -> tensor<16x1xf32> {
  %h = tg.tanh %s : tensor<16x16xf16>
  %w = tg.cast %h : tensor<16x16xf16> to tensor<16x16xf32>
  %i = tg.iota 0 : tensor<16x1xi64>
  %j = tg.iota 0 : tensor<16xi64>
  %seen = tg.cmp le %j, %i : tensor<16xi64>, tensor<16x1xi64>
  %all = tg.and %seen, %keep : tensor<16x16xi1>, tensor<16x16xi1>
  %low = tg.constant dense<-3.0e+38> : tensor<f32>
  %x = tg.select %all, %w, %low : tensor<16x16xi1>, tensor<16x16xf32>, tensor<f32>
  %most = tg.reduce max %x axes = [1] keep_dims : tensor<16x16xf32>
  return %most : tensor<16x1xf32>
}

// -----

// Padding by -65504 hides what is behind by -inf: a row of padding alone has equal weights, also behind. Here scores are any, so it stays.
// CHECK-LABEL: func.func @hidden(
// CHECK-NOT: tg.select {{.*}} : tensor<16x16xi1>, tensor<16x16xf32>, tensor<f32>
// REMARK: [Missed] no-band {{.*}}scores have no bound, so that -6.550e+04 beside them
func.func @hidden(%s: tensor<16x16xf32>, %keep: tensor<16xi1>) -> tensor<16x1xf32> {
  %i = tg.iota 0 : tensor<16x1xi64>
  %j = tg.iota 0 : tensor<16xi64>
  %seen = tg.cmp le %j, %i : tensor<16xi64>, tensor<16x1xi64>
  %zero = tg.constant dense<0.0> : tensor<f32>
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %low = tg.constant dense<-65504.0> : tensor<f32>
  %causal = tg.select %seen, %zero, %inf : tensor<16x16xi1>, tensor<f32>, tensor<f32>
  %c = tg.select %keep, %causal, %low : tensor<16xi1>, tensor<16x16xf32>, tensor<f32>
  %x = tg.add %s, %c : tensor<16x16xf32>, tensor<16x16xf32>
  %most = tg.reduce max %x axes = [1] keep_dims : tensor<16x16xf32>
  return %most : tensor<16x1xf32>
}

// -----

// Products that are scores as they are may be up to 65504: a run looks for the greatest of either operand, for each head. (65504 (1 - 2^-7) - 104) / 2
// over 64 products, and a margin for rounding.
// CHECK-LABEL: func.func @tested(
// CHECK-NOT: tg.abs
// REMARK: [Missed] no-band {{.*}}scores may be up to 6.550e+04, so that -6.550e+04 beside them is not known to give a weight of 0; --fp=fast
// DEAR: [Missed] no-band {{.*}}, and a test of that would cost more than it saves; --fp=fast
// TEST-LABEL: func.func @tested(
// TEST: %[[Q:.*]] = tg.abs %arg0
// TEST: %[[MQ:.*]] = tg.reduce max %[[Q]] axes = [2, 3] keep_dims : tensor<2x3x16x64xf16>
// TEST: %[[MK:.*]] = tg.reduce max %{{.*}} axes = [1, 2] keep_dims : tensor<2x16x64xf16>
// TEST: tg.reshape %{{.*}} : tensor<2x1x1xf32> to tensor<2x1x1x1xf32>
// TEST: %[[LIMIT:.*]] = tg.constant dense<501.9{{.*}}> : tensor<f32>
// TEST: tg.cmp lt %{{.*}}, %[[LIMIT]]
// TEST: tg.select %{{.*}} : tensor<2x3x16x16xi1>, tensor<2x3x16x16xf16>, tensor<f16>
#q = affine_map<(b, h, i, j, d) -> (b, h, i, d)>
#k = affine_map<(b, h, i, j, d) -> (b, j, d)>
#s = affine_map<(b, h, i, j, d) -> (b, h, i, j)>
func.func @tested(%q: tensor<2x3x16x64xf16>, %k: tensor<2x16x64xf16>) -> tensor<2x3x16x1xf16> {
  %s = tg.contract %q, %k [#q, #k, #s] : tensor<2x3x16x64xf16>, tensor<2x16x64xf16> -> tensor<2x3x16x16xf16>
  %i = tg.iota 0 : tensor<16x1xi64>
  %j = tg.iota 0 : tensor<16xi64>
  %seen = tg.cmp le %j, %i : tensor<16xi64>, tensor<16x1xi64>
  %zero = tg.constant dense<0.0> : tensor<f16>
  %low = tg.constant dense<-65504.0> : tensor<f16>
  %c = tg.select %seen, %zero, %low : tensor<16x16xi1>, tensor<f16>, tensor<f16>
  %x = tg.add %s, %c : tensor<2x3x16x16xf16>, tensor<16x16xf16>
  %most = tg.reduce max %x axes = [3] keep_dims : tensor<2x3x16x16xf16>
  return %most : tensor<2x3x16x1xf16>
}
