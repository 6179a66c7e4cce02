// RUN: weft-opt %s --weft-unroll-folds | FileCheck %s
// RUN: weft-opt %s --weft-unroll-folds=steps=3 | FileCheck %s --check-prefix=STEPS
// RUN: weft-opt %s '--weft-unroll-folds=steps=2 merge' --remarks-filter=fold --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=MERGE

// One step: the reduction as it was.
// CHECK-LABEL: func.func @maximum
// CHECK-DAG: %[[X:.*]] = tg.broadcast %{{.*}} : tensor<f32> to tensor<4x1xf32>
// CHECK-DAG: %[[B:.*]] = tg.reduce max %arg0 axes = [1] keep_dims : tensor<4x16xf32>
// CHECK: %[[R:.*]] = tg.max %[[X]], %[[B]]
// CHECK: tg.neg %[[R]]
// Three: slices of 5, 5 and 6 places.
// STEPS-LABEL: func.func @maximum
// STEPS: tg.slice %arg0 offsets = [0, 0] strides = [1, 1] : tensor<4x16xf32> to tensor<4x5xf32>
// STEPS: tg.reduce max %{{.*}} : tensor<4x5xf32>
// STEPS: tg.slice %arg0 offsets = [0, 5]
// STEPS: tg.slice %arg0 offsets = [0, 10] strides = [1, 1] : tensor<4x16xf32> to tensor<4x6xf32>
// STEPS-NOT: tg.fold
// MERGE: [Missed] no-unroll {{.*}} Remark="there is no merge"
// MERGE: tg.fold over
func.func @maximum(%x: tensor<4x16xf32>) -> tensor<4x1xf32> {
  %r = tg.fold over affine_map<() -> (16)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<4x1xf32>):
    %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x16xf32>
    %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
    tg.fold_yield %m2 : tensor<4x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<4x1xf32>):
    %n = tg.neg %m : tensor<4x1xf32>
    tg.fold_yield %n : tensor<4x1xf32>
  } : tensor<4x1xf32>
  return %r : tensor<4x1xf32>
}

// A value that streams as the right operand and not as the left one.
// STEPS-LABEL: func.func @square
// STEPS: %[[X:.*]] = tg.slice %arg0 offsets = [0, 0] strides = [1, 1] : tensor<6x6xf32> to tensor<6x2xf32>
// STEPS: tg.contract %arg0, %[[X]]
// STEPS: tg.slice %arg0 offsets = [0, 2]
// STEPS-NOT: tg.fold
func.func @square(%x: tensor<6x6xf32>) -> tensor<6x1xf32> {
  %r = tg.fold over affine_map<() -> (6)> init [0xFF800000 : f32] update {
  ^bb0(%m: tensor<6x1xf32>):
    %y = tg.contract %x, %x [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
        : tensor<6x6xf32>, tensor<6x6xf32> -> tensor<6x6xf32>
    %b = tg.reduce max %y axes = [1] keep_dims {tg.streamed} : tensor<6x6xf32>
    %m2 = tg.max %m, %b : tensor<6x1xf32>, tensor<6x1xf32>
    tg.fold_yield %m2 : tensor<6x1xf32>
  } merge {
  } finish {
  ^bb0(%m: tensor<6x1xf32>):
    tg.fold_yield %m : tensor<6x1xf32>
  } : tensor<6x1xf32>
  return %r : tensor<6x1xf32>
}
