// An epilogue that adds a tensor of the result's extents: it comes by TMA while the tile's dots run, and threads read it
// by ldmatrix. Tiles are 128 x 256, three of each CTA's stages beside the residual.
// RUN: weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s --check-prefix=PTX
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-compile %s --compile-from=outline --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,timing=late,order=reverse --seed=3 --expected-output=y=@%t.npy | FileCheck %s --check-prefix=RESULT

// PTX: wgmma.wait_group.sync.aligned 0
// PTX: mbarrier.try_wait.parity
// PTX-COUNT-16: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX-NOT: ld.global
// PTX: stmatrix
// RESULT: device emu:{{.*}} (sm_90a)

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (512, 128)>
#w = affine_map<() -> (512, 128)>
#y = affine_map<() -> (512, 512)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<512x128xbf16> {tg.name = "x"}, %w: tensor<512x128xbf16> {tg.name = "w"}, %r: tensor<512x512xbf16> {tg.name = "r"}) -> (tensor<512x512xbf16> {tg.name = "y"}) {
    %0 = tg.dispatch @product::@kernel(%x, %w, %r) symbols = affine_map<() -> ()> : (tensor<512x128xbf16>, tensor<512x128xbf16>, tensor<512x512xbf16>) -> tensor<512x512xbf16>
    return %0 : tensor<512x512xbf16>
  }
  module @product attributes {tg.operand_dims = [#x, #w, #y], tg.result_dims = [#y],
      tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 3, order = "row", persistent = true, split = 1>} {
    func.func @kernel(%x: tensor<512x128xbf16>, %w: tensor<512x128xbf16>, %r: tensor<512x512xbf16>) -> tensor<512x512xbf16> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<512x128xbf16>, tensor<512x128xbf16> -> tensor<512x512xf32>
      %1 = tg.cast %r : tensor<512x512xbf16> to tensor<512x512xf32>
      %2 = tg.add %1, %0 : tensor<512x512xf32>, tensor<512x512xf32>
      %3 = tg.cast %2 : tensor<512x512xf32> to tensor<512x512xbf16>
      return %3 : tensor<512x512xbf16>
    }
  }
}
