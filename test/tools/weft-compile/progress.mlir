// RUN: weft-compile %s --compile-from=outline --target=sm_80,cpu --progress=on --ptxas=off --quiet -o %t.weft 2>&1 | FileCheck %s
// RUN: weft-compile %s --compile-from=outline --target=sm_80 --progress=auto --ptxas=off --quiet -o %t.weft 2>&1 | count 0
// RUN: not weft-compile %s --compile-from=outline --progress=often -o %t.weft 2>&1 | FileCheck %s --check-prefix=OFTEN

// CHECK: weft-compile: {{[0-9]+}} s: import
// CHECK: weft-compile: {{[0-9]+}} s: lower
// CHECK-NEXT: weft-compile: {{[0-9]+}} s: plan sm_80
// CHECK-NEXT: weft-compile: {{[0-9]+}} s: lower sm_80
// CHECK-NEXT: weft-compile: {{[0-9]+}} s: native code cpu of 1 kernels
// CHECK-NEXT: weft-compile: {{[0-9]+}} s: ptx sm_80 of 1 kernels
// OFTEN: error: --progress: expected auto, on or off, got `often`
module {
  module @negate {
    func.func @kernel(%a: tensor<64xf32>) -> tensor<64xf32> {
      %0 = tg.neg %a : tensor<64xf32>
      return %0 : tensor<64xf32>
    }
  }
  func.func @main(%x: tensor<64xf32> {tg.name = "x"}) -> (tensor<64xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @negate::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<64xf32>) -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}
