// --launch-cost: a norm goes behind a product of one row where its kernel costs more than reading and squaring beside the matrix does. Columns of this matrix, an input, are contiguous: 13 us at the peak of DRAM, a fifth of that lost.
// RUN: weft-compile %s --target=sm_90a --launch-cost=2 --emit=mlir:group -o - | FileCheck %s --check-prefix=TWO
// RUN: weft-compile %s --target=sm_90a --launch-cost=10 --emit=mlir:group -o - | FileCheck %s --check-prefix=ONE
// TWO-COUNT-2: tg.kernel
// TWO-NOT: tg.kernel
// ONE-COUNT-1: tg.kernel
// ONE-NOT: tg.kernel
#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>
module {
  func.func @main(%x: tensor<1x4096xbf16> {tg.name = "x"}, %g: tensor<4096xbf16> {tg.name = "g"}, %w: tensor<4096x8192xbf16> {tg.name = "w"}) -> (tensor<1x8192xbf16> {tg.name = "y"}) {
    %scale = tg.constant dense<2.44140625e-4> : tensor<f32>
    %xf = tg.cast %x : tensor<1x4096xbf16> to tensor<1x4096xf32>
    %squares = tg.mul %xf, %xf : tensor<1x4096xf32>, tensor<1x4096xf32>
    %sum = tg.reduce add %squares axes = [1] keep_dims : tensor<1x4096xf32>
    %mean = tg.mul %sum, %scale : tensor<1x1xf32>, tensor<f32>
    %r = tg.rsqrt %mean : tensor<1x1xf32>
    %n = tg.mul %xf, %r : tensor<1x4096xf32>, tensor<1x1xf32>
    %h = tg.cast %n : tensor<1x4096xf32> to tensor<1x4096xbf16>
    %a = tg.mul %h, %g : tensor<1x4096xbf16>, tensor<4096xbf16>
    %y = tg.contract %a, %w [#x, #w, #y] : tensor<1x4096xbf16>, tensor<4096x8192xbf16> -> tensor<1x8192xbf16>
    return %y : tensor<1x8192xbf16>
  }
}
