// A convolution by mma.sync whose window slides over boxes of the image: on sm_90a one warp more copies by TMA, which fills what is outside of the image
// and of the channels with zeros; the results are those of sm_80, whose threads copy, for one CTA a tile and for two that share its steps, with slots that come late.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=NONE
// RUN: weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=off | FileCheck %s --check-prefix=SM80
// RUN: weft-compile %s --compile-from=outline --target=sm_80 -o %t.80.weft --quiet
// RUN: weft-run %t.80.weft --device=emu:sm_80 --seed=3 --output=y=@%t.npy
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/split = 1/split = 2/' %s > %t.two.mlir
// RUN: weft-compile %t.two.mlir --compile-from=outline --target=sm_90a -o %t.two.weft --quiet
// RUN: weft-run %t.two.weft --device=emu:sm_90a --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.two.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/persistent = false/persistent = true/' %s > %t.persistent.mlir
// RUN: weft-compile %t.persistent.mlir --compile-from=outline --target=sm_90a -o %t.persistent.weft --quiet
// RUN: weft-run %t.persistent.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --rtol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// PTX: .reqntid 160
// PTX-DAG: cp.async.bulk.tensor.4d
// PTX-DAG: ldmatrix
// PTX-DAG: mma.sync
// NONE-NOT: {{setmaxnreg|cp.async.c[ag]}}
// SM80: .reqntid 128
// SM80-NOT: bulk
// SM80: cp.async.cg
// RESULT: device emu:{{.*}} (sm_90a)

#image = affine_map<(n, h, w, o, i, j, c) -> (n, h + i, w + j, c)>
#window = affine_map<(n, h, w, o, i, j, c) -> (o, i, j, c)>
#result = affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>
#x = affine_map<() -> (2, 9, 13, 40)>
#w = affine_map<() -> (48, 3, 3, 40)>
#y = affine_map<() -> (2, 9, 13, 48)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<2x9x13x40xf16> {tg.name = "x"}, %w: tensor<48x3x3x40xf16> {tg.name = "w"}) -> (tensor<2x9x13x48xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @convolution::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<2x9x13x40xf16>, tensor<48x3x3x40xf16>) -> tensor<2x9x13x48xf32>
    return %0 : tensor<2x9x13x48xf32>
  }
  module @convolution attributes {tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [1, 4, 8, 32], stream = [1, 1, 64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%x: tensor<2x9x13x40xf16>, %w: tensor<48x3x3x40xf16>) -> tensor<2x9x13x48xf32> attributes {tg.num_symbols = 0 : i64} {
      %zero = tg.constant dense<0.0> : tensor<f16>
      %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<2x9x13x40xf16>, tensor<f16>
      %1 = tg.contract %0, %w [#image, #window, #result] : tensor<2x11x15x40xf16>, tensor<48x3x3x40xf16> -> tensor<2x9x13x48xf32>
      return %1 : tensor<2x9x13x48xf32>
    }
  }
}
