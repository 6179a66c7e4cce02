// Windows with a stride of 2 over boxes that have every second place of the image: TMA skips those between them, and fills what is outside with zeros. A step of one place of
// the window by wgmma; a step of three, of which the first and the last share rows, so that the image comes as 5 even rows and 4 odd ones; and by mma.sync. The results are those of sm_80, whose threads copy; slots come late.
// RUN: weft-compile %s --compile-from=outline --target=sm_80 -o %t.80.weft --quiet
// RUN: weft-run %t.80.weft --device=emu:sm_80 --seed=3 --output=y=@%t.npy
// RUN: sed 's/engine = mma/engine = wgmma/' %s > %t.wgmma.mlir
// RUN: weft-compile %t.wgmma.mlir --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --rtol=1e-3 --atol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/stream = .1, 1, 64./stream = [3, 1, 64]/' %t.wgmma.mlir > %t.rows.mlir
// RUN: weft-compile %t.rows.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=ROWS
// RUN: weft-compile %t.rows.mlir --compile-from=outline --target=sm_90a -o %t.rows.weft --quiet
// RUN: weft-run %t.rows.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --rtol=1e-3 --atol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=MMA
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.mma.weft --quiet
// RUN: weft-run %t.mma.weft --device=emu:sm_90a,timing=late --seed=3 --rtol=1e-3 --atol=1e-3 --expected-output=y=@%t.npy --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// Rows 0 2 4 6 and 8, rows 1 3 5 7, three places of the weights.
// ROWS-COUNT-6: cp.async.bulk.tensor.4d.shared
// ROWS-NOT: cp.async.bulk.tensor.4d.shared
// ROWS: wgmma.mma_async
// MMA-DAG: cp.async.bulk.tensor.4d
// MMA-DAG: mma.sync
// RESULT: device emu:{{.*}} (sm_90a)

#image = affine_map<(n, h, w, o, i, j, c) -> (n, h * 2 + i, w * 2 + j, c)>
#window = affine_map<(n, h, w, o, i, j, c) -> (o, i, j, c)>
#result = affine_map<(n, h, w, o, i, j, c) -> (n, h, w, o)>
#x = affine_map<() -> (2, 13, 29, 72)>
#w = affine_map<() -> (48, 3, 3, 72)>
#y = affine_map<() -> (2, 7, 15, 48)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<2x13x29x72xf16> {tg.name = "x"}, %w: tensor<48x3x3x72xf16> {tg.name = "w"}) -> (tensor<2x7x15x48xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @convolution::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<2x13x29x72xf16>, tensor<48x3x3x72xf16>) -> tensor<2x7x15x48xf32>
    return %0 : tensor<2x7x15x48xf32>
  }
  module @convolution attributes {tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [1, 4, 16, 64], stream = [1, 1, 64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
    func.func @kernel(%x: tensor<2x13x29x72xf16>, %w: tensor<48x3x3x72xf16>) -> tensor<2x7x15x48xf32> attributes {tg.num_symbols = 0 : i64} {
      %zero = tg.constant dense<0.0> : tensor<f16>
      %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<2x13x29x72xf16>, tensor<f16>
      %1 = tg.contract %0, %w [#image, #window, #result] : tensor<2x15x31x72xf16>, tensor<48x3x3x72xf16> -> tensor<2x7x15x48xf32>
      return %1 : tensor<2x7x15x48xf32>
    }
  }
}
