// The order of kernels and collectives: what hides, what does not and why, and that a plan's order and marks are what runs.
// RUN: weft-opt %s --split-input-file --weft-overlap-collectives="target=H100" | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-overlap-collectives="target=H100" --remark-policy=all --remarks-filter=overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: weft-opt %s --split-input-file --weft-overlap-collectives="target=H100 link-latency=1" --remark-policy=all --remarks-filter=overlap -o /dev/null 2>&1 | FileCheck %s --check-prefix=FAST
// RUN: weft-opt %s --split-input-file --weft-overlap-collectives="target=H100 mode=1" | FileCheck %s --check-prefix=ALL
// RUN: weft-opt %s --split-input-file --weft-overlap-collectives="target=H100 mode=off" | FileCheck %s --check-prefix=OFF

// OFF-NOT: tg.overlap

// The kernel of %y needs nothing of the collective, that of its result waits behind it.
module @beside attributes {tg.symbols = []} {
  // WHY: remark: [Passed] beside {{.*}}'all_reduce' beside kernels: {{[0-9.]+}} us, {{[0-9.]+}} of them hidden
  // WHY: remark: [Passed] order {{.*}}a run takes {{[0-9.]+}} us by the model, {{[0-9.]+}} us with collectives in turn
  // CHECK-LABEL: module @beside
  // CHECK: %[[A:.*]] = tg.dispatch @exp::@kernel(%arg0)
  // CHECK: %[[R:.*]] = tg.all_reduce add %[[A]] ranks = 2 {tg.overlap}
  // CHECK: tg.dispatch @exp::@kernel(%arg1)
  // CHECK: tg.dispatch @exp::@kernel(%[[R]])
  func.func @main(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
    %a = tg.dispatch @exp::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %r = tg.all_reduce add %a ranks = 2 : tensor<4096x4096xf32>
    %c = tg.dispatch @exp::@kernel(%r) symbols = affine_map<() -> ()> : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %b = tg.dispatch @exp::@kernel(%y) symbols = affine_map<() -> ()> : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %b, %c : tensor<4096x4096xf32>, tensor<4096x4096xf32>
  }
  module @exp {
    func.func @kernel(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
      %0 = tg.exp %x : tensor<4096x4096xf32>
      return %0 : tensor<4096x4096xf32>
    }
  }
}

// -----

module @alone attributes {tg.symbols = []} {
  // WHY: remark: [Missed] alone {{.*}}'all_reduce' in turn, {{[0-9.]+}} us: it reads an argument of the program
  // WHY: remark: [Missed] alone {{.*}}'all_gather' in turn, {{[0-9.]+}} us: no kernel that does not need it is left to run meanwhile
  // CHECK-LABEL: module @alone
  // CHECK-NOT: tg.overlap
  // ALL-LABEL: module @alone
  // ALL: tg.all_reduce add %arg0 ranks = 2 :
  // ALL: tg.all_gather %{{.*}} {tg.overlap}
  func.func @main(%x: tensor<64x64xf32>) -> tensor<2x64x64xf32> {
    %0 = tg.all_reduce add %x ranks = 2 : tensor<64x64xf32>
    %1 = tg.dispatch @exp::@kernel(%0) symbols = affine_map<() -> ()> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %2 = tg.all_gather %1 : tensor<64x64xf32> -> tensor<2x64x64xf32>
    return %2 : tensor<2x64x64xf32>
  }
  module @exp {
    func.func @kernel(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = tg.exp %x : tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }
  }
}

// -----

// As long as a launch: nothing is won.
module @short attributes {tg.symbols = []} {
  // WHY: remark: [Missed] alone {{.*}}'reduce_scatter' in turn, {{[0-9.]+}} us: kernels beside it would hide {{[0-9.]+}} us, less than estimates of the run resolve
  // FAST: remark: [Missed] alone {{.*}}'reduce_scatter' in turn, {{[0-9.]+}} us: kernels beside it would hide {{[0-9.]+}} us, another stream is taken to cost {{[0-9.]+}} us
  // CHECK-LABEL: module @short
  // CHECK-NOT: tg.overlap
  func.func @main(%x: tensor<2x64xf32>, %y: tensor<2x64xf32>) -> (tensor<64xf32>, tensor<2x64xf32>) {
    %0 = tg.dispatch @exp::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<2x64xf32>) -> tensor<2x64xf32>
    %1 = tg.reduce_scatter add %0 : tensor<2x64xf32> -> tensor<64xf32>
    %2 = tg.dispatch @exp::@kernel(%y) symbols = affine_map<() -> ()> : (tensor<2x64xf32>) -> tensor<2x64xf32>
    return %1, %2 : tensor<64xf32>, tensor<2x64xf32>
  }
  module @exp {
    func.func @kernel(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
      %0 = tg.exp %x : tensor<2x64xf32>
      return %0 : tensor<2x64xf32>
    }
  }
}

// -----

// Nothing moves across an op that binds a symbol.
module @bound attributes {tg.symbols = ["n"]} {
  // ALL-LABEL: module @bound
  // ALL: tg.all_reduce
  // ALL-NEXT: tg.bind_symbols
  // ALL: tg.dispatch @exp::@kernel(%arg1)
  func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>, %n: tensor<1xi64>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<?xi64, #tg.dims<()[s0] -> (s0)>>) {
    %0 = tg.dispatch @exp::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = tg.all_reduce add %0 ranks = 2 : tensor<64x64xf32>
    tg.bind_symbols %n as [0], "n" : tensor<1xi64>
    %2 = tg.dispatch @exp::@kernel(%y) symbols = affine_map<() -> ()> : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %3 = tg.dispatch @count::@kernel() symbols = affine_map<()[s0] -> (s0)> : () -> tensor<?xi64, #tg.dims<()[s0] -> (s0)>>
    return %1, %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<?xi64, #tg.dims<()[s0] -> (s0)>>
  }
  module @exp {
    func.func @kernel(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = tg.exp %x : tensor<64x64xf32>
      return %0 : tensor<64x64xf32>
    }
  }
  module @count {
    func.func private @kernel() -> tensor<?xi64, #tg.dims<()[s0] -> (s0)>>
  }
}
