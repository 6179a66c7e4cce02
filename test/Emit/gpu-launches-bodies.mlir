// Launches are merged in main; kernels that only the body of a loop runs stay.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --ptxas=off -o %t.weft 2>&1 | FileCheck %s
// CHECK: 1 dispatches of 1 distinct kernels
#turns = affine_map<() -> (5)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<64xf32> {tg.name = "x"}, %s: tensor<5x64xf32> {tg.name = "s"}) -> (tensor<64xf32> {tg.name = "y"}) {
    %0 = tg.loop @turn trips #turns carry(%x : tensor<64xf32>) scan(%s : tensor<5x64xf32>) {collected_reversed = array<i1>, scanned_reversed = array<i1: false>} -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
  func.func private @turn(%c: tensor<64xf32>, %r: tensor<64xf32>) -> tensor<64xf32> {
    %0 = tg.mul %c, %r : tensor<64xf32>, tensor<64xf32>
    return %0 : tensor<64xf32>
  }
}
