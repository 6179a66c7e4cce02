// Maps say which dimensions are one. Ranks by counting compare x[i] with every x[j]: i and j are two dimensions, although both are x's, and the
// sum along j is streamed; so it is against another tensor, as long as x or not.
// RUN: weft-opt %s --weft-plan-gpu=target=sm_80 | FileCheck %s

// CHECK: module @own attributes {tg.schedule = #tg.schedule<tile = [[TILE:.*]], stream = [[STREAM:.*]], engine
module @own {
  func.func @kernel(%x: tensor<16x512xf32>) -> tensor<16x512xf32> {
    %a = tg.reshape %x : tensor<16x512xf32> to tensor<16x512x1xf32>
    %b = tg.reshape %x : tensor<16x512xf32> to tensor<16x1x512xf32>
    %c = tg.sub %a, %b : tensor<16x512x1xf32>, tensor<16x1x512xf32>
    %s = tg.reduce max %c axes = [2] : tensor<16x512x512xf32>
    return %s : tensor<16x512xf32>
  }
}

// CHECK: module @other attributes {tg.schedule = #tg.schedule<tile = [[TILE]], stream = [[STREAM]], engine
module @other {
  func.func @kernel(%x: tensor<16x512xf32>, %y: tensor<16x512xf32>) -> tensor<16x512xf32> {
    %a = tg.reshape %x : tensor<16x512xf32> to tensor<16x512x1xf32>
    %b = tg.reshape %y : tensor<16x512xf32> to tensor<16x1x512xf32>
    %c = tg.sub %a, %b : tensor<16x512x1xf32>, tensor<16x1x512xf32>
    %s = tg.reduce max %c axes = [2] : tensor<16x512x512xf32>
    return %s : tensor<16x512xf32>
  }
}
