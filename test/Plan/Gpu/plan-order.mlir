// The order of a product's tiles: by the model, with the bytes of every candidate in the remark; or as asked for.
// RUN: weft-opt %s --weft-plan-gpu=target=H100 --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s
// RUN: weft-opt %s --weft-plan-gpu=target=RTX3050 --remark-policy=all --remarks-filter=plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: weft-opt %s "--weft-plan-gpu=target=H100 traversal=hilbert" --remark-policy=all --remarks-filter=plan 2>&1 | FileCheck %s --check-prefix=HAND
// RUN: not weft-opt %s "--weft-plan-gpu=traversal=spiral" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not weft-opt %s "--weft-plan-gpu=traversal=chain<8>" 2>&1 | FileCheck %s --check-prefix=CHAIN
// RUN: not weft-opt %s "--weft-plan-gpu=traversal=table<0,1,2,3>" 2>&1 | FileCheck %s --check-prefix=TABLE

// NAME: error: traversal 'spiral': expected one of row, column, {{.*}}, got 'spiral'
// CHAIN: error: traversal chain<8>: expected an order of one grid of tiles: no launch holds a chain
// TABLE: error: table: expected 896 tiles, got 4

// 896 tiles: 132 of them run together. The candidates that were simulated come first, by their bytes; then those that the formulas put behind them.
// CHECK: Function=up | Remark="{{[^"]*}}; order [[ORDER:[^ ]+]]: {{[^ ]+ [0-9.]+ MB \(L2 [0-9]+ %, formula [0-9]+\), [^;"]*}}; by formula {{.*}}row 898{{.*}}order = "[[ORDER]]"
// An L2 of 2 MB keeps less than a panel.
// SMALL: Function=up | Remark="{{[^"]*}}; order {{[^:]+}}: {{[^ ]+ [0-9.]+}} MB
// A grid that one wave holds: tiles of one panel of the larger operand side by side. A grid of one row of tiles: nothing to choose.
// CHECK: Function=one_wave | Remark="contraction {{.*}}; order column: tiles that read one panel of the larger operand start together", {{.*}}order = "column"
// CHECK: Function=one_row | Remark="{{[^;"]*}}", schedule={{.*}}order = "row"

// HAND: Function=up | Remark="{{[^"]*}}; order hilbert of 16 x 56 tiles as asked for", schedule={{.*}}order = "hilbert"
// HAND: Function=one_wave | Remark="{{[^"]*}}; order hilbert of {{[0-9]+ x [0-9]+}} tiles as asked for"
// HAND: Function=one_row | Remark="{{[^;"]*}}", schedule={{.*}}order = "row"
module @up {
  func.func @kernel(%a: tensor<2048x4096xbf16>, %b: tensor<4096x14336xbf16>) -> tensor<2048x14336xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2048x4096xbf16>, tensor<4096x14336xbf16> -> tensor<2048x14336xbf16>
    return %0 : tensor<2048x14336xbf16>
  }
}
module @one_wave {
  func.func @kernel(%a: tensor<512x14336xbf16>, %b: tensor<14336x4096xbf16>) -> tensor<512x4096xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<512x14336xbf16>, tensor<14336x4096xbf16> -> tensor<512x4096xbf16>
    return %0 : tensor<512x4096xbf16>
  }
}
module @one_row {
  func.func @kernel(%a: tensor<16x4096xbf16>, %b: tensor<4096x28672xbf16>) -> tensor<16x28672xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x4096xbf16>, tensor<4096x28672xbf16> -> tensor<16x28672xbf16>
    return %0 : tensor<16x28672xbf16>
  }
}
