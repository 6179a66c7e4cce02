// The pipeline: composites gone, constants folded, canonical; and its options.
// RUN: weft-opt %s --weft-normalize | FileCheck %s
// RUN: weft-opt %s --weft-normalize=decompose=false | FileCheck %s --check-prefix=KEEP
// RUN: weft-opt %s --weft-normalize=fold-max-bytes=0 | FileCheck %s --check-prefix=NOFOLD

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-DAG: %[[C:.*]] = tg.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NOT: tg.layer_norm
// CHECK-COUNT-2: tg.reduce add
// CHECK-NOT: tg.neg
// CHECK: tg.mul %{{.*}}, %[[C]]
// KEEP-LABEL: func.func @main(
// KEEP: tg.layer_norm
// NOFOLD-LABEL: func.func @main(
// NOFOLD: tg.mul %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
func.func @main(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> tensor<4x8xf32> {
  %two = tg.constant dense<2.0> : tensor<f32>
  %three = tg.constant dense<3.0> : tensor<f32>
  %six = tg.mul %two, %three : tensor<f32>, tensor<f32>
  %r, %m, %i = tg.layer_norm %x, %s axis = 1 epsilon = 1.0e-5 stash = f32 : tensor<4x8xf32>, tensor<8xf32>
  %0 = tg.neg %r : tensor<4x8xf32>
  %1 = tg.neg %0 : tensor<4x8xf32>
  %2 = tg.mul %1, %six : tensor<4x8xf32>, tensor<f32>
  return %2 : tensor<4x8xf32>
}
