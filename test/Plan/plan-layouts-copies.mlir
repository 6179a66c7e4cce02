// RUN: weft-opt %s --weft-plan-layouts=target=H100 --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-plan-layouts=target=H100 --split-input-file --remarks-filter=plan --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: weft-opt %s --weft-plan-layouts --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: not weft-opt %s --weft-plan-layouts=target=sm_70 --split-input-file 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: expected a target of sm_80, sm_86, sm_89, sm_90a, sm_120, got 'sm_70'
// NONE-NOT: tg.kernel "copy"

// Windows slide along the rows of an input: a copy of it has the channels innermost, which both products sum along.
// REMARK: tensor<4x64x58x58xf16> is copied with axis 1 innermost, over which GEMMs contract
// REMARK-NOT: is copied
// CHECK-LABEL: func.func @slides
// CHECK: %[[C:.*]] = tg.kernel "copy" -> tensor<4x58x58x64xf16> {
// CHECK:   %[[T:.*]] = tg.transpose %arg0 [0, 2, 3, 1] : tensor<4x64x58x58xf16>
// CHECK:   tg.yield %[[T]]
// CHECK: tg.kernel "conv"
// CHECK:   %[[X:.*]] = tg.transpose %[[C]] [0, 3, 1, 2] : tensor<4x58x58x64xf16>
// CHECK:   tg.contract %[[X]],
// CHECK: tg.kernel "also"
// CHECK:   %[[Z:.*]] = tg.transpose %[[C]] [0, 3, 1, 2] : tensor<4x58x58x64xf16>
// CHECK:   tg.contract %[[Z]],
// CHECK: tg.kernel "map"
// CHECK:   tg.exp %arg0
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @slides(%arg0: tensor<4x64x58x58xf16>, %arg1: tensor<64x64x3x3xf16>, %arg2: tensor<32x64x3x3xf16>)
    -> (tensor<4x64x56x56xf16>, tensor<4x32x56x56xf16>, tensor<4x64x58x58xf16>) {
  %0 = tg.kernel "conv" -> tensor<4x64x56x56xf16> {
    %3 = tg.contract %arg0, %arg1 [#x, #w, #r] : tensor<4x64x58x58xf16>, tensor<64x64x3x3xf16> -> tensor<4x64x56x56xf16>
    tg.yield %3 : tensor<4x64x56x56xf16>
  }
  %1 = tg.kernel "also" -> tensor<4x32x56x56xf16> {
    %3 = tg.contract %arg0, %arg2 [#x, #w, #r] : tensor<4x64x58x58xf16>, tensor<32x64x3x3xf16> -> tensor<4x32x56x56xf16>
    tg.yield %3 : tensor<4x32x56x56xf16>
  }
  %2 = tg.kernel "map" -> tensor<4x64x58x58xf16> {
    %3 = tg.exp %arg0 : tensor<4x64x58x58xf16>
    tg.yield %3 : tensor<4x64x58x58xf16>
  }
  return %0, %1, %2 : tensor<4x64x56x56xf16>, tensor<4x32x56x56xf16>, tensor<4x64x58x58xf16>
}

// -----

// 63 channels are no whole vectors, so the copy has one more, of zeros: the sum goes as far, and the weights, whose rows lie along the outputs, are read as if
// they had it.
// REMARK: tensor<4x63x56x56xf16> is copied with axis 1 innermost, over which GEMMs contract, and 1 of zeros
// REMARK-NOT: is copied
// CHECK-LABEL: func.func @odd
// CHECK: %[[C:.*]] = tg.kernel "copy" -> tensor<4x56x56x64xf16> {
// CHECK:   %[[T:.*]] = tg.transpose %arg0 [0, 2, 3, 1] : tensor<4x63x56x56xf16>
// CHECK:   %[[P:.*]] = tg.pad %[[T]], %{{.*}} low = [0, 0, 0, 0] high = [0, 0, 0, 1]
// CHECK:   tg.yield %[[P]]
// CHECK: tg.kernel "conv"
// CHECK:   %[[X:.*]] = tg.transpose %[[C]] [0, 3, 1, 2] : tensor<4x56x56x64xf16>
// CHECK:   %[[I:.*]] = tg.pad %[[X]], %{{.*}} low = [0, 0, 1, 1] high = [0, 0, 1, 1]
// CHECK:   %[[W:.*]] = tg.pad %arg1, %{{.*}} low = [0, 0, 0, 0] high = [1, 0, 0, 0]
// CHECK:   tg.contract %[[I]], %[[W]] {{.*}} : tensor<4x64x58x58xf16>, tensor<64x3x3x128xf16> -> tensor<4x128x56x56xf16>
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d1)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @odd(%arg0: tensor<4x63x56x56xf16>, %arg1: tensor<63x3x3x128xf16>) -> tensor<4x128x56x56xf16> {
  %0 = tg.kernel "conv" -> tensor<4x128x56x56xf16> {
    %zero = tg.constant dense<0.0> : tensor<f16>
    %1 = tg.pad %arg0, %zero low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<4x63x56x56xf16>, tensor<f16>
    %2 = tg.contract %1, %arg1 [#x, #w, #r] : tensor<4x63x58x58xf16>, tensor<63x3x3x128xf16> -> tensor<4x128x56x56xf16>
    tg.yield %2 : tensor<4x128x56x56xf16>
  }
  return %0 : tensor<4x128x56x56xf16>
}

// -----

// 952 channels are whole vectors but no whole lines, which their pieces straddle: 8 zeros more cost less than that, as the product reads each place nine times.
// REMARK: tensor<6x952x45x45xf16> is copied with axis 1 innermost, over which GEMMs contract, and 8 of zeros
// REMARK-NOT: is copied
// CHECK-LABEL: func.func @lines
// CHECK: tg.kernel "copy" -> tensor<6x45x45x960xf16> {
// CHECK: tg.contract {{.*}} : tensor<6x960x47x47xf16>, tensor<512x960x3x3xf16> -> tensor<6x512x23x23xf16>
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 * 2 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @lines(%arg0: tensor<6x952x45x45xf16>) -> tensor<6x512x23x23xf16> {
  %w = tg.weight <"w", 0, 8773632> : tensor<512x952x3x3xf16>
  %0 = tg.kernel "conv" -> tensor<6x512x23x23xf16> {
    %zero = tg.constant dense<0.0> : tensor<f16>
    %1 = tg.pad %arg0, %zero low = [0, 0, 1, 1] high = [0, 0, 1, 1] interior = [0, 0, 0, 0] : tensor<6x952x45x45xf16>, tensor<f16>
    %2 = tg.contract %1, %w [#x, #w, #r] : tensor<6x952x47x47xf16>, tensor<512x952x3x3xf16> -> tensor<6x512x23x23xf16>
    tg.yield %2 : tensor<6x512x23x23xf16>
  }
  return %0 : tensor<6x512x23x23xf16>
}

// -----

// Nothing is gained where no window slides (contiguous reads, if of odd rows), where windows sum over each channel alone,
// and where the tensor is small beside a launch.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: tg.transpose
// CHECK: return
#p = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d2, d3)>
#v = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4)>
#q = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#dx = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d3 + d5)>
#dw = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d5)>
#dr = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @stays(%image: tensor<4x64x59x59xf16>, %w: tensor<32x64xf16>, %windows: tensor<64x3x3xf16>,
                 %little: tensor<1x16x10x10xf16>, %lw: tensor<32x16x3x3xf16>)
    -> (tensor<4x32x59x59xf16>, tensor<4x64x57x57xf16>, tensor<1x32x8x8xf16>) {
  %0 = tg.kernel "pointwise" -> tensor<4x32x59x59xf16> {
    %4 = tg.contract %image, %w [#p, #v, #q] : tensor<4x64x59x59xf16>, tensor<32x64xf16> -> tensor<4x32x59x59xf16>
    tg.yield %4 : tensor<4x32x59x59xf16>
  }
  %1 = tg.kernel "depthwise" -> tensor<4x64x57x57xf16> {
    %4 = tg.contract %image, %windows [#dx, #dw, #dr] : tensor<4x64x59x59xf16>, tensor<64x3x3xf16> -> tensor<4x64x57x57xf16>
    tg.yield %4 : tensor<4x64x57x57xf16>
  }
  %3 = tg.kernel "little" -> tensor<1x32x8x8xf16> {
    %4 = tg.contract %little, %lw [#x, #w, #r] : tensor<1x16x10x10xf16>, tensor<32x16x3x3xf16> -> tensor<1x32x8x8xf16>
    tg.yield %4 : tensor<1x32x8x8xf16>
  }
  return %0, %1, %3 : tensor<4x32x59x59xf16>, tensor<4x64x57x57xf16>, tensor<1x32x8x8xf16>
}

// -----
// Windows over each channel, of images whose places are contiguous, to channels innermost: each lane would read a sector of its own.
// CHECK-LABEL: func.func @channelWindows
// CHECK: %[[COPY:.*]] = tg.kernel "copy" -> tensor<8x56x56x96xbf16>
// CHECK: tg.transpose %arg0 [0, 2, 3, 1]
// CHECK: tg.kernel "conv"
// CHECK: tg.transpose %[[COPY]] [0, 3, 1, 2]
// REMARK: tensor<8x96x56x56xbf16> is copied with axis 1 innermost, as results of windows over each channel are
func.func @channelWindows(%x: tensor<8x96x56x56xbf16>, %w: tensor<7x7x96xbf16>) -> tensor<8x56x56x96xbf16> {
  %0 = tg.kernel "conv" -> tensor<8x56x56x96xbf16> {
    %z = tg.constant dense<0.0> : tensor<bf16>
    %1 = tg.pad %x, %z low = [0, 0, 3, 3] high = [0, 0, 3, 3] interior = [0, 0, 0, 0] : tensor<8x96x56x56xbf16>, tensor<bf16>
    %2 = tg.contract %1, %w [affine_map<(n, c, h, w, r, s) -> (n, c, h + r, w + s)>, affine_map<(n, c, h, w, r, s) -> (r, s, c)>, affine_map<(n, c, h, w, r, s) -> (n, c, h, w)>] : tensor<8x96x62x62xbf16>, tensor<7x7x96xbf16> -> tensor<8x96x56x56xbf16>
    %3 = tg.transpose %2 [0, 2, 3, 1] : tensor<8x96x56x56xbf16>
    tg.yield %3 : tensor<8x56x56x96xbf16>
  }
  return %0 : tensor<8x56x56x96xbf16>
}

// -----
// As they are: to an order like the input's.
// REMARK-NOT: is copied
// CHECK-LABEL: func.func @sameOrder
// CHECK-NOT: "copy"
func.func @sameOrder(%x: tensor<8x96x56x56xbf16>, %w: tensor<7x7x96xbf16>) -> tensor<8x96x56x56xbf16> {
  %0 = tg.kernel "conv" -> tensor<8x96x56x56xbf16> {
    %z = tg.constant dense<0.0> : tensor<bf16>
    %1 = tg.pad %x, %z low = [0, 0, 3, 3] high = [0, 0, 3, 3] interior = [0, 0, 0, 0] : tensor<8x96x56x56xbf16>, tensor<bf16>
    %2 = tg.contract %1, %w [affine_map<(n, c, h, w, r, s) -> (n, c, h + r, w + s)>, affine_map<(n, c, h, w, r, s) -> (r, s, c)>, affine_map<(n, c, h, w, r, s) -> (n, c, h, w)>] : tensor<8x96x62x62xbf16>, tensor<7x7x96xbf16> -> tensor<8x96x56x56xbf16>
    tg.yield %2 : tensor<8x96x56x56xbf16>
  }
  return %0 : tensor<8x96x56x56xbf16>
}

// -----
// Odd channels to 12 outputs: rows of the weights are no whole vectors either, and are copied behind zeros, too.
// CHECK-LABEL: func.func @oddBoth
// CHECK-DAG: %[[X:.*]] = tg.kernel "copy" -> tensor<1x16x30x30x448xbf16>
// CHECK-DAG: %[[W:.*]] = tg.kernel "copy" -> tensor<3x3x3x12x448xbf16>
// CHECK: tg.kernel "conv"
// CHECK-DAG: tg.transpose %[[X]]
// CHECK-DAG: tg.transpose %[[W]]
// CHECK: tg.contract {{.*}} : tensor<1x448x18x32x32xbf16>, tensor<448x3x3x3x12xbf16> -> tensor<1x12x16x30x30xbf16>
// REMARK: tensor<1x409x16x30x30xbf16> is copied with axis 1 innermost, over which GEMMs contract, and 39 of zeros
func.func @oddBoth(%x: tensor<1x409x16x30x30xbf16>, %w: tensor<409x3x3x3x12xbf16>) -> tensor<1x12x16x30x30xbf16> {
  %0 = tg.kernel "conv" -> tensor<1x12x16x30x30xbf16> {
    %z = tg.constant dense<0.0> : tensor<bf16>
    %1 = tg.pad %x, %z low = [0, 0, 1, 1, 1] high = [0, 0, 1, 1, 1] interior = [0, 0, 0, 0, 0] : tensor<1x409x16x30x30xbf16>, tensor<bf16>
    %2 = tg.contract %1, %w [affine_map<(n, o, t, h, w, c, q, r, s) -> (n, c, t + q, h + r, w + s)>, affine_map<(n, o, t, h, w, c, q, r, s) -> (c, q, r, s, o)>, affine_map<(n, o, t, h, w, c, q, r, s) -> (n, o, t, h, w)>] : tensor<1x409x18x32x32xbf16>, tensor<409x3x3x3x12xbf16> -> tensor<1x12x16x30x30xbf16>
    tg.yield %2 : tensor<1x12x16x30x30xbf16>
  }
  return %0 : tensor<1x12x16x30x30xbf16>
}
