// The orders of a CPU: windows over each channel alone go from memory to memory like maps, and small weights follow.
// RUN: weft-opt %s --weft-plan-layouts=target=cpu --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-plan-layouts --split-input-file | FileCheck %s --check-prefix=GPU

// Channels become innermost behind the window, too, so that its vectors go along them; its weight, of 720 bytes, likewise.
// What both factors of the swish read has one transposition, in front of the sum.
// CHECK-LABEL: func.func @depthwise
// CHECK: tg.weight <"w", 0, 720> order [1, 2, 0] : tensor<3x3x20xf32>
// CHECK: tg.kernel "map" -> tensor<1x58x58x20xf32>
// CHECK: tg.kernel "window" -> tensor<1x56x56x20xf32>
// CHECK: tg.contract
// CHECK-COUNT-1: tg.transpose
// CHECK-NOT: tg.transpose
// CHECK: tg.add {{.*}} tensor<1x56x56x20xf32>
// CHECK: tg.sigmoid {{.*}} tensor<1x56x56x20xf32>
// CHECK: tg.mul
// CHECK: tg.kernel "gemm"
// GPU-LABEL: func.func @depthwise
// GPU: tg.weight <"w", 0, 720> : tensor<20x3x3xf32>
#x = affine_map<(n, c, h, w, i, j) -> (n, c, h + i, w + j)>
#w = affine_map<(n, c, h, w, i, j) -> (c, i, j)>
#r = affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>
#p = affine_map<(n, o, h, w, c) -> (n, c, h, w)>
#q = affine_map<(n, o, h, w, c) -> (o, c)>
#s = affine_map<(n, o, h, w, c) -> (n, o, h, w)>
func.func @depthwise(%arg0: tensor<1x20x58x58xf32>, %bias: tensor<20x1x1xf32>) -> tensor<1x96x56x56xf32> {
  %w = tg.weight <"w", 0, 720> : tensor<20x3x3xf32>
  %v = tg.weight <"w", 720, 7680> : tensor<96x20xf32>
  %0 = tg.kernel "map" -> tensor<1x20x58x58xf32> {
    %3 = tg.add %arg0, %bias : tensor<1x20x58x58xf32>, tensor<20x1x1xf32>
    tg.yield %3 : tensor<1x20x58x58xf32>
  }
  %1 = tg.kernel "window" -> tensor<1x20x56x56xf32> {
    %3 = tg.contract %0, %w [#x, #w, #r] : tensor<1x20x58x58xf32>, tensor<20x3x3xf32> -> tensor<1x20x56x56xf32>
    %4 = tg.add %3, %bias : tensor<1x20x56x56xf32>, tensor<20x1x1xf32>
    %5 = tg.sigmoid %4 : tensor<1x20x56x56xf32>
    %6 = tg.mul %4, %5 : tensor<1x20x56x56xf32>, tensor<1x20x56x56xf32>
    tg.yield %6 : tensor<1x20x56x56xf32>
  }
  %2 = tg.kernel "gemm" -> tensor<1x96x56x56xf32> {
    %3 = tg.contract %1, %v [#p, #q, #s] : tensor<1x20x56x56xf32>, tensor<96x20xf32> -> tensor<1x96x56x56xf32>
    tg.yield %3 : tensor<1x96x56x56xf32>
  }
  return %2 : tensor<1x96x56x56xf32>
}

// -----

// The loops of a pooling go as what it writes: the transposition moves in front of its window, whose dimensions move along.
// That of the GPU's stays behind it.
// CHECK-LABEL: func.func @pool
// CHECK: tg.kernel "pool" -> tensor<2x28x13x24xf32>
// CHECK: %[[X:.*]] = tg.transpose %{{.*}} [0, 2, 3, 1] : tensor<2x24x57x27xf32>
// CHECK: %[[W:.*]] = tg.window %[[X]] dims = [1, 2] sizes = [3, 2] strides = [2, 2] dilations = [1, 2] : tensor<2x57x27x24xf32>
// CHECK: %[[R:.*]] = tg.reduce max %[[W]] axes = [4, 5] : tensor<2x28x13x24x3x2xf32>
// CHECK-NEXT: tg.yield %[[R]]
// GPU-LABEL: func.func @pool
// GPU: %[[R:.*]] = tg.reduce max
// GPU: tg.transpose %[[R]]
#p = affine_map<(n, o, h, w, c) -> (n, c, h, w)>
#q = affine_map<(n, o, h, w, c) -> (o, c)>
#s = affine_map<(n, o, h, w, c) -> (n, o, h, w)>
func.func @pool(%arg0: tensor<2x24x57x27xf32>, %bias: tensor<24x1x1xf32>) -> tensor<2x96x28x13xf32> {
  %v = tg.weight <"w", 0, 9216> : tensor<96x24xf32>
  %0 = tg.kernel "map" -> tensor<2x24x57x27xf32> {
    %3 = tg.add %arg0, %bias : tensor<2x24x57x27xf32>, tensor<24x1x1xf32>
    tg.yield %3 : tensor<2x24x57x27xf32>
  }
  %1 = tg.kernel "pool" -> tensor<2x24x28x13xf32> {
    %3 = tg.window %0 dims = [2, 3] sizes = [3, 2] strides = [2, 2] dilations = [1, 2] : tensor<2x24x57x27xf32>
    %4 = tg.reduce max %3 axes = [4, 5] : tensor<2x24x28x13x3x2xf32>
    tg.yield %4 : tensor<2x24x28x13xf32>
  }
  %2 = tg.kernel "gemm" -> tensor<2x96x28x13xf32> {
    %3 = tg.contract %1, %v [#p, #q, #s] : tensor<2x24x28x13xf32>, tensor<96x24xf32> -> tensor<2x96x28x13xf32>
    tg.yield %3 : tensor<2x96x28x13xf32>
  }
  return %2 : tensor<2x96x28x13xf32>
}

// -----

// Vectors of a CPU begin anywhere: rows of 197 stay as they are, although 12 heads were a multiple of 16 bytes.
// CHECK-LABEL: func.func @odd
// CHECK: tg.kernel "scores" -> tensor<12x197x197xf32>
// CHECK: tg.kernel "map" -> tensor<12x197x197xf32>
// GPU-LABEL: func.func @odd
// GPU: tg.kernel "scores" -> tensor<197x197x12xf32>
#a = affine_map<(h, m, n, k) -> (h, m, k)>
#b = affine_map<(h, m, n, k) -> (h, k, n)>
#c = affine_map<(h, m, n, k) -> (h, m, n)>
func.func @odd(%q: tensor<12x197x64xf32>, %k: tensor<12x64x197xf32>, %v: tensor<12x197x64xf32>) -> tensor<12x197x64xf32> {
  %0 = tg.kernel "scores" -> tensor<12x197x197xf32> {
    %3 = tg.contract %q, %k [#a, #b, #c] : tensor<12x197x64xf32>, tensor<12x64x197xf32> -> tensor<12x197x197xf32>
    tg.yield %3 : tensor<12x197x197xf32>
  }
  %1 = tg.kernel "map" -> tensor<12x197x197xf32> {
    %3 = tg.exp %0 : tensor<12x197x197xf32>
    tg.yield %3 : tensor<12x197x197xf32>
  }
  %2 = tg.kernel "sum" -> tensor<12x197x64xf32> {
    %3 = tg.contract %1, %v [#a, #b, #c] : tensor<12x197x197xf32>, tensor<12x197x64xf32> -> tensor<12x197x64xf32>
    tg.yield %3 : tensor<12x197x64xf32>
  }
  return %2 : tensor<12x197x64xf32>
}

// -----

// Products convert narrow elements as they pack them: neither the image nor its weight changes.
// CHECK-LABEL: func.func @narrow
// CHECK: tg.weight <"w", 0, 73728> : tensor<64x64x3x3xf16>
// CHECK: tg.kernel "map" -> tensor<2x64x58x58xf16>
// GPU-LABEL: func.func @narrow
// GPU: tg.kernel "map" -> tensor<2x58x58x64xf16>
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @narrow(%arg0: tensor<2x64x58x58xf16>, %arg1: tensor<64x1x1xf16>) -> tensor<2x64x56x56xf16> {
  %w = tg.weight <"w", 0, 73728> : tensor<64x64x3x3xf16>
  %0 = tg.kernel "map" -> tensor<2x64x58x58xf16> {
    %2 = tg.add %arg0, %arg1 : tensor<2x64x58x58xf16>, tensor<64x1x1xf16>
    tg.yield %2 : tensor<2x64x58x58xf16>
  }
  %1 = tg.kernel "conv" -> tensor<2x64x56x56xf16> {
    %2 = tg.contract %0, %w [#x, #w, #r] : tensor<2x64x58x58xf16>, tensor<64x64x3x3xf16> -> tensor<2x64x56x56xf16>
    tg.yield %2 : tensor<2x64x56x56xf16>
  }
  return %1 : tensor<2x64x56x56xf16>
}

// -----

// Each part of a concatenation is held against the whole that it goes to, not against the other part: all three change.
// CHECK-LABEL: func.func @parts
// CHECK: tg.kernel "a" -> tensor<1x27x27x64xf32>
// CHECK: tg.kernel "b" -> tensor<1x27x27x64xf32>
// CHECK: tg.kernel "cat" -> tensor<1x27x27x128xf32>
#p = affine_map<(n, o, h, w, c) -> (n, c, h, w)>
#q = affine_map<(n, o, h, w, c) -> (o, c)>
#s = affine_map<(n, o, h, w, c) -> (n, o, h, w)>
func.func @parts(%x: tensor<1x16x27x27xf32>, %y: tensor<1x16x27x27xf32>) -> tensor<1x32x27x27xf32> {
  %u = tg.weight <"w", 0, 4096> : tensor<64x16xf32>
  %v = tg.weight <"w", 4096, 16384> : tensor<32x128xf32>
  %0 = tg.kernel "a" -> tensor<1x64x27x27xf32> {
    %4 = tg.contract %x, %u [#p, #q, #s] : tensor<1x16x27x27xf32>, tensor<64x16xf32> -> tensor<1x64x27x27xf32>
    tg.yield %4 : tensor<1x64x27x27xf32>
  }
  %1 = tg.kernel "b" -> tensor<1x64x27x27xf32> {
    %4 = tg.contract %y, %u [#p, #q, #s] : tensor<1x16x27x27xf32>, tensor<64x16xf32> -> tensor<1x64x27x27xf32>
    tg.yield %4 : tensor<1x64x27x27xf32>
  }
  %2 = tg.kernel "cat" -> tensor<1x128x27x27xf32> {
    %4 = tg.concat %0, %1 axis = 1 : tensor<1x64x27x27xf32>, tensor<1x64x27x27xf32>
    tg.yield %4 : tensor<1x128x27x27xf32>
  }
  %3 = tg.kernel "down" -> tensor<1x32x27x27xf32> {
    %4 = tg.contract %2, %v [#p, #q, #s] : tensor<1x128x27x27xf32>, tensor<32x128xf32> -> tensor<1x32x27x27xf32>
    tg.yield %4 : tensor<1x32x27x27xf32>
  }
  return %3 : tensor<1x32x27x27xf32>
}

// -----

// The columns of a weight in panels (weft-pack-quads) stay innermost.
// CHECK-LABEL: func.func @panels
// CHECK: tg.weight <"w", 0, 8192> : tensor<4x32x16xf32>
#l = affine_map<(m, n, p, k) -> (m, k)>
#r = affine_map<(m, n, p, k) -> (n, k, p)>
#o = affine_map<(m, n, p, k) -> (m, n, p)>
func.func @panels(%a: tensor<20x32xf32>) -> tensor<20x4x16xf32> {
  %w = tg.weight <"w", 0, 8192> : tensor<4x32x16xf32>
  %0 = tg.kernel "gemm" -> tensor<20x4x16xf32> {
    %1 = tg.contract %a, %w [#l, #r, #o] : tensor<20x32xf32>, tensor<4x32x16xf32> -> tensor<20x4x16xf32>
    tg.yield %1 : tensor<20x4x16xf32>
  }
  return %0 : tensor<20x4x16xf32>
}
