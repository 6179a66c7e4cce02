// RUN: weft-opt %s -split-input-file --weft-collapse-dims --weft-plan-gpu=target=sm_90a | FileCheck %s

// Steps of the three places of a column of the window: the tile has many rows of the image, outside of which it has one place.
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
// With a stride of two the first and the last place of the window share rows.
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
