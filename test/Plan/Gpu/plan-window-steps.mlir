// RUN: weft-opt %s -split-input-file --weft-collapse-dims --weft-plan-gpu=target=sm_90a | FileCheck %s

// Steps of the three taps of a column of the window: the tile has many rows of the image, outside of which it has one tap.
// CHECK: #tg.schedule<tile = [1, {{[0-9]+}}, {{[0-9]+}}, {{8|16|32}}], stream = [64, 3, 1], engine = wgmma, {{.*}}stages = {{[3-6]}},
// CHECK-LABEL: func.func @kernel(%arg0: tensor<8x56x56x256xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h + i, w + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<8x56x56x256xbf16>, %w: tensor<64x3x3x256xbf16>) -> tensor<8x64x56x56xbf16> {
    %zero = tg.constant dense<0.0> : tensor<bf16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<8x56x56x256xbf16>, tensor<bf16>
    %1 = tg.contract %0, %w [#x, #w, #y] : tensor<8x58x58x256xbf16>, tensor<64x3x3x256xbf16> -> tensor<8x64x56x56xbf16>
    return %1 : tensor<8x64x56x56xbf16>
  }
}

// -----
// Five places, which lie two rows apart.
// CHECK: stream = [64, 5, 1], engine = wgmma
// CHECK-LABEL: func.func @kernel(%arg0: tensor<8x64x60x256xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h + i * 2, w + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<8x64x60x256xbf16>, %w: tensor<64x5x5x256xbf16>) -> tensor<8x64x56x56xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #y] : tensor<8x64x60x256xbf16>, tensor<64x5x5x256xbf16> -> tensor<8x64x56x56xbf16>
    return %1 : tensor<8x64x56x56xbf16>
  }
}

// -----
// With a stride of two the first and the last tap of the window share rows.
// CHECK: stream = [64, 3, 1], engine = wgmma
// CHECK-LABEL: func.func @kernel(%arg0: tensor<8x57x57x256xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<8x57x57x256xbf16>, %w: tensor<64x3x3x256xbf16>) -> tensor<8x64x28x28xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #y] : tensor<8x57x57x256xbf16>, tensor<64x3x3x256xbf16> -> tensor<8x64x28x28xbf16>
    return %1 : tensor<8x64x28x28xbf16>
  }
}

// -----
// Images of one row: windows slide along what is innermost of the tile's places.
// CHECK: stream = [{{[0-9]+}}, 1]
// CHECK-LABEL: func.func @kernel(%arg0: tensor<8x3002x256xbf16>
#x = affine_map<(n, o, w, c, j) -> (n, w + j, c)>
#w = affine_map<(n, o, w, c, j) -> (o, j, c)>
#y = affine_map<(n, o, w, c, j) -> (n, o, w)>
module {
  func.func @kernel(%x: tensor<8x3002x256xbf16>, %w: tensor<64x3x256xbf16>) -> tensor<8x64x3000xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #y] : tensor<8x3002x256xbf16>, tensor<64x3x256xbf16> -> tensor<8x64x3000xbf16>
    return %1 : tensor<8x64x3000xbf16>
  }
}

// -----
// Rows that are not multiples of 16 bytes are no boxes.
// CHECK: stream = [{{[0-9]+}}, 1, 1], engine = mma
// CHECK-LABEL: func.func @kernel(%arg0: tensor<8x58x58x259xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h + i, w + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<8x58x58x259xbf16>, %w: tensor<64x3x3x259xbf16>) -> tensor<8x64x56x56xbf16> {
    %1 = tg.contract %x, %w [#x, #w, #y] : tensor<8x58x58x259xbf16>, tensor<64x3x3x259xbf16> -> tensor<8x64x56x56xbf16>
    return %1 : tensor<8x64x56x56xbf16>
  }
}

// -----
// Rows of 488 channels begin inside of lines: CTAs side by side read once what their tiles have in common. Of 512 the L2 keeps up.
// CHECK: stream = [64, 3, 1], engine = wgmma, {{.*}}, multicast = 2>
// CHECK-LABEL: func.func @kernel(%arg0: tensor<11x36x36x488xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h + i, w + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<11x36x36x488xbf16>, %w: tensor<152x3x3x488xbf16>) -> tensor<11x152x36x36xbf16> {
    %zero = tg.constant dense<0.0> : tensor<bf16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<11x36x36x488xbf16>, tensor<bf16>
    %1 = tg.contract %0, %w [#x, #w, #y] : tensor<11x38x38x488xbf16>, tensor<152x3x3x488xbf16> -> tensor<11x152x36x36xbf16>
    return %1 : tensor<11x152x36x36xbf16>
  }
}

// -----
// CHECK: stream = [64, 3, 1], engine = wgmma, {{.*}}, split = 1>
// CHECK-LABEL: func.func @kernel(%arg0: tensor<11x36x36x512xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h + i, w + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<11x36x36x512xbf16>, %w: tensor<152x3x3x512xbf16>) -> tensor<11x152x36x36xbf16> {
    %zero = tg.constant dense<0.0> : tensor<bf16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<11x36x36x512xbf16>, tensor<bf16>
    %1 = tg.contract %0, %w [#x, #w, #y] : tensor<11x38x38x512xbf16>, tensor<152x3x3x512xbf16> -> tensor<11x152x36x36xbf16>
    return %1 : tensor<11x152x36x36xbf16>
  }
}

// -----
// A stride of two and a long sum: single places, by which all tiles are there at once.
// CHECK: tile = [2, 128, 8, 8], stream = [64, 1, 1], engine = wgmma
// CHECK-LABEL: func.func @kernel(%arg0: tensor<6x45x45x960xbf16>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, h * 2 + i, w * 2 + j, c)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>
module {
  func.func @kernel(%x: tensor<6x45x45x960xbf16>, %w: tensor<512x3x3x960xbf16>) -> tensor<6x512x23x23xbf16> {
    %zero = tg.constant dense<0.0> : tensor<bf16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 0] high = [0, 1, 1, 0] interior = [0, 0, 0, 0] : tensor<6x45x45x960xbf16>, tensor<bf16>
    %1 = tg.contract %0, %w [#x, #w, #y] : tensor<6x47x47x960xbf16>, tensor<512x3x3x960xbf16> -> tensor<6x512x23x23xbf16>
    return %1 : tensor<6x512x23x23xbf16>
  }
}

// -----
// Eight outputs: most rows of the instruction stay empty, but steps of three places read the image a third as often.
// CHECK: stream = [64, {{[13]}}, {{[13]}}, 1], engine = wgmma
// CHECK-LABEL: func.func @kernel(%arg0: tensor<16x33x33x344xbf16>
#x = affine_map<(n, o, d, h, w, c, l, i, j) -> (n, d + l, h + i, w + j, c)>
#w = affine_map<(n, o, d, h, w, c, l, i, j) -> (o, l, i, j, c)>
#y = affine_map<(n, o, d, h, w, c, l, i, j) -> (n, o, d, h, w)>
module {
  func.func @kernel(%x: tensor<1x16x33x33x344xbf16>, %w: tensor<8x3x3x3x344xbf16>) -> tensor<1x8x16x33x33xbf16> {
    %zero = tg.constant dense<0.0> : tensor<bf16>
    %0 = tg.pad %x, %zero low = [0, 1, 1, 1, 0] high = [0, 1, 1, 1, 0] interior = [0, 0, 0, 0, 0] : tensor<1x16x33x33x344xbf16>, tensor<bf16>
    %1 = tg.contract %0, %w [#x, #w, #y] : tensor<1x18x35x35x344xbf16>, tensor<8x3x3x3x344xbf16> -> tensor<1x8x16x33x33xbf16>
    return %1 : tensor<1x8x16x33x33xbf16>
  }
}
