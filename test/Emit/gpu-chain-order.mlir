// chain<g>: g blocks of rows of the first product, then the rows of the second one that need them. A CTA waits for the rows that it reads.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --emit=mlir:lower -o - | FileCheck %s --check-prefix=ROWS
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --emit=mlir:lower -o - | FileCheck %s --check-prefix=TURNS
// RUN: not weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --merge-launches=levels --emit=mlir:lower -o - 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: weft-compile %s --compile-from=normalize --target=cpu -o %t.cpu.weft --quiet
// RUN: weft-run %t.cpu.weft --seed=3 --output=y=@%t.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --ptxas=off -o %t.weft --quiet
// RUN: weft-run %t.weft --device=emu:sm_80 --seed=3 --expected-output=y=@%t.npy --rtol=1e-2 --atol=1e-2 | FileCheck %s --check-prefix=RESULT
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --ptxas=off -o %t.turns.weft --quiet
// RUN: weft-run %t.turns.weft --device=emu:sm_80 --seed=3 --expected-output=y=@%t.npy --rtol=1e-2 --atol=1e-2 | FileCheck %s --check-prefix=RESULT
// RUN: weft-run %t.turns.weft --device=emu:sm_80,order=reverse --seed=3 --expected-output=y=@%t.npy --rtol=1e-2 --atol=1e-2 | FileCheck %s --check-prefix=RESULT

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<640x64xf16> {tg.name = "x"}, %u: tensor<64x256xf16> {tg.name = "u"}, %d: tensor<256x64xf16> {tg.name = "d"})
      -> (tensor<640x64xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x64xf16>, tensor<64x256xf16> -> tensor<640x256xf16>
    %1 = tg.contract %0, %d [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x256xf16>, tensor<256x64xf16> -> tensor<640x64xf16>
    return %1 : tensor<640x64xf16>
  }
}
