// Matrix instructions of kernels that are no single product, counted in their tile kernel IR, beside those that the emulator executes.
// RUN: split-file %s %t
// RUN: weft-compile %t/window.mlir --compile-from=normalize --target=A100-40 --ptxas=off --quiet -o %t/window.weft
// RUN: weft-run %t/window.weft --device=emu:A100 --counters > %t/window.counted
// RUN: weft explain %t/window.weft --json -o %t/window.json
// RUN: %python %S/Inputs/compare-instructions.py %t/window.json %t/window.counted | FileCheck %s --check-prefix=WINDOW
// RUN: weft-compile %t/attention.mlir --target=H100 --ptxas=off --quiet -o %t/attention.weft
// RUN: weft-run %t/attention.weft --device=emu:H100 --counters > %t/attention.counted
// RUN: weft explain %t/attention.weft --json -o %t/attention.json
// RUN: %python %S/Inputs/compare-instructions.py %t/attention.json %t/attention.counted | FileCheck %s --check-prefix=ATTENTION
// RUN: FileCheck %s --check-prefix=BOUND --input-file=%t/attention.json

// WINDOW: sm__inst_executed_pipe_tensor_op_hmma.sum: [[N:[1-9][0-9]*]] counted, [[N]] predicted
// WINDOW: sm__inst_executed_pipe_tensor.sum: [[N]] counted, [[N]] predicted
// ATTENTION: sm__inst_executed_pipe_tensor_op_gmma.sum: [[N:[1-9][0-9]*]] counted, [[N]] predicted
// ATTENTION: sm__inst_executed_pipe_tensor.sum: [[N]] counted, [[N]] predicted

// The two products of a whole fold are the group of the bound, chained by the scores. (Parts of a fold have one: the scores go to memory in no form.)
// BOUND: "group":{"arrays":[{{.*}}"kind":"intermediate"{{.*}}"statements":[

//--- window.mlir
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<18x18x32xf16> {tg.name = "x"}, %w: tensor<3x3x32x64xf16> {tg.name = "w"}) -> (tensor<16x16x64xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [affine_map<(y, x, o, r, s, c) -> (y + r, x + s, c)>, affine_map<(y, x, o, r, s, c) -> (r, s, c, o)>, affine_map<(y, x, o, r, s, c) -> (y, x, o)>] : tensor<18x18x32xf16>, tensor<3x3x32x64xf16> -> tensor<16x16x64xf16>
    return %0 : tensor<16x16x64xf16>
  }
}

//--- attention.mlir
module attributes {tg.symbols = []} {
  func.func @main(%q: tensor<1x24x512x64xbf16> {tg.name = "q"}, %k: tensor<1x24x512x64xbf16> {tg.name = "k"}, %v: tensor<1x24x512x64xbf16> {tg.name = "v"}) -> (tensor<1x24x512x64xbf16> {tg.name = "y"}) {
    %0, %1 = tg.attention %q, %k, %v scale = 0.125 softmax = f32 : tensor<1x24x512x64xbf16>, tensor<1x24x512x64xbf16>, tensor<1x24x512x64xbf16>
    return %0 : tensor<1x24x512x64xbf16>
  }
}
