// Sums of a fold that start from 0 and that only wgmma writes, in a loop of one iteration behind the overlapped first: the zeros are registers
// before the fence (the emulator refuses writes between a fence and its wgmma).
// RUN: weft-compile %s --compile-from=outline --target=sm_80 -o %t.mma.weft --quiet
// RUN: weft-run %t.mma.weft --device=emu:sm_80 --seed=3 --output=y=@%t.npy
// RUN: weft-compile %s --compile-from=outline --target=sm_90a -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=y=@%t.npy --rtol=2e-2 --atol=2e-2 --output-max-element-count=4 | FileCheck %s
// CHECK: compare "y": ok

#row = affine_map<(d0, d1, d2) -> (d0, d2)>
#col = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
#x = affine_map<() -> (40, 128)>
#w = affine_map<() -> (128, 128)>
#v = affine_map<() -> (192, 128)>
#y = affine_map<() -> (40, 192)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<40x128xbf16> {tg.name = "x"}, %w: tensor<128x128xbf16> {tg.name = "w"}, %v: tensor<192x128xbf16> {tg.name = "v"}) -> (tensor<40x192xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @chain::@kernel(%x, %w, %v) symbols = affine_map<() -> ()> : (tensor<40x128xbf16>, tensor<128x128xbf16>, tensor<192x128xbf16>) -> tensor<40x192xf32>
    return %0 : tensor<40x192xf32>
  }
  module @chain attributes {tg.operand_dims = [#x, #w, #v], tg.result_dims = [#y]} {
    func.func @kernel(%x: tensor<40x128xbf16>, %w: tensor<128x128xbf16>, %v: tensor<192x128xbf16>) -> tensor<40x192xf32> attributes {tg.num_symbols = 0 : i64} {
      %0 = tg.fold over affine_map<() -> (128)> init [0.000000e+00 : f32, 0.000000e+00 : f32] update {
      ^bb0(%sum: tensor<40x1xf32>, %acc: tensor<40x192xf32>):
        %h = tg.contract %x, %w [#row, #col, #out] : tensor<40x128xbf16>, tensor<128x128xbf16> -> tensor<40x128xf32>
        %square = tg.mul %h, %h : tensor<40x128xf32>, tensor<40x128xf32>
        %part = tg.reduce add %square axes = [1] keep_dims {tg.streamed} : tensor<40x128xf32>
        %sum2 = tg.add %sum, %part : tensor<40x1xf32>, tensor<40x1xf32>
        %n = tg.cast %h : tensor<40x128xf32> to tensor<40x128xbf16>
        %p = tg.contract %n, %v [#row, #col, #out] {tg.streamed} : tensor<40x128xbf16>, tensor<192x128xbf16> -> tensor<40x192xf32>
        %acc2 = tg.add %acc, %p : tensor<40x192xf32>, tensor<40x192xf32>
        tg.fold_yield %sum2, %acc2 : tensor<40x1xf32>, tensor<40x192xf32>
      } merge {
      } finish {
      ^bb0(%sum: tensor<40x1xf32>, %acc: tensor<40x192xf32>):
        %scale = tg.rsqrt %sum : tensor<40x1xf32>
        %r = tg.mul %acc, %scale : tensor<40x192xf32>, tensor<40x1xf32>
        tg.fold_yield %r : tensor<40x192xf32>
      } : tensor<40x192xf32>
      return %0 : tensor<40x192xf32>
    }
  }
}
