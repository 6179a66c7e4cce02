// RUN: weft-opt %s '--weft-derive-folds=when=proved' --remarks-filter=fold --remark-format=emitRemark 2>&1 | FileCheck %s
// RUN: weft-opt %s '--weft-derive-folds=when=proved numerics=exact' | FileCheck %s --check-prefix=EXACT
// RUN: weft-opt %s '--weft-derive-folds=when=proved numerics=approximating' | FileCheck %s --check-prefix=APPROXIMATING
// RUN: not weft-opt %s '--weft-derive-folds=when=always' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not weft-opt %s '--weft-derive-folds=numerics=loose' 2>&1 | FileCheck %s --check-prefix=OPTION
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
