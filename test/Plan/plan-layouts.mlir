// RUN: weft-opt %s --weft-plan-layouts --split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-plan-layouts --split-input-file --remarks-filter=plan --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Between a map and a convolution the channels become innermost, of the tensor and of the weight. The result goes out
// as it is.
// REMARK: tensor<2x64x58x58xf16> has dimension 1 innermost in memory
// REMARK: tensor<64x64x3x3xf16> has dimension 1 innermost in memory
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = tg.weight <"w", 0, 73728> order [0, 2, 3, 1] : tensor<64x3x3x64xf16>
// CHECK: %[[A:.*]] = tg.kernel "map" -> tensor<2x58x58x64xf16>
// CHECK:   %[[T:.*]] = tg.transpose %{{.*}} [0, 2, 3, 1] : tensor<2x64x58x58xf16>
// CHECK:   %[[S:.*]] = tg.reshape %{{.*}} : tensor<64x1x1xf16> to tensor<1x1x1x64xf16>
// CHECK:   %[[E:.*]] = tg.add %[[T]], %[[S]] : tensor<2x58x58x64xf16>, tensor<1x1x1x64xf16>
// CHECK:   tg.yield %[[E]]
// CHECK: tg.kernel "conv" -> tensor<2x64x56x56xf16>
// CHECK-DAG: %[[X:.*]] = tg.transpose %[[A]] [0, 3, 1, 2] : tensor<2x58x58x64xf16>
// CHECK-DAG: %[[V:.*]] = tg.transpose %[[W]] [0, 3, 1, 2] : tensor<64x3x3x64xf16>
// CHECK:   tg.contract %[[X]], %[[V]]
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @main(%arg0: tensor<2x64x58x58xf16>, %arg1: tensor<64x1x1xf16>) -> tensor<2x64x56x56xf16> {
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

// Tensors that are returned or seen under another shape keep their order, as do operands that are read in whole vectors.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tg.transpose
// CHECK: return
#l = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d2, d1)>
#o = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%arg0: tensor<128x256xf16>, %arg1: tensor<256x512xf16>) -> (tensor<128x256xf16>, tensor<128x512xf16>, tensor<64x1024xf16>) {
  %w = tg.weight <"w", 0, 262144> : tensor<256x512xf16>
  %0 = tg.kernel "map" -> tensor<128x256xf16> {
    %3 = tg.exp %arg0 : tensor<128x256xf16>
    tg.yield %3 : tensor<128x256xf16>
  }
  %1 = tg.kernel "matmul" -> tensor<128x512xf16> {
    %3 = tg.contract %0, %w [#l, #k, #o] : tensor<128x256xf16>, tensor<256x512xf16> -> tensor<128x512xf16>
    tg.yield %3 : tensor<128x512xf16>
  }
  %2 = tg.reshape %1 : tensor<128x512xf16> to tensor<64x1024xf16>
  return %0, %1, %2 : tensor<128x256xf16>, tensor<128x512xf16>, tensor<64x1024xf16>
}

// -----

// Each contraction of a kernel has a sum of its own: their common operand stays contiguous along both.
// CHECK-LABEL: func.func @siblings
// CHECK-NOT: tg.transpose
// CHECK: return
#l = affine_map<(d0, d1, d2) -> (d0, d2)>
#t = affine_map<(d0, d1, d2) -> (d1, d2)>
#o = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @siblings(%arg0: tensor<128x256xf16>, %arg1: tensor<512x256xf16>, %arg2: tensor<512x256xf16>) -> (tensor<128x512xf16>, tensor<128x512xf16>) {
  %0 = tg.kernel "map" -> tensor<128x256xf16> {
    %3 = tg.exp %arg0 : tensor<128x256xf16>
    tg.yield %3 : tensor<128x256xf16>
  }
  %1:2 = tg.kernel "products" -> tensor<128x512xf16>, tensor<128x512xf16> {
    %3 = tg.contract %0, %arg1 [#l, #t, #o] : tensor<128x256xf16>, tensor<512x256xf16> -> tensor<128x512xf16>
    %4 = tg.contract %0, %arg2 [#l, #t, #o] : tensor<128x256xf16>, tensor<512x256xf16> -> tensor<128x512xf16>
    tg.yield %3, %4 : tensor<128x512xf16>, tensor<128x512xf16>
  }
  return %1#0, %1#1 : tensor<128x512xf16>, tensor<128x512xf16>
}

// -----

// The matrix of a product of one row streams from memory: rows of it run along the sum then, of two of one kernel both. Of
// many rows it keeps its order, as does a matrix of few terms, and one that is an input.
// REMARK: tensor<256x512xf16> has dimension 0 innermost in memory
// CHECK-LABEL: func.func @row
// CHECK-DAG: tg.weight <"w", 0, 262144> order [1, 0] : tensor<512x256xf16>
// CHECK-DAG: tg.weight <"w", 262144, 262144> order [1, 0] : tensor<512x256xf16>
// CHECK-DAG: tg.weight <"w", 524288, 65536> : tensor<64x512xf16>
// CHECK-DAG: tg.weight <"w", 589824, 262144> : tensor<256x512xf16>
// CHECK: tg.kernel "row"
// CHECK: %[[W:.*]] = tg.transpose %{{.*}} [1, 0] : tensor<512x256xf16>
// CHECK: tg.contract %arg0, %[[W]]
// CHECK: tg.kernel "few"
// CHECK-NOT: tg.transpose
// CHECK: return
#l = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d2, d1)>
#o = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @row(%x: tensor<1x256xf16>, %short: tensor<1x64xf16>, %rows: tensor<128x256xf16>, %given: tensor<256x512xf16>)
    -> (tensor<1x512xf16>, tensor<1x512xf16>, tensor<1x512xf16>, tensor<128x512xf16>, tensor<1x512xf16>) {
  %w0 = tg.weight <"w", 0, 262144> : tensor<256x512xf16>
  %w1 = tg.weight <"w", 262144, 262144> : tensor<256x512xf16>
  %w2 = tg.weight <"w", 524288, 65536> : tensor<64x512xf16>
  %w3 = tg.weight <"w", 589824, 262144> : tensor<256x512xf16>
  %0:2 = tg.kernel "row" -> tensor<1x512xf16>, tensor<1x512xf16> {
    %4 = tg.contract %x, %w0 [#l, #k, #o] : tensor<1x256xf16>, tensor<256x512xf16> -> tensor<1x512xf16>
    %5 = tg.contract %x, %w1 [#l, #k, #o] : tensor<1x256xf16>, tensor<256x512xf16> -> tensor<1x512xf16>
    tg.yield %4, %5 : tensor<1x512xf16>, tensor<1x512xf16>
  }
  %1 = tg.kernel "few" -> tensor<1x512xf16> {
    %4 = tg.contract %short, %w2 [#l, #k, #o] : tensor<1x64xf16>, tensor<64x512xf16> -> tensor<1x512xf16>
    tg.yield %4 : tensor<1x512xf16>
  }
  %2 = tg.kernel "rows" -> tensor<128x512xf16> {
    %4 = tg.contract %rows, %w3 [#l, #k, #o] : tensor<128x256xf16>, tensor<256x512xf16> -> tensor<128x512xf16>
    tg.yield %4 : tensor<128x512xf16>
  }
  %3 = tg.kernel "input" -> tensor<1x512xf16> {
    %4 = tg.contract %x, %given [#l, #k, #o] : tensor<1x256xf16>, tensor<256x512xf16> -> tensor<1x512xf16>
    tg.yield %4 : tensor<1x512xf16>
  }
  return %0#0, %0#1, %1, %2, %3 : tensor<1x512xf16>, tensor<1x512xf16>, tensor<1x512xf16>, tensor<128x512xf16>, tensor<1x512xf16>
}

// -----

// Two products that sum up different dimensions of one weight, and a weight whose rows are looked up, too: both stay.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: order
// CHECK-NOT: tg.transpose
// CHECK: return
#l = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d2, d1)>
#t = affine_map<(d0, d1, d2) -> (d1, d2)>
#o = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @shared(%x: tensor<1x256xf16>, %y: tensor<1x512xf16>, %i: tensor<3xi64>) -> (tensor<1x512xf16>, tensor<1x256xf16>, tensor<1x512xf16>, tensor<3x512xf16>) {
  %w0 = tg.weight <"w", 0, 262144> : tensor<256x512xf16>
  %w1 = tg.weight <"w", 262144, 262144> : tensor<256x512xf16>
  %0 = tg.kernel "down" -> tensor<1x512xf16> {
    %4 = tg.contract %x, %w0 [#l, #k, #o] : tensor<1x256xf16>, tensor<256x512xf16> -> tensor<1x512xf16>
    tg.yield %4 : tensor<1x512xf16>
  }
  %1 = tg.kernel "up" -> tensor<1x256xf16> {
    %4 = tg.contract %y, %w0 [#l, #t, #o] : tensor<1x512xf16>, tensor<256x512xf16> -> tensor<1x256xf16>
    tg.yield %4 : tensor<1x256xf16>
  }
  %2 = tg.kernel "head" -> tensor<1x512xf16> {
    %4 = tg.contract %x, %w1 [#l, #k, #o] : tensor<1x256xf16>, tensor<256x512xf16> -> tensor<1x512xf16>
    tg.yield %4 : tensor<1x512xf16>
  }
  %3 = tg.kernel "rows" -> tensor<3x512xf16> {
    %4 = tg.gather %w1, %i data_map = affine_map<(a, c)[s] -> (s, c)> index_maps = [affine_map<(a, c) -> (a)>] : tensor<256x512xf16>, tensor<3xi64> -> tensor<3x512xf16>
    tg.yield %4 : tensor<3x512xf16>
  }
  return %0, %1, %2, %3 : tensor<1x512xf16>, tensor<1x256xf16>, tensor<1x512xf16>, tensor<3x512xf16>
}

// -----

// Products of several rows go by matrix instructions, which read both orders as fast. Through a cast the matrix of one row
// is stored the same: the contraction takes the transposition in.
// CHECK-LABEL: func.func @rows
// CHECK-DAG: tg.weight <"w", 0, 262144> : tensor<256x512xf16>
// CHECK-DAG: tg.weight <"w", 262144, 262144> : tensor<256x512xf16>
// CHECK-DAG: %[[W:.*]] = tg.weight <"w", 524288, 262144> order [1, 0] : tensor<512x256xf16>
// CHECK: tg.kernel "cast"
// CHECK: %[[C:.*]] = tg.cast %[[W]] : tensor<512x256xf16> to tensor<512x256xf32>
// CHECK: %[[T:.*]] = tg.transpose %[[C]] [1, 0]
// CHECK: tg.contract %{{.*}}, %[[T]]
#l = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d2, d1)>
#o = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @rows(%x: tensor<16x256xf16>, %y: tensor<64x256xf16>, %z: tensor<1x256xf32>) -> (tensor<16x512xf16>, tensor<64x512xf16>, tensor<1x512xf32>) {
  %w0 = tg.weight <"w", 0, 262144> : tensor<256x512xf16>
  %w1 = tg.weight <"w", 262144, 262144> : tensor<256x512xf16>
  %w2 = tg.weight <"w", 524288, 262144> : tensor<256x512xf16>
  %0 = tg.kernel "few" -> tensor<16x512xf16> {
    %3 = tg.contract %x, %w0 [#l, #k, #o] : tensor<16x256xf16>, tensor<256x512xf16> -> tensor<16x512xf16>
    tg.yield %3 : tensor<16x512xf16>
  }
  %1 = tg.kernel "many" -> tensor<64x512xf16> {
    %3 = tg.contract %y, %w1 [#l, #k, #o] : tensor<64x256xf16>, tensor<256x512xf16> -> tensor<64x512xf16>
    tg.yield %3 : tensor<64x512xf16>
  }
  %2 = tg.kernel "cast" -> tensor<1x512xf32> {
    %3 = tg.cast %w2 : tensor<256x512xf16> to tensor<256x512xf32>
    %4 = tg.contract %z, %3 [#l, #k, #o] : tensor<1x256xf32>, tensor<256x512xf32> -> tensor<1x512xf32>
    tg.yield %4 : tensor<1x512xf32>
  }
  return %0, %1, %2 : tensor<16x512xf16>, tensor<64x512xf16>, tensor<1x512xf32>
}

// -----

// An order that another program of the bundle has chosen is kept, whatever this one would gain: the matrix of a product of one row stays
// as it is, that of many rows does not.
// CHECK-LABEL: func.func @given
// CHECK-DAG: tg.weight <"w", 0, 262144> : tensor<256x512xf16>
// CHECK-DAG: tg.weight <"w", 262144, 262144> order [1, 0] : tensor<512x256xf16>
// CHECK-NOT: tg.innermost
#l = affine_map<(d0, d1, d2) -> (d0, d2)>
#k = affine_map<(d0, d1, d2) -> (d2, d1)>
#o = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @given(%x: tensor<1x256xf16>, %rows: tensor<128x256xf16>) -> (tensor<1x512xf16>, tensor<128x512xf16>) {
  %w = tg.weight <"w", 0, 262144> {tg.innermost = 1 : i64} : tensor<256x512xf16>
  %v = tg.weight <"w", 262144, 262144> {tg.innermost = 0 : i64} : tensor<256x512xf16>
  %0 = tg.kernel "row" -> tensor<1x512xf16> {
    %p = tg.contract %x, %w [#l, #k, #o] : tensor<1x256xf16>, tensor<256x512xf16> -> tensor<1x512xf16>
    tg.yield %p : tensor<1x512xf16>
  }
  %1 = tg.kernel "rows" -> tensor<128x512xf16> {
    %p = tg.contract %rows, %v [#l, #k, #o] : tensor<128x256xf16>, tensor<256x512xf16> -> tensor<128x512xf16>
    tg.yield %p : tensor<128x512xf16>
  }
  return %0, %1 : tensor<1x512xf16>, tensor<128x512xf16>
}

// -----

// A concatenation takes the order that its reader wants, and so do its parts: no copy stands between.
// CHECK-LABEL: func.func @concatenation
// CHECK: tg.kernel "left" -> tensor<2x58x58x64xf16>
// CHECK: tg.kernel "right" -> tensor<2x58x58x32xf16>
// CHECK: tg.kernel "concat" -> tensor<2x58x58x96xf16>
// CHECK:   tg.concat {{.*}} axis = 3 : tensor<2x58x58x64xf16>, tensor<2x58x58x32xf16>
#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#r = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
func.func @concatenation(%arg0: tensor<2x64x60x60xf16>, %arg1: tensor<2x32x60x60xf16>) -> tensor<2x64x56x56xf16> {
  %u = tg.weight <"w", 0, 73728> : tensor<64x64x3x3xf16>
  %v = tg.weight <"w", 73728, 18432> : tensor<32x32x3x3xf16>
  %w = tg.weight <"w", 92160, 110592> : tensor<64x96x3x3xf16>
  %0 = tg.kernel "left" -> tensor<2x64x58x58xf16> {
    %4 = tg.contract %arg0, %u [#x, #w, #r] : tensor<2x64x60x60xf16>, tensor<64x64x3x3xf16> -> tensor<2x64x58x58xf16>
    tg.yield %4 : tensor<2x64x58x58xf16>
  }
  %1 = tg.kernel "right" -> tensor<2x32x58x58xf16> {
    %4 = tg.contract %arg1, %v [#x, #w, #r] : tensor<2x32x60x60xf16>, tensor<32x32x3x3xf16> -> tensor<2x32x58x58xf16>
    tg.yield %4 : tensor<2x32x58x58xf16>
  }
  %2 = tg.kernel "concat" -> tensor<2x96x58x58xf16> {
    %4 = tg.concat %0, %1 axis = 1 : tensor<2x64x58x58xf16>, tensor<2x32x58x58xf16>
    tg.yield %4 : tensor<2x96x58x58xf16>
  }
  %3 = tg.kernel "conv" -> tensor<2x64x56x56xf16> {
    %4 = tg.contract %2, %w [#x, #w, #r] : tensor<2x96x58x58xf16>, tensor<64x96x3x3xf16> -> tensor<2x64x56x56xf16>
    tg.yield %4 : tensor<2x64x56x56xf16>
  }
  return %3 : tensor<2x64x56x56xf16>
}

// -----

// Scales of blocks along the sum keep their order: they are as contiguous along it as what they scale.
// CHECK-LABEL: func.func @main
// CHECK-NOT: order
// CHECK-NOT: tg.transpose
// CHECK: return
#v = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<512xf16>) -> tensor<4096xf16> {
  %w = tg.weight <"w", 0, 1048576> : tensor<4096x16x32xui4>
  %s = tg.weight <"s", 0, 131072> : tensor<4096x16x1xf16>
  %0 = tg.kernel "product" -> tensor<4096xf16> {
    %1 = tg.cast %w : tensor<4096x16x32xui4> to tensor<4096x16x32xf32>
    %2 = tg.cast %s : tensor<4096x16x1xf16> to tensor<4096x16x1xf32>
    %3 = tg.mul %1, %2 : tensor<4096x16x32xf32>, tensor<4096x16x1xf32>
    %4 = tg.cast %3 : tensor<4096x16x32xf32> to tensor<4096x16x32xf16>
    %5 = tg.reshape %4 : tensor<4096x16x32xf16> to tensor<4096x512xf16>
    %6 = tg.contract %x, %5 [#v, #m, #n] : tensor<512xf16>, tensor<4096x512xf16> -> tensor<4096xf16>
    tg.yield %6 : tensor<4096xf16>
  }
  return %0 : tensor<4096xf16>
}

// -----

// So does an odd number of them: each is read once for its block.
// CHECK-LABEL: func.func @main
// CHECK-NOT: order
// CHECK-NOT: tg.transpose
// CHECK: return
#v = affine_map<(d0, d1) -> (d1)>
#m = affine_map<(d0, d1) -> (d0, d1)>
#n = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<528xf16>) -> tensor<4096xf16> {
  %w = tg.weight <"w", 0, 1081344> : tensor<4096x33x16xui4>
  %s = tg.weight <"s", 0, 270336> : tensor<4096x33x1xf16>
  %0 = tg.kernel "product" -> tensor<4096xf16> {
    %1 = tg.cast %w : tensor<4096x33x16xui4> to tensor<4096x33x16xf32>
    %2 = tg.cast %s : tensor<4096x33x1xf16> to tensor<4096x33x1xf32>
    %3 = tg.mul %1, %2 : tensor<4096x33x16xf32>, tensor<4096x33x1xf32>
    %4 = tg.cast %3 : tensor<4096x33x16xf32> to tensor<4096x33x16xf16>
    %5 = tg.reshape %4 : tensor<4096x33x16xf16> to tensor<4096x528xf16>
    %6 = tg.contract %x, %5 [#v, #m, #n] : tensor<528xf16>, tensor<4096x528xf16> -> tensor<4096xf16>
    tg.yield %6 : tensor<4096xf16>
  }
  return %0 : tensor<4096xf16>
}

// -----

// Heads of a slice are whole vectors of the packed product's rows, 3072 + 128 d0 + d2: they stay contiguous.
// CHECK-LABEL: func.func @packed_heads
// CHECK: tg.kernel "product" -> tensor<512x9216xf16>
// REMARK-NOT: tensor<512x9216xf16> has dimension
#ql = affine_map<(d0, d1, d2) -> (d0, d2)>
#qw = affine_map<(d0, d1, d2) -> (d1, d2)>
#qo = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @packed_heads(%arg0: tensor<512x1024xf16>, %arg1: tensor<9216x1024xf16>, %text: tensor<24x64x128xf16>) -> tensor<24x576x128xf16> {
  %0 = tg.kernel "product" -> tensor<512x9216xf16> {
    %2 = tg.contract %arg0, %arg1 [#ql, #qw, #qo] : tensor<512x1024xf16>, tensor<9216x1024xf16> -> tensor<512x9216xf16>
    tg.yield %2 : tensor<512x9216xf16>
  }
  %1 = tg.kernel "heads" -> tensor<24x576x128xf16> {
    %2 = tg.slice %0 offsets = [0, 3072] strides = [1, 1] : tensor<512x9216xf16> to tensor<512x3072xf16>
    %3 = tg.reshape %2 : tensor<512x3072xf16> to tensor<512x24x128xf16>
    %4 = tg.transpose %3 [1, 0, 2] : tensor<512x24x128xf16>
    %5 = tg.concat %text, %4 axis = 1 : tensor<24x64x128xf16>, tensor<24x512x128xf16>
    %6 = tg.exp %5 : tensor<24x576x128xf16>
    tg.yield %6 : tensor<24x576x128xf16>
  }
  return %1 : tensor<24x576x128xf16>
}

// -----

// Two GEMMs as one fold, whose rows are an image's places: the order behind the fold is free, and windows over each channel want channels innermost.
// What the fold itself reads keeps its order.
// REMARK: tensor<1x64x16x16xbf16> has dimension 1 innermost in memory
// CHECK-LABEL: func.func @behindFold
// CHECK: tg.kernel "mlp" -> tensor<1x16x16x64xbf16>
// CHECK: tg.fold
// CHECK: tg.kernel "windows" -> tensor<1x16x16x64xbf16>
#rows = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#columns = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4)>
#product = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#wx = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d3 + d5)>
#ww = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d1)>
#wr = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
func.func @behindFold(%x: tensor<1x16x16x64xbf16>, %w: tensor<256x64xbf16>, %v: tensor<64x256xbf16>, %k: tensor<7x7x64xbf16>)
    -> tensor<1x16x16x64xbf16> {
  %0 = tg.kernel "mlp" -> tensor<1x64x16x16xbf16> {
    %2 = tg.fold over affine_map<() -> (256)> init [0.000000e+00 : f32] attributes {tg.numerics = "reassociating"} update {
    ^bb0(%sum: tensor<1x16x16x64xf32>):
      %5 = tg.contract %x, %w [#rows, #columns, #product] : tensor<1x16x16x64xbf16>, tensor<256x64xbf16> -> tensor<1x16x16x256xbf16>
      %6 = tg.contract %5, %v [#rows, #columns, #product] {tg.streamed} : tensor<1x16x16x256xbf16>, tensor<64x256xbf16> -> tensor<1x16x16x64xf32>
      %7 = tg.add %sum, %6 : tensor<1x16x16x64xf32>, tensor<1x16x16x64xf32>
      tg.fold_yield %7 : tensor<1x16x16x64xf32>
    } merge {
    ^bb0(%a: tensor<1x16x16x64xf32>, %b: tensor<1x16x16x64xf32>):
      %5 = tg.add %a, %b : tensor<1x16x16x64xf32>, tensor<1x16x16x64xf32>
      tg.fold_yield %5 : tensor<1x16x16x64xf32>
    } finish {
    ^bb0(%a: tensor<1x16x16x64xf32>):
      %5 = tg.cast %a : tensor<1x16x16x64xf32> to tensor<1x16x16x64xbf16>
      tg.fold_yield %5 : tensor<1x16x16x64xbf16>
    } : tensor<1x16x16x64xbf16>
    %3 = tg.transpose %2 [0, 3, 1, 2] : tensor<1x16x16x64xbf16>
    tg.yield %3 : tensor<1x64x16x16xbf16>
  }
  %1 = tg.kernel "windows" -> tensor<1x16x16x64xbf16> {
    %z = tg.constant dense<0.0> : tensor<bf16>
    %2 = tg.pad %0, %z low = [0, 0, 3, 3] high = [0, 0, 3, 3] interior = [0, 0, 0, 0] : tensor<1x64x16x16xbf16>, tensor<bf16>
    %3 = tg.contract %2, %k [#wx, #ww, #wr] : tensor<1x64x22x22xbf16>, tensor<7x7x64xbf16> -> tensor<1x64x16x16xbf16>
    %4 = tg.transpose %3 [0, 2, 3, 1] : tensor<1x64x16x16xbf16>
    tg.yield %4 : tensor<1x16x16x64xbf16>
  }
  return %1 : tensor<1x16x16x64xbf16>
}
