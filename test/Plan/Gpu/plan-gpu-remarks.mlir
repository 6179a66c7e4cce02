// RUN: weft-opt %s --weft-plan-gpu --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s
// RUN: not weft-opt %s --weft-plan-gpu=target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected a target of sm_80, sm_86, sm_89, sm_90a, got 'sm_75'

// CHECK: {{\[}}Passed] schedule | Category:plan | Function=scale
// CHECK-SAME: map of 1048576 elements: 1024 CTAs of 1024
// CHECK-SAME: tile = [1024]
module @scale {
  func.func @kernel(%x: tensor<1048576xf16>) -> tensor<1048576xf16> {
    %0 = tg.neg %x : tensor<1048576xf16>
    return %0 : tensor<1048576xf16>
  }
}

// A schedule that is there stays.
// CHECK: @given attributes {tg.schedule = #tg.schedule<tile = [64], engine = simt, warps = 1
module @given attributes {tg.schedule = #tg.schedule<tile = [64], engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<1048576xf16>) -> tensor<1048576xf16> {
    %0 = tg.neg %x : tensor<1048576xf16>
    return %0 : tensor<1048576xf16>
  }
}

// Symbolic extents: a symbol counts as 256; the scalar has no tile.
// CHECK: @symbolic attributes {tg.schedule = #tg.schedule<tile = [1, 4096], engine = simt, warps = 8
// CHECK: @scalar attributes {tg.schedule = #tg.schedule<stream = [256], engine = simt, warps = 8
module @symbolic {
  func.func @kernel(%x: tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, %s0: index) -> tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> {
    %0 = tg.reduce max %x axes = [1] keep_dims : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %1 = tg.sub %x, %0 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x1xf16, #tg.dims<()[s0] -> (s0, 1)>>
    return %1 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
  }
}
module @scalar {
  func.func @kernel(%x: tensor<?xf16, #tg.dims<()[s0] -> (s0)>>, %s0: index) -> tensor<f16> {
    %0 = tg.reduce max %x axes = [0] : tensor<?xf16, #tg.dims<()[s0] -> (s0)>>
    return %0 : tensor<f16>
  }
}
