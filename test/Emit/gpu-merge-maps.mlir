// A copy that wants five CTAs of an SM beside a product that leaves it four: its bytes take less time more than a launch. Of eight times as many it
// wants more CTAs, but four have enough bytes under way. Of 64 times as many a twentieth of its time, as far as estimates go, is more than a launch.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --emit=mlir:lower --remarks=fusion --ptxas=off -o - 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY < %t.remarks
// RUN: sed -e 's/524288/4194304/g' %s > %t.middle.mlir
// RUN: weft-compile %t.middle.mlir --compile-from=normalize --target=sm_80 --emit=mlir:lower --ptxas=off -o - | FileCheck %s
// RUN: sed -e 's/524288/33554432/g' %s > %t.large.mlir
// RUN: weft-compile %t.large.mlir --compile-from=normalize --target=sm_80 --emit=mlir:lower --remarks=fusion --ptxas=off -o %t.out.mlir 2>%t.large
// RUN: FileCheck %s --check-prefix=LARGE < %t.large

// The product's CTAs come first, though the copy is first in the program.
// CHECK: tg.dispatch @launch_gemm
// CHECK-NOT: tg.dispatch
// WHY: [Passed] merged
// LARGE: [Missed] not-merged {{.*}}CTAs an SM instead of

#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<524288xf32> {tg.name = "x"}, %a: tensor<128x256xf16> {tg.name = "a"}, %b: tensor<256x128xf16> {tg.name = "b"})
      -> (tensor<524288xf32> {tg.name = "y"}, tensor<128x128xf16> {tg.name = "z"}) {
    %0 = tg.neg %x : tensor<524288xf32>
    %1 = tg.contract %a, %b [#mk, #kn, #mn] : tensor<128x256xf16>, tensor<256x128xf16> -> tensor<128x128xf16>
    return %0, %1 : tensor<524288xf32>, tensor<128x128xf16>
  }
}
