// Tiles of windows by pairs. Side by side along the outputs two CTAs have the image in common: of each box, and of the rows that taps of the window share, each copies
// half of the rows to both. With one tile of outputs they stand below each other and have the weights in
// common; three tiles of rows make two pairs, the last CTA of which does nothing. The results are the CPU's.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-compile %s --compile-from=outline --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --rtol=1e-3 --atol=1e-3 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --expected-output=y=@%t.npy --rtol=1e-3 --atol=1e-3 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT
// RUN: sed 's/100/52/g; s/64, 12, 8/64, 4, 8/; s/persistent = false/persistent = true/' %s > %t.below.mlir
// RUN: weft-compile %t.below.mlir --compile-from=outline --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy
// RUN: weft-compile %t.below.mlir --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=BELOW
// RUN: weft-compile %t.below.mlir --compile-from=outline --target=sm_90a -o %t.below.weft --quiet
// RUN: weft-run %t.below.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --expected-output=y=@%t.npy --rtol=1e-3 --atol=1e-3 --output-max-element-count=4 | FileCheck %s --check-prefix=RESULT

// CHECK: .reqnctapercluster 2
// CHECK-COUNT-2: multicast::cluster
// CHECK-NOT: multicast::cluster
// CHECK: wgmma.mma_async
// BELOW: .reqnctapercluster 2
// BELOW-COUNT-3: multicast::cluster
// BELOW-NOT: multicast::cluster
// BELOW: wgmma.mma_async
// RESULT: compare "y": ok

#image = affine_map<(n, o, h, w, i, j, c) -> (n, h + i, w + j, c)>
#window = affine_map<(n, o, h, w, i, j, c) -> (o, i, j, c)>
#result = affine_map<(n, o, h, w, i, j, c) -> (n, o, h, w)>
#x = affine_map<() -> (1, 11, 8, 72)>
#w = affine_map<() -> (100, 3, 3, 72)>
#y = affine_map<() -> (1, 100, 11, 8)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<1x11x8x72xbf16> {tg.name = "x"}, %w: tensor<100x3x3x72xbf16> {tg.name = "w"}) -> (tensor<1x100x11x8xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @convolution::@kernel(%x, %w) symbols = affine_map<() -> ()> : (tensor<1x11x8x72xbf16>, tensor<100x3x3x72xbf16>) -> tensor<1x100x11x8xf32>
    return %0 : tensor<1x100x11x8xf32>
  }
  module @convolution attributes {tg.operand_dims = [#x, #w], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [1, 64, 12, 8], stream = [3, 1, 64], engine = wgmma, warps = 4, stages = 3, order = "row", persistent = false, split = 1, multicast = 2>} {
    func.func @kernel(%x: tensor<1x11x8x72xbf16>, %w: tensor<100x3x3x72xbf16>) -> tensor<1x100x11x8xf32> attributes {tg.num_symbols = 0 : i64} {
      %zero = tg.constant dense<0.0> : tensor<bf16>
      %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<1x11x8x72xbf16>, tensor<bf16>
      %1 = tg.contract %0, %w [#image, #window, #result] : tensor<1x13x10x72xbf16>, tensor<100x3x3x72xbf16> -> tensor<1x100x11x8xf32>
      return %1 : tensor<1x100x11x8xf32>
    }
  }
}
