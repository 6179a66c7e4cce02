// Products that only stream a matrix: long pieces of its rows, in every SM.
// RUN: weft-opt %s --weft-plan-gpu=target=sm_90a | FileCheck %s

#x = affine_map<(n, k) -> (k)>
#w = affine_map<(n, k) -> (n, k)>
#y = affine_map<(n, k) -> (n)>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
module {
// Whole rows of 4096 elements: 16 vectors of a thread.
// CHECK: module @whole attributes {tg.schedule = #tg.schedule<tile = [4], stream = [4096], engine = simt, warps = 4, stages = 1
module @whole {
  func.func @kernel(%x: tensor<4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<28672xbf16> {
    %r = tg.contract %x, %w [#x, #w, #y] : tensor<4096xbf16>, tensor<28672x4096xbf16> -> tensor<28672xbf16>
    return %r : tensor<28672xbf16>
  }
}
// A vector that is computed takes registers, too: by steps of one vector, four under way.
// CHECK: module @computed attributes {tg.schedule = #tg.schedule<tile = [4], stream = [256], engine = simt, warps = 4, stages = 4
module @computed {
  func.func @kernel(%x: tensor<4096xf32>, %g: tensor<4096xf32>, %w: tensor<28672x4096xbf16>) -> tensor<28672xf32> {
    %0 = tg.mul %x, %g : tensor<4096xf32>, tensor<4096xf32>
    %1 = tg.cast %w : tensor<28672x4096xbf16> to tensor<28672x4096xf32>
    %r = tg.contract %0, %1 [#x, #w, #y] : tensor<4096xf32>, tensor<28672x4096xf32> -> tensor<28672xf32>
    return %r : tensor<28672xf32>
  }
}
// So do longer rows.
// CHECK: module @steps attributes {tg.schedule = #tg.schedule<tile = [4], stream = [256], engine = simt, warps = 4, stages = 4
module @steps {
  func.func @kernel(%x: tensor<14336xbf16>, %w: tensor<4096x14336xbf16>) -> tensor<4096xbf16> {
    %r = tg.contract %x, %w [#x, #w, #y] : tensor<14336xbf16>, tensor<4096x14336xbf16> -> tensor<4096xbf16>
    return %r : tensor<4096xbf16>
  }
}
// 256 bytes of each row at a time.
// CHECK: module @rows attributes {tg.schedule = #tg.schedule<tile = [16, 128], stream = [128], engine = mma, warps = {{[24]}}
module @rows {
  func.func @kernel(%x: tensor<16x4096xbf16>, %w: tensor<28672x4096xbf16>) -> tensor<16x28672xbf16> {
    %r = tg.contract %x, %w [#mk, #nk, #mn] : tensor<16x4096xbf16>, tensor<28672x4096xbf16> -> tensor<16x28672xbf16>
    return %r : tensor<16x28672xbf16>
  }
}
}
