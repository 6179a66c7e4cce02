// A dot carries the engine of the schedule, whatever the module says afterwards.
// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// CHECK: tk.dot {{.*}} by wgmma :
module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [32], engine = wgmma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<128x128xf16>, %w: tensor<128x128xf16>) -> tensor<128x128xf32> attributes {tg.num_symbols = 0 : i64} {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
}

// -----
// CHECK: tk.dot {{.*}} by simt :
module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [32], engine = simt, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<128x128xf16>, %w: tensor<128x128xf16>) -> tensor<128x128xf32> attributes {tg.num_symbols = 0 : i64} {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
}

// -----
// CHECK-NOT: by
// CHECK: tk.dot
// CHECK-NOT: by
module attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [32], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<128x128xf16>, %w: tensor<128x128xf16>) -> tensor<128x128xf32> attributes {tg.num_symbols = 0 : i64} {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x128xf16>, tensor<128x128xf16> -> tensor<128x128xf32>
    return %0 : tensor<128x128xf32>
  }
}
