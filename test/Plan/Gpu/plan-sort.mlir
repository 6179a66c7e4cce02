// RUN: weft-opt %s --weft-plan-gpu=target=sm_90a | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(weft-plan-gpu{target=sm_90a},builtin.module(weft-kernelize))' -o /dev/null

// The first five of a thousand: the tile holds the operand's axis, not the result's; two elements a thread keep the code of the sort short.
// CHECK: @top_k attributes {tg.schedule = #tg.schedule<tile = [1, 1024],{{.*}} warps = 16
module @top_k {
  func.func @kernel(%x: tensor<3x1000xf32>) -> (tensor<3x5xf32>, tensor<3x5xi64>) {
    %values, %indices = tg.top_k %x axis = 1 k = 5 {largest} : tensor<3x1000xf32>
    return %values, %indices : tensor<3x5xf32>, tensor<3x5xi64>
  }
}

// A row of 30000 is one tile; of one of 40000 each place has a loop.
// CHECK: @row attributes {tg.schedule = #tg.schedule<tile = [1, 32768],{{.*}} warps = 32
module @row {
  func.func @kernel(%x: tensor<3x30000xf32>) -> tensor<3x30000xf32> {
    %0 = tg.scan add %x axis = 1 : tensor<3x30000xf32>
    return %0 : tensor<3x30000xf32>
  }
}

// CHECK: @long_row attributes {tg.schedule = #tg.schedule<tile = [1, 8192],{{.*}} warps = 16
module @long_row {
  func.func @kernel(%x: tensor<3x40000xf32>) -> tensor<3x40000xf32> {
    %0 = tg.scan add %x axis = 1 : tensor<3x40000xf32>
    return %0 : tensor<3x40000xf32>
  }
}
