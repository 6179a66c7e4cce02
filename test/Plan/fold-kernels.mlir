// A fold is a kernel with its epilogue; what its regions use from outside becomes the kernel's arguments, symbols included.
// RUN: weft-opt %s --weft-plan=gpu --weft-outline | FileCheck %s
// RUN: weft-opt %s --weft-plan --weft-outline | FileCheck %s --check-prefix=CPU
// For the CPU it becomes plain ops.
// CPU-NOT: tg.fold
// CPU: tg.reduce max

#x = #tg.dims<()[s0, s1] -> (4, s1)>
// CHECK: func.func @main
// CHECK: tg.dispatch @fold_neg::@kernel(%arg0) symbols = #{{.*}}
// CHECK: module @fold_neg
// CHECK: func.func @kernel(%[[X:.*]]: tensor<4x?xf32, #{{.*}}>, %{{.*}}: index) -> tensor<4x1xf32>
// CHECK: tg.fold over #[[E:.*]] init
// CHECK: tg.reduce max %[[X]]
// CHECK: tg.neg
module attributes {tg.symbols = ["a", "b"]} {
  func.func @main(%x: tensor<4x?xf32, #x>) -> tensor<4x1xf32> {
    %r = tg.fold over affine_map<()[s0, s1] -> (s1)> init [0xFF800000 : f32] update {
    ^bb0(%m: tensor<4x1xf32>):
      %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x?xf32, #x>
      %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
      tg.fold_yield %m2 : tensor<4x1xf32>
    } merge {
    } finish {
    ^bb0(%m: tensor<4x1xf32>):
      tg.fold_yield %m : tensor<4x1xf32>
    } : tensor<4x1xf32>
    %n = tg.neg %r : tensor<4x1xf32>
    return %n : tensor<4x1xf32>
  }
}
