// RUN: weft-opt %s --weft-collapse-dims --split-input-file --mlir-print-local-scope | FileCheck %s

// A chain of elementwise ops is one dimension; its constants become scalars.
// CHECK-LABEL: module @pointwise
// CHECK-SAME: tg.operand_dims = [affine_map<() -> (2621440)>], tg.result_dims = [affine_map<() -> (2621440)>]
// CHECK: tg.constant dense<2.000000e+00> : tensor<f16>
// CHECK: tg.mul %{{.*}}, %{{.*}} : tensor<2621440xf16>, tensor<f16>
#d = affine_map<() -> (2, 320, 64, 64)>
module @pointwise attributes {tg.operand_dims = [#d], tg.result_dims = [#d]} {
  func.func @kernel(%x: tensor<2x320x64x64xf16>) -> tensor<2x320x64x64xf16> {
    %c = tg.constant dense<2.0> : tensor<320x1x1xf16>
    %0 = tg.mul %x, %c : tensor<2x320x64x64xf16>, tensor<320x1x1xf16>
    return %0 : tensor<2x320x64x64xf16>
  }
}

// -----

// Rows of a softmax; symbolic extents multiply.
// CHECK-LABEL: module @softmax
// CHECK: func.func @kernel(%arg0: tensor<?x77xf32, #tg.dims<()[s0, s1] -> ((s0 * s1) * 12, 77)>>, %arg1: index, %arg2: index)
// CHECK: tg.reduce max %arg0 axes = [1] keep_dims
module @softmax {
  func.func @kernel(%x: tensor<?x12x?x77xf32, #tg.dims<()[s0, s1] -> (s0, 12, s1, 77)>>, %s0: index, %s1: index) -> tensor<?x12x?x77xf32, #tg.dims<()[s0, s1] -> (s0, 12, s1, 77)>> {
    %0 = tg.reduce max %x axes = [3] keep_dims : tensor<?x12x?x77xf32, #tg.dims<()[s0, s1] -> (s0, 12, s1, 77)>>
    %1 = tg.sub %x, %0 : tensor<?x12x?x77xf32, #tg.dims<()[s0, s1] -> (s0, 12, s1, 77)>>, tensor<?x12x?x1xf32, #tg.dims<()[s0, s1] -> (s0, 12, s1, 1)>>
    return %1 : tensor<?x12x?x77xf32, #tg.dims<()[s0, s1] -> (s0, 12, s1, 77)>>
  }
}

// -----

// The columns of what is joined are a sum of products, which is the product of the sum of rows.
// CHECK-LABEL: module @joined
// CHECK: tg.concat %arg0, %arg1 axis = 1
// CHECK: return %{{.*}} : tensor<24x?xf16, #tg.dims<()[s0, s1, s2] -> (24, s0 * s1 + s0 * s2)>>
module @joined {
  func.func @kernel(%a: tensor<24x?x?xf16, #tg.dims<()[s0, s1] -> (24, s1, s0)>>, %b: tensor<24x?x?xf16, #tg.dims<()[s0, s1, s2] -> (24, s2, s0)>>,
                    %s0: index, %s1: index, %s2: index) -> tensor<24x?x?xf16, #tg.dims<()[s0, s1, s2] -> (24, s1 + s2, s0)>> {
    %0 = tg.concat %a, %b axis = 1 : tensor<24x?x?xf16, #tg.dims<()[s0, s1] -> (24, s1, s0)>>, tensor<24x?x?xf16, #tg.dims<()[s0, s1, s2] -> (24, s2, s0)>>
    return %0 : tensor<24x?x?xf16, #tg.dims<()[s0, s1, s2] -> (24, s1 + s2, s0)>>
  }
}

// -----

// A broadcast operand keeps apart what it repeats along and what it does not; leading and trailing parts merge.
// CHECK-LABEL: module @broadcast
// CHECK: tg.add %arg0, %arg1 : tensor<6x5x28xf32>, tensor<5x1xf32>
module @broadcast {
  func.func @kernel(%x: tensor<2x3x5x4x7xf32>, %b: tensor<5x1x1xf32>) -> tensor<2x3x5x4x7xf32> {
    %0 = tg.add %x, %b : tensor<2x3x5x4x7xf32>, tensor<5x1x1xf32>
    return %0 : tensor<2x3x5x4x7xf32>
  }
}

// -----

// Unit dimensions go, also through transpositions.
// CHECK-LABEL: module @transpose
// CHECK: tg.transpose %arg0 [1, 0, 2] : tensor<512x32x768xf16>
module @transpose {
  func.func @kernel(%x: tensor<1x512x32x1x6x128xf16>) -> tensor<1x32x512x6x1x128xf16> {
    %0 = tg.transpose %x [0, 2, 1, 4, 3, 5] : tensor<1x512x32x1x6x128xf16>
    return %0 : tensor<1x32x512x6x1x128xf16>
  }
}

// -----

// A batched contraction keeps the batch apart where an operand lacks it; the rows of the other operand are one dimension.
// CHECK-LABEL: module @linear
// CHECK: tg.contract %arg0, %arg1 [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME: tensor<3072x768xf16>, tensor<768x64xf16> -> tensor<3072x64xf16>
// CHECK: tg.add %{{.*}}, %arg2 : tensor<3072x64xf16>, tensor<64xf16>
module @linear {
  func.func @kernel(%x: tensor<8x384x768xf16>, %w: tensor<768x64xf16>, %b: tensor<64xf16>) -> tensor<8x384x64xf16> {
    %0 = tg.contract %x, %w [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>]
        : tensor<8x384x768xf16>, tensor<768x64xf16> -> tensor<8x384x64xf16>
    %1 = tg.add %0, %b : tensor<8x384x64xf16>, tensor<64xf16>
    return %1 : tensor<8x384x64xf16>
  }
}

// -----

// Heads: both batch dimensions merge; a result that has the second one inside keeps them apart.
// CHECK-LABEL: module @scores
// CHECK: tensor<96x384x64xf16>, tensor<96x64x384xf16> -> tensor<96x384x384xf16>
module @scores {
  func.func @kernel(%q: tensor<8x12x384x64xf16>, %k: tensor<8x12x64x384xf16>) -> tensor<8x12x384x384xf16> {
    %0 = tg.contract %q, %k [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>]
        : tensor<8x12x384x64xf16>, tensor<8x12x64x384xf16> -> tensor<8x12x384x384xf16>
    return %0 : tensor<8x12x384x384xf16>
  }
}

// -----

// CHECK-LABEL: module @heads_inside
// CHECK: tensor<8x12x384x384xf16>, tensor<8x12x384x64xf16> -> tensor<8x384x12x64xf16>
module @heads_inside {
  func.func @kernel(%p: tensor<8x12x384x384xf16>, %v: tensor<8x12x384x64xf16>) -> tensor<8x384x12x64xf16> {
    %0 = tg.contract %p, %v [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>, affine_map<(b, h, m, n, k) -> (b, m, h, n)>]
        : tensor<8x12x384x384xf16>, tensor<8x12x384x64xf16> -> tensor<8x384x12x64xf16>
    return %0 : tensor<8x384x12x64xf16>
  }
}

// -----

// A 1 x 1 convolution is a product of matrices; a 3 x 3 one keeps its windows.
// CHECK-LABEL: module @pointwise_conv
// CHECK: affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-SAME: tensor<16x12544xf32>, tensor<96x16xf32> -> tensor<96x12544xf32>
module @pointwise_conv {
  func.func @kernel(%x: tensor<1x16x112x112xf32>, %w: tensor<96x16x1x1xf32>) -> tensor<1x96x112x112xf32> {
    %0 = tg.contract %x, %w [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>]
        : tensor<1x16x112x112xf32>, tensor<96x16x1x1xf32> -> tensor<1x96x112x112xf32>
    return %0 : tensor<1x96x112x112xf32>
  }
}

// -----

// CHECK-LABEL: module @window
// CHECK: tg.window %arg0 dims = [1, 2] {{.*}} : tensor<640x66x66xf16>
// CHECK: tg.reduce max %{{.*}} axes = [3, 4] : tensor<640x32x32x3x3xf16>
module @window {
  func.func @kernel(%x: tensor<2x320x66x66xf16>) -> tensor<2x320x32x32xf16> {
    %0 = tg.window %x dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<2x320x66x66xf16>
    %1 = tg.reduce max %0 axes = [4, 5] : tensor<2x320x32x32x3x3xf16>
    return %1 : tensor<2x320x32x32xf16>
  }
}

// -----

// Reductions of several axes, kept or not.
// CHECK-LABEL: module @pool
// CHECK: tg.reduce add %arg0 axes = [1] : tensor<640x4096xf16>
// CHECK: return %{{.*}} : tensor<640xf16>
module @pool {
  func.func @kernel(%x: tensor<2x320x64x64xf16>) -> tensor<2x320x1x1xf16> {
    %0 = tg.reduce add %x axes = [2, 3] keep_dims : tensor<2x320x64x64xf16>
    return %0 : tensor<2x320x1x1xf16>
  }
}

// -----

// Parts of an outer dimension are parts of the product: slices, pads and concatenations.
// CHECK-LABEL: module @boxes
// CHECK: tg.slice %arg0 offsets = [0, 24] strides = [1, 1] : tensor<3x48xf32> to tensor<3x16xf32>
// CHECK: tg.pad %{{.*}}, %{{.*}} low = [0, 8] high = [0, 16] interior = [0, 0] : tensor<3x16xf32>
// CHECK: tg.concat %{{.*}}, %arg0 axis = 1 : tensor<3x40xf32>, tensor<3x48xf32>
module @boxes {
  func.func @kernel(%x: tensor<3x6x8xf32>) -> tensor<3x11x8xf32> {
    %z = tg.constant dense<0.0> : tensor<f32>
    %0 = tg.slice %x offsets = [0, 3, 0] strides = [1, 1, 1] : tensor<3x6x8xf32> to tensor<3x2x8xf32>
    %1 = tg.pad %0, %z low = [0, 1, 0] high = [0, 2, 0] interior = [0, 0, 0] : tensor<3x2x8xf32>, tensor<f32>
    %2 = tg.concat %1, %x axis = 1 : tensor<3x5x8xf32>, tensor<3x6x8xf32>
    return %2 : tensor<3x11x8xf32>
  }
}

// -----

// Inner extents that are only assumed to be equal are not part of the axis.
// CHECK-LABEL: module @assumed
// CHECK: tg.concat %arg0, %arg1 axis = 0 : tensor<1x?xf32, #tg.dims<()[s0] -> (1, s0 * 128)>>, tensor<1x?xf32, #tg.dims<()[s0, s1] -> (1, s1 * 128)>>
#x = #tg.dims<()[s0, s1] -> (1, 1, 128, s0)>
#y = #tg.dims<()[s0, s1] -> (1, 1, 128, s1)>
#r = #tg.dims<()[s0] -> (1, 2, 128, s0)>
module @assumed {
  func.func @kernel(%x: tensor<1x1x128x?xf32, #x>, %y: tensor<1x1x128x?xf32, #y>, %s0: index, %s1: index) -> tensor<1x2x128x?xf32, #r>
      attributes {tg.num_symbols = 2 : i64} {
    %0 = tg.concat %x, %y axis = 1 : tensor<1x1x128x?xf32, #x>, tensor<1x1x128x?xf32, #y>
    return %0 : tensor<1x2x128x?xf32, #r>
  }
}

// -----

// Strided parts and parts of inner dimensions do not merge.
// CHECK-LABEL: module @inner_slice
// CHECK: tg.slice %arg0 offsets = [0, 2] strides = [1, 1] : tensor<18x8xf32> to tensor<18x4xf32>
module @inner_slice {
  func.func @kernel(%x: tensor<3x6x8xf32>) -> tensor<3x6x4xf32> {
    %0 = tg.slice %x offsets = [0, 0, 2] strides = [1, 1, 1] : tensor<3x6x8xf32> to tensor<3x6x4xf32>
    return %0 : tensor<3x6x4xf32>
  }
}

// -----

// CHECK-LABEL: module @strided_slice
// CHECK: tensor<3x6x8xf32> to tensor<3x3x8xf32>
module @strided_slice {
  func.func @kernel(%x: tensor<3x6x8xf32>) -> tensor<3x3x8xf32> {
    %0 = tg.slice %x offsets = [0, 0, 0] strides = [1, 2, 1] : tensor<3x6x8xf32> to tensor<3x3x8xf32>
    return %0 : tensor<3x3x8xf32>
  }
}

// -----

// A gather of rows: the indices' dimensions are one.
// CHECK-LABEL: module @embedding
// CHECK: tg.gather %arg0, %arg1 data_map = affine_map<(d0, d1)[s0] -> (s0, d1)> index_maps = [affine_map<(d0, d1) -> (d0)>]
// CHECK-SAME: tensor<100x8xf32>, tensor<12xi64> -> tensor<12x8xf32>
module @embedding {
  func.func @kernel(%t: tensor<100x8xf32>, %i: tensor<3x4xi64>) -> tensor<3x4x8xf32> {
    %0 = tg.gather %t, %i data_map = affine_map<(a, b, c)[s] -> (s, c)> index_maps = [affine_map<(a, b, c) -> (a, b)>]
        : tensor<100x8xf32>, tensor<3x4xi64> -> tensor<3x4x8xf32>
    return %0 : tensor<3x4x8xf32>
  }
}

// -----

// Axes that an op counts along stay: iota, scan, arg_reduce, top_k.
// CHECK-LABEL: module @axes
// CHECK: tg.iota 1 : tensor<6x4x35xi64>
// CHECK: tg.scan add %{{.*}} axis = 1 : tensor<6x4x35xi64>
module @axes {
  func.func @kernel() -> tensor<2x3x4x5x7xi64> {
    %0 = tg.iota 2 : tensor<2x3x4x5x7xi64>
    %1 = tg.scan add %0 axis = 2 : tensor<2x3x4x5x7xi64>
    return %1 : tensor<2x3x4x5x7xi64>
  }
}

// -----

// CHECK-LABEL: module @top
// CHECK: tg.top_k %arg0 axis = 1 k = 3 {largest} : tensor<6x4x35xf32>
// CHECK: return %{{.*}}, %{{.*}} : tensor<6x3x35xf32>, tensor<6x3x35xi64>
module @top {
  func.func @kernel(%x: tensor<2x3x4x5x7xf32>) -> (tensor<2x3x3x5x7xf32>, tensor<2x3x3x5x7xi64>) {
    %0, %1 = tg.top_k %x axis = 2 k = 3 {largest} : tensor<2x3x4x5x7xf32>
    return %0, %1 : tensor<2x3x3x5x7xf32>, tensor<2x3x3x5x7xi64>
  }
}

// -----

// A reshape follows the dimensions around it: heads stay apart from the places that a transposition moves.
// CHECK-LABEL: module @reshape
// CHECK: tg.transpose %arg0 [0, 2, 1] : tensor<96x64x512xf16>
// CHECK-NEXT: tg.neg
// CHECK-NOT: tg.reshape
module @reshape {
  func.func @kernel(%x: tensor<8x12x64x512xf16>) -> tensor<96x512x64xf16> {
    %0 = tg.transpose %x [0, 1, 3, 2] : tensor<8x12x64x512xf16>
    %1 = tg.reshape %0 : tensor<8x12x512x64xf16> to tensor<96x512x64xf16>
    %2 = tg.neg %1 : tensor<96x512x64xf16>
    return %2 : tensor<96x512x64xf16>
  }
}

// -----

// Results are stored over one domain: a row's statistic keeps its place.
// CHECK-LABEL: module @two_results
// CHECK: return %{{.*}}, %{{.*}} : tensor<24x8xf32>, tensor<24x1xf32>
module @two_results {
  func.func @kernel(%x: tensor<4x6x8xf32>) -> (tensor<4x6x8xf32>, tensor<4x6x1xf32>) {
    %0 = tg.reduce max %x axes = [2] keep_dims : tensor<4x6x8xf32>
    %1 = tg.neg %x : tensor<4x6x8xf32>
    return %1, %0 : tensor<4x6x8xf32>, tensor<4x6x1xf32>
  }
}

// -----

// A window of three of four rows that slides nowhere: the sliding dimension stays, since the rows alone would be four.
// CHECK-LABEL: module @window
// CHECK: tg.contract %arg0, %arg1 [affine_map<(d0, d1, d2) -> (d0, d1 * 2 + d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME: tensor<24x4xf16>, tensor<24x3xf16> -> tensor<24x1xf16>
#wx = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 * 2 + d3)>
#ww = affine_map<(d0, d1, d2, d3) -> (d1, d3)>
#wr = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
module @window {
  func.func @kernel(%x: tensor<1x24x4xf16>, %w: tensor<24x3xf16>) -> tensor<1x24x1xf16> {
    %0 = tg.contract %x, %w [#wx, #ww, #wr] : tensor<1x24x4xf16>, tensor<24x3xf16> -> tensor<1x24x1xf16>
    return %0 : tensor<1x24x1xf16>
  }
}

// -----

// The domain follows the result, so images, rows and columns of a 1x1 convolution are one dimension.
// CHECK-LABEL: module @pointwise_convolution
// CHECK: tg.contract %arg0, %arg1 [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK-SAME: tensor<392x32xf16>, tensor<64x32xf16> -> tensor<392x64xf16>
#px = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d4)>
#pw = affine_map<(d0, d1, d2, d3, d4) -> (d1, d4)>
#pr = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3, d1)>
module @pointwise_convolution {
  func.func @kernel(%x: tensor<8x7x7x32xf16>, %w: tensor<64x32xf16>) -> tensor<8x7x7x64xf16> {
    %0 = tg.contract %x, %w [#px, #pw, #pr] : tensor<8x7x7x32xf16>, tensor<64x32xf16> -> tensor<8x7x7x64xf16>
    return %0 : tensor<8x7x7x64xf16>
  }
}
