// A window that slides along what is contiguous: tiles begin one place beside each other, where TMA's boxes begin at multiples of 16 bytes, so that threads copy the image
// (rows of 32 places are such multiples, which is not enough), and TMA nothing.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=outline --target=sm_80 -o %t.80.weft --quiet
// RUN: weft-run %t.80.weft --device=emu:sm_80 --seed=3 --output=y=@%t.npy
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --rtol=1e-3 --atol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// PTX-NOT: cp.async.bulk.tensor
// PTX: mma.sync
// RESULT: compare "y": ok

#image = affine_map<(o, h, w, c, i, j) -> (c, h + i, w + j)>
#window = affine_map<(o, h, w, c, i, j) -> (o, i, j, c)>
#result = affine_map<(o, h, w, c, i, j) -> (o, h, w)>
#x = affine_map<() -> (24, 5, 32)>
#w = affine_map<() -> (40, 3, 3, 24)>
#y = affine_map<() -> (40, 5, 32)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<24x5x32xbf16> {tg.name = "x"}, %w: tensor<40x3x3x24xbf16> {tg.name = "w"}) -> (tensor<40x5x32xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @convolution::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<24x5x32xbf16>, tensor<40x3x3x24xbf16>) -> tensor<40x5x32xf32>
    return %0 : tensor<40x5x32xf32>
  }
  module @convolution attributes {tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [64, 1, 32], stream = [32, 1, 1], engine = mma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%x: tensor<24x5x32xbf16>, %w: tensor<40x3x3x24xbf16>) -> tensor<40x5x32xf32> attributes {tg.num_symbols = 0 : i64} {
      %zero = tg.constant dense<0.0> : tensor<bf16>
      %0 = tg.pad %x, %zero low = [0, 1, 1] high = [0, 1, 1] interior = [0, 0, 0] : tensor<24x5x32xbf16>, tensor<bf16>
      %1 = tg.contract %0, %w [#image, #window, #result] : tensor<24x7x34xbf16>, tensor<40x3x3x24xbf16> -> tensor<40x5x32xf32>
      return %1 : tensor<40x5x32xf32>
    }
  }
}
