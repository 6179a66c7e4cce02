// A norm whose sums the product in front carries, and the products behind it in one launch: they ask for their rows' parts
// ahead of their loops, and must have waited for the kernel that writes them.
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --launch-cost=10 --emit=mlir:lower --remarks='fusion|plan' -o - 2>%t.remarks | FileCheck %s --check-prefix=IR
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=h=@%t.h.npy --output=y=@%t.y.npy --output=z=@%t.z.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80,sm_90a --launch-cost=10 --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --expected-output=h=@%t.h.npy --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --rtol=2e-2 --atol=5e-2 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a --seed=3 --expected-output=h=@%t.h.npy --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --rtol=2e-2 --atol=5e-2 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.weft --device=emu:sm_90a,order=reverse --seed=3 --expected-output=h=@%t.h.npy --expected-output=y=@%t.y.npy --expected-output=z=@%t.z.npy --rtol=2e-2 --atol=5e-2 | FileCheck %s --check-prefix=RESULT

// IR-COUNT-1: tg.dispatch @chain_
// IR-NOT: tg.dispatch
// IR: red.release.gpu.global.add.u32
// REMARK: delayed-scale {{.*}}sums of 64 elements of each row beside the GEMM in front
// REMARK: merged {{.*}}start as one, and wait for each other in it
// RESULT: device emu:{{.*}} 1 dispatches

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#y = affine_map<(i, j, k) -> (i, j)>
module attributes {tg.symbols = []} {
  func.func @main(%a: tensor<128x128xf16> {tg.name = "a"}, %o: tensor<128x256xf16> {tg.name = "o"}, %x: tensor<128x256xf16> {tg.name = "x"},
      %q: tensor<256x128xf16> {tg.name = "q"}, %k: tensor<256x64xf16> {tg.name = "k"})
      -> (tensor<128x256xf16> {tg.name = "h"}, tensor<128x128xf16> {tg.name = "y"}, tensor<128x64xf16> {tg.name = "z"}) {
    %p = tg.contract %a, %o [#x, #w, #y] : tensor<128x128xf16>, tensor<128x256xf16> -> tensor<128x256xf16>
    %h = tg.add %x, %p : tensor<128x256xf16>, tensor<128x256xf16>
    %h32 = tg.cast %h : tensor<128x256xf16> to tensor<128x256xf32>
    %sq = tg.mul %h32, %h32 : tensor<128x256xf32>, tensor<128x256xf32>
    %s = tg.reduce add %sq axes = [1] keep_dims : tensor<128x256xf32>
    %r = tg.rsqrt %s : tensor<128x1xf32>
    %n = tg.mul %h32, %r : tensor<128x256xf32>, tensor<128x1xf32>
    %n16 = tg.cast %n : tensor<128x256xf32> to tensor<128x256xf16>
    %g = tg.constant dense<3.0> : tensor<256xf16>
    %t = tg.mul %g, %n16 : tensor<256xf16>, tensor<128x256xf16>
    %y = tg.contract %t, %q [#x, #w, #y] : tensor<128x256xf16>, tensor<256x128xf16> -> tensor<128x128xf16>
    %z = tg.contract %t, %k [#x, #w, #y] : tensor<128x256xf16>, tensor<256x64xf16> -> tensor<128x64xf16>
    return %h, %y, %z : tensor<128x256xf16>, tensor<128x128xf16>, tensor<128x64xf16>
  }
}
