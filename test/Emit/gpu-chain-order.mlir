// chain<g>: g blocks of rows of the first product, then the rows of the second one that need them. A CTA waits for the rows that it reads.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --emit=mlir:lower -o - | FileCheck %s --check-prefix=ROWS
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --emit=mlir:lower -o - | FileCheck %s --check-prefix=TURNS
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=off --ptxas=off -o %t.off.weft --quiet
// RUN: weft-run %t.off.weft --device=emu:sm_80 --seed=3 --output=y=@%t.off.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --ptxas=off -o %t.rows.weft --quiet
// RUN: weft-run %t.rows.weft --device=emu:sm_80 --seed=3 --output=y=@%t.rows.npy
// RUN: cmp %t.off.npy %t.rows.npy
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --ptxas=off -o %t.turns.weft --quiet
// RUN: weft-run %t.turns.weft --device=emu:sm_80 --seed=3 --output=y=@%t.turns.npy
// RUN: cmp %t.off.npy %t.turns.npy
// RUN: weft-run %t.turns.weft --device=emu:sm_80,order=reverse --seed=3 --output=y=@%t.reverse.npy
// RUN: cmp %t.off.npy %t.reverse.npy

// Two sets of a counter of 32 bytes for each of the 20 blocks of 32 rows, and a word for each of 160 CTAs, which two on each SM of 108 are.
// ROWS: tg.dispatch @chain_gemm::@kernel
// ROWS: llvm.mlir.global internal @counters(dense<0> : tensor<1920xi8>)
// Groups of 2 blocks: 8 CTAs of the first kernel, 8 of the second; ten groups.
// TURNS: tg.dispatch @chain_gemm::@kernel
// TURNS: %[[PERIOD:.*]] = llvm.mlir.constant(16 : i32)
// TURNS: %[[CTA:.*]] = nvvm.read.ptx.sreg.ctaid.x
// TURNS: llvm.br ^[[LOOP:.*]](%[[CTA]] : i32)
// TURNS: ^[[LOOP]](%[[TASK:.*]]: i32):
// TURNS: llvm.udiv %[[TASK]], %[[PERIOD]]

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<640x64xf16> {tg.name = "x"}, %u: tensor<64x256xf16> {tg.name = "u"}, %d: tensor<256x64xf16> {tg.name = "d"})
      -> (tensor<640x64xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x64xf16>, tensor<64x256xf16> -> tensor<640x256xf16>
    %1 = tg.contract %0, %d [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x256xf16>, tensor<256x64xf16> -> tensor<640x64xf16>
    return %1 : tensor<640x64xf16>
  }
}
