// An order of tiles whose number only the launch knows is the order of as many tiles that are known: the emulator computes every tile once, and the
// planner takes other orders than rows for symbolic grids. Curves need numbers that are known.
// RUN: weft-compile %s --target=sm_80 --variants=1 --quiet -o %t.row.weft --traversal=row
// RUN: weft-run %t.row.weft --device=emu:A100 --dim=rows=300 --output=@%t.row.npy
// RUN: weft-compile %s --target=sm_80 --variants=1 --quiet -o %t.weft '--traversal=grouped-snake<2,columns>' --remarks=plan 2>&1 | FileCheck %s
// RUN: weft-run %t.weft --device=emu:A100 --dim=rows=300 --output=@%t.npy
// RUN: cmp %t.row.npy %t.npy
// RUN: weft-compile %s --target=sm_80 --variants=1 --quiet -o %t.weft '--traversal=zigzag<3,column>'
// RUN: weft-run %t.weft --device=emu:A100 --dim=rows=300 --output=@%t.npy
// RUN: cmp %t.row.npy %t.npy
// RUN: weft-run %t.weft --device=emu:A100 --dim=rows=1
// RUN: sed s/768/16384/g %s > %t.wide.mlir
// RUN: weft-compile %t.wide.mlir --target=sm_90a --variants=1 --compile-to=plan '--dim=rows=1..100000:8192' -o - | FileCheck %s --check-prefix=PLAN
// RUN: not weft-compile %s --target=sm_80 --variants=1 -o %t.weft --traversal=hilbert 2>&1 | FileCheck %s --check-prefix=CURVE

// CHECK: order grouped-snake<2,columns> of {{[0-9]+}} x {{[0-9]+}} tiles as asked for
// PLAN: #tg.schedule<{{.*}}order = "{{column|grouped|serpentine}}
// CURVE: error: {{.*}}traversal hilbert: expected numbers of tiles that are known before the launch; row, column, serpentine, grouped and grouped-snake take any
module attributes {tg.symbols = ["rows"]} {
  func.func @main(%x: tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>> {tg.name = "x"}, %w: tensor<512x768xf16> {tg.name = "w"})
      -> (tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<?x512xf16, #tg.dims<()[s0] -> (s0, 512)>>, tensor<512x768xf16> -> tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    return %0 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
  }
}
