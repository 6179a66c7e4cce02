// RUN: weft-opt %s --weft-sink-reshapes | FileCheck %s
// RUN: weft-opt %s --weft-plan | FileCheck %s --check-prefix=PLAN

#lhs = affine_map<(i, j, k) -> (i, k)>
#rhs = affine_map<(i, j, k) -> (k, j)>
#out = affine_map<(i, j, k) -> (i, j)>
module attributes {tg.symbols = ["batch"]} {
  // A residual of the result's extents and a bias of one of them: both are computed before the reshape.
  // CHECK-LABEL: func.func @residual
  // CHECK: %[[C:.*]] = tg.contract
  // CHECK-NEXT: %[[B:.*]] = tg.add %[[C]], %arg3 : tensor<8x6xf32>, tensor<6xf32>
  // CHECK-NEXT: %[[R:.*]] = tg.reshape %arg2 : tensor<1x8x6xf32> to tensor<8x6xf32>
  // CHECK-NEXT: %[[S:.*]] = tg.add %[[B]], %[[R]] : tensor<8x6xf32>, tensor<8x6xf32>
  // CHECK-NEXT: %[[Y:.*]] = tg.reshape %[[S]] : tensor<8x6xf32> to tensor<1x8x6xf32>
  // CHECK-NEXT: return %[[Y]]
  // PLAN-LABEL: func.func @residual
  // PLAN: tg.kernel "gemm_add"
  func.func @residual(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %r: tensor<1x8x6xf32>, %bias: tensor<6xf32>) -> tensor<1x8x6xf32> {
    %c = tg.contract %a, %b [#lhs, #rhs, #out] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
    %d = tg.reshape %c : tensor<8x6xf32> to tensor<1x8x6xf32>
    %e = tg.add %d, %bias : tensor<1x8x6xf32>, tensor<6xf32>
    %f = tg.add %e, %r : tensor<1x8x6xf32>, tensor<1x8x6xf32>
    return %f : tensor<1x8x6xf32>
  }

  // Several readers that meet again, symbolic extents: no reshape is left between them.
  // CHECK-LABEL: func.func @diamond
  // CHECK: tg.contract
  // CHECK-NEXT: tg.exp
  // CHECK-NEXT: tg.mul
  // CHECK-NEXT: tg.add
  // CHECK-NEXT: %[[Y:.*]] = tg.mul
  // CHECK-NEXT: tg.reshape %[[Y]]
  // CHECK-NEXT: return
  // PLAN-LABEL: func.func @diamond
  // PLAN: tg.kernel "gemm_exp_mul_add"
  func.func @diamond(%a: tensor<?x4xf32, #tg.dims<()[s0] -> (s0 * 8, 4)>>, %b: tensor<4x6xf32>, %k: tensor<f32>)
      -> tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>> {
    %c = tg.contract %a, %b [#lhs, #rhs, #out] : tensor<?x4xf32, #tg.dims<()[s0] -> (s0 * 8, 4)>>, tensor<4x6xf32>
        -> tensor<?x6xf32, #tg.dims<()[s0] -> (s0 * 8, 6)>>
    %d = tg.reshape %c : tensor<?x6xf32, #tg.dims<()[s0] -> (s0 * 8, 6)>> to tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>
    %e = tg.exp %d : tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>
    %f = tg.mul %e, %k : tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>, tensor<f32>
    %g = tg.add %d, %f : tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>, tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>
    %h = tg.mul %d, %g : tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>, tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>
    return %h : tensor<?x8x6xf32, #tg.dims<()[s0] -> (s0, 8, 6)>>
  }

  // A reduction reads it, too; the readers do not meet; elements would be wider in memory; an operand has some of a run's extents:
  // all stay behind the reshape.
  // CHECK-LABEL: func.func @refused
  // CHECK-COUNT-4: tg.reshape
  // CHECK-NOT: tg.reshape
  // CHECK: return
  func.func @refused(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>, %k: tensor<3xf16>)
      -> (tensor<1x8xf16>, tensor<1x8x6xf16>, tensor<1x8x6xf16>, tensor<1x8x6xf16>, tensor<1x8x6xf32>, tensor<8x2x3xf16>) {
    %c0 = tg.contract %a, %b [#lhs, #rhs, #out] : tensor<8x4xf16>, tensor<4x6xf16> -> tensor<8x6xf16>
    %d0 = tg.reshape %c0 : tensor<8x6xf16> to tensor<1x8x6xf16>
    %e0 = tg.reduce max %d0 axes = [2] : tensor<1x8x6xf16>
    %f0 = tg.exp %d0 : tensor<1x8x6xf16>
    %c1 = tg.contract %a, %b [#lhs, #rhs, #out] : tensor<8x4xf16>, tensor<4x6xf16> -> tensor<8x6xf16>
    %d1 = tg.reshape %c1 : tensor<8x6xf16> to tensor<1x8x6xf16>
    %e1 = tg.exp %d1 : tensor<1x8x6xf16>
    %f1 = tg.neg %d1 : tensor<1x8x6xf16>
    %c2 = tg.contract %a, %b [#lhs, #rhs, #out] : tensor<8x4xf16>, tensor<4x6xf16> -> tensor<8x6xf16>
    %d2 = tg.reshape %c2 : tensor<8x6xf16> to tensor<1x8x6xf16>
    %e2 = tg.cast %d2 : tensor<1x8x6xf16> to tensor<1x8x6xf32>
    %c3 = tg.contract %a, %b [#lhs, #rhs, #out] : tensor<8x4xf16>, tensor<4x6xf16> -> tensor<8x6xf16>
    %d3 = tg.reshape %c3 : tensor<8x6xf16> to tensor<8x2x3xf16>
    %e3 = tg.add %d3, %k : tensor<8x2x3xf16>, tensor<3xf16>
    return %e0, %f0, %e1, %f1, %e2, %e3 : tensor<1x8xf16>, tensor<1x8x6xf16>, tensor<1x8x6xf16>, tensor<1x8x6xf16>, tensor<1x8x6xf32>, tensor<8x2x3xf16>
  }
}
