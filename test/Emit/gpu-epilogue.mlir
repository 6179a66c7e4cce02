// The epilogue of an accumulator is computed block by block, right before each block leaves for shared memory: not all
// 128 elements of a thread at once, which would spill. The first block's four stmatrix come before the last exponential.
// RUN: weft-compile %s --target=sm_90a --emit=ptx --ptxas=off | FileCheck %s
// ptxas obeys setmaxnreg where one CTA on an SM says the registers at entry.
// CHECK: .reqntid 384
// CHECK-NEXT: .minnctapersm 1
// CHECK: setmaxnreg.dec
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-32: ex2.approx
// CHECK-NOT: ex2.approx
// CHECK-COUNT-4: stmatrix
// CHECK: cp.async.bulk.tensor
// CHECK-COUNT-32: ex2.approx
// CHECK-NOT: ex2.approx
// CHECK-COUNT-4: stmatrix
// CHECK: cp.async.bulk.tensor

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<4096x768xbf16> {tg.name = "x"}, %w: tensor<3072x768xbf16> {tg.name = "w"}) -> (tensor<4096x3072xbf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [#lhs, #rhs, #out] : tensor<4096x768xbf16>, tensor<3072x768xbf16> -> tensor<4096x3072xf32>
    %1 = tg.sigmoid %0 : tensor<4096x3072xf32>
    %2 = tg.cast %1 : tensor<4096x3072xf32> to tensor<4096x3072xbf16>
    return %2 : tensor<4096x3072xbf16>
  }
}
