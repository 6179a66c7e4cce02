// What only an import can do is refused for a module, not passed over.
// RUN: not weft-compile %s --dim=n=4 -o %t.weft 2>&1 | FileCheck %s --check-prefix=DIM
// RUN: not weft-compile %s --bind=x=1 -o %t.weft 2>&1 | FileCheck %s --check-prefix=BIND
// RUN: weft-compile %s --dim=n=1..4 --quiet -o %t.weft
// RUN: not weft-compile %s --dim=m=1..4 -o %t.weft 2>&1 | FileCheck %s --check-prefix=NAME
// DIM: --dim: expected n=low..high or n=low..high:likely for a module, whose dimensions are symbols already, got one extent
// BIND: --bind: expected an ONNX model, got the module
// NAME: --dim: the model has no dimension named `m`; names: n
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {tg.name = "x"}) -> (tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {tg.name = "y"}) {
    %0 = tg.exp %x : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
    return %0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
  }
}
