// A fold whose tiles leave SMs idle: parts, whose states are results, and a fold that merges them and finishes.
// RUN: weft-opt %s --weft-split-folds=target=sm_90a | FileCheck %s
// RUN: weft-opt %s --weft-plan="gpu=true target=sm_90a" | FileCheck %s --check-prefix=KERNELS
// RUN: weft-opt %s --weft-plan=gpu=true | FileCheck %s --check-prefix=WHOLE

// CHECK-DAG: #[[$PLACES:.*]] = affine_map<() -> (16381)>
// CHECK-DAG: #[[$PARTS:.*]] = affine_map<() -> (128)>
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]]:3 = tg.fold over #[[$PLACES]] in 128 parts of 64 init [0xFF800000 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32] update
// CHECK: tg.reduce max %arg0 axes = [1] keep_dims {tg.streamed} : tensor<4x16381xf32>
// CHECK: tg.contract {{.*}} {tg.streamed} : tensor<4x16381xf32>, tensor<16381x64xf32> -> tensor<4x64xf32>
// CHECK: merge {
// CHECK-NEXT: } finish
// CHECK: : tensor<128x4x64xf32>, tensor<128x4x1xf32>, tensor<128x4x1xf32>
// CHECK: tg.fold over #[[$PARTS]] init [0xFF800000 : f32, 0.000000e+00 : f32, 0.000000e+00 : f32] update
// CHECK: tg.reduce max %[[P]]#1 axes = [0] {tg.streamed} : tensor<128x4x1xf32>
// CHECK: tg.sub %[[P]]#1, %{{.*}} : tensor<128x4x1xf32>, tensor<4x1xf32>
// CHECK: tg.reduce add %{{.*}} axes = [0] {tg.streamed} : tensor<128x4x1xf32>
// CHECK: %[[SCALED:.*]] = tg.mul %[[P]]#0, %{{.*}} : tensor<128x4x64xf32>, tensor<128x4x1xf32>
// CHECK: tg.reduce add %[[SCALED]] axes = [0] {tg.streamed} : tensor<128x4x64xf32>
// CHECK: finish
// CHECK: tg.div
// CHECK: : tensor<4x64xf32>


// KERNELS-COUNT-2: tg.kernel
// WHOLE: tg.kernel
// WHOLE-NOT: tg.kernel

#x = affine_map<(r, s, c) -> (r, s)>
#v = affine_map<(r, s, c) -> (s, c)>
#y = affine_map<(r, s, c) -> (r, c)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<4x16381xf32>, %v: tensor<16381x64xf32>) -> tensor<4x64xf32> {
    %r = tg.fold over affine_map<() -> (16381)> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>, %a: tensor<4x64xf32>):
      %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x16381xf32>
      %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
      %d = tg.sub %x, %m2 : tensor<4x16381xf32>, tensor<4x1xf32>
      %e = tg.exp %d : tensor<4x16381xf32>
      %s = tg.reduce add %e axes = [1] keep_dims {tg.streamed} : tensor<4x16381xf32>
      %c = tg.sub %m, %m2 : tensor<4x1xf32>, tensor<4x1xf32>
      %f = tg.exp %c : tensor<4x1xf32>
      %k = tg.mul %l, %f : tensor<4x1xf32>, tensor<4x1xf32>
      %l2 = tg.add %k, %s : tensor<4x1xf32>, tensor<4x1xf32>
      %p = tg.contract %e, %v [#x, #v, #y] {tg.streamed} : tensor<4x16381xf32>, tensor<16381x64xf32> -> tensor<4x64xf32>
      %o = tg.mul %a, %f : tensor<4x64xf32>, tensor<4x1xf32>
      %a2 = tg.add %o, %p : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %m2, %l2, %a2 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x64xf32>
    } merge {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>, %a: tensor<4x64xf32>, %n: tensor<4x1xf32>, %q: tensor<4x1xf32>, %b: tensor<4x64xf32>):
      %t = tg.max %m, %n : tensor<4x1xf32>, tensor<4x1xf32>
      %dm = tg.sub %m, %t : tensor<4x1xf32>, tensor<4x1xf32>
      %em = tg.exp %dm : tensor<4x1xf32>
      %dn = tg.sub %n, %t : tensor<4x1xf32>, tensor<4x1xf32>
      %en = tg.exp %dn : tensor<4x1xf32>
      %lm = tg.mul %l, %em : tensor<4x1xf32>, tensor<4x1xf32>
      %ln = tg.mul %q, %en : tensor<4x1xf32>, tensor<4x1xf32>
      %l2 = tg.add %lm, %ln : tensor<4x1xf32>, tensor<4x1xf32>
      %am = tg.mul %a, %em : tensor<4x64xf32>, tensor<4x1xf32>
      %an = tg.mul %b, %en : tensor<4x64xf32>, tensor<4x1xf32>
      %a2 = tg.add %am, %an : tensor<4x64xf32>, tensor<4x64xf32>
      tg.fold_yield %t, %l2, %a2 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x64xf32>
    } finish {
    ^bb0(%m: tensor<4x1xf32>, %l: tensor<4x1xf32>, %a: tensor<4x64xf32>):
      %o = tg.div %a, %l : tensor<4x64xf32>, tensor<4x1xf32>
      tg.fold_yield %o : tensor<4x64xf32>
    } : tensor<4x64xf32>
    return %r : tensor<4x64xf32>
  }
}
