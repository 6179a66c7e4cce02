// One tile shape for products of one left operand that would not start together in their own.
// RUN: weft-opt %s --split-input-file --weft-plan-launches=target=sm_80 --remark-policy=all --remarks-filter=plan 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: weft-opt %s --split-input-file --weft-plan-launches=target=sm_80 --weft-plan-gpu=target=sm_80 | FileCheck %s --check-prefix=PLAN
// RUN: sed '/^\/\/ -----/,$d' %s > %t.mlir
// RUN: weft-compile %t.mlir --compile-from=outline --target=sm_80 --compile-to=plan | FileCheck %s --check-prefix=PRINTED
// RUN: weft-opt %s --split-input-file --weft-plan-launches=target=sm_90a | FileCheck %s --check-prefix=HOPPER

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Queries beside keys with values: a tile of the one product has twice the columns of a tile of the two. On an H100 each
// would be read by clusters, which start alone.
// WHY: [Passed] launch-tile {{.*}}2 GEMMs of one left operand: {{.*}} us as one launch of {{.*}} tiles, {{.*}} us apart
// WHY: [Missed] no-launch-tile {{.*}}2 GEMMs of one left operand: {{[0-9.]+}} us as one launch of {{[0-9]+}} tiles, {{[0-9.]+}} us apart
// WHY-NOT: launch-tile
// CHECK-LABEL: func.func @main
// CHECK: module @queries attributes {tg.beside, tg.launch_tile = #tg.schedule<tile = [[[M:[0-9]+]], 128], stream = [[[K:[0-9]+]]], engine = mma, warps = [[W:[0-9]+]], stages = [[S:[0-9]+]],
// CHECK: module @keys_values attributes {tg.beside, tg.launch_tile = #tg.schedule<tile = [[[M]], 64], stream = [[[K]]], engine = mma, warps = [[W]], stages = [[S]],
// What the schedules were chosen by is no part of the plan, and what starts together is.
// PRINTED-NOT: tg.beside
// PRINTED: tg.dispatch @queries{{.*}}tg.launch = array<i64: 0, 0>
// PRINTED: tg.dispatch @keys_values{{.*}}tg.launch = array<i64: 0, 1>
// PRINTED: module @queries attributes {tg.schedule = #tg.schedule<
// PRINTED: module @keys_values attributes {tg.schedule = #tg.schedule<
// PLAN: module @queries attributes {{.*}}tg.schedule = #tg.schedule<tile = [[[M:[0-9]+]], 128], stream = [[[K:[0-9]+]]], engine = mma
// PLAN: module @keys_values attributes {{.*}}tg.schedule = #tg.schedule<tile = [[[M]], 64], stream = [[[K]]], engine = mma
// HOPPER: module @queries attributes {tg.beside, tg.launch_tile = #tg.schedule<tile = [[[M:[0-9]+]], 192], stream = [64], engine = wgmma
// HOPPER: module @keys_values attributes {tg.beside, tg.launch_tile = #tg.schedule<tile = [[[M]], 96], stream = [64], engine = wgmma
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<512x4096xf16>, %q: tensor<4096x4096xf16>, %k: tensor<4096x1024xf16>, %v: tensor<4096x1024xf16>)
      -> (tensor<512x4096xf16>, tensor<512x1024xf16>, tensor<512x1024xf16>) {
    %0 = tg.dispatch @queries::@kernel(%x, %q) symbols = affine_map<() -> ()> : (tensor<512x4096xf16>, tensor<4096x4096xf16>) -> tensor<512x4096xf16>
    %1:2 = tg.dispatch @keys_values::@kernel(%x, %k, %v) symbols = affine_map<() -> ()>
        : (tensor<512x4096xf16>, tensor<4096x1024xf16>, tensor<4096x1024xf16>) -> (tensor<512x1024xf16>, tensor<512x1024xf16>)
    return %0, %1#0, %1#1 : tensor<512x4096xf16>, tensor<512x1024xf16>, tensor<512x1024xf16>
  }
  module @queries {
    func.func @kernel(%x: tensor<512x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<512x4096xf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf16>
      return %0 : tensor<512x4096xf16>
    }
  }
  module @keys_values {
    func.func @kernel(%x: tensor<512x4096xf16>, %k: tensor<4096x1024xf16>, %v: tensor<4096x1024xf16>) -> (tensor<512x1024xf16>, tensor<512x1024xf16>)
        attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %k [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x1024xf16> -> tensor<512x1024xf16>
      %1 = tg.contract %x, %v [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x1024xf16> -> tensor<512x1024xf16>
      return %0, %1 : tensor<512x1024xf16>, tensor<512x1024xf16>
    }
  }
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Of other left operands; behind the other one; alone in another place of the program.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tg.launch_tile
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<512x4096xf16>, %z: tensor<512x4096xf16>, %q: tensor<4096x4096xf16>, %k: tensor<4096x1024xf16>)
      -> (tensor<512x4096xf16>, tensor<512x1024xf16>, tensor<512x4096xf16>) {
    %0 = tg.dispatch @queries::@kernel(%x, %q) symbols = affine_map<() -> ()> : (tensor<512x4096xf16>, tensor<4096x4096xf16>) -> tensor<512x4096xf16>
    %1 = tg.dispatch @keys::@kernel(%z, %k) symbols = affine_map<() -> ()> : (tensor<512x4096xf16>, tensor<4096x1024xf16>) -> tensor<512x1024xf16>
    %2 = tg.dispatch @keys::@kernel(%0, %k) symbols = affine_map<() -> ()> : (tensor<512x4096xf16>, tensor<4096x1024xf16>) -> tensor<512x1024xf16>
    %3 = tg.dispatch @queries::@kernel(%0, %q) symbols = affine_map<() -> ()> : (tensor<512x4096xf16>, tensor<4096x4096xf16>) -> tensor<512x4096xf16>
    return %0, %2, %3 : tensor<512x4096xf16>, tensor<512x1024xf16>, tensor<512x4096xf16>
  }
  module @queries {
    func.func @kernel(%x: tensor<512x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<512x4096xf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x4096xf16> -> tensor<512x4096xf16>
      return %0 : tensor<512x4096xf16>
    }
  }
  module @keys {
    func.func @kernel(%x: tensor<512x4096xf16>, %w: tensor<4096x1024xf16>) -> tensor<512x1024xf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#x, #w, #y] : tensor<512x4096xf16>, tensor<4096x1024xf16> -> tensor<512x1024xf16>
      return %0 : tensor<512x1024xf16>
    }
  }
}

// -----
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>

// Of long rows one launch gains less than estimates resolve.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tg.launch_tile
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<1024x8192xf16>, %q: tensor<8192x15360xf16>, %k: tensor<8192x1024xf16>, %v: tensor<8192x1024xf16>)
      -> (tensor<1024x15360xf16>, tensor<1024x1024xf16>, tensor<1024x1024xf16>) {
    %0 = tg.dispatch @queries::@kernel(%x, %q) symbols = affine_map<() -> ()> : (tensor<1024x8192xf16>, tensor<8192x15360xf16>) -> tensor<1024x15360xf16>
    %1:2 = tg.dispatch @keys_values::@kernel(%x, %k, %v) symbols = affine_map<() -> ()>
        : (tensor<1024x8192xf16>, tensor<8192x1024xf16>, tensor<8192x1024xf16>) -> (tensor<1024x1024xf16>, tensor<1024x1024xf16>)
    return %0, %1#0, %1#1 : tensor<1024x15360xf16>, tensor<1024x1024xf16>, tensor<1024x1024xf16>
  }
  module @queries {
    func.func @kernel(%x: tensor<1024x8192xf16>, %w: tensor<8192x15360xf16>) -> tensor<1024x15360xf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#x, #w, #y] : tensor<1024x8192xf16>, tensor<8192x15360xf16> -> tensor<1024x15360xf16>
      return %0 : tensor<1024x15360xf16>
    }
  }
  module @keys_values {
    func.func @kernel(%x: tensor<1024x8192xf16>, %k: tensor<8192x1024xf16>, %v: tensor<8192x1024xf16>) -> (tensor<1024x1024xf16>, tensor<1024x1024xf16>)
        attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %k [#x, #w, #y] : tensor<1024x8192xf16>, tensor<8192x1024xf16> -> tensor<1024x1024xf16>
      %1 = tg.contract %x, %v [#x, #w, #y] : tensor<1024x8192xf16>, tensor<8192x1024xf16> -> tensor<1024x1024xf16>
      return %0, %1 : tensor<1024x1024xf16>, tensor<1024x1024xf16>
    }
  }
}

// -----

// A product of few tiles beside another kernel: clusters would share its steps, and start alone. Alone in its level they do (plan-gpu.mlir).
// RUN: weft-opt %s --split-input-file --weft-plan-launches=target=sm_90a --weft-plan-gpu=target=sm_90a | FileCheck %s --check-prefix=BESIDE
// BESIDE: module @down attributes {tg.beside, tg.schedule = #tg.schedule<{{.*}} split = 1>
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (j, k)>
#y = affine_map<(i, j, k) -> (i, j)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<128x3072xf16>, %w: tensor<768x3072xf16>, %z: tensor<64x64xf16>) -> (tensor<128x768xf16>, tensor<64x64xf16>) {
    %0 = tg.dispatch @down::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<128x3072xf16>, tensor<768x3072xf16>) -> tensor<128x768xf16>
    %1 = tg.dispatch @map::@kernel(%z) symbols = affine_map<() -> ()> : (tensor<64x64xf16>) -> tensor<64x64xf16>
    return %0, %1 : tensor<128x768xf16>, tensor<64x64xf16>
  }
  module @down {
    func.func @kernel(%x: tensor<128x3072xf16>, %w: tensor<768x3072xf16>) -> tensor<128x768xf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#x, #w, #y] : tensor<128x3072xf16>, tensor<768x3072xf16> -> tensor<128x768xf16>
      return %0 : tensor<128x768xf16>
    }
  }
  module @map {
    func.func @kernel(%z: tensor<64x64xf16>) -> tensor<64x64xf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.add %z, %z : tensor<64x64xf16>, tensor<64x64xf16>
      return %0 : tensor<64x64xf16>
    }
  }
}
