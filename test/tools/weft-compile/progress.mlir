// RUN: weft-compile %s --compile-from=outline --target=sm_80,cpu --progress=on --ptxas=off --quiet -o %t.weft 2>&1 | FileCheck %s
// RUN: weft-compile %s --compile-from=outline --target=sm_80 --progress=auto --ptxas=off --quiet -o %t.weft 2>&1 | count 0
// RUN: not weft-compile %s --compile-from=outline --progress=often -o %t.weft 2>&1 | FileCheck %s --check-prefix=OFTEN

// On a terminal: after two seconds, for which an assembler stands in. Not before, and not elsewhere.
// RUN: printf '#!/bin/sh\ncase $1 in *version*) exit;; esac\nsleep 3\necho "Compiling entry function '"'k'"'"\necho "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"\necho "Used 8 registers"\n' > %t.ptxas && chmod +x %t.ptxas
// RUN: script -qec "weft-compile %s --compile-from=outline --target=sm_80 --ptxas=%t.ptxas -o %t.weft" /dev/null | FileCheck %s --check-prefix=WATCHED
// RUN: weft-compile %s --compile-from=outline --target=sm_80 --ptxas=%t.ptxas -o %t.weft 2>&1 | FileCheck %s --check-prefix=UNWATCHED
// WATCHED-NOT: import
// WATCHED: weft-compile: 2 s: {{.*}}sm_80
// UNWATCHED-NOT: weft-compile: {{[0-9]+}} s:

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
