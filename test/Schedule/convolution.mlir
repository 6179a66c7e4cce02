// RUN: weft-opt %s --weft-kernelize --weft-tk-stage --mlir-print-local-scope | FileCheck %s --check-prefix=STAGE
// RUN: weft-opt %s --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --weft-tk-roles --weft-tk-pipeline --weft-tk-layouts --weft-tk-allocate --weft-lower-tk | FileCheck %s --check-prefix=MAPS
// RUN: sed 's/stream = .1, 1, 64., \(.*\) stages = 4/stream = [3, 1, 64], \1 stages = 2/' %s > %t.mlir
// RUN: weft-opt %t.mlir --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --mlir-print-local-scope | FileCheck %s --check-prefix=ROWS
// RUN: weft-opt %t.mlir --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --weft-tk-roles --weft-tk-pipeline --weft-tk-layouts --weft-tk-allocate --weft-lower-tk | FileCheck %s --check-prefix=LOWERED
// RUN: sed -e 's/d1 + d4, d2 + d5/d1 * 2 + d4, d2 * 2 + d5/' -e 's/2x30x28x128xf16/2x59x55x128xf16/g' -e 's/2x59x55x256/2x30x28x256/' -e 's/2x32x30x128/2x61x57x128/' %t.mlir > %t.strided.mlir
// RUN: weft-opt %t.strided.mlir --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --mlir-print-local-scope | FileCheck %s --check-prefix=STRIDED
// RUN: weft-opt %t.strided.mlir --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --weft-tk-roles --weft-tk-pipeline --weft-tk-layouts --weft-tk-allocate --weft-lower-tk | FileCheck %s --check-prefix=STEPS
// RUN: sed -e 's/tile = .1, 4, 32, 128./tile = [1, 128, 6, 8]/' -e 's/warps = 8/warps = 4/' -e 's/(d0, d1, d2, d3)>/(d0, d3, d1, d2)>/' -e 's/2x30x28x256xf16/2x256x30x28xf16/g' %t.mlir > %t.narrow.mlir
// RUN: weft-opt %t.narrow.mlir --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --mlir-print-local-scope | FileCheck %s --check-prefix=NARROW
// RUN: weft-opt %t.narrow.mlir --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --weft-tk-roles --weft-tk-pipeline --weft-tk-layouts --weft-tk-allocate --weft-lower-tk | FileCheck %s --check-prefix=SIX
// RUN: sed -e 's/stream = .3, 1, 64./stream = [1, 1, 64]/' %t.narrow.mlir | weft-opt --weft-kernelize --weft-tk-fuse-maps --weft-tk-stage --mlir-print-local-scope | FileCheck %s --check-prefix=ALONE

// A convolution of tensors with channels innermost: the tile's 128 rows are 4 rows of 32 columns, fetched shifted by the
// window's place; what padding adds is outside of the tensor, where TMA fills with zero. So all copies are boxes.
// STAGE-LABEL: func.func @kernel
// STAGE: tk.make_channel engine tma
// STAGE: tk.copy %arg0{{.*}}d0 floordiv 32{{.*}}d0 mod 32{{.*}} engine tma
// STAGE: tk.copy %arg1{{.*}}engine tma
// STAGE-NOT: tk.load
// MAPS: argument = 0 : i64, box = array<i64: 64, 32, 4, 1>
// MAPS-SAME: argument = 1 : i64, box = array<i64: 64, 1, 1, 128>
// MAPS-SAME: argument = 2 : i64, box = array<i64: 64, 16, 1, 1>

// Steps of the three places of a column of the window: six rows of the image, of which the tiles of the three products have four each. A slot is a row; as
// many as a tile has come together, then the rest.
// ROWS-LABEL: func.func @kernel
// ROWS: %[[X:.*]] = tk.alloc : <12 x 32x64xf16>
// ROWS: tk.make_channel engine tma consumers 1 bytes 73728 : <2>
// ROWS: %[[FOUR:.*]] = tk.slot %[[X]][%{{.*}}] each 6 : <12 x 32x64xf16> -> <1 x 128x64xf16>
// ROWS: tk.copy %arg0{{.*}}d0 floordiv 32 + s1 * 4 - 1, {{.*}}, %[[FOUR]] channel
// ROWS: %[[TWO:.*]] = tk.slot %[[X]][%{{.*}}] each 6 from 4 : <12 x 32x64xf16> -> <1 x 64x64xf16>
// ROWS: tk.copy %arg0{{.*}}d0 floordiv 32 + s1 * 4 + 3, {{.*}}, %[[TWO]] channel
// ROWS-COUNT-3: tk.copy %arg1
// ROWS: %[[FIRST:.*]] = tk.slot %[[X]][%{{.*}}] each 6 : <12 x 32x64xf16> -> <1 x 128x64xf16>
// ROWS: %[[SECOND:.*]] = tk.slot %[[X]][%{{.*}}] each 6 from 1
// ROWS: %[[THIRD:.*]] = tk.slot %[[X]][%{{.*}}] each 6 from 2
// ROWS: %[[A:.*]] = tk.dot %[[FIRST]], %{{.*}}, %{{.*}} by {{ *}}wgmma
// ROWS: %[[B:.*]] = tk.dot %[[SECOND]], %{{.*}}, %[[A]] by {{ *}}wgmma
// ROWS: tk.dot %[[THIRD]], %{{.*}}, %[[B]] by {{ *}}wgmma
// LOWERED: box = array<i64: 64, 32, 4, 1>
// LOWERED-SAME: box = array<i64: 64, 32, 2, 1>

// With a stride of 2 the first and the last place share rows: five even ones, of which four come together, and four odd ones.
// STRIDED-LABEL: func.func @kernel
// STRIDED: %[[EVEN:.*]] = tk.alloc : <10 x 32x64xf16>
// STRIDED: tk.copy %arg0{{.*}}d0 floordiv 32) * 2 + s1 * 8 - 1, {{.*}} channel
// STRIDED: tk.copy %arg0{{.*}}d0 floordiv 32) * 2 + s1 * 8 + 7, {{.*}} channel
// STRIDED: tk.copy %arg0{{.*}}d0 floordiv 32) * 2 + s1 * 8, {{.*}} channel
// STRIDED-NOT: tk.copy %arg0
// STRIDED: tk.slot %[[EVEN]][%{{.*}}] each 5 from 1
// STEPS: box = array<i64: 64, 32, 4, 1>, extents = {{.*}} steps = array<i64: 1, 2, 2, 1>

// Columns of six rows of eight places, of eight that their lane has: eight rows of the image in a slot, of which the last product's tile begins at the third;
// the instructions have 48 columns, and what lies behind them is not stored.
// NARROW-LABEL: func.func @kernel
// NARROW: %[[X:.*]] = tk.alloc : <16 x 64x8xf16>
// NARROW: tk.make_channel engine tma consumers 1 bytes 57344 : <2>
// NARROW: %[[FOUR:.*]] = tk.slot %[[X]][%{{.*}}] each 8 : <16 x 64x8xf16> -> <1 x 64x32xf16>
// NARROW: tk.copy %arg0{{.*}} floordiv 8 + s1 * 6 - 1, {{.*}}, %[[FOUR]] channel
// NARROW: %[[REST:.*]] = tk.slot %[[X]][%{{.*}}] each 8 from 4 : <16 x 64x8xf16> -> <1 x 64x32xf16>
// NARROW: tk.copy %arg0{{.*}} floordiv 8 + s1 * 6 + 3, {{.*}}, %[[REST]] channel
// NARROW: tk.slot %[[X]][%{{.*}}] each 8 from 2 : <16 x 64x8xf16> -> <1 x 64x64xf16>
// NARROW: tk.dot {{.*}} {live_columns = 48 : i64}
// NARROW: tk.store {{.*}}-(d1 floordiv 8) + 5 >= 0
// SIX: box = array<i64: 64, 8, 4, 1>

// A tile by itself comes as one box, in slots of its six rows of eight columns.
// ALONE: %[[X:.*]] = tk.alloc : <2 x 64x64xf16, pitch = 6144>
// ALONE: tk.make_channel engine tma consumers 1 bytes 22528
// ALONE: tk.slot %[[X]][%{{.*}}] : <2 x 64x64xf16, pitch = 6144> -> <1 x 64x64xf16, pitch = 6144>
// ALONE: tk.dot {{.*}} {live_columns = 48 : i64}
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d3, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [1, 4, 32, 128], stream = [1, 1, 64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = false, split = 1>} {
  func.func @kernel(%x: tensor<2x30x28x128xf16>, %w: tensor<256x3x3x128xf16>) -> tensor<2x30x28x256xf16> {
    %zero = tg.constant dense<0.0> : tensor<f16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<2x30x28x128xf16>, tensor<f16>
    %1 = tg.contract %0, %w [#x, #w, #r] : tensor<2x32x30x128xf16>, tensor<256x3x3x128xf16> -> tensor<2x30x28x256xf16>
    return %1 : tensor<2x30x28x256xf16>
  }
}
