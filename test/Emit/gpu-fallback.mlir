// An op without a GPU lowering: an error that names the node, or, on request, the CPU for the whole model.
// RUN: not weft-compile %s --target=sm_80 -o %t.weft 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: weft-compile %s --target=sm_80 --fallback=allow -o %t.weft 2>&1 | FileCheck %s --check-prefix=ALLOW
// RUN: weft-run %t.weft --input=x="3xf32=2 1 3" | FileCheck %s --check-prefix=RESULT
// RUN: not weft-run %t.weft --device=emu:sm_80 --input=x="3xf32=2 1 3" 2>&1 | FileCheck %s --check-prefix=DEVICE

// ERROR: error: node `/sort`: 'tg.top_k' op cannot become GPU tiles: {{.*}}; compile with --target=cpu or --fallback=allow
// ALLOW: placement 1 dispatches on cpu
// ALLOW: placement nothing on sm_80; all on cpu: node `/sort`: 'tg.top_k' op cannot become GPU tiles
// RESULT: 2xf32=[1 2]
// DEVICE: error: expected code for sm_80, the bundle has cpu; compile the model with --target=sm_80

!t = tensor<?xf32, #tg.dims<()[s0] -> (s0)>>

module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: !t {tg.name = "x"}) -> (tensor<2xf32> {tg.name = "y"}) {
    %v, %i = tg.top_k %x axis = 0 k = 2 : !t loc("/sort")
    return %v : tensor<2xf32>
  }
}
