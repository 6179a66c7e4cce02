// Bounds of masks that compare data.
// RUN: weft-opt %s --split-input-file '--weft-bound-masks=least-elements=64' --remarks-filter=fold --remark-format=emitRemark 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-bound-masks --remarks-filter=fold --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=DEFAULT
// DEFAULT-NOT: tg.implied
// DEFAULT: Remark="fewer than 1024 elements"

// Documents: blocks of 64 rows, the least and greatest id of each, the first and last place with an id between them.
// CHECK-LABEL: func.func @documents
// CHECK: %[[CUT:.*]] = tg.reshape %arg1 : tensor<128x1xi64> to tensor<2x64x1xi64>
// CHECK: %[[LO:.*]] = tg.reduce min %[[CUT]] axes = [1] : tensor<2x64x1xi64>
// CHECK: %[[HI:.*]] = tg.reduce max %{{.*}} axes = [1] : tensor<2x64x1xi64>
// CHECK: %[[ABOVE:.*]] = tg.cmp ge %arg2, %[[LO]] : tensor<1x256xi64>, tensor<2x1xi64>
// CHECK: %[[BELOW:.*]] = tg.cmp le %arg2, %[[HI]]
// CHECK: %[[WITHIN:.*]] = tg.and %[[ABOVE]], %[[BELOW]] : tensor<2x256xi1>, tensor<2x256xi1>
// CHECK: %[[PLACE:.*]] = tg.iota 1 : tensor<1x256xi64>
// CHECK: %[[NONE:.*]] = tg.constant dense<256>
// CHECK: tg.select %[[WITHIN]], %[[PLACE]], %[[NONE]]
// CHECK: %[[FIRST:.*]] = tg.reduce min %{{.*}} axes = [1] keep_dims : tensor<2x256xi64>
// The last place is computed apart: a condition of both would be a tensor in memory.
// CHECK: tg.cmp ge %arg2, %[[LO]]
// CHECK: tg.cmp le %arg2, %[[HI]]
// CHECK: %[[WITHIN2:.*]] = tg.and
// CHECK: %[[NONE2:.*]] = tg.constant dense<-1>
// CHECK: tg.select %[[WITHIN2]], %{{.*}}, %[[NONE2]]
// CHECK: %[[LAST:.*]] = tg.reduce max %{{.*}} axes = [1] keep_dims : tensor<2x256xi64>
// CHECK: tg.fold over
// CHECK: %[[KEEP:.*]] = tg.cmp eq %arg1, %arg2
// CHECK: tg.reshape %[[FIRST]] : tensor<2x1xi64> to tensor<2x1x1xi64>
// CHECK: tg.broadcast %{{.*}} : tensor<2x1x1xi64> to tensor<2x64x1xi64>
// CHECK: tg.cmp ge
// CHECK: tg.reshape %[[LAST]]
// CHECK: tg.cmp le
// CHECK: %[[MASK:.*]] = tg.and %[[KEEP]], %{{.*}} {tg.implied} : tensor<128x256xi1>, tensor<128x256xi1>
// CHECK: tg.select %[[MASK]], %arg0
// WHY: [Passed] mask-bounds {{.*}} Remark="the mask depends on data: the first and last element that it may keep are computed for each of 2 blocks of 64 rows"
func.func @documents(%s: tensor<128x256xf32>, %x: tensor<128x1xi64>, %y: tensor<1x256xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %keep = tg.cmp eq %x, %y : tensor<128x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}

// -----

// Positions, and -inf where the mask holds: y > x is left out, so what is kept is y <= x.
// CHECK-LABEL: func.func @positions
// CHECK: %[[HI:.*]] = tg.reduce max %{{.*}} axes = [1] : tensor<2x64x1xi64>
// CHECK: tg.cmp le %arg2, %[[HI]]
// CHECK-NOT: tg.reduce min %{{.*}} axes = [1] : tensor<2x64x1xi64>
// CHECK: tg.not
// CHECK: tg.or %{{.*}}, %{{.*}} {tg.implied}
// WHY: [Passed] mask-bounds
func.func @positions(%s: tensor<128x256xf32>, %x: tensor<128x1xi64>, %y: tensor<1x256xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %keep = tg.cmp lt %x, %y : tensor<128x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %inf, %s : tensor<128x256xi1>, tensor<f32>, tensor<128x256xf32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}

// -----

// Documents of a causal mask: the comparison of places needs no data.
// CHECK-LABEL: func.func @both
// CHECK-COUNT-1: tg.reduce min %{{.*}} axes = [1] : tensor<2x64x1xi64>
// CHECK: tg.fold over
// CHECK: tg.and %{{.*}} {tg.implied}
// WHY: [Passed] mask-bounds
func.func @both(%s: tensor<128x256xf32>, %x: tensor<128x1xi64>, %y: tensor<1x256xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %row = tg.iota 0 : tensor<128x1xi64>
  %col = tg.iota 1 : tensor<1x256xi64>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %same = tg.cmp eq %x, %y : tensor<128x1xi64>, tensor<1x256xi64>
    %past = tg.cmp ge %row, %col : tensor<128x1xi64>, tensor<1x256xi64>
    %keep = tg.and %same, %past : tensor<128x256xi1>, tensor<128x256xi1>
    %k = tg.select %keep, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}

// -----

// Places alone, lengths without rows, booleans: nothing to compute.
// CHECK-LABEL: func.func @affine
// CHECK-NOT: tg.implied
// CHECK-LABEL: func.func @length
// CHECK-NOT: tg.implied
// CHECK-LABEL: func.func @booleans
// CHECK-NOT: tg.implied
func.func @affine(%s: tensor<128x256xf32>, %x: tensor<1xf32>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %row = tg.iota 0 : tensor<128x1xi64>
  %col = tg.iota 1 : tensor<1x256xi64>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %keep = tg.cmp ge %row, %col : tensor<128x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}
func.func @length(%s: tensor<128x256xf32>, %x: tensor<1x1xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %col = tg.iota 1 : tensor<1x256xi64>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %keep = tg.cmp gt %x, %col : tensor<1x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %s, %inf : tensor<1x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}
func.func @booleans(%s: tensor<128x256xf32>, %x: tensor<128x256xi1>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %k = tg.select %x, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}

// -----

// What is computed in the fold, of values from outside, is computed before it as well.
// CHECK-LABEL: func.func @inside
// CHECK: %[[Z:.*]] = tg.neg %arg2
// CHECK: tg.cmp ge %[[Z]]
// CHECK: tg.fold over
// CHECK: tg.implied
// WHY: [Passed] mask-bounds
func.func @inside(%s: tensor<128x256xf32>, %x: tensor<128x1xi64>, %y: tensor<1x256xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %z = tg.neg %y : tensor<1x256xi64>
    %keep = tg.cmp eq %x, %z : tensor<128x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}

// -----

// CHECK-LABEL: func.func @state
// CHECK-NOT: tg.implied
// WHY: Remark="what the mask compares depends on the fold"
func.func @state(%s: tensor<128x256xf32>, %x: tensor<128x1xi64>, %y: tensor<1x256xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %z = tg.cast %m : tensor<128x1xf32> to tensor<128x1xi64>
    %keep = tg.cmp eq %z, %y : tensor<128x1xi64>, tensor<1x256xi64>
    %k = tg.select %keep, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}

// -----

// Behind a reshape the dimensions of the batch are others than those that are compared: no bounds.
// CHECK-LABEL: func.func @merged
// CHECK-NOT: tg.implied
func.func @merged(%s: tensor<6x128x256xf32>, %x: tensor<2x1x128x1xi64>, %y: tensor<1x3x1x256xi64>) -> tensor<6x128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<6x128x1xf32>):
    %same = tg.cmp eq %x, %y : tensor<2x1x128x1xi64>, tensor<1x3x1x256xi64>
    %keep = tg.reshape %same : tensor<2x3x128x256xi1> to tensor<6x128x256xi1>
    %k = tg.select %keep, %s, %inf : tensor<6x128x256xi1>, tensor<6x128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [2] keep_dims {tg.streamed} : tensor<6x128x256xf32>
    %m2 = tg.max %m, %b : tensor<6x128x1xf32>, tensor<6x128x1xf32>
    tg.fold_yield %m2 : tensor<6x128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<6x128x1xf32>):
    tg.fold_yield %m : tensor<6x128x1xf32>
  } : tensor<6x128x1xf32>
  return %r : tensor<6x128x1xf32>
}

// -----

// What parts of a mask share is looked at once: else this took 2^40 steps.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-2: tg.reduce min %{{.*}} axes = [1] : tensor<2x64x1xi64>
// CHECK-NOT: tg.reduce min %{{.*}} axes = [1] : tensor<2x64x1xi64>
// CHECK: tg.and %{{.*}} {tg.implied}
func.func @shared(%s: tensor<128x256xf32>, %x: tensor<128x1xi64>, %y: tensor<1x256xi64>) -> tensor<128x1xf32> {
  %inf = tg.constant dense<0xFF800000> : tensor<f32>
  %r = tg.fold over affine_map<() -> (256)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<128x1xf32>):
    %same = tg.cmp eq %x, %y : tensor<128x1xi64>, tensor<1x256xi64>
    %t0 = tg.cmp ge %y, %x : tensor<1x256xi64>, tensor<128x1xi64>
    %u0 = tg.and %t0, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t1 = tg.and %t0, %u0 : tensor<128x256xi1>, tensor<128x256xi1>
    %u1 = tg.and %t1, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t2 = tg.and %t1, %u1 : tensor<128x256xi1>, tensor<128x256xi1>
    %u2 = tg.and %t2, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t3 = tg.and %t2, %u2 : tensor<128x256xi1>, tensor<128x256xi1>
    %u3 = tg.and %t3, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t4 = tg.and %t3, %u3 : tensor<128x256xi1>, tensor<128x256xi1>
    %u4 = tg.and %t4, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t5 = tg.and %t4, %u4 : tensor<128x256xi1>, tensor<128x256xi1>
    %u5 = tg.and %t5, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t6 = tg.and %t5, %u5 : tensor<128x256xi1>, tensor<128x256xi1>
    %u6 = tg.and %t6, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t7 = tg.and %t6, %u6 : tensor<128x256xi1>, tensor<128x256xi1>
    %u7 = tg.and %t7, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t8 = tg.and %t7, %u7 : tensor<128x256xi1>, tensor<128x256xi1>
    %u8 = tg.and %t8, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t9 = tg.and %t8, %u8 : tensor<128x256xi1>, tensor<128x256xi1>
    %u9 = tg.and %t9, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t10 = tg.and %t9, %u9 : tensor<128x256xi1>, tensor<128x256xi1>
    %u10 = tg.and %t10, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t11 = tg.and %t10, %u10 : tensor<128x256xi1>, tensor<128x256xi1>
    %u11 = tg.and %t11, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t12 = tg.and %t11, %u11 : tensor<128x256xi1>, tensor<128x256xi1>
    %u12 = tg.and %t12, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t13 = tg.and %t12, %u12 : tensor<128x256xi1>, tensor<128x256xi1>
    %u13 = tg.and %t13, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t14 = tg.and %t13, %u13 : tensor<128x256xi1>, tensor<128x256xi1>
    %u14 = tg.and %t14, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t15 = tg.and %t14, %u14 : tensor<128x256xi1>, tensor<128x256xi1>
    %u15 = tg.and %t15, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t16 = tg.and %t15, %u15 : tensor<128x256xi1>, tensor<128x256xi1>
    %u16 = tg.and %t16, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t17 = tg.and %t16, %u16 : tensor<128x256xi1>, tensor<128x256xi1>
    %u17 = tg.and %t17, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t18 = tg.and %t17, %u17 : tensor<128x256xi1>, tensor<128x256xi1>
    %u18 = tg.and %t18, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t19 = tg.and %t18, %u18 : tensor<128x256xi1>, tensor<128x256xi1>
    %u19 = tg.and %t19, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t20 = tg.and %t19, %u19 : tensor<128x256xi1>, tensor<128x256xi1>
    %u20 = tg.and %t20, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t21 = tg.and %t20, %u20 : tensor<128x256xi1>, tensor<128x256xi1>
    %u21 = tg.and %t21, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t22 = tg.and %t21, %u21 : tensor<128x256xi1>, tensor<128x256xi1>
    %u22 = tg.and %t22, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t23 = tg.and %t22, %u22 : tensor<128x256xi1>, tensor<128x256xi1>
    %u23 = tg.and %t23, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t24 = tg.and %t23, %u23 : tensor<128x256xi1>, tensor<128x256xi1>
    %u24 = tg.and %t24, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t25 = tg.and %t24, %u24 : tensor<128x256xi1>, tensor<128x256xi1>
    %u25 = tg.and %t25, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t26 = tg.and %t25, %u25 : tensor<128x256xi1>, tensor<128x256xi1>
    %u26 = tg.and %t26, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t27 = tg.and %t26, %u26 : tensor<128x256xi1>, tensor<128x256xi1>
    %u27 = tg.and %t27, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t28 = tg.and %t27, %u27 : tensor<128x256xi1>, tensor<128x256xi1>
    %u28 = tg.and %t28, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t29 = tg.and %t28, %u28 : tensor<128x256xi1>, tensor<128x256xi1>
    %u29 = tg.and %t29, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t30 = tg.and %t29, %u29 : tensor<128x256xi1>, tensor<128x256xi1>
    %u30 = tg.and %t30, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t31 = tg.and %t30, %u30 : tensor<128x256xi1>, tensor<128x256xi1>
    %u31 = tg.and %t31, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t32 = tg.and %t31, %u31 : tensor<128x256xi1>, tensor<128x256xi1>
    %u32 = tg.and %t32, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t33 = tg.and %t32, %u32 : tensor<128x256xi1>, tensor<128x256xi1>
    %u33 = tg.and %t33, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t34 = tg.and %t33, %u33 : tensor<128x256xi1>, tensor<128x256xi1>
    %u34 = tg.and %t34, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t35 = tg.and %t34, %u34 : tensor<128x256xi1>, tensor<128x256xi1>
    %u35 = tg.and %t35, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t36 = tg.and %t35, %u35 : tensor<128x256xi1>, tensor<128x256xi1>
    %u36 = tg.and %t36, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t37 = tg.and %t36, %u36 : tensor<128x256xi1>, tensor<128x256xi1>
    %u37 = tg.and %t37, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t38 = tg.and %t37, %u37 : tensor<128x256xi1>, tensor<128x256xi1>
    %u38 = tg.and %t38, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t39 = tg.and %t38, %u38 : tensor<128x256xi1>, tensor<128x256xi1>
    %u39 = tg.and %t39, %same : tensor<128x256xi1>, tensor<128x256xi1>
    %t40 = tg.and %t39, %u39 : tensor<128x256xi1>, tensor<128x256xi1>
    %k = tg.select %t40, %s, %inf : tensor<128x256xi1>, tensor<128x256xf32>, tensor<f32>
    %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<128x256xf32>
    %m2 = tg.max %m, %b : tensor<128x1xf32>, tensor<128x1xf32>
    tg.fold_yield %m2 : tensor<128x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<128x1xf32>):
    tg.fold_yield %m : tensor<128x1xf32>
  } : tensor<128x1xf32>
  return %r : tensor<128x1xf32>
}
