// Collectives, printed and parsed; they are between kernels, whose ops they keep apart.
// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --weft-plan | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: func.func @main(
// PLAN-LABEL: func.func @main(
func.func @main(%x: tensor<2x4xf32>, %n: tensor<?x4xf16, #tg.dims<()[s0] -> (s0, 4)>>) -> (tensor<2x4xf32>, tensor<2x?x4xf16, #tg.dims<()[s0] -> (2, s0, 4)>>) {
  // PLAN: tg.kernel "neg"
  %0 = tg.neg %x : tensor<2x4xf32>
  // CHECK: tg.all_reduce add %{{.*}} ranks = 2 : tensor<2x4xf32>
  // PLAN: tg.all_reduce
  %1 = tg.all_reduce add %0 ranks = 2 : tensor<2x4xf32>
  // CHECK: tg.reduce_scatter max %{{.*}} : tensor<2x4xf32> -> tensor<4xf32>
  %2 = tg.reduce_scatter max %1 : tensor<2x4xf32> -> tensor<4xf32>
  // PLAN: tg.kernel "exp"
  %3 = tg.exp %2 : tensor<4xf32>
  // CHECK: tg.all_gather %{{.*}} : tensor<4xf32> -> tensor<2x4xf32>
  // PLAN: tg.all_gather
  %4 = tg.all_gather %3 : tensor<4xf32> -> tensor<2x4xf32>
  // CHECK: tg.all_to_all %{{.*}} : tensor<2x4xf32>
  %5 = tg.all_to_all %4 : tensor<2x4xf32>
  // CHECK: tg.own_part %{{.*}} : tensor<2x4xf32> -> tensor<4xf32>
  %6 = tg.own_part %5 : tensor<2x4xf32> -> tensor<4xf32>
  // PLAN: tg.kernel "add"
  %7 = tg.add %5, %6 : tensor<2x4xf32>, tensor<4xf32>
  %8 = tg.all_gather %n : tensor<?x4xf16, #tg.dims<()[s0] -> (s0, 4)>> -> tensor<2x?x4xf16, #tg.dims<()[s0] -> (2, s0, 4)>>
  return %7, %8 : tensor<2x4xf32>, tensor<2x?x4xf16, #tg.dims<()[s0] -> (2, s0, 4)>>
}
