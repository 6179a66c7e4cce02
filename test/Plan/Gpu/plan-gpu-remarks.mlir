// RUN: weft-opt %s --weft-plan-gpu --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s
// RUN: weft-opt %s --weft-plan-gpu --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s --check-prefix=PRODUCTS
// RUN: not weft-opt %s --weft-plan-gpu=target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected a target of sm_80, sm_86, sm_89, sm_90a, sm_120, got 'sm_75'

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

// Two products in one kernel: each has half of the registers and of the shared memory that one would have.
// CHECK: @gate_up attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 8, stages = 4
// PRODUCTS: contraction 1 x 4096 x 14336 x 4096: {{.*}}; 2 GEMMs in a tile
module @gate_up {
  func.func @kernel(%x: tensor<4096x4096xf16>, %g: tensor<4096x14336xf16>, %u: tensor<4096x14336xf16>) -> tensor<4096x14336xf16> {
    %0 = tg.contract %x, %g [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<4096x4096xf16>, tensor<4096x14336xf16> -> tensor<4096x14336xf16>
    %1 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<4096x4096xf16>, tensor<4096x14336xf16> -> tensor<4096x14336xf16>
    %2 = tg.mul %0, %1 : tensor<4096x14336xf16>, tensor<4096x14336xf16>
    return %2 : tensor<4096x14336xf16>
  }
}

// The remainders of a reshape lie apart: what a tile reads of them is no more than it has places.
// PRODUCTS: time {{.*}}Function=apart
// PRODUCTS-SAME: 1.3 MB read, 0.0 MB of them again, 1.3 MB written
module @apart {
  func.func @kernel(%x: tensor<2x32x10240xbf16>) -> tensor<2x1024x320xbf16> {
    %0 = tg.reshape %x : tensor<2x32x10240xbf16> to tensor<2x320x1024xbf16>
    %1 = tg.transpose %0 [0, 2, 1] : tensor<2x320x1024xbf16>
    %2 = tg.neg %1 : tensor<2x1024x320xbf16>
    return %2 : tensor<2x1024x320xbf16>
  }
}
