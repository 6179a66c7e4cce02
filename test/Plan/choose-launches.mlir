// Kernels that start as one are part of the plan: launches and places of dispatches, and the order of a chain's CTAs. What is edited there is what is
// made; the rest of the plan stays as it is.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --compile-to=plan -o %t.mlir
// RUN: FileCheck %s --check-prefix=PLAN --input-file=%t.mlir
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --emit=ptx --ptxas=off -o %t.ptx
// RUN: weft-compile %t.mlir --compile-from=plan --target=sm_80 --emit=ptx --ptxas=off -o %t.again.ptx
// RUN: cmp %t.ptx %t.again.ptx
// RUN: weft-compile %t.mlir --compile-from=plan --target=sm_80 --compile-to=lower | FileCheck %s --check-prefixes=LOWER,TWO
// RUN: sed 's/chain<2>/chain<5>/' %t.mlir > %t.five.mlir
// RUN: weft-compile %t.five.mlir --compile-from=plan --target=sm_80 --compile-to=lower | FileCheck %s --check-prefixes=LOWER,FIVE
// RUN: sed 's/, tg.launch_order = "chain<2>"//' %t.mlir > %t.rows.mlir
// RUN: weft-compile %t.rows.mlir --compile-from=plan --target=sm_80 --compile-to=lower | FileCheck %s --check-prefixes=LOWER,ROWS
// RUN: sed 's/tg.launch = array<i64: 0, 1>/tg.launch = array<i64: 1, 0>/; s/, tg.launch_order = "chain<2>"//' %t.mlir > %t.alone.mlir
// RUN: weft-compile %t.alone.mlir --compile-from=plan --target=sm_80 --compile-to=lower | FileCheck %s --check-prefix=ALONE
// RUN: weft-compile %t.mlir --compile-from=plan --target=sm_80 --merge-launches=off --compile-to=lower | FileCheck %s --check-prefix=ALONE
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --compile-to=plan | FileCheck %s --check-prefix=MODEL

// A plan whose launches are given keeps them, whatever is asked for.
// RUN: weft-compile %t.rows.mlir --compile-from=outline --target=sm_80 '--traversal=chain<2>' --compile-to=lower | FileCheck %s --check-prefixes=LOWER,ROWS
// RUN: not weft-opt %s --weft-choose-launches=chains=some 2>&1 | FileCheck %s --check-prefix=OPTION

// PLAN: tg.dispatch {{.*}}tg.launch = array<i64: 0, 0>, tg.launch_order = "chain<2>"
// PLAN: tg.dispatch {{.*}}tg.launch = array<i64: 0, 1>
// LOWER: tg.dispatch @chain_gemm::@kernel
// LOWER-NOT: tg.dispatch
// Groups of g blocks: 4 g CTAs of the first kernel, 4 g of the second.
// TWO: %[[TWO:.*]] = llvm.mlir.constant(16 : i32)
// TWO: llvm.udiv %{{.*}}, %[[TWO]]
// FIVE: %[[FIVE:.*]] = llvm.mlir.constant(40 : i32)
// FIVE: llvm.udiv %{{.*}}, %[[FIVE]]
// ROWS-NOT: weft.traversal
// ALONE-COUNT-2: tg.dispatch @gemm
// MODEL-NOT: tg.launch
// OPTION: error: expected none, model or all as chains, got some

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<640x64xf16> {tg.name = "x"}, %u: tensor<64x256xf16> {tg.name = "u"}, %d: tensor<256x64xf16> {tg.name = "d"})
      -> (tensor<640x64xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x64xf16>, tensor<64x256xf16> -> tensor<640x256xf16>
    %1 = tg.contract %0, %d [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<640x256xf16>, tensor<256x64xf16> -> tensor<640x64xf16>
    return %1 : tensor<640x64xf16>
  }
}
