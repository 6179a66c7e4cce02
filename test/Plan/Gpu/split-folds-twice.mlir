// A value that streams along one dimension in one product and along another in the next: cut in both ways.
// RUN: weft-opt %s --weft-split-folds=target=sm_90a | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[COLUMNS:.*]] = tg.reshape %arg1 : tensor<2048x2048xf32> to tensor<2048x32x64xf32>
// CHECK-DAG: %[[FIRST:.*]] = tg.transpose %[[COLUMNS]] [1, 0, 2]
// CHECK-DAG: %[[SECOND:.*]] = tg.reshape %arg1 : tensor<2048x2048xf32> to tensor<32x64x2048xf32>
// CHECK: tg.contract %arg0, %[[FIRST]] {{.*}} -> tensor<32x4x64xf32>
// CHECK: tg.contract %{{.*}}, %[[SECOND]] {{.*}} {tg.streamed} : {{.*}} -> tensor<32x4x2048xf32>
#x = affine_map<(r, s, c) -> (r, s)>
#v = affine_map<(r, s, c) -> (s, c)>
#y = affine_map<(r, s, c) -> (r, c)>
module attributes {tg.symbols = []} {
  func.func @main(%y: tensor<4x2048xf32>, %x: tensor<2048x2048xf32>) -> tensor<4x2048xf32> {
    %r = tg.fold over affine_map<() -> (2048)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x2048xf32>):
      %s = tg.contract %y, %x [#x, #v, #y] : tensor<4x2048xf32>, tensor<2048x2048xf32> -> tensor<4x2048xf32>
      %e = tg.exp %s : tensor<4x2048xf32>
      %p = tg.contract %e, %x [#x, #v, #y] {tg.streamed} : tensor<4x2048xf32>, tensor<2048x2048xf32> -> tensor<4x2048xf32>
      %b = tg.add %a, %p : tensor<4x2048xf32>, tensor<4x2048xf32>
      tg.fold_yield %b : tensor<4x2048xf32>
    } merge {
    ^bb0(%a: tensor<4x2048xf32>, %b: tensor<4x2048xf32>):
      %c = tg.add %a, %b : tensor<4x2048xf32>, tensor<4x2048xf32>
      tg.fold_yield %c : tensor<4x2048xf32>
    } finish {
    ^bb0(%a: tensor<4x2048xf32>):
      tg.fold_yield %a : tensor<4x2048xf32>
    } : tensor<4x2048xf32>
    return %r : tensor<4x2048xf32>
  }
}
