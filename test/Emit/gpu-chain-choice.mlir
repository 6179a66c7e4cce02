// g of chain<g> by the simulation of both kernels: 4 MB between two thin products, through an L2 of 2 MB.
// RUN: weft-compile %s --compile-from=normalize --target=RTX3050 --merge-launches=chains --emit=mlir:lower --remarks=plan -o - 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: sed -e s/8192/4096/g %s > %t.half.mlir
// RUN: weft-compile %t.half.mlir --compile-from=normalize --target=L40S --merge-launches=chains --emit=mlir:lower --remarks=plan -o - 2>&1 | FileCheck %s --check-prefix=FITS
// RUN: weft-compile %s --compile-from=normalize --target=RTX3050 --merge-launches=chains --ptxas=off -o %t.weft --quiet
// RUN: weft explain %t.weft | FileCheck %s --check-prefix=EXPLAIN
// RUN: weft explain %t.weft -o - --json | FileCheck %s --check-prefix=JSON

// CHECK: tg.dispatch @chain_gemm::@kernel
// CHECK: weft.traversal = "chain<[[G:[0-9]+]]>"
// REMARK: chain-order | Category:plan | Function=chain_gemm | Remark="order chain<[[G:[0-9]+]]>: one after the other {{[0-9.]+}} MB {{[0-9.]+}} us (L2 {{[0-9]+}} %), chain<{{[0-9]+}}> {{[0-9.]+}} MB
// The L2 of an L40S (96 MB) keeps all of half as many rows.
// FITS: chain-order | Category:plan | {{.*}}Remark="order of one after the other: one after the other {{.*}} chain<
// FITS-NOT: weft.traversal
// EXPLAIN: chain_gemm {{.*}} chain<{{[0-9]+}}>
// JSON: "traversal":"chain<

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<8192x32xf16> {tg.name = "x"}, %u: tensor<32x256xf16> {tg.name = "u"}, %d: tensor<256x256xf16> {tg.name = "d"})
      -> (tensor<8192x256xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %u [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8192x32xf16>, tensor<32x256xf16> -> tensor<8192x256xf16>
    %1 = tg.contract %0, %d [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8192x256xf16>, tensor<256x256xf16> -> tensor<8192x256xf16>
    return %1 : tensor<8192x256xf16>
  }
}
