// What speaks against a chain, or against its order.
// RUN: weft-compile %s --compile-from=normalize --target=sm_80 --merge-launches=chains --emit=mlir:lower --remarks=plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not weft-compile %s --compile-from=normalize --target=sm_80 '--traversal=chain<2>' --emit=mlir:lower -o /dev/null 2>&1 | FileCheck %s --check-prefix=HAND
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --merge-launches=on --emit=mlir:lower --remarks=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST
// RUN: weft-compile %s --compile-from=normalize --target=sm_90a --launch-cost=10 --emit=mlir:lower --remarks=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=PAYS

// A window reads rows of its neighbours: CTAs wait for them, but there are no groups of rows that need nothing of the next one.
// STEP: chain-order | Category:plan | {{.*}}Remark="one after the other: rows of the second kernel do not go in step with 1 of the first one's blocks
// HAND: error: traversal chain<2>: no launch holds a chain of two kernels that go by rows: rows of the second kernel do not go in step with 2 of the first one's blocks
// COST: not-merged | Category:fusion | {{.*}}Remark="launch of its own: a wait costs {{[0-9.]+}} us, a launch 2.0 us"
// PAYS: [Passed] merged | Category:fusion | {{.*}}Remark="2 kernels start as one, and wait for each other in it"

module attributes {tg.symbols = []} {
  func.func @main(%x: tensor<64x34x32xf16> {tg.name = "x"}, %v: tensor<3x32x32xf16> {tg.name = "v"}, %w: tensor<3x32x32xf16> {tg.name = "w"})
      -> (tensor<60x34x32xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %v [affine_map<(h, w, o, r, c) -> (h + r, w, c)>, affine_map<(h, w, o, r, c) -> (r, c, o)>, affine_map<(h, w, o, r, c) -> (h, w, o)>] : tensor<64x34x32xf16>, tensor<3x32x32xf16> -> tensor<62x34x32xf16>
    %1 = tg.contract %0, %w [affine_map<(h, w, o, r, c) -> (h + r, w, c)>, affine_map<(h, w, o, r, c) -> (r, c, o)>, affine_map<(h, w, o, r, c) -> (h, w, o)>] : tensor<62x34x32xf16>, tensor<3x32x32xf16> -> tensor<60x34x32xf16>
    return %1 : tensor<60x34x32xf16>
  }
}
