// RUN: weft-opt %s '--weft-derive-folds=when=proved' --remarks-filter=fold --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: weft-opt %s '--weft-derive-folds=when=proved numerics=exact' | FileCheck %s --check-prefix=EXACT
// RUN: weft-opt %s '--weft-derive-folds=when=proved numerics=approximating' | FileCheck %s --check-prefix=APPROXIMATING
// RUN: weft-opt %s '--weft-derive-folds=when=proved numerics=approximating' --remarks-filter=fold --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=FLAW
// RUN: weft-opt %s '--weft-derive-folds=when=proved disable-guard=order-licence' | FileCheck %s --check-prefix=GUARD
// RUN: not weft-opt %s '--weft-derive-folds=disable-guard=order-licence,spelling' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not weft-opt %s '--weft-derive-folds=when=always' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not weft-opt %s '--weft-derive-folds=numerics=loose' 2>&1 | FileCheck %s --check-prefix=OPTION
// UNKNOWN: expected a guard of same-axis, {{.*}}same-shape, got 'spelling'
// OPTION: expected when=pays or proved and numerics=exact, reassociating or approximating, got

// CHECK-DAG: Remark="the order of a sum may not change: its licence is exact"
// CHECK-DAG: Remark="repairing a sum of rounded quotients is approximating, and the licence is not"

// An extreme of extremes has no order to change.
// CHECK-LABEL: func.func @maximum
// CHECK: tg.fold over #{{.*}} init [0xFF800000 : f32, 0xFF800000 : f32] attributes {tg.numerics = "exact"}
// EXACT-LABEL: func.func @maximum
// EXACT: attributes {tg.numerics = "exact"}
func.func @maximum(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
  %d = tg.sub %x, %m : tensor<4x8xf32>, tensor<4x1xf32>
  %e = tg.exp %d : tensor<4x8xf32>
  %r = tg.reduce max %e axes = [1] keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}

// The op's licence counts, then the pass's.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: tg.fold
// CHECK-LABEL: func.func @sum
// CHECK: attributes {tg.numerics = "reassociating"}
// EXACT-LABEL: func.func @ordered
// EXACT-NOT: tg.fold
// EXACT-LABEL: func.func @quantised
// GUARD-LABEL: func.func @ordered
// GUARD: tg.fold
func.func @ordered(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
  %d = tg.sub %x, %m : tensor<4x8xf32>, tensor<4x1xf32>
  %e = tg.exp %d : tensor<4x8xf32>
  %r = tg.reduce add %e axes = [1] keep_dims {tg.numerics = "exact"} : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}
func.func @sum(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
  %d = tg.sub %x, %m : tensor<4x8xf32>, tensor<4x1xf32>
  %e = tg.exp %d : tensor<4x8xf32>
  %r = tg.reduce add %e axes = [1] keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}

// APPROXIMATING-LABEL: func.func @quantised
// APPROXIMATING: attributes {tg.numerics = "approximating"}
func.func @quantised(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %c = tg.constant dense<0.0625> : tensor<f32>
  %a = tg.abs %x : tensor<4x8xf32>
  %m = tg.reduce max %a axes = [1] keep_dims : tensor<4x8xf32>
  %s = tg.mul %m, %c : tensor<4x1xf32>, tensor<f32>
  %d = tg.div %x, %s : tensor<4x8xf32>, tensor<4x1xf32>
  %q = tg.round %d : tensor<4x8xf32>
  %r = tg.reduce add %q axes = [1] keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}

// The index of the largest is that of the largest exponent; the sum is a fold beside, and so is what else reads it.
// CHECK-LABEL: func.func @order
// CHECK: tg.arg_reduce min %arg0 axis = 1 : tensor<4x8xf32>
func.func @order(%x: tensor<4x8xf32>) -> tensor<4xi64> {
  %m = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
  %d = tg.sub %m, %x : tensor<4x1xf32>, tensor<4x8xf32>
  %e = tg.exp %d : tensor<4x8xf32>
  %r = tg.arg_reduce max %e axis = 1 : tensor<4x8xf32>
  return %r : tensor<4xi64>
}

// Quotients by what may shrink, and clips that bite earlier than in the end.
// FLAW-DAG: Remark="rounded quotients by what is not a multiple of a maximum of absolute values: it may shrink, and what was rounded so far would be too coarse"
// FLAW-DAG: Remark="clipping of rounded quotients that may be clipped more, so far, than in the end"
// APPROXIMATING-LABEL: func.func @shrinking
// APPROXIMATING-NOT: tg.fold over
// APPROXIMATING-LABEL: func.func @clipped
// APPROXIMATING-NOT: tg.fold over
// APPROXIMATING-LABEL: func.func @clipped_as_in_the_end
// APPROXIMATING: tg.fold over
func.func @shrinking(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %a = tg.abs %x : tensor<4x8xf32>
  %m = tg.reduce min %a axes = [1] keep_dims : tensor<4x8xf32>
  %d = tg.div %x, %m : tensor<4x8xf32>, tensor<4x1xf32>
  %q = tg.round %d : tensor<4x8xf32>
  %r = tg.reduce add %q axes = [1] keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}
func.func @clipped(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %c = tg.constant dense<127.0> : tensor<f32>
  %most = tg.constant dense<100.0> : tensor<f32>
  %a = tg.abs %x : tensor<4x8xf32>
  %m = tg.reduce max %a axes = [1] keep_dims : tensor<4x8xf32>
  %s = tg.div %m, %c : tensor<4x1xf32>, tensor<f32>
  %d = tg.div %x, %s : tensor<4x8xf32>, tensor<4x1xf32>
  %q = tg.round %d : tensor<4x8xf32>
  %k = tg.min %q, %most : tensor<4x8xf32>, tensor<f32>
  %r = tg.reduce add %k axes = [1] keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}
// As exporters write it: the reciprocal of the scale, and both limits.
func.func @clipped_as_in_the_end(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %c = tg.constant dense<127.0> : tensor<f32>
  %least = tg.constant dense<-128.0> : tensor<f32>
  %eps = tg.constant dense<1.0e-5> : tensor<f32>
  %a = tg.abs %x : tensor<4x8xf32>
  %m = tg.reduce max %a axes = [1] keep_dims : tensor<4x8xf32>
  %n = tg.max %m, %eps : tensor<4x1xf32>, tensor<f32>
  %s = tg.div %c, %n : tensor<f32>, tensor<4x1xf32>
  %d = tg.mul %x, %s : tensor<4x8xf32>, tensor<4x1xf32>
  %q = tg.round %d : tensor<4x8xf32>
  %l = tg.max %q, %least : tensor<4x8xf32>, tensor<f32>
  %h = tg.min %l, %c : tensor<4x8xf32>, tensor<f32>
  %r = tg.reduce add %h axes = [1] keep_dims : tensor<4x8xf32>
  return %r : tensor<4x1xf32>
}
