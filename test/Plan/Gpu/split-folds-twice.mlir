// A value that streams along one dimension in one product and along another in the next: parts are of both.
// RUN: weft-opt %s --weft-split-folds=target=sm_90a | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: tg.fold over {{.*}} in 16 parts of 64
// CHECK: tg.contract %arg0, %arg1 {{.*}} -> tensor<4x2047xf32>
// CHECK: tg.contract %{{.*}}, %arg1 {{.*}} {tg.streamed} : {{.*}} -> tensor<4x2047xf32>
// CHECK: : tensor<16x4x2047xf32>
#x = affine_map<(r, s, c) -> (r, s)>
#v = affine_map<(r, s, c) -> (s, c)>
#y = affine_map<(r, s, c) -> (r, c)>
module attributes {tg.symbols = []} {
  func.func @main(%y: tensor<4x2047xf32>, %x: tensor<2047x2047xf32>) -> tensor<4x2047xf32> {
    %r = tg.fold over affine_map<() -> (2047)> init [0.0 : f32] update {
    ^bb0(%a: tensor<4x2047xf32>):
      %s = tg.contract %y, %x [#x, #v, #y] : tensor<4x2047xf32>, tensor<2047x2047xf32> -> tensor<4x2047xf32>
      %e = tg.exp %s : tensor<4x2047xf32>
      %p = tg.contract %e, %x [#x, #v, #y] {tg.streamed} : tensor<4x2047xf32>, tensor<2047x2047xf32> -> tensor<4x2047xf32>
      %b = tg.add %a, %p : tensor<4x2047xf32>, tensor<4x2047xf32>
      tg.fold_yield %b : tensor<4x2047xf32>
    } merge {
    ^bb0(%a: tensor<4x2047xf32>, %b: tensor<4x2047xf32>):
      %c = tg.add %a, %b : tensor<4x2047xf32>, tensor<4x2047xf32>
      tg.fold_yield %c : tensor<4x2047xf32>
    } finish {
    ^bb0(%a: tensor<4x2047xf32>):
      tg.fold_yield %a : tensor<4x2047xf32>
    } : tensor<4x2047xf32>
    return %r : tensor<4x2047xf32>
  }
}
