// The terms of a window that is summed up in a loop: the loop goes along what is contiguous in memory, the other terms are unrolled, which a thread's neighbouring places share.
// RUN: weft-opt %s --split-input-file --weft-kernelize | FileCheck %s

// Channels outside: columns are the loop, seven rows are loaded in each iteration.
// CHECK-LABEL: func.func @kernel(%arg0: !tk.global<tensor<8x44x44xf16>>
// CHECK: scf.for %[[J:.*]] = %c0 to %c7
// CHECK-COUNT-7: tk.load %arg0[{{.*}}%[[J]]
// CHECK-NOT: tk.load %arg0
// CHECK: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [4, 8, 32], stream = [1, 1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<8x44x44xf16>, %f: tensor<8x7x7xf16>) -> tensor<8x38x38xf16> {
    %0 = tg.contract %x, %f [affine_map<(c, h, w, i, j) -> (c, h + i, w + j)>, affine_map<(c, h, w, i, j) -> (c, i, j)>, affine_map<(c, h, w, i, j) -> (c, h, w)>]
        : tensor<8x44x44xf16>, tensor<8x7x7xf16> -> tensor<8x38x38xf16>
    return %0 : tensor<8x38x38xf16>
  }
}

// -----

// Channels innermost: rows are the loop, as they come.
// CHECK-LABEL: func.func @kernel(%arg0: !tk.global<tensor<44x44x64xf16>>
// CHECK: scf.for %[[I:.*]] = %c0 to %c7
// CHECK-COUNT-7: tk.load %arg0[{{.*}}%[[I]]
// CHECK-NOT: tk.load %arg0
// CHECK: tk.store
module attributes {tg.schedule = #tg.schedule<tile = [4, 4, 64], stream = [1, 1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<44x44x64xf16>, %f: tensor<7x7x64xf16>) -> tensor<38x38x64xf16> {
    %0 = tg.contract %x, %f [affine_map<(h, w, c, i, j) -> (h + i, w + j, c)>, affine_map<(h, w, c, i, j) -> (i, j, c)>, affine_map<(h, w, c, i, j) -> (h, w, c)>]
        : tensor<44x44x64xf16>, tensor<7x7x64xf16> -> tensor<38x38x64xf16>
    return %0 : tensor<38x38x64xf16>
  }
}
