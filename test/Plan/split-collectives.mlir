// GEMMs that ranks add up, in parts of rows: by the model, as often as is said, and why not.
// RUN: weft-opt %s --split-input-file --weft-split-collectives=target=H100 | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-split-collectives=target=H100 --remark-policy=all --remarks-filter=overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: weft-opt %s --split-input-file --weft-split-collectives="target=H100 mode=3" | FileCheck %s --check-prefix=THREE
// RUN: weft-opt %s --split-input-file --weft-split-collectives="target=H100 mode=off" | FileCheck %s --check-prefix=OFF

// OFF-NOT: tg.concat

module @prefill attributes {tg.symbols = []} {
  // WHY: remark: [Passed] parts {{.*}}'all_reduce' in [[#N:]] parts of {{[0-9]+}} rows of 4096: {{[0-9.]+}} us with its GEMM by the model, {{[0-9.]+}} us in one part
  // CHECK-LABEL: module @prefill
  // CHECK: tg.slice %arg0 offsets = [0, 0, 0] strides = [1, 1, 1] : tensor<1x4096x8192xf16> to tensor<1x[[#ROWS:]]x8192xf16>
  // CHECK: %[[FIRST:.*]] = tg.all_reduce add %{{.*}} ranks = 2 : tensor<1x[[#ROWS]]x8192xf16>
  // CHECK: tg.slice %arg0 offsets = [0, [[#ROWS]], 0] strides = [1, 1, 1] {tg.behind}
  // CHECK-NEXT: tg.contract {{.*}} {tg.behind}
  // CHECK: tg.concat %[[FIRST]], {{.*}} axis = 1 {tg.joined}
  // THREE-LABEL: module @prefill
  // THREE-COUNT-3: tg.all_reduce
  // THREE: tg.concat {{.*}} {tg.joined}
  func.func @main(%x: tensor<1x4096x8192xf16>) -> tensor<1x4096x8192xf16> {
    %w = tg.weight <"m.bin", 0, 134217728> : tensor<8192x8192xf16>
    %p = tg.contract %x, %w [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>] : tensor<1x4096x8192xf16>, tensor<8192x8192xf16> -> tensor<1x4096x8192xf16>
    %r = tg.all_reduce add %p ranks = 2 : tensor<1x4096x8192xf16>
    return %r : tensor<1x4096x8192xf16>
  }
}

// -----

// A decoder's step reads all weights for each part.
module @decode attributes {tg.symbols = []} {
  // WHY: remark: [Missed] whole {{.*}}'all_reduce' in one part: {{[0-9.]+}} us with its GEMM by the model, {{[0-9.]+}} us in 2 parts
  func.func @main(%x: tensor<8x8192xf16>) -> tensor<8x8192xf16> {
    %w = tg.weight <"m.bin", 0, 134217728> : tensor<8192x8192xf16>
    %p = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x8192xf16>, tensor<8192x8192xf16> -> tensor<8x8192xf16>
    %r = tg.all_reduce add %p ranks = 2 : tensor<8x8192xf16>
    return %r : tensor<8x8192xf16>
  }
}

// -----

// Rows that parts do not divide: a prime number, and two GEMMs whose sum is added up, one in other units.
module @prime attributes {tg.symbols = []} {
  // THREE-LABEL: module @prime
  // THREE: tg.slice %arg0 offsets = [0, 0] strides = [1, 1] : tensor<13x8xf32> to tensor<5x8xf32>
  // THREE: tg.cast
  // THREE: tg.add
  // THREE: tg.all_reduce {{.*}} tensor<5x16xf32>
  // THREE: tg.all_reduce {{.*}} tensor<5x16xf32>
  // THREE: tg.all_reduce {{.*}} tensor<3x16xf32>
  func.func @main(%x: tensor<13x8xf32>, %y: tensor<13x8xf16>) -> tensor<13x16xf32> {
    %u = tg.weight <"m.bin", 0, 512> : tensor<8x16xf32>
    %v = tg.weight <"m.bin", 512, 256> : tensor<8x16xf16>
    %p = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<13x8xf32>, tensor<8x16xf32> -> tensor<13x16xf32>
    %q = tg.contract %y, %v [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<13x8xf16>, tensor<8x16xf16> -> tensor<13x16xf16>
    %c = tg.cast %q : tensor<13x16xf16> to tensor<13x16xf32>
    %s = tg.add %p, %c : tensor<13x16xf32>, tensor<13x16xf32>
    %r = tg.all_reduce add %s ranks = 2 : tensor<13x16xf32>
    return %r : tensor<13x16xf32>
  }
}

// -----

module @table attributes {tg.symbols = ["n"]} {
  // WHY: remark: [Missed] whole {{.*}}'all_reduce' in one part: no GEMM makes its rows
  // WHY: remark: [Missed] whole {{.*}}'all_reduce' in one part: its extents are known at run time only
  // WHY: remark: [Missed] whole {{.*}}'all_reduce' in one part: it has one element or none
  // WHY: remark: [Missed] whole {{.*}}'all_reduce' in one part: rows of its 'reshape' are not made for themselves
  func.func @main(%x: tensor<64x8xf32>, %y: tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, %z: tensor<1x1xf32>, %a: tensor<6x8xf32>, %b: tensor<8x4xf32>)
      -> (tensor<64x8xf32>, tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, tensor<1x1xf32>, tensor<24xf32>) {
    %e = tg.exp %x : tensor<64x8xf32>
    %0 = tg.all_reduce add %e ranks = 2 : tensor<64x8xf32>
    %1 = tg.all_reduce add %y ranks = 2 : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
    %2 = tg.all_reduce add %z ranks = 2 : tensor<1x1xf32>
    %g = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    %h = tg.reshape %g : tensor<6x4xf32> to tensor<24xf32>
    %3 = tg.all_reduce add %h ranks = 2 : tensor<24xf32>
    return %0, %1, %2, %3 : tensor<64x8xf32>, tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, tensor<1x1xf32>, tensor<24xf32>
  }
}
