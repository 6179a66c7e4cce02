// RUN: weft-opt %s -split-input-file --weft-kernelize --weft-tk-stage --mlir-print-local-scope | FileCheck %s --check-prefix=STAGE
// RUN: weft-opt %s -split-input-file --weft-kernelize --weft-tk-stage --weft-tk-roles | FileCheck %s --check-prefix=ROLES

// mma.sync where windows slide over boxes: TMA, by a warp of its own.
// STAGE-LABEL: func.func @kernel
// STAGE: tk.make_channel engine tma
// STAGE: tk.copy %arg0{{.*}}d0 floordiv 8{{.*}}d0 mod 8{{.*}} engine tma
// STAGE: tk.copy %arg1{{.*}}engine tma
// STAGE-NOT: tk.load
// ROLES-LABEL: func.func @kernel
// ROLES-SAME: tk.warps = 9
// ROLES: tk.make_channel engine tma consumers 8
// ROLES: tk.roles warps [1, 8] registers [256, 256] {
// ROLES: tk.copy
// ROLES-NOT: tk.dot
// ROLES: }, {
// ROLES-NOT: tk.copy
// ROLES: tk.wait
// ROLES: tk.dot
// ROLES-NEXT: tk.release
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1, 4, 8, 32], stream = [1, 1, 128], engine = mma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<2x30x28x128xbf16>, %w: tensor<256x3x3x128xbf16>) -> tensor<2x30x28x256xbf16> {
    %zero = tg.constant dense<0.0> : tensor<bf16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<2x30x28x128xbf16>, tensor<bf16>
    %1 = tg.contract %0, %w [#x, #w, #r] : tensor<2x32x30x128xbf16>, tensor<256x3x3x128xbf16> -> tensor<2x30x28x256xbf16>
    return %1 : tensor<2x30x28x256xbf16>
  }
}

// -----

// A stride of nine: TMA's boxes have every eighth place at least, so that all operands come by cp.async, through one channel.
// STAGE-LABEL: func.func @stride
// STAGE-COUNT-1: tk.make_channel engine cp_async
// STAGE-NOT: engine tma
// ROLES-LABEL: func.func @stride
// ROLES-NOT: tk.roles
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 9 + d4, d2 * 9 + d5, d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1, 4, 8, 32], stream = [1, 1, 128], engine = mma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @stride(%x: tensor<2x138x138x128xbf16>, %w: tensor<256x3x3x128xbf16>) -> tensor<2x16x16x256xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #r] : tensor<2x138x138x128xbf16>, tensor<256x3x3x128xbf16> -> tensor<2x16x16x256xbf16>
    return %1 : tensor<2x16x16x256xbf16>
  }
}

// -----

// Steps of a matrix follow one another: cp.async, whose threads add to their addresses.
// STAGE-LABEL: func.func @matrix
// STAGE: tk.make_channel engine cp_async
// STAGE-NOT: engine tma
#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [64, 32], stream = [128], engine = mma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @matrix(%x: tensor<128x512xbf16>, %w: tensor<512x256xbf16>) -> tensor<128x256xbf16> {
    %1 = tg.contract %x, %w [#a, #b, #c] : tensor<128x512xbf16>, tensor<512x256xbf16> -> tensor<128x256xbf16>
    return %1 : tensor<128x256xbf16>
  }
}

// -----

// A target without TMA.
// STAGE-LABEL: func.func @older
// STAGE: tk.make_channel engine cp_async
// STAGE-NOT: engine tma
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
module attributes {tk.target = "sm_80", tg.schedule = #tg.schedule<tile = [1, 4, 8, 32], stream = [1, 1, 128], engine = mma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @older(%x: tensor<2x32x30x128xbf16>, %w: tensor<256x3x3x128xbf16>) -> tensor<2x30x28x256xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #r] : tensor<2x32x30x128xbf16>, tensor<256x3x3x128xbf16> -> tensor<2x30x28x256xbf16>
    return %1 : tensor<2x30x28x256xbf16>
  }
}

// -----

// Steps of 3 KiB: one thread asks for them no faster than others use them.
// STAGE-LABEL: func.func @few
// STAGE: tk.make_channel engine cp_async
// STAGE-NOT: engine tma
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1, 2, 8, 8], stream = [1, 1, 64], engine = mma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @few(%x: tensor<2x32x30x128xbf16>, %w: tensor<256x3x3x128xbf16>) -> tensor<2x30x28x256xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #r] : tensor<2x32x30x128xbf16>, tensor<256x3x3x128xbf16> -> tensor<2x30x28x256xbf16>
    return %1 : tensor<2x30x28x256xbf16>
  }
}
